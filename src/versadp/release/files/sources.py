"""Files to release: Parquet (also folders of it), CSV and Arrow, read piece by piece.

A file is judged before anything is read from it (its kind, its footer, its columns and their types), and whatever goes
wrong later becomes our own error: arrow's would show values. How a file is cut into pieces does not matter to what is
released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import pyarrow as pa

from versadp.errors import DataError, VersadpError
from versadp.release.files.formats import FORMATS, read_places, size_of, text_types
from versadp.release.files.queries import Query, open_query
from versadp.release.files.text_problems import problems_of_table, problems_of_text, unread_column
from versadp.release.object_store import Stored, place_of
from versadp.release.path.table import read_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from versadp.release.files.formats import Place
    from versadp.schema import Schema

BATCH_ROWS = 2**17
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh91AY&", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")
_STILL = "release a file to which nobody is writing"
_DAMAGED = (pa.ArrowException, OSError, ValueError, TypeError, EOFError, MemoryError)


@runtime_checkable
class Source(Protocol):
    """Records to release, in the same order each time they are asked for: files, a query, or a source of one's own.

    Batches are held for a while and are read by other threads: their memory must not be written to again.
    """

    @property
    def columns(self) -> pa.Schema:
        """Columns of every batch."""
        ...

    @property
    def rows(self) -> int | None:
        """Number of records, if it is known before they are read."""
        ...

    def batches(self, rows: int = ...) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield the records in batches of at most `rows`, each with the share of the whole that is then read."""
        ...


@dataclass(frozen=True)
class InputFiles:
    """One or more files of one kind with the same columns; made by `open_source`."""

    kind: str
    files: tuple[Place, ...]
    rows: int | None
    columns: pa.Schema
    _types: dict[str, pa.DataType]
    _omitted: tuple[str, ...] = ()

    def batches(self, rows: int = BATCH_ROWS) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield the records in batches of at most `rows`, each with the share of the whole that is then read."""
        done, sizes = 0, [size_of(path) for path in self.files]
        for number, path in enumerate(self.files):
            with _Reading(path, self.kind):
                for whole, share in FORMATS[self.kind].read(path, rows, self._types):
                    batch = _without(whole, self._omitted)
                    if batch.schema != self.columns:
                        raise DataError(f"{path.name} changed its columns while it was being read", hint=_STILL)
                    done += batch.num_rows
                    read = sum(sizes[:number]) + share * sizes[number]
                    yield batch, read / max(sum(sizes), 1) if self.rows is None else done / max(self.rows, 1)
        if self.rows is not None and done != self.rows:  # arrow ends early, without a word, when a file is cut
            raise DataError(f"{done} of {self.rows} records were read: a file was changed meanwhile", hint=_STILL)

    @property
    def has_places(self) -> bool:
        """True if rows can be read by their numbers."""
        return self.kind == "Parquet"

    def counts(self) -> list[int]:
        """Return the number of rows of each file that has places."""
        counts = []
        for path in self.files:
            with _Reading(path, self.kind):
                counts.append(FORMATS[self.kind].look(path, self._types)[1] or 0)
        return counts

    def between(self, file: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file that has places, from one row to another."""
        path, done = self.files[file], 0
        with _Reading(path, self.kind):
            for whole in read_places(path, start, stop):
                batch = _without(whole, self._omitted)
                if batch.schema != self.columns:
                    raise DataError(f"{path.name} changed its columns meanwhile", hint=_STILL)
                done += batch.num_rows
                yield batch
        if done != stop - start:
            raise DataError(f"{done} of {stop - start} records were read: {path.name} was changed", hint=_STILL)


def _without(batch: pa.RecordBatch, omitted: tuple[str, ...]) -> pa.RecordBatch:
    """Return a batch without the columns that are not to be released."""
    if not omitted:
        return batch
    return batch.select([number for number, name in enumerate(batch.schema.names) if name not in omitted])


class _Reading:
    """Turns what arrow and the system say about a damaged file into our error, without their words."""

    def __init__(self, path: Place, kind: str) -> None:
        self._path, self._kind = path, kind

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, _DAMAGED) and not isinstance(problem, VersadpError):
            # raised anew and not chained: arrow's message would show what stands in the file
            if name := unread_column(self._path, str(problem)):
                raise DataError(
                    f"{self._path.name} cannot be read as {self._kind}: "
                    f"column {name!r} holds other values too, text among numbers",
                    hint="mend it, or declare the column as categorical, public or omitted; missing is an empty cell",
                ) from None
            raise DataError(
                f"{self._path.name} cannot be read as {self._kind} ({type(problem).__name__})",
                hint="it is damaged, cut short, changes its columns or types, is not in UTF-8, or is no such file",
            ) from None


def open_source(path: str | Path, schema: Schema | None = None) -> InputFiles:
    """Look at files without reading their records.

    Parameters
    ----------
    path : str or Path
        A file, or a folder of Parquet files, which are read in the order of their names.
    schema : Schema, optional
        Says how text in a CSV file is to be read.
    """
    place = place_of(path, "a file of data, or a folder of Parquet files")
    kind, files = _find(place)
    types = {} if schema is None else text_types(schema)
    first: pa.Schema | None = None
    rows: int | None = 0
    for file in files:
        with _Reading(file, kind):
            columns, count = FORMATS[kind].look(file, types)
        if first is not None and columns != first:
            raise DataError(
                f"the columns of {file.name} are not those of {files[0].name}: {_difference(first, columns)}",
                hint="all files of a folder need the same columns, in the same order and of the same types",
            )
        first = columns
        rows = None if count is None or rows is None else rows + count
    assert first is not None
    omitted = () if schema is None else schema.omitted
    kept = pa.schema([field for field in first if field.name not in omitted])
    return InputFiles(kind, files, rows, kept, types, omitted)


@dataclass(frozen=True)
class HeldToItsWord:
    """A source of one's own, whose batches are what it says of itself."""

    source: Source

    @property
    def columns(self) -> pa.Schema:
        """Columns of every batch."""
        return self.source.columns

    @property
    def rows(self) -> int | None:
        """Number of records, if it is known before they are read."""
        return self.source.rows

    def batches(self, rows: int = BATCH_ROWS) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield the records in batches of at most `rows`, each with the share of the whole that is then read."""
        done, given = 0, self.source.batches(rows)
        while (some := self._next(given)) is not None:
            batch, share = some
            if not isinstance(batch, pa.RecordBatch) or batch.schema != self.columns:
                raise DataError("a batch has other columns than its source says", hint="give all batches the same")
            done += batch.num_rows
            yield batch, share
        if self.rows not in {None, done}:
            raise DataError(f"the source gave {done} records, and said {self.rows}", hint="give the same each time")

    @staticmethod
    def _next(given: Iterator[tuple[pa.RecordBatch, float]]) -> tuple[pa.RecordBatch, float] | None:
        try:
            return next(given, None)
        except (pa.ArrowException, OSError) as problem:  # whose words may show values, or be taken for our own
            raise DataError(f"the source cannot be read ({type(problem).__name__})", hint="read it by itself") from None


def _held(source: Source) -> Source:
    """Return a source of one's own that is held to its word, which must be one."""
    if not isinstance(source.columns, pa.Schema) or not (source.rows is None or isinstance(source.rows, int)):
        raise DataError(
            "a source says its columns as a pyarrow.Schema, and its rows as a number or None",
            hint="see docs/guides/sources.md",
        )
    return HeldToItsWord(source)


def open_fitting(data: str | Path | Query | Source, schema: Schema, home: Path | None = None) -> Source:
    """Look at files, or ask a query, and refuse, before anything is done, columns that do not fit the schema.

    A query may sort on the disk in the state folder `home`.
    """
    source: Source
    if isinstance(data, Source):
        source = _held(data)
    else:
        source = open_query(data, schema, home) if isinstance(data, Query) else _open_files(data, schema)
    try:
        read_table(source.columns.empty_table(), schema)
    except DataError as problem:
        raise _of_first_records(source, schema) or problem from None
    except pa.ArrowException:  # there are types of which arrow makes no table
        raise DataError("a column is of a kind that cannot be released", hint="drop it, or convert it") from None
    return source


def _of_first_records(source: Source, schema: Schema) -> DataError | None:
    """Return all problems of the first records of files whose columns do not fit; a query is not asked for it."""
    if not isinstance(source, InputFiles):
        return None
    try:
        batch, _ = next(source.batches(), (None, 0.0))
    except DataError:
        return None
    return None if batch is None else problems_of_table(pa.Table.from_batches([batch]), schema)


def _open_files(data: str | Path, schema: Schema) -> InputFiles:
    """Open files; of a text file whose columns are not what the schema says, tell all problems of its first lines."""
    try:
        return open_source(data, schema)
    except DataError:
        place = place_of(data, "a file of data, or a folder of Parquet files")
        if _is_text_file(place) and (found := problems_of_text(place, schema)) is not None:
            raise found from None
        raise


def _is_text_file(place: Place) -> bool:
    """Return whether a place holds a text file that can be read once more, unlike a pipe."""
    try:
        ordinary = isinstance(place, Stored) or place.is_file()
    except OSError:
        return False
    return ordinary and place.suffix.lower() in {".csv", ".tsv", ".txt"}


def _find(place: Place) -> tuple[str, tuple[Place, ...]]:
    if isinstance(place, Stored):
        return _find_stored(place)
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


def _find_stored(place: Stored) -> tuple[str, tuple[Place, ...]]:
    if place.size() is not None:
        return _kind(place), (place,)
    if place.is_dir():
        return "Parquet", _all_parquet(place, place.files(".parquet"))
    raise DataError(f"there is nothing at {place}", hint="give an object, or a folder of Parquet files")


def _unopened(path: Place, problem: OSError) -> DataError:
    return DataError(
        f"{path.name[:99]!r} cannot be opened ({type(problem).__name__})", hint="check path and permissions"
    )


def _parquet_files(place: Path) -> tuple[Place, ...]:
    found = sorted(
        path for path in place.rglob("*.parquet") if not any(p.startswith(".") for p in path.relative_to(place).parts)
    )
    return _all_parquet(place, found)


def _all_parquet(place: Place, found: Sequence[Place]) -> tuple[Place, ...]:
    if not found:
        raise DataError(f"there is no Parquet file in {place.name!r}", hint="give a file, or a folder of Parquet files")
    for path in found:
        if _kind(path) != "Parquet":
            raise DataError(f"{path.name} is not a Parquet file", hint="it is damaged or something else")
    return tuple(found)


def _kind(path: Place) -> str:
    try:
        with path.open() if isinstance(path, Stored) else path.open("rb") as file:
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
