"""What an analyst minimises: one loss a file, opening with its formula, owning all its facts.

Losses of an index are subclasses of `IndexLoss`, losses of whole records of `RecordLoss`. Nothing outside this room
asks of what kind a loss is: it asks the loss.
"""

from versadp.losses.base import IndexLoss, saved_as
from versadp.losses.check import Check
from versadp.losses.hinge import Hinge
from versadp.losses.huber import Huber
from versadp.losses.logistic import Logistic
from versadp.losses.poisson import Poisson
from versadp.losses.record import Custom, Mean, Quantile, RecordLoss
from versadp.losses.registry import REGISTRY, as_loss, register
from versadp.losses.several import Multinomial, Share
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
