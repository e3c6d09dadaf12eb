#!/usr/bin/env python3
"""Compares ranks, spectra, distances, similarities, kurtosis and entropies with NumPy on 300 random cases.

    .venv/bin/python tests/eval/compare_analysis.py build/release/tests/analysis_values

A third of the cases are matrices (square or not, of any rank, causal attention, shaped attention of a decoder and of an
encoder), a third are tokens (alike or not, with a large channel or none), a third are attention matrices, sharp or flat,
causal or not. Each formula is written out here with NumPy's own decompositions.
"""
import json
import subprocess
import sys

import numpy

CASES = 300
# Both sides are LAPACK's or plain sums in float64 of at most 40 x 40 numbers. The eigenvalues of a matrix that is not
# normal move by its condition times the rounding; those here are known to 1e-9.
TOLERANCE = {"eigenvalues": 1e-8}
OTHERS = 1e-11


def softmax(scores, causal):
    if causal:
        scores = numpy.where(numpy.tril(numpy.ones_like(scores)) > 0, scores, -numpy.inf)
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def attention(random, causal):
    t = int(random.integers(2, 40))
    return softmax(random.normal(size=(t, t)) * random.choice([0, 0.1, 1, 5]), causal)


def shaped(random):
    causal = bool(random.integers(2))
    a = attention(random, causal)
    t = len(a)
    c = softmax(numpy.zeros((t, t)), causal)
    alpha, beta, gamma = random.normal(size=3)
    return alpha * numpy.eye(t) + beta * a - gamma * c


def matrix(random):
    kind = random.integers(3)
    if kind == 0:
        return shaped(random)
    if kind == 1:
        return attention(random, True)
    rows, columns = (int(n) for n in random.integers(2, 40, 2))
    if random.random() < 0.4:
        columns = rows
    rank = int(random.integers(1, min(rows, columns) + 1))
    scale = 10.0 ** random.integers(-3, 4)
    return scale * random.normal(size=(rows, rank)) @ random.normal(size=(rank, columns))


def values_of_matrix(random):
    m = matrix(random)
    s = numpy.linalg.svd(m, compute_uv=False)
    p = s / s.sum()
    p = p[p > 0]
    wanted = {"singular_values": s / s[0],
              "stable_rank": numpy.linalg.norm(m, "fro") ** 2 / numpy.linalg.norm(m, 2) ** 2,
              "effective_rank": numpy.exp(-numpy.sum(p * numpy.log(p)))}
    if m.shape[0] == m.shape[1]:
        wanted["distance_from_identity"] = numpy.linalg.norm(m - numpy.eye(len(m)), "fro") / numpy.sqrt(len(m))
        wanted["eigenvalues"] = numpy.linalg.eigvals(m) / s[0]
    return {"matrix": m.tolist()}, wanted, s[0]


def values_of_tokens(random):
    t, d = (int(n) for n in random.integers(2, 40, 2))
    x = random.normal(size=(t, d)) + random.choice([0, 1, 30]) * random.normal(size=d)
    x[:, 0] *= random.choice([1, 100])
    off = ~numpy.eye(t, dtype=bool)
    unit = x / numpy.linalg.norm(x, axis=1, keepdims=True)
    s = numpy.sqrt((x ** 2).mean(0))
    size = (x ** 2).mean()
    wanted = {"token_similarity": (unit @ unit.T)[off].mean(),
              "token_covariance": (x @ x.T / d)[off].mean() / size,
              "outlier_kurtosis": (s ** 4).mean() / (s ** 2).mean() ** 2}
    return {"tokens": x.tolist()}, wanted, size


def values_of_attention(random):
    causal = bool(random.integers(2))
    a = attention(random, causal)
    t = len(a)
    visible = numpy.arange(1, t + 1) if causal else numpy.full(t, t)
    entropy = numpy.array([-sum(p * numpy.log(p) for p in row if p > 0) for row in a])
    chosen = visible > 1
    wanted = {"row_entropy": entropy, "entropy_share": (entropy[chosen] / numpy.log(visible[chosen])).mean()}
    return {"attention": a.tolist(), "visible": visible.tolist()}, wanted, 1


def scaled(name, value, scale):
    """As `wanted` has it: what has the matrix's scale, divided by it."""
    if name == "eigenvalues":
        return numpy.array([complex(re, im) for re, im in value]) / scale
    return numpy.array(value) / (scale if name in ("singular_values", "token_covariance") else 1)


def difference(name, wanted, got):
    if name != "eigenvalues":
        return numpy.abs(wanted - got).max() / max(1, numpy.abs(wanted).max())
    left, largest = list(got), 0
    for value in wanted:
        nearest = min(range(len(left)), key=lambda i: abs(left[i] - value))
        largest = max(largest, abs(left.pop(nearest) - value))
    return largest


def main():
    random = numpy.random.default_rng(0)
    kinds = [values_of_matrix, values_of_tokens, values_of_attention]
    cases = [kinds[i % 3](random) for i in range(CASES)]
    text = "".join(json.dumps(given) + "\n" for given, _, _ in cases)
    answer = subprocess.run([sys.argv[1]], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answer) == CASES
    worst, failed = {}, False
    for (given, wanted, scale), line in zip(cases, answer):
        got = json.loads(line)
        assert got.keys() == wanted.keys(), (got.keys(), wanted.keys())
        for name, value in wanted.items():
            apart = difference(name, value, scaled(name, got[name], scale))
            worst[name] = max(worst.get(name, 0), apart)
            if not apart <= TOLERANCE.get(name, OTHERS):
                failed = True
                print(f"{name}: {got[name]}, expected {value}, of {json.dumps(given)[:300]}")
    print(f"{CASES} cases; largest differences: " +
          ", ".join(f"{name} {value:.1e}" for name, value in sorted(worst.items())))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
