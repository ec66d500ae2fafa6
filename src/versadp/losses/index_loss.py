"""Base class of losses of a linear predictor: `loss(u, y)` of an index `u = m'theta` and a response y.

Fitting and correcting need its derivatives in u. A loss also states its starting values, the smoothing of its kinks,
its mean function and its behaviour in other units; the defaults here are right for any loss, and the losses of this
package override them where they know more. No other package tests for the type of a loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp.errors import DataError, ParameterError, near
from versadp.losses import quadrature, smoothing, starts

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.inputs import Array
    from versadp.losses.expansion import Expansion
    from versadp.losses.pilot_line import Line
    from versadp.losses.response_law import ResponseLaw

    Predict = Callable[..., Array]

ARGUMENTS = ("index", "residual", "margin")
SMOOTH_ORDER = 4  # continuous derivatives that the Laplacian form of the correction takes (docs/theory/correction.md)


def saved_as(link: str) -> Callable[[Predict], Predict]:
    """Return a decorator that names a `mean` for saved results: "identity", "logistic", "exponential".

    The name is an attribute of the function, not of the class, so that an overridden `mean` has none.

    Examples
    --------
    >>> class Probability(IndexLoss):
    ...     @saved_as("logistic")
    ...     def mean(self, u):
    ...         return 1 / (1 + np.exp(-u))
    >>> Probability.mean.link
    'logistic'
    """

    def name(mean: Predict) -> Predict:
        vars(mean)["link"] = link
        return mean

    return name


class IndexLoss(ABC):
    """A loss of an index u and a response y.

    To add one, define `value` and `derivatives`, elementwise, and set the attributes that are true of it. Its name is
    the class name in lower case by default. A subclass that overrides `value` or `derivatives` loses its parent's
    `closed`, and one that overrides `mean` its `link`; attributes are inherited, and must be set again if they are no
    longer true.

    Attributes
    ----------
    name : str
        Its name in `fit(loss=...)`, once it is registered.
    argument : {"index", "residual", "margin"}
        What it depends on: u and y in any way; `u - y` alone, so that a private response may stand in the numeric
        block; or `y u` alone, with classes -1 and 1.
    order : int
        Number of its continuous derivatives in u, up to 4: with 4 every form of the correction serves it; with 0 its
        first derivative jumps, so that it is smoothed with a bandwidth.
    natural : bool
        True if it is `A(u) - y u`, as the losses of generalised linear models with a canonical link.
    straight : float
        Of a loss of the residual: the ``|u - y|`` from which it is linear; infinite if it never is. A public response
        beyond that may have any value.
    quadratic : bool
        True if its first derivative is linear in u and y, as that of squared loss.
    classes : tuple of float or None
        The codes of the two values of the response, if it must have exactly two.
    needs_formula : bool
        True: it is a loss of an index and not of whole records.

    Examples
    --------
    >>> class LogCosh(IndexLoss):
    ...     argument, order = "residual", 4
    ...     def value(self, u, y):
    ...         return np.logaddexp(u - y, y - u)
    ...     def derivatives(self, u, y, order=4, bandwidth=0.0):
    ...         s = np.tanh(u - y)
    ...         v = 1 - s * s
    ...         return (s, v, -2 * s * v, 6 * v * s * s - 2 * v)[:order]
    >>> loss = LogCosh()
    >>> loss.name, loss.link
    ('logcosh', 'identity')
    >>> loss.in_units(2.0).derivatives(np.array([0.5]), np.array([0.0]), 2)[1] == 1 - np.tanh(1.0) ** 2
    array([ True])
    """

    name: ClassVar[str]
    argument: ClassVar[str] = "index"
    order: ClassVar[int] = 1
    natural: ClassVar[bool] = False
    straight: float = np.inf
    quadratic: ClassVar[bool] = False
    classes: ClassVar[tuple[float, float] | None] = None
    needs_formula: ClassVar[bool] = True

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "name" not in vars(cls):  # not the parent's, which summaries and files would show
            cls.name = cls.__name__.lower()
        if old := sorted({"smooth", "kinked", "residual", "margin"} & set(vars(cls))):
            raise ParameterError(
                f"the loss {cls.__name__} states {', '.join(old)}, which losses no longer state",
                hint='state argument = "residual" or "margin" for a function of u - y or of y u, and order, the number '
                "of continuous derivatives in u: 4 for smooth = True, 0 for kinked = True",
            )
        if cls.argument not in ARGUMENTS:
            raise ParameterError(
                f"the loss {cls.__name__} has no argument {cls.argument!r}", hint=near(cls.argument, ARGUMENTS)
            )

    @property
    def smooth(self) -> bool:
        """True if it has four continuous derivatives in u."""
        return self.order >= SMOOTH_ORDER

    @property
    def kinked(self) -> bool:
        """True if its first derivative jumps."""
        return self.order == 0

    @property
    def residual(self) -> bool:
        """True if it depends on `u - y` alone."""
        return self.argument == "residual"

    @property
    def margin(self) -> bool:
        """True if it depends on `y u` alone."""
        return self.argument == "margin"

    @abstractmethod
    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""

    @abstractmethod
    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return the first `order` derivatives in u, at most four; a kinked loss is smoothed with the bandwidth."""

    # what it predicts ------------------------------------------------------------------------------------------------

    @saved_as("identity")
    def mean(self, u: Array) -> Array:
        """Return the prediction at an index: nondecreasing, so that the ends of a band map to the ends of a band."""
        return u

    @property
    def link(self) -> str | None:
        """The name under which `mean` is saved, None for a mean function without one."""
        return getattr(self.mean, "link", None)

    @property
    def prediction(self) -> str | Callable[[Array], Array]:
        """The name of the mean function, or `mean` itself if it has none."""
        return self.link or self.mean

    # its response ----------------------------------------------------------------------------------------------------

    def response(self, y: Array) -> Array:
        """Return the response as the loss needs it, checked; the argument must be the whole response."""
        return y if self.classes is None else two_values(y, *self.classes, self.name)

    def coding(self, values: Array | None = None) -> Callable[[Array], Array]:
        """Return a function that codes the response of some of the records.

        Parameters
        ----------
        values : array, optional
            The distinct values of the response over all records. A loss with `classes` needs them, since some of the
            records may show only one of the two.
        """
        if self.classes is None:
            return self.response
        if values is None:
            raise ParameterError(f"{self.name} loss needs all values of the response to code it", hint="pass `values`")
        seen = np.unique(np.asarray(values, dtype=float))
        return Coding(tuple(seen.tolist()), tuple(self.response(seen).tolist()))

    def in_units(self, unit: float) -> IndexLoss:
        """Return the same loss, up to a factor, for an index and a response that were divided by `unit`."""
        from versadp.losses.rescaling import in_units

        return in_units(self, unit)

    # where to start, and how much to smooth --------------------------------------------------------------------------

    def start(self, m: Array, y: Array) -> Array:
        """Return starting values from a design m and a response y: near the minimum, not at it.

        Losses of the residual start from a robust regression, losses of two classes that are not smooth from a logistic
        regression, all others from damped Newton steps of their own.
        """
        if self.residual:
            return starts.robust(m, y)
        if self.classes is not None and not self.smooth:
            low, high = self.classes
            return starts.separating(m, np.abs(y - high) < np.abs(y - low))
        return starts.downhill(self, m, y)

    def bandwidths(self, m: Array, y: Array, factor: float = 1.0) -> tuple[float, float]:
        """Return the bandwidths of the loss and of its curvature, `factor` times the rule; 0 without kinks."""
        if not self.kinked:
            return 0.0, 0.0
        return smoothing.of_residuals(m, y, factor) if self.residual else smoothing.of_margins(m, factor)

    @property
    def by_line(self) -> bool:
        """True if start and bandwidths come from a corrected pilot regression, as for kinks of the residual.

        A subclass that overrides `start` or `bandwidths` is given the records themselves.
        """
        own = still_says(self, "start_on", ("start",)) and still_says(self, "bandwidths_on", ("bandwidths",))
        return self.residual and self.kinked and own

    def start_on(self, line: Line) -> Array:
        """Return starting values, given a pilot regression and its residuals."""
        return line.theta

    def bandwidths_on(self, line: Line, factor: float = 1.0) -> tuple[float, float]:
        """Return the bandwidths of the loss and of its curvature, given a pilot regression and its residuals."""
        return smoothing.of_line(line, factor) if self.kinked else (0.0, 0.0)

    def expansion(self) -> Expansion | None:
        """Return the loss as a sum of powers and waves of the index, None if it is not exactly one."""
        return None

    def response_law(self) -> ResponseLaw | None:
        """Return the law of the response whose negative log density is the loss, None if there is none."""
        return None

    # the scale of the residuals, for losses whose parameters are multiples of it --------------------------------------

    @property
    def unscaled(self) -> bool:
        """True if its scale parameter is not set; such a loss defines `scaled` and `scale_score` too."""
        return False

    def scaled(self, scale: float) -> IndexLoss:
        """Return the loss with its scale parameter set."""
        return self

    def scale_score(self, u: Array, y: Array) -> tuple[Array, Array, Array]:
        """Return the estimating function of the scale, and its derivatives in u and in the scale."""
        raise ParameterError(f"{self.name} loss has no estimating function of its scale", hint="define scale_score")

    # its corrected form ----------------------------------------------------------------------------------------------

    def closed(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float, *, bent: bool
    ) -> tuple[Array, ...] | None:
        """Return what `corrected` returns, None if there is no closed form."""
        return None

    def corrected(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float = 0.0, *, bent: bool = True
    ) -> tuple[Array, ...]:
        """Return derivatives of the corrected loss, given noise in its index.

            G(u, t) = loss(u) - ((1 - r)/2) t E loss''(u + L),      L Laplace with variance r t

        is unbiased for loss(u) at the true u, if the noise is 0 with probability r and else Laplace with variance t.

        Parameters
        ----------
        u, y : arrays (n,)
        t : float
            Variance of the noise in the index.
        rate : float
            Probability r that there is no noise.
        bandwidth : float
            Of the smoothing of a kinked loss.
        bent : bool
            Whether second derivatives are needed.

        Returns
        -------
        tuple of arrays
            `G_u, G_t`, and `G_uu, G_ut, G_tt` too if `bent`.
        """
        if still_says(self, "closed", ("value", "derivatives")):
            found = self.closed(u, y, t, rate, bandwidth, bent=bent)
            if found is not None:
                return found
        if not self.smooth:
            raise ParameterError(f"there is no analytic correction for {self.name} loss", hint="use method 'drcl'")
        return quadrature.corrected(self, u, y, t, rate)

    def __repr__(self) -> str:
        inner = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"{type(self).__name__}({inner})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), tuple(vars(self).items())))


def still_says(loss: IndexLoss, fact: str, functions: tuple[str, ...]) -> bool:
    """Return True if no function in `functions` is overridden below the class that states `fact`."""
    bodies = [vars(loss), *map(vars, type(loss).__mro__)]
    place = {name: next(k for k, body in enumerate(bodies) if name in body) for name in (fact, *functions)}
    return place[fact] == min(place.values())


def zeros(u: Array, count: int) -> tuple[Array, ...]:
    """Return `count` derivatives that are 0."""
    return (np.zeros_like(u),) * max(count, 0)


@dataclass(frozen=True)
class Coding:
    """The codes of the values of a response: a function that can be sent to other processes.

    Attributes
    ----------
    values, codes : tuples of float
        Values in increasing order, and their codes.

    Examples
    --------
    >>> Coding((0.0, 1.0), (-1.0, 1.0))(np.array([1.0, 1.0, 0.0]))
    array([ 1.,  1., -1.])
    """

    values: tuple[float, ...]
    codes: tuple[float, ...]

    def __call__(self, y: Array) -> Array:
        """Return the codes of a response."""
        values = np.array(self.values)
        place = np.minimum(np.searchsorted(values, y), values.size - 1)
        if not (values[place] == y).all():
            raise DataError(
                "the response has a value that was not there when its classes were read",
                hint="fit again: the records changed during the fit",
            )
        return np.array(self.codes)[place]


def two_values(y: Array, low: float, high: float, loss: str) -> Array:
    """Return a response of two values (0/1 or -1/1) as low and high.

    Examples
    --------
    >>> two_values(np.array([1.0, 0.0, 1.0]), -1.0, 1.0, "hinge")
    array([ 1., -1.,  1.])
    """
    values = np.unique(y)
    if values.size < 2:
        raise DataError(f"the response has one class, but {loss} loss needs two", hint="use records of both classes")
    if values.size > 2 or not set(values.tolist()) <= {-1.0, 0.0, 1.0}:
        raise DataError(
            f"{loss} loss needs a response of 0 and 1, or of -1 and 1",
            hint="compare, as in I(income > 50000) ~ age; for numbers take squared loss",
        )
    return np.where(y == values[1], high, low)
