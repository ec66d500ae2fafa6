"""Records of any number in the order of their hashes, in bounded memory: sorted runs, then lots.

Each piece of the input becomes a *run*: its noised rows, sorted, in an Arrow file. When all runs are there, the hashes'
range is cut into *lots* of equal width, one for each part of the release: a lot gathers its rows from all runs, sorts
them, and is written. Hashes are spread evenly, so lots are of nearly equal size. Only noised rows touch the disk; runs
lie in the scratch folder and go with it. Everything is a function of runs that are the same after a crash.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from versadp.errors import ReleaseError
from versadp.noise.words import SLAB_ROWS
from versadp.release.checkpoints import reached
from versadp.release.durable import unsettled
from versadp.release.files.refusals import cannot_write
from versadp.release.folder.parts import part_name, write_groups
from versadp.release.path.order import lot_start, row_hash, row_order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from versadp.release.folder.manifest import PartFile
    from versadp.schema import Schema

    Hashes = NDArray[np.uint64]

BATCH = 1024  # rows that are read together
BUFFER = 2**22  # bytes that are written together: a batch has dozens of small buffers
HEAD = 8  # bytes before the first message of an Arrow file
INDEXES = 2**16  # of runs that are remembered, some kilobytes each: all of 2e10 records
_HASH = "#"  # beside columns whose names are anything but this


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


def write_run(path: Path, columns: list[pa.ChunkedArray]) -> None:
    """Write noised columns as a sorted run; they are taken out of the list, since none is needed twice."""
    rows = _with_hashes(columns)
    with pa.output_stream(str(path), None, BUFFER) as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=BATCH)


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
    """What is remembered of a run: its columns, the first hash of each batch, and where batches begin and end."""

    columns: pa.Schema
    starts: Hashes
    places: NDArray[np.int64]


@dataclass(frozen=True)
class SortedRun:
    """A run on disk, of which batches that lie together are read at once; many lots are gathered from many runs."""

    path: Path
    count: int
    sha256: str

    def rows(self, low: int, high: int) -> tuple[pa.Schema, list[pa.RecordBatch]]:
        """Return the rows whose hash lies in [low, high), and what their columns are."""
        columns, starts, places = _index(self)
        first = max(int(np.searchsorted(starts, np.uint64(low))) - 1, 0)
        last = int(np.searchsorted(starts, np.uint64(high - 1), side="right"))
        ends = (places[first : last + 1] - places[first]).tolist()
        with pa.OSFile(str(self.path)) as file:
            file.seek(places[first])
            read = file.read_buffer(ends[-1])
        batches = (pa.ipc.read_record_batch(read.slice(begin, end - begin), columns) for begin, end in pairwise(ends))
        return columns, [_inside(batch, low, high) for batch in batches]


@lru_cache(INDEXES)
def _index(run: SortedRun) -> Index:
    """Return where the batches of a run lie; of their rows only the first is looked at."""
    with pa.memory_map(str(run.path)) as file:
        file.seek(HEAD)
        columns = pa.ipc.read_schema(pa.ipc.read_message(file))
        starts, places, count = [], [file.tell()], 0
        while (batch := _next(file, columns)) is not None:
            starts.append(batch.column(0)[0].as_py())
            places.append(file.tell())
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

    @property
    def path(self) -> Path:
        """The part's file."""
        return self.folder / part_name(self.offset + self.number)


@dataclass(frozen=True)
class Written:
    """A lot under a temporary name, or found to be there already (`scratch` is None); `file` if it has its own."""

    number: int
    rows: int
    scratch: Path | None
    path: Path
    file: PartFile | None = None


def write_lot(lot: Lot) -> Written:
    """Gather, sort and write a lot; what is there already stays."""
    if lot.known is not None and lot.known.is_intact(lot.folder):
        return Written(lot.number, lot.known.rows, None, lot.path)
    table = _gathered(lot)
    scratch = unsettled(lot.path, apart=lot.apart)
    try:
        write_groups(scratch, [table], lot.schema)
    except (OSError, pa.ArrowException) as problem:
        raise cannot_write(problem) from None
    reached("part written")
    return Written(lot.number, table.num_rows, scratch, lot.path)


def _gathered(lot: Lot) -> pa.Table:
    """Return the rows of a lot in their order."""
    table = _collected(lot)
    hashes = table.column(0).to_numpy()
    rows = pa.table(table.columns[1:], list(lot.schema.columns))
    return rows.take(pa.array(row_order(dict(zip(rows.column_names, rows.columns, strict=True)), hashes)))


def _collected(lot: Lot) -> pa.Table:
    """Return the rows of a lot, one run after the other; what was read of the runs is let go of."""
    low, high = lot_start(lot.number, lot.lots), lot_start(lot.number + 1, lot.lots)
    batches: list[pa.RecordBatch] = []
    kinds: pa.Schema | None = None
    for run in lot.runs:
        kinds, found = run.rows(low, high)
        batches += found
    assert kinds is not None
    return pa.Table.from_batches(batches, kinds).combine_chunks()


def read_runs(folder: Path, files: Sequence[PartFile]) -> tuple[SortedRun, ...]:
    """Return runs that were just made, or found to be there to the last byte."""
    if not all(file.is_in(folder) for file in files):
        raise _changed()
    return tuple(SortedRun(folder / file.name, file.rows, file.sha256) for file in files)


def _changed() -> ReleaseError:
    return ReleaseError("the scratch folder was changed meanwhile", hint="run the same command again")
