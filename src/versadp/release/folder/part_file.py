"""One file of released records, as a manifest and the ledger name it: what must be found under its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from versadp.errors import ReleaseError
from versadp.release.atomic_write import sha256

if TYPE_CHECKING:
    from pathlib import Path

_PART = {"file": str, "rows": int, "bytes": int, "sha256": str}
_PART_NAME = re.compile(r"part-[0-9]{5}\.parquet")
_RUN_NAME = re.compile(r"run-[0-9]{5}\.arrow")
_TOTALS_NAME = re.compile(r"totals-[0-9]{5}\.json")

MAX_TOTALS = 2**28  # bytes of a file of totals: of a million, twice


@dataclass(frozen=True)
class PartFile:
    """One file of released records, or of their totals: its name in the folder, and what must be found under it.

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
    def from_dict(cls, data: Any, *, unfinished: bool = False, totals: bool = False) -> PartFile:
        """Read what `to_dict` wrote."""
        if not isinstance(data, dict) or {key: type(value) for key, value in data.items()} != _PART or data["rows"] < 0:
            raise spoilt("the manifest's list of parts is not valid")
        # a name that climbs out of the folder is an attack, not a part
        names = (_PART_NAME, _RUN_NAME, _TOTALS_NAME) if unfinished else (_TOTALS_NAME,) if totals else (_PART_NAME,)
        if not any(name.fullmatch(data["file"]) for name in names):
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


def totals_name(number: int) -> str:
    """Return the name of the file of a batch's totals.

    Examples
    --------
    >>> totals_name(0)
    'totals-00000.json'
    """
    return f"totals-{number:05d}.json"


def is_inside(folder: Path, name: str) -> bool:
    """Return whether a file, or what it is a link to, lies in the folder: a release has no say beyond its own."""
    return (folder / name).resolve(strict=True).is_relative_to(folder.resolve(strict=True))


def spoilt(message: str) -> ReleaseError:
    """Return our error for a release that is not what it was."""
    return ReleaseError(message, hint="fetch the release again")
