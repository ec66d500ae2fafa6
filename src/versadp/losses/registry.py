"""Losses by name: ours, and those that others register."""

from __future__ import annotations

from typing import Any, TypeVar

from versadp.errors import ParameterError, near
from versadp.losses.base import IndexLoss
from versadp.losses.check import Check
from versadp.losses.hinge import Hinge
from versadp.losses.huber import Huber
from versadp.losses.logistic import Logistic
from versadp.losses.poisson import Poisson
from versadp.losses.record import Custom, RecordLoss
from versadp.losses.several import Multinomial
from versadp.losses.squared import Squared

Kind = TypeVar("Kind", bound=type[IndexLoss])

REGISTRY: dict[str, type[IndexLoss]] = {kind.name: kind for kind in (Squared, Logistic, Check, Hinge, Huber, Poisson)}


def register(kind: Kind) -> Kind:
    """Let `fit(loss=...)` know a loss of your own by its name.

    Parameters
    ----------
    kind : class
        A subclass of `IndexLoss` that can be made without arguments; its name must be free.

    Returns
    -------
    class
        The same, so that this can stand above the class as a decorator.

    Examples
    --------
    >>> @register
    ... class Median(Check):
    ...     pass
    >>> as_loss("median")
    Median(tau=0.5)
    >>> del REGISTRY["median"]
    """
    if not (isinstance(kind, type) and issubclass(kind, IndexLoss)):
        raise ParameterError(f"only subclasses of IndexLoss can be registered, not {kind!r}")
    known = REGISTRY.get(kind.name, kind)
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):  # the same class, defined again
        raise ParameterError(f"there is a loss {kind.name!r} already", hint="give yours a name of its own")
    try:
        kind()
    except TypeError as error:
        raise ParameterError(
            f"{kind.__name__} cannot be made by its name: {error}",
            hint="define value and derivatives, and give each parameter a default",
        ) from None
    REGISTRY[kind.name] = kind
    return kind


OTHERS = {
    "ols": "squared",
    "linear": "squared",
    "logit": "logistic",
    "median": "check",
    "quantile": "check",
    "svm": "hinge",
}


def _meant(loss: Any) -> str:
    """Return the losses that there are, and the one that is meant: its name is near, or one that others use."""
    return near(OTHERS.get(str(loss).lower(), loss), (*REGISTRY, Multinomial.name))


def as_loss(loss: Any) -> IndexLoss | RecordLoss | Multinomial:
    """Return a loss from its name, as it is, or from a user's function.

    Examples
    --------
    >>> as_loss("check")
    Check(tau=0.5)
    >>> as_loss("absolute")
    Traceback (most recent call last):
    ...
    versadp.errors.ParameterError: there is no loss 'absolute'
      hint: choose from squared, logistic, check, hinge, huber, poisson, multinomial, or give a function loss(x, theta)
    """
    if isinstance(loss, IndexLoss | RecordLoss | Multinomial):
        return loss
    if loss == Multinomial.name:  # not one of an index, as those that are registered
        return Multinomial()
    if isinstance(loss, str) and loss in REGISTRY:
        return REGISTRY[loss]()
    if callable(loss):
        return Custom(loss)
    raise ParameterError(
        f"there is no loss {loss!r}",
        hint=_meant(loss) + ", or give a function loss(x, theta)",
    )
