"""Objective perturbation: a random linear term in the objective (Chaudhuri, Monteleoni and Sarwate 2011, algorithm 2).

    minimise  mean l(z'theta, y) + (ridge/2)|theta|² + b'theta/n,      |z| <= 1, |l'| <= 1, l'' <= c
    epsilon' = epsilon - log(1 + 2c/(n ridge) + c²/(n² ridge²));   b has density in proportion to exp(-epsilon' |b|/2)

Pure epsilon. Two things depend on the record: the b that gives an output (a factor e^epsilon'), and the volume element
there (the logarithm above). They ask for l'' to exist; it is enough that b is a Lipschitz function of the output with a
Lipschitz inverse, which it is for Huber's loss too, since l' is Lipschitz and the ridge is positive.

The ridge is a bias, and what it leaves for b is noise: c/(n(e^(epsilon/4) - 1)) gives each half of epsilon, depends on
no record, and is the default; their algorithm uses it too where a given ridge leaves no epsilon' (here: less than
half). z = (1, x) is divided by sqrt(p) first, and coefficients are given back in units of x. R's package DPpack has the
same algorithm, and was not run against this one.
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
    """A noisy objective, minimised; `ridge` is its penalty, by default the one that takes half of epsilon."""

    score: Score = field(default_factory=Logistic)
    ridge: float | None = None
    name: ClassVar[str] = "objective perturbation"
    reference: ClassVar[str] = "Chaudhuri, Monteleoni and Sarwate 2011"

    def noise(self, records: int, budget: Budget) -> tuple[float, float]:
        """Return epsilon' and the penalty.

        Examples
        --------
        >>> first, ridge = ObjectivePerturbation().noise(10_000, Budget(1.0))
        >>> round(first, 4), round(ridge, 6)
        (0.5, 8.8e-05)
        >>> first, ridge = ObjectivePerturbation(ridge=1e-3).noise(10_000, Budget(1.0))
        >>> round(first, 4), ridge
        (0.9506, 0.001)
        """
        if math.isinf(budget.epsilon):
            return math.inf, self.ridge or 0.0
        half = self.curvature / (records * math.expm1(budget.epsilon / 4))
        if self.ridge is None or self.ridge < half:  # printed as `no epsilon' left`, which may leave next to nothing
            return budget.epsilon / 2, half
        return budget.epsilon - self._volume(records, self.ridge), self.ridge

    def _volume(self, records: int, ridge: float) -> float:
        """Return how far the logarithm of the volume element can depend on a record."""
        return 2 * math.log1p(self.curvature / (records * ridge))

    @property
    def curvature(self) -> float:
        """The bound c, for a loss whose slope is scaled to at most 1."""
        return self.score.curvature / self.score.bound

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return pure epsilon, added up from the two things that depend on a record."""
        first, ridge = self.noise(records, budget)
        return pure(first + self._volume(records, ridge))

    def minimise(self, sample: Sample, b: Array, ridge: float) -> Array:
        """Return the minimum with a given b, in units of z/sqrt(p)."""
        z, n, bound = sample.design / math.sqrt(sample.x.shape[1] + 1), len(sample.y), self.score.bound

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
        first, ridge = self.noise(len(sample.y), budget)
        direction = rng.normal(size=p)
        b = direction / np.linalg.norm(direction) * (0.0 if math.isinf(first) else rng.gamma(p, 2 / first))
        return Estimate(self.minimise(sample, b, ridge) / math.sqrt(p))
