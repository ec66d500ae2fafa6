"""Losses of an index u = z'theta that the baselines minimise, with the bounds that their noise is calibrated to.

    squared    (u - y)²/2, its slope cut off at `cut` (Huber's loss): |slope| <= cut, curvature <= 1
    logistic   log(1 + e^u) - y u, y in {0, 1}:                       |slope| <= 1,   curvature <= 1/4
    check      (y - u)(tau - 1{y < u}):                               |slope| <= max(tau, 1 - tau)

A gradient is slope times z, and z = (1, x) in [-1, 1]^p has norm at most sqrt(p).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Score(ABC):
    """A loss with bounded slope."""

    curvature: ClassVar[float]

    @property
    @abstractmethod
    def bound(self) -> float:
        """The largest slope."""

    @property
    def peak(self) -> float:
        """The largest value of `bend`."""
        return self.curvature

    @abstractmethod
    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""

    @abstractmethod
    def slope(self, u: Array, y: Array) -> Array:
        """Return its derivative in u."""

    @abstractmethod
    def bend(self, u: Array, y: Array) -> Array:
        """Return its second derivative in u; of a kink, a smoothed one."""


@dataclass(frozen=True)
class Huber(Score):
    """Squared loss with its slope cut off.

    Examples
    --------
    >>> Huber(1.0).slope(np.array([3.0, 0.5]), np.zeros(2))
    array([1. , 0.5])
    """

    cut: float = 2.0
    curvature: ClassVar[float] = 1.0

    @property
    def bound(self) -> float:
        """The cut."""
        return self.cut

    def value(self, u: Array, y: Array) -> Array:
        """Return a square in the middle, lines outside."""
        r = np.abs(u - y)
        return np.where(r <= self.cut, r * r / 2, self.cut * (r - self.cut / 2))

    def slope(self, u: Array, y: Array) -> Array:
        """Return the residual, cut off."""
        return np.clip(u - y, -self.cut, self.cut)

    def bend(self, u: Array, y: Array) -> Array:
        """Return 1 in the middle."""
        return (np.abs(u - y) <= self.cut).astype(float)


@dataclass(frozen=True)
class Logistic(Score):
    """Logistic loss of y in {0, 1}.

    Examples
    --------
    >>> Logistic().slope(np.zeros(1), np.ones(1))
    array([-0.5])
    """

    curvature: ClassVar[float] = 0.25

    @property
    def bound(self) -> float:
        """One."""
        return 1.0

    def value(self, u: Array, y: Array) -> Array:
        """Return log(1 + e^u) - y u."""
        return np.logaddexp(0.0, u) - y * u

    def slope(self, u: Array, y: Array) -> Array:
        """Return probability minus response."""
        return np.asarray(expit(u) - y)

    def bend(self, u: Array, y: Array) -> Array:  # noqa: ARG002 (one signature for all losses)
        """Return p(1 - p)."""
        p = expit(u)
        return np.asarray(p * (1 - p))


@dataclass(frozen=True)
class Check(Score):
    """Quantile loss; `width` smooths its second derivative, and nothing else.

    Examples
    --------
    >>> Check(0.9).slope(np.array([0.0, 2.0]), np.ones(2)).round(1)
    array([-0.9,  0.1])
    """

    tau: float = 0.5
    width: float = 0.1
    curvature: ClassVar[float] = 1.0

    @property
    def bound(self) -> float:
        """The steeper side."""
        return max(self.tau, 1 - self.tau)

    @property
    def peak(self) -> float:
        """The kernel's height."""
        return 1 / (self.width * math.sqrt(2 * math.pi))

    def value(self, u: Array, y: Array) -> Array:
        """Return (y - u)(tau - 1{y < u})."""
        return (y - u) * (self.tau - (y < u))

    def slope(self, u: Array, y: Array) -> Array:
        """Return 1{y < u} - tau."""
        return np.asarray((y < u) - self.tau, dtype=float)

    def bend(self, u: Array, y: Array) -> Array:
        """Return the density of a normal kernel at the residual."""
        v = (y - u) / self.width
        return np.asarray(np.exp(-v * v / 2) / (self.width * math.sqrt(2 * math.pi)))


def minimum(score: Score, z: Array, y: Array, weights: Array | None = None, ridge: float = 0.0) -> Array:
    """Return the exact minimum of a smooth loss, by Newton's method; weights may be negative where it still has one.

    Examples
    --------
    >>> z = np.column_stack([np.ones(4), [0, 1, 2, 3]])
    >>> minimum(Huber(9.0), z, 1 + 2 * z[:, 1]).round(6)
    array([1., 2.])
    """
    w = np.full(len(y), 1 / len(y)) if weights is None else weights
    theta, eye = np.zeros(z.shape[1]), np.eye(z.shape[1])
    for _ in range(100):
        u = z @ theta
        gradient = z.T @ (w * score.slope(u, y)) + ridge * theta
        hessian = z.T @ (z * (w * score.bend(u, y))[:, None]) + (ridge + 1e-12) * eye
        step = np.linalg.solve(hessian, gradient)
        theta = theta - step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-12:
            break
    return theta
