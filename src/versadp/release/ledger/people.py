"""People who were released already.

One row a person and version: tag, digest of the record, the charge (`digests.people_rows`), and when: the place in the
ledger of the intake that released it. 40 bytes a person, on a pile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.release.ledger.digests import PERSON, TAGGED
from versadp.release.ledger.row_store import Pile
from versadp.release.path.rows import earlier

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Rows = NDArray[np.uint64]
    Flags = NDArray[np.bool_]

NEVER = np.uint64(2**63)


@dataclass(frozen=True)
class Found:
    """Known facts about the people of a piece, one entry each: `spent` in all, and the place `first` released."""

    known: Flags
    same: Flags
    spent: Rows
    first: Rows


class People:
    """People by tag.

    Parameters
    ----------
    folder : Path, optional
        Where those stand who are too many for memory.

    Examples
    --------
    >>> people = People()
    >>> people.add(np.array([[7, 1, 100, 5], [3, 1, 100, 5]], np.uint64), 2)
    >>> people.add(np.array([[7, 2, 50, 0]], np.uint64), 9)
    >>> found = people.find(np.array([[3, 1, 0, 0], [7, 3, 0, 0], [8, 1, 0, 0]], np.uint64))
    >>> found.known, found.same
    (array([ True,  True, False]), array([ True, False, False]))
    >>> found.spent
    array([[100,   5],
           [150,   5],
           [  0,   0]], dtype=uint64)
    >>> people.most_since([-1, 5])
    array([[150,   5],
           [  0,   0]], dtype=uint64)
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._pile = Pile(PERSON + 1, folder)

    def add(self, rows: Rows, when: int) -> None:
        """Remember people who were released at a place in the ledger."""
        self._pile.add(np.column_stack([rows, np.full(len(rows), when, np.uint64)]))

    def find(self, rows: Rows) -> Found:
        """Return which people are known, whose record is the same, their charges so far, and when first."""
        known, same = np.zeros((2, len(rows)), np.bool_)
        spent, first = np.zeros((len(rows), 2), np.uint64), np.full(len(rows), NEVER)
        for which, version in self._pile.matches(rows[:, 0]):
            known[which] = True
            same[which] |= version[:, 1] == rows[which, 1]
            spent[which] += version[:, 2:4]
            first[which] = np.minimum(first[which], version[:, 4])
        return Found(known, same, spent, first)

    def most_since(self, places: Sequence[int]) -> Rows:
        """Return the most that a person was charged who was first released after each of these places."""
        most = np.zeros((len(places), 2), np.uint64)
        for rows in self._pile.pieces():
            if len(rows):
                starts = np.flatnonzero(np.diff(rows[:, 0], prepend=~rows[:1, 0]))
                spent = np.add.reduceat(rows[:, 2:4], starts)
                first = np.minimum.reduceat(rows[:, 4], starts).astype(np.int64)
                now = [spent[first > place].max(axis=0, initial=0) for place in places]
                most = np.maximum(most, np.array(now, np.uint64))
        return most


class Counted:
    """Counts how often each tag was seen before.

    Parameters
    ----------
    folder : Path, optional
        Where those stand that are too many for memory.

    Examples
    --------
    >>> counted = Counted()
    >>> counted.see(np.array([7, 3, 7], np.uint64)), counted.see(np.array([3, 7, 4], np.uint64))
    (array([0, 0, 1], dtype=uint64), array([1, 2, 0], dtype=uint64))
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._pile = Pile(2, folder)

    def see(self, tags: Rows) -> Rows:
        """See some rows; return how many with the same tag came before each."""
        before = earlier(tags)
        for which, found in self._pile.matches(tags):
            before[which] += found[:, 1]
        distinct, counts = np.unique(tags, return_counts=True)
        self._pile.add(np.column_stack([distinct, counts.astype(np.uint64)]))
        return before


class Several:
    """Numbers the rows of people who may have several, in the order in which they come.

    Examples
    --------
    >>> several = Several(2)
    >>> first, number = several.see(np.array([[7, 1, 5], [7, 2, 5], [3, 1, 9]], np.uint64))
    >>> first.tolist(), number.tolist(), several.beyond
    ([1, 0, 1], [0, 1, 0], 0)
    """

    def __init__(self, most: int, folder: Path | None = None) -> None:
        self._most, self.beyond = most, 0
        self._people, self._equal = Counted(folder), Counted(folder)

    def see(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return 1 for each person's first row, else 0, and the number of each row among the person's equal ones."""
        place = self._people.see(rows[:, 0])
        self.beyond += int((place >= self._most).sum())
        return (place == 0).astype(np.uint64), self._equal.see(rows[:, TAGGED])


class Distinct:
    """Counts people who come more than once.

    Examples
    --------
    >>> people = Distinct()
    >>> people.see(np.array([7, 3, 7], np.uint64))
    >>> people.see(np.array([3, 4], np.uint64))
    >>> people.repeats()
    2

    Who comes again soon is noticed at once, everybody when they are counted.

    >>> people.noticed
    True
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._pile, self._twice, self.noticed = Pile(1, folder), 0, False

    def see(self, tags: Rows) -> None:
        """See some people."""
        ordered = np.sort(tags)
        new = np.append(True, ordered[1:] != ordered[:-1])[: len(tags)]
        self._twice += len(tags) - int(new.sum())
        self._pile.add(ordered[new, None])
        if not self.noticed and len(tags):
            among = self._pile.last
            self.noticed = self._twice > 0 or bool(np.any(among[1:] == among[:-1]))

    def repeats(self) -> int:
        """Return how many were seen before."""
        return self._twice + sum(int(np.sum(rows[1:] == rows[:-1])) for rows in self._pile.pieces())
