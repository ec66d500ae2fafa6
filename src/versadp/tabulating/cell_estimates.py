"""Estimates of all cells and margins of a table: counts, shares, sums, means and spreads, with intervals.

A margin is the sum of its cells, so that all of them are linear in the same means, and so is their covariance: margins
are consistent with cells whatever the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.estimation.moment_estimates import Moments, sd_of
from versadp.schema import Bounded
from versadp.tabulating.intervals import ratio_intervals, share_intervals
from versadp.tabulating.layout import SQUARE, VALUE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.tabulating.contraction import Means
    from versadp.tabulating.layout import Layout, Measure

FEWEST = 1.5  # estimated records of a cell below which it has no mean, as for describe's moments


class Estimates(NamedTuple):
    """Estimates of one statistic in all cells and margins, NaN where there is none; all arrays are (rows,).

    `told` is False where the interval says next to nothing (docs/guides/tables.md).
    """

    value: Array
    error: Array
    low: Array
    high: Array
    told: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class CellEstimates:
    """The figures of a table.

    Attributes
    ----------
    layout : Layout
    means : Means
        Of all cells.
    z : float
        Half the width of an interval in standard errors, people with several rows included.
    widening : float
        Factor of standard errors for people with several rows.
    """

    layout: Layout
    means: Means
    z: float
    widening: float

    @cached_property
    def cov(self) -> Array:
        """The covariance of the means of all cells."""
        return self.means.cov

    @cached_property
    def keys(self) -> list[tuple[int, ...]]:
        """The level of each column in each row; the number of its levels stands for all of them."""
        cells = list(product(*(range(size) for size in self.layout.shape)))
        every = product(*(range(size + 1) for size in self.layout.shape))
        inner = set(cells)
        return cells + [key for key in every if key not in inner]

    @cached_property
    def sums(self) -> Array:
        """The cells of each row, (rows, cells): 1 or 0."""
        shape = self.layout.shape
        out = np.zeros((len(self.keys), *shape))
        for k, key in enumerate(self.keys):
            out[(k, *(slice(None) if j == size else j for j, size in zip(key, shape, strict=True)))] = 1.0
        return out.reshape(len(out), -1)

    @cached_property
    def partners(self) -> dict[str, NDArray[np.int64]]:
        """The row that each row's shares are of, -1 where it has none: of all, of its row, of its column."""
        shape, place = self.layout.shape, {key: k for k, key in enumerate(self.keys)}
        rows = np.arange(len(self.keys))
        out = {"share": np.full(rows.size, place[shape])}
        if len(shape) == 1:
            return out
        out["row share"] = np.array([place[*key[:-1], shape[-1]] for key in self.keys])
        out["column share"] = np.array([place[*shape[:-1], key[-1]] for key in self.keys])
        for found in (out["row share"], out["column share"]):
            found[found == rows] = -1  # the share of a margin of itself
        return out

    def count(self) -> Estimates:
        """Return the numbers of records in each row."""
        n, rows = self.means.rows, self._rows
        p, ones = self._mean(0, rows), np.ones(rows.size)
        own, _ = self._slopes(rows)
        ends = share_intervals((p, ones), (self._product(0, 0, rows, rows), p, ones), (own, ones), n, self.z)
        error = self.widening * np.sqrt(np.maximum(self._cov(0, 0, rows, rows), 0.0))
        told, ends = self._tells(ends, self.sums.shape[1]), n * np.clip(ends, 0.0, 1.0)
        return Estimates(n * p, n * error, ends[:, 0], ends[:, 1], told)

    def share(self, name: str) -> Estimates:
        """Return shares: of all records of the table, of those of a row, or of a column."""
        partner = self.partners[name]
        rows = np.flatnonzero(partner >= 0)
        of = partner[rows]
        pk, pm = self._mean(0, rows), self._mean(0, of)
        second = (self._product(0, 0, rows, rows), self._product(0, 0, rows, of), self._product(0, 0, of, of))
        ends = share_intervals((pk, pm), second, self._slopes(rows, of), self.means.rows, self.z)
        kk, km, mm = self._cov(0, 0, rows, rows), self._cov(0, 0, rows, of), self._cov(0, 0, of, of)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = pk / pm
            error = np.sqrt(np.maximum(kk - 2 * share * km + share**2 * mm, 0.0)) / np.abs(pm)
        share[~np.isfinite(share) | (pm <= 0)] = np.nan
        cells = {"share": self.sums.shape[1], "row share": self.layout.shape[-1]}
        told = self._tells(ends, cells.get(name, int(np.prod(self.layout.shape[:-1]))))
        return self._in_place(rows, share, self.widening * error, np.clip(ends, 0.0, 1.0), told)

    @staticmethod
    def _tells(ends: Array, cells: int) -> NDArray[np.bool_]:
        """Return True where half an interval is shorter than the share of a cell if all were of one size."""
        return np.asarray((ends[:, 1] - ends[:, 0]) / 2 <= 1 / cells)

    def sum(self) -> Estimates:
        """Return the sums of the measure in each row."""
        measure, rows, n = self._measure, self._rows, self.means.rows
        there, value = self._there, measure.functions.index(VALUE) + 1
        c, w = measure.centre, measure.width
        total = n * (w * self._mean(value, rows) + c * self._mean(there, rows))
        variance = w**2 * self._cov(value, value, rows, rows) + 2 * w * c * self._cov(there, value, rows, rows)
        variance += c**2 * self._cov(there, there, rows, rows)
        error = n * np.sqrt(np.maximum(variance, 0.0))
        ends = total[:, None] + self.z * error[:, None] * [-1, 1]
        return Estimates(total, self.widening * error, ends[:, 0], ends[:, 1], self.count().told)

    def mean(self) -> Estimates:
        """Return the means of the measure in each row."""
        measure, rows, n = self._measure, self._rows, self.means.rows
        there, value = self._there, measure.functions.index(VALUE) + 1
        top, bottom = self._mean(value, rows), self._mean(there, rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            few = np.where(n * bottom > FEWEST, n * bottom / (n * bottom - 1), np.nan)
            pairs = ((value, value), (value, there), (there, there))
            tt, tb, bb = (few * self._cov(*pair, rows, rows) for pair in pairs)
            mean = top / bottom
            error = np.sqrt(np.maximum(tt - 2 * mean * tb + mean**2 * bb, 0.0)) / bottom
        ends = ratio_intervals(top, bottom, (tt, tb, bb), self.z)
        known = np.asarray(np.isfinite(ends).all(axis=1) & np.isfinite(few))
        low, high = self._bounds
        ends = np.where(known[:, None], measure.centre + measure.width * ends, [-np.inf, np.inf])
        ends = np.clip(ends, low, high)
        mean = np.where(known, measure.centre + measure.width * mean, np.nan)
        error = np.where(known, self.widening * measure.width * error, np.nan)
        return Estimates(mean, error, ends[:, 0], ends[:, 1], known & (ends[:, 1] - ends[:, 0] < high - low))

    def sd(self) -> Estimates:
        """Return the standard deviations of the measure in each row."""
        measure, rows, n = self._measure, self._rows, self.means.rows
        there, (value, square) = self._there, (measure.functions.index(each) + 1 for each in (VALUE, SQUARE))
        at = [there, value, value, square, square, square]
        t = np.stack([self._mean(i, rows) for i in at], axis=1)
        cov = np.empty((rows.size, 6, 6))
        for i, j in product(range(6), repeat=2):
            cov[:, i, j] = self._cov(at[i], at[j], rows, rows)
        found = []
        for mean, each in zip(t, cov, strict=True):
            many = n * mean[0]
            enough = many > FEWEST and mean[0] > self.z * np.sqrt(max(each[0, 0], 0.0))
            found.append(sd_of(Moments(mean, each * many / (many - 1)) if enough else None, self.z))
        numbers = measure.width * np.array([[each.value, each.error, each.low, each.high] for each in found])
        numbers[:, 1] *= self.widening
        low, high = self._bounds
        half = (high - low) / 2 if np.isfinite(high - low) else np.inf
        ends = np.clip(np.where(np.isnan(numbers[:, 2:]), [0.0, half], numbers[:, 2:]), 0.0, half)
        return Estimates(numbers[:, 0], numbers[:, 1], ends[:, 0], ends[:, 1], ends[:, 1] - ends[:, 0] < half)

    # means and covariances of rows ----------------------------------------------------------------------------------

    @property
    def _rows(self) -> NDArray[np.int64]:
        return np.arange(len(self.keys))

    @property
    def _measure(self) -> Measure:
        assert self.layout.measure is not None
        return self.layout.measure

    @property
    def _there(self) -> int:
        """The function that counts records with a value."""
        return int(self._measure.can_be_missing)

    @property
    def _bounds(self) -> tuple[float, float]:
        declared = self._measure.declared
        return (declared.lower, declared.upper) if isinstance(declared, Bounded) else (-np.inf, np.inf)

    def _mean(self, i: int, rows: NDArray[np.int64]) -> Array:
        return np.asarray((self.sums @ self._part(self.means.first, i))[rows])

    def _part(self, values: Array, i: int) -> Array:
        cells = self.sums.shape[1]
        return values[i * cells : (i + 1) * cells]

    def _product(self, i: int, j: int, one: NDArray[np.int64], other: NDArray[np.int64]) -> Array:
        """Return the means of products of function i in some rows and j in others."""
        block = self._part(self._part(self.means.second, i).T, j).T
        return np.asarray(np.einsum("rk,rk->r", self.sums[one] @ block, self.sums[other]))

    def _cov(self, i: int, j: int, one: NDArray[np.int64], other: NDArray[np.int64]) -> Array:
        out = self._product(i, j, one, other) - self._mean(i, one) * self._mean(j, other)
        return np.asarray(out / max(self.means.rows - 1, 1))

    def _slopes(self, rows: NDArray[np.int64], of: NDArray[np.int64] | None = None) -> tuple[Array, Array]:
        """Return δ and d of `intervals.py`: products of 1/κ of the blocks that rows, and that both look at."""
        if self.means.calibrated:
            return np.ones(len(rows)), np.ones(len(rows))
        own = [self._coins(self.keys[k]) for k in rows]
        others = own if of is None else [self._coins(self.keys[k]) for k in of]
        both = ([keep for k, keep in other.items() if k in mine] for mine, other in zip(own, others, strict=True))
        return np.array([1 / np.prod(list(mine.values())) for mine in own]), np.array([1 / np.prod(k) for k in both])

    def _coins(self, key: tuple[int, ...]) -> dict[int, float]:
        """Return the coins of the blocks that decide whether a record is in a row."""
        used = {j for j, level in enumerate(key) if level < self.layout.shape[j] or self.layout.is_partial(j)}
        parts = enumerate(self.layout.parts)
        return {k: part.keep * part.rate for k, part in parts if used & set(part.axes) or part.rate < 1}

    def _in_place(self, rows: NDArray[np.int64], value: Array, error: Array, ends: Array, told: Any) -> Estimates:
        """Return estimates of some rows as those of all, NaN elsewhere."""
        out = np.full((4, len(self.keys)), np.nan)
        out[:, rows] = value, error, *ends.T
        every = np.zeros(len(self.keys), bool)
        every[rows] = told
        return Estimates(out[0], out[1], out[2], out[3], every)
