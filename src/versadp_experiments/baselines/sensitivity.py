"""The sensitivity method: a bounded statistic, plus noise in proportion to what one record can change of it.

    mean of x in [-1, 1]^d:   Laplace, scale 2d/(n epsilon)           (L1 sensitivity 2d/n): pure epsilon
                              Gaussian, sd 2 sqrt(d)/(n mu)           (L2 sensitivity 2 sqrt(d)/n): mu-GDP

    least squares from noisy moments: the entries above and on the diagonal of mean(vv'), v = (1, x, y) with p = d + 2
    entries. Replacing v by w moves them by at most p/n in L2: n² times the square of it is

        1/2 |vv' - ww'|² + 1/2 sum (v_i² - w_i²)²  <=  1/2 (|v|⁴ + |w|⁴) + 1/2 sum (v_i² - w_i²)²

    which is convex in the squares, so largest where each is 0 or 1: with A and B ones, C >= max(1, A + B - p) of them
    shared, (A² + B² + A + B)/2 - C, at most p². Attained for even p, by corners at right angles. Estimates solve the
    noisy normal equations.

Dwork, McSherry, Nissim and Smith (2006); moments: Vu and Slavkovic (2009), Wang (2018). One trusted server, one
answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp import privacy
from versadp_experiments.baselines.method import Budget, Estimate, Method, Sample, laplace, pure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class NoisyMean(Method):
    """Means of the covariates; Laplace noise for a pure budget, Gaussian noise for one with a delta."""

    name: ClassVar[str] = "noisy mean"
    reference: ClassVar[str] = "Dwork, McSherry, Nissim and Smith 2006"

    def spread(self, records: int, columns: int, budget: Budget) -> float:
        """Return the standard deviation of the noise of each mean."""
        if budget.delta == 0:
            return math.sqrt(2) * 2 * columns / (records * budget.epsilon)
        return 2 * math.sqrt(columns) / (records * budget.mu)

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:
        """Return epsilon, or the Gaussian curve, from spread and sensitivity."""
        spread = self.spread(records, columns, budget)
        if budget.delta == 0:
            return pure(2 * columns / records / (spread / math.sqrt(2)))
        return privacy.gaussian(2 * math.sqrt(columns) / records / spread)

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Return noisy means; errors add the noise to the largest spread that the bounds allow (its own is secret).

        Examples
        --------
        >>> sample = Sample(np.array([[0.5], [-0.5]]), np.zeros(2))
        >>> NoisyMean().fit(sample, Budget(math.inf), np.random.default_rng(0)).values
        array([0.])
        """
        n, d = sample.x.shape
        spread = self.spread(n, d, budget)
        noise = laplace(rng, spread / math.sqrt(2), d) if budget.delta == 0 else rng.normal(0.0, spread, d)
        values = sample.x.mean(axis=0) + noise
        most = 1 - np.clip(values, -1, 1) ** 2
        return Estimate(values, np.sqrt(most / n + spread**2))


@dataclass(frozen=True)
class NoisyMoments(Method):
    """Least squares from noisy second moments."""

    name: ClassVar[str] = "noisy moments"
    reference: ClassVar[str] = "Vu and Slavkovic 2009; Wang 2018"

    def sensitivity(self, records: int, columns: int) -> float:
        """Return how far one record moves the distinct moments, in Euclidean norm.

        Examples
        --------
        >>> NoisyMoments().sensitivity(1, 1)
        3.0
        """
        return (columns + 2) / records

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:
        """Return the Gaussian curve from spread and sensitivity."""
        return privacy.gaussian(self.sensitivity(records, columns) / self.spread(records, columns, budget))

    def spread(self, records: int, columns: int, budget: Budget) -> float:
        """Return the standard deviation of the noise of each moment."""
        return self.sensitivity(records, columns) / budget.mu

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Solve the noisy normal equations; errors by the delta method, the noise of the moments included."""
        n, d = sample.x.shape
        v = np.column_stack([sample.design, sample.y])
        spread = self.spread(n, d, budget)
        noise = np.triu(rng.normal(0.0, spread, (d + 2, d + 2))) if spread else np.zeros((d + 2, d + 2))
        noise[0, 0] = 0.0
        moments = v.T @ v / n + noise + np.triu(noise, 1).T
        inverse = np.linalg.inv(moments[:-1, :-1])
        theta = inverse @ moments[:-1, -1]
        leftover = max(float(moments[-1, -1] - moments[:-1, -1] @ theta), 0.0)
        a = np.append(theta, -1.0)
        noisy = float(a @ a) * np.eye(d + 1) + np.outer(theta, theta) - np.diag(theta**2)  # of noise times a
        noisy[0, 0] -= theta[0] ** 2  # the constant's own moment has none
        covariance = leftover / n * inverse + spread**2 * inverse @ noisy @ inverse
        return Estimate(theta, np.sqrt(np.maximum(np.diag(covariance), 0.0)))
