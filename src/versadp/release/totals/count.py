"""Exact totals of records in whole numbers, which add up alike in any order and on every engine."""

from __future__ import annotations

from itertools import combinations
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.release.totals.features import Features
    from versadp.release.totals.nodes import Nodes, TotalsColumn

    Array = NDArray[np.float64]
    Whole = NDArray[np.int64]
    Words = NDArray[np.uint64]


class _Seen(NamedTuple):
    """Cells and whole-number positions of some records in one column."""

    column: TotalsColumn
    one_way: Whole  # cell in sheet A
    two_way: Whole  # cell in sheet C
    numbers: Array  # of a number: position as a whole number and, where it may be missing, whether it is; (parts, n)


def exact_totals(features: Features, content: Array, words: Words) -> Whole:
    """Return the totals of some records, in the order of `Features.all`.

    Parameters
    ----------
    features : Features
    content : array (columns, n)
        Whole numbers as noise is added to them (`Block.to_content`), in the order of `Features.columns`.
    words : array of uint64 (columns that round, n)
        Secret words for rounding, in the same order.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> from versadp.noise import Window
    >>> from versadp.release.totals.features import features_of
    >>> schema = Schema({"k": Bounded(0, 2, step=1), "m": Bounded(0, 1, step=1)})
    >>> features = features_of(Mechanism(schema, noise={("k", "m"): Window(2.0)}).blocks, schema)
    >>> content = np.array([[0.0, 1, 2, 2], [0, 0, 1, 1]])
    >>> exact_totals(features, content, np.zeros((0, 4), np.uint64))  # A: 1 1 2, 2 2; B: sums, squares, product; C
    array([ 1,  1,  2,  2,  2,  2,  0, 12,  4,  6,  1,  0,  1,  0,  0,  2])
    """
    seen, used = [], 0
    for column, places in zip(features.columns, content, strict=True):
        own = np.ascontiguousarray(words[used]) if column.rounds else None
        used += column.rounds
        seen.append(_seen(column, places, own))
    counts = [np.bincount(each.one_way, minlength=_cells(each.column, each.column.one_way)) for each in seen]
    squares = [_squares(each, count) for each, count in zip(seen, counts, strict=True)]
    sums = [_sums(each, count) for each, count in zip(seen, counts, strict=True)]
    pairs = list(combinations(seen, 2))
    tables = [_table(*pair) for pair in pairs]
    products = [_products(*pair, table) for pair, table in zip(pairs, tables, strict=True)]
    parts = [*counts, *sums, *squares, *products, *tables]
    return np.concatenate([np.zeros(0, np.int64), *map(_whole, parts)])


class RunningTotals:
    """Sum of the totals of records that are seen in lots, from any thread.

    Parameters
    ----------
    features : Features
    columns : tuple of str
        The columns of the content that it sees, in their order.
    """

    def __init__(self, features: Features, columns: tuple[str, ...]) -> None:
        self.features = features
        self.words = rounding_words(features)
        self.sums = np.zeros(features.size, np.int64)
        self._at = [columns.index(column.name) for column in features.columns]
        self._lock = Lock()

    def see(self, content: Array, words: Words) -> None:
        """Add records, (columns, n), with their words for rounding."""
        found = exact_totals(self.features, content[self._at], words)
        with self._lock:
            self.sums += found


def rounding_words(features: Features) -> int:
    """Return the number of words per record that rounding takes."""
    return sum(column.rounds for column in features.columns)


def _seen(column: TotalsColumn, content: Array, words: Words | None) -> _Seen:
    """Return what records show in one column; a missing value is behind the last lattice point."""
    one_way = column.one_way.rounded(content, words)
    two_way = one_way if column.two_way == column.one_way else column.two_way.rounded(content, words)
    if column.category:
        return _Seen(column, one_way, two_way, np.zeros((0, content.size)))
    positions = np.append(column.positions, 0.0)  # of a missing value 0
    numbers = [positions[one_way]]
    if column.missing:
        numbers.append((one_way == column.one_way.nodes).astype(np.float64))
    return _Seen(column, one_way, two_way, np.array(numbers))


def _cells(column: TotalsColumn, nodes: Nodes) -> int:
    return nodes.nodes + column.missing


def _whole(part: Array | Whole) -> Whole:
    """Return sums, which are whole numbers, as such."""
    whole: Whole = part.astype(np.int64, copy=False) if part.dtype == np.int64 else np.rint(part).astype(np.int64)
    return whole.ravel()


def _sums(seen: _Seen, counts: Whole) -> Array | Whole:
    return counts if seen.column.category else seen.numbers.sum(axis=1)


def _squares(seen: _Seen, counts: Whole) -> Array | Whole:
    return counts if seen.column.category else np.square(seen.numbers).sum(axis=1)


def _table(one: _Seen, other: _Seen) -> Whole:
    from versadp.release.totals.kernel import count_pairs

    out = np.zeros((_cells(one.column, one.column.two_way), _cells(other.column, other.column.two_way)), np.int64)
    count_pairs(one.two_way, other.two_way, out)
    return out


def _products(one: _Seen, other: _Seen, table: Whole) -> Array | Whole:
    """Return sums of the products of two score vectors; of two categories they are their table."""
    if one.column.category and other.column.category:
        return table
    if one.column.category:
        return _by_level(one, other)
    if other.column.category:
        return _by_level(other, one).T
    return np.asarray(one.numbers @ other.numbers.T)  # whole numbers below 2^53 are exact


def _by_level(category: _Seen, number: _Seen) -> Array:
    """Return sums of a number's parts per level, (levels, parts)."""
    from versadp.release.totals.kernel import sum_by_cell

    out = np.zeros((_cells(category.column, category.column.one_way), len(number.numbers)))
    sum_by_cell(category.one_way, number.numbers, out)
    return out
