"""What this user remembers of a ledger outside its folder: the last entry that was written here.

A state folder that is restored whole from a backup fits itself. What tells that it is old must stand elsewhere: one
small file a ledger, in `$XDG_STATE_HOME/versadp` or `~/.local/state/versadp`. A ledger that is behind it, or went
another way, is refused. It is a second line: where there is no home to write to, or another one (a container, another
machine, a backup of everything), nothing is remembered and nothing is refused. It holds a count and keyed digests.
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


def memory_of(ledger: bytes) -> Path | None:
    """Return where a ledger is remembered, by the head of its first entry; None if this user has no home."""
    home = user_home()
    return None if home is None else home / f"{ledger.hex()[:32]}.json"


def recall(ledger: bytes) -> tuple[int, bytes] | None:
    """Return number and head of the last entry that was written here, if that is known."""
    path = memory_of(ledger)
    try:
        data = json.loads(b"" if path is None else path.read_bytes())
        return int(data["number"]), bytes.fromhex(data["head"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(ledger: bytes, number: int, head: bytes) -> None:
    """Remember the last entry, if there is a place for it; not synced, since an older memory does no harm."""
    path = memory_of(ledger)
    if path is None:
        return
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        scratch = path.with_suffix(".tmp")
        scratch.write_text(json.dumps({"number": number, "head": head.hex()}))
        scratch.replace(path)
