"""Radial profiles: how an extension fades with the distance to the box.

A profile is a function of q, the squared distance in noise units, with value 1 at 0. The noise has exponential tails,
and exponentials in the distance are what works best; three of them and `Inside` exhaust what profiles can give (adding
compact ones of any width gains less than a percent). Rounded near 0 an exponential has a continuous gradient on the
border of the box, as the Laplacian form needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Profile(Protocol):
    """A factor that depends on the squared distance to the box."""

    @property
    def name(self) -> str:
        """What it is called in a summary."""
        ...

    @property
    def compact(self) -> bool:
        """Whether it is 0 from some distance on."""
        ...

    def value(self, q: Array) -> Array:
        """Return the factor."""
        ...


@dataclass(frozen=True)
class One:
    """No fading."""

    name: str = "none"
    compact: ClassVar[bool] = False

    def value(self, q: Array) -> Array:
        """Return 1."""
        return np.ones_like(q)


@dataclass(frozen=True)
class Inside:
    """1 on the box and 0 outside; it has no derivatives there, so it serves signed draws only."""

    name: str = "zero"
    compact: ClassVar[bool] = True

    def value(self, q: Array) -> Array:
        """Return 1 where q is 0."""
        return np.asarray(q == 0, dtype=float)


@dataclass(frozen=True)
class Fade:
    """`exp(-(sqrt(q + e^2) - e)/length)`; e > 0 rounds it on the border of the box.

    Examples
    --------
    >>> Fade(1.0).value(np.array([0.0, 1.0])).round(4)
    array([1.    , 0.3679])
    """

    length: float
    rounding: float = 0.0
    compact: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """What it is called in a summary."""
        return f"fade {self.length:g}"

    def value(self, q: Array) -> Array:
        """Return the factor."""
        return np.exp(-(np.sqrt(q + self.rounding**2) - self.rounding) / self.length)


@dataclass(frozen=True)
class Damped:
    """`(1 - q/width^2)^3`, 0 beyond the width."""

    width: float = 2.5
    compact: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """What it is called in a summary."""
        return f"damped {self.width:g}"

    def value(self, q: Array) -> Array:
        """Return the factor."""
        return np.asarray(np.maximum(1 - q / self.width**2, 0.0) ** 3)
