"""Text of a plan within a given width: tables and sentences are wrapped, whatever the names of columns."""

from __future__ import annotations

from itertools import zip_longest
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

from versadp.display.tables import aligned, is_numeric, render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH = 100  # characters per line
LEAST_FIRST, MOST_OTHER = 20, 14  # characters of a table's first column at least; of other headers and texts at most


def fitted_table(rows: Sequence[Mapping[str, Any]], width: int = WIDTH) -> str:
    """Return a table as `render` does, with cells and headers wrapped where it would be wider than `width`.

    Examples
    --------
    >>> print(fitted_table([{"column": "years of schooling completed", "mean, bounds twice as wide": 2.1}], 36))
    column                  mean, bounds
                           twice as wide
    years of schooling               2.1
    completed
    """
    plain = render(rows)
    if max(map(len, plain.splitlines()), default=0) <= width:
        return plain
    header = list(rows[0])
    shown = [[render([{"": row[key]}]).partition("\n")[2].strip() for key in header] for row in rows]
    numbers = [is_numeric(rows, key) for key in header]
    sizes = [
        max(min(len(name), MOST_OTHER), *(len(cell) if number else min(len(cell), MOST_OTHER) for cell in cells))
        for name, number, cells in zip(header, numbers, zip(*shown, strict=True), strict=True)
    ]
    sizes[0] = max(LEAST_FIRST, width - sum(size + 2 for size in sizes[1:]))
    sizes[0] = min(sizes[0], max(len(line[0]) for line in [header, *shown]))
    out = []
    for line in [header, *shown]:
        parts = [wrap(cell, size) for cell, size in zip(line, sizes, strict=True)]
        out += [aligned(texts, sizes, numbers) for texts in zip_longest(*parts, fillvalue="")] or [""]
    return "\n".join(out)


def fitted_lines(text: str, width: int = WIDTH) -> str:
    """Return text with its longer lines wrapped.

    Examples
    --------
    >>> print(fitted_lines("one two three four", 10))
    one two
      three
      four
    """
    return "\n".join(
        line if len(line) <= width else fill(line, width, subsequent_indent="  ", break_on_hyphens=False)
        for line in text.split("\n")
    )
