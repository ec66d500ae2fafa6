"""The most that a person may have been charged by all that the ledger knows: one rule for every sequence of intakes.

    charge(p) = own(p) + max over starts t before p's first intake of
                [ charge of t + blind charges after t + over other id columns: the most of anybody first seen after t ]

An intake is *blind* if it has no id column: anybody may be in it. One that was vouched for (`again="others"`) has only
people who are in no intake before it, so whoever is in it starts there; t is such an intake, or the beginning, which
costs nothing. Ids of one column tell people apart, and tell nothing about ids of another. `docs/theory/charging.md`
has the proof that nobody's true cost is larger, and that it can be as large.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from versadp.release.ledger.entries import Append, Begin
from versadp.release.ledger.people import People

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from versadp.release.ledger.ledger import Ledger
    from versadp.release.ledger.people import Found

    Rows = NDArray[np.uint64]

VOUCHED = "others"


@dataclass(frozen=True)
class Charged:
    """One intake as charges see it: its place in the ledger, its id column, its cost, and if it was vouched for."""

    when: int
    id: str | None
    charge: tuple[int, int]
    vouched: bool = False


class Exposure:
    """Charges of all intakes up to some entry of a ledger.

    Parameters
    ----------
    intakes : iterable of Charged
        In the order of the ledger.
    read : callable
        Gives who was in the intakes with an id: intake and rows of `People`. Called once, if anybody asks.
    folder : Path, optional
        Where people stand who are too many for memory.

    Examples
    --------
    Two blind releases of 1 and, between them, one of 3 whose people are others:

    >>> steps = [Charged(1, None, (1, 0)), Charged(2, None, (3, 0), vouched=True), Charged(3, None, (1, 0))]
    >>> Exposure(steps, lambda: []).most()
    (4, 0)
    """

    def __init__(
        self,
        intakes: Iterable[Charged],
        read: Callable[[], Iterable[tuple[Charged, Rows]]],
        folder: Path | None = None,
    ) -> None:
        self.intakes, self.folder = tuple(intakes), folder
        self._read = read
        self._worst: dict[str | None, Rows] = {}

    @cached_property
    def _people(self) -> dict[str, People]:
        people: dict[str, People] = {}
        for intake, rows in self._read():
            assert intake.id is not None
            if intake.id not in people:
                people[intake.id] = People(self.folder)
            people[intake.id].add(rows, intake.when)
        return people

    def known(self, column: str) -> People:
        """Return who was released by their ids in a column."""
        return self._people.get(column, People())

    def strange(self, column: str | None) -> int:
        """Return the number of intakes that may hold any person, as far as ids in this column can tell."""
        return sum(column is None or intake.id != column for intake in self.intakes)

    def of(self, column: str | None, found: Found) -> Rows:
        """Return what people were charged already, at the most, one pair each; `found` by their ids in this column."""
        vouched = np.array([intake.when for intake in self.intakes if intake.vouched], np.uint64)
        # the last start before their first intake; the one at the beginning is before everything
        return np.asarray(found.spent + self._elsewhere(column)[np.searchsorted(vouched, found.first)])

    def most(self) -> tuple[int, int]:
        """Return the most that any person was charged already."""
        epsilon, delta = self._elsewhere(None)[-1].tolist()
        return epsilon, delta

    def _elsewhere(self, column: str | None) -> Rows:
        """Return what is charged besides what ids in a column tell, at the most, by the last start that can be."""
        if column not in self._worst:
            starts = [Charged(-1, None, (0, 0)), *(intake for intake in self.intakes if intake.vouched)]
            costs = np.array([self._blind_since(start) for start in starts], np.uint64)
            for name, people in self._people.items():
                if name != column:
                    costs += people.most_since([start.when for start in starts])
            self._worst[column] = np.maximum.accumulate(costs, axis=0)
        return self._worst[column]

    def _blind_since(self, start: Charged) -> Rows:
        """Return the charge of a start and of all blind intakes after it."""
        blind = [i.charge for i in self.intakes if i.id is None and not i.vouched and i.when > start.when]
        return np.asarray(np.sum([start.charge, *blind], axis=0, dtype=np.uint64))


def exposure_before(ledger: Ledger, entry: Begin | Append | None = None) -> Exposure:
    """Return what was charged by all that the ledger knows, or by what it knew when an intake was begun.

    What is unfinished and was not announced is not seen by anybody: it is given up when another intake is begun.
    """
    end = len(ledger.entries) if entry is None else ledger.entries.index(entry)
    steps: dict[tuple[str, int], Charged] = {}
    for when, begun in enumerate(ledger.entries[:end]):
        if isinstance(begun, Begin | Append):
            history = ledger.histories[begun.release]
            if history.intakes[begun.intake].announced:
                column = history.begin.noise.schema.id
                vouched = column is None and begun.again == VOUCHED
                steps[begun.release, begun.intake] = Charged(when, column, history.charge(begun.intake), vouched)

    def read() -> Iterator[tuple[Charged, Rows]]:
        for part, rows in ledger.people(steps):
            yield steps[part.release, part.intake], rows

    return Exposure(steps.values(), read, ledger.folder)
