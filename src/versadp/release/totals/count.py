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
    """What some records show in one column."""

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
        own = words[used] if column.rounds else None
        used += column.rounds
        seen.append(_seen(column, places.astype(np.int64), own))
    counts = [np.bincount(each.one_way, minlength=_cells(each.column, each.column.one_way)) for each in seen]
    squares = [_squares(each, count) for each, count in zip(seen, counts, strict=True)]
    sums = [_sums(each, count) for each, count in zip(seen, counts, strict=True)]
    pairs = list(combinations(seen, 2))
    tables = [_table(*pair) for pair in pairs]
    products = [_products(*pair, table) for pair, table in zip(pairs, tables, strict=True)]
    parts = [*counts, *sums, *squares, *products, *tables]
    return np.concatenate([np.zeros(0, np.int64), *(np.rint(part).astype(np.int64) for part in parts)])


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


def _seen(column: TotalsColumn, content: Whole, words: Words | None) -> _Seen:
    """Return what records show in one column; a missing value is behind the last lattice point."""
    lost = content >= column.points if column.missing else None
    known = content if lost is None else np.where(lost, 0, content)

    def nodes(of: Nodes) -> Whole:
        found = of.rounded(known, words)
        return found if lost is None else np.where(lost, of.nodes, found)

    one_way, two_way = nodes(column.one_way), nodes(column.two_way)
    if column.category:
        return _Seen(column, one_way, two_way, np.zeros((0, content.size)))
    position = column.positions[column.one_way.rounded(known, words)]
    numbers = [position] if lost is None else [np.where(lost, 0, position), lost]
    return _Seen(column, one_way, two_way, np.array(numbers, dtype=np.float64))


def _cells(column: TotalsColumn, nodes: Nodes) -> int:
    return nodes.nodes + column.missing


def _sums(seen: _Seen, counts: Whole) -> Array | Whole:
    return counts if seen.column.category else seen.numbers.sum(axis=1)


def _squares(seen: _Seen, counts: Whole) -> Array | Whole:
    return counts if seen.column.category else np.square(seen.numbers).sum(axis=1)


def _table(one: _Seen, other: _Seen) -> Whole:
    rows, width = _cells(one.column, one.column.two_way), _cells(other.column, other.column.two_way)
    return np.bincount(one.two_way * width + other.two_way, minlength=rows * width)


def _products(one: _Seen, other: _Seen, table: Whole) -> Array | Whole:
    """Return sums of the products of two score vectors; of two categories they are their table."""
    if one.column.category and other.column.category:
        return table
    if one.column.category:
        return _by_level(one, other).ravel()
    if other.column.category:
        return _by_level(other, one).T.ravel()
    return np.asarray(one.numbers @ other.numbers.T).ravel()  # whole numbers below 2^53 are exact


def _by_level(category: _Seen, number: _Seen) -> Array:
    """Return sums of a number's parts per level, (levels, parts)."""
    size = _cells(category.column, category.column.one_way)
    return np.array([np.bincount(category.one_way, part, size) for part in number.numbers]).T
