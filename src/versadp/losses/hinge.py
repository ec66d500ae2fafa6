"""Hinge loss: `max(0, 1 - y u)`, y in {-1, 1}. Linear support vector machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.losses.base import IndexLoss, step, two_values, zeros

if TYPE_CHECKING:
    from versadp.losses.base import Array


class Hinge(IndexLoss):
    """Hinge loss, `max(0, 1 - y u)` with y in {-1, 1}; its kink is smoothed for fitting, as that of `Check`.

    Examples
    --------
    >>> Hinge().value(np.array([0.5, 2.0]), np.array([1.0, 1.0]))
    array([0.5, 0. ])
    """

    name = "hinge"
    kinked = True

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        return np.maximum(0.0, 1.0 - y * u)

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u of the smoothed loss."""
        share, density = step(1.0 - y * u, bandwidth)
        return (-y * share, y * y * density, *zeros(u, 2))[:order]

    def response(self, y: Array) -> Array:
        """Return the response as -1 and 1."""
        return two_values(y, -1.0, 1.0, self.name)

    def mean(self, u: Array) -> Array:
        """Return the class."""
        return np.where(u > 0, 1.0, -1.0)
