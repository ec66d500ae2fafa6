"""One pass over a release: the joint histogram of codes, with sums of the measure in each joint code.

A record enters every cell through the codes of its columns (`codes.py`), so that counts of joint codes hold all that
the records tell of the cells: a gather and a count per record and column, whatever the number of cells. With a measure
u each joint code also has the sums of its functions and of their products.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.engine import at_work, local_engine
from versadp.engine.base import add_up
from versadp.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.inputs import Array
    from versadp.release.folder.folder import Handle
    from versadp.release.release import Release
    from versadp.tabulating.layout import Layout

LOT = 2**17  # records per step, whose codes take 1 MB per column, about the size of a cache
MOST_VALUES = 1000  # distinct values of a public column that are looked at: chosen; a table has fewer levels


class Counted(NamedTuple):
    """Joint codes that occur, and sums over their records.

    Attributes
    ----------
    codes : array (joint, columns + 1) of int
        Code of each column, and of the measure.
    sums : array (joint, functions, functions)
        Of products of the functions u of the measure, u_0 = 1: [:, 0, 0] is the number of records.
    """

    codes: NDArray[np.int64]
    sums: Array


def count(release: Release, layout: Layout, engine: str | Engine) -> Counted:
    """Return the joint histogram of a release."""
    found = over_records(release, partial(_gather, release, layout), engine)
    size = int(np.prod(layout.sizes))
    upper = _pairs(layout.functions)
    sums = np.zeros((len(upper), size)) if found is None else found[0]
    there = np.flatnonzero(sums[0])
    out = np.empty((there.size, layout.functions, layout.functions))
    for k, (i, j) in enumerate(upper):
        out[:, i, j] = out[:, j, i] = sums[k, there]
    return Counted(np.stack(np.unravel_index(there, layout.sizes), axis=1), out)


def over_records(release: Release, function: Any, engine: str | Engine) -> Any:
    """Return the sum of a function over the handles of a release."""
    with at_work(engine) as given:
        if given.name == "processes":
            raise ParameterError("tables do not run on processes", hint="use engine='local' or 'serial'")
        runner = given if release.on_disk else local_engine(given)
        return runner.sum(function, list(release.handles()))


def _pairs(functions: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(functions) for j in range(i, functions)]


def _gather(release: Release, layout: Layout, handle: Handle) -> tuple[Array]:
    """Return the sums over the records of a handle, (pairs of functions, joint codes)."""
    table = release.read(handle, layout.columns)
    lot = max(LOT, int(np.prod(layout.sizes)))
    found = add_up(_lot(layout, table.slice(start, lot)) for start in range(0, max(handle.rows, 1), lot))
    assert found is not None
    return (found,)


def _lot(layout: Layout, table: pa.Table) -> Array:
    joint, values = joint_codes(layout, table)
    size, upper = int(np.prod(layout.sizes)), _pairs(layout.functions)
    out = np.empty((len(upper), size))
    u = None if values is None else layout.undone(values)
    for k, (i, j) in enumerate(upper):
        if j == 0:
            out[k] = np.bincount(joint, minlength=size)
            continue
        assert u is not None
        weight = u[:, j - 1] if i == 0 else u[:, i - 1] * u[:, j - 1]
        out[k] = np.bincount(joint, weight, size)
    return out


def joint_codes(layout: Layout, table: pa.Table) -> tuple[NDArray[np.int64], Array | None]:
    """Return the number of the joint code of each record, and the values of the measure."""
    joint = np.zeros(table.num_rows, np.int64)
    for axis, size in zip(layout.axes, layout.sizes, strict=False):
        joint *= size
        joint += layout.coding(axis).of(axis, axis.values(table.column(axis.name)))
    values = None if layout.measure is None else layout.measure.values(table.column(layout.measure.name))
    if layout.slots > 1:
        assert values is not None
        joint *= 2
        joint += np.isnan(values)
    return joint, values


def distinct_values(release: Release, names: list[str], engine: str | Engine) -> dict[str, tuple[Any, ...] | None]:
    """Return the distinct values of public columns, in order; None for too many."""
    if not names:
        return {}
    found = over_records(release, partial(_distinct, release, names), engine)
    known = [each.values for each in found] if found is not None else [frozenset()] * len(names)
    return {
        name: None if values is None else tuple(sorted(values, key=lambda v: (str(type(v)), v)))
        for name, values in zip(names, known, strict=True)
    }


class Distinct(NamedTuple):
    """Distinct values; None if there are too many."""

    values: frozenset[Any] | None

    def __add__(self, other: object) -> Distinct:
        assert isinstance(other, Distinct)
        if self.values is None or other.values is None:
            return Distinct(None)
        both = self.values | other.values
        return Distinct(both if len(both) <= MOST_VALUES else None)


def _distinct(release: Release, names: list[str], handle: Handle) -> tuple[Any, ...]:
    import pyarrow.compute as pc

    table = release.read(handle, names)
    out = []
    for name in names:
        found = pc.drop_null(pc.unique(table.column(name)))
        out.append(Distinct(frozenset(found.to_pylist()) if len(found) <= MOST_VALUES else None))
    return tuple(out)
