"""Huber loss: `r^2/2` for |r| <= k, `k|r| - k^2/2` beyond, r = u - y. Robust regression.

Its derivative is continuous with corners, so it needs no smoothing; but its second derivative jumps, and the Laplacian
form of the correction would miss the point masses of the third. It is corrected by signed draws, or analytically: the
slope becomes `clip(r, -k, k) - ((1 - rate)/2) t (f(r + k) - f(r - k))`, f the density of L.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.inputs import number
from versadp.losses.base import IndexLoss, zeros
from versadp.losses.closed import Closed, need_exact_rate

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
        self.k = number("k", k, 0, np.inf, open_low=True, open_high=True)

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        r = np.abs(u - y)
        return np.where(r <= self.k, 0.5 * r * r, self.k * r - 0.5 * self.k**2)

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u."""
        r = u - y
        return (np.clip(r, -self.k, self.k), (np.abs(r) <= self.k).astype(float), *zeros(u, 2))[:order]

    def closed(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float, *, bent: bool
    ) -> tuple[Array, ...] | None:
        """Return `G_u, G_t`, and `G_uu, G_ut, G_tt` too if `bent`."""
        need_exact_rate(self.name, rate)
        return Corners(rate, self.k).at(u - y, t, bent=bent)


@dataclass(frozen=True)
class Corners(Closed):
    """The corrected Huber loss, through the Laplace distribution function.

    Examples
    --------
    >>> first, _, _ = Corners(rate=0.2, k=1.0).slopes(np.array([-99.0, 0.0, 99.0]), t=0.5)
    >>> first
    array([-1.,  0.,  1.])
    """

    k: float

    @property
    def core(self) -> float:
        """From where on the loss itself is straight: its corner."""
        return self.k

    def slopes(self, v: Array, t: float) -> tuple[Array, Array, Array]:
        """Return `G_v, G_t, G_vv`."""
        b, half, k = np.sqrt(self.rate * t / 2) + 1e-300, (1 - self.rate) / 2, self.k
        right, left = (v + k) / b, (v - k) / b
        density = [np.exp(-np.abs(x)) / (2 * b) for x in (right, left)]
        share = [np.where(x > 0, 1 - np.exp(-np.abs(x)) / 2, np.exp(-np.abs(x)) / 2) for x in (right, left)]
        inside = share[0] - share[1]
        spread = -(right * density[0] - left * density[1]) * b / (2 * t + 1e-300)
        slope = [-np.sign(x) / b * f for x, f in zip((right, left), density, strict=True)]
        first = np.clip(v, -k, k) - half * t * (density[0] - density[1])
        second = (np.abs(v) <= k) - half * t * (slope[0] - slope[1])
        return first, -half * (inside + t * spread), second
