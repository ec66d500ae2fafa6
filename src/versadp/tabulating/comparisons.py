"""Comparisons of cells: differences, odds ratios, risk ratios, trends; with the covariance of all cells.

Every figure is a function of the means t of cells with the derivative h, and its standard error is √(h' C h). Ratios of
products (odds, risks, slopes) have Fieller's intervals, which are unbounded where the denominator is not told apart
from 0, and the test of "no effect" is that of the numerator less that of no effect.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import ParameterError
from versadp.tabulating.intervals import ratio_intervals
from versadp.tabulating.layout import VALUE

if TYPE_CHECKING:
    from versadp.inputs import Array
    from versadp.tabulating.cell_estimates import CellEstimates


@dataclass(frozen=True)
class Comparison:
    """A comparison of cells with its interval, and the test that there is no difference.

    Attributes
    ----------
    name : str
    value, error : float
        Estimate and standard error; NaN if the cells tell nothing.
    low, high : float
        Ends of the interval; infinite where nothing bounds it.
    pvalue : float
        Two-sided, of no difference (a ratio of 1, a slope of 0).

    Examples
    --------
    >>> print(Comparison("odds ratio", 1.5, 0.1, 1.3, 1.7, 0.0001))
    odds ratio: 1.5 ± 0.1, from 1.3 to 1.7, p = 0.0001
    """

    name: str
    value: float
    error: float
    low: float
    high: float
    pvalue: float

    def __str__(self) -> str:
        ends = f"from {self.low:.4g} to {self.high:.4g}"
        return f"{self.name}: {self.value:.4g} ± {self.error:.2g}, {ends}, p = {self.pvalue:.2g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


def difference(cells: CellEstimates, one: int, other: int, statistic: str) -> Comparison:
    """Return the difference of a statistic in two rows."""
    (a, along), (b, across) = _gradient(cells, one, statistic), _gradient(cells, other, statistic)
    value, error = a - b, _se(cells, along - across)
    half = cells.z * error
    return Comparison(
        f"difference of {statistic}", value, cells.widening * error, value - half, value + half, _p(cells, value, error)
    )


def _gradient(cells: CellEstimates, row: int, statistic: str) -> tuple[float, Array]:
    """Return a statistic of a row, and its derivative by the means of all cells."""
    n, t = cells.means.rows, cells.means.first
    if statistic == "count":
        return n * float(_along(cells, 0, row) @ t), n * _along(cells, 0, row)
    if statistic in cells.partners:
        partner = int(cells.partners[statistic][row])
        if partner < 0:
            raise ParameterError(f"a margin has no {statistic}", hint="choose cells, or another statistic")
        return _ratio(_along(cells, 0, row), _along(cells, 0, partner), t)
    measure = cells.layout.measure
    if statistic != "mean" or measure is None:
        raise ParameterError(
            f"no differences of {statistic!r}", hint="count, share, row share, column share, or mean (with values=)"
        )
    value = _along(cells, measure.functions.index(VALUE) + 1, row)
    mean, slope = _ratio(value, _along(cells, int(measure.can_be_missing), row), t)
    return measure.centre + measure.width * mean, measure.width * slope


def _along(cells: CellEstimates, i: int, row: int) -> Array:
    """Return what takes the sum over a row of function i, from all means."""
    size = cells.sums.shape[1]
    out = np.zeros(cells.means.first.size)
    out[i * size : (i + 1) * size] = cells.sums[row]
    return out


def _ratio(top: Array, bottom: Array, t: Array) -> tuple[float, Array]:
    value = float(top @ t) / float(bottom @ t)
    return value, (top - value * bottom) / float(bottom @ t)


def product_ratio(cells: CellEstimates, name: str, top: tuple[int, int], bottom: tuple[int, int]) -> Comparison:
    """Return the ratio of products of two rows each, and the test that it is 1."""
    t = cells.means.first

    def times(rows: tuple[int, int]) -> tuple[float, Array]:
        one, other = (_along(cells, 0, row) for row in rows)
        return float(one @ t) * float(other @ t), one * float(other @ t) + other * float(one @ t)

    return _quotient(cells, name, times(top), times(bottom), none=1.0)


def trend(cells: CellEstimates, scores: Array, weight: Array) -> Comparison:
    """Return the slope of a function over scores, by least squares over the records of all cells.

    Parameters
    ----------
    cells : CellEstimates
    scores : array (cells,)
    weight : array (functions * cells,)
        What gives the sum of the function from all means.
    """
    size, t = scores.size, cells.means.first

    def of(values: Array) -> Array:
        out = np.zeros(t.size)
        out[:size] = values
        return out

    one, first, second = of(np.ones(size)), of(scores), of(scores**2)
    mixed = weight * np.tile(scores, t.size // size)
    m0, m1, m2, q0, q1 = (float(each @ t) for each in (one, first, second, weight, mixed))
    top = m0 * q1 - m1 * q0, one * q1 + m0 * mixed - first * q0 - m1 * weight
    bottom = m0 * m2 - m1**2, one * m2 + m0 * second - 2 * m1 * first
    return _quotient(cells, "trend per unit", top, bottom, none=0.0)


def _quotient(
    cells: CellEstimates, name: str, top: tuple[float, Array], bottom: tuple[float, Array], none: float
) -> Comparison:
    (a, along), (b, across) = top, bottom
    cov = cells.cov
    tt, tb, bb = float(along @ cov @ along), float(along @ cov @ across), float(across @ cov @ across)
    ends = ratio_intervals(np.array([a]), np.array([b]), (np.array([tt]), np.array([tb]), np.array([bb])), cells.z)[0]
    test = _p(cells, a - none * b, float(np.sqrt(max(tt - 2 * none * tb + none**2 * bb, 0.0))))
    if none == 1.0:
        ends = np.maximum(ends, 0.0)
    if not np.isfinite(ends).all():
        return Comparison(name, np.nan, np.nan, float(ends[0]), float(ends[1]), test)
    value = a / b
    error = float(np.sqrt(max(tt - 2 * value * tb + value**2 * bb, 0.0))) / abs(b)
    return Comparison(name, value, cells.widening * error, float(ends[0]), float(ends[1]), test)


def _se(cells: CellEstimates, slope: Array) -> float:
    return float(np.sqrt(max(float(slope @ cells.cov @ slope), 0.0)))


def _p(cells: CellEstimates, value: float, error: float) -> float:
    from scipy.special import ndtr

    if not error > 0:
        return float(value == 0)
    return float(2 * ndtr(-abs(value) / error / cells.widening))
