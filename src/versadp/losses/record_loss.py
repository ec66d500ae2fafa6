"""Losses of a whole record: means and quantiles of a function of it, and user-defined losses.

    Mean(f):       (theta - f(x))^2 / 2             theta is E f(X)
    Quantile(f):   check loss of f(x) at theta      theta is the tau quantile of f(X)
    Custom(loss):  loss(x, theta), anything

x is (n, k): the columns of the schema in order, in their own units.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from versadp.errors import ParameterError
from versadp.inputs import number
from versadp.losses.check import Check
from versadp.losses.differentiation import differences, is_jax, jax_gradient, jax_laplacian, jax_value
from versadp.losses.squared import Squared

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.inputs import Array
    from versadp.losses.index_loss import IndexLoss


class RecordLoss(ABC):
    """A loss of whole records, without formula, index and predictions.

    A subclass either names a function of a record and its loss (`of` and `base`, as `Mean`), or defines
    `value(x, theta)` and `gradient(x, theta)`, as `Custom`.

    Attributes
    ----------
    of : str, callable or None
        The column, or the function of a record, whose location is estimated.
    base : IndexLoss or None
        The loss of that location; None for a loss that is itself a function of record and parameters.
    size : int or None
        Number of parameters; None if it is the length of the user's start.
    by_level : bool
        True if it has a parameter for each level of a category.
    has_laplacian : bool
        True if it provides its Laplacian in x.
    share : float or None
        Of a quantile its level: the corrected distribution function is inverted, and `base` is not minimised.
    needs_formula : bool
        False.
    prediction : None
        There is none.

    Examples
    --------
    >>> from versadp.losses import Huber
    >>> class Middle(RecordLoss):
    ...     of, base, name = "income", Huber(k=1000.0), "middle income"
    >>> Middle().names(1), Middle().prediction
    (('middle income',), None)
    """

    of: str | Callable[[Any], Any] | None
    needs_formula: ClassVar[bool] = False
    by_level: ClassVar[bool] = False
    prediction: ClassVar[None] = None

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the estimated quantity."""

    @property
    def base(self) -> IndexLoss | None:
        """The loss of one location."""
        return None

    @property
    def share(self) -> float | None:
        """The level of a quantile, None for other losses."""
        return None

    @property
    def size(self) -> int | None:
        """Number of parameters."""
        return 1

    @property
    def has_laplacian(self) -> bool:
        """True if the loss provides its Laplacian in x."""
        return False

    def names(self, size: int) -> tuple[str, ...]:
        """Return the names of `size` parameters."""
        return (self.name,) if size == 1 else tuple(f"{self.name} {j}" for j in range(size))


@dataclass(frozen=True)
class Mean(RecordLoss):
    """The mean of a column, or of any function of a record.

    Parameters
    ----------
    of : str or callable
        A column, or `f(x) -> (n,)`.

    Examples
    --------
    >>> Mean("age").name, Mean("age").base
    ('mean of age', Squared())
    """

    of: str | Callable[[Any], Any]

    @property
    def name(self) -> str:
        """The name of the estimated quantity."""
        return f"mean of {self.of}" if isinstance(self.of, str) else "mean"

    @property
    def base(self) -> IndexLoss:
        """The loss of one location."""
        return Squared()


@dataclass(frozen=True)
class Quantile(RecordLoss):
    """A quantile of a column, or of any function of a record, by inverting the corrected distribution function.

    Parameters
    ----------
    of : str or callable
        A column, or `f(x) -> (n,)`.
    tau : float
        Its level.

    Examples
    --------
    >>> Quantile("income", tau=0.9).name, Quantile("income", tau=0.9).base
    ('0.9 quantile of income', Check(tau=0.9))
    """

    of: str | Callable[[Any], Any]
    tau: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", number("tau", self.tau, 0, 1, open_low=True, open_high=True))

    @property
    def name(self) -> str:
        """The name of the estimated quantity."""
        return f"{self.tau:g} quantile of {self.of}" if isinstance(self.of, str) else f"{self.tau:g} quantile"

    @property
    def base(self) -> IndexLoss:
        """The loss of one location."""
        return Check(self.tau)

    @property
    def share(self) -> float:
        """The level of a quantile, None for other losses."""
        return self.tau


@dataclass(frozen=True)
class Custom(RecordLoss):
    """A user-defined loss, `loss(x, theta) -> (n,)`, with optional `.gradient(x, theta)` and `.laplacian(x, theta)`.

    Missing derivatives are JAX's if the loss is written in JAX; otherwise gradients are central differences.

    Examples
    --------
    >>> half = Custom(lambda x, theta: (x[:, 0] - theta[0]) ** 2 / 2)
    >>> half.gradient(np.array([[1.0], [3.0]]), np.array([0.0])).round(6)
    array([[-1.],
           [-3.]])
    """

    loss: Callable[..., Any]
    of = None

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.loss, "__name__", type(self.loss).__name__))

    @property
    def size(self) -> None:
        """None: the user's start has the number of parameters."""
        return

    def names(self, size: int) -> tuple[str, ...]:
        """Return the names of `size` parameters."""
        return tuple(f"theta{j}" for j in range(size))

    @property
    def has_laplacian(self) -> bool:
        """True if the loss has a `.laplacian`, or is written in JAX."""
        return callable(getattr(self.loss, "laplacian", None)) or self.in_jax

    @cached_property
    def in_jax(self) -> bool:
        """True if the loss is written in JAX."""
        return is_jax(self.loss)

    @cached_property
    def _value(self) -> Callable[..., Any]:
        return jax_value(self.loss) if self.in_jax else self.loss

    @cached_property
    def _gradient(self) -> Callable[..., Any] | None:
        own = getattr(self.loss, "gradient", None)
        return own if callable(own) else jax_gradient(self.loss) if self.in_jax else None

    def value(self, x: Array, theta: Array) -> Array:
        """Return the loss of each record."""
        return self._checked(self._value(x, theta), (len(x),), "the loss")

    def laplacian(self, x: Array, theta: Array, unit: tuple[float, ...] = ()) -> Array:
        """Return the Laplacian in x of each record, each column weighted by its squared noise scale.

        A user's `.laplacian` includes these scales; that of JAX takes them from `unit`.
        """
        own = getattr(self.loss, "laplacian", None)
        found = own(x, theta) if callable(own) else jax_laplacian(self.loss, unit)(x, theta)
        return self._checked(found, (len(x),), "the laplacian")

    def gradient(self, x: Array, theta: Array) -> Array:
        """Return the gradient in theta of each record: the user's, JAX's, or by central differences."""
        if self._gradient is not None:
            return self._checked(self._gradient(x, theta), (len(x), theta.size), "the gradient")
        return differences(lambda t: self.value(x, t), theta)

    def _checked(self, values: Any, shape: tuple[int, ...], what: str) -> Array:
        out = np.asarray(values, dtype=float)
        if out.shape != shape:
            raise ParameterError(
                f"{what} of {self.name!r} must have shape {shape}, not {out.shape}",
                hint="return one number per row of x, one column per parameter for a gradient",
            )
        if not np.isfinite(out).all():
            count = int(np.size(out) - np.count_nonzero(np.isfinite(out)))
            raise ParameterError(
                f"{what} of {self.name!r} is not finite at {count} places",
                hint="it must be finite on the whole domain; use the extension 'zero' or 'clip' to stay inside",
            )
        return out
