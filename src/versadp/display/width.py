"""Text for a narrow terminal: tables are folded between columns, sentences between words.

A table is lines that have a gap of two blanks or more at the same place. Its first column is said again in every fold,
so that each part can be read by itself.
"""

from __future__ import annotations

import io
import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

GAP = 2
LEAST = 40  # a narrower terminal is left to itself


def fit(text: str, width: int) -> str:
    """Return a text none of whose lines is longer than a width, as far as its words allow.

    Examples
    --------
    >>> print(fit("Words that go on and on, further than a narrow terminal is wide.", 40))
    Words that go on and on, further than a
    narrow terminal is wide.
    """
    if width < LEAST:
        return text
    return "\n\n".join(_paragraph(part, width) for part in text.split("\n\n"))


def _paragraph(text: str, width: int) -> str:
    lines = text.rstrip("\n").split("\n")
    if max(map(len, lines)) <= width:
        return text
    cells = _columns(lines)
    fitted = "\n".join(_sentence(line, width) for line in lines) if cells is None else _folded(cells, width)
    return fitted + text[len(text.rstrip("\n")) :]


def _sentence(line: str, width: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()))
    if len(line) <= width or not line.strip():
        return line
    return textwrap.fill(line.strip(), width, initial_indent=indent, subsequent_indent=indent, break_long_words=False)


def _columns(lines: list[str]) -> list[list[str]] | None:
    """Return the columns of a table, each a list of cells of one width; None if it is none."""
    full = max(map(len, lines))
    padded = [line.ljust(full) for line in lines]
    blank = [all(line[k] == " " for line in padded) for k in range(full)]
    ends = [k for k in range(1, full) if not blank[k] and all(blank[max(k - GAP, 0) : k])]
    if len(lines) < 2 or not ends or ends[0] < GAP + 1 or blank[0]:
        return None
    return [[line[a:b].rstrip() for line in padded] for a, b in pairwise([0, *ends, full])]


def _folded(columns: list[list[str]], width: int) -> str:
    """Put as many columns beside the first as there is room for, and the others below."""
    first, *others = columns
    room = max(width // 2, width - sum(_wide(each) + GAP for each in others))
    labels = [textwrap.wrap(cell, room, subsequent_indent="  ") or [""] for cell in first]
    start = max(len(line) for label in labels for line in label)
    parts: list[list[list[str]]] = []
    now: list[list[str]] = []
    used = start
    for column in others:
        if now and used + GAP + _wide(column) > width:
            parts.append(now)
            now, used = [], start
        now.append(column)
        used += GAP + _wide(column)
    parts.append(now)
    return "\n\n".join(_lines(labels, part, start) for part in parts)


def _lines(labels: list[list[str]], columns: list[list[str]], start: int) -> str:
    out = []
    for row, label in enumerate(labels):
        cells = "".join(" " * GAP + column[row].ljust(_wide(column)) for column in columns)
        out += [label[0].ljust(start) + cells, *label[1:]]
    return "\n".join(line.rstrip() for line in out)


def _wide(column: list[str]) -> int:
    return max(map(len, column))


class Narrow(io.TextIOBase):
    """A stream that fits what is written to it into a width, paragraph by paragraph, while that is wanted.

    Parameters
    ----------
    stream : text stream
        Where it goes.
    width : int
    wanted : callable
        Tells whether what is being written is text for people.
    """

    def __init__(self, stream: TextIO, width: int, wanted: Callable[[], bool]) -> None:
        self._stream, self._width, self._wanted, self._held = stream, width, wanted, ""

    def write(self, text: str) -> int:
        """Write whole paragraphs, and hold what may go on."""
        if not self._wanted():
            self._stream.write(self._held + text)
            self._held = ""
            return len(text)
        whole, apart, rest = (self._held + text).rpartition("\n\n")
        if apart:
            self._stream.write(fit(whole, self._width) + apart)
        self._held = rest
        return len(text)

    def close_paragraph(self) -> None:
        """Write what was held."""
        self._stream.write(fit(self._held, self._width))
        self._stream.flush()
        self._held = ""

    def isatty(self) -> bool:
        """Say what the stream says."""
        return self._stream.isatty()
