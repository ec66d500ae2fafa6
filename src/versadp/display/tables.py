"""Tables for people (text), programs (JSON) and spreadsheets (CSV)."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMATS = ("text", "json", "csv")


def render(rows: Sequence[Mapping[str, Any]], style: str = "text") -> str:
    """Return rows with the same keys as a table.

    Numbers are shown with four significant digits in text, and whole in JSON and CSV.

    Examples
    --------
    >>> print(render([{"name": "mean", "value": 0.123456}, {"name": "sd", "value": 1200.0}]))
    name   value
    mean  0.1235
    sd      1200
    >>> render([{"a": 1}], "json")
    '[{"a": 1}]'
    """
    if style == "json":
        return json.dumps([dict(row) for row in rows])
    header = list(rows[0]) if rows else []
    if style == "csv":
        out = io.StringIO()
        writer = csv.DictWriter(out, header, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()
    if style != "text":
        raise ParameterError(f"there is no format {style!r}", hint=f"choose from {', '.join(FORMATS)}")
    cells = [header, *([_cell(row[key]) for key in header] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [is_numeric(rows, key) for key in header]
    return "\n".join(aligned(line, widths, right) for line in cells)


def is_numeric(rows: Sequence[Mapping[str, Any]], key: str) -> bool:
    """Return True if a column holds numbers only, which are aligned on the right; None is an empty cell."""
    return all(isinstance(row[key], int | float) or row[key] is None for row in rows)


def aligned(line: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    """Return a line of cells, each padded to its column's width."""
    placed = zip(line, widths, right, strict=True)
    return "  ".join(cell.rjust(width) if flag else cell.ljust(width) for cell, width, flag in placed).rstrip()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"
    return str(value)
