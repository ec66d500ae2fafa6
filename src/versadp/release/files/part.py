"""One part, from records to a file under a temporary name: the work that runs on all cores."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from versadp.engine import Serial
from versadp.errors import DataError, KeyMaterialError, StateError
from versadp.noise.words import SLAB_ROWS
from versadp.release.atomic_write import unsettled
from versadp.release.checkpoints import reached
from versadp.release.files.refusals import cannot_write
from versadp.release.files.repartition import VERSION, looked_at
from versadp.release.files.sorting import run_name, write_run
from versadp.release.folder.part_file import PartFile
from versadp.release.folder.parts import GROUP_ROWS, part_name, released_table, write_groups
from versadp.release.ledger.digests import PartDigest
from versadp.release.path.noised import noise_table, witness_table
from versadp.release.path.order import count_alike
from versadp.release.path.table import read_table, survey

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from versadp.noise.words import Keystream
    from versadp.release.files.repartition import Piece, Rows
    from versadp.release.ledger.entries import Part
    from versadp.release.mechanism import Mechanism
    from versadp.release.path.table import Table
    from versadp.release.totals.count import RunningTotals

    Totals = NDArray[np.int64]
    Group = tuple[Table, int, NDArray[np.uint64] | None]


@dataclass(frozen=True)
class Job:
    """Facts that all parts of an intake have in common.

    `offset` is the number of parts that the release has already, `known` what the ledger says about those that an
    earlier process made of this intake. A frozen job writes nothing: it holds records against a release that is
    complete. If records are to be sorted, parts are runs (`sorting.py`), of which a complete release keeps none. Work
    that is done `apart`, on a cluster, may be under way twice (`worker.py`).
    """

    mechanism: Mechanism
    stream: Keystream = field(repr=False)
    digest_key: bytes = field(repr=False)
    release: str
    folder: Path
    rows: int
    offset: int
    known: Mapping[int, Part]
    frozen: bool = False
    is_sorted: bool = False
    apart: bool = False

    def __reduce__(self) -> tuple[object, ...]:
        raise KeyMaterialError("a job holds secrets and cannot be pickled", hint="use the engine 'local' or 'serial'")

    def path(self, piece: Piece) -> Path:
        """Return the part's file."""
        name = run_name if self.is_sorted else part_name
        return self.folder / name(self.offset + piece.number)

    def has(self, known: Part) -> bool:
        """Return whether a part that the ledger knows need not be made."""
        return (self.frozen and self.is_sorted) or known.file.is_intact(self.folder)


@dataclass(frozen=True)
class Made:
    """A part under a temporary name, or found to be there under its own (`scratch` is None)."""

    number: int
    input: str
    outside: dict[str, int]
    scratch: Path | None
    path: Path
    people: Rows | None
    share: float
    alike: tuple[pa.Table | None, ...]
    file: PartFile
    totals: Totals | None = None


def make_part(job: Job, piece: Piece) -> Made:
    """Noise a part and write it; digest and noise share one pass over the records."""
    path, known = job.path(piece), job.known.get(piece.number)
    digest = PartDigest(job.digest_key, job.release, job.offset + piece.number)
    outside: Counter[str] = Counter()
    alike: list[pa.Table | None] = []
    running = job.mechanism.running_totals()
    scratch = None
    if known is not None and job.has(known):
        file = known.file
        counted = None if job.frozen else running
        for table, at, versions in _tables(job, piece, outside, alike):
            layout = job.mechanism.layout
            witness_table(layout, table, job.stream, first=at, witness=digest, versions=versions, totals=counted)
            digest.rest(table, at)
    elif job.frozen:
        raise StateError("a part is missing or was changed, or there are more records than parts")
    else:
        scratch = unsettled(path, apart=job.apart)
        try:
            groups = _groups(job, digest, _tables(job, piece, outside, alike), running)
            if job.is_sorted:
                before = None if known is None else known.file
                contents = write_run(scratch, pa.concat_tables(groups).columns, before)
            else:
                contents = write_groups(scratch, groups, job.mechanism.schema)
        except (OSError, pa.ArrowException) as problem:
            raise cannot_write(problem) from None
        reached("part written")
        file = PartFile(path.name, piece.table.num_rows, *contents)
    told = digest.finish(), dict(outside)
    sums = None if running is None else running.sums
    return Made(piece.number, *told, scratch, path, piece.people, piece.share, tuple(alike), file, sums)


def _tables(job: Job, piece: Piece, outside: Counter[str], alike: list[pa.Table | None]) -> Iterator[Group]:
    """Yield a piece group by group, checked and counted, each with the number of its first slab and its versions."""
    schema, first = job.mechanism.schema, piece.number * (job.rows // SLAB_ROWS)
    for start in range(0, max(piece.table.num_rows, 1), GROUP_ROWS):
        try:
            some = piece.table.slice(start, GROUP_ROWS)
            with looked_at(some.num_rows):
                table = read_table(some, schema)
        except pa.ArrowException as problem:  # whose words may show values
            raise DataError(f"a column cannot be read ({type(problem).__name__})", hint="convert it first") from None
        outside.update(survey(table, schema))
        if job.is_sorted:
            alike.append(count_alike(table.shown(schema)))
        versions = None if piece.people is None else piece.people[start : start + table.rows, VERSION]
        yield table, first + start // SLAB_ROWS, versions


def _groups(job: Job, digest: PartDigest, tables: Iterator[Group], totals: RunningTotals | None) -> Iterator[pa.Table]:
    layout, engine = job.mechanism.layout, Serial()
    for table, at, versions in tables:
        noised = noise_table(
            layout, table, job.stream, engine, first=at, witness=digest, versions=versions, totals=totals
        )
        digest.rest(table, at)
        yield released_table(table, noised, job.mechanism.released_schema)
