"""Noise on a robust M-estimator, in proportion to the most that one record can pull it (Avella-Medina 2021).

    T solves mean psi(y - z'theta) w(z) z = 0,   psi cut off at c,   w(z) = min(1, b/|z|)
    gamma = sup |influence| <= c b |M⁻¹|,        M = mean psi'(r) w(z) zz'
    A = T + gamma 5 sqrt(2 log(n) log(2/delta)) / (epsilon n) N(0, I)

is (epsilon, delta)-private for n above a number that depends on the model and is not known in practice (his theorem
bounds a smooth sensitivity by gamma sqrt(log n)/n); so its guarantee here says what the theorem says of the noise, and
`asymptotic`. There are no standard errors: the sandwich is of true records, and the theorem pays for T alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp import privacy
from versadp.errors import ParameterError
from versadp_experiments.baselines.method import Budget, Estimate, Method, Sample
from versadp_experiments.baselines.scores import Huber

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class RobustRegression(Method):
    """Mallows' regression with noise; `cut` and `radius` bound residuals and leverage."""

    cut: float = 0.5
    radius: float = 1.5
    name: ClassVar[str] = "robust M-estimator"
    reference: ClassVar[str] = "Avella-Medina 2021"
    asymptotic: ClassVar[bool] = True

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return (epsilon, delta): what the theorem gives for records enough."""
        return privacy.approx_dp(self._root(records, budget) / self.factor(records, budget), budget.delta)

    def factor(self, records: int, budget: Budget) -> float:
        """Return the noise's standard deviation in units of gamma."""
        if math.isinf(budget.epsilon):
            return 0.0
        if budget.delta == 0:
            raise ParameterError("the theorem needs a delta above 0", hint="for example Budget(1.0, 1e-6)")
        return self._root(records, budget) / budget.epsilon

    def _root(self, records: int, budget: Budget) -> float:
        return 5 * math.sqrt(2 * math.log(records) * math.log(2 / budget.delta)) / records

    def solve(self, sample: Sample) -> tuple[Array, Array]:
        """Return T and M.

        Examples
        --------
        >>> x = np.linspace(-1, 1, 9)[:, None]
        >>> RobustRegression().solve(Sample(x, 0.2 + 0.5 * x[:, 0]))[0].round(6)
        array([0.2, 0.5])
        """
        z, score = sample.design, Huber(self.cut)
        weight = np.minimum(1.0, self.radius / np.linalg.norm(z, axis=1))
        theta = np.linalg.lstsq(z * weight[:, None], sample.y * weight, rcond=None)[0]
        for _ in range(100):  # iteratively reweighted: it cannot overshoot where psi is flat
            r = sample.y - z @ theta
            w = weight * np.minimum(1.0, self.cut / np.maximum(np.abs(r), 1e-300))
            new = np.linalg.solve(z.T @ (z * w[:, None]), z.T @ (w * sample.y))
            theta, moved = new, float(np.abs(new - theta).max())
            if moved < 1e-12:
                break
        u = z @ theta
        return theta, z.T @ (z * (weight * score.bend(u, sample.y))[:, None]) / len(u)

    def influence(self, bend: Array) -> float:
        """Return gamma, the bound on the influence of any record."""
        return self.cut * self.radius * float(np.linalg.norm(np.linalg.inv(bend), 2))

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Return the noisy estimate."""
        theta, bend = self.solve(sample)
        return Estimate(rng.normal(theta, self.factor(len(sample.y), budget) * self.influence(bend)))
