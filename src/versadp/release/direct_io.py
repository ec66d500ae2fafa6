"""Large files straight to the disk and back, past the system's cache.

What is written once and read once, or not at all, gains nothing from being kept in memory, and finding memory for it is
not free: on a virtual machine that gives unused memory back, it may cost more than to noise what it holds.
Such reads and writes are of whole pages, in memory and on the disk: what is written goes through a buffer, and what is
read is cut out of what lies around it. Where a system or a disk does not offer this, files are ordinary ones.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import FileIO
    from pathlib import Path

PAGE = 4096  # a multiple of what most disks ask for
BUFFER = 2**22  # bytes that are written together
_STRAIGHT = getattr(os, "O_DIRECT", 0)


class Contents(NamedTuple):
    """Size and digest of a file that has been written."""

    size: int
    sha256: str


class Writer:
    """A new file, to which arrow can write, and whose digest is taken on the way.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Writer(Path(folder) / "file") as file:
    ...         _ = file.write(b"some bytes")
    ...     (Path(folder) / "file").read_bytes(), file.contents.size
    (b'some bytes', 10)
    """

    closed = False  # which arrow asks

    def __init__(self, path: Path) -> None:
        self._buffer = room_for(BUFFER)
        self._file = _open(path, "wb")
        self._held, self._size, self._digest = 0, 0, hashlib.sha256()

    def write(self, data: Any) -> int:
        """Take bytes; arrow hands over buffers of its own."""
        given = memoryview(data).cast("B")
        self._digest.update(given)
        done = 0
        while done < len(given):
            some = given[done : done + BUFFER - self._held]
            self._buffer[self._held : self._held + len(some)] = some
            self._held, done = self._held + len(some), done + len(some)
            if self._held == BUFFER:
                self._flush()
        self._size += done
        return done

    def tell(self) -> int:
        """Return how many bytes were taken."""
        return self._size

    def flush(self) -> None:
        """Do nothing: only whole buffers are written before the end."""

    @property
    def contents(self) -> Contents:
        """Size and digest of what was written."""
        return Contents(self._size, self._digest.hexdigest())

    def _flush(self) -> None:
        """Write what is held, in whole pages."""
        end, at = pages(self._held), 0
        while at < end:
            at += _trying(self._file, self._file.write, self._buffer[at:end])
        self._held = 0

    def close(self) -> None:
        """Do nothing: the end of a `with` tells whether the file is whole."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: object, trace: object) -> None:
        try:
            if kind is None:
                self._flush()
                self._file.truncate(self._size)
        finally:
            self._file.close()


def pages(size: int) -> int:
    """Return the size of the whole pages that hold `size` bytes.

    Examples
    --------
    >>> pages(0), pages(1), pages(4096), pages(4097)
    (0, 4096, 4096, 8192)
    """
    return -(-size // PAGE) * PAGE


def room_for(size: int) -> memoryview:
    """Return memory that begins with a page; it is given back with its last user."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return memoryview(mmap.mmap(-1, max(size, 1)))
    room = mmap.mmap(-1, max(size, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_DONTFORK"):  # a disk must not write to pages that a child is just getting a copy of: open(2)
        room.madvise(mmap.MADV_DONTFORK)
    return memoryview(room)


class Rooms:
    """Memory that is lent and lent again: to ask the system for it may take longer than to read into it.

    Examples
    --------
    >>> rooms = Rooms()
    >>> with rooms.of(80) as one:
    ...     _ = len(one)
    >>> with rooms.of(60) as other:
    ...     other is one
    True
    """

    def __init__(self) -> None:
        self._free: list[memoryview] = []  # of which threads take and give in one step

    @contextmanager
    def of(self, size: int) -> Iterator[memoryview]:
        """Lend a buffer of at least this size; it must not be read after it is given back."""
        try:
            room = self._free.pop()
        except IndexError:
            room = room_for(0)
        if len(room) < size:
            room = room_for(size + size // 8)  # the next may need a little more
        yield room
        self._free.append(room)

    def __reduce__(self) -> tuple[type[Rooms], tuple[()]]:
        return Rooms, ()  # memory stays where it is


def around(start: int, stop: int) -> tuple[int, int]:
    """Return from where to where whole pages lie that hold some bytes.

    Examples
    --------
    >>> around(4000, 5000), around(4096, 8192)
    ((0, 8192), (4096, 8192))
    """
    return start // PAGE * PAGE, pages(stop)


def read_between(path: Path, start: int, stop: int, into: memoryview | None = None) -> pa.Buffer:
    """Return the bytes of a file from one place to another, for this process alone; raise EOFError if it ends before.

    They are read `into` memory that begins with a page and has room for what lies `around` them.
    """
    low, high = around(start, stop)
    room = room_for(high - low) if into is None else into
    got = 0
    with _open(path, "rb") as file:
        file.seek(low)
        while got < stop - low:
            some = _trying(file, file.readinto, room[got : high - low])
            if not some:
                raise EOFError(path.name)
            got += some
    return pa.py_buffer(room[start - low : stop - low])


def _open(path: Path, mode: Literal["rb", "wb"]) -> FileIO:
    """Open a file, past the cache if that can be had."""
    if _STRAIGHT:
        try:
            return open(path, mode, 0, opener=lambda name, flags: os.open(name, flags | _STRAIGHT, 0o666))
        except OSError as problem:
            if problem.errno != errno.EINVAL:
                raise
    return path.open(mode, 0)


def _trying(file: FileIO, call: Callable[[memoryview], int | None], data: memoryview) -> int:
    """Read or write; a disk may agree to go past the cache and ask for more than whole pages afterwards."""
    try:
        return call(data) or 0
    except OSError as problem:
        if problem.errno != errno.EINVAL or not _STRAIGHT:
            raise
        import fcntl

        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) & ~_STRAIGHT)
        return call(data) or 0
