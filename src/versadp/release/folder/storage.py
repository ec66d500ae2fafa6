"""Storage of a release's files: a folder of this machine, or a store.

Whoever reads a release does not trust where it lies. A part in a store is fetched whole, since its digest is one of all
its bytes, into a private folder of this process; it is used from there, once the digest is right, and not fetched again
while there is room. So what is read is what was checked, whatever the store answers next time.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from versadp import inputs
from versadp.errors import ReleaseError
from versadp.release.folder.manifest import MANIFEST, MAX_MANIFEST
from versadp.release.folder.part_file import is_inside, spoilt
from versadp.release.folder.signature import MAX_SIGNATURE, SIGNATURE
from versadp.release.object_store import PIECE, Stored

if TYPE_CHECKING:
    from versadp.release.folder.part_file import PartFile

KEPT_BYTES = 4 * 2**30  # that copies of fetched parts may have together
DAMAGED = (pa.ArrowException, OSError, ValueError, TypeError, MemoryError)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_fetching: defaultdict[str, Lock] = defaultdict(Lock)
_room = Lock()


class Storage(Protocol):
    """Operations that a release needs of its storage."""

    where: str
    slow: bool

    def manifest(self) -> bytes:
        """Return the manifest, of a bounded size; an OSError if there is none."""
        ...

    def signature(self) -> bytes:
        """Return the signature file, of a bounded size; a FileNotFoundError if there is none."""
        ...

    def footer(self, part: PartFile) -> Any:
        """Return the footer of a part that has the size that it should have, as somebody wrote it."""
        ...

    def opened(self, part: PartFile) -> Any:
        """Return a part, open, whose bytes were found to be those of its digest."""
        ...

    def again(self, part: PartFile) -> Any:
        """Return a part that was found to be intact before."""
        ...


@dataclass(frozen=True)
class OnDisk:
    """A folder of this machine."""

    path: Path
    where = "on disk"
    slow = False

    def __str__(self) -> str:
        return str(self.path)

    def manifest(self) -> bytes:
        """Return the manifest."""
        if not is_inside(self.path, MANIFEST):
            raise spoilt("the manifest is a link to somewhere else")
        return inputs.file_bytes(self.path / MANIFEST, MAX_MANIFEST)

    def signature(self) -> bytes:
        """Return the signature file."""
        if not is_inside(self.path, SIGNATURE):
            raise spoilt("the signature is a link to somewhere else")
        return inputs.file_bytes(self.path / SIGNATURE, MAX_SIGNATURE)

    def footer(self, part: PartFile) -> Any:
        """Return the footer of a part."""
        if not part.is_in(self.path):
            raise spoilt(f"{part.name} is missing, has another size or is a link to somewhere else")
        return footer_of(part, self.path / part.name)

    def opened(self, part: PartFile) -> Path:
        """Return the path of a part that is intact."""
        if not part.is_intact(self.path):
            raise spoilt(f"{part.name} was changed after release")
        return self.path / part.name

    def again(self, part: PartFile) -> Path:
        """Return the path of a part."""
        return self.path / part.name


@dataclass(frozen=True)
class InStore:
    """A folder of objects."""

    path: Stored
    where = "in a store"
    slow = True

    def __str__(self) -> str:
        return str(self.path)

    def manifest(self) -> bytes:
        """Return the manifest."""
        return (self.path / MANIFEST).read(MAX_MANIFEST)

    def signature(self) -> bytes:
        """Return the signature file."""
        return (self.path / SIGNATURE).read(MAX_SIGNATURE)

    def footer(self, part: PartFile) -> Any:
        """Return the footer of a part: its end alone is fetched."""
        try:
            file = (self.path / part.name).open()
        except FileNotFoundError:
            raise spoilt(f"{part.name} is missing") from None
        with file:
            if file.size() != part.size:
                raise spoilt(f"{part.name} has another size than the manifest says")
            return footer_of(part, file)

    def opened(self, part: PartFile) -> pa.NativeFile:
        """Return a copy of a part, open; it is fetched if there is none."""
        if not _DIGEST.fullmatch(part.sha256):
            raise spoilt("the manifest's list of parts is not valid")
        with _fetching[part.sha256]:
            copy = Path(_copies().name, part.sha256)
            if not copy.exists():
                self._fetch(part, copy)
            copy.touch()  # what was used last is kept longest
            return pa.OSFile(str(copy))

    again = opened

    def _fetch(self, part: PartFile, copy: Path) -> None:
        digest, scratch = hashlib.sha256(), copy.with_suffix(".tmp")
        try:
            with (self.path / part.name).open() as file, scratch.open("wb") as out:
                if file.size() != part.size:
                    raise spoilt(f"{part.name} has another size than the manifest says")
                _make_room(part.size)
                while data := file.read(PIECE):
                    digest.update(data)
                    out.write(data)
            if digest.hexdigest() != part.sha256:
                raise spoilt(f"{part.name} was changed after release")
            scratch.replace(copy)
        except FileNotFoundError:
            raise spoilt(f"{part.name} is missing") from None
        finally:
            scratch.unlink(missing_ok=True)


def storage_of(place: Path | Stored) -> OnDisk | InStore:
    """Return the storage at a place."""
    return InStore(place) if isinstance(place, Stored) else OnDisk(place.absolute())


def footer_of(part: PartFile, source: Any) -> Any:
    """Return the footer of a part, out of a path or an open file."""
    try:
        return pq.read_metadata(source)
    except DAMAGED:
        raise spoilt(f"{part.name} was changed after release") from None


@cache
def _copies() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of copies, for this process's eyes; it goes with the process."""
    return tempfile.TemporaryDirectory(prefix="versadp-")


def _make_room(size: int) -> None:
    """Remove the least recently used copies until one more has room; open readers go on reading."""
    if size > KEPT_BYTES:
        raise ReleaseError(
            f"a part of {size // 2**20} MiB is larger than what is kept of a store", hint="copy the release here first"
        )
    with _room:
        there = sorted(Path(_copies().name).glob("[0-9a-f]*[0-9a-f]"), key=lambda path: path.stat().st_mtime_ns)
        total = sum(path.stat().st_size for path in there)
        for path in there:
            if total + size <= KEPT_BYTES:
                break
            total -= path.stat().st_size
            path.unlink(missing_ok=True)
