"""Losses that an analyst minimises, by name or as objects; one file per loss, opening with its formula.

Losses of an index are subclasses of `IndexLoss`, losses of whole records of `RecordLoss`. No other package tests for
the type of a loss: it asks the loss for its properties.
"""

from __future__ import annotations

from typing import Any, TypeVar

from versadp.errors import ParameterError, near
from versadp.losses.categorical import Multinomial, Share
from versadp.losses.check import Check
from versadp.losses.hinge import Hinge
from versadp.losses.huber import Huber
from versadp.losses.index_loss import IndexLoss, saved_as
from versadp.losses.logistic import Logistic
from versadp.losses.poisson import Poisson
from versadp.losses.record_loss import Custom, Mean, Quantile, RecordLoss
from versadp.losses.squared import Squared

__all__ = [
    "REGISTRY",
    "Check",
    "Custom",
    "Hinge",
    "Huber",
    "IndexLoss",
    "Logistic",
    "Mean",
    "Multinomial",
    "Poisson",
    "Quantile",
    "RecordLoss",
    "Share",
    "Squared",
    "as_loss",
    "register",
    "saved_as",
]

Kind = TypeVar("Kind", bound=type[IndexLoss])

REGISTRY: dict[str, type[IndexLoss]] = {kind.name: kind for kind in (Squared, Logistic, Check, Hinge, Huber, Poisson)}
SYNONYMS = {
    "ols": "squared",
    "linear": "squared",
    "logit": "logistic",
    "median": "check",
    "quantile": "check",
    "svm": "hinge",
}


def register(kind: Kind) -> Kind:
    """Register a loss class, so that `fit(loss=...)` finds it by its name.

    Parameters
    ----------
    kind : class
        A subclass of `IndexLoss` that can be made without arguments; its name must be free.

    Returns
    -------
    class
        The same class: `register` can be used as a decorator.

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
        raise ParameterError(
            f"{kind!r} is not a subclass of IndexLoss", hint="register the class of a loss of an index"
        )
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


def as_loss(loss: Any) -> IndexLoss | RecordLoss | Multinomial:
    """Return a loss from its name, from a loss object, or from a user's function.

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
    if isinstance(loss, str) and loss == Multinomial.name:  # not a loss of one index, as those of the registry
        return Multinomial()
    if isinstance(loss, str) and loss in REGISTRY:
        return REGISTRY[loss]()
    if callable(loss):
        return Custom(loss)
    meant = near(SYNONYMS.get(str(loss).lower(), loss), (*REGISTRY, Multinomial.name))
    raise ParameterError(f"there is no loss {loss!r}", hint=f"{meant}, or give a function loss(x, theta)")
