"""History of each release in a ledger: a fold over its entries.

Nothing here is ever changed: `after` is the only step, and the ledger takes it with every entry that it writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from versadp.errors import StateError
from versadp.release.ledger.entries import (
    Abandon,
    Append,
    Begin,
    Bounds,
    Done,
    Finalize,
    IntakeEntry,
    Output,
    Part,
    Publish,
    ReleaseEntry,
    Sheet,
    Sort,
)
from versadp.release.path.order import KEPT, Order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from versadp.release.folder.part_file import PartFile
    from versadp.release.ledger.entries import Entry
    from versadp.release.mechanism import Mechanism


@dataclass(frozen=True)
class Intake:
    """Records on their way into a release: the first ones, or some that are appended.

    Its status is "running", then "done" or "abandoned"; `publish` is the digest of the manifest with which it is seen.
    Where records are sorted its parts are runs, and once these are all there, `outputs` are what it adds.
    """

    begin: Begin | Append
    parts: tuple[Part, ...] = ()
    alike: int | None = None
    weaker: bool = False
    outputs: tuple[Output, ...] = ()
    sheet: Sheet | None = None
    publish: str | None = None
    status: str = "running"

    @property
    def number(self) -> int:
        """Its place among the intakes of the release."""
        return self.begin.intake

    @property
    def files(self) -> tuple[PartFile, ...]:
        """Files that it adds to the release."""
        return tuple(made.file for made in (self.parts if self.alike is None else self.outputs))

    @property
    def announced(self) -> bool:
        """True if it is seen, or is about to be."""
        return self.status == "done" or (self.status == "running" and self.publish is not None)

    def after(self, entry: IntakeEntry) -> Intake:
        """Return the intake as it is after one more entry about it."""
        changed: dict[str, Any]
        match entry:
            case Part(number=number) if number == len(self.parts):
                changed = {"parts": (*self.parts, entry)}
            case Sort(alike=alike, weaker=weaker) if self.alike is None:
                changed = {"alike": alike, "weaker": weaker is True}
            case Output(number=number) if number == len(self.outputs) and self.alike is not None:
                changed = {"outputs": (*self.outputs, entry)}
            case Sheet() if self.sheet is None and self.publish is None:
                changed = {"sheet": entry}
            case Publish(manifest=digest):
                changed = {"publish": digest}
            case Done():
                changed = {"status": "done"}
            case Abandon():
                changed = {"status": "abandoned"}
            case _:
                raise _disorder()
        return replace(self, **changed)


@dataclass(frozen=True)
class History:
    """One release, as the ledger knows it."""

    begin: Begin
    intakes: tuple[Intake, ...]
    final: bool = False
    bounds: Bounds | None = None

    @property
    def noise(self) -> Mechanism:
        """The mechanism of the released records: where bounds were learnt, on these."""
        return self.begin.noise if self.bounds is None else self.bounds.noise

    @property
    def name(self) -> str:
        """The release's name in the ledger."""
        return self.begin.release

    @property
    def done(self) -> tuple[Intake, ...]:
        """Intakes that are part of the release."""
        return tuple(intake for intake in self.intakes if intake.status == "done")

    @property
    def running(self) -> Intake | None:
        """The intake that is under way."""
        return next((intake for intake in self.intakes if intake.status == "running"), None)

    @property
    def manifest(self) -> str | None:
        """Digest of the manifest that is in force."""
        return self.done[-1].publish if self.done else None

    @property
    def is_sorted(self) -> bool:
        """True if its records are sorted by their hashes."""
        return self.begin.order is not None

    @property
    def order(self) -> Order:
        """Order of its records, batch after batch."""
        return Order(tuple(intake.alike or 0 for intake in self.done)) if self.is_sorted else KEPT

    def has_own_charge(self, intake: int) -> bool:
        """Return whether an intake charges otherwise than the first."""
        return intake > 0 and self.intakes[intake].begin.charge is not None

    def charge(self, intake: int) -> tuple[int, int]:
        """Return what an intake charges everybody in it."""
        own = self.intakes[intake].begin.charge
        return self.begin.charge if own is None else own

    @property
    def files(self) -> tuple[PartFile, ...]:
        """The files that belong to the release."""
        return tuple(file for intake in self.done for file in intake.files)

    @property
    def counts(self) -> bool:
        """True if anything of it is, or may come to be, known to others."""
        return any(intake.status != "abandoned" for intake in self.intakes)

    @property
    def over(self) -> bool:
        """True if its key is of no use any more."""
        return self.final or self.intakes[0].status == "abandoned"

    def after(self, entry: ReleaseEntry) -> History:
        """Return the release as it is after one more entry about it."""
        match entry:
            case Finalize():
                return replace(self, final=True)
            case Bounds() if self.bounds is None and self.begin.fit_bounds and not self.intakes[0].parts:
                return replace(self, bounds=entry)
            case Append(intake=number) if number == len(self.intakes):
                return replace(self, intakes=(*self.intakes, Intake(entry)))
            case IntakeEntry(intake=number) if number < len(self.intakes):
                changed = self.intakes[number].after(entry)
                return replace(self, intakes=(*self.intakes[:number], changed, *self.intakes[number + 1 :]))
        raise _disorder()


def after(known: Mapping[str, History], entry: Entry) -> dict[str, History]:
    """Return all releases by name as they are after one more entry.

    Examples
    --------
    >>> begin = Begin("dea3", "/released", {}, "69de", (8, 4), "refuse")
    >>> releases = after({}, begin)
    >>> releases["dea3"].running.number
    0
    >>> after(releases, Done("dea3", 0))["dea3"].running is None, releases["dea3"].running is None
    (True, False)
    """
    if not isinstance(entry, ReleaseEntry):
        return dict(known)
    history = known.get(entry.release)
    if history is not None:
        return {**known, entry.release: history.after(entry)}
    if isinstance(entry, Begin) and entry.intake == 0:
        return {**known, entry.release: History(entry, (Intake(entry),))}
    raise _disorder()


def _disorder() -> StateError:
    return StateError(
        "the ledger's entries do not follow one another as this versadp writes them",
        hint="use the versadp that wrote them, or a newer one",
    )
