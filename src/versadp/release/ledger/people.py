"""Who was released already: sorted arrays of tags, searched a piece at a time.

One row a person and version: tag, digest of the record, and the charge (`digests.people_rows`). 32 bytes a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.uint64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Found:
    """What is known about the people of a piece: one entry each."""

    known: Flags
    same: Flags
    spent: Rows


class People:
    """People by tag.

    Examples
    --------
    >>> people = People()
    >>> people.add(np.array([[7, 1, 100, 5], [3, 1, 100, 5]], np.uint64))
    >>> found = people.find(np.array([[3, 1, 0, 0], [7, 2, 0, 0], [8, 1, 0, 0]], np.uint64))
    >>> found.known, found.same
    (array([ True,  True, False]), array([ True, False, False]))
    >>> found.spent
    array([[100,   5],
           [100,   5],
           [  0,   0]], dtype=uint64)
    """

    def __init__(self) -> None:
        self._arrays: list[tuple[Rows, Rows]] = []

    def add(self, rows: Rows) -> None:
        """Remember people."""
        if len(rows):
            rows = rows[np.argsort(rows[:, 0], kind="stable")]
            # few arrays to search: one that is no longer than the next is merged with it
            while self._arrays and len(self._arrays[-1][0]) <= 2 * len(rows):
                rows = np.concatenate([self._arrays.pop()[0], rows])
                rows = rows[np.argsort(rows[:, 0], kind="stable")]
            sums = np.zeros((len(rows) + 1, 2), np.uint64)
            np.cumsum(rows[:, 2:], axis=0, out=sums[1:])
            self._arrays.append((rows, sums))

    def find(self, rows: Rows) -> Found:
        """Return who is known, whose record is the same, and what each was charged so far."""
        known, same = np.zeros((2, len(rows)), np.bool_)
        spent = np.zeros((len(rows), 2), np.uint64)
        for array, sums in self._arrays:
            tags = array[:, 0]
            low, high = np.searchsorted(tags, rows[:, 0]), np.searchsorted(tags, rows[:, 0], side="right")
            known |= high > low
            spent += sums[high] - sums[low]
            for step in range(int((high - low).max(initial=0))):  # versions of one person: few
                at = np.minimum(low + step, len(array) - 1)
                same |= (low + step < high) & (array[at, 1] == rows[:, 1])
        return Found(known, same, spent)
