#!/usr/bin/env python3
"""Tests of what scripts/figures/spectrum.py finds out about eigenvalues, on matrices from NumPy.

    .venv/bin/python tests/scripts/spectrum_test.py
"""
import pathlib
import sys
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/figures"))

import spectrum  # noqa: E402

TOKENS, HEADS = 24, 2


def listed(matrices):
    values = [numpy.linalg.eigvals(matrix) for matrix in matrices]
    return {"eigenvalues": {"real": [value.real.tolist() for value in values], "imaginary": [value.imag.tolist() for value in values]}}


def layer(causal):
    """As `skipless analyze` prints one, of random attention."""
    random = numpy.random.default_rng(0)
    visible = numpy.tril(numpy.ones((TOKENS, TOKENS))) if causal else numpy.ones((TOKENS, TOKENS))
    weights = numpy.exp(random.normal(size=(HEADS, TOKENS, TOKENS))) * visible
    a, c = weights / weights.sum(-1, keepdims=True), visible / visible.sum(-1, keepdims=True)
    alpha, beta, gamma = (random.normal(size=HEADS) for _ in range(3))
    without_c = [alpha[h] * numpy.eye(TOKENS) + beta[h] * a[h] for h in range(HEADS)]
    gains = {f"attention.shape.{name}": value.tolist() for name, value in (("alpha", alpha), ("beta", beta), ("gamma", gamma))}
    return {"gains": gains, "a": listed(a), "p_without_c": listed(without_c),
            "p": listed([without_c[h] - gamma[h] * c for h in range(HEADS)])}


class SpectrumTest(unittest.TestCase):
    def test_theory_holds_to_rounding(self):
        self.assertLess(spectrum.causal_error({"layers": [layer(True)] * 2}), spectrum.CAUSAL)
        self.assertLess(spectrum.encoder_error({"layers": [layer(False)] * 2}), spectrum.ENCODER)

    def test_one_eigenvalue_elsewhere_is_seen(self):
        for measure, causal in ((spectrum.causal_error, True), (spectrum.encoder_error, False)):
            for matrix in ("p", "p_without_c") if causal else ("p",):
                wrong = layer(causal)
                wrong[matrix]["eigenvalues"]["real"][1][3] += 1e-6
                self.assertGreater(measure({"layers": [layer(causal), wrong]}), 1e-8, (matrix, causal))

    def test_the_points_of_a_run_are_its_quarters(self):
        self.assertEqual(spectrum.points(8), [0, 2, 4, 6, 8])
        self.assertEqual(spectrum.points(1465), [0, 366, 732, 1098, 1465])


if __name__ == "__main__":
    unittest.main()
