"""Tables of pandas, polars and arrow, read against a schema and built anew.

Whatever cannot be released is refused here, before anything is spent, with column and count and never a value.
What leaves is built from the domain: no index, metadata, unused category, value under a null or neighbour in a sliced
buffer of the input reaches the output. Between reading and building what is missing is NaN, always the same one.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versadp.errors import ClampedWarning, DataError, find_stacklevel
from versadp.noise.tags import Texts
from versadp.release.path.dates import from_dates, to_dates
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.schema import Schema

    Array = NDArray[np.float64]

Kind = Literal["pandas", "polars", "arrow"]
EXACT_INTEGER = 2**53
_INTEGERS = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64)
_FLOATS = (nw.Float32, nw.Float64)
_TEXTS = (nw.String, nw.Categorical, nw.Enum)


@dataclass(frozen=True)
class Table:
    """A table that fits its schema: what is noised as numbers, what is public as fresh arrow arrays."""

    kind: Kind
    rows: int
    private: dict[str, NDArray[Any]]  # numbers, days, and the numbers of levels; NaN is missing
    public: dict[str, pa.Array]
    names: Texts | None


def read_table(frame: Any, schema: Schema, *, released: bool = False) -> Table:
    """Read a table against a schema.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
    schema : Schema
    released : bool
        True for a table that has been released already: it has no id column.
    """
    data, kind = _open(frame)
    wanted = list(schema.columns) if released or schema.id is None else [schema.id, *schema.columns]
    _check_columns(data.columns, wanted, () if released else schema.omitted)
    private: dict[str, NDArray[Any]] = {}
    public: dict[str, pa.Array] = {}
    for name, column in schema.columns.items():
        series = data.get_column(name)
        if isinstance(column, Dates):
            private[name] = _days(series, name, column)
        elif isinstance(column, Bounded):
            private[name] = _numbers(series, name, nullable=bool(column.nullable))
        elif isinstance(column, Categorical):
            private[name] = _codes(series, name, column)
        else:
            public[name] = _public(series, name)
    names = None if released or schema.id is None else _names(data.get_column(schema.id), schema.id)
    return Table(kind, len(data), private, public, names)


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
        raise DataError(
            f"missing columns: {', '.join(map(repr, missing))}", hint="the table needs every column of the schema"
        )
    if extra:
        raise DataError(
            f"columns that the schema does not know: {', '.join(map(repr, map(str, extra)))}",
            hint="drop them, or declare them in the schema, as Omitted() if they are not to be released",
        )


_NULLABLE = (
    "declare that it may be missing: nullable=True, or nullable='public' if everybody may know where it is; to leave "
    "these rows out would show who they are"
)
_FILLED = "fill them by a rule that does not look at the data"


def _refuse_missing(missing: int, name: str, hint: str = _NULLABLE) -> None:
    if missing:
        raise DataError(f"column {name!r} has {missing} missing or non-finite values", hint=hint)


def _wrong_type(series: nw.Series[Any], name: str, needs: str) -> DataError:
    holds = "nothing, or values of a rare kind" if isinstance(series.dtype, nw.Unknown) else series.dtype
    return DataError(f"column {name!r} holds {holds}, but needs {needs}", hint="convert it, or mend the schema")


def _missing(series: nw.Series[Any]) -> int:
    missing = series.null_count()
    if missing == 0 and isinstance(series.dtype, _FLOATS):
        values = series.to_numpy()
        missing = values.size - int(np.count_nonzero(np.isfinite(values)))
    return int(missing)


def _numbers(series: nw.Series[Any], name: str, *, nullable: bool) -> Array:
    if nullable and _nothing(series):
        return np.full(len(series), np.nan)
    if not isinstance(series.dtype, _INTEGERS + _FLOATS):
        raise _wrong_type(series, name, "whole or floating-point numbers")
    if nullable:
        return _floats(_arrow(series, pa.float64(), name, nullable=True), name)
    _refuse_missing(_missing(series), name)
    values = np.asarray(series.to_numpy())
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        _refuse_huge(int(np.sum((values > EXACT_INTEGER) | (values < -EXACT_INTEGER))), name)
    return np.ascontiguousarray(values, dtype=np.float64)


def _nothing(series: nw.Series[Any]) -> bool:
    """Tell whether a column has no type, since all of it is missing."""
    if isinstance(series.dtype, nw.Unknown):
        return bool(pa.types.is_null(series.to_arrow().type))
    return len(series) > 0 and series.null_count() == len(series)


def _floats(values: pa.Array, name: str) -> Array:
    """Return floats with one kind of NaN for all that is missing."""
    floats = np.array(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    floats[np.isnan(floats)] = np.nan
    infinite = int(np.isinf(floats).sum())
    _refuse_missing(infinite, name, "mend them: what is missing is a null or NaN")
    return floats


def _days(series: nw.Series[Any], name: str, column: Dates) -> Array:
    if column.nullable and _nothing(series):
        return np.full(len(series), np.nan)
    found = series.to_arrow() if isinstance(series.dtype, nw.Date | nw.Datetime | nw.Object) else None
    if found is None or not (pa.types.is_date(found.type) or pa.types.is_timestamp(found.type)):
        raise _wrong_type(series, name, "dates")
    if pa.types.is_timestamp(found.type) and found.type.tz is not None:
        raise _wrong_type(series, name, "dates, or times without a time zone")
    if not column.nullable:
        _refuse_missing(found.null_count, name)
    try:
        return _floats(pa.array(from_dates(found, column)), name)
    except pa.ArrowException:
        raise DataError(f"column {name!r} has dates that cannot be read", hint="mend them") from None


def _refuse_huge(count: int, name: str) -> None:
    if count:
        raise DataError(
            f"column {name!r} has {count} values beyond 2^53 in size, far outside its bounds",
            hint="such values mark missing data or overflow as a rule: drop or mend these rows",
        )


def survey(table: Table, schema: Schema) -> dict[str, int]:
    """Refuse values that cannot be meant; return how many values of each column lie outside its bounds."""
    from versadp.noise.kernel import survey as count

    outside = {}
    for name, column in schema.columns.items():
        if not isinstance(column, Bounded):
            continue
        values = table.private[name]
        if column.nullable:
            values = values[~np.isnan(values)]
        counts = np.zeros(3, np.int64)
        most = max(float(EXACT_INTEGER), abs(column.lower), abs(column.upper))
        count(values, column.lower, column.upper, most, counts)
        _refuse_missing(int(counts[0]), name)
        _refuse_huge(int(counts[1]), name)
        if counts[2]:
            outside[name] = int(counts[2])
    return outside


def warn_outside(outside: dict[str, int]) -> None:
    """Tell the provider how many values were clamped."""
    if outside:
        counts = ", ".join(f"{name!r} {count}" for name, count in outside.items())
        warnings.warn(
            f"values outside the declared bounds were moved to the nearest bound: {counts}. The release is about the "
            "clamped values. These counts are for the provider only: do not publish them.",
            ClampedWarning,
            stacklevel=find_stacklevel(),
        )


def _codes(series: nw.Series[Any], name: str, column: Categorical) -> NDArray[Any]:
    kind, nullable = type(column.levels[0]), bool(column.nullable)
    if nullable and _nothing(series):
        return np.full(len(series), np.nan)
    if not isinstance(series.dtype, _LEVELS[kind]) and not (nullable and _pandas_levels(series, kind)):
        words = {str: "text", int: "whole numbers", bool: "true/false"}[kind]
        raise _wrong_type(series, name, f"{words}, like its levels")
    if not nullable:
        _refuse_missing(_missing(series), name)
    arrow = {str: pa.large_string(), int: pa.int64(), bool: pa.bool_()}[kind]
    values = _arrow(series, arrow, name, nullable=nullable)
    if nullable and kind is str and "" not in column.levels:  # as which text files spell what is missing
        values = pc.if_else(pc.equal(values, ""), pa.scalar(None, arrow), values)
    found = pc.index_in(values, value_set=pa.array(column.levels, type=values.type))
    wrong = found.null_count - values.null_count
    if wrong:
        raise DataError(
            f"column {name!r} has {wrong} values that are none of its levels",
            hint="declare every level in the schema, or recode these rows",
        )
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64 if nullable else np.int64)


_LEVELS = {str: _TEXTS, int: _INTEGERS, bool: (nw.Boolean,)}


def _pandas_levels(series: nw.Series[Any], kind: type) -> bool:
    """Tell whether levels are as pandas has them beside missing values: whole numbers as floats, truth as objects."""
    if kind is int:
        return isinstance(series.dtype, _FLOATS)
    return kind is bool and isinstance(series.dtype, nw.Object) and pa.types.is_boolean(series.to_arrow().type)


def _arrow(series: nw.Series[Any], kind: pa.DataType, name: str, *, nullable: bool = False) -> pa.Array:
    """Return one contiguous arrow array of the given type."""
    try:
        found = series.to_arrow()
        chunks = found.chunks if isinstance(found, pa.ChunkedArray) else [found]
        values = pa.chunked_array([_spelled(chunk, kind) for chunk in chunks], type=kind)
        values.validate(full=True)  # text that is not UTF-8 would be released as it is
    except (pa.ArrowException, OverflowError):  # arrow's own message would show a value
        raise DataError(f"column {name!r} cannot be read as {kind}", hint="convert it first; text as UTF-8") from None
    if not nullable:
        _refuse_missing(values.null_count, name)  # a category may stand for a null
    return values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)


def _spelled(chunk: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array as the given type, categories spelled out."""
    if not pa.types.is_dictionary(chunk.type):
        return chunk.cast(kind)
    return chunk.dictionary.cast(kind).take(chunk.indices.cast(pa.int64()))


def _public(series: nw.Series[Any], name: str) -> pa.Array:
    """Return a copy that shares no buffer with the input."""
    if not isinstance(series.dtype, (*_INTEGERS, *_FLOATS, *_TEXTS, nw.Boolean)):
        raise _wrong_type(series, name, "numbers, true/false or text")
    _refuse_missing(_missing(series), name, _FILLED)
    if isinstance(series.dtype, _TEXTS):
        values = _arrow(series, pa.large_string(), name)
        return values.take(pa.array(np.arange(len(values))))
    return pa.array(np.array(series.to_numpy()))


def _names(series: nw.Series[Any], name: str) -> Texts:
    """Return each person's id as bytes; a number and its text are the same person."""
    if not isinstance(series.dtype, _INTEGERS + _TEXTS):
        raise _wrong_type(series, name, "whole numbers or text, since it identifies people")
    _refuse_missing(_missing(series), name, "everybody needs an id, or the schema none")
    repeats = len(series) - series.n_unique()
    if repeats:
        raise DataError(
            f"the id column {name!r} repeats people in {repeats} rows",
            hint="one row a person: the guarantee is for a row, and a second row would need a budget of its own",
        )
    return texts_of(_arrow(series, pa.large_string(), name))


def texts_of(array: pa.Array) -> Texts:
    """Return an array of large strings as its bytes."""
    _, offsets, data = array.buffers()
    starts = np.frombuffer(offsets, np.int64) if len(array) else np.zeros(1, np.int64)
    return Texts(np.frombuffer(data or b"", np.uint8), starts)[array.offset : array.offset + len(array)]
