"""Files past the system's cache: the same bytes as any other file, at every size and from every place in it."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from versadp.release import direct_io
from versadp.release.atomic_write import sha256
from versadp.release.direct_io import BUFFER, PAGE, Writer, read_between


@pytest.fixture(params=["straight", "refused when opened", "refused when used"])
def disk(request, monkeypatch):
    """Disks that go past the cache, and those that do not: some say so when a file is opened, some later."""
    if request.param == "refused when opened":
        plain = os.open

        def refusing(path, flags, *more, **named):
            if flags & direct_io._STRAIGHT:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            return plain(path, flags, *more, **named)

        monkeypatch.setattr(direct_io.os, "open", refusing)
    if request.param == "refused when used":  # as where a disk asks for more than pages of this size
        monkeypatch.setattr(direct_io, "PAGE", 1)


def data_of(size):
    return np.random.default_rng(size).bytes(size)


@pytest.mark.parametrize("size", [0, 1, PAGE - 1, PAGE, PAGE + 1, BUFFER, BUFFER + PAGE + 1, 2 * BUFFER])
@pytest.mark.parametrize("piece", [1000, BUFFER - 1, 3 * BUFFER])
def test_what_is_written_is_there(tmp_path, disk, size, piece):
    data = data_of(size)
    with Writer(tmp_path / "file") as file:
        for start in range(0, size, piece):
            assert file.tell() == start
            file.write(data[start : start + piece])
    assert (tmp_path / "file").read_bytes() == data
    assert file.contents == (size, sha256(tmp_path / "file"))


@pytest.mark.parametrize(
    ("start", "stop"),
    [(0, 0), (0, 1), (1, PAGE), (PAGE - 1, PAGE + 1), (PAGE, 2 * PAGE), (5, 50_001), (50_001, 50_001)],
)
def test_what_is_read_is_what_is_there(tmp_path, disk, start, stop):
    data = data_of(50_001)
    (tmp_path / "file").write_bytes(data)
    assert read_between(tmp_path / "file", start, stop).to_pybytes() == data[start:stop]


def test_a_file_that_ends_before_is_not_filled_up(tmp_path, disk):
    (tmp_path / "file").write_bytes(data_of(PAGE + 1))
    for stop in (PAGE + 2, 2 * PAGE, 9 * PAGE):
        with pytest.raises(EOFError):
            read_between(tmp_path / "file", 0, stop)


def test_a_file_takes_the_place_of_a_longer_one(tmp_path, disk):
    (tmp_path / "file").write_bytes(data_of(3 * PAGE))
    with Writer(tmp_path / "file") as file:
        file.write(b"short")
    assert (tmp_path / "file").read_bytes() == b"short"


def test_a_full_disk_says_so(disk):
    def write():
        with Writer(Path("/dev/full")) as file:
            file.write(b"anything")

    with pytest.raises(OSError, match="No space left") as caught:
        write()
    assert caught.value.errno == errno.ENOSPC


def test_who_fails_in_the_middle_leaves_nothing_open(tmp_path):
    with pytest.raises(TypeError), Writer(tmp_path / "file") as file:
        file.write("text")
    assert file._file.closed
    assert (tmp_path / "file").stat().st_size == 0
