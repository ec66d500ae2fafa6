"""A table as rows of text and numbers: tidy (one row per cell and statistic) and wide (as people print it)."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.display.numbers import brief
from versadp.inference.coefficient_table import CoefTable
from versadp.inference.styles import as_style
from versadp.release.path.dates import date_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from versadp.schema import Dates
    from versadp.tabulating.cell_estimates import Estimates
    from versadp.tabulating.result import Table

TOTAL = "total"  # label of all levels of a column
MARK = "*"  # of a figure that tells next to nothing


class CellTable(CoefTable):
    """Rows of cells: labels of the columns, `statistic, estimate, std_error, lower, upper, told`."""

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame, indexed by the columns of the table and the statistic."""
        import pandas as pd

        frame = pd.DataFrame(list(self))
        return frame.set_index([name for name in frame.columns if name not in NUMBERS])

    def _repr_html_(self) -> str:
        rows = [{key: value if isinstance(value, str) else brief(value) for key, value in row.items()} for row in self]
        return as_style("html")("", {}, rows, ())


NUMBERS = ("estimate", "std_error", "lower", "upper", "told")


def tidy_rows(table: Table, statistics: Sequence[str]) -> list[dict[str, Any]]:
    """Return one row per statistic and cell or margin; None for what has no estimate."""
    out = []
    for name in statistics:
        found = table.estimates(name)
        dates = table.dates_of(name)
        for k, key in enumerate(table.keys):
            if np.isnan([found.value[k], found.low[k]]).all():
                continue
            numbers = _numbers(found, k, dates)
            out.append(table.labels(key) | {"statistic": name} | numbers | {"told": bool(found.told[k])})
    return out


def _numbers(found: Estimates, k: int, dates: Dates | None) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for label, each in zip(NUMBERS, (found.value, found.error, found.low, found.high), strict=False):
        number = float(each[k])
        out[label] = None if np.isnan(number) else number
        if dates is not None and label != "std_error" and np.isfinite(number):
            out[label] = str(date_of(number, dates))
    return out


def wide_rows(table: Table, name: str) -> list[dict[str, str]]:
    """Return a statistic as people print it: the last column across, `estimate ± std error`."""
    found, place = table.estimates(name), {key: k for k, key in enumerate(table.keys)}
    dates = table.dates_of(name)
    *down, across = table.axes
    over = range(across.size + table.margins)
    names = [str(each) for each in (*across.levels, TOTAL)]
    out = []
    for key in product(*(range(axis.size + table.margins) for axis in down)):
        row = {_head(table): ", ".join(str((*a.levels, TOTAL)[j]) for a, j in zip(down, key, strict=True))}
        row |= {names[j]: cell_text(found, place[*key, j], dates) for j in over}
        out.append(row)
    return out


def _head(table: Table) -> str:
    return " × ".join(axis.name for axis in table.axes)


def cell_text(found: Estimates, k: int, dates: Dates | None = None) -> str:
    """Return an estimate with its standard error, marked if it tells next to nothing."""
    value, error = float(found.value[k]), float(found.error[k])
    if np.isnan(value):
        return "" if np.isnan(found.low[k]) else MARK
    shown, off = rounded_pair(value, error)
    shown = str(date_of(value, dates)) if dates is not None else shown
    return f"{shown} ± {off}" + ("" if found.told[k] else MARK)


def rounded_pair(value: float, error: float) -> tuple[str, str]:
    """Return an estimate and its standard error with as many digits as the error has two of.

    Examples
    --------
    >>> rounded_pair(1234.567, 131.0), rounded_pair(0.123456, 0.0012), rounded_pair(12.0, 0.0)
    (('1,235', '130'), ('0.1235', '0.0012'), ('12', '0'))
    """
    if not error > 1e-9 * abs(value):
        whole = abs(value) >= 1000 and abs(value - round(value)) < 1e-6
        return f"{value:,.0f}" if whole else brief(value), "0"
    if not np.isfinite(error):
        return brief(value), brief(error)
    digits = int(np.clip(1 - np.floor(np.log10(error)), 0, 12))
    return f"{value:,.{digits}f}", f"{float(f'{error:.2g}'):,.{digits}f}"


def one_column_rows(table: Table, statistics: Sequence[str]) -> list[dict[str, str]]:
    """Return a table of one column: a row per level, a column per statistic."""
    (axis,) = table.axes
    out = []
    for k, key in enumerate(table.keys):
        row = {axis.name: str(table.labels(key)[axis.name])}
        for name in statistics:
            row[name] = cell_text(table.estimates(name), k, table.dates_of(name))
        out.append(row)
    return out
