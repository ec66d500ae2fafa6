"""Parts that are made elsewhere: by workers that see the same folders.

A worker is told where things are and never what they are: rows of the input by their numbers, the state folder by its
path. It reads both, noises, and writes under a name that nobody else has; when the file is on the disk it gets its own
name in one step. So a part that is made twice, by a worker that was thought to be lost, is the same bytes under the
same name. The ledger is written by the process that sent the work, and by nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from versadp.errors import EngineError
from versadp.noise.words import keystream
from versadp.release.atomic_write import settle
from versadp.release.files.part import Job, make_part
from versadp.release.files.refusals import writing
from versadp.release.files.repartition import Piece
from versadp.release.files.sorting import write_lot
from versadp.release.ledger.state import read_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from versadp.release.files.part import Made
    from versadp.release.files.sorting import Lot, Written
    from versadp.release.files.sources import InputFiles
    from versadp.release.folder.part_file import PartFile
    from versadp.release.ledger.entries import Part
    from versadp.release.mechanism import Mechanism


class Stretch(NamedTuple):
    """The rows of the input that make one part, of files by number, from a row to another; and what is known of it."""

    number: int
    rows: tuple[tuple[int, int, int], ...]
    share: float
    known: Part | None = None


def stretches(counts: list[int], rows: int, known: Mapping[int, Part], *, empty: bool) -> Iterator[Stretch]:
    """Yield stretches of `rows` records out of files, the last perhaps shorter.

    Examples
    --------
    >>> [each.rows for each in stretches([5, 2], 4, {}, empty=False)]
    [((0, 0, 4),), ((0, 4, 5), (1, 0, 2))]
    """
    total = sum(counts)
    starts = [sum(counts[:file]) for file in range(len(counts))]
    for number, start in enumerate(range(0, max(total, int(empty)), rows)):
        stop = min(start + rows, total)
        inside = (
            (file, max(start - first, 0), min(stop - first, count))
            for file, (first, count) in enumerate(zip(starts, counts, strict=True))
        )
        there = tuple(each for each in inside if each[1] < each[2])
        yield Stretch(number, there, stop / max(total, 1), known.get(number))


@dataclass(frozen=True)
class Errand:
    """Errand of a worker that makes parts: all of a `Job` but its secrets, and the path of these.

    Attributes
    ----------
    home : Path
        The state folder.
    check : str
        What tells whether a key is that of the release, and nothing else about it.
    """

    home: Path
    check: str
    source: InputFiles
    mechanism: Mechanism
    release: str
    folder: Path
    rows: int
    offset: int
    frozen: bool
    is_sorted: bool

    def job(self, stretch: Stretch) -> Job:
        """Return the job of a part, with the secrets that are read here."""
        for place, what in ((self.home, "state folder"), (self.folder.parent, "folder of the release")):
            if not place.is_dir():
                raise EngineError(
                    f"a worker does not see the {what}",
                    hint="workers need the same folders under the same paths, as the same user",
                )
        key, digest_key = read_secrets(self.home, self.release, self.check)
        stream = keystream(key, self.mechanism.parameters)
        known = {} if stretch.known is None else {stretch.number: stretch.known}
        rest = self.folder, self.rows, self.offset, known, self.frozen, self.is_sorted
        return Job(self.mechanism, stream, digest_key, self.release, *rest, apart=True)


def make_elsewhere(errand: Errand, stretch: Stretch) -> Made:
    """Read, noise and write a part, and give it its name."""
    batches = [batch for where in stretch.rows for batch in errand.source.between(*where)]
    table = pa.Table.from_batches(batches, schema=errand.source.columns)
    made = make_part(errand.job(stretch), Piece(stretch.number, table, None, stretch.share))
    if made.scratch is None:
        return made
    with writing():
        settle(made.scratch, made.path, wait=not errand.is_sorted)
    return replace(made, scratch=None)


class Asked(NamedTuple):
    """A lot that is asked for, and what the ledger knows of it."""

    number: int
    known: PartFile | None


def sort_here(lots: Lot, asked: Asked) -> Written:
    """Gather, sort and write a lot; `lots` says what all of them have in common."""
    return write_lot(replace(lots, number=asked.number, known=asked.known))


def sort_elsewhere(lots: Lot, asked: Asked) -> Written:
    """Gather, sort and write a lot, and give it its name."""
    written = sort_here(replace(lots, apart=True), asked)
    if written.scratch is None:
        return written
    with writing():
        settle(written.scratch, written.path)
    return replace(written, scratch=None)
