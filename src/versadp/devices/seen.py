"""Recognise reports that came before, in bounded memory: sorted runs of 128-bit keys, merged as they grow.

A retry brings the same report again. Its key is looked up by its first 64 bits among sorted runs, of which each is at
least twice as long as the next, and counts as seen only if the other 64 agree. When there are more than `most` keys the
longest run is forgotten: a repeat of those is stored again, and recognised by its id when the round is closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]

MOST_KEYS = 2**21  # 32 MiB of keys


class Seen:
    """Keys of reports that were taken.

    Parameters
    ----------
    most : int
        How many keys are remembered at most.

    Examples
    --------
    >>> seen = Seen()
    >>> keys = np.array([[1, 10], [2, 20], [1, 10]], np.uint64)
    >>> fresh = seen.fresh(keys)
    >>> seen.add(keys[fresh])
    >>> fresh.tolist(), seen.fresh(keys).tolist()
    ([True, True, False], [False, False, False])
    """

    def __init__(self, most: int = MOST_KEYS) -> None:
        self._most = most
        self._runs: list[Keys] = []  # (keys, 2), sorted by the first column

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def fresh(self, keys: Keys) -> NDArray[np.bool_]:
        """Return which rows of `keys` (n, 2) are not known, and stand in no row before."""
        order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: of equal keys the first comes first
        ordered = keys[order]
        fresh = np.ones(len(keys), np.bool_)
        fresh[order[1:]] = (ordered[1:] != ordered[:-1]).any(axis=1)
        for run in self._runs:
            at = np.minimum(np.searchsorted(run[:, 0], keys[:, 0]), len(run) - 1)
            fresh &= (run[at] != keys).any(axis=1)
        return fresh

    def add(self, keys: Keys) -> None:
        """Remember keys: those of reports that are on the disk, and no others."""
        if not len(keys):
            return
        self._runs.append(keys[np.argsort(keys[:, 0], kind="stable")])
        runs = self._runs
        while len(runs) > 1 and len(runs[-2]) <= 2 * len(runs[-1]):
            both = np.concatenate([runs.pop(-2), runs.pop()])
            runs.append(both[np.argsort(both[:, 0], kind="stable")])
        while len(self) > self._most:
            del runs[0]
