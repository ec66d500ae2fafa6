"""Records of any number in the order of their hashes, in bounded memory: sorted runs, then lots.

Each piece of the input becomes a *run*: its noised rows, sorted, in an Arrow file. When all runs are there, the hashes'
range is cut into *lots* of equal width, one for each part of the release: a lot gathers its rows from all runs, sorts
them, and is written. Hashes are spread evenly, so lots are of nearly equal size. Only noised rows touch the disk; runs
lie in the scratch folder and go with it. Everything is a function of runs that are the same after a crash.

    run  =  Arrow file,  first hashes of its batches,  where they begin and end,  how many
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from versadp.errors import ReleaseError
from versadp.noise.words import SLAB_ROWS
from versadp.release.atomic_write import unsettled
from versadp.release.checkpoints import reached
from versadp.release.direct_io import BUFFER, Rooms, Writer, around, read_between
from versadp.release.files.refusals import cannot_write
from versadp.release.folder.part_file import PartFile
from versadp.release.folder.parts import part_name, write_groups
from versadp.release.path.order import lot_start, row_hash, row_order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from versadp.release.direct_io import Contents
    from versadp.schema import Schema

    Hashes = NDArray[np.uint64]

BATCH = 1024  # rows that are read together
HEAD = 8  # bytes before the first message of an Arrow file
TAIL = struct.Struct("<q8s")  # behind the index of a run: how many batches it has, and that there is one
INDEXES = 2**16  # of runs that are remembered, some kilobytes each: all of 2e10 records
_HASH = "#"  # beside columns whose names are anything but this
_INDEXED = b"VERSADPI"


def run_name(number: int) -> str:
    """Return the name of a run's file."""
    return f"run-{number:05d}.arrow"


def run_rows(part_rows: int) -> int:
    """Return how many rows a run has: fewer than a part, since it is in memory as it came, noised and sorted.

    Examples
    --------
    >>> run_rows(100 * SLAB_ROWS) // SLAB_ROWS, run_rows(SLAB_ROWS) // SLAB_ROWS
    (50, 1)
    """
    return max(part_rows // 2 // SLAB_ROWS, 1) * SLAB_ROWS


def write_run(path: Path, columns: list[pa.ChunkedArray], known: PartFile | None = None) -> Contents:
    """Write noised columns as a sorted run; they are taken out of the list, since none is needed twice.

    A run that is `known`, and is made again, comes out as it was: once runs did not say where their batches lie.
    """
    rows = _with_hashes(columns)
    starts = rows.column(0).to_numpy()[::BATCH]
    with Writer(path) as file:
        with pa.output_stream(file, None, BUFFER) as buffered, pa.ipc.new_file(buffered, rows.schema) as writer:
            places = [HEAD + rows.schema.serialize().size]
            for batch in rows.to_batches(BATCH):
                writer.write_batch(batch)
                places.append(buffered.tell())
        if known is None or file.contents != (known.size, known.sha256):
            file.write(starts.tobytes() + np.array(places).tobytes() + TAIL.pack(len(starts), _INDEXED))
    return file.contents


def _with_hashes(columns: list[pa.ChunkedArray]) -> pa.Table:
    """Return rows in the order of their hashes, which stand before them; numbers are the names of their columns."""
    numbered = {str(number): column for number, column in enumerate(columns)}
    columns.clear()
    hashes = row_hash(numbered)
    order = row_order(numbered, hashes)
    places, moved = pa.array(order), {_HASH: pa.array(hashes[order])}
    for name in list(numbered):  # each goes as it is moved: a run is in memory once
        moved[name] = numbered.pop(name).combine_chunks().take(places)
    return pa.table(moved)


class Index(NamedTuple):
    """Index of a run: its columns, the first hash of each batch, and where batches begin and end."""

    columns: pa.Schema
    starts: Hashes
    places: NDArray[np.int64]


@dataclass(frozen=True)
class SortedRun:
    """A run on disk, of which batches that lie together are read at once; many lots are gathered from many runs."""

    path: Path
    count: int
    size: int
    sha256: str

    def neighbours(self, low: int, high: int) -> Neighbours:
        """Return where the batches lie that may have rows whose hash lies in [low, high)."""
        columns, starts, places = _index(self)
        first = max(int(np.searchsorted(starts, np.uint64(low))) - 1, 0)
        last = int(np.searchsorted(starts, np.uint64(high - 1), side="right"))
        return Neighbours(self, columns, places[first : last + 1].tolist())

    def between(self, start: int, stop: int, into: memoryview | None = None) -> pa.Buffer:
        """Return some bytes of the file."""
        try:
            return read_between(self.path, start, stop, into)
        except EOFError:
            raise _changed() from None


class Neighbours(NamedTuple):
    """Batches of a run that lie together: their columns, and where each begins, and the last one ends."""

    run: SortedRun
    columns: pa.Schema
    places: list[int]

    @property
    def room(self) -> int:
        """Memory that they are read into."""
        low, high = around(self.places[0], self.places[-1])
        return high - low

    def rows(self, low: int, high: int, into: memoryview | None = None) -> list[pa.RecordBatch]:
        """Return the rows whose hash lies in [low, high)."""
        read, begin = self.run.between(self.places[0], self.places[-1], into), self.places[0]
        batches = (
            pa.ipc.read_record_batch(read.slice(start - begin, stop - start), self.columns)
            for start, stop in pairwise(self.places)
        )
        return [_inside(batch, low, high) for batch in batches]


@lru_cache(INDEXES)
def _index(run: SortedRun) -> Index:
    """Return where the batches of a run lie, as it says at its end; runs that were begun once say nothing."""
    end = run.size - TAIL.size
    batches, told = TAIL.unpack(run.between(end, run.size)) if end > 0 else (0, b"")
    if told != _INDEXED:
        return _walked(run)
    if batches != -(-run.count // BATCH):
        raise _changed()
    numbers = np.array(np.frombuffer(run.between(end - 8 * (2 * batches + 1), end), np.int64))
    starts, places = numbers[:batches].view(np.uint64), numbers[batches:]
    return Index(pa.ipc.read_schema(run.between(HEAD, int(places[0]))), starts, places)


def _walked(run: SortedRun) -> Index:
    """Return where the batches of a run lie by going through all of it."""
    file = pa.BufferReader(run.between(HEAD, run.size))
    columns = pa.ipc.read_schema(pa.ipc.read_message(file))
    starts, places, count = [], [HEAD + file.tell()], 0
    while (batch := _next(file, columns)) is not None:
        starts.append(batch.column(0)[0].as_py())
        places.append(HEAD + file.tell())
        count += batch.num_rows
    if count != run.count:  # a file that is cut between batches ends there like any other
        raise _changed()
    return Index(columns, np.array(starts, np.uint64), np.array(places))


def _next(file: pa.NativeFile, columns: pa.Schema) -> pa.RecordBatch | None:
    try:
        return pa.ipc.read_record_batch(pa.ipc.read_message(file), columns)
    except EOFError:
        return None


def _inside(batch: pa.RecordBatch, low: int, high: int) -> pa.RecordBatch:
    hashes = batch.column(0).to_numpy()
    start, stop = np.searchsorted(hashes, np.uint64(low)), np.searchsorted(hashes, np.uint64(high - 1), side="right")
    return batch.slice(start, stop - start)


@dataclass(frozen=True)
class Lot:
    """One part of a sorted release: the rows of all runs whose hashes lie in its share of the range."""

    number: int
    lots: int
    runs: tuple[SortedRun, ...]
    folder: Path
    offset: int
    schema: Schema
    known: PartFile | None = None
    apart: bool = False
    rooms: Rooms = field(default_factory=Rooms, compare=False)

    @property
    def path(self) -> Path:
        """The part's file."""
        return self.folder / part_name(self.offset + self.number)


@dataclass(frozen=True)
class Written:
    """A lot under a temporary name, or found to be there under its own (`scratch` is None)."""

    number: int
    scratch: Path | None
    path: Path
    file: PartFile


def write_lot(lot: Lot) -> Written:
    """Gather, sort and write a lot; what is there already stays."""
    if lot.known is not None and lot.known.is_intact(lot.folder):
        return Written(lot.number, None, lot.path, lot.known)
    table = _gathered(lot)
    scratch = unsettled(lot.path, apart=lot.apart)
    try:
        contents = write_groups(scratch, [table], lot.schema)
    except (OSError, pa.ArrowException) as problem:
        raise cannot_write(problem) from None
    reached("part written")
    return Written(lot.number, scratch, lot.path, PartFile(lot.path.name, table.num_rows, *contents))


def _gathered(lot: Lot) -> pa.Table:
    """Return the rows of a lot in their order; columns are put together one by one, which takes less room."""
    low, high = lot_start(lot.number, lot.lots), lot_start(lot.number + 1, lot.lots)
    found = [run.neighbours(low, high) for run in lot.runs]
    with lot.rooms.of(sum(some.room for some in found)) as room:
        batches, at = list[pa.RecordBatch](), 0
        for some in found:
            batches += some.rows(low, high, room[at : at + some.room])
            at += some.room
        hashes = np.concatenate([batch.column(0).to_numpy() for batch in batches] or [np.empty(0, np.uint64)])
        rows = {
            name: pa.chunked_array([batch.column(number) for batch in batches], kind)
            for number, (name, kind) in enumerate(zip(lot.schema.columns, found[0].columns.types[1:], strict=True), 1)
        }
        places = pa.array(row_order(rows, hashes))
        return pa.table({name: column.combine_chunks().take(places) for name, column in rows.items()})


def give_back() -> None:
    """Give memory back to the system that is free and kept for later, by Arrow and by everybody else."""
    for pool in (pa.default_memory_pool(), pa.system_memory_pool()):
        pool.release_unused()


def read_runs(folder: Path, files: Sequence[PartFile]) -> tuple[SortedRun, ...]:
    """Return runs that were just made, or found to be there to the last byte."""
    if not all(file.is_in(folder) for file in files):
        raise _changed()
    return tuple(SortedRun(folder / file.name, file.rows, file.size, file.sha256) for file in files)


def _changed() -> ReleaseError:
    return ReleaseError("the scratch folder was changed meanwhile", hint="run the same command again")
