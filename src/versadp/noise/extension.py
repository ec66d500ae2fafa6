"""Extensions: values of a loss outside the domain, where no true record lies.

Any `v` that equals the loss on the box gives an unbiased corrected loss, since the box is all that true records can
reach. Far-out records carry almost no information, and an extension that fades keeps them from dominating the
variance. An extension is a map of points and a factor: `v(x) = phi(x) loss(points(x))`, with `phi = 1` and
`points(x) = x` on the box. It looks at the whole noise block, even where a model uses few of its columns: the others
tell how noisy a record is.

Those here are *radial*: the factor is a function of q, the squared distance to the box in noise units (the distance in
column j divided by that column's noise scale). The noise has exponential tails, and exponentials in the distance are
what works best; three of them and `Zero` exhaust what radial factors can give (adding compact ones of any width gains
less than a percent).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ONE, FADE, DAMPED = 0, 1, 2  # what compiled loops call them
Code = tuple[int, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """The domain of a noise block, and its noise scale a column (arrays of one length).

    Examples
    --------
    >>> box = Box(np.array([0.0]), np.array([1.0]), np.array([0.5]))
    >>> box.nearest(np.array([[0.5], [2.0]])).ravel(), box.distance2(np.array([[0.5], [2.0]]))
    (array([0.5, 1. ]), array([0., 4.]))
    """

    lower: Array
    upper: Array
    sigma: Array

    def nearest(self, x: Array) -> Array:
        """Return the nearest points of the box."""
        return np.clip(x, self.lower, self.upper)

    def distance2(self, x: Array) -> Array:
        """Return the squared distance to the box in noise units."""
        excess = (x - self.nearest(x)) / self.sigma
        return np.asarray(np.einsum("...j,...j->...", excess, excess))


class Extension:
    """Base of the extensions: the loss itself everywhere ("none").

    One of your own overrides `value`, if it is radial, or `points` and `phi`. It must leave everything on the box as it
    is; then every estimate stays unbiased.

    Attributes
    ----------
    name : str
        What `fit(extension=...)` and summaries call it.
    clip : bool
        Evaluate the loss at the nearest point of the box.
    compact : bool
        Whether the factor is 0 from some distance on.

    Examples
    --------
    >>> box = Box(np.array([0.0]), np.array([1.0]), np.array([0.5]))
    >>> x = np.array([[0.5], [1.5]])
    >>> Extension().phi(x, box)
    array([1., 1.])
    """

    name = "none"
    clip: ClassVar[bool] = False
    compact: ClassVar[bool] = False

    def value(self, q: Array) -> Array:
        """Return the factor at squared distances q."""
        return np.ones_like(q)

    def points(self, x: Array, box: Box) -> Array:
        """Return where the loss is evaluated."""
        return box.nearest(x) if self.clip else x

    def phi(self, x: Array, box: Box) -> Array:
        """Return the factor that multiplies the loss."""
        return self.value(box.distance2(x))

    def _code(self) -> Code | None:
        return ONE, 1.0, 0.0

    @property
    def radial(self) -> bool:
        """True if nothing but the squared distance matters."""
        return type(self).points is Extension.points and type(self).phi is Extension.phi

    @property
    def inside(self) -> bool:
        """True if the factor is known to vanish everywhere outside the box."""
        return self.radial and bool(self._declared("_inside"))

    @property
    def code(self) -> Code | None:
        """Its place in compiled loops, if they know its derivatives: kind, length, rounding."""
        code = self._declared("_code") if self.radial and not self.clip else None
        return None if code is None else code(self)

    def _declared(self, name: str) -> Any:
        """Return what the class that defines `value` says about it; what a parent says is about another factor."""
        return vars(next(kind for kind in type(self).__mro__ if "value" in vars(kind))).get(name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Zero(Extension):
    """Zero outside the box: noisy records drop out. It jumps there, so it serves signed draws only.

    Examples
    --------
    >>> box = Box(np.array([0.0]), np.array([1.0]), np.array([0.5]))
    >>> Zero().phi(np.array([[0.5], [1.5]]), box)
    array([1., 0.])
    """

    name = "zero"
    clip = True
    compact = True
    _inside = True

    def value(self, q: Array) -> Array:
        """Return 1 where q is 0."""
        return np.asarray(q == 0, dtype=float)


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
    clip = True


@dataclass(frozen=True)
class Damped(Extension):
    """The loss times `(1 - q/width^2)^3`; 0 beyond `width`.

    The gradient of the factor is continuous and its second derivatives are bounded, as the Laplacian form needs;
    `(1 - d/width)^3` has a kink at the box and would be biased there.

    Examples
    --------
    >>> box = Box(np.array([0.0]), np.array([1.0]), np.array([0.5]))
    >>> Damped(width=2.0).phi(np.array([[0.5], [1.5], [2.0]]), box)
    array([1.      , 0.421875, 0.      ])
    """

    width: float = 2.5
    name = "damped"  # no annotation: it is no field
    compact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        inputs.number("the width of a damped extension", self.width, 0, np.inf, open_low=True, open_high=True)

    def value(self, q: Array) -> Array:
        """Return the factor."""
        return np.asarray(np.maximum(1 - q / self.width**2, 0.0) ** 3)

    def _code(self) -> Code | None:
        return DAMPED, float(self.width), 0.0


@dataclass(frozen=True)
class Fade(Extension):
    """The loss times `exp(-(sqrt(q + e^2) - e)/length)`; a rounding e > 0 makes it smooth on the border of the box.

    Examples
    --------
    >>> Fade(1.0).value(np.array([0.0, 1.0])).round(4)
    array([1.    , 0.3679])
    """

    length: float = 0.5
    rounding: float = 0.0

    @property
    def name(self) -> str:  # type: ignore[override] # it has a number in it
        """Name in a summary."""
        return f"fade {self.length:g}"

    def value(self, q: Array) -> Array:
        """Return the factor."""
        return np.exp(-(np.sqrt(q + self.rounding**2) - self.rounding) / self.length)

    def _code(self) -> Code | None:
        return (FADE, float(self.length), float(self.rounding)) if self.rounding else None


EXTENSIONS: dict[str, type[Extension]] = {"none": Extension, "zero": Zero, "clip": Clip, "damped": Damped}


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
