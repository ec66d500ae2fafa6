"""One pass over a source into a batch of a release, in the order that survives a crash.

Each part is written under a temporary name, synced, renamed and marked in the ledger; the manifest comes last; then the
folder appears under its name in one step. Noise is a pure function of key and content, so whoever comes after a crash
makes the same bytes.
"""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from versadp.engine import as_engine
from versadp.errors import DataError, ParameterError, ReleaseError, SpentError, StateError
from versadp.noise.words import BLOCK_ROWS, keystream
from versadp.release.checkpoints import reached
from versadp.release.durable import settle, sync_folder
from versadp.release.files.begin import changed, digest_of, give_up, scratch_of, unfit
from versadp.release.files.part import Job, Made, make_part
from versadp.release.files.pieces import Screen, pieces, telling, unscreened
from versadp.release.files.sources import BATCH_ROWS, Source
from versadp.release.folder import folder as folders
from versadp.release.folder.parts import part_rows
from versadp.release.ledger.history import Batch, History, histories
from versadp.release.ledger.people import People
from versadp.release.path.table import warn_outside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from versadp.engine import Engine
    from versadp.release.files.pieces import Piece
    from versadp.release.ledger.state import State
    from versadp.release.mechanism import Mechanism


@dataclass
class Run:
    """One pass over a source into a batch of a release."""

    state: State
    source: Source
    mechanism: Mechanism
    batch_rows: int = BATCH_ROWS
    engine: str | Engine = "auto"
    progress: Callable[[float], None] | None = None
    screen: Screen | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if isinstance(self.batch_rows, bool) or not isinstance(self.batch_rows, int) or self.batch_rows < 1:
            raise ParameterError("batch_rows must be a whole number, 1 or more")
        if as_engine(self.engine).name == "processes":
            raise ParameterError(
                "files are released on threads: keys are not sent to other processes",
                hint="engine 'threads' or 'local'",
            )
        assert self.rows % BLOCK_ROWS == 0

    @property
    def rows(self) -> int:
        """Records a part."""
        return part_rows(self.mechanism.schema, folders.PART_ROWS)

    def release(self, history: History, place: Path) -> None:
        """Make, or finish, or check the first batch of a release."""
        if history.final:
            raise ReleaseError("the release was finalised", hint="choose a new folder")
        batch = history.batches[0]
        if batch.publish is not None and batch.status == "running" and digest_of(place) == batch.publish:
            self.done(history, batch)
        if place.exists():
            shutil.rmtree(scratch_of(place, history.name), ignore_errors=True)  # a crash may have left it empty
            self.same(history, place)
            return
        if len(history.done) > 1:
            raise ReleaseError("the release folder is gone, and records had been appended to it", hint="put it back")
        scratch = scratch_of(place, history.name) / "release"
        parts = self.parts(history, batch, scratch, empty=True)
        self.publish(history, batch, scratch, parts)
        scratch.rename(place)
        sync_folder(place.parent)
        reached("after publication")
        self.done(history, batch)
        shutil.rmtree(scratch.parent, ignore_errors=True)

    def same(self, history: History, place: Path) -> None:
        """Refuse if the release holds other records than the source."""
        if history.manifest != folders.open_folder(place).digest:
            raise unfit()
        try:
            self.parts(history, history.batches[0], place, empty=True, frozen=True)
        except StateError:
            raise ReleaseError(
                f"{place.name!r} exists already, with other records", hint="choose a new folder"
            ) from None

    def parts(
        self, history: History, batch: Batch, scratch: Path, *, empty: bool, frozen: bool = False
    ) -> list[dict[str, Any]]:
        """Make all parts of a batch that are not there yet; return them as they stand in a manifest."""
        key = self.state.key(history.name, history.check)
        offset = sum(len(done.parts) for done in history.batches[: batch.number] if done.status == "done")
        stream = keystream(key, self.mechanism.parameters)
        known = dict(batch.parts)
        digest_key = self.state.digest_key
        job = Job(self.mechanism, stream, digest_key, history.name, scratch, self.rows, offset, known, frozen)
        if not frozen:
            self._make_scratch(history, batch, scratch)
        try:
            made = 0
            for part in as_engine(self.engine).map(partial(make_part, job), self._pieces(history, batch, empty=empty)):
                self._mark(history, batch, part)
                made += 1
            if set(known) - set(range(made)):
                raise changed()
        except (DataError, SpentError):
            if batch.publish is None:
                give_up(self.state, history, scratch.parent)
            raise
        warn_outside(_outside(batch))
        return [batch.parts[number]["file"] for number in sorted(batch.parts)]

    def _make_scratch(self, history: History, batch: Batch, scratch: Path) -> None:
        try:
            scratch.parent.mkdir(mode=0o700, exist_ok=True)
            scratch.mkdir(exist_ok=True)
        except OSError:
            if not batch.parts and batch.publish is None:  # nothing was made: the intent is taken back
                give_up(self.state, history, scratch.parent)
            raise

    def _pieces(self, history: History, batch: Batch, *, empty: bool) -> Iterator[Piece]:
        batches = self.source.batches(self.batch_rows)
        if self.mechanism.schema.id is None:
            screened = unscreened(batches)
        else:
            self.screen = self._screen(history, batch)
            screened = self.screen(batches)
        return pieces(telling(screened, self.progress), self.rows, self.source.columns, empty=empty)

    def _screen(self, history: History, batch: Batch) -> Screen:
        before, known = People(), histories(self.state.ledger.entries)
        for entry, rows in self.state.ledger.people(before=batch.begin):
            if known[entry["release"]].batches[entry["batch"]].status != "abandoned":
                before.add(rows)
        budget = self.state.first["budget"]
        limit = None if budget is None else (budget[0], budget[1])
        again = str(batch.begin["again"])
        return Screen(self.mechanism, self.state.digest_key, history.name, history.charge, before, limit, again)

    def _mark(self, history: History, batch: Batch, part: Made) -> None:
        """Give a part its name and write it into the ledger; or check that it is the part that the ledger knows."""
        known = batch.parts.get(part.number)
        if known is not None and known["input"] != part.input:
            raise changed()
        if part.scratch is not None:
            settle(part.scratch, part.path)
        if known is None:
            entry = {
                "kind": "part",
                "release": history.name,
                "batch": batch.number,
                "number": part.number,
                "input": part.input,
                "file": folders.part_entry(part.path, part.rows),
                "outside": part.outside,
            }
            self.state.ledger.add(entry, None if part.people is None else part.people[part.people[:, 0].argsort()])
            batch.parts[part.number] = entry
        elif part.scratch is not None and folders.part_entry(part.path, part.rows) != known["file"]:
            raise _otherwise("a part")

    def publish(self, history: History, batch: Batch, scratch: Path, parts: list[dict[str, Any]]) -> None:
        """Write the manifest, and what it will be into the ledger."""
        digest = folders.write_manifest(scratch, self.mechanism, parts)
        sync_folder(scratch)
        sync_folder(scratch.parent)
        if batch.publish is None:
            entry = {"kind": "publish", "release": history.name, "batch": batch.number, "manifest": digest}
            self.state.ledger.add(entry)
            batch.publish = digest
        elif batch.publish != digest:
            raise _otherwise("the manifest")

    def done(self, history: History, batch: Batch) -> None:
        """Mark a batch as done."""
        if batch.status == "running":
            self.state.ledger.add({"kind": "done", "release": history.name, "batch": batch.number})
            batch.status = "done"


def _outside(batch: Batch) -> dict[str, int]:
    """Return how many values of each column lay outside its bounds, over all parts."""
    outside: Counter[str] = Counter()
    for entry in batch.parts.values():
        outside.update(entry["outside"])
    return dict(outside)


def _otherwise(what: str) -> StateError:
    return StateError(
        f"{what} came out otherwise than before: another version of versadp or of arrow made it",
        hint="finish it with the versions with which it was begun",
    )
