"""The kinds of file that can be released: for each a look at its columns and rows, and a reader.

Whatever arrow says about a damaged file stays in `sources.py`: its words would show values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.ipc as pi
import pyarrow.parquet as pq
from pyarrow import compute

from versadp.errors import DataError
from versadp.release.object_store import Stored
from versadp.release.path.columns import EXACT_INTEGER
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from versadp.schema import Schema

    Place = Path | Stored
    Types = dict[str, pa.DataType]
    Batches = Iterator[tuple[pa.RecordBatch, float]]

_CSV_BLOCK = 2**20  # fixed, since the types of public columns are inferred from the first block
_BUFFER = 2**20
_PLACES = 2**17  # rows that are read together


def opened(path: Place) -> Any:
    """Return what arrow opens: a path, or an object of a store, open."""
    return path.open() if isinstance(path, Stored) else path


def mapped(path: Place) -> Any:
    """Return an open file, of this machine as it lies in memory."""
    return path.open() if isinstance(path, Stored) else pa.memory_map(str(path))


def size_of(path: Place) -> int:
    """Return how many bytes a file has."""
    return (path.size() or 0) if isinstance(path, Stored) else path.stat().st_size


class Format(NamedTuple):
    """A kind of file: `look` gives its columns, and its rows if it says so; `read` its batches and the share read."""

    look: Callable[[Place, Types], tuple[pa.Schema, int | None]]
    read: Callable[[Place, int, Types], Batches]


def text_types(schema: Schema) -> Types:
    """Return how private columns of a text file are read; an id keeps its spelling, and so does what is omitted."""
    types = dict.fromkeys([*schema.omitted, *([] if schema.id is None else [schema.id])], pa.string())
    for name, column in schema.columns.items():
        if isinstance(column, Bounded):
            types[name] = pa.date32() if isinstance(column, Dates) else pa.float64()
        elif isinstance(column, Categorical):
            types[name] = _level_type(column)
    return types


def _level_type(column: Categorical) -> pa.DataType:
    """Return how levels are read; whole numbers beside missing ones are often written as 2.0."""
    kind = type(column.levels[0])
    if kind is int and column.nullable and all(abs(int(level)) <= EXACT_INTEGER for level in column.levels):
        return pa.float64()
    return {str: pa.string(), int: pa.int64(), bool: pa.bool_()}[kind]


def _bare(columns: pa.Schema) -> pa.Schema:
    """Return columns without metadata, which has no say in what is released."""
    return pa.schema([pa.field(name, kind) for name, kind in zip(columns.names, columns.types, strict=True)])


def _look_parquet(path: Place, _: Types) -> tuple[pa.Schema, int | None]:
    with pq.ParquetFile(opened(path)) as file:
        return _bare(file.schema_arrow), file.metadata.num_rows


def _read_parquet(path: Place, rows: int, _: Types) -> Batches:
    # a buffer makes arrow read a row group piece by piece, so that one of any size fits into memory
    with pq.ParquetFile(opened(path), buffer_size=_BUFFER, pre_buffer=False) as file:
        for batch in file.iter_batches(rows):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=_bare(batch.schema)), 0.0


def read_places(path: Place, start: int, stop: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file from one to another; row groups outside are not read."""
    with pq.ParquetFile(opened(path), buffer_size=_BUFFER, pre_buffer=False) as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
        ends = np.cumsum(sizes)
        groups = [group for group, end in enumerate(ends) if end > start and end - sizes[group] < stop]
        at = int(ends[groups[0]] - sizes[groups[0]]) if groups else 0
        for batch in file.iter_batches(_PLACES, row_groups=groups):
            low, high = max(start - at, 0), min(stop - at, batch.num_rows)
            at += batch.num_rows
            if low < high:
                some = batch.slice(low, high - low)
                yield pa.RecordBatch.from_arrays(some.columns, schema=_bare(some.schema))


def _open_csv(path: Place, types: Types) -> Any:
    """Open a text file; dates that the schema does not know are public, or refused later, and stay text."""
    reader = _try_csv(path, types)
    found = [field.name for field in reader.schema if pa.types.is_temporal(field.type)]
    dates = {name: pa.string() for name in found if name not in types}
    if not dates:
        return reader
    reader.close()
    return _try_csv(path, types | dates)


def _try_csv(path: Place, types: Types) -> Any:
    return pc.open_csv(
        opened(path),
        read_options=pc.ReadOptions(block_size=_CSV_BLOCK),
        parse_options=pc.ParseOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ","),
        convert_options=pc.ConvertOptions(column_types=types, check_utf8=True),
    )


def _look_csv(path: Place, types: Types) -> tuple[pa.Schema, int | None]:
    with _open_csv(path, types) as reader:
        return _bare(reader.schema), None


def _read_csv(path: Place, rows: int, types: Types) -> Batches:
    size, seen = max(size_of(path), 1), 0
    with _open_csv(path, types) as reader:
        for batch in reader:
            _refuse_line_breaks(batch, path)
            seen += _CSV_BLOCK
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows), min(seen / size, 1.0)


def _refuse_line_breaks(batch: pa.RecordBatch, path: Place) -> None:
    """Refuse text with a line break: a quote that is never closed swallows the records behind it, private and all."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_string(column.type):
            breaks = compute.sum(compute.match_substring_regex(column, "[\r\n]")).as_py()
            if breaks:
                raise DataError(
                    f"{path.name} has {breaks} texts with a line break in column {name!r}",
                    hint="a quote may be missing; if the line breaks are meant, give the data as Parquet",
                )


def _look_arrow(path: Place, _: Types) -> tuple[pa.Schema, int | None]:
    with mapped(path) as memory, pi.open_file(memory) as file:
        # counting rows reads the head of every batch, so that a file that was cut short is noticed now
        return _bare(file.schema), sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))


def _read_arrow(path: Place, rows: int, _: Types) -> Batches:
    with mapped(path) as memory, pi.open_file(memory) as file:
        yield from _sliced((file.get_batch(i) for i in range(file.num_record_batches)), rows, lambda: 0.0)


def _look_stream(path: Place, _: Types) -> tuple[pa.Schema, int | None]:
    with mapped(path) as memory, pi.open_stream(memory) as stream:
        return _bare(stream.schema), None


def _read_stream(path: Place, rows: int, _: Types) -> Batches:
    size = max(size_of(path), 1)
    with mapped(path) as memory, pi.open_stream(memory) as stream:
        yield from _sliced(stream, rows, lambda: memory.tell() / size)


def _sliced(batches: Any, rows: int, share: Callable[[], float]) -> Batches:
    for batch in batches:
        batch.validate(full=True)  # an Arrow file is mapped as it is: offsets that point elsewhere must not be followed
        bare = pa.RecordBatch.from_arrays(batch.columns, schema=_bare(batch.schema))
        for start in range(0, bare.num_rows, rows):
            yield bare.slice(start, rows), share()


FORMATS = {
    "Parquet": Format(_look_parquet, _read_parquet),
    "CSV": Format(_look_csv, _read_csv),
    "TSV": Format(_look_csv, _read_csv),
    "Arrow": Format(_look_arrow, _read_arrow),
    "Arrow stream": Format(_look_stream, _read_stream),
}
