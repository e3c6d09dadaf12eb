"""A scaling law fitted to runs: L(n, d) = E + A/n^a + B/d^b, for n trained parameters and d tokens (Hoffmann et al., 2022).

Fitted as there: the logarithms of the coefficients and the exponents, by Huber's loss (delta 1e-3) of log L, from a grid
of starts, the best one counting. Intervals: runs are drawn anew with replacement and the fit is repeated.
"""
import dataclasses
import itertools

import numpy as np
from scipy.optimize import least_squares
from scipy.special import logsumexp, softmax

DELTA = 1e-3
# Of log E, log A, a, log B, b. An exponent of 2 is beyond what any fit of language models has: it keeps a draw of few runs
# from running away.
LOWEST, HIGHEST = (-20, -20, 1e-3, -20, 1e-3), (5, 5, 2, 5, 2)


@dataclasses.dataclass(frozen=True)
class Law:
    E: float
    A: float
    a: float
    B: float
    b: float

    def loss(self, n, d):
        return self.E + self.A / np.power(n, self.a) + self.B / np.power(d, self.b)

    def tokens_to(self, loss, n):
        """Tokens after which a model of n parameters has `loss`; infinite where it never has."""
        rest = loss - self.E - self.A / n**self.a
        return (self.B / rest) ** (1 / self.b) if rest > 0 else np.inf


def _terms(x, log_n, log_d):
    e, log_a, a, log_b, b = x
    return np.stack([np.full_like(log_n, e), log_a - a * log_n, log_b - b * log_d])


def _residuals(x, log_n, log_d, log_loss):
    """log L less the logarithm of the loss; log n and log d are counted from their means, which the coefficients absorb."""
    return logsumexp(_terms(x, log_n, log_d), axis=0) - log_loss


def _jacobian(x, log_n, log_d, log_loss):
    e, a, b = softmax(_terms(x, log_n, log_d), axis=0)
    return np.stack([e, a, -a * log_n, b, -b * log_d], axis=1)


def fit(n, d, loss, starts=None):
    """The Law of runs with n parameters, d tokens and that loss. `starts`: laws to begin from instead of the grid."""
    n, d, loss = (np.asarray(values, dtype=float) for values in (n, d, loss))
    if len(loss) < 6:
        raise ValueError(f"a law of five numbers needs at least 6 runs; there are {len(loss)}")
    if not np.all(np.isfinite(loss)):
        raise ValueError("a loss is not finite")
    middle_n, middle_d = np.log(n).mean(), np.log(d).mean()
    if starts is None:
        low = np.log(loss.min())
        places = itertools.product((low - 2, low - 0.3), (low - 2,), (0.1, 0.5, 1.0), (low - 2,), (0.1, 0.5, 1.0))
    else:
        places = [(np.log(law.E), np.log(law.A) - law.a * middle_n, law.a, np.log(law.B) - law.b * middle_d, law.b) for law in starts]
    found = [least_squares(_residuals, np.clip(place, LOWEST, HIGHEST), _jacobian, (LOWEST, HIGHEST), loss="huber", f_scale=DELTA,
                           x_scale="jac", args=(np.log(n) - middle_n, np.log(d) - middle_d, np.log(loss))) for place in places]
    e, log_a, a, log_b, b = min(found, key=lambda result: result.cost).x
    return Law(float(np.exp(e)), float(np.exp(log_a + a * middle_n)), float(a), float(np.exp(log_b + b * middle_d)), float(b))


def resampled(n, d, loss, draws, seed=0):
    """`draws` laws, each of as many runs drawn anew with replacement; draws that see fewer than six runs are drawn again."""
    generator = np.random.default_rng(seed)
    n, d, loss = (np.asarray(values, dtype=float) for values in (n, d, loss))
    whole = fit(n, d, loss)
    laws = []
    while len(laws) < draws:
        drawn = generator.integers(len(loss), size=len(loss))
        if len(set(drawn)) >= min(6, len(loss) - 1):
            laws.append(fit(n[drawn], d[drawn], loss[drawn], [whole]))
    return laws
