"""The description of one column: estimates, histogram and picture."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.display.pictures import bars

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from versadp.describing.statistics import Statistics
    from versadp.estimation.moment_estimates import Estimate
    from versadp.inputs import Array
    from versadp.likelihood.histogram import Histogram

SHOWN = 50  # levels of a category, or values of a public column, in a summary: chosen; the table has all levels


class Released(NamedTuple):
    """Shares of released values by cell of a number or level of a category; `ends` has one more entry than `share`.

    The ends of levels are -½, ½, 1½ and so on.
    """

    ends: Array
    share: Array


@dataclass(frozen=True, eq=False)
class ColumnDescription:
    """The description of one column; estimates are named tuples `value, error, low, high`, NaN without an estimate.

    Numbers are in the units of the column, dates in days since the first date of the schema.

    Attributes
    ----------
    name : str
    declared : Bounded, Categorical or Public
        What the schema says of it.
    mean, sd : Estimate or None
        Of a number; None for anything else.
    quantiles : dict of float to Estimate
    shares : dict
        Of all records, the share of each level.
    missing : Estimate or None
        The share of records without a value; None if the schema allows none.
    notes : tuple of str
        What could not be estimated, and why.
    """

    name: str
    declared: Any
    _statistics: Statistics
    notes: tuple[str, ...]
    mean: Estimate | None = None
    sd: Estimate | None = None
    quantiles: dict[float, Estimate] = field(default_factory=dict)
    shares: dict[Any, Estimate] = field(default_factory=dict)
    missing: Estimate | None = None

    def widened(self, factor: float) -> ColumnDescription:
        """Return the description with larger standard errors, for which the intervals have been made already."""

        def wider(each: Estimate | None) -> Estimate | None:
            return None if each is None else each.widened(factor)

        return replace(
            self,
            mean=wider(self.mean),
            sd=wider(self.sd),
            quantiles={tau: each.widened(factor) for tau, each in self.quantiles.items()},
            shares={level: each.widened(factor) for level, each in self.shares.items()},
            missing=wider(self.missing),
        )

    @cached_property
    def histogram(self) -> Histogram | None:
        """Shares of the cells of a number, with their bands; None for a category, or if they are not identified."""
        return self._statistics.histogram(self.name)

    @cached_property
    def released(self) -> Released | None:
        """Shares of the released values, not corrected, by level or cell of `histogram`; None without noise."""
        return self._statistics.released(self.name, self.histogram)

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return self._statistics.level

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the corrected histogram or shares with intervals, the released ones dashed; write it to `path` if given.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return draw({self.name: self}, path)

    @property
    def often(self) -> dict[Any, Estimate]:
        """The shares that a summary shows: all of them, or the largest, in decreasing order."""
        if len(self.shares) <= SHOWN:
            return self.shares
        order = sorted(self.shares, key=lambda level: -np.nan_to_num(self.shares[level].value))
        return {level: self.shares[level] for level in order[:SHOWN]}

    def rows(self, *, often: bool = False) -> list[tuple[str, Estimate]]:
        """Return statistics by name, in the order of the table; only the most frequent of many levels if `often`."""
        out = [(label, each) for label, each in (("mean", self.mean), ("sd", self.sd)) if each is not None]
        out += [(f"{100 * tau:g}%", each) for tau, each in self.quantiles.items()]
        out += [(f"share of {level}", each) for level, each in (self.often if often else self.shares).items()]
        return out + ([] if self.missing is None else [("missing", self.missing)])


def draw(columns: Mapping[str, ColumnDescription], path: str | Path | None = None) -> Any:
    """Draw columns side by side, with the most frequent of many levels, and without what has no estimate."""
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
    """Return ends and shares of released values; of many levels those that are drawn."""
    if not column.shares or column.often is column.shares:
        return seen.ends, seen.share
    place = {level: number for number, level in enumerate(column.shares)}
    bars = [place[level] for level in column.often]
    missing = [] if column.missing is None else [-1]
    return np.arange(len(bars) + len(missing) + 1.0) - 0.5, seen.share[bars + missing]
