"""One column of a table, read against what the schema declares: as numbers, or as fresh arrow arrays.

Errors say column and count, and never a value. What is missing is NaN in a nullable column, and refused in others.
"""

from __future__ import annotations

import unicodedata
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versadp.errors import DataError
from versadp.noise.mac import Texts
from versadp.release.path.dates import from_dates
from versadp.schema import Categorical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.schema import Column, Dates

    Array = NDArray[np.float64]

EXACT_INTEGER = 2**53
_INTEGERS = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64)
_FLOATS = (nw.Float32, nw.Float64)
_TEXTS = (nw.String, nw.Categorical, nw.Enum)
_LEVELS = {str: _TEXTS, int: _INTEGERS, bool: (nw.Boolean,)}
_NULLABLE = (
    "declare in the schema that it may be missing: nullable=True, or nullable='public' if everybody may see where; "
    "nullable=True adds 1 to 15% to standard errors of means in a window of epsilon 4 to 8, as `versadp plan` shows; "
    "rows that are left out show who is missing"
)
_SPELLED = {  # how dates are written as text, and the format that reads them
    "dd/mm/yyyy": (r"^\s*(0?[1-9]|[12]\d|3[01])/(0?[1-9]|1[0-2])/\d{4}\s*$", "%d/%m/%Y"),
    "mm/dd/yyyy": (r"^\s*(0?[1-9]|1[0-2])/(0?[1-9]|[12]\d|3[01])/\d{4}\s*$", "%m/%d/%Y"),
    "dd.mm.yyyy": (r"^\s*(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])\.\d{4}\s*$", "%d.%m.%Y"),
    "dd-mm-yyyy": (r"^\s*(0?[1-9]|[12]\d|3[01])-(0?[1-9]|1[0-2])-\d{4}\s*$", "%d-%m-%Y"),
    "yyyymmdd": (r"^\s*\d{4}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])\s*$", "%Y%m%d"),
    "yyyy-mm-dd": (r"^\s*\d{4}-(0?[1-9]|1[0-2])-(0?[1-9]|[12]\d|3[01])\s*$", "%Y-%m-%d"),
}
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_FILLED = "fill them by a rule that does not look at the data"


def refuse_missing(missing: int, name: str, hint: str = _NULLABLE) -> None:
    """Refuse a column with missing values, if there are any."""
    if missing:
        raise DataError(f"column {name!r} has {missing} missing or non-finite values", hint=hint)


def _wrong_type(series: nw.Series[Any], name: str, needs: str) -> DataError:
    holds = "nothing, or values of a rare kind" if isinstance(series.dtype, nw.Unknown) else series.dtype
    return DataError(f"column {name!r} holds {holds}, but needs {needs}", hint="convert it, or mend the schema")


def _no_numbers(series: nw.Series[Any], name: str) -> DataError:
    """Return our error for a column that holds no numbers; of text it says how many values are none."""
    needs = "whole or floating-point numbers"
    if not isinstance(series.dtype, _TEXTS):
        return _wrong_type(series, name, needs)
    given = _arrow(series, pa.large_string(), name, nullable=True).drop_null()
    count = len(given) - int(pc.sum(pc.match_substring_regex(given, _NUMBER)).as_py() or 0)
    return _wrong_type(series, name, f"{needs}; {count:,} of {len(series):,} values are no numbers" if count else needs)


def _no_dates(series: nw.Series[Any], name: str) -> DataError:
    """Return our error for a column that holds no dates; of text it says how that is spelled, if one way fits all."""
    if not isinstance(series.dtype, _TEXTS):
        return _wrong_type(series, name, "dates")
    given = _arrow(series, pa.large_string(), name, nullable=True).drop_null()
    fits = [way for way, (pattern, _) in _SPELLED.items() if pc.all(pc.match_substring_regex(given, pattern)).as_py()]
    if not fits or not len(given):
        return _wrong_type(series, name, "dates")
    return DataError(
        f"column {name!r} holds text like {' or '.join(fits)}, but needs dates",
        hint=f"convert it: pd.to_datetime(frame[{name!r}], format={_SPELLED[fits[0]][1]!r}); in a text file, "
        "dates are written as 1990-01-31",
    )


def _missing(series: nw.Series[Any]) -> int:
    if isinstance(series.dtype, _FLOATS):
        values = series.to_numpy()
        return values.size - int(np.count_nonzero(np.isfinite(values)))
    return int(series.null_count())


def numbers(series: nw.Series[Any], name: str, *, nullable: bool) -> Array:
    """Return numbers as floats."""
    if nullable and _nothing(series):
        return np.full(len(series), np.nan)
    if not isinstance(series.dtype, _INTEGERS + _FLOATS):
        raise _no_numbers(series, name)
    if nullable:
        return _floats(_arrow(series, pa.float64(), name, nullable=True), name)
    refuse_missing(_missing(series), name)
    values = np.asarray(series.to_numpy())
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        refuse_huge(int(np.sum((values > EXACT_INTEGER) | (values < -EXACT_INTEGER))), name)
    return np.ascontiguousarray(values, dtype=np.float64)


def _nothing(series: nw.Series[Any]) -> bool:
    """Tell whether all of a column is missing; of an empty one by its type."""
    if series.null_count() < len(series):
        return False
    return len(series) > 0 or getattr(series.to_native(), "type", None) == pa.null()


def _are_all(series: nw.Series[Any], *kinds: type) -> bool:
    """Tell whether a column of objects, as pandas has, holds nothing but these beside what is missing."""
    return isinstance(series.dtype, nw.Object) and set(map(type, series.drop_nulls().to_list())) <= {*kinds}


def _floats(values: pa.Array, name: str) -> Array:
    """Return floats with one kind of NaN for all that is missing."""
    floats = np.array(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    floats[np.isnan(floats)] = np.nan
    infinite = int(np.isinf(floats).sum())
    refuse_missing(infinite, name, "mend them: what is missing is a null or NaN")
    return floats


def days(series: nw.Series[Any], name: str, column: Dates) -> Array:
    """Return dates as days since the first."""
    if column.nullable and _nothing(series):
        return np.full(len(series), np.nan)
    if not isinstance(series.dtype, nw.Date | nw.Datetime) and not _are_all(series, date):
        raise _no_dates(series, name)
    if isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None:
        raise _wrong_type(series, name, "dates, or times without a time zone")
    if not column.nullable:
        refuse_missing(series.null_count(), name)
    try:
        return _floats(pa.array(from_dates(series.to_arrow(), column)), name)
    except pa.ArrowException:
        raise DataError(f"column {name!r} has dates that cannot be read", hint="mend them") from None


def refuse_huge(count: int, name: str) -> None:
    """Refuse a column with values that cannot be meant, if there are any."""
    if count:
        raise DataError(
            f"column {name!r} has {count} values beyond 2^53 in size, far outside its bounds",
            hint="they mark missing data or overflow as a rule: make them null, in a nullable column, or mend them",
        )


def codes(series: nw.Series[Any], name: str, column: Categorical, *, released: bool = False) -> NDArray[Any]:
    """Return the numbers of levels; of a released column rare ones have been merged already."""
    kind, nullable = type(column.levels[0]), bool(column.nullable)
    if nullable and _nothing(series):
        return np.full(len(series), np.nan)
    _check_levels(series, name, kind, nullable=nullable)
    arrow = {str: pa.large_string(), int: pa.int64(), bool: pa.bool_()}[kind]
    values = _arrow(series, arrow, name, nullable=nullable)
    if nullable and reads_blank_as_missing(column):
        values = pc.if_else(pc.equal(values, ""), pa.scalar(None, arrow), values)
    levels = list(column.levels) if released else list(column.declared_levels)
    found = pc.index_in(values, value_set=pa.array(levels, type=values.type))
    if column.merged:
        found = pc.min_element_wise(found, pa.scalar(len(column.levels) - 1, found.type), skip_nulls=False)
    wrong = found.null_count - values.null_count
    if wrong and not nullable and reads_blank_as_missing(column):
        refuse_missing(int(pc.sum(pc.equal(values, "")).as_py() or 0), name)
    if wrong:
        raise DataError(
            f"column {name!r} has {wrong} values that are none of its levels",
            hint="declare every level in the schema, or recode these rows",
        )
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64 if nullable else np.int64)


def _check_levels(series: nw.Series[Any], name: str, kind: type, *, nullable: bool) -> None:
    """Raise if values are not of the kind of the levels, or missing where none may be."""
    if not isinstance(series.dtype, _LEVELS[kind]) and not (nullable and _pandas_levels(series, kind)):
        words = {str: "text", int: "whole numbers", bool: "true/false"}[kind]
        raise _wrong_type(series, name, f"{words}, like its levels")
    if not nullable:
        refuse_missing(_missing(series), name)


def reads_blank_as_missing(column: Column) -> bool:
    """Return True if "" is a missing value, as text files spell it: a text category without that level."""
    levels = column.levels if isinstance(column, Categorical) else ()
    return bool(levels) and isinstance(levels[0], str) and "" not in levels


def _pandas_levels(series: nw.Series[Any], kind: type) -> bool:
    """Tell whether levels are as pandas has them beside missing values: whole numbers as floats, truth as objects."""
    if kind is int:
        return isinstance(series.dtype, _FLOATS)
    return kind is bool and _are_all(series, bool, np.bool_)


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
        refuse_missing(values.null_count, name)  # a category may stand for a null
    return values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)


def _spelled(chunk: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array as the given type, categories spelled out."""
    if not pa.types.is_dictionary(chunk.type):
        return chunk.cast(kind)
    return chunk.dictionary.cast(kind).take(chunk.indices.cast(pa.int64()))


def public(series: nw.Series[Any], name: str) -> pa.Array:
    """Return a copy that shares no buffer with the input."""
    if not isinstance(series.dtype, (*_INTEGERS, *_FLOATS, *_TEXTS, nw.Boolean)):
        raise _wrong_type(series, name, "numbers, true/false or text")
    refuse_missing(_missing(series), name, _FILLED)
    if isinstance(series.dtype, _TEXTS):
        values = _arrow(series, pa.large_string(), name)
        return values.take(pa.array(np.arange(len(values))))
    return pa.array(np.array(series.to_numpy()))


def names(series: nw.Series[Any], name: str, most: int | None = 1) -> Texts:
    """Return each row's id as bytes, with at most `most` rows per person; a number and its text are the same person."""
    if not isinstance(series.dtype, _INTEGERS + _TEXTS):
        raise _wrong_type(series, name, "whole numbers or text, since it identifies people")
    refuse_missing(_missing(series), name, "everybody needs an id, or the schema none")
    texts = _arrow(series, pa.large_string(), name)
    if most == 1:
        refuse_repeats(len(series) - min(series.n_unique(), _people(series, name)), name, most)
    elif most is not None:
        counts = pc.value_counts(pc.utf8_normalize(texts, form="NFC")).field("counts").to_numpy()
        refuse_repeats(int(np.maximum(counts - most, 0).sum()), name, most)
    return texts_of(texts)


def refuse_repeats(count: int, name: str, most: int) -> None:
    """Refuse rows of people who have more of them than the schema allows, if there are any."""
    if not count:
        return
    if most == 1:
        raise DataError(
            f"the id column {name!r} repeats people in {count} rows",
            hint="the guarantee is for one row per person: keep one, which the key chooses: keep_rows=1 (--keep-rows 1)"
            "; or say in the schema how many a person may have, which the noise must then hide: rows_per_person = ...",
        )
    raise DataError(
        f"the id column {name!r} has {count} rows beyond the {most} that a person may have",
        hint=f"keep {most} of each person, which the key chooses: keep_rows={most} (--keep-rows {most}); or raise "
        "rows_per_person in the schema, for more noise",
    )


def _people(series: nw.Series[Any], name: str) -> int:
    """Return how many people there are: ids that differ in their Unicode form only are one person's."""
    if not isinstance(series.dtype, _TEXTS) or not len(series):
        return len(series)
    values = _arrow(series, pa.large_string(), name)
    if pc.all(pc.string_is_ascii(values)).as_py():
        return len(series)
    return int(pc.count_distinct(pc.utf8_normalize(values, form="NFC")).as_py())


def normalised(texts: Texts) -> Texts:
    """Return texts in Unicode form NFC."""
    if not texts.data.size or texts.data.max() < 128:  # ASCII is NFC
        return texts
    data, ends = texts.data.tobytes(), texts.starts.tolist()
    each = [data[start:stop].decode() for start, stop in pairwise(ends)]
    return Texts.of([unicodedata.normalize("NFC", text).encode() for text in each])


def texts_of(array: pa.Array) -> Texts:
    """Return an array of large strings as its bytes."""
    _, offsets, data = array.buffers()
    starts = np.frombuffer(offsets, np.int64) if len(array) else np.zeros(1, np.int64)
    return Texts(np.frombuffer(data or b"", np.uint8), starts)[array.offset : array.offset + len(array)]
