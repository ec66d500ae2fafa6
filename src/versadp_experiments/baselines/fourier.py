"""Gaussian noise with a truncated Fourier corrected loss (the paper's eq. Corrected Loss, its integral cut off).

    X1 = x + N(0, s² I);   softplus(u) = u/2 + g(u), g even;   g(u) = sum_{m<=M} a_m cos(m w u)  on [-U, U],  w = pi/U
    corrected g(u) = sum_{m<=M} a_m exp((m w)² s² |theta|²/2) cos(m w u),   as E cos(t(u + Z)) = e^(-t² Var Z/2) cos(tu)

Each wave is undone exactly; the loss is not: cutting the series off at M is a bias, and its variance grows like
exp((M w)² s² |theta|²), so M is a smoothing parameter. No choice is right for all sizes of noise, and none gives
root-n rates. Gaussian noise on a record in [-1, 1]^d is mu-GDP with mu = 2 sqrt(d)/s. The response is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.optimize import minimize

from versadp import privacy
from versadp_experiments.baselines.method import DEVICE, Budget, Estimate, Method, Sample
from versadp_experiments.baselines.product import sandwich

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]


@lru_cache(maxsize=32)
def cosines(terms: int, reach: float) -> tuple[float, ...]:
    """Return a_0..a_M of log(2 cosh(u/2)) on [-reach, reach], by the trapezoidal rule.

    Examples
    --------
    >>> round(cosines(2, 4.0)[0], 4)
    1.2011
    """
    u = np.linspace(0.0, reach, 4001)
    g = np.logaddexp(u / 2, -u / 2)
    weight = np.full(u.size, 1.0 / (u.size - 1))
    weight[[0, -1]] /= 2
    return tuple(float((2 - (m == 0)) * (weight * g * np.cos(m * math.pi * u / reach)).sum()) for m in range(terms + 1))


@dataclass(frozen=True)
class TruncatedFourier(Method):
    """Logistic regression on Gaussian noise; `terms` is M, `reach` U."""

    terms: int = 4
    reach: float = 5.0
    box: float = 5.0
    name: ClassVar[str] = "Gaussian, truncated Fourier"
    reference: ClassVar[str] = "Stefanski and Carroll 1990 for losses; Lu, Chen and Qiu, section 4"
    where: ClassVar[str] = DEVICE
    reusable: ClassVar[bool] = True

    def spread(self, columns: int, budget: Budget) -> float:
        """Return the standard deviation of a column's noise."""
        return 2 * math.sqrt(columns) / budget.mu

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return the Gaussian curve of a record."""
        return privacy.gaussian(2 * math.sqrt(columns) / self.spread(columns, budget))

    def corrected(self, theta: Array, x: Array, y: Array, spread: float) -> tuple[Array, Array]:
        """Return the corrected loss of each record and its gradient."""
        u, w = theta[0] + x @ theta[1:], math.pi / self.reach
        norm = float(theta[1:] @ theta[1:])
        value, slope, growth = u * (0.5 - y), np.full(len(u), 0.5) - y, np.zeros(len(u))
        for m, a in enumerate(cosines(self.terms, self.reach)):
            t = m * w
            up = a * math.exp(min(t * t * spread**2 * norm / 2, 50.0))
            value = value + up * np.cos(t * u)
            slope = slope - up * t * np.sin(t * u)
            growth = growth + up * t * t * np.cos(t * u)
        gradient = np.column_stack([slope, slope[:, None] * x + spread**2 * growth[:, None] * theta[1:]])
        return value, gradient

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Minimise in a box; errors by the sandwich, which knows nothing of the bias."""
        n, d = sample.x.shape
        spread = self.spread(d, budget)
        x = sample.x + rng.normal(0.0, spread, (n, d))

        def mean(theta: Array) -> tuple[float, Array]:
            value, gradient = self.corrected(theta, x, sample.y, spread)
            return float(value.mean()), gradient.mean(axis=0)

        found = minimize(mean, np.zeros(d + 1), jac=True, method="L-BFGS-B", bounds=[(-self.box, self.box)] * (d + 1))
        return Estimate(found.x, sandwich(lambda t: self.corrected(t, x, sample.y, spread)[1], np.asarray(found.x)))
