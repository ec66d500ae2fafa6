"""Huber loss: `r^2/2` for |r| <= k, `k|r| - k^2/2` beyond, r = u - y. Robust regression.

Its derivative is continuous with corners, so it needs no smoothing; but its second derivative jumps, and the Laplacian
form of the correction would miss the point masses of the third. It is corrected by signed draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.losses.base import IndexLoss, as_number, zeros

if TYPE_CHECKING:
    from versadp.losses.base import Array


class Huber(IndexLoss):
    """Huber loss with corner k, in units of the response.

    Examples
    --------
    >>> Huber(k=1.0).derivatives(np.array([0.5, 3.0]), np.zeros(2), order=1)
    (array([0.5, 1. ]),)
    """

    name = "huber"
    residual = True

    def __init__(self, k: float = 1.345) -> None:
        self.k = as_number("k", k, 0.0, np.inf)

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        r = np.abs(u - y)
        return np.where(r <= self.k, 0.5 * r * r, self.k * r - 0.5 * self.k**2)

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u."""
        r = u - y
        return (np.clip(r, -self.k, self.k), (np.abs(r) <= self.k).astype(float), *zeros(u, 2))[:order]
