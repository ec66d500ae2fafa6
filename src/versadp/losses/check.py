"""Check loss: `(y - u)(tau - 1{y < u})`. Quantile regression.

Its derivative `1{u > y} - tau` jumps, so it is smoothed with a fourth-order kernel of bandwidth h for fitting; the
bias of the smoothing is O(h^4). The corrected loss is a `Kink` in u - y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.inputs import number
from versadp.losses.corrected_tables import Kink, need_exact_rate
from versadp.losses.index_loss import IndexLoss, zeros
from versadp.losses.smoothing import of_line, of_residuals, step
from versadp.losses.starts import robust

if TYPE_CHECKING:
    from versadp.inputs import Array
    from versadp.losses.pilot_line import Line


class Check(IndexLoss):
    """Check loss at quantile tau, `(y - u)(tau - 1{y < u})`.

    Examples
    --------
    >>> Check(tau=0.9).value(np.array([0.0, 0.0]), np.array([1.0, -1.0]))
    array([0.9, 0.1])
    """

    name = "check"
    argument, order = "residual", 0
    straight = 0.0

    def __init__(self, tau: float = 0.5) -> None:
        self.tau = number("tau", tau, 0, 1, open_low=True, open_high=True)

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        r = y - u
        return np.asarray(r * (self.tau - (r < 0)))

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u of the smoothed loss."""
        share, density = step(u - y, bandwidth)
        return (share - self.tau, density, *zeros(u, 2))[:order]

    def in_units(self, unit: float) -> IndexLoss:
        """Return the same loss, which has no unit; a subclass may have one."""
        return self if type(self) is Check else super().in_units(unit)

    def start(self, m: Array, y: Array) -> Array:
        """Return a robust regression, its intercept moved to the quantile of the residuals if there is one."""
        theta = robust(m, y)
        constant = np.flatnonzero((m == m[:1]).all(axis=0) & (m[0] != 0))
        if constant.size:
            theta[constant[0]] += np.quantile(y - m @ theta, self.tau) / m[0, constant[0]]
        return theta

    def bandwidths(self, m: Array, y: Array, factor: float = 1.0) -> tuple[float, float]:
        """Return the bandwidths of the loss and of its curvature: wider in the tails, where records are few."""
        return of_residuals(m, y, factor, self.tau)

    def start_on(self, line: Line) -> Array:
        """Return the pilot regression, its intercept moved to the quantile of the residuals if there is one."""
        return line.theta if line.lift is None else line.theta + line.quantile(self.tau) * line.lift

    def bandwidths_on(self, line: Line, factor: float = 1.0) -> tuple[float, float]:
        """Return the bandwidths, from the scale of the residuals around the quantile."""
        return of_line(line, factor, self.tau)

    def closed(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float, *, bent: bool
    ) -> tuple[Array, ...] | None:
        """Return `G_u, G_t`, and `G_uu, G_ut, G_tt` too if `bent`."""
        need_exact_rate(self.name, rate)
        return Kink(rate, bandwidth, self.tau).at(u - y, t, bent=bent)
