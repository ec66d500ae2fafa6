"""Check that y belongs to the rows of X, by the public hash that sorts released rows.

Released rows are sorted by a hash of all of their released values. With y in its column the hash can be computed again,
and three cases differ. Rows in the order of the release: the hash increases from row to row. Rows permuted together
with y: it increases in half of the steps, and is not correlated with the position. Rows in the order of the release
with a y in another order: the rows that have the right y by chance keep their hash, so that it increases in more than
half of the steps, and is correlated with the position.

The check has no power if hardly any row has the right y by chance (a continuous y), or if X lacks columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from versadp.errors import DataError
from versadp.fitting.source import is_number
from versadp.release.path.order import row_hash
from versadp.release.path.table import read_table, released_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.release.release import Release
    from versadp.schema import Schema

MOST_CHECKED = 200_000  # records whose hashes are computed, in 0.01 s; power is no matter at this size
FEWEST_CHECKED = 50  # records: with fewer, the correlation would have to exceed 0.9 to be SURE standard errors from 0
SURE = 6.0  # standard errors: permuted rows are refused with probability 1e-9
# share of increasing steps from which rows count as sorted: sorted rows have 1 but for one step per batch, rows with y
# in another order (1 + s²)/2, s the share with the right y by chance: 0.9 is s = 0.89
SORTED_SHARE = 0.9
_HINT = "take X and y from one released table, or name the column: fit(release, y=...)"


def refuse_response_in(X: Any, y: Any, table: Mapping[str, Any], schema: Schema, name: str) -> None:
    """Raise if y is a column of X, or a column of X in another order."""
    mine, yours = getattr(X, "index", None), getattr(y, "index", None)
    if mine is not None and hasattr(mine, "equals") and hasattr(yours, "equals") and not mine.equals(yours):
        raise DataError("X and y have different index labels: their rows are in different orders", hint=_HINT)
    values = np.asarray(y)
    for each in schema.public:
        column = np.asarray(table[each]) if each in table else values[:0]
        if len(column) == len(values) and _comparable(column, values):
            _refuse_equal(column, values, each, informative=each == name or _mostly_distinct(values))
    if name in table:
        raise DataError(f"X has a column {name!r}, and y is another", hint=f"drop it from X, or fit(..., y={name!r})")


def _comparable(one: NDArray[Any], other: NDArray[Any]) -> bool:
    kinds = {one.dtype.kind, other.dtype.kind}
    return len(kinds) == 1 or kinds <= set("fiub")


def _mostly_distinct(values: NDArray[Any]) -> bool:
    return len(np.unique(values)) > max(len(values) / 2, 20)


def _refuse_equal(column: NDArray[Any], values: NDArray[Any], name: str, *, informative: bool) -> None:
    """Raise if y is the column, or, for informative values, the column in another order."""
    if np.array_equal(column, values):
        raise DataError(f"y is column {name!r} of X", hint=f"drop it from X: X.drop(columns={name!r})")
    if informative and np.array_equal(np.sort(column), np.sort(values)):
        raise DataError(f"y has the values of column {name!r} of X in another order", hint=_HINT)


def refuse_another_order(release: Release) -> None:
    """Raise if rows are in the order of their release and the response is not."""
    schema = release.mechanism.released_schema
    table = read_table(release.to_arrow().slice(0, MOST_CHECKED), schema, released=True)
    if table.rows < FEWEST_CHECKED:
        return
    # integers may have been converted to floats, or the other way round, and hash differently
    found = []
    for kind in (None, pa.int64(), pa.float64()):
        public = {name: _cast(column, kind) for name, column in table.public.items()}
        found.append(standing(row_hash(released_columns(table.private, public, schema)).astype(float)))
    if "in order" not in found and "partly" in found:
        raise DataError(
            "the rows of X are in the order of their release, and y is not: it was kept apart from a shuffled release",
            hint=_HINT,
        )


def _cast(column: pa.Array, kind: pa.DataType | None) -> pa.Array:
    if kind is None or not is_number(column.type):
        return column
    try:
        return column.cast(pa.float64()).cast(kind)
    except pa.ArrowInvalid:  # not integers
        return column


def standing(hashes: NDArray[np.float64]) -> str:
    """Return "in order" for hashes that are sorted (within groups), "partly" if some are, "moved" if none are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> hashes = np.sort(rng.random(1000))
    >>> some = np.where(rng.random(1000) < 0.5, hashes, rng.random(1000))
    >>> standing(some), standing(hashes), standing(rng.permutation(hashes))
    ('partly', 'in order', 'moved')
    """
    n = hashes.size
    steps = np.diff(hashes)
    steps = steps[steps != 0]  # rows with equal released values have equal hashes, in any order
    rising = float(np.mean(steps > 0)) if steps.size else 1.0
    if rising >= SORTED_SHARE:
        return "in order"
    together = float(np.corrcoef(hashes, np.arange(n))[0, 1])
    partly = rising > 0.5 + SURE / np.sqrt(12 * steps.size) and together > 0.05 + SURE / np.sqrt(n)
    return "partly" if partly else "moved"
