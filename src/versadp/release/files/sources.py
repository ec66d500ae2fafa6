"""Files to release: Parquet (also folders of it), CSV and Arrow, read piece by piece.

A file is judged before anything is read from it (its kind, its footer, its columns and their types), and whatever goes
wrong later becomes our own error: arrow's would show values. How a file is cut into pieces does not matter to what is
released.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.ipc as pi
import pyarrow.parquet as pq
from pyarrow import compute

from versadp.errors import DataError
from versadp.schema import Bounded, Categorical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from versadp.schema import Schema

BATCH_ROWS = 2**17
_CSV_BLOCK = 2**20  # fixed, since the types of public columns are inferred from the first block
_BUFFER = 2**20
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh91AY&", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")
_STILL = "release a file to which nobody is writing"
_DAMAGED = (pa.ArrowException, OSError, ValueError, TypeError, EOFError, MemoryError)


@dataclass(frozen=True)
class Source:
    """One or more files of one kind with the same columns; made by `open_source`."""

    kind: str
    files: tuple[Path, ...]
    rows: int | None
    columns: pa.Schema
    _types: dict[str, pa.DataType]

    def batches(self, rows: int = BATCH_ROWS) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield the records in batches of at most `rows`, each with the share of the whole that is then read."""
        done, sizes = 0, [path.stat().st_size for path in self.files]
        for number, path in enumerate(self.files):
            with _Reading(path, self.kind):
                for batch, share in _READERS[self.kind](path, rows, self._types):
                    if batch.schema != self.columns:
                        raise DataError(f"{path.name} changed its columns while it was being read", hint=_STILL)
                    done += batch.num_rows
                    read = sum(sizes[:number]) + share * sizes[number]
                    yield batch, read / max(sum(sizes), 1) if self.rows is None else done / max(self.rows, 1)
        if self.rows is not None and done != self.rows:  # arrow ends early, without a word, when a file is cut
            raise DataError(f"{done} of {self.rows} records were read: a file was changed meanwhile", hint=_STILL)


class _Reading:
    """Turns what arrow and the system say about a damaged file into our error, without their words."""

    def __init__(self, path: Path, kind: str) -> None:
        self._path, self._kind = path, kind

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, _DAMAGED) and not isinstance(problem, DataError):
            # raised anew and not chained: arrow's message would show what stands in the file
            raise DataError(
                f"{self._path.name} cannot be read as {self._kind} ({type(problem).__name__})",
                hint="it is damaged, cut short, changes its columns or types, is not in UTF-8, or is no such file",
            ) from None


def open_source(path: str | Path, schema: Schema | None = None) -> Source:
    """Look at files without reading their records.

    Parameters
    ----------
    path : str or Path
        A file, or a folder of Parquet files, which are read in the order of their names.
    schema : Schema, optional
        Says how text in a CSV file is to be read.
    """
    place = Path(path)
    kind, files = _find(place)
    types = {} if schema is None else _csv_types(schema)
    first: pa.Schema | None = None
    rows: int | None = 0
    for file in files:
        with _Reading(file, kind):
            columns, count = _LOOKS[kind](file, types)
        if first is not None and columns != first:
            raise DataError(
                f"the columns of {file.name} are not those of {files[0].name}: {_difference(first, columns)}",
                hint="all files of a folder need the same columns, in the same order and of the same types",
            )
        first = columns
        rows = None if count is None or rows is None else rows + count
    assert first is not None
    return Source(kind, files, rows, first, types)


def _find(place: Path) -> tuple[str, tuple[Path, ...]]:
    try:
        if place.is_dir():
            return "Parquet", _parquet_files(place)
        if place.is_file():
            return _kind(place), (place,)
        there = place.exists()
    except OSError as problem:
        raise _unopened(place, problem) from None
    if there:
        raise DataError(
            f"{place.name!r} is not an ordinary file", hint="a resumed release reads it again: save it first"
        )
    raise DataError(f"there is no file {place.name!r}", hint="give a file, or a folder of Parquet files")


def _unopened(path: Path, problem: OSError) -> DataError:
    return DataError(
        f"{path.name[:99]!r} cannot be opened ({type(problem).__name__})", hint="check path and permissions"
    )


def _parquet_files(place: Path) -> tuple[Path, ...]:
    found = sorted(
        path for path in place.rglob("*.parquet") if not any(p.startswith(".") for p in path.relative_to(place).parts)
    )
    if not found:
        raise DataError(f"there is no Parquet file in {place.name!r}", hint="give a file, or a folder of Parquet files")
    for path in found:
        if _kind(path) != "Parquet":
            raise DataError(f"{path.name} is not a Parquet file", hint="it is damaged or something else")
    return tuple(found)


def _kind(path: Path) -> str:
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as problem:
        raise _unopened(path, problem) from None
    if head.startswith(b"PAR1"):
        return "Parquet"
    if head.startswith(b"ARROW1"):
        return "Arrow"
    if head.startswith(_PACKED):
        raise DataError(f"{path.name} is a packed file", hint="unpack it first; Parquet is compressed inside")
    ending = path.suffix.lower()
    if ending in {".csv", ".tsv", ".txt"}:
        return "TSV" if ending == ".tsv" else "CSV"
    if ending in {".arrow", ".arrows", ".ipc", ".feather"}:
        return "Arrow stream"
    raise DataError(f"{path.name} is neither Parquet, CSV nor Arrow", hint="a CSV file needs the ending .csv")


def _difference(one: pa.Schema, other: pa.Schema) -> str:
    names = [n for n in {*one.names, *other.names} if n not in one.names or n not in other.names]
    changed = [
        n for n in one.names if one.names.count(n) == 1 == other.names.count(n) and one.field(n) != other.field(n)
    ]
    return ", ".join(map(repr, sorted(names) or changed)) or "another order"


def _csv_types(schema: Schema) -> dict[str, pa.DataType]:
    """Return how private columns of a text file are read; an id keeps its spelling."""
    levels = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}
    types = {} if schema.id is None else {schema.id: pa.string()}
    for name, column in schema.columns.items():
        if isinstance(column, Bounded):
            types[name] = pa.float64()
        elif isinstance(column, Categorical):
            types[name] = levels[type(column.levels[0])]
    return types


# each kind: a look at columns and number of rows, and a reader ------------------------------------------------------


def _bare(columns: pa.Schema) -> pa.Schema:
    """Return columns without metadata, which has no say in what is released."""
    return pa.schema([pa.field(name, kind) for name, kind in zip(columns.names, columns.types, strict=True)])


def _look_parquet(path: Path, _: dict[str, pa.DataType]) -> tuple[pa.Schema, int | None]:
    with pq.ParquetFile(path) as file:
        return _bare(file.schema_arrow), file.metadata.num_rows


def _read_parquet(path: Path, rows: int, _: dict[str, pa.DataType]) -> Iterator[tuple[pa.RecordBatch, float]]:
    # a buffer makes arrow read a row group piece by piece, so that one of any size fits into memory
    with pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
        for batch in file.iter_batches(rows):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=_bare(batch.schema)), 0.0


def _open_csv(path: Path, types: dict[str, pa.DataType]) -> Any:
    """Open a text file; dates are public, or refused later, and stay the text that they are."""
    reader = _try_csv(path, types)
    dates = {field.name: pa.string() for field in reader.schema if pa.types.is_temporal(field.type)}
    if not dates:
        return reader
    reader.close()
    return _try_csv(path, types | dates)


def _try_csv(path: Path, types: dict[str, pa.DataType]) -> Any:
    return pc.open_csv(
        path,
        read_options=pc.ReadOptions(block_size=_CSV_BLOCK),
        parse_options=pc.ParseOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ","),
        convert_options=pc.ConvertOptions(column_types=types, check_utf8=True),
    )


def _look_csv(path: Path, types: dict[str, pa.DataType]) -> tuple[pa.Schema, int | None]:
    with _open_csv(path, types) as reader:
        return _bare(reader.schema), None


def _read_csv(path: Path, rows: int, types: dict[str, pa.DataType]) -> Iterator[tuple[pa.RecordBatch, float]]:
    size, seen = max(path.stat().st_size, 1), 0
    with _open_csv(path, types) as reader:
        for batch in reader:
            _refuse_line_breaks(batch, path)
            seen += _CSV_BLOCK
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows), min(seen / size, 1.0)


def _refuse_line_breaks(batch: pa.RecordBatch, path: Path) -> None:
    """Refuse text with a line break: a quote that is never closed swallows the records behind it, private and all."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_string(column.type):
            breaks = compute.sum(compute.match_substring_regex(column, "[\r\n]")).as_py()
            if breaks:
                raise DataError(
                    f"{path.name} has {breaks} texts with a line break in column {name!r}",
                    hint="a quote may be missing; if the line breaks are meant, give the data as Parquet",
                )


def _look_arrow(path: Path, _: dict[str, pa.DataType]) -> tuple[pa.Schema, int | None]:
    with pa.memory_map(str(path)) as memory, pi.open_file(memory) as file:
        # counting rows reads the head of every batch, so that a file that was cut short is noticed now
        return _bare(file.schema), sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))


def _read_arrow(path: Path, rows: int, _: dict[str, pa.DataType]) -> Iterator[tuple[pa.RecordBatch, float]]:
    with pa.memory_map(str(path)) as memory, pi.open_file(memory) as file:
        yield from _sliced((file.get_batch(i) for i in range(file.num_record_batches)), rows, lambda: 0.0)


def _look_stream(path: Path, _: dict[str, pa.DataType]) -> tuple[pa.Schema, int | None]:
    with pa.memory_map(str(path)) as memory, pi.open_stream(memory) as stream:
        return _bare(stream.schema), None


def _read_stream(path: Path, rows: int, _: dict[str, pa.DataType]) -> Iterator[tuple[pa.RecordBatch, float]]:
    size = max(path.stat().st_size, 1)
    with pa.memory_map(str(path)) as memory, pi.open_stream(memory) as stream:
        yield from _sliced(stream, rows, lambda: memory.tell() / size)


def _sliced(batches: Any, rows: int, share: Callable[[], float]) -> Iterator[tuple[pa.RecordBatch, float]]:
    for batch in batches:
        batch.validate(full=True)  # an Arrow file is mapped as it is: offsets that point elsewhere must not be followed
        bare = pa.RecordBatch.from_arrays(batch.columns, schema=_bare(batch.schema))
        for start in range(0, bare.num_rows, rows):
            yield bare.slice(start, rows), share()


_LOOKS: dict[str, Callable[[Path, dict[str, pa.DataType]], tuple[pa.Schema, int | None]]] = {
    "Parquet": _look_parquet,
    "CSV": _look_csv,
    "TSV": _look_csv,
    "Arrow": _look_arrow,
    "Arrow stream": _look_stream,
}
_READERS: dict[str, Callable[[Path, int, dict[str, pa.DataType]], Iterator[tuple[pa.RecordBatch, float]]]] = {
    "Parquet": _read_parquet,
    "CSV": _read_csv,
    "TSV": _read_csv,
    "Arrow": _read_arrow,
    "Arrow stream": _read_stream,
}
