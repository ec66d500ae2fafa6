"""Replications on disk: one JSON line each, appended as they come, so that a run can be killed and continued.

The first line says what was run. A line that cannot be read (a tail that was cut off by a kill, a damaged line) is
dropped and its replication is run again; a file of another run is refused.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from versadp.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from io import TextIOWrapper

Line = dict[str, Any]
_NEEDED = {"n", "block", "rep", "paper"}


class Store:
    """Lines of one run, in a file or only in memory.

    Examples
    --------
    >>> store = Store(None, {"table": "table1"})
    >>> store.add([{"n": 500, "block": 0, "rep": 0, "paper": {}}])
    >>> len(store.lines)
    1
    """

    def __init__(self, path: str | Path | None, header: Line) -> None:
        self.path = None if path is None else Path(path)
        self.header = json.loads(json.dumps(header))
        self.lines: dict[tuple[int, int, int], Line] = {}
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._load(self.path)

    def _load(self, path: Path) -> None:
        texts = path.read_bytes().split(b"\n") if path.exists() else []
        first = _parsed(texts[0]) if texts else None
        if first is not None and first != self.header:
            raise StateError(
                f"{path} holds another run: {json.dumps(first)}", hint="choose another folder, or the same options"
            )
        found = [_parsed(text) for text in texts[1:]] if first is not None else []
        for line in found:
            if line is not None and line.keys() >= _NEEDED:
                self._keep(line)
        self._rewrite(path)

    def _rewrite(self, path: Path) -> None:
        """Write what was read, whole lines only, and put it in place of the old file at once."""
        beside = path.with_suffix(".part")
        with beside.open("w", encoding="utf-8") as out:
            _write(out, [self.header, *self.lines.values()])
        beside.replace(path)

    def _keep(self, line: Line) -> None:
        key = (line["n"], line["block"], line["rep"])
        if "ours" in line or key not in self.lines:
            self.lines[key] = line

    def has(self, n: int, block: int, rep: int, *, with_ours: bool) -> bool:
        """Tell whether a replication is there, fitted by ours too if that is asked for."""
        line = self.lines.get((n, block, rep))
        return line is not None and (not with_ours or "ours" in line)

    def add(self, lines: Iterable[Line]) -> None:
        """Keep lines, and append them to the file."""
        new = [json.loads(json.dumps(line)) for line in lines]
        for line in new:
            self._keep(line)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as out:
                _write(out, new)


def _write(out: TextIOWrapper, lines: Iterable[Line]) -> None:
    out.write("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    out.flush()
    os.fsync(out.fileno())


def _parsed(text: bytes) -> Line | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None
