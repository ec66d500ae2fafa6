"""Replications of one row of a table on disk: a JSON line each, written as they come; a run can be killed and go on.

The first line says what was run: the row, the seed, and a digest of the library's code, for answers of two versions
must not be mixed. A line that cannot be read (a tail that a kill has cut off) is dropped and its replication run again.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from versadp.errors import StateError

if TYPE_CHECKING:
    from pathlib import Path

Line = dict[str, Any]
_NEEDED = {"rep", "outcome", "seconds"}


class Store:
    """Replications of one row by number, in a file or only in memory.

    Examples
    --------
    >>> store = Store(None, {"regime": "uniform"})
    >>> store.add({"rep": 0, "outcome": "converged", "seconds": 0.1})
    >>> list(store.lines)
    [0]
    """

    def __init__(self, path: Path | None, header: Line) -> None:
        self.path, self.header = path, json.loads(json.dumps(header))
        self.lines: dict[int, Line] = {}
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._load(path)

    def _load(self, path: Path) -> None:
        texts = path.read_bytes().split(b"\n") if path.exists() else []
        first = _parsed(texts[0]) if texts else None
        if first is not None and first != self.header:
            differ = ", ".join(sorted(key for key in self.header if first.get(key) != self.header[key]))
            raise StateError(f"{path} holds another run: {differ} differ", hint="choose another folder")
        for line in (_parsed(text) for text in texts[1:] if first is not None):
            if line is not None and line.keys() >= _NEEDED:
                self.lines[line["rep"]] = line
        beside = path.with_suffix(".part")  # whole lines only, in place of the old file at once
        beside.write_text("".join(_text(line) for line in (self.header, *self.lines.values())), encoding="utf-8")
        beside.replace(path)

    def add(self, line: Line) -> None:
        """Keep a line, and append it to the file."""
        text = _text(line)
        self.lines[line["rep"]] = json.loads(text)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())


def _text(line: Line) -> str:
    return json.dumps(line, separators=(",", ":")) + "\n"


def _parsed(text: bytes) -> Line | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def slug(name: str) -> str:
    """Return a name as a file may have it.

    Examples
    --------
    >>> slug("Fair, (4, 1e-5)")
    'fair-4-1e-5'
    """
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
