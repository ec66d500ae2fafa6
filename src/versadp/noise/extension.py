"""What a loss is taken to be outside the domain, where no true record lies.

Any `v` that equals the loss on the box gives an unbiased corrected loss, since the box is all that true records can
reach. Far-out records carry almost no information, and an extension that fades keeps them from dominating the
variance. An extension is a map of points and a factor: `v(x) = phi(x) loss(point(x))`, with `phi = 1` and
`point(x) = x` on the box. It looks at the whole noise block, even where a model uses few of its columns: the others
tell how noisy a record is.

Distances are in noise units: the distance to the box in column j divided by that column's noise scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """The domain of a numeric block, and its noise scale a column (arrays of one length)."""

    lower: Array
    upper: Array
    sigma: Array

    def excess(self, x: Array) -> Array:
        """Return the signed distance to the box, column by column, in noise units; 0 inside."""
        return (x - np.clip(x, self.lower, self.upper)) / self.sigma

    def distance2(self, x: Array) -> Array:
        """Return the squared distance to the box in noise units."""
        excess = self.excess(x)
        return np.asarray(np.einsum("...j,...j->...", excess, excess))


class Extension:
    """Base of the extensions: the loss itself everywhere ("none").

    Examples
    --------
    >>> box = Box(np.array([0.0]), np.array([1.0]), np.array([0.5]))
    >>> x = np.array([[0.5], [1.5]])
    >>> Extension().phi(x, box)
    array([1., 1.])
    """

    name: ClassVar[str] = "none"
    smooth: ClassVar[bool] = True

    def points(self, x: Array, box: Box) -> Array:
        """Return where the loss is evaluated."""
        return x

    def phi(self, x: Array, box: Box) -> Array:
        """Return the factor that multiplies the loss."""
        return np.ones(x.shape[:-1])

    def derivatives(self, x: Array, box: Box) -> tuple[Array, Array, Array]:
        """Return phi, its gradient and its Laplacian, both in noise units (`sigma_j d/dx_j`)."""
        return np.ones(x.shape[:-1]), np.zeros(x.shape), np.zeros(x.shape[:-1])

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Zero(Extension):
    """Zero outside the box: noisy records drop out.

    Examples
    --------
    >>> box = Box(np.array([0.0]), np.array([1.0]), np.array([0.5]))
    >>> Zero().phi(np.array([[0.5], [1.5]]), box)
    array([1., 0.])
    """

    name = "zero"
    smooth = False

    def phi(self, x: Array, box: Box) -> Array:
        """Return 1 on the box and 0 outside."""
        return ((x >= box.lower) & (x <= box.upper)).all(axis=-1).astype(float)

    def derivatives(self, x: Array, box: Box) -> tuple[Array, Array, Array]:
        """Raise: the factor jumps at the box."""
        raise _not_smooth(self.name)


class Clip(Extension):
    """The loss at the nearest point of the box.

    Examples
    --------
    >>> box = Box(np.array([0.0]), np.array([1.0]), np.array([0.5]))
    >>> Clip().points(np.array([[0.5], [1.5]]), box)
    array([[0.5],
           [1. ]])
    """

    name = "clip"
    smooth = False

    def points(self, x: Array, box: Box) -> Array:
        """Return the nearest points of the box."""
        return np.clip(x, box.lower, box.upper)

    def derivatives(self, x: Array, box: Box) -> tuple[Array, Array, Array]:
        """Raise: the map of points has a kink at the box."""
        raise _not_smooth(self.name)


@dataclass(frozen=True)
class Damped(Extension):
    """The loss times `(1 - d^2/width^2)^3`, d the distance to the box in noise units; 0 beyond `width`.

    The gradient of the factor is continuous and its second derivatives are bounded, as the Laplacian form needs;
    `(1 - d/width)^3` has a kink at the box and would be biased there.

    Examples
    --------
    >>> box = Box(np.array([0.0]), np.array([1.0]), np.array([0.5]))
    >>> Damped(width=2.0).phi(np.array([[0.5], [1.5], [2.0]]), box)
    array([1.      , 0.421875, 0.      ])
    """

    width: float = 2.5
    name: ClassVar[str] = "damped"

    def __post_init__(self) -> None:
        if not (isinstance(self.width, int | float) and 0 < self.width < np.inf):
            raise ParameterError("the width of a damped extension must be positive and finite, in noise units")

    def phi(self, x: Array, box: Box) -> Array:
        """Return the factor."""
        return np.asarray(np.maximum(1 - box.distance2(x) / self.width**2, 0.0) ** 3)

    def derivatives(self, x: Array, box: Box) -> tuple[Array, Array, Array]:
        """Return phi, its gradient and its Laplacian in noise units."""
        excess = box.excess(x)
        distance2 = np.einsum("...j,...j->...", excess, excess)
        left = np.maximum(1 - distance2 / self.width**2, 0.0)
        gradient = -6 / self.width**2 * (left**2)[..., None] * excess
        outside = np.count_nonzero(excess, axis=-1)
        laplacian = 24 / self.width**4 * left * distance2 - 6 / self.width**2 * left**2 * outside
        return left**3, gradient, laplacian


EXTENSIONS: dict[str, type[Extension]] = {kind.name: kind for kind in (Extension, Zero, Clip, Damped)}


def as_extension(extension: str | Extension) -> Extension:
    """Return an extension from its name, or as it is.

    Examples
    --------
    >>> as_extension("damped")
    Damped(width=2.5)
    >>> as_extension("mirror")
    Traceback (most recent call last):
    ...
    versadp.errors.ParameterError: there is no extension 'mirror'
      hint: choose from none, zero, clip, damped
    """
    if isinstance(extension, Extension):
        return extension
    if not isinstance(extension, str) or extension not in EXTENSIONS:
        raise ParameterError(f"there is no extension {extension!r}", hint=f"choose from {', '.join(EXTENSIONS)}")
    return EXTENSIONS[extension]()


def _not_smooth(name: str) -> ParameterError:
    return ParameterError(
        f"the extension {name!r} has no derivatives at the border of the domain",
        hint="use draws with it, or the extension 'none' or 'damped'",
    )
