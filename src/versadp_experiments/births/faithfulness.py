"""Faithfulness: the share of rows that cannot be matched one to one with raw rows within distance 1.

The distance adds up, over columns, differences in bins of age and of weeks, in hundreds of grams, in fortnights and, a
hundredfold, in children and sex. Months are a fortnight or more apart, so that rows within distance 1 have the same
parity, sex and month, and differ in at most one of age bin, week bin and weight, by one. Rows with equal cells are
alike: the largest matching is a largest flow between cells, of as much as each holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp_experiments.births.data import GRAMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp_experiments.births.data import Prepared

AGES = (18, 20, 25, 30, 35, 37, 40, 43)  # edges of the bins in which ages are compared
WEEKS = (29, 32, 34, 37, 42)


def unmatched(a: Prepared, b: Prepared) -> float:
    """Return the share of the rows of a table that have no partner of their own in the other.

    Examples
    --------
    >>> names = ("mother_age", "parity", "gestation_week", "is_female", "birth_month", "birth_weight")
    >>> rows = np.array([[30, 1, 39, 0, 5, 3000], [30, 1, 39, 0, 5, 3000]])
    >>> other = np.array([[30, 1, 39, 0, 5, 3100], [30, 2, 39, 0, 5, 3000]])
    >>> unmatched(*(dict(zip(names, each.T)) for each in (rows, other)))
    0.5
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    coordinates = [_coordinates(each) for each in (a, b)]
    top = np.maximum(*(each.max(axis=1) for each in coordinates)) + 2
    (left, held), (right, room) = (
        np.unique(np.ravel_multi_index(tuple(each), tuple(top)), return_counts=True) for each in coordinates
    )
    strides = np.append(np.cumprod(top[:0:-1])[::-1], 1)[-3:]  # of age bin, week bin and weight
    shifts = np.concatenate([[0], strides, -strides])
    starts, ends = [], []
    for shift in shifts:
        place = np.minimum(np.searchsorted(right, left + shift), len(right) - 1)
        met = np.flatnonzero(right[place] == left + shift)
        starts.append(met)
        ends.append(place[met])
    source, sink = len(left) + len(right), len(left) + len(right) + 1
    rows = np.concatenate([*starts, np.full(len(left), source), len(left) + np.arange(len(right))])
    columns = np.concatenate([*(len(left) + end for end in ends), np.arange(len(left)), np.full(len(right), sink)])
    between = np.concatenate([np.minimum(held[s], room[e]) for s, e in zip(starts, ends, strict=True)])
    capacity = np.concatenate([between, held, room]).astype(np.int32)
    graph = coo_array((capacity, (rows, columns)), shape=(sink + 1, sink + 1)).tocsr()
    matched = maximum_flow(graph, source, sink, method="dinic").flow_value
    return 1 - float(matched) / len(a["parity"])


def _coordinates(table: Prepared) -> NDArray[np.int64]:
    """Return parity, sex, month, age bin, week bin and weight of each row, from 1 on."""
    age, week = (
        np.searchsorted(np.array(edges), table[name], side="right")
        for edges, name in ((AGES, "mother_age"), (WEEKS, "gestation_week"))
    )
    found = [table[name] for name in ("parity", "is_female", "birth_month")]
    return np.stack([*found, age, week, table["birth_weight"] // GRAMS]).astype(np.int64) + 1
