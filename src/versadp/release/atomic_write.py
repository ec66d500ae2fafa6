"""Files that survive a crash: whole or not at all.

Write under a temporary name, fsync, rename, fsync the folder. After that a loss of power finds the old file or the new
one, never half of it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from typing import TYPE_CHECKING

from versadp.release.checkpoints import reached

if TYPE_CHECKING:
    from pathlib import Path


def sha256(path: Path) -> str:
    """Return the digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_file(path: Path) -> None:
    """Wait until a file's bytes are on the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """Wait until a folder's names are on the disk."""
    if os.name == "posix":
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def create(path: Path, data: bytes = b"", mode: int = 0o600) -> None:
    """Write a new file that only its owner can read, and wait until it is on the disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Put new bytes in place of a file in one step."""
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    create(scratch, data, mode)
    reached("before replace")
    scratch.replace(path)
    sync_folder(path.parent)


def unsettled(path: Path, *, apart: bool = False) -> Path:
    """Return where a file is written before it has its name; `apart` from others who may be writing the same file.

    Examples
    --------
    >>> from pathlib import Path
    >>> unsettled(Path("partial/release/part-00000.parquet")).as_posix()
    'partial/release/.part-00000.parquet.tmp'
    """
    if not apart:
        return path.with_name(f".{path.name}.tmp")
    # not in its folder, which may be published meanwhile
    return path.parent.parent / f".{path.name}.{secrets.token_hex(8)}.tmp"


def settle(scratch: Path, path: Path, *, wait: bool = True) -> None:
    """Give a finished file its name; do not `wait` for the disk if it can be made again."""
    if wait:
        sync_file(scratch)
    reached("before rename")
    scratch.replace(path)
    if wait:
        sync_folder(path.parent)
    reached("after rename")


def destroy(path: Path) -> None:
    """Overwrite a small file and remove it.

    Journals, snapshots and the spare blocks of a solid-state disk may keep what was there; `docs/security.md` says so.
    """
    try:
        with path.open("r+b") as file:
            size = os.fstat(file.fileno()).st_size
            for data in (secrets.token_bytes(size), bytes(size)):
                file.seek(0)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
    except FileNotFoundError:
        return
    reached("before unlink")
    path.unlink()
    sync_folder(path.parent)
