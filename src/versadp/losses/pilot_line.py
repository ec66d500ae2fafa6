"""A pilot regression and the distribution function of its residuals, for starts and bandwidths of residual losses.

The spread of released records is that of the noise, so the coefficients are corrected least squares, and `share` is the
corrected distribution function of the residuals. Without noise they are a robust regression and its residuals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.losses.starts import robust

if TYPE_CHECKING:
    from versadp.inputs import Array

# range of the scale of residuals around a quantile, in multiples of the scale of all residuals: the cap keeps noise in
# the distribution function out of the bandwidth, the floor keeps it positive at an atom (docs/measured/estimators.md)
SCALE_RANGE = (0.05, 1.5)
SIGNIFICANT = 3.0  # standard errors by which two shares must differ to be told apart: a level of 0.3%


@dataclass(frozen=True)
class Line:
    """Coefficients and the distribution function of their residuals.

    Attributes
    ----------
    theta : array (p,)
    lift : array (p,) or None
        Coefficients whose index is 1 for every record; None for a design without a constant.
    at, share : array
        Residuals in increasing order, and their distribution function.
    records : float
        Effective sample size of these shares: records without noise with the same standard error.

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
        """Return the robust regression of a response without noise on a design, and its residuals."""
        theta, n = robust(m, y), len(y)
        return cls(theta, lift_of(m), np.sort(y - m @ theta), np.arange(1, n + 1) / n, float(n))

    def times(self, unit: float) -> Line:
        """Return the regression for a response multiplied by `unit`."""
        return replace(self, theta=unit * self.theta, at=unit * self.at)

    def quantile(self, tau: float) -> float:
        """Return the tau quantile of the residuals."""
        return float(np.interp(tau, self.share, self.at))

    def deviation(self) -> float:
        """Return the median absolute deviation over 0.6745, for normal residuals their sd; 0 if most are equal."""
        middle = self.quantile(0.5)
        far = np.unique(np.abs(self.at - middle))
        above, below = np.interp(middle + far, self.at, self.share), np.interp(middle - far, self.at, self.share)
        return float(np.interp(0.5, np.maximum.accumulate(above - below), far)) / 0.6745

    def scale(self, tau: float = 0.5) -> float:
        """Return the scale of the residuals on the denser side of the tau quantile: for normal residuals their sd.

        It is the distance to a quantile halfway into the tail, or `SIGNIFICANT` standard errors away if that is more;
        the interquartile range if there is no such quantile within (0.01, 0.99).
        """
        from scipy.special import ndtri

        whole = (self.quantile(0.75) - self.quantile(0.25)) / 1.349
        widest = max(whole, (self.quantile(0.9) - self.quantile(0.1)) / 2.563)  # if most residuals are equal
        error = np.sqrt(tau * (1 - tau) / max(self.records, 1.0))
        away = max(min(tau, 1 - tau) / 2, SIGNIFICANT * float(error))
        sides = [share for share in (tau - away, tau + away) if 0.01 < share < 0.99]
        here = [(self.quantile(p) - self.quantile(tau)) / float(ndtri(p) - ndtri(tau)) for p in sides]
        return min(max(min(here, default=whole), SCALE_RANGE[0] * whole), SCALE_RANGE[1] * widest)


def lift_of(m: Array) -> Array | None:
    """Return the coefficients with an index of 1 in every row of a design, None without a constant column.

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
