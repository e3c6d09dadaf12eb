#!/usr/bin/env python3
"""Compares the metrics with those of scikit-learn and SciPy on 1,000 random cases.

    .venv/bin/python tests/eval/compare_metrics.py build/release/tests/metric_values

Half of the cases are classes (two or three, balanced or not, agreeing or not, some of one class alone), half are numbers
(with and without ties, with an offset, some constant). A value that is not defined must be so on both sides; all others
agree to 1e-12.
"""
import json
import math
import subprocess
import sys
import warnings

import numpy
import scipy.stats
import sklearn.metrics

TOLERANCE = 1e-12  # of values up to 1; both sides add up at most a few hundred numbers in float64
CASES = 1000


def classes(random):
    n = int(random.integers(1, 300))
    n_classes = int(random.integers(2, 4))
    shares = random.dirichlet([0.7] * n_classes)
    labels = random.choice(n_classes, n, p=shares)
    agreeing = random.random(n) < random.random()
    predicted = numpy.where(agreeing, labels, random.choice(n_classes, n, p=random.dirichlet([0.7] * n_classes)))
    if random.random() < 0.1:
        predicted[:] = random.integers(n_classes)
    if random.random() < 0.05:
        labels[:] = random.integers(n_classes)
    wanted = {"accuracy": sklearn.metrics.accuracy_score(labels, predicted),
              "f1": sklearn.metrics.f1_score(labels == 1, predicted == 1, zero_division=0),
              "matthews": sklearn.metrics.matthews_corrcoef(labels, predicted)}
    return {"predicted": predicted.tolist(), "labels": labels.tolist()}, wanted


def numbers(random):
    n = int(random.integers(2, 300))
    x = random.normal(size=n)
    y = random.normal() * x + random.normal(size=n) * random.random()
    if random.random() < 0.5:  # ties
        x, y = numpy.round(x, 1), numpy.round(y, 1)
    if random.random() < 0.2:
        x = x * 10.0 ** random.integers(-6, 6)
    if random.random() < 0.2:
        y = y + random.integers(-5, 5)
    if random.random() < 0.05:
        x = numpy.full(n, random.normal())
    wanted = {"pearson": scipy.stats.pearsonr(x, y).statistic, "spearman": scipy.stats.spearmanr(x, y).statistic}
    return {"x": x.tolist(), "y": y.tolist()}, wanted


def difference(wanted, got):
    if got is None or math.isnan(wanted):
        return 0 if got is None and math.isnan(wanted) else math.inf
    return abs(wanted - got)


def main():
    warnings.filterwarnings("ignore")  # about values that are not defined: those are looked at here
    random = numpy.random.default_rng(0)
    cases = [(classes if i % 2 else numbers)(random) for i in range(CASES)]
    text = "".join(json.dumps(given) + "\n" for given, _ in cases)
    answer = subprocess.run([sys.argv[1]], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answer) == CASES
    worst, compared, undefined = {}, 0, 0
    for (given, wanted), line in zip(cases, answer):
        got = json.loads(line)
        assert got.keys() == wanted.keys()
        for name, value in wanted.items():
            compared += 1
            undefined += math.isnan(value)
            apart = difference(value, got[name])
            worst[name] = max(worst.get(name, 0), apart)
            if apart > TOLERANCE:
                print(f"{name}: {got[name]}, expected {value}, of {json.dumps(given)[:300]}")
    print(f"{CASES} cases, {compared} values, {undefined} of them not defined; largest differences: " +
          ", ".join(f"{name} {value:.1e}" for name, value in sorted(worst.items())))
    return 0 if max(worst.values()) <= TOLERANCE and undefined > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
