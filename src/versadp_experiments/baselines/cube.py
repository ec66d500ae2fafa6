"""Duchi, Jordan and Wainwright's mechanism on a cube (2018): means and densities.

    round x in [-1, 1]^d to v in {-1, 1}^d, P(v_j = 1) = (1 + x_j)/2
    draw a corner z of {-B, B}^d: each one with z'v >= 0 is e^eps times as likely as each one with z'v < 0

E z = x for B = (e^eps N + M)/((e^eps - 1) binom(d-1, floor(d/2))), where N corners have z'v >= 0 and M the rest. For
odd d this is as they print it. For even d some corners have z'v = 0; printed with a coin of odds e^eps and the ties
on both sides, the likeliest and the least likely record for a corner differ by more than e^eps (0.97 at eps = 0.5, d
= 2, by enumeration: a test), as Nguyen et al. (2016) saw; here the ties are on one side. B grows like sqrt(d). Pure
epsilon on a device.

A density on [-1, 1] is 1/2 + sum_j c_j phi_j(x), phi_j an orthonormal trigonometric basis; every person sends the k
values phi_j(x) through the cube, and means of what is sent are unbiased for c_j. k = (n eps²)^(1/(2 beta + 2)), beta
the smoothness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp_experiments.baselines.method import DEVICE, Budget, Estimate, Method, Sample, pure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]


@lru_cache(maxsize=256)
def law(d: int, epsilon: float) -> tuple[tuple[float, ...], float]:
    """Return the law of the number of coordinates that agree with v, and B.

    Examples
    --------
    >>> agreeing, size = law(1, math.log(3))
    >>> [round(p, 6) for p in agreeing], round(size, 6)
    ([0.25, 0.75], 2.0)
    """
    weight = [math.comb(d, k) * (1.0 if 2 * k >= d else math.exp(-epsilon)) for k in range(d + 1)]
    total = sum(weight)
    mean = sum(w * (2 * k - d) for k, w in enumerate(weight)) / total
    return tuple(w / total for w in weight), d / mean


def odds(d: int, epsilon: float) -> float:
    """Return the logarithm of how much likelier the likeliest corner is than the least likely one.

    Examples
    --------
    >>> round(odds(4, 0.5), 12)
    0.5
    """
    each = [p / math.comb(d, k) for k, p in enumerate(law(d, epsilon)[0])]
    return math.log(max(each) / min(each))


def send(x: Array, epsilon: float, rng: np.random.Generator) -> Array:
    """Return what people send: one corner each. How many coordinates agree with v is drawn first, then which."""
    if math.isinf(epsilon):
        return x
    n, d = x.shape
    agreeing, size = law(d, epsilon)
    v = np.where(rng.random((n, d)) < (1 + x) / 2, 1.0, -1.0)
    count = np.asarray(np.searchsorted(np.cumsum(agreeing)[:-1], rng.random(n), side="right"))
    which = rng.random((n, d)).argsort(axis=1).argsort(axis=1) < count[:, None] if d > 1 else count[:, None] > 0
    return size * np.where(which, v, -v)


@dataclass(frozen=True)
class CubeMean(Method):
    """Means of the covariates."""

    name: ClassVar[str] = "cube mean"
    reference: ClassVar[str] = "Duchi, Jordan and Wainwright 2018"
    where: ClassVar[str] = DEVICE

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return pure epsilon: the odds of the two half cubes."""
        return pure(odds(columns, budget.epsilon))

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Return the means of what is sent, with errors."""
        sent = send(sample.x, budget.epsilon, rng)
        return Estimate(sent.mean(axis=0), sent.std(axis=0) / math.sqrt(len(sent)))


def basis(x: Array, terms: int) -> Array:
    """Return cos and sin waves on [-1, 1], each of mean square 1 under the uniform law, scaled to at most 1.

    Examples
    --------
    >>> basis(np.array([0.0, 0.5]), 2).round(6)
    array([[1., 0.],
           [0., 1.]])
    """
    waves = [(np.cos, np.sin)[j % 2](math.pi * (j // 2 + 1) * x) for j in range(terms)]
    return np.column_stack(waves)


@dataclass(frozen=True)
class CubeDensity(Method):
    """The density of the first covariate at `points` even places."""

    points: int = 21
    smoothness: float = 2.0
    name: ClassVar[str] = "cube density"
    reference: ClassVar[str] = "Duchi, Jordan and Wainwright 2018"
    where: ClassVar[str] = DEVICE

    def terms(self, records: int, epsilon: float) -> int:
        """Return k, even, at most 20.

        Examples
        --------
        >>> CubeDensity().terms(10_000, 1.0)
        4
        """
        size = records * min(epsilon, 10.0) ** 2
        return max(2, min(20, 2 * round(float(size ** (1 / (2 * self.smoothness + 2))) / 2)))

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return pure epsilon: the odds of the two half cubes of coefficients."""
        return pure(odds(self.terms(records, budget.epsilon), budget.epsilon))

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Return the series at the points; errors are those of the coefficients, not of the cut-off."""
        k = self.terms(len(sample.x), budget.epsilon)
        sent = send(basis(sample.x[:, 0], k), budget.epsilon, rng)
        waves = basis(np.linspace(-1, 1, self.points), k)
        covariance = np.cov(sent.T, bias=True) / len(sent)
        return Estimate(0.5 + waves @ sent.mean(axis=0), np.sqrt(np.einsum("ij,jk,ik->i", waves, covariance, waves)))
