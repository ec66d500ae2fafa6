"""Columns of a release as a picture: corrected bars with intervals, and what was released as a dashed outline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.display.pictures import bars

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from versadp.describing.statistics import ColumnDescription, Released


def draw(columns: Mapping[str, ColumnDescription], path: str | Path | None = None) -> Any:
    """Draw columns side by side, of many levels the most frequent; what is not told is left out."""
    drawn: dict[str, Any] = {}
    outlines: dict[str, Any] = {}
    for name, column in columns.items():
        if (found := column.histogram) is not None:
            drawn[name] = (found.middle, found.share, found.band(column.level), found.high - found.low)
        elif any(each.told for each in column.shares.values()):
            shown = [(str(level), each) for level, each in column.often.items()]
            shown += [] if column.missing is None else [("missing", column.missing)]
            ends = np.array([[each.low, each.high] for _, each in shown])
            drawn[name] = ([label for label, _ in shown], np.array([each.value for _, each in shown]), ends, 0.8)
        if (seen := column.released) is not None:
            outlines[name] = _outline(column, seen)
    return bars(drawn, y="share", path=path, outlines=outlines, labels=("corrected", "as released"))


def _outline(column: ColumnDescription, seen: Released) -> tuple[Any, Any]:
    """Return ends and shares of what was released; of many levels those of the bars."""
    if not column.shares or column.often is column.shares:
        return seen.ends, seen.share
    place = {level: number for number, level in enumerate(column.shares)}
    bars = [place[level] for level in column.often]
    missing = [] if column.missing is None else [-1]
    return np.arange(len(bars) + len(missing) + 1.0) - 0.5, seen.share[bars + missing]
