"""Tables of pandas, polars and arrow, read against a schema and built anew.

Whatever cannot be released is refused here, before anything is spent, with column and count and never a value.
What leaves is built from the domain: no index, metadata, unused category, value under a null or neighbour in a sliced
buffer of the input reaches the output. Between reading and building what is missing is NaN, always the same one.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw
import numpy as np
import pyarrow as pa

from versadp.errors import ClampedWarning, DataError, find_stacklevel, together
from versadp.release.path import columns as read
from versadp.release.path.dates import to_dates
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from versadp.noise.mac import Texts
    from versadp.schema import Schema

Kind = Literal["pandas", "polars", "arrow"]


@dataclass(frozen=True)
class Table:
    """A table that fits its schema: what is noised as numbers, what is public as fresh arrow arrays."""

    kind: Kind
    rows: int
    private: dict[str, NDArray[Any]]  # numbers, days, and the numbers of levels; NaN is missing
    public: dict[str, pa.Array]
    names: Texts | None

    def shown(self, schema: Schema) -> dict[tuple[str, str], pa.Array]:
        """Return all that is released without noise: public columns, and where others are missing if that is public.

        Keys are pairs, ("public", name) or ("missing", name): no column name equals one, so nothing replaces a column.
        """
        public = {("public", name): column for name, column in self.public.items()}
        missing = {("missing", name): pa.array(np.isnan(self.private[name])) for name in schema.public_patterns}
        return public | missing


def read_table(frame: Any, schema: Schema, *, released: bool = False, any_rows: bool = False) -> Table:
    """Read a table against a schema.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
    schema : Schema
    released : bool
        True for a table that has been released already: it has no id column.
    any_rows : bool
        True if people may have more rows than the schema allows, since some are still to be left out.
    """
    wanted = list(schema.columns) if released or schema.id is None else [schema.id, *schema.columns]
    if isinstance(frame, pa.Table):  # first: a file without a header may have a person's values as repeated names
        there = {name for name in frame.column_names if name in wanted}
        if not there or len(set(frame.column_names)) < len(frame.column_names):
            _check_columns(list(there), wanted, ())
    data, kind = _open(frame)
    problems: list[DataError] = []
    with noted(problems):
        _check_columns(data.columns, wanted, () if released else schema.omitted)
    private: dict[str, NDArray[Any]] = {}
    public: dict[str, pa.Array] = {}
    for name in schema.columns:
        with noted(problems):
            _read_column(data, name, schema, private, public, released=released)
    names = None
    with noted(problems):
        if not released and schema.id in data.columns:
            assert schema.id is not None
            most = None if any_rows else schema.rows_per_person
            names = read.names(data.get_column(schema.id), schema.id, most)
    table = Table(kind, len(data), private, public, names)
    if problems:
        with noted(problems):
            survey(table, schema)
        raise together(problems)
    return table


@contextmanager
def noted(problems: list[DataError]) -> Iterator[None]:
    """Note what is wrong with a column and go on, so that one run tells all problems."""
    try:
        yield
    except DataError as problem:
        problems.append(problem)


def _read_column(
    data: nw.DataFrame[Any],
    name: str,
    schema: Schema,
    private: dict[str, NDArray[Any]],
    public: dict[str, pa.Array],
    *,
    released: bool,
) -> None:
    """Read one column, if it is there."""
    column = schema.columns[name]
    if name not in data.columns:
        return
    series = data.get_column(name)
    if isinstance(column, Dates):
        private[name] = read.days(series, name, column)
    elif isinstance(column, Bounded):
        private[name] = read.numbers(series, name, nullable=bool(column.nullable))
    elif isinstance(column, Categorical):
        private[name] = read.codes(series, name, column, released=released)
    else:
        public[name] = read.public(series, name)


def read_ids(frame: Any, schema: Schema) -> Texts:
    """Return the id of each row, however many rows a person has."""
    assert schema.id is not None
    return read.names(_open(frame)[0].get_column(schema.id), schema.id, None)


def build_frame(columns: Mapping[str, NDArray[Any] | pa.Array], kind: Kind) -> Any:
    """Return fresh columns as a table of the given kind."""
    if kind == "pandas":
        import pandas as pd

        # whole numbers and true/false stay what they are where some are missing
        kinds = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        plain = {
            name: column.to_pandas(date_as_object=False, types_mapper=kinds.get if column.null_count else None)
            if isinstance(column, pa.Array)
            else column
            for name, column in columns.items()
        }
        return pd.DataFrame(plain, copy=False)
    arrow = pa.table({name: pa.array(column) for name, column in columns.items()})
    if kind == "arrow":
        return arrow
    import polars as pl

    return pl.from_arrow(arrow)


def to_levels(codes: NDArray[Any], column: Categorical) -> pa.Array:
    """Return level codes as an arrow array of levels, NaN as null."""
    missing = np.isnan(codes) if column.nullable else None
    whole = codes if missing is None else np.where(missing, 0, codes)
    return pa.array(column.levels).take(pa.array(whole.astype(np.int64), mask=missing))


def to_numbers(values: NDArray[Any]) -> pa.Array:
    """Return numbers as an arrow array, NaN as null, with nothing under the nulls."""
    missing = np.isnan(values)
    return pa.array(np.where(missing, 0.0, values), mask=missing)


def released_columns(
    values: Mapping[str, NDArray[Any]], public: Mapping[str, pa.Array], schema: Schema, wanted: list[str] | None = None
) -> dict[str, NDArray[Any] | pa.Array]:
    """Return released values, levels spelled out, and public columns: all, or some, in the schema's order."""
    columns: dict[str, NDArray[Any] | pa.Array] = {}
    for name, column in schema.columns.items():
        if wanted is not None and name not in wanted:
            continue
        if isinstance(column, Categorical):
            columns[name] = to_levels(values[name], column)
        elif isinstance(column, Dates):
            columns[name] = to_dates(values[name], column)
        elif isinstance(column, Bounded):
            columns[name] = to_numbers(values[name]) if column.nullable else values[name]
        else:
            columns[name] = public[name]
    return columns


def _open(frame: Any) -> tuple[nw.DataFrame[Any], Kind]:
    if isinstance(frame, pa.Table):
        _refuse_repeats(frame.column_names)
    elif type(frame).__module__.startswith("pandas") and hasattr(frame, "columns"):
        _refuse_repeats([str(name) for name in frame.columns])
    try:
        data = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise DataError(
            f"cannot read a table from {type(frame).__name__}",
            hint="give a pandas or polars DataFrame or a pyarrow Table; collect lazy frames first",
        ) from None
    for kind, is_kind in (
        ("pandas", data.implementation.is_pandas()),
        ("polars", data.implementation.is_polars()),
        ("arrow", data.implementation.is_pyarrow()),
    ):
        if is_kind:
            return data, kind  # type: ignore[return-value] # a literal, by the loop
    raise DataError(f"tables of {data.implementation} are not supported", hint="convert to pandas, polars or arrow")


def _refuse_repeats(names: list[str]) -> None:
    if len(set(names)) < len(names):
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise DataError(f"duplicate columns: {', '.join(map(repr, repeated))}", hint="rename or drop them")


def _check_columns(found: list[str], wanted: list[str], omitted: tuple[str, ...]) -> None:
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted and name not in omitted]
    if missing:
        hint = "the table needs every column of the schema"
        if len(missing) == len(wanted):
            hint += "; has the file a first line with the names of its columns?"
        # names of columns that are not known may be values of a person, in a file without a header
        more = f", and {len(extra)} that the schema does not know" if extra and len(missing) < len(wanted) else ""
        raise DataError(f"missing columns: {', '.join(map(repr, missing))}{more}", hint=hint)
    if extra:
        raise DataError(
            f"columns that the schema does not know: {', '.join(map(repr, map(str, extra)))}",
            hint="drop them, or declare them in the schema, as Omitted() if they are not to be released",
        )


def survey(table: Table, schema: Schema) -> dict[str, int]:
    """Refuse values that cannot be meant; return how many values of each column lie outside its bounds."""
    from versadp.noise.kernel import survey as count

    outside = {}
    problems: list[DataError] = []
    for name, column in schema.columns.items():
        if not isinstance(column, Bounded) or name not in table.private:
            continue
        values = table.private[name]
        if column.nullable:
            values = values[~np.isnan(values)]
        counts = np.zeros(3, np.int64)
        most = max(float(read.EXACT_INTEGER), abs(column.lower), abs(column.upper))
        count(values, column.lower, column.upper, most, counts)
        with noted(problems):
            read.refuse_missing(int(counts[0]), name)
            read.refuse_huge(int(counts[1]), name)
        if counts[2]:
            outside[name] = int(counts[2])
    if problems:
        raise together(problems)
    return outside


def warn_outside(outside: dict[str, int]) -> None:
    """Tell the provider how many values were clamped."""
    if outside:
        counts = ", ".join(f"{name!r} {count}" for name, count in outside.items())
        warnings.warn(
            f"values outside the bounds were moved to the nearest bound: {counts}. The release is about the "
            "clamped values. These counts are for the provider only: do not publish them.",
            ClampedWarning,
            stacklevel=find_stacklevel(),
        )
