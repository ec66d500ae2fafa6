"""Private stochastic gradients from devices (Duchi, Jordan and Wainwright 2018): medians and generalised linear models.

Person t is asked once, at the current theta, and sends an unbiased noisy gradient; steps fall like t^(-2/3) and the
iterates are averaged (Polyak and Ruppert), which gives the asymptotic variance of the best step without knowing the
curvature:

    median:   gradient sign(theta - x), sent by a biased coin as +-k, k = (e^eps + 1)/(e^eps - 1):   n Var -> k²/(4 f²)
    GLM:      gradient slope(z'theta, y) z in [-bound, bound]^p, sent through the cube:              n Var -> H⁻¹ S H⁻¹

with f the density at the median, S the second moment of what is sent. The question that a person is asked depends on
those before: a device answers once, for one model, in one order. `group` people are asked at the same theta, to save
time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp_experiments.baselines.cube import odds, send
from versadp_experiments.baselines.method import DEVICE, Budget, Estimate, Method, Sample, pure
from versadp_experiments.baselines.scores import Logistic, Score

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]


def averaged(
    gradient: Callable[[Array, slice], Array], start: Array, records: int, *, group: int, rate: float, radius: float
) -> Array:
    """Return the average of the iterates of stochastic gradient descent, without the first tenth.

    Examples
    --------
    >>> averaged(lambda t, s: t - 1.0, np.zeros(1), 1000, group=10, rate=1.0, radius=5.0).round(2)
    array([1.])
    """
    theta, total, count = start, np.zeros_like(start), 0
    steps = records // group
    for t in range(steps):
        theta = theta - rate * (t + 1.0) ** (-2 / 3) * gradient(theta, slice(t * group, (t + 1) * group))
        theta = np.clip(theta, -radius, radius)
        if 10 * t >= steps:
            total, count = total + theta, count + 1
    return total / count


@dataclass(frozen=True)
class LocalMedian(Method):
    """The median of the first covariate."""

    group: int = 10
    rate: float = 1.0
    name: ClassVar[str] = "sequential median"
    reference: ClassVar[str] = "Duchi, Jordan and Wainwright 2018"
    where: ClassVar[str] = DEVICE

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return pure epsilon: the odds of the coin."""
        return pure(odds(1, budget.epsilon))

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Ask one group after the other."""
        x = sample.x[:, 0]

        def gradient(theta: Array, part: slice) -> Array:
            return np.asarray(send(np.sign(theta - x[part])[:, None], budget.epsilon, rng).mean(axis=0))

        return Estimate(averaged(gradient, np.zeros(1), len(x), group=self.group, rate=self.rate, radius=1.0))


@dataclass(frozen=True)
class LocalGLM(Method):
    """A generalised linear model."""

    score: Score = field(default_factory=Logistic)
    group: int = 20
    rate: float = 4.0
    radius: float = 5.0
    name: ClassVar[str] = "sequential GLM"
    reference: ClassVar[str] = "Duchi, Jordan and Wainwright 2018"
    where: ClassVar[str] = DEVICE

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return pure epsilon: one corner of a cube."""
        return pure(odds(columns + 1, budget.epsilon))

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Ask one group after the other."""
        z, bound = sample.design, self.score.bound

        def gradient(theta: Array, part: slice) -> Array:
            each = self.score.slope(z[part] @ theta, sample.y[part])[:, None] * z[part] / bound
            return np.asarray(bound * send(each, budget.epsilon, rng).mean(axis=0))

        start = np.zeros(z.shape[1])
        return Estimate(averaged(gradient, start, len(z), group=self.group, rate=self.rate, radius=self.radius))


def asymptotic_spread(epsilon: float, density: float) -> float:
    """Return sqrt(n) times the standard error of the sequential median.

    Examples
    --------
    >>> asymptotic_spread(math.inf, 0.5)
    1.0
    """
    return 1 / math.tanh(epsilon / 2) / (2 * density)
