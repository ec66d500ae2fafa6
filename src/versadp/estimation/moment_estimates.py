"""Estimates with intervals of moments, shares and quantiles, within the range of possible values.

Moments t = (p, x, y, xx, yy, xy) are means over records, C their covariance, and by the delta method

    mean   m = x/p                              m ± z se
    sd     √v,   v = xx/p - m² + se(m)²         √ of the ends of v ± z se(v): m² alone is too large by se(m)²
    correlation  ρ with c = ρ √(v_x v_y)        {ρ : |c - ρ d| <= z se(c - ρ d)},   d = √(v_x v_y)

The last is by inversion (Fieller): for normal columns without noise c - ρ d is symmetric at any sample size, and the
set is all of [-1, 1] if a variance is not significant. A share is the mean of weights between two numbers, lo and hi;
weights of two values have the variance (hi - p)(p - lo), others less, and

    {p : |mean - p| <= z √((hi - p)(p - lo)/n)}

is Wilson's interval where there is no noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from versadp.inputs import Array


class Estimate(NamedTuple):
    """An estimate with its standard error and interval; NaN if there is none.

    Examples
    --------
    >>> Estimate(0.5, 0.1, 0.3, 0.7).told, NOTHING.told
    (True, False)
    """

    value: float
    error: float
    low: float
    high: float

    @property
    def told(self) -> bool:
        """True if there is an estimate."""
        return bool(np.isfinite(self.value))

    def times(self, factor: float, shift: float = 0.0) -> Estimate:
        """Return the estimate in other units."""
        value, low, high = (factor * each + shift for each in (self.value, self.low, self.high))
        return Estimate(value, factor * self.error, low, high)

    def widened(self, factor: float) -> Estimate:
        """Return the estimate with a larger standard error, for which the interval has been made already."""
        return self._replace(error=factor * self.error)

    def within(self, low: float, high: float) -> Estimate:
        """Return the estimate with an interval cut to a range; the interval is the range if there is no estimate."""
        ends = np.clip(np.where(np.isnan([self.low, self.high]), [low, high], [self.low, self.high]), low, high)
        return self._replace(low=float(ends[0]), high=float(ends[1]))


NOTHING = Estimate(np.nan, np.nan, np.nan, np.nan)


class Moments(NamedTuple):
    """Means over records of the moments of one or two columns, and their covariance.

    Attributes
    ----------
    t : array (6,)
        Share of records with values, means of x, y, xx, yy, xy.
    cov : array (6, 6)
    """

    t: Array
    cov: Array

    @classmethod
    def of(cls, rows: int, total: Array, squares: Array, at: list[int], z: float) -> Moments | None:
        """Return the moments from some of the sums of a group; None if the share with values is not significant."""
        if rows < 2:
            return None
        t = total[at] / rows
        cov = (squares[np.ix_(at, at)] / rows - np.outer(t, t)) / rows
        there = t[0] * rows
        if there <= 1.5 or float(t[0]) <= z * float(np.sqrt(np.abs(cov[0, 0]))):
            return None
        return cls(t, cov * there / (there - 1))

    def se(self, slope: Array) -> float:
        """Return the standard error of a function of t with this gradient."""
        return float(np.sqrt(max(float(slope @ self.cov @ slope), 0.0)))

    def mean(self, j: int) -> tuple[float, Array]:
        """Return the mean of the first (1) or the second column (2), and its gradient."""
        p, x = self.t[0], self.t[j]
        slope = np.zeros(6)
        slope[0], slope[j] = -x / p**2, 1 / p
        return float(x / p), slope

    def second(self, i: int, j: int) -> tuple[float, Array]:
        """Return the covariance of two columns, or the variance of one, and its gradient."""
        (a, along), (b, across) = self.mean(i), self.mean(j)
        at = 5 if i != j else 2 + i
        p, q = self.t[0], self.t[at]
        slope = -b * along - a * across
        slope[0] -= q / p**2
        slope[at] += 1 / p
        return float(q / p - a * b + along @ self.cov @ across), slope


def mean_of(moments: Moments | None, z: float) -> Estimate:
    """Return the mean of the first column."""
    if moments is None:
        return NOTHING
    value, slope = moments.mean(1)
    error = moments.se(slope)
    return Estimate(value, error, value - z * error, value + z * error)


def sd_of(moments: Moments | None, z: float) -> Estimate:
    """Return the standard deviation of the first column; no estimate if its variance is not significant."""
    if moments is None:
        return NOTHING
    value, slope = moments.second(1, 1)
    error = moments.se(slope)
    low, high = np.sqrt(np.maximum([value - z * error, value + z * error], 0.0))
    if value - z * error <= 0 < error:
        return Estimate(np.nan, np.nan, 0.0, float(high))
    sd = float(np.sqrt(max(value, 0.0)))
    return Estimate(sd, error / (2 * sd) if sd else 0.0, float(low), float(high))


def covariance_of(moments: Moments | None, z: float) -> Estimate:
    """Return the covariance of two columns, or the variance of one that is given twice."""
    if moments is None:
        return NOTHING
    value, slope = moments.second(1, 2)
    error = moments.se(slope)
    return Estimate(value, error, value - z * error, value + z * error)


def correlation_of(moments: Moments | None, z: float) -> Estimate:
    """Return the correlation of two columns, if both of their variances are significant."""
    nothing = Estimate(np.nan, np.nan, -1.0, 1.0)
    if moments is None:
        return nothing
    (c, along), (u, first), (v, second) = (moments.second(*pair) for pair in ((1, 2), (1, 1), (2, 2)))
    if u <= z * moments.se(first) or v <= z * moments.se(second):
        return nothing
    d = float(np.sqrt(u * v))
    across = (first * v + second * u) / (2 * d)
    cc, cd, dd = (float(a @ moments.cov @ b) for a, b in ((along, along), (along, across), (across, across)))
    square, half, rest = d * d - z * z * dd, c * d - z * z * cd, c * c - z * z * cc
    if square <= 0:
        return nothing
    root = np.sqrt(max(half * half - square * rest, 0.0))
    r = float(np.clip(c / d, -1.0, 1.0))
    error = float(np.sqrt(max(cc - 2 * r * cd + r * r * dd, 0.0))) / d
    low, high = np.clip([(half - root) / square, (half + root) / square], -1.0, 1.0)
    return Estimate(r, error, float(min(low, r)), float(max(high, r)))


def share_of(mean: float, rows: int, low: float, high: float, z: float) -> Estimate:
    """Return a share from the mean of weights between `low` and `high`.

    The interval of an estimate below 0 or above 1 is that of 0 or 1: it must not shrink to nothing.

    Examples
    --------
    >>> share_of(0.0, 100, 0.0, 1.0, 1.96)
    Estimate(value=0.0, error=0.0, low=0.0, high=0.0369...)
    """
    if not rows:
        return Estimate(np.nan, np.nan, 0.0, 1.0)
    k, near = z * z / rows, min(max(mean, 0.0), 1.0)
    middle, root = (
        (near + k * (low + high) / 2) / (1 + k),
        k * (high - near) * (near - low) + (k * (high - low) / 2) ** 2,
    )
    half = np.sqrt(max(root, 0.0)) / (1 + k)
    ends = np.clip([middle - half, middle + half], 0.0, 1.0)
    error = float(np.sqrt(max((high - mean) * (mean - low), 0.0) / rows))
    return Estimate(float(mean), error, float(ends[0]), float(ends[1]))


def sample_quantile(ordered: Array, tau: float, z: float) -> Estimate:
    """Return a quantile of sorted values without noise, with an interval between two order statistics."""
    n = ordered.size
    if not n:
        return NOTHING
    reach = z * np.sqrt(n * tau * (1 - tau))
    at = np.clip([np.floor(n * tau - reach) - 1, np.ceil(n * tau + reach)], 0, n - 1).astype(int)
    low, high = ordered[at]
    return Estimate(float(np.quantile(ordered, tau)), float(high - low) / 2 / z, float(low), float(high))
