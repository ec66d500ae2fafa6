"""What an analyst minimises: one loss a file, opening with its formula."""

from __future__ import annotations

from typing import Any

from versadp.errors import ParameterError
from versadp.losses.base import IndexLoss
from versadp.losses.check import Check
from versadp.losses.hinge import Hinge
from versadp.losses.huber import Huber
from versadp.losses.logistic import Logistic
from versadp.losses.poisson import Poisson
from versadp.losses.record import Custom, Mean, Quantile
from versadp.losses.squared import Squared

REGISTRY: dict[str, type[IndexLoss]] = {kind.name: kind for kind in (Squared, Logistic, Check, Hinge, Huber, Poisson)}


def as_loss(loss: Any) -> IndexLoss | Mean | Quantile | Custom:
    """Return a loss from its name, as it is, or from a user's function.

    Examples
    --------
    >>> as_loss("check")
    Check(tau=0.5)
    >>> as_loss("absolute")
    Traceback (most recent call last):
    ...
    versadp.errors.ParameterError: there is no loss 'absolute'
      hint: choose from squared, logistic, check, hinge, huber, poisson, or give a function loss(x, theta)
    """
    if isinstance(loss, IndexLoss | Mean | Quantile | Custom):
        return loss
    if isinstance(loss, str) and loss in REGISTRY:
        return REGISTRY[loss]()
    if callable(loss):
        return Custom(loss)
    raise ParameterError(
        f"there is no loss {loss!r}", hint=f"choose from {', '.join(REGISTRY)}, or give a function loss(x, theta)"
    )


__all__ = [
    "REGISTRY",
    "Check",
    "Custom",
    "Hinge",
    "Huber",
    "IndexLoss",
    "Logistic",
    "Mean",
    "Poisson",
    "Quantile",
    "Squared",
    "as_loss",
]
