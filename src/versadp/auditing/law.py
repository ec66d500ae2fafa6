"""Test whether noise follows the law that its guarantee was computed from, record by record and row by row.

Blocks map what they released of each record to ranks (`noise/ranks.py`), which are even on (0, 1) and independent if
the law holds. They are tabulated

- one by one, finely: for people of all kinds, and for those with one record. Too many unchanged records, a column with
  too little noise, a category that is kept too often are uneven; rows that share noise, whichever they are, make the
  counts of fine cells vary too much;
- against the record's columns, public ones too, and the place in the table: noise must not depend on them;
- against each other: columns must not share noise;
- against rows that are a lag apart: neighbours, keyed groups, slabs;
- against a second release of the same people.

The total of a row of each table is what it is; given that, counts are multinomial with equal chances. Two statistics
each: chi-squared, and the most surprising cell by its binomial law (in a table of one row also the first k cells, and
cells of 2, 4, 8, ... neighbours). A departure is claimed if the smallest p-value, times the number of all tables, is
below the error that is allowed.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.auditing.records import PUBLIC, in_place, people, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from versadp.auditing.records import Path
    from versadp.release.mechanism import Mechanism

    Array = NDArray[np.float64]
    Codes = NDArray[np.uint8]

FINE, COARSE = 1024, 16  # cells of a rank, alone and against something else
LAGS = (*range(1, 17), 100, 1000, 10_000, *(2**k for k in range(5, 21)))  # 2^13 is a slab
FEWEST = 20  # expected in a cell, for chi-squared to be its law
MOST = 12  # ranks of which pairs and lags are looked at; of more, as many at random


class Verdict(NamedTuple):
    """Findings about the law of the noise.

    Attributes
    ----------
    holds : bool
    oddest : str
        The most surprising table.
    p_value : float
        Of it, times the number of tables.
    tables : int
    """

    holds: bool
    oddest: str
    p_value: float
    tables: int


def law_holds(mechanism: Mechanism, path: Path, n: int, error: float, rng: np.random.Generator) -> Verdict | None:
    """Release n people twice and tell whether noise follows its law; None where no block has ranks.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> mech = Mechanism(Schema({"x": Bounded(0, 1)}), scale=0.5, exact_rate=0.1)
    >>> path = lambda table: mech.release(table, shuffle=False).frame
    >>> law_holds(mech, path, 4000, 1e-6, np.random.default_rng(0)).holds
    True
    """
    schema = mechanism.schema
    records, public = people(schema, n, rng), rng.integers(0, PUBLIC, n)
    table = table_of(schema, records, public)
    releases, stayed = [], True
    for _ in range(2):
        seen, as_before = in_place(path, table, mechanism.released_schema)
        stayed &= as_before
        releases.append(_ranks(mechanism, seen, records, rng))
    ranks, again = releases
    if not ranks:
        return None
    if not stayed:
        return Verdict(False, "public columns are not what they were", 0.0, 1)
    impossible = [name for name, values in (*ranks.items(), *again.items()) if np.isnan(values).any()]
    if impossible:
        return Verdict(False, f"{impossible[0]}: values that this noise never gives", 0.0, 1)
    beside = {name: _cells(values) for name, values in records.items()} | {"row": _cells(np.arange(n, dtype=float))}
    if schema.public:
        beside["public columns"] = public.astype(np.uint8)
    found = [(surprise(counts), name) for name, counts in _tables(ranks, again, beside, rng)]
    smallest, oddest = min(found)
    p_value = min(smallest * len(found), 1.0)
    return Verdict(p_value > error, oddest, p_value, len(found))


def _ranks(
    mechanism: Mechanism, seen: dict[str, Array], truth: dict[str, Array], rng: np.random.Generator
) -> dict[str, Array]:
    out: dict[str, Array] = {}
    for block in mechanism.blocks:
        of_block = [np.stack([each[name] for name in block.columns]) for each in (seen, truth)]
        out |= block.ranks(of_block[0], of_block[1], rng)
    return out


def _tables(
    ranks: dict[str, Array], again: dict[str, Array], beside: dict[str, Codes], rng: np.random.Generator
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield tables of counts by name."""
    n = len(next(iter(ranks.values())))
    half = n // 2
    fine = max(2, min(FINE, 2 ** int(np.log2(max(half // FEWEST, 2)))))
    codes = {name: _coarse(values) for name, values in ranks.items()}
    for name, values in ranks.items():
        counts = [_fine(part, fine) for part in (values[:half], values[half:], again[name])]
        yield f"{name}, people of all kinds", counts[0]
        yield f"{name}, people with one record", counts[1]
        yield f"{name}", counts[0] + counts[1] + counts[2]
        yield f"{name}, in two releases", _counts(codes[name], _coarse(again[name]))
    against = [(name, other) for name in codes for other in beside]
    for name, other in _some(against, MOST**2, rng):
        rows = slice(None) if other in ("row", "public columns") else slice(half)
        yield f"{name}, given {other}", _counts(beside[other][rows], codes[name][rows])
    few = _some(list(codes), MOST, rng)
    for one, two in combinations(few, 2):
        yield f"{one}, and {two}", _counts(codes[one], codes[two])
    for lag in sorted(set(LAGS)):
        for first in (0, lag) if 4 * lag <= n else ():
            starts = np.arange(n - lag - first) // lag % 2 == 0  # disjoint pairs
            for name in few:
                later = codes[name][first + lag :]
                yield f"{name}, rows {lag} apart", _counts(codes[name][first : n - lag][starts], later[starts])


def _some(items: list[Any], most: int, rng: np.random.Generator) -> list[Any]:
    if len(items) <= most:
        return items
    return [items[at] for at in np.sort(rng.choice(len(items), most, replace=False))]


def _fine(rank: Array, cells: int) -> NDArray[np.int64]:
    return np.bincount(np.minimum(rank * cells, cells - 1).astype(np.int64), minlength=cells)[None]


def _coarse(rank: Array) -> Codes:
    return np.minimum(rank * COARSE, COARSE - 1).astype(np.uint8)


def _cells(values: Array) -> Codes:
    """Return cells of about equal numbers of records; what is missing comes last."""
    known = values[~np.isnan(values)]
    edges = np.unique(np.quantile(known, np.arange(1, COARSE) / COARSE))
    return np.where(np.isnan(values), COARSE, np.searchsorted(edges, values, side="right")).astype(np.uint8)


def _counts(rows: Codes, ranks: Codes) -> NDArray[np.int64]:
    """Return how often each cell of ranks comes with each of the rows."""
    both = rows.astype(np.int64) * COARSE + ranks
    return np.bincount(both, minlength=(int(rows.max()) + 1) * COARSE).reshape(-1, COARSE)


def surprise(counts: NDArray[np.int64]) -> float:
    """Return a p-value of counts (rows, cells) whose cells are equally likely in each row.

    Examples
    --------
    >>> surprise(np.array([[100, 96, 104, 100]])) > 0.5, surprise(np.array([[100, 96, 104, 300]])) < 1e-12
    (True, True)
    """
    from scipy.stats import chi2

    totals = counts.sum(axis=1)
    counts = counts[totals >= FEWEST * counts.shape[1]]
    if not counts.size:
        return 1.0
    expected = counts.sum(axis=1, keepdims=True) / counts.shape[1]
    distance = float(((counts - expected) ** 2 / expected).sum())
    p_square = float(chi2.sf(distance, counts.shape[0] * (counts.shape[1] - 1)))
    return min(1.0, 2 * min(p_square, _oddest_cell(counts)))


def _oddest_cell(counts: NDArray[np.int64]) -> float:
    """Return the p-value of the most surprising cell; if there is one row, of all sizes, and from the first cell on."""
    total = counts.sum(axis=1, keepdims=True)
    cells = counts.shape[1]
    tails = [_tail(counts, total, 1 / cells)]
    if counts.shape[0] == 1:
        tails.append(_tail(np.cumsum(counts)[:-1], total[0], np.arange(1, cells) / cells))
        while (cells := cells // 2) > 1:
            counts = counts.reshape(1, cells, 2).sum(axis=2)
            tails.append(_tail(counts, total, 1 / cells))
    every = np.concatenate([each.ravel() for each in tails])
    return min(1.0, 2 * float(every.min()) * every.size)


def _tail(counts: NDArray[np.int64], total: NDArray[np.int64], share: float | Array) -> Array:
    """Return the smaller of the two tail probabilities of a binomial count."""
    from scipy.special import bdtr, bdtrc

    return np.minimum(bdtr(counts * 1.0, total, share), bdtrc(counts - 1.0, total, share))
