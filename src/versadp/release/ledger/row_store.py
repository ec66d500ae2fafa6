"""Rows of whole numbers that keep coming, found by the first of them: in memory while they are few, on disk beyond.

A pile is a few arrays, each sorted by the first number, the tag. Arrays of up to `IN_MEMORY` rows are merged as they
grow; larger ones go to files that have no name, in a folder that is the caller's alone, and are gone with the process.
`TOGETHER` files of one age are merged into one of the next, range by range of tags, which are digests and so spread
evenly. A quarter of a million rows stay in memory, and one tag in `APART` of all others.
"""

from __future__ import annotations

import mmap
import tempfile
from typing import TYPE_CHECKING

import numpy as np

from versadp.release.path.order import lot_start, lots_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Rows = NDArray[np.uint64]
    Places = NDArray[np.int64]

IN_MEMORY = 2**18
TOGETHER = 16
APART = 64
ASKED = 2048  # tags that are looked up together: each may bring a stretch of a file into memory


class SortedRows:
    """Rows in the order of their tags, in memory.

    Examples
    --------
    >>> rows = SortedRows(np.array([[3, 30], [7, 70], [7, 71]], np.uint64))
    >>> rows.places(np.array([2, 3, 5, 7, 8], np.uint64))
    array([0, 0, 1, 1, 3])
    """

    age = 0

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._marks = np.array(rows[::APART, 0])

    def __len__(self) -> int:
        return len(self.rows)

    def places(self, tags: Rows) -> Places:
        """Return where rows with these tags begin, or would."""
        low = np.maximum(np.searchsorted(self._marks, tags) - 1, 0) * APART
        high = np.minimum(low + APART, len(self))
        for _ in range(APART.bit_length()):
            middle = (low + high) // 2
            less = (low < high) & (self.rows[np.minimum(middle, len(self) - 1), 0] < tags)
            low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
        return low

    def matches(self, tags: Rows) -> Iterator[tuple[Places, Rows]]:
        """Yield which of these tags have a row, and that row; again for those that have another, and so on."""
        which, at = np.arange(len(tags)), self.places(tags)
        while True:
            inside = at < len(self)
            which, at = which[inside], at[inside]
            found = self.rows[at]
            same = found[:, 0] == tags[which]
            which, at = which[same], at[same] + 1
            if not len(which):
                return
            yield which, found[same]

    def between(self, low: int, high: int) -> Rows:
        """Return the rows whose tags are at least `low` and below `high`."""
        start, stop = self.places(np.array([low, high - 1], np.uint64))
        while stop < len(self) and self.rows[stop, 0] == high - 1:  # 2**64 itself is no tag
            stop += 1
        return np.array(self.rows[start:stop])

    def let_go(self) -> None:
        """Keep nothing in memory that stands elsewhere."""


class RowsOnDisk(SortedRows):
    """Rows in the order of their tags, in a file without a name.

    Parameters
    ----------
    pieces : iterable of array
        The rows, in order.
    width : int
        How many numbers a row has.
    folder : Path
    age : int
        How often they were merged.
    """

    def __init__(self, pieces: Iterable[Rows], width: int, folder: Path, age: int) -> None:
        self.age = age
        with tempfile.TemporaryFile(dir=folder) as file:
            for piece in pieces:
                file.write(np.ascontiguousarray(piece).data)
            file.flush()
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        super().__init__(np.frombuffer(self._map, np.uint64).reshape(-1, width))
        self.let_go()

    def let_go(self) -> None:
        """Keep nothing in memory that stands elsewhere."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


class Pile:
    """Rows that keep coming.

    Parameters
    ----------
    width : int
        How many numbers a row has.
    folder : Path, optional
        Where files may be made, for its owner alone; by default everything stays in memory.

    Examples
    --------
    >>> pile = Pile(2)
    >>> pile.add(np.array([[7, 70], [3, 30]], np.uint64))
    >>> pile.add(np.array([[7, 71]], np.uint64))
    >>> [(which.tolist(), found.tolist()) for which, found in pile.matches(np.array([7, 4], np.uint64))]
    [([0], [[7, 70]]), ([0], [[7, 71]])]
    """

    def __init__(self, width: int, folder: Path | None = None) -> None:
        self._width, self._folder = width, folder
        self._arrays: list[SortedRows] = []

    def __len__(self) -> int:
        return sum(map(len, self._arrays))

    def add(self, rows: Rows) -> None:
        """Put rows on the pile."""
        if not len(rows):
            return
        # few arrays to search: one that is no longer than the next is merged with it
        while self._arrays and not self._is_on_disk(-1) and len(self._arrays[-1]) <= 2 * len(rows):
            rows = np.concatenate([self._arrays.pop().rows, rows])
        self._arrays.append(SortedRows(rows[np.argsort(rows[:, 0])]))
        if self._folder is not None and len(rows) > IN_MEMORY:
            self._to_disk(self._folder)

    def _is_on_disk(self, at: int) -> bool:
        return isinstance(self._arrays[at], RowsOnDisk)

    def _to_disk(self, folder: Path) -> None:
        self._arrays[-1] = RowsOnDisk([self._arrays[-1].rows], self._width, folder, age=1)
        while len(last := self._arrays[-TOGETHER:]) == TOGETHER and last[0].age == last[-1].age > 0:
            merged = RowsOnDisk(_pieces(last), self._width, folder, age=last[0].age + 1)
            self._arrays[-TOGETHER:] = [merged]

    def matches(self, tags: Rows) -> Iterator[tuple[Places, Rows]]:
        """Yield which of these tags have a row, and that row; each tag as often as it has rows."""
        for start in range(0, len(tags), ASKED):
            for array in self._arrays:
                for which, found in array.matches(tags[start : start + ASKED]):
                    yield which + start, found
                array.let_go()

    @property
    def last(self) -> Rows:
        """Rows that were put on it last, perhaps with more, in the order of tags; none if they went to disk."""
        return self._arrays[-1].rows[: 0 if self._is_on_disk(-1) else None]

    def pieces(self) -> Iterator[Rows]:
        """Yield all rows, in the order of tags."""
        return _pieces(self._arrays)

    def is_same(self, other: Pile) -> bool:
        """Return whether another pile has the same rows, each as often."""
        return len(self) == len(other) and all(
            np.array_equal(_in_order(one), _in_order(another))
            for one, another in zip(self.pieces(), other.pieces(), strict=True)
        )


def _pieces(arrays: list[SortedRows]) -> Iterator[Rows]:
    """Yield the rows of all arrays in one order, each piece an equal share of all tags; how many says their number."""
    count = lots_of(sum(map(len, arrays)), IN_MEMORY)
    for number in range(count if arrays else 0):
        low, high = lot_start(number, count), lot_start(number + 1, count)
        rows = np.concatenate([array.between(low, high) for array in arrays])
        for array in arrays:
            array.let_go()
        yield rows[np.argsort(rows[:, 0])]


def _in_order(rows: Rows) -> Rows:
    """Return rows sorted by all of their numbers."""
    return np.asarray(rows[np.lexsort(rows.T[::-1])])
