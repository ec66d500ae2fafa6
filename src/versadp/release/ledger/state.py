"""The provider's state: keys and ledger, in a folder apart from the release that only its owner can read.

    lock            held while a process works here
    ledger.sqlite   what was done (`ledger.py`), and anchor.json
    ledger.key      256 random bits; its presence says that the ledger was once complete
    release-*.key   256 random bits a release
    signing.key     256 random bits, if a release was ever signed; it outlives the keys of releases
    spill-*         raw values that a database is sorting (`spill.py`)

The key of the ledger is made last. So a folder with a key and without a ledger has lost it, and is refused, and one
with a ledger and without a key was never used, or its key was destroyed.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sqlite3
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from versadp.errors import KeyMaterialError, ParameterError, StateError
from versadp.noise.words import check_key, fresh_key, mac
from versadp.release.atomic_write import create, destroy, replace
from versadp.release.ledger.database import connect
from versadp.release.ledger.entries import Create
from versadp.release.ledger.ledger import ANCHOR, LEDGER, Ledger
from versadp.release.spill import sweep

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

LOCK, LEDGER_KEY, SIGNING_KEY = "lock", "ledger.key", "signing.key"
_VERSION = 2


class State:
    """An open state folder; it is locked until it is closed.

    Parameters
    ----------
    folder : Path
    make : bool
        Make it if it is not there.
    shared : bool
        True if it may serve several releases; older ones beside a release serve that release.
    budget : tuple of int, optional
        What one person may be charged in all (see `charges.py`); for a new folder.
    """

    def __init__(
        self, folder: Path, *, make: bool = False, shared: bool = True, budget: tuple[int, int] | None = None
    ) -> None:
        self.folder = folder
        self._lock: sqlite3.Connection | None = None
        self.ledger: Ledger
        prepare(folder, make=make)
        self._take_lock()
        try:
            self._key = self._open_key(make=make)
            self.ledger = Ledger(folder, self._key)
            if not self.ledger.entries:
                self.ledger.add(Create(_VERSION, shared, budget))
            self.first = self._read_first(budget)
            self._sweep()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        raise KeyMaterialError("a state holds secrets and cannot be pickled")

    def close(self) -> None:
        """Let others in."""
        if hasattr(self, "ledger"):
            self.ledger.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    @property
    def digest_key(self) -> bytes:
        """The key of all digests in the ledger."""
        return _digest_key(self._key)

    def new_key(self, key: bytes | None = None) -> tuple[str, bytes]:
        """Make the key of a release and put it on the disk; return the release's name in the ledger, and the key."""
        release, secret = secrets.token_hex(8), fresh_key() if key is None else check_key(key)
        replace(self._key_path(release), secret)
        return release, secret

    def key(self, release: str, check: str) -> bytes:
        """Return the key of a release."""
        return _read_key(self._key_path(release), self.digest_key, check)

    def has_key(self, release: str) -> bool:
        """Return whether the key of a release is there."""
        return self._key_path(release).exists()

    def key_check(self, key: bytes) -> str:
        """Return what tells whether a key is the right one, and nothing else about it."""
        return _key_check(self.digest_key, key)

    def destroy_key(self, release: str) -> None:
        """Destroy the key of a release."""
        destroy(self._key_path(release))

    @property
    def has_signing_key(self) -> bool:
        """True if anything was ever signed from here."""
        return (self.folder / SIGNING_KEY).exists()

    def signing_key(self) -> bytes:
        """Return the key of signatures; it is made when it is first asked for."""
        if not self.has_signing_key:
            replace(self.folder / SIGNING_KEY, fresh_key())
        return check_key((self.folder / SIGNING_KEY).read_bytes())

    def destroy_ledger_key(self) -> None:
        """Destroy the key of the ledger: its digests then mean nothing, and nothing more can be released."""
        destroy(self.folder / LEDGER_KEY)

    def _key_path(self, release: str) -> Path:
        return _key_path(self.folder, release)

    def _take_lock(self) -> None:
        path = self.folder / LOCK
        if not path.exists():
            with suppress(FileExistsError):
                create(path)
        # a lock of the system, by way of the database library: it ends with the process, however that ends
        self._lock = connect(path, timeout=0)
        try:
            self._lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error:
            self._lock.close()
            raise StateError(
                "another process is at work with this state folder", hint="wait for it, then run the command again"
            ) from None

    def _open_key(self, *, make: bool) -> bytes:
        path = self.folder / LEDGER_KEY
        if path.exists():
            if not (self.folder / LEDGER).exists() or not (self.folder / ANCHOR).exists():
                raise StateError(
                    "the ledger or its anchor is missing from the state folder",
                    hint="put it back: without it nobody can tell who was released already",
                )
            return check_key(path.read_bytes())
        if _used(self.folder):
            raise KeyMaterialError(
                "the ledger's key is gone: the release was finalised, or the key was lost",
                hint="after `versadp finalize` nothing can be added; release to a new folder",
            )
        if not make:
            raise StateError(f"{str(self.folder)!r} holds no state", hint="give the folder with --state")
        Ledger.make(self.folder)
        replace(path, fresh_key())
        return path.read_bytes()

    def _read_first(self, budget: tuple[int, int] | None) -> Create:
        """Return the entry with which the ledger starts, if it is one of ours and speaks of this budget."""
        first = self.ledger.entries[0]
        if not isinstance(first, Create) or first.version != _VERSION:
            raise StateError(
                "the state folder is of a version that this versadp does not know", hint="use the versadp that made it"
            )
        if budget is not None and first.budget != budget:
            raise ParameterError("the budget of a state folder cannot be changed", hint="leave it out")
        return first

    def _sweep(self) -> None:
        """Destroy keys that a crash left without a release, and of releases that are over; remove spilled values."""
        for path in self.folder.glob("release-*.key"):
            history = self.ledger.histories.get(path.stem.removeprefix("release-"))
            if history is None or history.over:
                destroy(path)
        for path in self.folder.glob(".*.tmp"):
            destroy(path)
        sweep(self.folder)


def read_secrets(folder: Path, release: str, check: str) -> tuple[bytes, bytes]:
    """Return the key of a release and that of all digests, for who works for the process that has the state open."""
    try:
        digest_key = _digest_key(check_key((folder / LEDGER_KEY).read_bytes()))
    except OSError:
        raise KeyMaterialError("the ledger's key cannot be read", hint="work as the user whose state it is") from None
    return _read_key(_key_path(folder, release), digest_key, check), digest_key


def _key_path(folder: Path, release: str) -> Path:
    return folder / f"release-{release}.key"


def _digest_key(ledger_key: bytes) -> bytes:
    return mac(ledger_key, b"digests")


def _key_check(digest_key: bytes, key: bytes) -> str:
    return mac(digest_key, b"key", key).hex()[:32]


def _read_key(path: Path, digest_key: bytes, check: str) -> bytes:
    try:
        secret = path.read_bytes()
    except OSError:
        raise KeyMaterialError(
            "the key of this release is missing", hint="put it back: without it nothing can be added or resumed"
        ) from None
    if not hmac.compare_digest(_key_check(digest_key, secret), check):
        raise KeyMaterialError("the key is not that of this release", hint="put the right one back")
    return check_key(secret)


def prepare(folder: Path, *, make: bool) -> None:
    """Make the folder, or check that it is one that only its owner can read."""
    if make and not folder.exists():
        for each in (folder.parent, folder):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not folder.is_dir():
        raise StateError(f"there is no state folder {str(folder)!r}", hint="give the right one with --state")
    if os.name == "posix" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        if any(folder.iterdir()):
            raise StateError("others can read the state folder", hint=f"chmod 700 {folder}")
        folder.chmod(0o700)


def _used(folder: Path) -> bool:
    """Return whether a ledger without a key has ever been written to."""
    if not (folder / LEDGER).exists():
        return False
    database = connect(folder / LEDGER)
    try:
        return bool(database.execute("SELECT count(*) FROM entries").fetchone()[0])
    except sqlite3.OperationalError:  # a crash before the tables were made
        return False
    except sqlite3.Error:
        raise StateError("the ledger is damaged, and its key is gone") from None
    finally:
        database.close()
