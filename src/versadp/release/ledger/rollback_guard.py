"""Guard against rollback: the last entry of a ledger, remembered outside its folder.

A state folder that is restored whole from a backup fits itself. What tells that it is old must stand elsewhere: one
small file a ledger, in this user's home (`user_home`) and, if the variable VERSADP_WITNESS names a folder, there too. A
ledger that is behind any of them, or went another way, is refused. Where there is no home to write to, or another one
(a container that starts afresh, another machine, a home that is rolled back with its state), only the folder that is
named still knows: it should lie where backups and snapshots of the state do not reach. A file holds a count and keyed
digests.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path


def user_home() -> Path | None:
    """Return `$XDG_STATE_HOME/versadp` or `~/.local/state/versadp`; None if this user has no home."""
    named = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        return (named if named.is_absolute() else Path.home() / ".local" / "state") / "versadp"
    except RuntimeError:
        return None


def memories_of(ledger: bytes) -> list[Path]:
    """Return where a ledger is remembered, by the head of its first entry."""
    named = os.environ.get("VERSADP_WITNESS")
    return [place / f"{ledger.hex()[:32]}.json" for place in (user_home(), Path(named) if named else None) if place]


def recall(ledger: bytes) -> list[tuple[Path, int, bytes]]:
    """Return number and head of the last entry, wherever that is remembered."""
    found = []
    for path in memories_of(ledger):
        with suppress(OSError, ValueError, KeyError, TypeError):
            data = json.loads(path.read_bytes())
            found.append((path, int(data["number"]), bytes.fromhex(data["head"])))
    return found


def remember(ledger: bytes, number: int, head: bytes) -> None:
    """Remember the last entry, where there is a place for it; not synced, since an older memory does no harm."""
    for path in memories_of(ledger):
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            scratch = path.with_suffix(".tmp")
            scratch.write_text(json.dumps({"number": number, "head": head.hex()}))
            scratch.replace(path)
