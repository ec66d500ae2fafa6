"""A line and how the response lies around it: what losses of the residual need to know before they are fitted.

Released records show the noise's spread, not the residuals'. So the line is corrected least squares, and `share` the
corrected distribution function of its residuals: quantiles, scales and starts come from there. Where there is no noise,
it is the plain line and the plain residuals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.losses.starts import robust

if TYPE_CHECKING:
    from versadp.inputs import Array

LEAST, MOST = 0.05, 1.5  # of the scale of all residuals is what their scale around a quantile may be
SIGNIFICANT = 3.0


@dataclass(frozen=True)
class Line:
    """Coefficients, and the distribution function of the residuals.

    Attributes
    ----------
    theta : array (p,)
        Of the line.
    lift : array (p,) or None
        What moves the line by 1; None for a design without a constant.
    at, share : array
        Values of residuals, rising, and the share of records at or below them.
    records : float
        Number of raw records that would tell as much of these shares.

    Examples
    --------
    >>> y = np.random.default_rng(0).normal(5.0, 2.0, 10_000)
    >>> line = Line.plain(np.ones((10_000, 1)), y)
    >>> round(float(line.theta[0])), round(line.quantile(0.8413)), round(line.scale()), round(line.deviation())
    (5, 2, 2, 2)
    """

    theta: Array
    lift: Array | None
    at: Array
    share: Array
    records: float

    @classmethod
    def plain(cls, m: Array, y: Array) -> Line:
        """Return the robust line of a design and a response, and its residuals as they are."""
        theta, n = robust(m, y), len(y)
        return cls(theta, lift_of(m), np.sort(y - m @ theta), np.arange(1, n + 1) / n, float(n))

    def times(self, unit: float) -> Line:
        """Return the line for a response in other units."""
        return replace(self, theta=unit * self.theta, at=unit * self.at)

    def quantile(self, tau: float) -> float:
        """Return a quantile of the residuals."""
        return float(np.interp(tau, self.share, self.at))

    def deviation(self) -> float:
        """Return the median distance from the median, for normal residuals their sd; 0 if most are equal."""
        middle = self.quantile(0.5)
        far = np.unique(np.abs(self.at - middle))
        above, below = np.interp(middle + far, self.at, self.share), np.interp(middle - far, self.at, self.share)
        return float(np.interp(0.5, np.maximum.accumulate(above - below), far)) / 0.6745

    def scale(self, tau: float = 0.5) -> float:
        """Return the scale of the residuals around a quantile, on the denser side of it: for normal ones their sd.

        It is by shares half as far from it as the tail's end, or by as many standard errors as tell a share from
        another; by the quartiles where no such share is left.
        """
        from scipy.special import ndtri

        whole = (self.quantile(0.75) - self.quantile(0.25)) / 1.349
        widest = max(whole, (self.quantile(0.9) - self.quantile(0.1)) / 2.563)  # where most are the same
        error = np.sqrt(tau * (1 - tau) / max(self.records, 1.0))
        away = max(min(tau, 1 - tau) / 2, SIGNIFICANT * float(error))
        sides = [share for share in (tau - away, tau + away) if 0.01 < share < 0.99]
        here = [(self.quantile(p) - self.quantile(tau)) / float(ndtri(p) - ndtri(tau)) for p in sides]
        return min(max(min(here, default=whole), LEAST * whole), MOST * widest)


def lift_of(m: Array) -> Array | None:
    """Return the coefficients that are 1 for every row of a design with a constant column, None without.

    Examples
    --------
    >>> lift_of(np.array([[0.5, 1.0], [0.5, 3.0]]))
    array([2., 0.])
    """
    constant = np.flatnonzero((m == m[:1]).all(axis=0) & (m[0] != 0))
    if not constant.size:
        return None
    lift = np.zeros(m.shape[1])
    lift[constant[0]] = 1 / m[0, constant[0]]
    return lift
