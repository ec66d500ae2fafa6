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
WIDTH = 0.8  # of a bar, in distances of levels: chosen


def draw(table: Table, statistic: str, kind: str, path: str | Path | None) -> Any:
    """Return a figure of one statistic, and write it to `path` if given."""
    if kind not in KINDS:
        raise ParameterError(f"there is no picture {kind!r} of a table", hint=f"choose from {', '.join(KINDS)}")
    if len(table.axes) > 2:
        raise ParameterError("pictures are of tables of one or two columns", hint="ask for such a table")
    found, place = table.estimates(statistic), {key: k for k, key in enumerate(table.keys)}
    *down, across = table.axes
    sizes = [axis.size for axis in table.axes]
    grid = np.array([place[key] for key in np.ndindex(*sizes)]).reshape(-1, across.size)
    if kind == "heat map" and down:
        texts = [[cell_text(found, k, table.dates_of(statistic)) for k in row] for row in grid]
        names = down[0].levels, across.levels
        return heat_map(found.value[grid], texts, names, (down[0].name, across.name), title=statistic, path=path)
    labels = [f"{down[0].name} {level}" for level in down[0].levels] if down else [across.name]
    levels = [str(level) for level in across.levels]
    ends = np.stack([found.low, found.high], axis=1)
    drawn = {label: (levels, found.value[at], ends[at], WIDTH) for label, at in zip(labels, grid, strict=True)}
    return bars(drawn, y=statistic, path=path)
