"""Named points that a release passes, so that tests can end a process there.

Without a watcher, and nothing but a test sets one, a point does nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_watchers: list[Callable[[str], None]] = []


def reached(name: str) -> None:
    """Say that a point was reached."""
    for watcher in _watchers:
        watcher(name)


def watch(watcher: Callable[[str], None]) -> None:
    """Have `watcher` called with the name of every point from now on.

    Examples
    --------
    >>> seen = []
    >>> watch(seen.append)
    >>> reached("before rename")
    >>> seen
    ['before rename']
    >>> unwatch(seen.append)
    """
    _watchers.append(watcher)


def unwatch(watcher: Callable[[str], None]) -> None:
    """Undo `watch`."""
    _watchers.remove(watcher)
