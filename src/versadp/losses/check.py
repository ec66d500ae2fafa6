"""Check loss: `(y - u)(tau - 1{y < u})`. Quantile regression.

Its derivative `1{u > y} - tau` jumps, so it is smoothed with a fourth-order kernel of bandwidth h for fitting; the
bias of the smoothing is O(h^4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.losses.base import IndexLoss, as_number, step, zeros

if TYPE_CHECKING:
    from versadp.losses.base import Array


class Check(IndexLoss):
    """Check loss at quantile tau, `(y - u)(tau - 1{y < u})`.

    Examples
    --------
    >>> Check(tau=0.9).value(np.array([0.0, 0.0]), np.array([1.0, -1.0]))
    array([0.9, 0.1])
    """

    name = "check"
    kinked = True
    residual = True

    def __init__(self, tau: float = 0.5) -> None:
        self.tau = as_number("tau", tau, 0.0, 1.0)

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        r = y - u
        return np.asarray(r * (self.tau - (r < 0)))

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u of the smoothed loss."""
        share, density = step(u - y, bandwidth)
        return (share - self.tau, density, *zeros(u, 2))[:order]
