#!/usr/bin/env python3
"""Tests of the scaling law's fit and of the scaling potential's recursion.

    .venv/bin/python tests/scripts/scaling_test.py
"""
import math
import pathlib
import sys
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/figures"))

import scaling_law  # noqa: E402
from potential import Growth, potential  # noqa: E402
from scaling_law import Law, fit, resampled  # noqa: E402

KNOWN = Law(E=1.7, A=400.0, a=0.34, B=410.0, b=0.28)


def grid(sizes=4, lengths=5):
    n, d = np.meshgrid(np.geomspace(1e5, 1e7, sizes), np.geomspace(1e6, 1e8, lengths))
    return n.ravel(), d.ravel()


class ScalingLawTest(unittest.TestCase):
    def test_a_known_law_is_found_again(self):
        n, d = grid()
        found = fit(n, d, KNOWN.loss(n, d))
        for name in ("E", "A", "a", "B", "b"):
            self.assertAlmostEqual(getattr(found, name) / getattr(KNOWN, name), 1, delta=2e-3, msg=name)

    def test_the_jacobian_is_that_of_the_residuals(self):
        n, d = grid()
        data = np.log(n) - np.log(n).mean(), np.log(d) - np.log(d).mean(), np.log(KNOWN.loss(n, d))
        x = np.array([0.1, -0.2, 0.4, -0.3, 0.5])
        steps = 1e-6 * np.eye(5)
        differences = [(scaling_law._residuals(x + h, *data) - scaling_law._residuals(x - h, *data)) / 2e-6 for h in steps]
        np.testing.assert_allclose(np.stack(differences, axis=1), scaling_law._jacobian(x, *data), atol=1e-9)

    def test_resampled_laws_spread_around_the_truth(self):
        n, d = grid()
        loss = KNOWN.loss(n, d) * np.exp(np.random.default_rng(1).normal(0, 0.003, len(n)))
        draws = resampled(n, d, loss, 60)
        b = sorted(law.b for law in draws)
        self.assertLess(b[1], KNOWN.b)
        self.assertGreater(b[-2], KNOWN.b)
        self.assertEqual(draws, resampled(n, d, loss, 60))

    def test_tokens_to_a_loss_undo_the_loss(self):
        n, d = 1e6, 3e7
        self.assertAlmostEqual(KNOWN.tokens_to(KNOWN.loss(n, d), n) / d, 1, delta=1e-9)
        self.assertEqual(KNOWN.tokens_to(1.7, n), np.inf)

    def test_what_cannot_be_fitted_is_refused(self):
        n, d = grid(1, 5)
        with self.assertRaisesRegex(ValueError, "at least 6 runs; there are 5"):
            fit(n, d, KNOWN.loss(n, d))
        n, d = grid()
        with self.assertRaisesRegex(ValueError, "not finite"):
            fit(n, d, np.where(n == n[0], np.inf, KNOWN.loss(n, d)))


class PotentialTest(unittest.TestCase):
    def test_it_is_the_recursion(self):
        def ratio(n, d):
            return 0.3 / (n + 2 * d)

        def value(n, d):
            return potential(n, d, 2, 3, 10, 20, ratio)

        self.assertEqual(value(9.9, 100), 0)
        self.assertEqual(value(100, 19.9), 0)
        self.assertAlmostEqual(value(10, 20), math.log(1 + 0.3 / 50), delta=1e-15)
        for n, d in ((31, 47), (200, 50), (14, 900)):
            self.assertAlmostEqual(value(n, d), value(n - 2, d - 3) + math.log(1 + ratio(n, d)), delta=1e-14)

    def test_steps_that_rounding_spoils_are_counted(self):
        self.assertAlmostEqual(potential(0.1 + 0.2, 0.3, 0.1, 0.1, 0.1, 0.1, lambda n, d: 1), 3 * math.log(2), delta=1e-12)

    def test_the_sum_of_a_fourth_power_has_its_limit(self):
        limit = math.log((math.cosh(math.pi * math.sqrt(2)) - math.cos(math.pi * math.sqrt(2))) / (2 * math.pi**2))
        self.assertAlmostEqual(limit, math.log(2.167360625882), delta=1e-12)
        steps = 20_000
        found = potential(steps, steps, 1, 1, 1, 1, lambda n, d: n**-4)
        self.assertLess(found, limit)
        self.assertLess(limit - found, 1 / (3 * steps**3) * 1.001)  # the integral that bounds what is left out

    def test_it_saturates_beyond_the_first_order_alone(self):
        growth = Growth(n_0=1e5, d_0=1e6, dn=1e5, dd=1e6, n_theta=1e6, p=2, q=1)

        def value(steps):
            return potential(steps * 1e5, steps * 1e6, 1e5, 1e6, 1e5, 1e6, lambda n, d: growth.ratio(n, d, 1.2))

        self.assertAlmostEqual(value(1), math.log(1 + 1.2 / 1.1), delta=1e-12)  # E = 1.2/(1 + 0.1), G = D = 1
        # Terms k are at most e_theta * n_theta/n_0 / (2 k^3 - k): the rest after K of them is below 1.2 * 10 / (4 (K - 1)^2).
        self.assertLess(value(2000) - value(200), 1.2 * 10 / (4 * 199**2))
        self.assertGreater(value(2000), value(200))

    def test_settings_without_meaning_are_refused(self):
        for wrong, message in (({"p": 1}, "p: 1 is not above 1"), ({"q": -1}, "q: -1"), ({"n_0": 0}, "n_0: 0")):
            with self.assertRaisesRegex(ValueError, message):
                Growth(**{"n_0": 1, "d_0": 1, "dn": 1, "dd": 1, "n_theta": 1, "p": 2, "q": 1} | wrong)


if __name__ == "__main__":
    unittest.main()
