"""The corrected score of Novick and Stefanski (2002): imaginary noise undoes real noise.

    X1 = x + s Z;    E f(X1 + i s V) = f(x) for independent normal Z, V and every entire f,

since (Z + iV) has E (Z + iV)^k = 0 for all k > 0. The score of a Poisson regression, (e^u - y) z, is entire: its
corrected score is the mean of the real part over `draws` of V. That of a logistic regression has poles at u = i pi
(2k + 1), and is refused. The Poisson score is also known in closed form, e^(u - s²|theta|²/2) (z - s² (0, theta)):
the test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp import privacy
from versadp.errors import ParameterError
from versadp_experiments.baselines.method import DEVICE, Budget, Estimate, Method, Sample
from versadp_experiments.baselines.product import sandwich

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]

MEANS: dict[str, Callable[[Complex], Complex]] = {"poisson": np.exp, "linear": lambda u: u}


def corrected_score(mean: Callable[[Complex], Complex], theta: Array, x: Array, y: Array, shifts: Array) -> Array:
    """Return the score of each record, averaged over imaginary shifts (draws, n, d).

    Examples
    --------
    >>> x, y = np.zeros((1, 1)), np.ones(1)
    >>> corrected_score(np.exp, np.array([0.0, 1.0]), x, y, np.array([[[0.5]], [[-0.5]]])).round(6)
    array([[-0.122417, -0.239713]])
    """
    total = np.zeros((len(x), x.shape[1] + 1))
    for shift in shifts:
        z = np.column_stack([np.ones(len(x)), x + 1j * shift]).astype(np.complex128)
        total += ((mean(np.asarray(z @ theta, dtype=np.complex128)) - y)[:, None] * z).real
    return total / len(shifts)


@dataclass(frozen=True)
class ComplexScore(Method):
    """Regression with an entire mean function on Gaussian noise."""

    mean: str = "poisson"
    draws: int = 20
    name: ClassVar[str] = "complex corrected score"
    reference: ClassVar[str] = "Novick and Stefanski 2002"
    where: ClassVar[str] = DEVICE
    reusable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.mean not in MEANS:
            raise ParameterError(f"{self.mean!r} is not an entire function", hint=f"choose from {', '.join(MEANS)}")

    def spread(self, columns: int, budget: Budget) -> float:
        """Return the standard deviation of a column's noise."""
        return 2 * math.sqrt(columns) / budget.mu

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return the Gaussian curve of a record."""
        return privacy.gaussian(2 * math.sqrt(columns) / self.spread(columns, budget))

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Solve the corrected scores by Newton's method with a numerical derivative, from the constant fit."""
        n, d = sample.x.shape
        spread = self.spread(d, budget)
        x = sample.x + rng.normal(0.0, spread, (n, d))
        half = rng.normal(0.0, 1.0, ((self.draws + 1) // 2, n, d)) * spread
        shifts, mean = np.concatenate([half, -half]), MEANS[self.mean]

        def scores(theta: Array) -> Array:
            return corrected_score(mean, theta, x, sample.y, shifts)

        theta, eye = np.zeros(d + 1), np.eye(d + 1) * 1e-4
        level = max(float(sample.y.mean()), 1e-3)
        theta[0] = math.log(level) if self.mean == "poisson" else level
        for _ in range(15):
            slope = np.array([(scores(theta + e) - scores(theta - e)).mean(axis=0) / 2e-4 for e in eye]).T
            step = np.linalg.lstsq(slope, scores(theta).mean(axis=0), rcond=None)[0]
            theta = theta - step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
            if np.abs(step).max() < 1e-8:
                return Estimate(theta, sandwich(scores, theta))
        return Estimate(np.full(d + 1, math.nan))
