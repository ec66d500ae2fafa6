"""Whether y belongs to the rows of X, as far as can be seen.

Released rows are sorted by a public hash of all that is released of them. With y in its column the hash can be taken
again, and three cases tell themselves apart. Rows in the order of the release: the hash rises from each to the next.
Rows that were moved with their y: it rises by half of them, and does not go with their place. Rows in the order of the
release with a y from elsewhere: those that happen to have the right y still stand where their hash puts them, so that
it rises by more than half, and goes with the place.

It cannot be seen where hardly any row has the right y by chance (a continuous one), or where X lacks columns.
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

LOOKED_AT = 200_000  # records
FEWEST = 50
SURE = 6.0  # standard errors
RISING = 0.9  # share of steps up: with more, rows are in the order of the release, group by group perhaps
_HINT = "take X and y from one released table, or name the column: fit(release, y=...)"


def refuse_response_in(X: Any, y: Any, table: Mapping[str, Any], schema: Schema, name: str) -> None:
    """Refuse a y that stands among the columns of X: it is no response then, or is in another order."""
    mine, yours = getattr(X, "index", None), getattr(y, "index", None)
    if mine is not None and hasattr(mine, "equals") and hasattr(yours, "equals") and not mine.equals(yours):
        raise DataError("X and y have different index labels: their rows are in different orders", hint=_HINT)
    values = np.asarray(y)
    for each in schema.public:
        if each not in table or len(table[each]) != len(values):
            continue
        column = np.asarray(table[each])
        if column.dtype.kind != values.dtype.kind and {column.dtype.kind, values.dtype.kind} - set("fiub"):
            continue
        if np.array_equal(column, values):
            raise DataError(f"y is column {each!r} of X", hint=f"drop it from X: X.drop(columns={each!r})")
        told = each == name or len(np.unique(values)) > max(len(values) / 2, 20)
        if told and np.array_equal(np.sort(column), np.sort(values)):
            raise DataError(f"y has the values of column {each!r} of X in another order", hint=_HINT)
    if name in table:
        raise DataError(f"X has a column {name!r}, and y is another", hint=f"drop it from X, or fit(..., y={name!r})")


def refuse_another_order(release: Release) -> None:
    """Refuse rows that stand in the order of their release with a response from elsewhere."""
    schema = release.mechanism.schema
    table = read_table(release.to_arrow().slice(0, LOOKED_AT), schema, released=True)
    if table.rows < FEWEST:
        return
    # whole numbers may have become floats on the way, or the other way round, and hash otherwise
    found = []
    for kind in (None, pa.int64(), pa.float64()):
        public = {name: _cast(column, kind) for name, column in table.public.items()}
        found.append(standing(row_hash(released_columns(table.private, public, schema)).astype(float)))
    if "in order" not in found and "partly" in found:
        raise DataError(
            "the rows of X are in the order of their release, and y is not: it was kept beside a shuffled release",
            hint=_HINT,
        )


def _cast(column: pa.Array, kind: pa.DataType | None) -> pa.Array:
    if kind is None or not is_number(column.type):
        return column
    try:
        return column.cast(pa.float64()).cast(kind)
    except pa.ArrowInvalid:  # no whole numbers
        return column


def standing(hashes: NDArray[np.float64]) -> str:
    """Tell whether hashes are "in order", group by group perhaps; "partly", some where sorting put them; or "moved".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> hashes = np.sort(rng.random(1000))
    >>> some = np.where(rng.random(1000) < 0.5, hashes, rng.random(1000))
    >>> standing(some), standing(hashes), standing(rng.permutation(hashes))
    ('partly', 'in order', 'moved')
    """
    n = hashes.size
    rising = float(np.mean(np.diff(hashes) > 0))
    if rising >= RISING or hashes.std() == 0:
        return "in order"
    together = float(np.corrcoef(hashes, np.arange(n))[0, 1])
    partly = rising > 0.5 + SURE / np.sqrt(12 * n) and together > 0.05 + SURE / np.sqrt(n)
    return "partly" if partly else "moved"
