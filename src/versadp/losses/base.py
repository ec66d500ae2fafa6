"""What a loss is: a function of an index and a response, with derivatives in the index.

Most models look at a record through an index `u = m'theta`, m the row of the design. Such a loss is a function of
(u, y), and everything that fitting and correcting need is its derivatives in u. A loss says how smooth it is, and by
that which corrections serve it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from versadp.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class IndexLoss(ABC):
    """A loss of an index u and a response y.

    Attributes
    ----------
    name : str
        What `fit(loss=...)` calls it.
    smooth : bool
        True if it has four continuous derivatives in u: the Laplacian form of the correction needs them.
    kinked : bool
        True if its first derivative jumps, so that it is smoothed with a bandwidth.
    residual : bool
        True if it depends on `u - y` alone, so that a private response may stand in the numeric block.
    """

    name: ClassVar[str]
    smooth: ClassVar[bool] = False
    kinked: ClassVar[bool] = False
    residual: ClassVar[bool] = False

    @abstractmethod
    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""

    @abstractmethod
    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return the first `order` derivatives in u, at most four; a kinked loss is smoothed with the bandwidth."""

    def response(self, y: Array) -> Array:
        """Check the response and return it as the formula needs it."""
        return y

    def mean(self, u: Array) -> Array:
        """Return the prediction that belongs to the index."""
        return u

    def __repr__(self) -> str:
        inner = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"{type(self).__name__}({inner})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), tuple(vars(self).items())))


def two_values(y: Array, low: float, high: float, loss: str) -> Array:
    """Return a two-valued response as low and high, whatever two numbers it holds (0/1, -1/1)."""
    values = np.unique(y)
    if values.size == 1:
        raise DataError(f"the response has one class, but {loss} loss needs two")
    if values.size > 2 or not set(values.tolist()) <= {-1.0, 0.0, 1.0}:
        raise DataError(f"{loss} loss needs a response of 0 and 1, or of -1 and 1")
    return np.where(y == values[1], high, low)


def zeros(u: Array, count: int) -> tuple[Array, ...]:
    """Return derivatives that vanish."""
    return (np.zeros_like(u),) * max(count, 0)


def kernel(z: Array) -> tuple[Array, Array]:
    """Return the fourth-order kernel `K(z) = (15/32)(1 - z^2)(3 - 7 z^2)` on [-1, 1] and its integral from -1.

    Its second moment vanishes, so that smoothing a jump with bandwidth h moves estimates by O(h^4) only, and h can be
    wide.

    Examples
    --------
    >>> density, share = kernel(np.array([-2.0, 0.0, 1.0]))
    >>> share.round(12)
    array([0. , 0.5, 1. ])
    """
    c = np.clip(z, -1.0, 1.0)
    q = c * c
    share = 0.5 + 0.46875 * c * (3.0 - q * (10.0 / 3.0 - 1.4 * q))
    density = np.where(np.abs(z) < 1.0, 0.46875 * (1.0 - q) * (3.0 - 7.0 * q), 0.0)
    return density, share


def step(t: Array, bandwidth: float) -> tuple[Array, Array]:
    """Return the smoothed indicator of t > 0 and its derivative; the plain indicator at bandwidth 0."""
    if bandwidth <= 0:
        return (t > 0).astype(float), np.zeros_like(t)
    density, share = kernel(t / bandwidth)
    return share, density / bandwidth


def as_number(name: str, value: Any, low: float, high: float) -> float:
    """Return a parameter of a loss as a float strictly between two numbers."""
    from versadp.errors import ParameterError

    if isinstance(value, bool) or not isinstance(value, int | float) or not low < value < high:
        raise ParameterError(f"{name} must be a number between {low:g} and {high:g}")
    return float(value)
