"""Who was released already: sorted arrays of tags, searched a piece at a time.

One row a person and version: tag, digest of the record, the charge (`digests.people_rows`), and when: the place in the
ledger of the intake that released it. 40 bytes a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.uint64]
    Flags = NDArray[np.bool_]

NEVER = np.uint64(2**63)


@dataclass(frozen=True)
class Found:
    """What is known about the people of a piece, one entry each: `spent` in all, and `first` released when."""

    known: Flags
    same: Flags
    spent: Rows
    first: Rows


class People:
    """People by tag.

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
    >>> people.all().spent
    array([[100,   5],
           [150,   5]], dtype=uint64)
    """

    def __init__(self) -> None:
        self._arrays: list[tuple[Rows, Rows]] = []

    def add(self, rows: Rows, when: int) -> None:
        """Remember people who were released at a place in the ledger."""
        if len(rows):
            rows = np.column_stack([rows, np.full(len(rows), when, np.uint64)])
            # few arrays to search: one that is no longer than the next is merged with it
            while self._arrays and len(self._arrays[-1][0]) <= 2 * len(rows):
                rows = np.concatenate([self._arrays.pop()[0], rows])
            rows = rows[np.lexsort((rows[:, 4], rows[:, 0]))]
            sums = np.zeros((len(rows) + 1, 2), np.uint64)
            np.cumsum(rows[:, 2:4], axis=0, out=sums[1:])
            self._arrays.append((rows, sums))

    def find(self, rows: Rows) -> Found:
        """Return who is known, whose record is the same, what each was charged so far, and when first."""
        known, same = np.zeros((2, len(rows)), np.bool_)
        spent, first = np.zeros((len(rows), 2), np.uint64), np.full(len(rows), NEVER)
        for array, sums in self._arrays:
            tags = array[:, 0]
            low, high = np.searchsorted(tags, rows[:, 0]), np.searchsorted(tags, rows[:, 0], side="right")
            here = high > low
            known |= here
            spent += sums[high] - sums[low]
            first[here] = np.minimum(first[here], array[low[here], 4])
            for step in range(int((high - low).max(initial=0))):  # versions of one person: few
                at = np.minimum(low + step, len(array) - 1)
                same |= (low + step < high) & (array[at, 1] == rows[:, 1])
        return Found(known, same, spent, first)

    def all(self) -> Found:
        """Return everybody, once."""
        rows = [array for array, _ in self._arrays]
        tags = np.unique(np.concatenate([array[:, 0] for array in rows])) if rows else np.empty(0, np.uint64)
        return self.find(np.column_stack([tags, np.zeros((len(tags), 3), np.uint64)]))
