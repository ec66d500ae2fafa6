"""Squared loss: `(u - y)^2 / 2`. Linear regression.

With noise in u it is corrected to `(u - y)^2/2 - (1 - r) t / 2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.losses.expansion import Expansion
from versadp.losses.index_loss import IndexLoss, still_says, zeros
from versadp.losses.response_law import Normal
from versadp.losses.starts import least_squares

if TYPE_CHECKING:
    from versadp.inputs import Array
    from versadp.losses.response_law import ResponseLaw


class Squared(IndexLoss):
    """Squared loss, `(u - y)^2 / 2`.

    Examples
    --------
    >>> Squared().derivatives(np.array([3.0]), np.array([1.0]), order=2)
    (array([2.]), array([1.]))
    """

    name = "squared"
    argument, order = "residual", 4
    quadratic = True

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        return 0.5 * (u - y) ** 2

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u."""
        return (u - y, np.ones_like(u), *zeros(u, 2))[:order]

    def in_units(self, unit: float) -> IndexLoss:
        """Return the same loss, which has no unit; a subclass may have one."""
        return self if type(self) is Squared else super().in_units(unit)

    def start(self, m: Array, y: Array) -> Array:
        """Return the least squares fit."""
        return least_squares(m, y)

    def expansion(self) -> Expansion | None:
        """Return `u^2/2 - y u`."""
        return Expansion(quadratic=1.0) if still_says(self, "expansion", ("value", "derivatives")) else None

    def response_law(self) -> ResponseLaw | None:
        """Return the normal law."""
        return Normal() if still_says(self, "response_law", ("value", "derivatives")) else None

    def closed(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float, *, bent: bool
    ) -> tuple[Array, ...] | None:
        """Return `G_u, G_t, G_uu, G_ut, G_tt`."""
        one = np.ones_like(u)
        return u - y, -(1 - rate) / 2 * one, one, 0 * one, 0 * one
