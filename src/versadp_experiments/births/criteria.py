"""The criteria of a table of rows against the prepared raw data, `a` released and `b` raw.

    1  largest ratio, either way, of one-way shares (count + 1)/(n + 1)
    2  largest difference of shares over all tables of one to six columns
    3, 4, 5  largest difference of means of parity, weight and gestation, overall and by bins of other columns
    6, 7  linear regression of weight on the others, standardised by b: sum of |differences| of coefficients, and the
          difference of mean absolute errors on b
    9, 10  unique rows, in all columns and in those that others may know

For conditional means cells are made as large as those of b, less a margin: what lacks is filled with the middle of the
range, what is more is cut, here in expectation. Definitions are those of the benchmark's published code.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from versadp_experiments.births.data import NAMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp_experiments.births.data import Prepared

    Array = NDArray[np.float64]

BINS = {
    "mother_age": (0, 25, 30, 35, math.inf),
    "birth_weight": (0, 2500, 4000, math.inf),
    "parity": (1, 2, 4, math.inf),
    "gestation_week": (0, 37, math.inf),
    "is_female": (0, 1, 2),
}
MEANS = {  # of which column, by which others
    "parity": ("mother_age", "birth_weight", "gestation_week"),
    "birth_weight": ("is_female", "parity", "gestation_week", "mother_age"),
    "gestation_week": ("parity", "mother_age"),
}
MIDDLE = {
    "parity": 6.0,
    "birth_weight": 3000.0,
    "gestation_week": 35.5,
}  # of the ranges, ends as the benchmark has them
MARGIN = 0.01  # of all rows, by which a cell may be smaller: the limit of criterion 2
KNOWN = ("mother_age", "parity", "is_female", "birth_month")  # what others may know, with one more column or none


def one_way_ratio(a: Prepared, b: Prepared) -> float:
    """Return the largest ratio of one-way shares.

    Examples
    --------
    >>> one_way_ratio({"x": np.array([1, 1, 2])}, {"x": np.array([1, 2, 2])})
    1.5
    """
    worst = 1.0
    for name in b:
        _, own = np.unique(np.concatenate([a[name], b[name]]), return_inverse=True)
        counts = [np.bincount(part, minlength=own.max() + 1) for part in np.split(own, [len(a[name])])]
        shares = [(count + 1) / (count.sum() + 1) for count in counts]
        worst = max(worst, float(np.maximum(shares[0] / shares[1], shares[1] / shares[0]).max()))
    return worst


def table_differences(a: Prepared, b: Prepared, most: int | None = None) -> dict[int, float]:
    """Return the largest difference of shares by the number of columns of a table.

    Examples
    --------
    >>> same = {"x": np.array([1, 2]), "y": np.array([1, 2])}
    >>> table_differences(same, {"x": np.array([1, 2]), "y": np.array([2, 1])})
    {1: 0.0, 2: 0.5}
    """
    names = tuple(b)
    codes, sizes = {}, {}
    for name in names:
        known, code = np.unique(np.concatenate([a[name], b[name]]), return_inverse=True)
        codes[name], sizes[name] = code, len(known)
    n = len(a[names[0]]), len(b[names[0]])
    out = {}
    for ways in range(1, (most or len(names)) + 1):
        worst = 0.0
        for chosen in combinations(names, ways):
            joint = np.ravel_multi_index(tuple(codes[name] for name in chosen), tuple(sizes[name] for name in chosen))
            size = math.prod(sizes[name] for name in chosen)
            shares = [np.bincount(part, minlength=size) / m for part, m in zip(np.split(joint, [n[0]]), n, strict=True)]
            worst = max(worst, float(np.abs(shares[0] - shares[1]).max()))
        out[ways] = worst
    return out


def resized(mean: Array, count: Array, size: Array, middle: float) -> Array:
    """Return means of cells that are filled with the middle of the range up to a size.

    Examples
    --------
    >>> resized(np.array([2.0, 2.0]), np.array([50.0, 200.0]), np.array([100.0, 100.0]), 6.0)
    array([4., 2.])
    """
    share = np.clip(count / size, 0.0, 1.0)
    return np.asarray(np.where(count > 0, share * np.nan_to_num(mean) + (1 - share) * middle, middle))


def cells(name: str, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bin of each value."""
    return np.searchsorted(np.array(BINS[name][1:-1], float), values, side="right")


def cell_sizes(counts: Array) -> Array:
    """Return the sizes that cells are made to have, from those of the raw data."""
    return np.asarray(np.maximum(counts - np.ceil(counts.sum() * MARGIN) - 1, 1))


def cell_means(table: Prepared, target: str, by: str) -> tuple[Array, Array]:
    """Return the means and numbers of rows of a column by bins of another."""
    where, size = cells(by, table[by]), len(BINS[by]) - 1
    count = np.bincount(where, minlength=size).astype(float)
    total = np.bincount(where, table[target], size)
    return total / np.maximum(count, 1), count


def mean_difference(a: Prepared, b: Prepared, target: str) -> float:
    """Return the largest difference of means of a column, overall and by bins of others."""
    worst = abs(float(a[target].mean() - b[target].mean()))
    for by in MEANS[target]:
        (found, count), (true, raw) = cell_means(a, target, by), cell_means(b, target, by)
        off = np.abs(resized(found, count, cell_sizes(raw), MIDDLE[target]) - true)
        worst = max(worst, float(off[raw > 0].max()))
    return worst


def design(table: Prepared, centre: Array, spread: Array) -> Array:
    """Return the standardised covariates and a constant, (rows, 6)."""
    x = np.stack([table[name] for name in NAMES[:-1]], axis=1).astype(float)
    return np.column_stack([(x - centre) / spread, np.ones(len(x))])


def standards(b: Prepared) -> tuple[Array, Array]:
    """Return means and standard deviations of the covariates."""
    x = np.stack([b[name] for name in NAMES[:-1]], axis=1).astype(float)
    return x.mean(axis=0), x.std(axis=0)


def regression(table: Prepared, centre: Array, spread: Array) -> Array:
    """Return the coefficients of weight on the standardised others, the intercept last."""
    return np.asarray(np.linalg.lstsq(design(table, centre, spread), table[NAMES[-1]].astype(float), rcond=None)[0])


def regression_differences(found: Array, b: Prepared) -> tuple[float, float]:
    """Return criteria 6 and 7 of coefficients: sum of differences, and difference of mean absolute errors on b."""
    centre, spread = standards(b)
    true, x = regression(b, centre, spread), design(b, centre, spread)
    wrong = [np.abs(b[NAMES[-1]] - x @ theta).mean() for theta in (found, true)]
    return float(np.abs(found - true).sum()), abs(float(wrong[0] - wrong[1]))


def unique_rows(a: Prepared, names: tuple[str, ...] = NAMES) -> int:
    """Return the number of rows that no other row equals in some columns.

    Examples
    --------
    >>> unique_rows({"x": np.array([1, 1, 2])}, ("x",))
    1
    """
    _, count = np.unique(np.stack([a[name] for name in names]), axis=1, return_counts=True)
    return int((count == 1).sum())


def unique_in_known(a: Prepared) -> int:
    """Return the most rows that are unique in what others may know."""
    more: tuple[tuple[str, ...], ...] = ((), ("gestation_week",), ("birth_weight",))
    return max(unique_rows(a, (*KNOWN, *each)) for each in more)
