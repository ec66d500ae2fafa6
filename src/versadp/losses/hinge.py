"""Hinge loss: `max(0, 1 - y u)`, y in {-1, 1}. Linear support vector machines.

The corrected loss is a `Kink` in 1 - y u.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.losses.corrected_tables import Kink, need_exact_rate
from versadp.losses.index_loss import IndexLoss, saved_as, zeros
from versadp.losses.smoothing import step

if TYPE_CHECKING:
    from versadp.inputs import Array


class Hinge(IndexLoss):
    """Hinge loss, `max(0, 1 - y u)` with y in {-1, 1}; its kink is smoothed for fitting, as that of `Check`.

    Examples
    --------
    >>> Hinge().value(np.array([0.5, 2.0]), np.array([1.0, 1.0]))
    array([0.5, 0. ])
    >>> Hinge().mean(np.array([0.5, -2.0]))
    array([ 1., -1.])
    """

    name = "hinge"
    argument, order = "margin", 0
    classes = (-1.0, 1.0)

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        return np.maximum(0.0, 1.0 - y * u)

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u of the smoothed loss."""
        share, density = step(1.0 - y * u, bandwidth)
        return (-y * share, y * y * density, *zeros(u, 2))[:order]

    @saved_as("side")
    def mean(self, u: Array) -> Array:
        """Return the class."""
        return np.where(u > 0, 1.0, -1.0)

    def closed(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float, *, bent: bool
    ) -> tuple[Array, ...] | None:
        """Return `G_u, G_t`, and `G_uu, G_ut, G_tt` too if `bent`."""
        need_exact_rate(self.name, rate)
        first, by_t, *bends = Kink(rate, bandwidth).at(1 - y * u, t, bent=bent)
        if not bent:
            return -y * first, by_t
        second, mixed, by_tt = bends
        return -y * first, by_t, y * y * second, -y * mixed, by_tt
