"""Folders for raw values that a database sorts on the disk: inside the state folder, for its owner alone, and swept.

    STATE/spill-*/          mode 0700, one per running query
    STATE/spill-*/lock      held while the query runs; the system lets go of it however the process ends

A query that ends removes its folder. What a killed process left is removed when the state folder is next opened:
a folder whose lock can be taken belongs to nobody.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from versadp.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "spill-"
_LOCK = "lock"
_ATTEMPTS = 10  # another process may sweep a folder between its making and its lock


@contextmanager
def spill_folder(home: Path) -> Iterator[Path]:
    """Make a folder inside an existing state folder, hold it while it is used, and remove it.

    Parameters
    ----------
    home : Path
        A state folder.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as home, spill_folder(Path(home)) as folder:
    ...     sweep(Path(home))  # a folder in use stays
    ...     folder.is_dir(), folder.parent == Path(home)
    (True, True)
    """
    for _ in range(_ATTEMPTS):
        place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=home))  # of mode 0700
        try:
            lock = _held(place)
        except sqlite3.Error:
            continue
        try:
            yield place
        finally:
            _remove(place, lock)
        return
    raise StateError("the state folder has no room for a query's temporary files", hint="run the command again")


def sweep(home: Path) -> None:
    """Remove the folders that killed processes left in a state folder."""
    for place in home.glob(f"{PREFIX}*"):
        try:
            lock = _held(place)
        except sqlite3.Error:  # a query is at work in it, or it is none of ours
            continue
        _remove(place, lock)


def _remove(place: Path, lock: sqlite3.Connection) -> None:
    """Remove a folder whose lock is held; the lock's own file last, since some systems keep open files."""
    shutil.rmtree(place, ignore_errors=True)
    lock.close()
    shutil.rmtree(place, ignore_errors=True)


def _held(place: Path) -> sqlite3.Connection:
    """Return a lock on a folder; it ends with its connection, or with the process."""
    lock = sqlite3.connect(place / _LOCK, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except BaseException:
        lock.close()
        raise
    return lock
