"""The ledger: what was begun, read, written and charged, as a chain of entries in an embedded database.

    head_0 = 0,   head_n = HMAC(ledger key; head_{n-1}, n, entry_n)

The last head is also kept in a file of its own, the anchor. A ledger that is missing, cut, edited or restored from an
older copy does not fit its anchor, and nothing is released with it. The entry is committed first and the anchor
follows, so a crash leaves the ledger at most one entry ahead, which the chain proves, and never behind. A ledger and
anchor that are restored together are held against what this user remembers of them (`rollback_guard.py`).

Entries are small; who was released stands beside them, in one sorted array a part, whose digest is in the entry.
"""

from __future__ import annotations

import json
from dataclasses import replace as with_changes
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import StateError
from versadp.noise.words import mac
from versadp.release.atomic_write import create, replace
from versadp.release.checkpoints import reached
from versadp.release.ledger.database import Speaking, Transaction, connect, turned_back
from versadp.release.ledger.digests import PERSON
from versadp.release.ledger.entries import Abandon, Entry, Part, read_entry
from versadp.release.ledger.history import History, after
from versadp.release.ledger.rollback_guard import recall, remember

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

LEDGER, ANCHOR = "ledger.sqlite", "anchor.json"
_START = bytes(32)
_TABLES = """
CREATE TABLE IF NOT EXISTS entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, head BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS people (
    release TEXT NOT NULL, batch INTEGER NOT NULL, part INTEGER NOT NULL, rows BLOB NOT NULL,
    PRIMARY KEY (release, batch, part)) STRICT;
"""


class Ledger:
    """The entries of one state folder, checked when it is opened; `add` and `add_part` are the only ways to write.

    Parameters
    ----------
    folder : Path
        The state folder.
    key : bytes
        Its ledger key.

    Attributes
    ----------
    folder : Path
        The state folder.
    entries : tuple of Entry
        The whole chain.
    histories : dict of str to History
        What it says about each release, by name; derived anew with every entry.
    """

    def __init__(self, folder: Path, key: bytes) -> None:
        self.folder, self._key = folder, mac(key, b"ledger")
        self._database = connect(folder / LEDGER)
        try:
            self.entries, self._head = self._read()
            self._check_anchor()
            self._check_memory()
            self.histories: dict[str, History] = reduce(after, self.entries, {})
        except BaseException:
            self.close()
            raise

    @staticmethod
    def make(folder: Path) -> None:
        """Make an empty ledger and its anchor."""
        if not (folder / LEDGER).exists():
            create(folder / LEDGER)  # ours alone before the database has anything to say
        database = connect(folder / LEDGER)
        with Speaking():
            database.executescript(_TABLES)
        database.close()
        _write_anchor(folder, 0, _START)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def add(self, entry: Entry) -> None:
        """Write one entry: after this returns it is on the disk, and the anchor knows it."""
        self._write(entry)

    def add_part(self, part: Part, people: NDArray[np.uint64] | None) -> None:
        """Write the entry of a part and its people beside it: one row per person, sorted by tag."""
        if people is None:
            self._write(part)
        else:
            beside = (part.release, part.intake, part.number, _bytes(people))
            self._write(with_changes(part, people=self._people_digest(people)), beside)

    def _write(self, entry: Entry, people: tuple[str, int, int, memoryview] | None = None) -> None:
        number, text = len(self.entries) + 1, entry.text()
        entry = read_entry(text)  # nothing is written that could not be read, or that does not follow
        histories = after(self.histories, entry)
        head = self._next(self._head, number, text)
        reached(f"before {entry.kind} entry")
        with Speaking(), Transaction(self._database):
            # what we know was read earlier: look again now that nobody else can write
            if self._last() != (len(self.entries), self._head):
                raise StateError("another process wrote to the ledger in the meantime", hint="run the command again")
            self._database.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, text, head))
            if isinstance(entry, Abandon):  # whom nobody has seen
                given_up = entry.release, entry.intake
                self._database.execute("DELETE FROM people WHERE release = ? AND batch = ?", given_up)
            if people is not None:
                self._database.execute("INSERT INTO people VALUES (?, ?, ?, ?)", people)
            reached(f"before {entry.kind} commit")
        reached(f"after {entry.kind} commit")
        self.entries, self.histories, self._head = (*self.entries, entry), histories, head
        _write_anchor(self.folder, number, head)
        remember(self._heads(1), number, head)
        reached(f"after {entry.kind} entry")

    def people(self, wanted: Container[tuple[str, int]]) -> Iterator[tuple[Part, NDArray[np.uint64]]]:
        """Yield each part's entry and its people, one row a person, sorted by tag, of some intakes of releases."""
        for entry in self.entries:
            if not isinstance(entry, Part) or entry.people is None or (entry.release, entry.intake) not in wanted:
                continue
            place = (entry.release, entry.intake, entry.number)
            with Speaking():
                query = "SELECT rows FROM people WHERE release = ? AND batch = ? AND part = ?"
                found = self._database.execute(query, place).fetchone()
            rows = np.frombuffer(found[0] if found else b"", np.uint64)
            if rows.size % PERSON or self._people_digest(rows) != entry.people:
                raise turned_back("the ledger's list of people was changed")
            yield entry, rows.reshape(-1, PERSON)

    def _people_digest(self, people: NDArray[np.uint64]) -> str:
        return mac(self._key, b"people", _bytes(people)).hex()

    def _next(self, head: bytes, number: int, text: str) -> bytes:
        return mac(self._key, head, number.to_bytes(8, "little"), text.encode())

    def _last(self) -> tuple[int, bytes]:
        row = self._database.execute("SELECT number, head FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        return (0, _START) if row is None else (row[0], row[1])

    def _read(self) -> tuple[tuple[Entry, ...], bytes]:
        entries, head = [], _START
        with Speaking():
            rows = self._database.execute("SELECT number, body, head FROM entries ORDER BY number").fetchall()
        for expected, (number, text, stored) in enumerate(rows, 1):
            head = self._next(head, number, text)
            if number != expected or head != stored:
                raise turned_back("the ledger was changed, or does not belong to this key")
            entries.append(read_entry(text))
        return tuple(entries), head

    def _check_anchor(self) -> None:
        number, head = read_anchor(self.folder)
        count = len(self.entries)
        if (number, head) == (count, self._head):
            return
        if number == count - 1 and head == self._heads(number):  # a crash between commit and anchor
            _write_anchor(self.folder, count, self._head)
            return
        raise turned_back("the ledger is not the latest: it, or its anchor, was restored from an older copy")

    def _check_memory(self) -> None:
        for path, number, head in recall(self._heads(1)) if self.entries else ():
            if head != self._heads(number):
                raise StateError(
                    "the state folder is not the one that was last used here: it was restored from a backup, or it is "
                    "a copy",
                    hint="put the latest one back; if it is lost, and nobody who is to be released was released since, "
                    f"remove {path} and run again",
                )

    def _heads(self, number: int) -> bytes:
        """Return the head of an entry, or nothing if there is no such entry."""
        if number == 0:
            return _START
        with Speaking():
            row = self._database.execute("SELECT head FROM entries WHERE number = ?", (number,)).fetchone()
        return b"" if row is None else bytes(row[0])


def _bytes(people: NDArray[np.uint64]) -> memoryview:
    return np.ascontiguousarray(people).reshape(-1).data.cast("B")


def read_anchor(folder: Path) -> tuple[int, bytes]:
    """Return the number and head of the last entry that the anchor knows."""
    try:
        data = json.loads((folder / ANCHOR).read_bytes())
        return int(data["number"]), bytes.fromhex(data["head"])
    except (OSError, ValueError, KeyError, TypeError):
        raise turned_back("the ledger's anchor is missing or damaged") from None


def _write_anchor(folder: Path, number: int, head: bytes) -> None:
    replace(folder / ANCHOR, json.dumps({"number": number, "head": head.hex()}).encode())
