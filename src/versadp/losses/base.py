"""What a loss is: a function of an index and a response, with derivatives in the index, that owns all its facts.

Most models look at a record through an index `u = m'theta`, m the row of the design. Such a loss is a function of
(u, y), and everything that fitting and correcting need is its derivatives in u. Where a fit starts, how a kink is
smoothed, what an index predicts, in which units it is meant: the loss says it, nobody asks of what kind it is. What is
written here is right for a loss of anybody's; our own say more where they know more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp.errors import ParameterError
from versadp.losses import quadrature, smoothing, starts
from versadp.losses.classes import Coding, two_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.inputs import Array
    from versadp.losses.expansion import Expansion
    from versadp.losses.line import Line
    from versadp.losses.response_law import ResponseLaw

    Predict = Callable[..., Array]


def saved_as(link: str) -> Callable[[Predict], Predict]:
    """Return a decorator that tells under which name results save a `mean`: "identity", "logistic", "exponential".

    The name sticks to the function and to no class, so that a `mean` that somebody redefines has none.

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

    To add one, write `value` and `derivatives`, element by element, and say what is true of it below. Its name is the
    class's in small letters if nothing else is said. A subclass that redefines `value` or `derivatives` has lost its
    parent's `closed`, and one that redefines `mean` its `link`; what it says of smoothness and residuals is inherited,
    and must be said anew if it is no longer true.

    Attributes
    ----------
    name : str
        What `fit(loss=...)` calls it, once it is registered.
    smooth : bool
        True if it has four continuous derivatives in u: the Laplacian form of the correction needs them.
    kinked : bool
        True if its first derivative jumps, so that it is smoothed with a bandwidth.
    residual : bool
        True if it depends on `u - y` alone, so that a private response may stand in the numeric block.
    natural : bool
        True if it is a function of u alone, less `y u`: then that function may be expanded (`expansion.py`).
    margin : bool
        True if it depends on `y u` alone, and its classes are -1 and 1.
    straight : float
        Of a loss of the residual: from where on, on both sides of 0, it is straight. A public response may be anything
        if it is somewhere.
    quadratic : bool
        True if its first derivative is a sum of multiples of u and y, as that of squared loss is.
    classes : tuple of float or None
        What the two values of the response are coded to, if it must have just two.
    needs_formula : bool
        True, as it is a loss of an index and not of whole records.

    Examples
    --------
    >>> class LogCosh(IndexLoss):
    ...     smooth = residual = True
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
    smooth: ClassVar[bool] = False
    kinked: ClassVar[bool] = False
    residual: ClassVar[bool] = False
    natural: ClassVar[bool] = False
    margin: ClassVar[bool] = False
    straight: float = np.inf
    quadratic: ClassVar[bool] = False
    classes: ClassVar[tuple[float, float] | None] = None
    needs_formula: ClassVar[bool] = True

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "name" not in vars(cls):  # a parent's name would be a lie in summaries and files
            cls.name = cls.__name__.lower()

    @abstractmethod
    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""

    @abstractmethod
    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return the first `order` derivatives in u, at most four; a kinked loss is smoothed with the bandwidth."""

    # what it predicts ------------------------------------------------------------------------------------------------

    @saved_as("identity")
    def mean(self, u: Array) -> Array:
        """Return the prediction that belongs to the index: it never falls, so that bands map by their ends."""
        return u

    @property
    def link(self) -> str | None:
        """The name under which `mean` is saved, None for one of the loss's own."""
        return getattr(self.mean, "link", None)

    @property
    def prediction(self) -> str | Callable[[Array], Array]:
        """What makes a prediction of an index: a link's name, or `mean` itself."""
        return self.link or self.mean

    # its response ----------------------------------------------------------------------------------------------------

    def response(self, y: Array) -> Array:
        """Check all of a response and return it as the formula needs it."""
        return y if self.classes is None else two_values(y, *self.classes, self.name)

    def coding(self, values: Array | None = None) -> Callable[[Array], Array]:
        """Return what codes a response part by part.

        Parameters
        ----------
        values : array, optional
            The values that the response has over all records; a loss with `classes` needs them, since a part of the
            records may show only one of the two.
        """
        if self.classes is None:
            return self.response
        if values is None:
            raise ParameterError(f"{self.name} loss codes a response once all its values are known", hint="give them")
        seen = np.unique(np.asarray(values, dtype=float))
        return Coding(tuple(seen.tolist()), tuple(self.response(seen).tolist()))

    def in_units(self, unit: float) -> IndexLoss:
        """Return the same loss, up to a factor, for an index and a response that were divided by `unit`."""
        from versadp.losses.units import in_units

        return in_units(self, unit)

    # where to start, and how much to smooth --------------------------------------------------------------------------

    def start(self, m: Array, y: Array) -> Array:
        """Return coefficients of a plain fit to a design m and a response y: near the minimum, not at it.

        Losses of the residual start from a robust line, losses of two classes that are not smooth from a logistic fit,
        all others from damped Newton steps of their own.
        """
        if self.residual:
            return starts.robust(m, y)
        if self.classes is not None and not self.smooth:
            low, high = self.classes
            return starts.separating(m, np.abs(y - high) < np.abs(y - low))
        return starts.downhill(self, m, y)

    def bandwidths(self, m: Array, y: Array, factor: float = 1.0) -> tuple[float, float]:
        """Return by how much to smooth the loss and its curvature, `factor` times the rule; 0 without kinks."""
        if not self.kinked:
            return 0.0, 0.0
        return smoothing.of_residuals(m, y, factor) if self.residual else smoothing.of_margins(m, factor)

    @property
    def by_line(self) -> bool:
        """True if start and smoothing come from a corrected line, as they do for kinks of the residual.

        A subclass that has a start or bandwidths of its own gets the records themselves.
        """
        own = still_says(self, "start_on", ("start",)) and still_says(self, "bandwidths_on", ("bandwidths",))
        return self.residual and self.kinked and own

    def start_on(self, line: Line) -> Array:
        """Return where a fit starts, given a line and its residuals."""
        return line.theta

    def bandwidths_on(self, line: Line, factor: float = 1.0) -> tuple[float, float]:
        """Return by how much to smooth the loss and its curvature, given a line and its residuals."""
        return smoothing.of_line(line, factor) if self.kinked else (0.0, 0.0)

    def expansion(self) -> Expansion | None:
        """Return the loss as a sum of powers and waves of the index, where it is just that."""
        return None

    def response_law(self) -> ResponseLaw | None:
        """Return the law of the response whose negative log density the loss is, where it is one."""
        return None

    # the scale of the residuals, for losses whose parameters are multiples of it --------------------------------------

    @property
    def unscaled(self) -> bool:
        """True as long as it waits for a scale; such a loss has `scaled` and `scale_score` too."""
        return False

    def scaled(self, scale: float) -> IndexLoss:
        """Return the loss with the scale that it waits for."""
        return self

    def scale_score(self, u: Array, y: Array) -> tuple[Array, Array, Array]:
        """Return what has mean 0 at the right scale, and its derivatives in u and in the scale."""
        raise ParameterError(f"{self.name} loss waits for a scale and has no scale_score", hint="see losses/huber.py")

    # its corrected form ----------------------------------------------------------------------------------------------

    def closed(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float, *, bent: bool
    ) -> tuple[Array, ...] | None:
        """Return what `corrected` returns, where it is known in closed form."""
        return None

    def corrected(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float = 0.0, *, bent: bool = True
    ) -> tuple[Array, ...]:
        """Return derivatives of the loss with the noise in its index undone.

            G(u, t) = loss(u) - ((1 - r)/2) t E loss''(u + L),      L Laplace with variance r t

        has expectation loss(u) where u has noise that is 0 with probability r and else Laplace with variance t.

        Parameters
        ----------
        u, y : arrays (n,)
        t : float
            Variance of the noise in the index.
        rate : float
            Probability r that there is none.
        bandwidth : float
            By which a kinked loss is smoothed.
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
    """Tell whether a fact that follows from functions is stated no higher up than any of them is defined."""
    bodies = [vars(loss), *map(vars, type(loss).__mro__)]
    place = {name: next(k for k, body in enumerate(bodies) if name in body) for name in (fact, *functions)}
    return place[fact] == min(place.values())


def zeros(u: Array, count: int) -> tuple[Array, ...]:
    """Return derivatives that vanish."""
    return (np.zeros_like(u),) * max(count, 0)
