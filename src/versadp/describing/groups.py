"""Descriptions by group: means, spreads, quantiles and shares of every column in each group, as tables give them.

Groups are the levels of a category or a public column, or bins of a number. Each column is one table: by group, with
the column as the number whose moments and quantiles are wanted, or as the second column whose row shares are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.describing.description import StatisticsTable
from versadp.describing.statistics import as_date
from versadp.errors import NoSuchName, ParameterError, VersadpError, near
from versadp.estimation.moment_estimates import Estimate
from versadp.inference.styles import as_style
from versadp.schema import Bounded, Categorical
from versadp.tabulating.axes import check_columns, is_measured
from versadp.tabulating.rendering import rounded_pair
from versadp.tabulating.table import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from versadp.engine import Engine
    from versadp.release.release import Release
    from versadp.schema import Dates
    from versadp.tabulating.result import Table

    Figures = dict[str, Estimate]

MARK = "*"


class GroupedDescription(Mapping[Any, "dict[str, Figures]"]):
    """Statistics of the columns of a release in each group: `described["north"]["income"]["mean"].value`.

    Attributes
    ----------
    by : str
        The column that groups.
    level : float
        Of the intervals.
    records : int
    header : dict of str to str
        Mechanism and guarantee.
    notes : tuple of str
        What could not be estimated, and why.

    Examples
    --------
    >>> import pandas as pd, versadp as vdp
    >>> schema = vdp.Schema({"age": vdp.Bounded(18, 90), "member": vdp.Categorical(["no", "yes"])})
    >>> people = pd.DataFrame({"age": [30.0, 60.0] * 10_000, "member": ["no", "yes"] * 10_000})
    >>> described = vdp.describe(vdp.calibrate(schema, epsilon=8).release(people), by="member")
    >>> abs(described["yes"]["age"]["mean"].value - 60) < 5
    True
    """

    def __init__(self, counts: Table, columns: dict[str, Table], notes: tuple[str, ...]) -> None:
        (axis,) = counts.axes
        self.by, self.level, self.records, self.header, self.notes = (
            axis.name,
            counts.level,
            counts.records,
            counts.header | _of_totals(counts.header),
            notes,
        )
        self._levels = axis.levels
        self._groups: dict[Any, dict[str, Figures]] = {
            label: {axis.name: _figures(counts, k, ("count", "share"))} for k, label in enumerate(axis.levels)
        }
        self._dates: dict[str, Dates] = {}
        for name, found in columns.items():
            if (dates := found.dates_of("mean")) is not None:
                self._dates[name] = dates
            for k, label in enumerate(axis.levels):
                self._groups[label][name] = _of_column(found, k)

    def __getitem__(self, label: Any) -> dict[str, Figures]:
        if label not in self._groups:
            raise NoSuchName(
                f"there is no group {label!r} of {self.by!r}", hint=near(str(label), map(str, self._levels))
            )
        return self._groups[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def table(self) -> StatisticsTable:
        """Rows `group, column, statistic, estimate, std_error, lower, upper`; empty cells have no estimate."""
        rows = []
        for label, columns in self._groups.items():
            for name, figures in columns.items():
                for statistic, each in figures.items():
                    dates = self._dates.get(name) if statistic != "sd" else None
                    numbers = {key: _number(x, None if key == "std_error" else dates) for key, x in _parts(each)}
                    rows.append({self.by: str(label), "column": name, "statistic": statistic} | numbers)
        return GroupTable(rows, self.level)

    def summary(self, style: str = "text") -> str:
        """Return one line per column and statistic, groups across, as text, html, latex or markdown."""
        first = next(iter(self._groups.values()), {})
        rows = []
        for name, figures in first.items():
            for statistic in figures:
                row = {"": name, "statistic": statistic}
                for label, columns in self._groups.items():
                    row[str(label)] = self._shown(name, statistic, columns[name][statistic])
                rows.append(row)
        facts = self.header | {"records": f"{self.records:,}"}
        notes = ("estimate ± standard error", *self.notes)
        return as_style(style)(f"Description by {self.by}", facts, rows, notes)

    def _shown(self, name: str, statistic: str, each: Estimate) -> str:
        if not each.told:
            return MARK
        dates = self._dates.get(name) if statistic != "sd" else None
        value, error = rounded_pair(each.value, each.error)
        return f"{value if dates is None else as_date(each.value, dates)} ± {error}"

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<GroupedDescription: {self.records} records, {len(self)} groups of {self.by}>"

    def _repr_html_(self) -> str:
        return self.summary("html")

    def to_dict(self) -> dict[str, Any]:
        """Return the description in the types of JSON."""
        return {
            "header": dict(self.header),
            "by": self.by,
            "records": self.records,
            "level": self.level,
            "table": self.table.for_json(),
            "notes": list(self.notes),
        }


class GroupTable(StatisticsTable):
    """Rows `group, column, statistic, estimate, std_error, lower, upper`."""

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame, indexed by group, column and statistic."""
        import pandas as pd

        frame = pd.DataFrame(list(self))
        return frame.set_index(list(frame.columns[:3]))


def _of_totals(header: Mapping[str, str]) -> dict[str, str]:
    """Return what a description by groups says of totals: figures in groups are by the records alone."""
    return {"totals": "used for counts of groups and of levels in them"} if header.get("totals") == "used" else {}


def describe_groups(
    release: Release,
    by: str,
    *,
    bins: Mapping[str, Sequence[Any]] | None,
    level: float,
    quantiles: Sequence[float],
    columns: Sequence[str] | None,
    engine: str | Engine,
) -> GroupedDescription:
    """Return the description of the columns of a release in each group."""
    if not isinstance(by, str):
        raise ParameterError("by must be the name of one column", hint="for several columns: vdp.table(release, ...)")
    check_columns(release, [by])
    given = {name: edges for name, edges in (bins or {}).items() if name == by}
    counts = table(release, by, bins=given, level=level, margins=False, engine=engine)
    found, notes = {}, list(counts.notes[1:])
    for name, declared in release.mechanism.schema.columns.items():
        if name == by or (columns is not None and name not in columns):
            continue
        try:
            if isinstance(declared, Bounded) or (not isinstance(declared, Categorical) and is_measured(release, name)):
                found[name] = table(
                    release,
                    by,
                    bins=given,
                    values=name,
                    quantiles=quantiles,
                    spread=True,
                    level=level,
                    margins=False,
                    engine=engine,
                )
            else:
                found[name] = table(release, by, name, bins=given, level=level, engine=engine)
        except VersadpError as problem:
            notes.append(f"{name}: {problem.message}")
    return GroupedDescription(counts, found, tuple(notes))


def _of_column(found: Table, k: int) -> dict[str, Estimate]:
    """Return what a table by group says of its column in one group."""
    if len(found.axes) == 1:
        return _figures(found, k, [name for name in found.statistics if name in {"mean", "sd"} or name.endswith("%")])
    shares, place = found.estimates("row share"), {key: row for row, key in enumerate(found.keys)}
    labels = found.axes[1].levels
    return {f"share of {label}": _estimate(shares, place[k, j]) for j, label in enumerate(labels)}


def _figures(found: Table, row: int, statistics: Sequence[str]) -> dict[str, Estimate]:
    return {name: _estimate(found.estimates(name), row) for name in statistics}


def _estimate(arrays: Any, row: int) -> Estimate:
    return Estimate(*(float(each[row]) for each in arrays[:4]))


def _parts(each: Estimate) -> list[tuple[str, float]]:
    return list(zip(("estimate", "std_error", "lower", "upper"), each, strict=True))


def _number(x: float, dates: Dates | None) -> Any:
    if not np.isfinite(x):
        return None
    return float(x) if dates is None else as_date(x, dates)
