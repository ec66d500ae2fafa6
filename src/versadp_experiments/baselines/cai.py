"""Linear regression by noisy gradient descent with truncation and projection (Cai, Wang and Zhang 2021, algorithm 4.1).

    beta <- project onto |beta| <= C of   beta - eta mean((z'beta - cut(y, R)) z) - eta N(0, sigma² I)

One record moves a mean gradient by at most 2 (R + C sqrt(p)) sqrt(p)/n = D. The paper pays for T steps by (epsilon/T,
delta/T) each, sigma = D T sqrt(2 log(1.25 T/delta))/epsilon; `exact` pays by Gaussian composition, sigma = D
sqrt(T)/mu, and adds many times less noise for the same guarantee. (The logarithm is that of the usual bound for a
Gaussian mechanism; theirs may have another constant in it, and was not looked up.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp import privacy
from versadp.errors import ParameterError
from versadp_experiments.baselines.method import Budget, Estimate, Method, Sample

if TYPE_CHECKING:
    from versadp.privacy import PrivacyProfile


@dataclass(frozen=True)
class CaiRegression(Method):
    """Their algorithm; `radius` is C, `steps` T, `rate` eta times p, `exact` how its steps are paid for."""

    radius: float = 2.0
    steps: int = 30
    rate: float = 1.0
    exact: bool = True
    name: ClassVar[str] = "projected noisy descent"
    reference: ClassVar[str] = "Cai, Wang and Zhang 2021"

    def sensitivity(self, records: int, columns: int) -> float:
        """Return D; |y| <= 1 is its own truncation.

        Examples
        --------
        >>> CaiRegression(radius=1.0).sensitivity(100, 3)
        0.12
        """
        p = columns + 1
        return 2 * (1 + self.radius * math.sqrt(p)) * math.sqrt(p) / records

    def sigma(self, records: int, columns: int, budget: Budget) -> float:
        """Return the standard deviation of a step's noise."""
        size = self.sensitivity(records, columns)
        if self.exact or math.isinf(budget.epsilon):
            return size * math.sqrt(self.steps) / budget.mu
        if budget.delta == 0 or budget.epsilon > self.steps:
            raise ParameterError("their noise needs a delta, and at most 1 of epsilon a step", hint="exact=True")
        root = math.sqrt(2 * math.log(1.25 * self.steps / budget.delta))
        return size * self.steps * root / budget.epsilon

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:
        """Return the Gaussian curve of all steps: of the paper's noise, much better than asked for."""
        each = self.sensitivity(records, columns) / self.sigma(records, columns, budget)
        return privacy.gaussian(math.sqrt(self.steps) * each)

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Descend from 0 with steps of `rate` over the largest curvature that can be."""
        z, n, d = sample.design, *sample.x.shape
        sigma, eta, theta = self.sigma(n, d, budget), self.rate / (d + 1), np.zeros(d + 1)
        second, first = z.T @ z / n, z.T @ sample.y / n
        for _ in range(self.steps):
            theta = theta - eta * (second @ theta - first + rng.normal(0.0, sigma, d + 1))
            theta = theta * min(1.0, self.radius / max(float(np.linalg.norm(theta)), 1e-300))
        return Estimate(theta)
