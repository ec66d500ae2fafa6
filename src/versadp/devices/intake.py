"""Append-only file of the reports that were taken: frames that are on the disk before their senders are told so.

    frame   = "VDPR" || kind (u32) || number (u64) || length (u64) || keyed BLAKE2b-128 of all || payload
    payload = length (u32) || counts of lines, JSON || rows, Arrow          of a commit of reports

Each commit is one frame and one fsync, and the next is written after that. So after a crash only the last frame can be
torn, and nobody was told of it: it is cut off. An invalid frame with a valid one behind it is damage, and is refused.
"""

from __future__ import annotations

import errno
import json
import os
import struct
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from versadp.errors import StateError
from versadp.release.atomic_write import sync_folder
from versadp.release.checkpoints import reached

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MAGIC = b"VDPR"
HEAD = struct.Struct("<4sIQQ16s")
MOST_PAYLOAD = 2**28  # bytes; a length beyond it is damage
_LENGTH = struct.Struct("<I")
REPORTS, CLOSING = 1, 2
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
PIECE = 2**20  # bytes that are overwritten or searched at a time


class Frame(NamedTuple):
    """One commit."""

    kind: int
    number: int
    payload: bytes


class Intake:
    """The file of one collection, opened by its only writer.

    Parameters
    ----------
    path : Path
        It is made if it is not there; a link is refused.
    key : bytes
        Of the collection: nobody who sends reports can write what looks like a frame.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     intake = Intake(Path(folder) / "intake", b"key")
    ...     _ = list(intake.recover())
    ...     intake.append(REPORTS, b"some")
    ...     intake.close()
    ...     again = Intake(Path(folder) / "intake", b"key")
    ...     [frame.payload for frame in again.recover()]
    [b'some']
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self._key = key
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        try:
            self._file = os.open(path, flags, 0o600)
        except OSError as problem:
            raise _cannot("opened", problem) from None
        sync_folder(path.parent)
        self._end = 0
        self._number = 0
        self._broken = True  # until it is recovered

    @property
    def size(self) -> int:
        """Bytes of all frames."""
        return self._end

    def recover(self) -> Iterator[Frame]:
        """Yield all frames; then cut off what a crash left of a frame behind them."""
        at = 0
        for frame in self.frames():
            at += HEAD.size + len(frame.payload)
            yield frame
        size = os.fstat(self._file).st_size
        if at < size:
            if self._frame_behind(at + 1, size):
                raise StateError(
                    "the intake file is damaged in the middle: reports that were acknowledged cannot be read",
                    hint="restore the folder from a backup, or collect the round anew in another folder",
                )
            os.ftruncate(self._file, at)
            os.fsync(self._file)
        self._end, self._broken = at, False

    def frames(self) -> Iterator[Frame]:
        """Yield all frames from the beginning, up to the first that is not valid."""
        at = number = 0
        while (frame := self._frame_at(at, number)) is not None:
            yield frame
            at += HEAD.size + len(frame.payload)
            number += 1
            self._number = max(self._number, number)

    def append(self, kind: int, payload: bytes) -> None:
        """Write a frame and wait until it is on the disk."""
        if self._broken:
            raise StateError(
                "the intake file could not be written before", hint="stop the collector and start it again"
            )
        head = HEAD.pack(MAGIC, kind, self._number, len(payload), self._digest(kind, self._number, payload))
        self._broken = True
        try:
            _write_all(self._file, head + payload, self._end)
            reached("frame written")
            os.fsync(self._file)
        except OSError as problem:
            self._give_up(problem)
        reached("frame on disk")
        self._end += len(head) + len(payload)
        self._number += 1
        self._broken = False

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _give_up(self, problem: OSError) -> None:
        """Take back what was written of a frame, if that can be done; a failed fsync may have lost anything."""
        try:
            os.ftruncate(self._file, self._end)
            os.fsync(self._file)
            self._broken = False
        except OSError:
            pass
        raise _cannot("written", problem) from None

    def _frame_at(self, at: int, number: int | None) -> Frame | None:
        """Return the valid frame that begins at a place, if one does; with this number unless that is None."""
        head = os.pread(self._file, HEAD.size, at)
        if len(head) < HEAD.size:
            return None
        magic, kind, found, length, digest = HEAD.unpack(head)
        if magic != MAGIC or length > MOST_PAYLOAD or number not in (None, found):
            return None
        payload = _read_all(self._file, length, at + HEAD.size)
        if len(payload) < length or digest != self._digest(kind, found, payload):
            return None
        return Frame(kind, found, payload)

    def _digest(self, kind: int, number: int, payload: bytes) -> bytes:
        head = struct.pack("<IQQ", kind, number, len(payload))
        return blake2b(head + payload, digest_size=16, key=self._key).digest()

    def _frame_behind(self, start: int, size: int) -> bool:
        """Return whether a valid frame begins anywhere behind a place."""
        for at in range(start, size, PIECE):
            piece, found = os.pread(self._file, PIECE + len(MAGIC) - 1, at), -1
            while (found := piece.find(MAGIC, found + 1)) >= 0:
                if self._frame_at(at + found, None) is not None:
                    return True
        return False


def pack(counts: Mapping[str, int], rows: pa.RecordBatch) -> bytes:
    """Return the payload of a commit: what became of lines, and the rows that were taken.

    Examples
    --------
    >>> rows = pa.record_batch({"id": pa.array([b"0" * 32], pa.binary(32))})
    >>> counts, again = unpack(pack({"taken": 1}, rows), rows.schema)
    >>> counts, again == rows
    ({'taken': 1}, True)
    """
    head = json.dumps(counts).encode()
    return b"".join([_LENGTH.pack(len(head)), head, rows.serialize().to_pybytes()])


def unpack(payload: bytes, types: pa.Schema) -> tuple[dict[str, int], pa.RecordBatch]:
    """Return counts and rows of a commit."""
    (size,) = _LENGTH.unpack_from(payload)
    start = _LENGTH.size + size
    rows = pa.ipc.read_record_batch(pa.py_buffer(payload)[start:], types)
    return json.loads(payload[_LENGTH.size : start]), rows


def erase(path: Path) -> None:
    """Overwrite a file with zeros and remove it, if it is there; `docs/security.md` says what that does not reach."""
    flags = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = os.open(path, flags)
    except FileNotFoundError:
        return
    try:
        size = os.fstat(file).st_size
        for at in range(0, size, PIECE):
            _write_all(file, bytes(min(PIECE, size - at)), at)
        os.fsync(file)
    finally:
        os.close(file)
    reached("before unlink")
    path.unlink()
    sync_folder(path.parent)


def _write_all(file: int, data: bytes, at: int) -> None:
    rest = memoryview(data)
    while rest:
        done = os.pwrite(file, rest, at)
        rest, at = rest[done:], at + done


def _read_all(file: int, length: int, at: int) -> bytes:
    pieces = []
    while length > 0 and (some := os.pread(file, length, at)):
        pieces.append(some)
        at, length = at + len(some), length - len(some)
    return b"".join(pieces)


def _cannot(done: str, problem: OSError) -> StateError:
    hint = "make room on the disk" if problem.errno in FULL else "check the folder and its disk"
    return StateError(
        f"the intake file cannot be {done} ({os.strerror(problem.errno or 0)})", hint=f"{hint}, then start again"
    )
