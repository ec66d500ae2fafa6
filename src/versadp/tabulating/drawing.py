"""Pictures of a table: bars with intervals, or a heat map of two columns with the figures in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.display.pictures import bars, heat_map
from versadp.errors import ParameterError
from versadp.tabulating.rendering import cell_text

if TYPE_CHECKING:
    from pathlib import Path

    from versadp.tabulating.result import Table

KINDS = ("bars", "heat map")


def draw(table: Table, statistic: str, kind: str, path: str | Path | None) -> Any:
    """Return a figure of one statistic, and write it to `path` if given."""
    if kind not in KINDS:
        raise ParameterError(f"there is no picture {kind!r} of a table", hint=f"choose from {', '.join(KINDS)}")
    if len(table.axes) > 2:
        raise ParameterError("pictures are of tables of one or two columns", hint="ask for such a table")
    found, place = table.estimates(statistic), {key: k for k, key in enumerate(table.keys)}
    *down, across = table.axes
    if kind == "heat map" and down:
        grid = np.array([[place[i, j] for j in range(across.size)] for i in range(down[0].size)])
        texts = [[cell_text(found, k, table.dates_of(statistic)) for k in row] for row in grid]
        names = down[0].levels, across.levels
        return heat_map(found.value[grid], texts, names, (down[0].name, across.name), title=statistic, path=path)
    drawn = {}
    for i, name in enumerate(down[0].levels if down else [across.name]):
        at = [place[(i, j) if down else (j,)] for j in range(across.size)]
        ends = np.stack([found.low[at], found.high[at]], axis=1)
        drawn[f"{down[0].name} {name}" if down else str(name)] = (
            [str(e) for e in across.levels],
            found.value[at],
            ends,
            0.8,
        )
    return bars(drawn, y=statistic, path=path)
