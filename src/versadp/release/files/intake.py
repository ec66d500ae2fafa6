"""One pass over a source into an intake of a release, in the order that survives a crash.

Each part is written under a temporary name, synced, renamed and marked in the ledger; the manifest comes last; then the
records appear in one step. Noise is a pure function of key and content, so whoever comes after a crash makes the same
bytes. What was done already is asked of the ledger every time, and kept nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from versadp import inputs
from versadp.engine import as_engine, at_work, is_remote, local_engine
from versadp.errors import DataError, ParameterError, ReleaseError, SpentError
from versadp.noise.words import SLAB_ROWS, keystream, mac
from versadp.release.atomic_write import settle, sync_folder
from versadp.release.checkpoints import reached
from versadp.release.files.intent import give_up
from versadp.release.files.keep_rows import KeptRows
from versadp.release.files.outside import values_outside, warn_more_outside
from versadp.release.files.part import Job, Made, make_part
from versadp.release.files.refusals import changed, lost, otherwise, too_weak
from versadp.release.files.repartition import Screen, pieces, telling, unscreened
from versadp.release.files.sorting import Lot, give_back, read_runs, run_rows
from versadp.release.files.sources import BATCH_ROWS, InputFiles
from versadp.release.files.worker import Asked, Errand, make_elsewhere, sort_elsewhere, sort_here, stretches
from versadp.release.folder import folder as folders
from versadp.release.folder.editions import Batch
from versadp.release.folder.manifest import Manifest, read_manifest
from versadp.release.folder.parts import part_rows
from versadp.release.ledger.digests import charged_rows
from versadp.release.ledger.editions import editions_before
from versadp.release.ledger.entries import Done, Output, Part, Publish, Sheet, Sort
from versadp.release.ledger.exposure import exposure_before
from versadp.release.path.order import KEPT, Alike, Order, lots_of
from versadp.release.path.table import warn_outside
from versadp.release.target.statement import is_weaker
from versadp.release.totals.file import write_totals
from versadp.release.totals.noise import noisy_totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.release.files.repartition import Piece
    from versadp.release.files.sources import Source
    from versadp.release.folder.part_file import PartFile
    from versadp.release.ledger.history import History, Intake
    from versadp.release.ledger.state import State
    from versadp.release.mechanism import Mechanism


@dataclass(frozen=True)
class Feed:
    """A source, and how it is read: what is released depends on the source alone."""

    source: Source
    batch_rows: int = BATCH_ROWS
    engine: str | Engine = "auto"
    progress: Callable[[float], None] | None = None

    def __post_init__(self) -> None:
        inputs.whole("batch_rows", self.batch_rows, 1)
        if as_engine(self.engine).name == "processes":
            raise ParameterError(
                "files are released on threads: keys are not sent to other processes",
                hint="engine 'local' or 'serial'",
            )

    def keeping(self, keep_rows: int | None, mechanism: Mechanism, state: State, history: History) -> Feed:
        """Return the feed with a limited number of rows per person, which the key of the release chooses."""
        if keep_rows is None:
            return self
        key = state.key(history.name, history.begin.check)
        return replace(self, source=KeptRows(self.source, mechanism, keep_rows, key, state.folder))


@dataclass
class Run:
    """One pass over a source into an intake of a release, which the ledger knows by name and number."""

    state: State
    feed: Feed
    mechanism: Mechanism
    name: str
    number: int
    accept_weaker: bool = False
    screen: Screen | None = field(default=None, init=False)
    totals: NDArray[np.int64] | None = field(default=None, init=False, repr=False)

    @property
    def history(self) -> History:
        """The release, as the ledger knows it by now."""
        return self.state.ledger.histories[self.name]

    @property
    def intake(self) -> Intake:
        """The intake, as the ledger knows it by now."""
        return self.history.intakes[self.number]

    @property
    def order(self) -> Order:
        """Order of the records of the release, with those of this intake."""
        return Order(tuple(batch.alike or 0 for batch in self.batches)) if self.is_sorted else KEPT

    @property
    def batches(self) -> tuple[Batch, ...]:
        """Batches of people who were released together, up to this intake."""
        return tuple(
            Batch(sum(file.rows for file in intake.files), len(intake.files), intake.alike, intake.weaker)
            for intake in (*self._done_before, self.intake)
        )

    @property
    def is_sorted(self) -> bool:
        """True if records are sorted by their hashes."""
        return self.history.is_sorted

    def make(self, scratch: Path, *, empty: bool) -> None:
        """Make all files of the intake that are not there yet."""
        with at_work(self.feed.engine) as engine:
            if not self.is_sorted:
                self.parts(scratch, engine, empty=empty)
                return
            runs = scratch.with_name("runs")
            alike = self.parts(runs, engine, empty=empty)
            if self.intake.parts:
                self._count(alike, scratch.parent)
                self._make_scratch(scratch)
                self._sort(runs, scratch, engine)

    def check(self, place: Path) -> None:
        """Check that a complete release was made of these records."""
        with at_work(self.feed.engine) as engine:
            self.parts(place, engine, empty=True, frozen=True)
        if self.is_sorted and not all(file.is_intact(place) for file in self.intake.files):
            raise changed()

    def parts(self, scratch: Path, engine: Engine, *, empty: bool, frozen: bool = False) -> int:
        """Make all parts, or runs, that are not there yet, or with `frozen` check that all are; count records alike."""
        job = self._job(scratch, frozen=frozen)
        if not frozen:
            self._make_scratch(scratch)
        rows, alike = 0, Alike()
        self.totals = None
        try:
            made = 0
            for part in self._made(job, engine, empty=empty):
                self._mark(part)
                alike.add(part.alike)
                if part.totals is not None:
                    self.totals = part.totals if self.totals is None else self.totals + part.totals
                made, rows = made + 1, rows + part.file.rows
            if made < len(job.known):
                raise changed()
        except (DataError, SpentError):
            if self.intake.publish is None:
                give_up(self.state, self.name, scratch.parent)
            raise
        warn_outside(values_outside(self.intake))
        warn_more_outside(self.history, self.intake)
        return alike.smallest(rows)

    def _made(self, job: Job, engine: Engine, *, empty: bool) -> Iterator[Made]:
        """Yield all parts as they are made: by workers that read the input themselves, or here.

        People with an id are looked up here, where the ledger is, and so they are read and noised here.
        """
        source = self.feed.source
        here = not is_remote(engine) or self.mechanism.schema.id is not None
        if here or not isinstance(source, InputFiles) or not source.has_places:  # a stream has no places to send
            local = local_engine(engine)
            yield from local.map(partial(make_part, job), self._pieces(job, local, empty=empty))
            return
        rest = job.folder, job.rows, job.offset, job.frozen, job.is_sorted
        errand = Errand(self.state.folder, self.history.begin.check, source, job.mechanism, job.release, *rest)
        asked = stretches(source.counts(), job.rows, job.known, empty=empty)
        for part in engine.map(partial(make_elsewhere, errand), asked):
            yield part
            if self.feed.progress is not None:
                self.feed.progress(part.share)

    def _count(self, alike: int, scratch: Path) -> None:
        """Write into the ledger how many records are alike; refuse if they are fewer than was calibrated for."""
        if self.intake.alike is not None:
            return
        try:
            weaker = self._is_weaker(alike)
        except ReleaseError:
            give_up(self.state, self.name, scratch)
            raise
        self.state.ledger.add(Sort(self.name, self.number, alike, weaker or None))

    def _is_weaker(self, alike: int) -> bool:
        """Return whether people are added who are protected less than the others; refuse if that was not accepted."""
        before = self.history.order
        if not before.alike:
            Order((alike,)).check(self.mechanism)
            return False
        if not is_weaker(self.mechanism, before, alike):
            return False
        # what was made for a shuffle is charged by it, so who hides among fewer needs a charge of their own
        if self.accept_weaker and (self.mechanism.target is None or self.history.has_own_charge(self.number)):
            return True
        raise too_weak(self.mechanism, before, alike)

    def _sort(self, runs: Path, scratch: Path, engine: Engine) -> None:
        """Make the parts that are not there yet out of all runs."""
        files = [part.file for part in self.intake.parts]
        rows = sum(file.rows for file in files)
        lots = lots_of(rows, self._part_rows)
        known = self.intake.files
        offset = sum(len(i.files) for i in self.history.intakes[: self.number] if i.status == "done")
        sources, schema = read_runs(runs, files), self.mechanism.schema
        whole = Lot(0, lots, sources, scratch, offset, schema)
        asked = [Asked(number, known[number] if number < len(known) else None) for number in range(lots)]
        work = sort_elsewhere if is_remote(engine) else sort_here
        gathered = 0
        give_back()  # of what runs took, little is of the sizes that lots take
        for lot in engine.map(partial(work, whole), asked):
            if lot.scratch is not None:
                settle(lot.scratch, lot.path)
            if lot.number >= len(known):
                self.state.ledger.add(Output(self.name, self.number, lot.number, lot.file))
            elif lot.file != known[lot.number]:
                raise otherwise("a part")
            gathered += lot.file.rows
        if gathered != rows:
            raise lost()

    @property
    def _part_rows(self) -> int:
        return part_rows(self.mechanism.schema, folders.PART_ROWS)

    def _job(self, scratch: Path, *, frozen: bool) -> Job:
        stream = keystream(self.state.key(self.name, self.history.begin.check), self.mechanism.parameters)
        offset = sum(len(intake.parts) for intake in self._done_before)
        rows = self._part_rows
        if self.is_sorted and not any(part.file.rows > run_rows(rows) for part in self.intake.parts):
            rows = run_rows(rows)  # once they were as long as parts, and what was begun so goes on
        assert rows % SLAB_ROWS == 0
        key, known = self.state.digest_key, dict(enumerate(self.intake.parts))
        return Job(self.mechanism, stream, key, self.name, scratch, rows, offset, known, frozen, self.is_sorted)

    def _make_scratch(self, scratch: Path) -> None:
        try:
            scratch.parent.mkdir(mode=0o700, exist_ok=True)
            scratch.mkdir(exist_ok=True)
        except OSError:
            if not self.intake.parts and self.intake.publish is None:  # nothing was made: the intent is taken back
                give_up(self.state, self.name, scratch.parent)
            raise

    def _pieces(self, job: Job, engine: Engine, *, empty: bool) -> Iterator[Piece]:
        source = self.feed.source
        batches = source.batches(self.feed.batch_rows)
        if self.mechanism.schema.id is None:
            screened = unscreened(batches)
        else:
            self.screen = self._screen()
            screened = self.screen(batches, engine)
        return pieces(telling(screened, self.feed.progress), job.rows, source.columns, empty=empty)

    def _screen(self) -> Screen:
        before = exposure_before(self.state.ledger, self.intake.begin)
        charge, budget = self.history.charge(self.number), self.state.first.budget
        if self.intake.publish is not None:  # what was announced is paid for, also by an older rule
            budget = None
        again = self.intake.begin.again
        return Screen(self.mechanism, self.state.digest_key, self.name, charge, before, budget, again, self.number)

    def _mark(self, made: Made) -> None:
        """Give a part its name and write it into the ledger; or check that it is the part that the ledger knows."""
        known = self.intake.parts[made.number] if made.number < len(self.intake.parts) else None
        if (known is None and self.intake.publish is not None) or (known is not None and known.input != made.input):
            raise changed()
        if made.scratch is not None:
            settle(made.scratch, made.path, wait=not self.is_sorted)
        if known is None:
            part = Part(
                release=self.name,
                intake=self.number,
                number=made.number,
                input=made.input,
                file=made.file,
                outside=made.outside,
            )
            people = None if made.people is None else charged_rows(made.people, self.history.charge(self.number))
            self.state.ledger.add_part(part, people)
        elif made.file != known.file:
            raise otherwise("a part")

    def publish(self, scratch: Path, files: Iterable[PartFile]) -> None:
        """Write the manifest, and what it will be into the ledger."""
        if self.intake.publish is not None and _manifest_in(scratch) == self.intake.publish:
            return  # it was announced as it stands; another version might choose other words
        earlier, said = editions_before(self.state.ledger, self.history), self.history.begin.said
        self._make_totals(scratch)
        sheets = [intake.sheet.file for intake in self._done_before if intake.sheet is not None]
        if self.intake.sheet is not None:
            sheets.append(self.intake.sheet.file)
        manifest = Manifest.of(
            self.mechanism,
            files,
            order=self.order,
            batches=self.batches,
            earlier=earlier,
            metadata=said,
            totals=sheets,
        )
        manifest.write(scratch)
        sync_folder(scratch)
        sync_folder(scratch.parent)
        if self.intake.publish is None:
            self.state.ledger.add(Publish(self.name, self.number, manifest.digest))
        elif self.intake.publish != manifest.digest:
            raise otherwise("the manifest")

    def _make_totals(self, scratch: Path) -> None:
        """Write the noisy totals of the intake, or check that they are those that the ledger knows."""
        if self.mechanism.totals is None:
            return
        exact, known, number = self.totals, self.intake.sheet, len(self._done_before)
        assert exact is not None
        place = self.name.encode(), number.to_bytes(8, "little")
        digest = mac(self.state.digest_key, b"totals", *place, exact.astype("<i8").tobytes()).hex()
        if known is not None and known.input != digest:
            raise changed()
        reached("totals counted")
        rows = sum(part.file.rows for part in self.intake.parts)
        key = self.state.key(self.name, self.history.begin.check)
        file = write_totals(scratch, number, noisy_totals(self.mechanism, exact, rows, key, number))
        reached("totals written")
        if known is None:
            self.state.ledger.add(Sheet(self.name, self.number, digest, file))
            reached("totals made")
        elif known.file != file:
            raise otherwise("the totals")

    @property
    def _done_before(self) -> list[Intake]:
        """Intakes that are part of the release already."""
        return [intake for intake in self.history.intakes[: self.number] if intake.status == "done"]

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
