"""A loss in other units: `loss(c u, c y) / c^2` for an index and a response divided by c.

    k-th derivative       c^(k-2) times the loss's own at (c u, c y), smoothed with c times the bandwidth
    corrected G(u, t)     G(c u, c^2 t) / c^2

The second derivative, and so the curvature of a fit, does not change. This holds for any loss, so that a loss whose
parameters have a unit (the corner of `Huber`) need not know that it is fitted in noise units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.inputs import number
from versadp.losses.index_loss import IndexLoss, still_says

if TYPE_CHECKING:
    from versadp.inputs import Array
    from versadp.losses.pilot_line import Line


@dataclass(frozen=True)
class InUnits(IndexLoss):
    """A loss of an index and a response divided by `unit`.

    Examples
    --------
    >>> from versadp.losses import Huber
    >>> InUnits(Huber(k=3.0), 2.0).derivatives(np.array([1.0, 5.0]), np.zeros(2), 2)
    (array([1. , 1.5]), array([1., 0.]))
    >>> Huber(k=1.5).derivatives(np.array([1.0, 5.0]), np.zeros(2), 2)
    (array([1. , 1.5]), array([1., 0.]))
    """

    loss: IndexLoss
    unit: float

    def __post_init__(self) -> None:
        for fact in ("name", "argument", "order", "classes"):  # class attributes of the loss
            object.__setattr__(self, fact, getattr(self.loss, fact))

    @property
    def straight(self) -> float:  # type: ignore[override] # it has one
        """The |u - y| from which the loss is linear, in these units."""
        known = still_says(self.loss, "straight", ("value", "derivatives"))
        return self.loss.straight / self.unit if known else np.inf

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        return self.loss.value(self.unit * u, self.unit * y) / self.unit**2

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u."""
        c = self.unit
        found = self.loss.derivatives(c * u, c * y, order, c * bandwidth)
        return tuple(c**power * each for power, each in enumerate(found, start=-1))

    def mean(self, u: Array) -> Array:
        """Return the prediction, divided by the unit."""
        return self.loss.mean(self.unit * u) / self.unit

    @property
    def link(self) -> str | None:
        """The identity, which does not depend on units; None for other links."""
        return "identity" if self.loss.link == "identity" else None

    def response(self, y: Array) -> Array:
        """Return the response as the loss needs it, checked."""
        return self.loss.response(self.unit * y) / self.unit

    def in_units(self, unit: float) -> IndexLoss:
        """Return the loss in units that are `unit` times these."""
        return self.loss.in_units(self.unit * unit)

    def start(self, m: Array, y: Array) -> Array:
        """Return starting values."""
        return self.loss.start(m, self.unit * y) / self.unit

    def bandwidths(self, m: Array, y: Array, factor: float = 1.0) -> tuple[float, float]:
        """Return the bandwidths of the loss and of its curvature."""
        h, window = self.loss.bandwidths(m, self.unit * y, factor)
        return h / self.unit, window / self.unit

    @property
    def by_line(self) -> bool:
        """True if start and bandwidths come from a pilot regression."""
        return self.loss.by_line

    def start_on(self, line: Line) -> Array:
        """Return starting values, given a pilot regression."""
        return self.loss.start_on(line.times(self.unit)) / self.unit

    def bandwidths_on(self, line: Line, factor: float = 1.0) -> tuple[float, float]:
        """Return the bandwidths, given a pilot regression."""
        h, window = self.loss.bandwidths_on(line.times(self.unit), factor)
        return h / self.unit, window / self.unit

    @property
    def unscaled(self) -> bool:
        """True if its scale parameter is not set."""
        return self.loss.unscaled

    def scaled(self, scale: float) -> IndexLoss:
        """Return the loss with its scale parameter set."""
        return in_units(self.loss.scaled(self.unit * scale), self.unit)

    def scale_score(self, u: Array, y: Array) -> tuple[Array, Array, Array]:
        """Return the estimating function of the scale, and its derivatives in u and in the scale."""
        value, by_index, by_scale = self.loss.scale_score(self.unit * u, self.unit * y)
        return value / self.unit, by_index, by_scale

    def corrected(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float = 0.0, *, bent: bool = True
    ) -> tuple[Array, ...]:
        """Return derivatives of the corrected loss."""
        c = self.unit
        found = self.loss.corrected(c * u, c * y, c * c * t, rate, c * bandwidth, bent=bent)
        return tuple(factor * each for factor, each in zip((1 / c, 1.0, 1.0, c, c * c), found, strict=False))


def in_units(loss: IndexLoss, unit: float) -> IndexLoss:
    """Return the loss of an index and a response divided by `unit`.

    Examples
    --------
    >>> from versadp.losses import Huber
    >>> in_units(Huber(k=3.0), 2.0)
    InUnits(loss=Huber(k=3.0), unit=2.0)
    >>> in_units(Huber(k=3.0), 1.0)
    Huber(k=3.0)
    """
    unit = number("unit", unit, 0, np.inf, open_low=True, open_high=True)
    return loss if unit == 1 else InUnits(loss, unit)
