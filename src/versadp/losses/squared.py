"""Squared loss: `(u - y)^2 / 2`. Linear regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.losses.base import IndexLoss, zeros

if TYPE_CHECKING:
    from versadp.losses.base import Array


class Squared(IndexLoss):
    """Squared loss, `(u - y)^2 / 2`.

    Examples
    --------
    >>> Squared().derivatives(np.array([3.0]), np.array([1.0]), order=2)
    (array([2.]), array([1.]))
    """

    name = "squared"
    smooth = True
    residual = True

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        return 0.5 * (u - y) ** 2

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u."""
        return (u - y, np.ones_like(u), *zeros(u, 2))[:order]
