"""Objective perturbation: a random linear term in the objective (Chaudhuri, Monteleoni and Sarwate 2011, algorithm 2).

    minimise  mean l(z'theta, y) + (ridge/2)|theta|² + b'theta/n + (extra/2)|theta|²,      |z| <= 1, |l'| <= 1, l'' <= c
    epsilon' = epsilon - log(1 + 2c/(n ridge) + c²/(n² ridge²))
    b has density in proportion to exp(-epsilon' |b|/2); if epsilon' < epsilon/2,
    extra = c/(n(e^(epsilon/4) - 1)) - ridge and epsilon' = epsilon/2

Pure epsilon. Two things depend on the record: the b that gives an output (a factor e^epsilon'), and the volume element
there (the logarithm above). z = (1, x) is divided by sqrt(p) first, and coefficients are given back in units of x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from versadp_experiments.baselines.method import Budget, Estimate, Method, Sample, pure
from versadp_experiments.baselines.scores import Logistic, Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class ObjectivePerturbation(Method):
    """A noisy objective, minimised; `ridge` is the penalty that it needs."""

    score: Score = field(default_factory=Logistic)
    ridge: float = 1e-3
    name: ClassVar[str] = "objective perturbation"
    reference: ClassVar[str] = "Chaudhuri, Monteleoni and Sarwate 2011"

    def noise(self, records: int, budget: Budget) -> tuple[float, float]:
        """Return epsilon' and the extra penalty.

        Examples
        --------
        >>> first, extra = ObjectivePerturbation().noise(10_000, Budget(1.0))
        >>> round(first, 4), extra
        (0.9506, 0.0)
        """
        if math.isinf(budget.epsilon):
            return math.inf, 0.0
        share = self.curvature / (records * self.ridge)
        left = budget.epsilon - math.log(1 + 2 * share + share**2)
        if left >= budget.epsilon / 2:  # printed as `left > 0`, which may leave next to nothing for b
            return left, 0.0
        return budget.epsilon / 2, self.curvature / (records * (math.exp(budget.epsilon / 4) - 1)) - self.ridge

    @property
    def curvature(self) -> float:
        """The bound c, for a loss whose slope is scaled to at most 1."""
        return self.score.curvature / self.score.bound

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return pure epsilon, added up from the two things that depend on a record."""
        first, extra = self.noise(records, budget)
        share = self.curvature / (records * (self.ridge + extra))
        return pure(first + math.log(1 + 2 * share + share**2))

    def minimise(self, sample: Sample, b: Array, extra: float) -> Array:
        """Return the minimum with a given b, in units of z/sqrt(p)."""
        z, n, bound = sample.design / math.sqrt(sample.x.shape[1] + 1), len(sample.y), self.score.bound
        ridge = self.ridge + extra

        def objective(theta: Array) -> tuple[float, Array]:
            u = z @ theta
            value = float(self.score.value(u, sample.y).mean()) / bound + ridge / 2 * float(theta @ theta)
            gradient = z.T @ self.score.slope(u, sample.y) / (n * bound) + ridge * theta
            return value + float(b @ theta) / n, gradient + b / n

        options: Any = {"gtol": 1e-10, "ftol": 1e-15, "maxiter": 1000}
        return np.asarray(minimize(objective, np.zeros(len(b)), jac=True, method="L-BFGS-B", options=options).x)

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Return the coefficients of (1, x)."""
        p = sample.x.shape[1] + 1
        first, extra = self.noise(len(sample.y), budget)
        direction = rng.normal(size=p)
        b = direction / np.linalg.norm(direction) * (0.0 if math.isinf(first) else rng.gamma(p, 2 / first))
        return Estimate(self.minimise(sample, b, extra) / math.sqrt(p))
