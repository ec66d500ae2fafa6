"""Signed points: an inverse written out as weighted values, and the product of several.

Blocks have their own coins, so the operator that undoes a record's noise is the product of its blocks' inverses: every
combination of their points, weights multiplied. One block's formula across two blocks would be biased.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.errors import ParameterError
from versadp.noise.extension import Extension, as_extension

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class How:
    """Options of signed points: random draws per record where noise needs them, and the extension.

    Examples
    --------
    >>> How(draws=5).draws, How().extension.name
    (5, 'zero')
    """

    draws: int = 20
    extension: Extension = field(default_factory=lambda: as_extension("zero"))


MAX_POINTS = 10_000  # per record: a column of 1,000 records is 80 MB then


def check_count(count: int) -> None:
    """Refuse more points per record than fit into memory."""
    if count > MAX_POINTS:
        raise ParameterError(
            f"{count} points a record are too many",
            hint="use fewer columns, or fewer draws; Release.augment(columns=[...]) takes those of one analysis",
        )


class Points(NamedTuple):
    """Signed points: `sum over a record's points of weight * g(columns)` has expectation g at the true record.

    Attributes
    ----------
    record : array (m,) of int
        Whose they are, in ascending order.
    columns : dict of str to array (m,)
        Values by column.
    weight : array (m,)

    Examples
    --------
    >>> points = Points(np.array([0, 0]), {"x": np.array([1.0, 3.0])}, np.array([1.5, -0.5]))
    >>> float(points.weight @ points.columns["x"])  # of record 0
    0.0
    """

    record: NDArray[np.int64]
    columns: dict[str, Array]
    weight: Array


def product(*inverses: Points) -> Points:
    """Join inverses on their records: every combination of points, weights multiplied.

    Examples
    --------
    >>> one = Points(np.array([0, 0, 1]), {"a": np.array([1.0, 2.0, 3.0])}, np.array([2.0, -1.0, 1.0]))
    >>> two = Points(np.array([0, 1, 1]), {"b": np.array([5.0, 6.0, 7.0])}, np.array([1.0, 3.0, -2.0]))
    >>> joined = product(one, two)
    >>> joined.record.tolist(), joined.columns["a"].tolist(), joined.columns["b"].tolist(), joined.weight.tolist()
    ([0, 0, 1, 1], [1.0, 2.0, 3.0, 3.0], [5.0, 5.0, 6.0, 7.0], [2.0, -1.0, 3.0, -2.0])
    """
    first, *others = inverses
    for other in others:
        first = _join(first, other)
    return first


def _join(left: Points, right: Points) -> Points:
    mine, yours = pairs(left.record, right.record)
    columns = {name: values[mine] for name, values in left.columns.items()}
    columns |= {name: values[yours] for name, values in right.columns.items()}
    return Points(left.record[mine], columns, left.weight[mine] * right.weight[yours])


def pairs(left: NDArray[np.int64], right: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of all pairs of equal numbers, of which those on the right ascend.

    Examples
    --------
    >>> mine, yours = pairs(np.array([1, 0, 1]), np.array([0, 1, 1]))
    >>> mine.tolist(), yours.tolist()
    ([0, 0, 1, 2, 2], [1, 2, 0, 1, 2])
    """
    # of each number on the left, where equal ones on the right begin and how many there are
    start = np.searchsorted(right, left)
    count = np.searchsorted(right, left, side="right") - start
    mine = np.repeat(np.arange(left.size), count)
    within = np.arange(mine.size) - np.repeat(np.cumsum(count) - count, count)
    return mine, start[mine] + within
