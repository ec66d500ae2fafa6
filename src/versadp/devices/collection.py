"""Folder of one collection: its settings, a lock, and what lies in it at each stage.

    collection.json   settings; made first, never changed
    lock              held while a collector works here; the system lets go of it however the process ends
    intake            what was taken (`intake.py`); removed when the round is closed
    closing/          scratch of a close that is under way
    release/          the release, an ordinary release folder; it appears whole
    closed.json       counts and statement; from here on nothing is taken

The folder is for its owner alone. No name in it comes from a report, a mechanism or a round.
"""

from __future__ import annotations

import json
import re
import secrets
import sqlite3
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.devices.client import check_round
from versadp.devices.fingerprint import check_served, fingerprint
from versadp.devices.row_checks import PublicKind, RowChecks
from versadp.errors import ParameterError, StateError
from versadp.release.atomic_write import create, replace
from versadp.release.mechanism import Mechanism
from versadp.release.path.device_words import check_context

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT, VERSION = "versadp collection", 1
SETTINGS, CLOSED = "collection.json", "closed.json"
LOCK, INTAKE, SCRATCH, RELEASE = "lock", "intake", "closing", "release"
MOST_SETTINGS = 2**26  # bytes of a settings file
_KEY_BYTES = 32
_LEFT = r"\.collection\.json\.[0-9a-f]+\.tmp|lock-journal"


@dataclass(frozen=True)
class Settings:
    """Parameters of a collection: its mechanism, its round, and what is asked for before a release.

    Attributes
    ----------
    mechanism : Mechanism
    round : str
        Name of the round, as reports say it.
    least : int
        How many reports the smallest group with equal public values must have.
    honest : int, optional
        How many reports of that group are assumed to be honest and unknown to a reader of the release; by default half.
    rounds : int
        In how many rounds the same people reported, this one included.
    public : dict of str to PublicKind
        What public columns may hold.
    context : str
        Name of the collector, if the devices' noise is for this collector alone.
    key : bytes
        Of the frames in the intake file.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema, noise
    >>> mech = Mechanism(Schema({"age": Bounded(18, 90)}), noise={"age": noise.Window(2)})
    >>> settings = Settings.of(mech, "2026-11", 100)
    >>> Settings.from_dict(settings.to_dict()) == settings
    True
    """

    mechanism: Mechanism
    round: str
    least: int
    honest: int | None
    rounds: int
    public: Mapping[str, PublicKind]
    context: str
    key: bytes

    @classmethod
    def of(
        cls,
        mechanism: Mechanism,
        round: str | None,  # noqa: A002 - the word of the report format
        least: int | None,
        *,
        honest: int | None = None,
        rounds: int = 1,
        public: Mapping[str, Any] | None = None,
        context: str = "",
    ) -> Settings:
        """Return settings that were checked, with a fresh key."""
        if not isinstance(mechanism, Mechanism):
            raise ParameterError(
                "a collection needs the mechanism that its devices use", hint="--mechanism m.json: mech.to_json()"
            )
        check_served(mechanism)
        if round is None or least is None:
            raise ParameterError(
                "a new collection needs the name of its round and the least number of reports",
                hint="round='2026-11', least=8000 (--round 2026-11 --least 8000)",
            )
        inputs.whole("least", least, 1, hint="how many reports hide one another in the release; 1 asks for nothing")
        if honest is not None:
            inputs.whole("honest", honest, 1)
        inputs.whole("rounds", rounds, 1)
        kinds = {name: PublicKind.of(name, given) for name, given in (public or {}).items()}
        RowChecks.of(mechanism, kinds)
        key = secrets.token_bytes(_KEY_BYTES)
        return cls(mechanism, check_round(round), least, honest, rounds, kinds, check_context(context), key)

    @property
    def fingerprint(self) -> str:
        """Name of the mechanism in reports."""
        return fingerprint(self.mechanism, self.context)

    @property
    def needed(self) -> int:
        """Reports that the smallest public group must have: `least`, or what the mechanism was calibrated for."""
        target = self.mechanism.target
        return max(self.least, (target.shuffled or 1) if target is not None else 1)

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in the folder."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "mechanism": self.mechanism.to_dict(),
            "round": self.round,
            "least": self.least,
            "honest": self.honest,
            "rounds": self.rounds,
            "public": {name: kind.to_json() for name, kind in self.public.items()},
            "context": self.context,
            "key": self.key.hex(),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Settings:
        """Read what `to_dict` wrote."""
        names = {"format", "version", "mechanism", "round", "least", "honest", "rounds", "public", "context", "key"}
        if not isinstance(data, dict) or set(data) != names or (data["format"], data["version"]) != (FORMAT, VERSION):
            raise StateError(
                "the folder holds no collection, or one of a version that this versadp does not know",
                hint="give the folder of a collection, or a new one",
            )
        mechanism = Mechanism.from_dict(data["mechanism"])
        rest = {name: data[name] for name in ("honest", "rounds", "public", "context")}
        made = cls.of(mechanism, data["round"], data["least"], **rest)
        return cls(
            **{name: getattr(made, name) for name in cls.__dataclass_fields__ if name != "key"},
            key=bytes.fromhex(data["key"]),
        )

    def differing(self, other: Settings) -> list[str]:
        """Return the names of settings that another collection has otherwise."""
        mine, theirs = self.to_dict(), other.to_dict()
        return [name for name in mine if name != "key" and mine[name] != theirs[name]]


def open_folder(folder: Path, given: Settings | None) -> tuple[sqlite3.Connection, Settings]:
    """Return a lock on a folder and its settings: those that are given, if it is new; others are refused."""
    if folder.is_symlink():
        raise StateError("the folder of a collection is a link", hint="give the folder itself")
    if not folder.exists():
        if given is None:
            raise _no_collection(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not folder.is_dir() or not (_is_new(folder) or (folder / SETTINGS).exists()):
        raise StateError(f"{str(folder)!r} holds other files", hint="give a new folder, or the one of a collection")
    if given is None and not (folder / SETTINGS).exists():
        raise _no_collection(folder)
    lock = hold(folder)
    try:
        return lock, _agreed(folder, given)  # read under the lock: two may begin at the same time
    except BaseException:
        lock.close()
        raise


def _agreed(folder: Path, given: Settings | None) -> Settings:
    """Return the settings of a folder that is held, and put those that are given into a new one."""
    for path in folder.glob(".*.json.*.tmp"):  # which a crash left
        path.unlink()
    there = read_settings(folder)
    if there is None:
        assert given is not None
        folder.chmod(0o700)
        replace(folder / SETTINGS, json.dumps(given.to_dict(), ensure_ascii=False).encode())
        return given
    if given is not None and (names := given.differing(there)):
        raise ParameterError(
            f"the collection in {str(folder)!r} has another {', '.join(names)}",
            hint="leave these options out to go on with it, or give a new folder",
        )
    return there


def _is_new(folder: Path) -> bool:
    """Return whether a folder holds nothing, or what is left of a collection that was killed when it began."""
    return all(path.name == LOCK or re.fullmatch(_LEFT, path.name) for path in folder.iterdir())


def _no_collection(folder: Path) -> StateError:
    return StateError(f"{str(folder)!r} holds no collection", hint="begin one with --mechanism, --round and --least")


def read_settings(folder: Path) -> Settings | None:
    """Return the settings that stand in a folder, if any do."""
    try:
        data = inputs.file_bytes(folder / SETTINGS, MOST_SETTINGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        raise StateError(
            "the settings of the collection cannot be read", hint="work as the user whose folder it is"
        ) from None
    try:
        return Settings.from_dict(inputs.json_value(data))
    except ValueError:
        raise StateError(
            "the settings of the collection are damaged", hint="restore the folder from a backup"
        ) from None


def hold(folder: Path) -> sqlite3.Connection:
    """Return a lock on a folder, which ends with its connection or with the process; refuse if another has it."""
    path = folder / LOCK
    with suppress(FileExistsError):
        create(path)
    if path.is_symlink():
        raise StateError("the lock of the collection is a link", hint="remove it")
    lock = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error:
        lock.close()
        raise StateError(
            "another collector is at work in this folder", hint="stop it, or send it the reports"
        ) from None
    return lock


@dataclass
class Closed:
    """Counts and statement of a round that was closed.

    Attributes
    ----------
    counts : dict of str to int
        Lines that were read, by what became of them.
    statement : str
    late : int
        Reports that came after the close, and were refused.
    """

    counts: dict[str, int]
    statement: str
    late: int = 0

    def write(self, folder: Path) -> None:
        """Put it into a folder in one step."""
        replace(folder / CLOSED, json.dumps(asdict(self), ensure_ascii=False).encode())

    @classmethod
    def read(cls, folder: Path) -> Closed | None:
        """Return what stands in a folder; None if the round is open."""
        try:
            return cls(**inputs.json_value(inputs.file_bytes(folder / CLOSED, MOST_SETTINGS)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError):
            raise StateError(
                "the notes of the closed round are damaged", hint="restore the folder from a backup"
            ) from None
