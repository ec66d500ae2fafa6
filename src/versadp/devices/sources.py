"""Lines of a file or a pipe in bounded memory, whatever they hold: long ones are passed over without being kept."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from versadp import inputs
from versadp.devices.reports import LINE_BYTES, TOO_LONG, whole_lines
from versadp.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

BLOCK = 2**20  # bytes that are read at a time
LINES = 4096  # lines of one commit, at most


def read_lines(file: str | os.PathLike[str] | BinaryIO) -> Iterator[tuple[list[bytes], dict[str, int]]]:
    r"""Yield lines, some at a time, and how many lines were too long to be reports.

    Examples
    --------
    >>> import io
    >>> list(read_lines(io.BytesIO(b"one\ntwo\n" + b"-" * 100_000 + b"\nthree")))
    [([b'one', b'two'], {'too long': 1}), ([b'three'], {})]
    """
    with ExitStack() as stack:
        if not isinstance(file, str | os.PathLike):
            opened = file
        else:
            path = inputs.path(file, "a file with one report per line")
            try:
                opened = stack.enter_context(Path(path).open("rb"))
            except OSError as problem:
                raise DataError(
                    f"{str(path)!r} cannot be read ({problem.strerror})", hint="give a file of reports"
                ) from None
        yield from _blocks(opened)


def _blocks(file: BinaryIO) -> Iterator[tuple[list[bytes], dict[str, int]]]:
    rest, passing, too_long = b"", False, 0
    while data := file.read(BLOCK):
        if passing:  # the rest of a line that is too long
            _, end, data = data.partition(b"\n")
            passing = not end
        head, end, rest_of_block = (rest + data).rpartition(b"\n")
        rest = rest_of_block
        if len(rest) > LINE_BYTES:
            rest, passing, too_long = b"", True, too_long + 1
        if end:
            yield from _cut(whole_lines(head), too_long)
            too_long = 0
    yield from _cut(whole_lines(rest), too_long)


def _cut(every: list[bytes], too_long: int) -> Iterator[tuple[list[bytes], dict[str, int]]]:
    lines = [line for line in every if len(line) <= LINE_BYTES]
    too_long += len(every) - len(lines)
    sorted_out = {TOO_LONG: too_long} if too_long else {}
    for start in range(0, len(lines), LINES):
        yield lines[start : start + LINES], sorted_out
        sorted_out = {}
    if sorted_out:
        yield [], sorted_out
