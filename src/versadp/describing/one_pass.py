"""One pass over a release: the sums over records from which the statistics of all columns follow.

Firm columns share one vector of statistics per record, T = (1, corrected x_j, corrected x_j x_l). The sums of T and of
T T' give means, variances, correlations and their standard errors. With e a released value, centred and divided by the
width,

    x_j      <- w_j e_j
    x_j x_l  <- w e_j e_l + s_jl  in one block;    w_j w_l e_j e_l  in two blocks

Columns with missing values have a T for each column and for each pair, T = (1, x, y, xx, yy, xy), which is 0 in records
that lack x or y, corrected by the cases of `noise/cases.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.describing.layout import same_block
from versadp.noise.cases import cases

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.describing.layout import Layout
    from versadp.inputs import Array
    from versadp.release.folder.folder import Handle
    from versadp.release.release import Release

    Group = tuple[Array, Array]

LOT = 2**14  # records per step: statistics of 10 columns then take 9 MB, about the size of a cache
MOST_KEPT = 1_000_000  # values of a public number that are kept for its quantiles: 8 MB; errors of shares are 0.05%
MOST_VALUES = 1000  # distinct values of a public column that are counted: chosen; a summary shows 50


class Gathered(NamedTuple):
    """Sums over records; sums of parts of the records add up.

    Attributes
    ----------
    rows : int
    groups : tuple of pairs
        Sums of T and of T T': of all firm columns, of each loose one, of each pair with a loose one (`group_keys`).
    counts : tuple of arrays
        Counts of outputs in the bins of each noisy number, then of the levels of each category.
    kept : tuple of lists of arrays
        Sampled values of each public number.
    tallies : tuple of Tally
        Counts of values of each other public column.
    """

    rows: int
    groups: tuple[Group, ...]
    counts: tuple[Array, ...]
    kept: tuple[list[Array], ...]
    tallies: tuple[Tally, ...]


@dataclass(frozen=True)
class Tally:
    """Counts of distinct values; None if there are too many.

    Examples
    --------
    >>> (Tally({"a": 1}) + Tally({"a": 2, "b": 1})).counts
    {'a': 3, 'b': 1}
    """

    counts: dict[Any, int] | None

    def __add__(self, other: Tally) -> Tally:
        if self.counts is None or other.counts is None:
            return Tally(None)
        out = dict(self.counts)
        for value, count in other.counts.items():
            out[value] = out.get(value, 0) + count
        return Tally(out if len(out) <= MOST_VALUES else None)


def group_keys(layout: Layout) -> list[tuple[str, ...]]:
    """Return the columns of each group of statistics: all firm ones, each loose one, each pair with a loose one.

    Without correlations the first group has none, and each column has its own.
    """
    if not layout.correlated:
        return [(), *((name,) for name in layout.numbers)]
    loose = set(layout.loose)
    pairs = [pair for pair in combinations(layout.numbers, 2) if loose & set(pair)]
    return [layout.firm, *((name,) for name in layout.loose), *pairs]


def gather(release: Release, layout: Layout, handle: Handle) -> tuple[Any, ...]:
    """Return the sums over the records of a handle, as a plain tuple."""
    from versadp.engine.base import add_up

    table = release.read(handle, list(layout.columns))
    starts = range(0, max(handle.rows, 1), LOT)
    firm = Firm.of(layout)
    found = add_up(_lot(layout, firm, table.slice(start, LOT), handle.first + start) for start in starts)
    assert found is not None
    return found


def no_records(layout: Layout) -> Gathered:
    """Return the sums over no records."""
    firm = len(group_keys(layout)[0])
    sizes = [1 + firm + firm * (firm + 1) // 2, *({1: 3, 2: 6}[len(key)] for key in group_keys(layout)[1:])]
    groups = tuple((np.zeros(size), np.zeros((size, size))) for size in sizes)
    counts: list[Any] = [np.zeros(bins.count) for bins in layout.bins.values()]
    counts += [np.zeros(len(layout.columns[name].levels) + 1) for name in layout.categories]  # type: ignore[union-attr] # a category
    return Gathered(0, groups, tuple(counts), ([],) * len(layout.public), (Tally({}),) * len(layout.others))


def _lot(layout: Layout, firm: Firm, table: pa.Table, first: int) -> tuple[Any, ...]:
    numbers = {name: layout.numbers_in(table, name) for name in (*layout.noisy, *layout.public)}
    lot = Lot(layout, firm, numbers)
    groups = tuple(_sums(lot.statistics(key, k)) for k, key in enumerate(group_keys(layout)))
    counts: list[Any] = [np.bincount(b.place(numbers[name]), minlength=b.count) for name, b in layout.bins.items()]
    for name in layout.categories:
        size = len(layout.columns[name].levels) + 1  # type: ignore[union-attr] # a category
        counts.append(np.bincount(layout.codes_in(table, name), minlength=size))
    chosen: Any = slice(None)
    if layout.rows > MOST_KEPT:
        chosen = np.random.default_rng([first, 0xDE5C]).random(table.num_rows) < MOST_KEPT / layout.rows
    kept = tuple([numbers[name][chosen].copy()] for name in layout.public)
    tallies = tuple(_tally(table.column(name)) for name in layout.others)
    return Gathered(table.num_rows, groups, tuple(counts), kept, tallies)


def _tally(column: pa.ChunkedArray) -> Tally:
    import pyarrow.compute as pc

    found = pc.value_counts(column)
    if len(found) > MOST_VALUES:
        return Tally(None)
    return Tally({each["values"]: each["counts"] for each in found.to_pylist()})


def _sums(statistics: Array) -> Group:
    return statistics.sum(axis=1), statistics @ statistics.T


@dataclass(frozen=True, eq=False)
class Firm:
    """Corrections of the firm columns: weights, and factors and shifts of products of two."""

    weight: Array
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    factor: Array
    shift: Array

    @classmethod
    def of(cls, layout: Layout) -> Firm:
        """Return the corrections of the blocks, in units of widths."""
        names = layout.firm
        weight, inverses = np.ones(len(names)), {}
        for j, name in enumerate(names):
            if name in layout.blocks:
                found = layout.products(name)
                assert found is not None
                weight[j], inverses[name] = found.weight, found
        first, second = np.triu_indices(len(names)) if layout.correlated else (np.arange(len(names)),) * 2
        factor, shift = weight[first] * weight[second], np.zeros(first.size)
        for k, (one, other) in enumerate(zip(first, second, strict=True)):
            if same_block(layout, names[one], names[other]):
                found = inverses[names[one]]
                order = layout.firm_part(names[one]).columns
                at = [order.index(names[j]) for j in (one, other)]
                units = layout.place(names[one])[1] * layout.place(names[other])[1]
                factor[k], shift[k] = found.weight, found.shift[at[0], at[1]] / units
        return cls(weight, first, second, factor, shift)


@dataclass(frozen=True, eq=False)
class Lot:
    """The values of some records by column."""

    layout: Layout
    firm: Firm
    numbers: dict[str, Array]

    def around(self, name: str) -> Array:
        """Return released values, centred and in widths, 0 for missing ones."""
        centre, unit = self.layout.place(name)
        out = (self.numbers[name] - centre) / unit
        return np.nan_to_num(out, copy=False, nan=0.0)

    def statistics(self, key: tuple[str, ...], number: int) -> Array:
        """Return the statistics T of a group, (statistics, records)."""
        if not key:
            return np.ones((1, next((len(values) for values in self.numbers.values()), 0)))
        if number == 0:
            return self._firm()
        if len(key) == 1:
            return np.stack(self._single(key[0]))
        if same_block(self.layout, *key):
            return self._joint(*key)
        (f, x, xx), (g, y, yy) = self._single(key[0]), self._single(key[1])
        return np.stack([f * g, x * g, f * y, xx * g, f * yy, x * y])

    def _firm(self) -> Array:
        firm, p = self.firm, len(self.layout.firm)
        rows = next((len(values) for values in self.numbers.values()), 0)
        out = np.empty((1 + p + firm.first.size, rows))
        e = np.stack([self.around(name) for name in self.layout.firm]) if p else np.empty((0, rows))
        out[0] = 1.0
        out[1 : 1 + p] = firm.weight[:, None] * e
        products = out[1 + p :]
        np.multiply(e[firm.first], e[firm.second], out=products)
        products *= firm.factor[:, None]
        products += firm.shift[:, None]
        return out

    def _single(self, name: str) -> tuple[Array, Array, Array]:
        """Return the corrected indicator of a value, the value and its square."""
        if self.layout.is_spaced(name):
            there, value, square = self._tabled(name)
            return there, value, square
        e = self.around(name)
        if name in self.layout.firm:
            j = self.layout.firm.index(name)
            k = int(np.flatnonzero((self.firm.first == j) & (self.firm.second == j))[0])
            return np.ones_like(e), self.firm.weight[j] * e, self.firm.factor[k] * e * e + self.firm.shift[k]
        factor, weight, shift = self._cases(name)
        return factor, factor * weight * e, factor * (weight * e * e + shift[:, 0, 0])

    def _joint(self, one: str, other: str) -> Array:
        """Return the statistics of a pair in one block."""
        if self.layout.is_spaced(one) or self.layout.is_spaced(other):
            return self._tabled(one, other)
        x, y = self.around(one), self.around(other)
        factor, weight, shift = self._cases(one, other)
        kept = factor * weight
        squares = kept * x * x + factor * shift[:, 0, 0], kept * y * y + factor * shift[:, 1, 1]
        return np.stack([factor, kept * x, kept * y, *squares, kept * x * y + factor * shift[:, 0, 1]])

    def _tabled(self, *names: str) -> Array:
        """Return corrected moments of one column, or of a pair, by tables over its outputs, (statistics, records)."""
        block, terms = self.layout.tabled(*names)
        found = block.undo(terms, np.stack([self.numbers[name] for name in block.columns]))
        assert found is not None
        return found.T

    def _cases(self, *names: str) -> tuple[Array, Array, Array]:
        """Return the factor, weight and shift of each record, by which of its values are missing."""
        part = self.layout.alone(*names)
        found = cases(part, np.stack([self.numbers[name] for name in part.columns]))
        assert found is not None
        which, every = found
        order = [part.columns.index(name) for name in names]
        units = np.array([self.layout.place(name)[1] for name in names])
        products = [case.inverse.products() for case in every]
        weight = np.array([each.weight for each in products])
        shift = np.array([each.shift[np.ix_(order, order)] for each in products])
        return np.array([case.factor for case in every])[which], weight[which], (shift / np.outer(units, units))[which]
