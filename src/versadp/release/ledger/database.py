"""The embedded database under the ledger: how it is opened and written to, and its errors as ours."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from versadp.errors import StateError

if TYPE_CHECKING:
    from pathlib import Path

BUSY_SECONDS = 5.0


def connect(path: Path, *, timeout: float | None = None) -> sqlite3.Connection:
    """Open a database with a rollback journal: older libraries have a fault in the other kind."""
    wait = BUSY_SECONDS if timeout is None else timeout
    with Speaking():
        database = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("PRAGMA synchronous = EXTRA")
    return database


def mentions(path: Path, text: str) -> bool:
    """Return whether an entry of the ledger at a path holds this text, without checks and without a lock."""
    try:
        database = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)
    except sqlite3.Error:
        return False
    try:
        query = "SELECT count(*) FROM entries WHERE instr(body, ?)"
        return bool(database.execute(query, (text,)).fetchone()[0])
    except sqlite3.Error:
        return False
    finally:
        database.close()


class Transaction:
    """`BEGIN IMMEDIATE`: the process inside is the only writer."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, problem: object, trace: object) -> None:
        try:
            if kind is None:
                self._database.execute("COMMIT")
        finally:
            self._undo()

    def _undo(self) -> None:
        if self._database.in_transaction:  # a full disk ends a transaction by itself
            self._database.execute("ROLLBACK")


class Speaking:
    """Turns what the database says into our errors."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, sqlite3.OperationalError):
            code = getattr(problem, "sqlite_errorname", "") or ""
            if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise StateError(
                    "the ledger is locked by another process", hint="wait for it, then run again"
                ) from None
            if code.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
                raise StateError(f"the ledger cannot be written ({code})", hint="mend it and run again") from None
        if isinstance(problem, sqlite3.Error):
            raise turned_back("the ledger is damaged") from None


def turned_back(message: str) -> StateError:
    """Return our error for a ledger that is not the one that was written."""
    return StateError(
        message,
        hint="without the true ledger nobody can tell who was released already: put it back, or release nothing more",
    )
