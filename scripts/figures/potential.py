"""The mission's scaling potential, a recursion along steps of model and data:

    P(n, d) = P(n - dn, d - dd) + log(1 + E/(G*D)),   P = 0 where n < n_0 or d < d_0
    E = e_theta / (1 + n/n_theta)      what the block theta makes of a step, less in a model that is large already
    G = (n/n_0)^p + (d/d_0)^p - 1      cost of the growth, of order p > 1 in n and d; 1 at the start
    D = 1 + q*log(d/d_0)               what further data repeat of the earlier ones, at least 1 and growing with d

log(1 + x) <= x and the terms fall as 1/k^p or faster along the k steps, so that P saturates for p > 1.
"""
import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Growth:
    """Settings of E, G and D: scripts/figures/scaling_potential.yaml."""

    n_0: float
    d_0: float
    dn: float
    dd: float
    n_theta: float
    p: float
    q: float

    def __post_init__(self):
        for name in ("n_0", "d_0", "dn", "dd", "n_theta"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: {getattr(self, name)} is not above 0")
        if not self.p > 1:
            raise ValueError(f"p: {self.p} is not above 1: the potential would grow without bound")
        if self.q < 0:
            raise ValueError(f"q: {self.q} is below 0: D would fall with the data")

    def ratio(self, n, d, e_theta):
        """E/(G*D) at (n, d)."""
        efficiency = e_theta / (1 + n / self.n_theta)
        cost = (n / self.n_0) ** self.p + (d / self.d_0) ** self.p - 1
        return efficiency / (cost * (1 + self.q * math.log(d / self.d_0)))


def potential(n, d, dn, dd, n_0, d_0, ratio):
    """P(n, d) by the recursion; ratio(n, d) is E/(G*D)."""
    # How often (dn, dd) can be taken off before a side is below its start; half a step in a million against rounding.
    steps = math.floor(min((n - n_0) / dn, (d - d_0) / dd) + 5e-7)
    return math.fsum(math.log1p(ratio(n - k * dn, d - k * dd)) for k in range(steps + 1)) if steps >= 0 else 0.0
