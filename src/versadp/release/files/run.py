"""One pass over a source into an intake of a release, in the order that survives a crash.

Each part is written under a temporary name, synced, renamed and marked in the ledger; the manifest comes last; then the
records appear in one step. Noise is a pure function of key and content, so whoever comes after a crash makes the same
bytes. What was done already is asked of the ledger every time, and kept nowhere else.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from versadp import inputs
from versadp.engine import as_engine
from versadp.errors import DataError, ParameterError, ReleaseError, SpentError
from versadp.noise.words import SLAB_ROWS, keystream
from versadp.release.durable import settle, sync_folder
from versadp.release.files.begin import give_up
from versadp.release.files.part import Job, Made, make_part
from versadp.release.files.pieces import Screen, pieces, telling, unscreened
from versadp.release.files.refusals import changed, otherwise
from versadp.release.files.sources import BATCH_ROWS, InputFiles
from versadp.release.folder import folder as folders
from versadp.release.folder.manifest import Manifest, PartFile, read_manifest
from versadp.release.folder.parts import part_rows
from versadp.release.ledger.entries import Done, Part, Publish
from versadp.release.ledger.people import People
from versadp.release.path.table import warn_outside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from versadp.engine import Engine
    from versadp.release.files.pieces import Piece
    from versadp.release.ledger.history import History, Intake
    from versadp.release.ledger.state import State
    from versadp.release.mechanism import Mechanism


@dataclass(frozen=True)
class Feed:
    """A source, and how it is read: what is released depends on the source alone."""

    source: InputFiles
    batch_rows: int = BATCH_ROWS
    engine: str | Engine = "auto"
    progress: Callable[[float], None] | None = None

    def __post_init__(self) -> None:
        inputs.whole("batch_rows", self.batch_rows, 1)
        if as_engine(self.engine).name == "processes":
            raise ParameterError(
                "files are released on threads: keys are not sent to other processes",
                hint="engine 'threads' or 'local'",
            )


@dataclass
class Run:
    """One pass over a source into an intake of a release, which the ledger knows by name and number."""

    state: State
    feed: Feed
    mechanism: Mechanism
    name: str
    number: int
    screen: Screen | None = field(default=None, init=False)

    @property
    def history(self) -> History:
        """The release, as the ledger knows it by now."""
        return self.state.ledger.histories[self.name]

    @property
    def intake(self) -> Intake:
        """The intake, as the ledger knows it by now."""
        return self.history.intakes[self.number]

    def parts(self, scratch: Path, *, empty: bool, frozen: bool = False) -> None:
        """Make all parts of the intake that are not there yet, or with `frozen` check that all are."""
        job = self._job(scratch, frozen=frozen)
        if not frozen:
            self._make_scratch(scratch)
        try:
            made = 0
            for part in as_engine(self.feed.engine).map(partial(make_part, job), self._pieces(job, empty=empty)):
                self._mark(part)
                made += 1
            if made < len(job.known):
                raise changed()
        except (DataError, SpentError):
            if self.intake.publish is None:
                give_up(self.state, self.name, scratch.parent)
            raise
        warn_outside(_outside(self.intake))

    def _job(self, scratch: Path, *, frozen: bool) -> Job:
        stream = keystream(self.state.key(self.name, self.history.begin.check), self.mechanism.parameters)
        earlier = [intake for intake in self.history.intakes[: self.number] if intake.status == "done"]
        offset = sum(len(intake.parts) for intake in earlier)
        rows = part_rows(self.mechanism.schema, folders.PART_ROWS)
        assert rows % SLAB_ROWS == 0
        key, known = self.state.digest_key, self.intake.parts
        return Job(self.mechanism, stream, key, self.name, scratch, rows, offset, known, frozen)

    def _make_scratch(self, scratch: Path) -> None:
        try:
            scratch.parent.mkdir(mode=0o700, exist_ok=True)
            scratch.mkdir(exist_ok=True)
        except OSError:
            if not self.intake.parts and self.intake.publish is None:  # nothing was made: the intent is taken back
                give_up(self.state, self.name, scratch.parent)
            raise

    def _pieces(self, job: Job, *, empty: bool) -> Iterator[Piece]:
        source = self.feed.source
        batches = source.batches(self.feed.batch_rows)
        if self.mechanism.schema.id is None:
            screened = unscreened(batches)
        else:
            self.screen = self._screen()
            screened = self.screen(batches)
        return pieces(telling(screened, self.feed.progress), job.rows, source.columns, empty=empty)

    def _screen(self) -> Screen:
        before, ledger, begin = People(), self.state.ledger, self.intake.begin
        for part, rows in ledger.people(before=begin):
            if ledger.histories[part.release].intakes[part.intake].status != "abandoned":
                before.add(rows)
        charge, budget = self.history.begin.charge, self.state.first.budget
        return Screen(self.mechanism, self.state.digest_key, self.name, charge, before, budget, begin.again)

    def _mark(self, made: Made) -> None:
        """Give a part its name and write it into the ledger; or check that it is the part that the ledger knows."""
        known = self.intake.parts[made.number] if made.number < len(self.intake.parts) else None
        if (known is None and self.intake.publish is not None) or (known is not None and known.input != made.input):
            raise changed()
        if made.scratch is not None:
            settle(made.scratch, made.path)
        if known is None:
            part = Part(
                release=self.name,
                intake=self.number,
                number=made.number,
                input=made.input,
                file=PartFile.of(made.path, made.rows),
                outside=made.outside,
            )
            self.state.ledger.add_part(part, None if made.people is None else made.people[made.people[:, 0].argsort()])
        elif made.scratch is not None and PartFile.of(made.path, made.rows) != known.file:
            raise otherwise("a part")

    def publish(self, scratch: Path, files: Iterable[PartFile]) -> None:
        """Write the manifest, and what it will be into the ledger."""
        if self.intake.publish is not None and _manifest_in(scratch) == self.intake.publish:
            return  # it was announced as it stands; another version might choose other words
        manifest = Manifest.of(self.mechanism, files)
        manifest.write(scratch)
        sync_folder(scratch)
        sync_folder(scratch.parent)
        if self.intake.publish is None:
            self.state.ledger.add(Publish(self.name, self.number, manifest.digest))
        elif self.intake.publish != manifest.digest:
            raise otherwise("the manifest")

    def done(self) -> None:
        """Mark the intake as done."""
        if self.intake.status == "running":
            self.state.ledger.add(Done(self.name, self.number))


def _manifest_in(scratch: Path) -> str | None:
    """Return the digest of the manifest that stands in a folder, if one does."""
    try:
        return read_manifest(scratch).digest
    except ReleaseError:
        return None


def _outside(intake: Intake) -> dict[str, int]:
    """Return how many values of each column lay outside its bounds, over all parts."""
    outside: Counter[str] = Counter()
    for part in intake.parts:
        outside.update(part.outside)
    return dict(outside)
