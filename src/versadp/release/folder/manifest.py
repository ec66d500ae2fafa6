"""The manifest of a release: what an analyst needs to know, and digests of the released parts.

Schema, noise, rows and the privacy statement at both units; no key, no raw value, no digest of raw content, nothing
about the machine. A manifest has the version of its mechanism; version 1 also says each numeric column's grid, and
knows no order but that in which the rows came.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.errors import ReleaseError, VersadpError
from versadp.release.atomic_write import create, sha256
from versadp.release.mechanism import Mechanism
from versadp.release.path.order import KEPT, Order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from versadp.release.folder.storage import Shelf

MANIFEST = "manifest.json"
MAX_MANIFEST = 64 * 2**20
_FORMAT, _VERSIONS = "versadp release", (1, 2, 3, 4)
_FIELDS = {"mechanism": dict, "rows": int, "insecure": bool, "parts": list, "privacy": dict, "digest": str}
_PART = {"file": str, "rows": int, "bytes": int, "sha256": str}
_PART_NAME = re.compile(r"part-[0-9]{5}\.parquet")
_RUN_NAME = re.compile(r"run-[0-9]{5}\.arrow")


@dataclass(frozen=True)
class PartFile:
    """One file of released records: its name in the folder, and what must be found under it.

    Examples
    --------
    >>> PartFile.from_dict({"file": "part-00000.parquet", "rows": 3, "bytes": 846, "sha256": "78b3"})
    PartFile(name='part-00000.parquet', rows=3, size=846, sha256='78b3')
    """

    name: str
    rows: int
    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path, rows: int) -> PartFile:
        """Return what is to be said about a file that was just written."""
        return cls(path.name, rows, path.stat().st_size, sha256(path))

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in a manifest, and in the ledger."""
        return {"file": self.name, "rows": self.rows, "bytes": self.size, "sha256": self.sha256}

    @classmethod
    def recorded(cls, data: Any) -> PartFile:
        """Read what `to_dict` wrote into a ledger, which knows of unfinished files too."""
        return cls.from_dict(data, unfinished=True)

    @classmethod
    def from_dict(cls, data: Any, *, unfinished: bool = False) -> PartFile:
        """Read what `to_dict` wrote."""
        if not isinstance(data, dict) or {key: type(value) for key, value in data.items()} != _PART or data["rows"] < 0:
            raise spoilt("the manifest's list of parts is not valid")
        # a name that climbs out of the folder is an attack, not a part
        if not _PART_NAME.fullmatch(data["file"]) and not (unfinished and _RUN_NAME.fullmatch(data["file"])):
            raise spoilt("the manifest names a part that versadp does not write")
        return cls(*(data[key] for key in _PART))

    def is_in(self, folder: Path) -> bool:
        """Return whether a folder has a file of this name and size."""
        try:
            path = folder / self.name
            return path.stat().st_size == self.size and path.is_file() and is_inside(folder, self.name)
        except (OSError, RuntimeError):
            return False

    def is_intact(self, folder: Path) -> bool:
        """Return whether a folder has this file to the last byte."""
        try:
            return self.is_in(folder) and sha256(folder / self.name) == self.sha256
        except OSError:
            return False


@dataclass(frozen=True)
class Manifest:
    """What is said about a release; `Manifest.of` makes one, `read_manifest` reads one and checks it."""

    mechanism: Mechanism
    parts: tuple[PartFile, ...]
    insecure: bool
    privacy: dict[str, Any]
    digest: str
    order: Order = KEPT

    @classmethod
    def of(
        cls, mechanism: Mechanism, parts: Iterable[PartFile], *, insecure: bool = False, order: Order = KEPT
    ) -> Manifest:
        """Return the manifest of a release that consists of these parts."""
        from versadp.release.target.statement import privacy_figures

        parts = tuple(parts)
        figures = privacy_figures(mechanism, sum(part.rows for part in parts), order)
        made = cls(mechanism, parts, insecure, figures, "", order)
        return replace(made, digest=digest_of(made.to_dict()))

    @property
    def rows(self) -> int:
        """Number of records."""
        return sum(part.rows for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and numbers, in the order in which they are written."""
        noise = self.mechanism.to_dict()
        return {
            "format": _FORMAT,
            "version": noise["version"],
            "mechanism": noise,
            **_grid(self.mechanism),
            "rows": self.rows,
            **({} if noise["version"] == 1 else {"order": self.order.to_dict()}),
            "insecure": self.insecure,
            "parts": [part.to_dict() for part in self.parts],
            "privacy": self.privacy,
            "digest": self.digest,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Manifest:
        """Read what `to_dict` wrote, and refuse anything else."""
        if not isinstance(data, dict):
            raise spoilt("the manifest is not a JSON object")
        known = data.get("format") == _FORMAT and data.get("version") in _VERSIONS
        if not known or set(data) != {"format", "version", *_FIELDS, "grid" if data["version"] == 1 else "order"}:
            raise spoilt("this is not a release folder, or one of a version that this versadp does not know")
        if data["digest"] != digest_of(data):
            raise ReleaseError("the manifest was edited", hint="fetch the release again; parameters cannot be changed")
        mechanism = _mechanism(data)
        if wrong := [key for key, kind in _FIELDS.items() if type(data[key]) is not kind]:
            raise spoilt(f"the manifest is not valid: {', '.join(wrong)}")
        parts = tuple(map(PartFile.from_dict, data["parts"]))
        made = cls(mechanism, parts, data["insecure"], data["privacy"], data["digest"], _order(data))
        if made.rows != data["rows"] or not made.parts:
            raise spoilt("the manifest's row counts do not add up")
        if len({part.name for part in parts}) < len(parts):
            raise spoilt("the manifest names a part twice")
        if sum(made.order.alike or ()) > made.rows:  # each batch has at least as many records as its smallest group
            raise spoilt("the manifest claims more records with equal public values than there are")
        return made

    def write(self, folder: Path) -> None:
        """Write it into a folder, in place of one that may be there."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False)
        (folder / MANIFEST).unlink(missing_ok=True)
        create(folder / MANIFEST, text.encode(), mode=0o666)


def read_manifest(folder: Path | Shelf) -> Manifest:
    """Read a release's manifest and check it; of the parts only what it says about them."""
    from versadp.release.folder.storage import OnDisk

    shelf = OnDisk(folder) if isinstance(folder, Path) else folder
    try:
        text = shelf.manifest()
    except (OSError, RuntimeError) as problem:  # RuntimeError for links that go round
        if isinstance(problem, VersadpError):  # a store that does not answer
            raise
        raise ReleaseError(
            f"{str(shelf)!r} is not a release folder: it has no readable {MANIFEST}",
            hint="give the folder that versadp wrote",
        ) from None
    return parse_manifest(text)


def parse_manifest(text: bytes) -> Manifest:
    """Return the manifest that a text is."""
    try:
        return Manifest.from_dict(inputs.json_value(text))
    except ReleaseError:
        raise
    except ValueError:
        raise spoilt("the manifest is not valid JSON of finite numbers") from None


def is_inside(folder: Path, name: str) -> bool:
    """Return whether a file, or what it is a link to, lies in the folder: a release has no say beyond its own."""
    return (folder / name).resolve(strict=True).is_relative_to(folder.resolve(strict=True))


def digest_of(data: dict[str, Any]) -> str:
    """Return the digest of everything in a manifest but itself: of released facts only."""
    body = {key: value for key, value in data.items() if key != "digest"}
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def spoilt(message: str) -> ReleaseError:
    """Return our error for a release that is not what it was."""
    return ReleaseError(message, hint="fetch the release again")


def _mechanism(data: dict[str, Any]) -> Mechanism:
    """Return a manifest's mechanism, once the manifest is known to be of its version."""
    try:
        mechanism = Mechanism.from_dict(data["mechanism"])
    except VersadpError as problem:
        raise spoilt(f"the manifest's mechanism is not valid: {problem.message}") from None
    if data["version"] != mechanism.version:
        raise spoilt("the manifest's version is not that of its mechanism")
    if any(data[key] != value for key, value in _grid(mechanism).items()):
        raise spoilt("the manifest's grid does not fit its mechanism")
    return mechanism


def _order(data: dict[str, Any]) -> Order:
    try:
        return Order.from_dict(data.get("order", KEPT.to_dict()))
    except ValueError:
        raise spoilt("the manifest's order of records is not valid") from None


def _grid(mechanism: Mechanism) -> dict[str, dict[str, int]]:
    """Return what version 1 says about grids, the m of each column's `lower + k * width / 2^m`; later ones nothing."""
    if mechanism.version != 1:
        return {}
    return {"grid": {name: m for block in mechanism.blocks for name, m in block.grid().items()}}
