"""Records that an audit releases: copies of one record, or people of all kinds, and what became of them.

Half of the people are drawn from the whole domain, bounds among them and otherwise off every grid; the other half have
one record of its interior in common, slab after slab, so that whoever shares noise with others cannot hide behind a
record of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from versadp.errors import ParameterError
from versadp.release.path.order import row_hash
from versadp.release.path.table import read_table, released_columns
from versadp.schema import Bounded, Categorical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from versadp.release.mechanism import Mechanism
    from versadp.schema import Column, Schema

    Array = NDArray[np.float64]
    Path = Callable[[pa.Table], pa.Table]

AT_BOUNDS = MISSING = 0.1
PUBLIC = 8  # different values of a public column


def people(schema: Schema, n: int, rng: np.random.Generator) -> dict[str, Array]:
    """Return n records as numbers, the second half alike.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> records = people(Schema({"age": Bounded(18, 90, step=1)}), 100, np.random.default_rng(0))
    >>> len(set(records["age"][:50])) > 10, len(set(records["age"][50:]))
    (True, 1)
    """
    out = {}
    for name in schema.private:
        column = schema.columns[name]
        values = value_at(column, _shares(column, n, rng))
        if getattr(column, "nullable", False):
            values[rng.random(n) < MISSING] = np.nan
        values[n // 2 :] = value_at(column, rng.uniform(0.2, 0.8, 1))
        out[name] = values
    return out


def value_at(column: Column, share: Array) -> Array:
    """Return values, or the numbers of levels, so far into a column."""
    if isinstance(column, Bounded):
        place = share if column.steps is None else np.rint(share * column.steps) / column.steps
        return np.asarray(column.lower + place * column.width)
    assert isinstance(column, Categorical)
    return np.asarray(np.rint(share * (len(column.levels) - 1)))


def _shares(column: Column, n: int, rng: np.random.Generator) -> Array:
    """Return places in a column, evenly: numbers between their bounds, and at them; categories over their levels."""
    share = rng.random(n)
    if isinstance(column, Categorical):
        count = len(column.levels)
        return np.floor(share * count) / (count - 1)
    return np.where(rng.random(n) < AT_BOUNDS, np.rint(share), share)


def table_of(schema: Schema, records: Mapping[str, Array], public: NDArray[np.int64] | None = None) -> pa.Table:
    """Return records as a table that can be released; public columns are 0, or all the given one."""
    n = len(next(iter(records.values())))
    shown = pa.array(np.zeros(n, np.int64) if public is None else public)
    # rare levels that are merged are released as one, which nobody has
    merged = {n: c for n, c in schema.columns.items() if isinstance(c, Categorical) and c.merged}
    plain = {name: Categorical(column.declared_levels, column.nullable) for name, column in merged.items()}
    declared = schema.with_columns(plain, schema.bounds)
    records = {name: _before_merging(schema.columns[name], values) for name, values in records.items()}
    columns: dict[str, Any] = released_columns(records, dict.fromkeys(schema.columns, shown), declared)
    if schema.id is not None:
        columns[schema.id] = pa.array(np.arange(n) // schema.rows_per_person)
    return pa.table(columns)


def _before_merging(column: Column, values: Array) -> Array:
    """Return numbers of levels as those of the declared ones: the first that is merged stands for all of them."""
    if not isinstance(column, Categorical) or not column.merged:
        return values
    place = {level: k for k, level in enumerate(column.declared_levels)}
    number = np.array([*(place[level] for level in column.levels[:-1]), place[column.merged[0]]], dtype=float)
    return np.where(np.isnan(values), np.nan, number[np.nan_to_num(values).astype(np.int64)])


def plain_path(mechanism: Mechanism) -> Path:
    """Return the mechanism's own release, row by row, whatever number of records it was calibrated for."""
    noise = without_target(mechanism)
    return lambda table: noise.release(table, shuffle=False).frame


def without_target(mechanism: Mechanism) -> Mechanism:
    """Return the same noise, derived alike, that was calibrated for nothing."""
    from versadp.release.mechanism import Mechanism

    noise = Mechanism(mechanism.schema, noise={block.columns: block.spec for block in mechanism.blocks})
    return noise.with_totals(mechanism.totals).in_version(mechanism.version)


def in_place(path: Path, table: pa.Table, schema: Schema) -> tuple[dict[str, Array], bool]:
    """Release a table whose rows must stay where they are; return it as numbers, and whether public columns stayed."""
    out = path(table)
    if out.num_rows != table.num_rows:
        raise ParameterError(f"the path returned {out.num_rows:,} of {table.num_rows:,} records")
    hashes = row_hash({name: out[name] for name in schema.columns})
    if hashes[0] < hashes[-1] and (hashes[1:] >= hashes[:-1]).all():
        raise ParameterError(
            "the path returns its rows sorted, so that noise cannot be held against records",
            hint="let it keep their order, as release(table, shuffle=False).frame does; the order is audited by itself",
        )
    stayed = all(out[name].to_pylist() == table[name].to_pylist() for name in schema.public)
    return as_numbers(out, schema), stayed


def as_numbers(table: pa.Table, schema: Schema) -> dict[str, Array]:
    """Return the private columns of a released table as numbers, levels as their place, what is missing as NaN."""
    private = read_table(table, schema, released=True).private
    return {name: values.astype(float) for name, values in private.items()}
