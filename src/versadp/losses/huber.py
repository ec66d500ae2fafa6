"""Huber loss: `r^2/2` for |r| <= c, `c|r| - c^2/2` beyond, r = u - y. Robust regression.

The corner c is k times the scale s of the residuals, so that a fit does not depend on units. The scale is Huber's
proposal 2: with z = r/s,

    mean of min(z^2, k^2) = E min(N^2, k^2),  N standard normal

For normal residuals s is their standard deviation, and the fit with k = 1.345 has 95% of the efficiency of least
squares. Scale and coefficients together minimise a convex function, `s rho(r/s) + s E min(N^2, k^2)/2`, so that only
its derivatives are corrected, no quantile and no density (`fitting/scale.py`).

The derivative is continuous with corners, so it needs no smoothing; but the second derivative jumps, and the Laplacian
form of the correction would miss the point masses of the third. It is corrected by signed points, or in closed form:
the slope becomes `clip(r, -c, c) - ((1 - rate)/2) t (f(r + c) - f(r - c))`, f the density of L.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.inputs import number
from versadp.losses.corrected_tables import Closed, need_exact_rate
from versadp.losses.index_loss import IndexLoss, zeros

if TYPE_CHECKING:
    from versadp.inputs import Array


class Huber(IndexLoss):
    """Huber loss with its corner at k times the scale of the residuals.

    Parameters
    ----------
    k : float
        The corner in multiples of the scale.
    scale : float, optional
        In units of the response. None: estimated with the coefficients; 1 outside a fit.

    Examples
    --------
    >>> Huber(k=1.0).derivatives(np.array([0.5, 3.0]), np.zeros(2), order=1)
    (array([0.5, 1. ]),)
    >>> Huber(k=1.0, scale=2.0).derivatives(np.array([0.5, 3.0]), np.zeros(2), order=1)
    (array([0.5, 2. ]),)
    """

    name = "huber"
    argument = "residual"
    scale: float | None = None

    def __init__(self, k: float = 1.345, scale: float | None = None) -> None:
        self.k = number("k", k, 0, np.inf, open_low=True, open_high=True)
        if scale is not None:
            self.scale = number("scale", scale, 0, np.inf, open_low=True, open_high=True)

    @property
    def corner(self) -> float:
        """The ``|r|`` from which the loss is linear, in units of the response."""
        return self.k * (1.0 if self.scale is None else self.scale)

    @property
    def straight(self) -> float:  # type: ignore[override] # it has one
        """The corner."""
        return self.corner

    @property
    def by_line(self) -> bool:
        """True: at a start from noisy records the corrected loss may not be convex."""
        return True

    @property
    def unscaled(self) -> bool:
        """True if the scale is to be estimated."""
        return self.scale is None

    def scaled(self, scale: float) -> IndexLoss:
        """Return the loss with this scale."""
        same = copy(self)
        same.scale = scale
        return same

    def scale_score(self, u: Array, y: Array) -> tuple[Array, Array, Array]:
        """Return `s (E min(N^2, k^2) - min(z^2, k^2))/2`, its derivative in u, and that in s at its root."""
        size = 1.0 if self.scale is None else self.scale
        z = (u - y) / size
        near = np.abs(z) <= self.k
        value = (self.normal - np.minimum(z * z, self.k**2)) * (size / 2)
        return value, -z * near, z * z * near

    @property
    def normal(self) -> float:
        """The mean of min(N^2, k^2) for a standard normal N."""
        from scipy.special import ndtr

        k, beyond = self.k, 2 * float(ndtr(-self.k))
        return 1 - beyond - 2 * k * float(np.exp(-k * k / 2) / np.sqrt(2 * np.pi)) + k * k * beyond

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        r, corner = np.abs(u - y), self.corner
        return np.where(r <= corner, 0.5 * r * r, corner * r - 0.5 * corner**2)

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u."""
        r, corner = u - y, self.corner
        return (np.clip(r, -corner, corner), (np.abs(r) <= corner).astype(float), *zeros(u, 2))[:order]

    def closed(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float, *, bent: bool
    ) -> tuple[Array, ...] | None:
        """Return `G_u, G_t`, and `G_uu, G_ut, G_tt` too if `bent`."""
        need_exact_rate(self.name, rate)
        return Corners(rate, self.corner).at(u - y, t, bent=bent)


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
        """The corner, from which the loss is linear."""
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
