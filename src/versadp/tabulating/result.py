"""The result of `table`: figures with intervals, comparisons, a test, a published variant, text and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import NoSuchName, ParameterError, near
from versadp.estimation.moment_estimates import Estimate
from versadp.inference.styles import as_style
from versadp.schema import Dates
from versadp.tabulating.cell_estimates import CellEstimates, Estimates
from versadp.tabulating.comparisons import Comparison, difference, product_ratio, trend
from versadp.tabulating.independence import IndependenceTest, independence
from versadp.tabulating.layout import SQUARE, VALUE
from versadp.tabulating.published import published_counts
from versadp.tabulating.rendering import MARK, TOTAL, CellTable, one_column_rows, tidy_rows, wide_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from versadp.tabulating.axes import Axis
    from versadp.tabulating.contraction import Means
    from versadp.tabulating.layout import Layout

    Label = Any


@dataclass(frozen=True)
class Cell:
    """The figures of one cell or margin; None where there is none. Estimates are `value, error, low, high`."""

    count: Estimate
    share: Estimate
    row_share: Estimate | None = None
    column_share: Estimate | None = None
    mean: Estimate | None = None
    sum: Estimate | None = None
    sd: Estimate | None = None


class Table:
    """A table of a release, corrected for its noise.

    Attributes
    ----------
    names : tuple of str
        Its columns.
    records : int
    level : float
        Of the intervals.
    header : dict of str to str
        Mechanism and guarantee.

    Examples
    --------
    >>> import pandas as pd, versadp as vdp
    >>> schema = vdp.Schema({"region": vdp.Categorical(["north", "south"])})
    >>> release = vdp.calibrate(schema, epsilon=8).release(pd.DataFrame({"region": ["north"] * 900 + ["south"] * 300}))
    >>> found = vdp.table(release, "region")
    >>> found.cell("north").count.low < 900 < found.cell("north").count.high
    True
    >>> int(found.publish().counts.sum())
    1200
    """

    def __init__(
        self,
        layout: Layout,
        means: Means,
        level: float,
        widening: float,
        header: dict[str, str],
        *,
        simultaneous: bool,
        margins: bool,
    ) -> None:
        from scipy.special import ndtri

        self.axes = layout.axes
        self.names = tuple(axis.name for axis in layout.axes)
        self.level, self.header, self.margins, self.simultaneous = level, header, margins, simultaneous
        self.records = means.rows
        self.quantiles: dict[float, Estimates] = {}
        count = int(np.prod([size + margins for size in layout.shape])) if simultaneous else 1
        self._at_once = float(ndtri(1 - (1 - level) / 2 / count)) * widening
        self._alone = CellEstimates(layout, means, float(ndtri(0.5 + level / 2)) * widening, widening)
        self._cells = CellEstimates(layout, means, self._at_once, widening) if simultaneous else self._alone
        self._layout = layout

    @property
    def z(self) -> float:
        """Half the width of an interval in standard errors of independent rows."""
        return self._cells.z

    # figures --------------------------------------------------------------------------------------------------------

    @property
    def statistics(self) -> tuple[str, ...]:
        """Names of the statistics."""
        out = ["count", *self._cells.partners]
        measure = self._layout.measure
        if measure is not None:
            out += ["mean", "sum"] + (["sd"] if SQUARE in measure.functions else [])
        return (*out, *(f"{100 * tau:g}%" for tau in self.quantiles))

    @cached_property
    def _estimates(self) -> dict[str, Estimates]:
        return {}

    def estimates(self, statistic: str) -> Estimates:
        """Return arrays of a statistic, in the order of `keys`."""
        if statistic not in self.statistics:
            raise NoSuchName(f"the table has no {statistic!r}", hint=near(statistic, self.statistics))
        found = self._estimates.get(statistic)
        if found is None:
            if statistic in self._cells.partners:
                found = self._cells.share(statistic)
            elif statistic.endswith("%"):
                found = next(each for tau, each in self.quantiles.items() if f"{100 * tau:g}%" == statistic)
            else:
                found = getattr(self._cells, statistic)()
            self._estimates[statistic] = found
        return found

    @property
    def keys(self) -> list[tuple[int, ...]]:
        """The level of each column in each row, cells before margins; the number of its levels is "total"."""
        every = self._cells.keys
        return every if self.margins else every[: int(np.prod(self._layout.shape))]

    def labels(self, key: tuple[int, ...]) -> dict[str, Label]:
        """Return the labels of a row by column."""
        return {axis.name: (*axis.levels, TOTAL)[j] for axis, j in zip(self.axes, key, strict=True)}

    def dates_of(self, statistic: str) -> Dates | None:
        """Return the column whose dates a statistic is, if it is of dates."""
        measure = self._layout.measure
        dated = statistic == "mean" or statistic.endswith("%")
        return measure.declared if dated and measure is not None and isinstance(measure.declared, Dates) else None

    def cell(self, *labels: Label) -> Cell:
        """Return the figures of a cell, or of a margin with "total" in place of a label."""
        row = self._row(labels)

        def one(name: str) -> Estimate | None:
            if name not in self.statistics:
                return None
            found = self.estimates(name)
            return Estimate(*(float(each[row]) for each in found[:4]))

        count, share = one("count"), one("share")
        assert count is not None
        assert share is not None
        return Cell(count, share, *(one(name) for name in ("row share", "column share", "mean", "sum", "sd")))

    def _row(self, labels: Sequence[Label]) -> int:
        """Return the row of a cell or margin."""
        given = (labels,) if isinstance(labels, str) else tuple(labels)
        if len(given) != len(self.axes):
            raise ParameterError(
                f"a cell has {len(self.axes)} labels, not {len(given)}", hint=f"one for each of {', '.join(self.names)}"
            )
        key = tuple(_level(axis, label) for axis, label in zip(self.axes, given, strict=True))
        return self._cells.keys.index(key)

    @property
    def table(self) -> CellTable:
        """All figures, one row per statistic and cell or margin."""
        return CellTable(tidy_rows(self, self.statistics), self.level)

    def to_pandas(self) -> Any:
        """Return all figures as a pandas DataFrame, indexed by the columns of the table and the statistic."""
        return self.table.to_pandas()

    def wide(self, statistic: str = "count") -> Any:
        """Return the estimates of a statistic as a pandas DataFrame, the last column across, margins included."""
        import pandas as pd

        shape = tuple(size + 1 for size in self._layout.shape)
        numbers = np.full(shape, np.nan)
        for key, value in zip(self._cells.keys, self.estimates(statistic).value, strict=True):
            numbers[key] = value
        labels = [[*axis.levels, TOTAL] if self.margins else list(axis.levels) for axis in self.axes]
        numbers = numbers[tuple(slice(len(each)) for each in labels)]
        across = pd.Index(labels[-1], name=self.names[-1])
        down = pd.MultiIndex.from_product(labels[:-1], names=self.names[:-1]) if len(labels) > 2 else None
        if len(labels) == 1:
            return pd.Series(numbers, across, name=statistic)
        index = pd.Index(labels[0], name=self.names[0]) if down is None else down
        return pd.DataFrame(numbers.reshape(-1, len(across)), index, across)

    # comparisons ----------------------------------------------------------------------------------------------------

    def difference(self, one: Sequence[Label], other: Sequence[Label], of: str | None = None) -> Comparison:
        """Return the difference of a statistic in two cells: of "mean" if there are values, else of "share"."""
        statistic = of or ("share" if self._layout.measure is None else "mean")
        return difference(self._alone, self._row(one), self._row(other), statistic)

    def odds_ratio(self, rows: Sequence[Label] | None = None, columns: Sequence[Label] | None = None) -> Comparison:
        """Return (n_11 n_22)/(n_12 n_21) of two levels of each of two columns; the first two by default."""
        (a, b), (c, d) = self._square(rows, columns)
        corner = {(i, j): self._cells.keys.index((i, j)) for i in (a, b) for j in (c, d)}
        return product_ratio(self._alone, "odds ratio", (corner[a, c], corner[b, d]), (corner[a, d], corner[b, c]))

    def risk_ratio(self, rows: Sequence[Label] | None = None, column: Label | None = None) -> Comparison:
        """Return the share of a level of the second column in one row over that in another; the first by default."""
        (a, b), (c, _) = self._square(rows, None if column is None else (column, column))
        every, total = self._cells.keys, self.axes[1].size
        at = {key: every.index(key) for key in ((a, c), (b, c), (a, total), (b, total))}
        return product_ratio(self._alone, "risk ratio", (at[a, c], at[b, total]), (at[b, c], at[a, total]))

    def _square(self, rows: Sequence[Label] | None, columns: Sequence[Label] | None) -> list[list[int]]:
        if len(self.axes) != 2:
            raise ParameterError("odds and risk ratios are of a table of two columns", hint="ask for such a table")
        out = []
        for axis, given in zip(self.axes, (rows, columns), strict=True):
            labels = axis.levels[:2] if given is None else given
            if isinstance(labels, str) or len(labels) != 2:
                raise ParameterError(f"a ratio needs two levels of {axis.name!r}", hint=f"e.g. {axis.levels[:2]}")
            out.append([_level(axis, label) for label in labels])
            if axis.size in out[-1]:
                raise ParameterError('"total" is no level of a ratio', hint="name two levels")
        return out

    def trend(self, along: str | None = None, level: Label | None = None) -> Comparison:
        """Return how the share of a level of the other column, or the mean of `values`, rises along a column.

        Parameters
        ----------
        along : str, optional
            A column with an order; the first one cut into bins by default.
        level : label, optional
            A level of the other column, whose share is the response; without one it is `values`.
        """
        ordered = [axis.name for axis in self.axes if axis.ordered]
        name = along or (ordered[0] if ordered else "")
        if name not in self.names:
            raise NoSuchName(f"there is no column {name!r} to look along", hint=near(name, self.names))
        j = self.names.index(name)
        axis, cells = self.axes[j], self._layout.shape
        if not np.isfinite(axis.scores).all() or axis.missing:
            raise ParameterError(f"the levels of {name!r} have no scores", hint="finite edges, and no missing level")
        place = np.indices(cells)[j].ravel()
        scores, weight = axis.scores[place], np.zeros(self._alone.means.first.size)
        if level is None:
            measure = self._layout.measure
            if measure is None or measure.can_be_missing:
                raise ParameterError(
                    "a trend needs a response", hint="a level of the other column, or values without gaps"
                )
            i = measure.functions.index(VALUE) + 1
            weight[i * place.size : (i + 1) * place.size] = measure.width
            weight[: place.size] = measure.centre
        else:
            if len(self.axes) != 2:
                raise ParameterError("a trend of shares is of a table of two columns", hint="ask for such a table")
            other = self.axes[1 - j]
            weight[: place.size] = np.indices(cells)[1 - j].ravel() == _level(other, level)
        return trend(self._alone, scores, weight)

    def test(self) -> IndependenceTest:
        """Return the test that the two columns are independent, which accounts for the noise."""
        if len(self.axes) != 2:
            raise ParameterError("independence is tested in a table of two columns", hint="ask for such a table")
        size = int(np.prod(self._layout.shape))
        shares = self._alone.means.first[:size].reshape(self._layout.shape)
        cov = self._alone.cov[:size, :size] * self._alone.widening**2
        return independence((self.names[0], self.names[1]), shares, cov, self.records)

    def publish(self) -> PublishedTable:
        """Return whole numbers, none negative, that add up: a table to print. The unbiased figures stay as they are."""
        size, n = int(np.prod(self._layout.shape)), self.records
        counts = published_counts(n * self._alone.means.first[:size], n**2 * self._alone.cov[:size, :size])
        return PublishedTable(self, counts.reshape(self._layout.shape))

    # words and pictures ---------------------------------------------------------------------------------------------

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes needed to read the figures."""
        out = [f"estimate ± standard error; {100 * self.level:g}% intervals are in the table's rows"]
        if self.simultaneous:
            out[0] += ", and hold for all cells of one statistic at once"
        for axis in self.axes:
            soft = 0.0 if self._layout.is_signed(axis.name) else self._layout.coding(axis).soft
            if soft:
                out.append(f"{axis.name}: values within {soft:.3g} of an edge count in parts on both sides of it")
        left = [axis.name for j, axis in enumerate(self.axes) if self._layout.is_partial(j)]
        if left:
            out.append(f"records without a value, or beyond the edges, of {', '.join(left)} are in no cell")
        if any(not self.estimates(name).told[: len(self.keys)].all() for name in ("count",)):
            out.append(f"{MARK} tells next to nothing: half its interval is as large as an average cell, or more")
        return tuple(out)

    def summary(self, style: str = "text", show: Sequence[str] | None = None) -> str:
        """Return the table as text, html, latex or markdown.

        Parameters
        ----------
        style : str
        show : sequence of str, optional
            Statistics; counts, and means or shares, by default.
        """
        page, facts = as_style(style), self.header | {"records": f"{self.records:,}"}
        shown = list(show or self._shown)
        for name in shown:
            self.estimates(name)
        title = f"Table of {' × '.join(self.names)}"
        if len(self.axes) == 1:
            return page(title, facts, one_column_rows(self, shown), self.notes)
        parts = [
            page(
                f"{title}: {name}",
                facts if not k else {},
                wide_rows(self, name),
                self.notes if k == len(shown) - 1 else (),
            )
            for k, name in enumerate(shown)
        ]
        return "\n\n".join(parts)

    @property
    def _shown(self) -> tuple[str, ...]:
        rest = [name for name in self.statistics if name in {"mean", "sd"} or name.endswith("%")]
        return ("count", *(rest or (["share"] if len(self.axes) == 1 else ["row share"])))

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        shape = " x ".join(str(size) for size in self._layout.shape)
        return f"<Table: {' × '.join(self.names)}, {shape} cells, {self.records} records>"

    def _repr_html_(self) -> str:
        return self.summary("html")

    def to_dict(self) -> dict[str, Any]:
        """Return the table in the types of JSON."""
        return {
            "header": dict(self.header),
            "columns": {axis.name: [str(level) for level in axis.levels] for axis in self.axes},
            "records": self.records,
            "level": self.level,
            "simultaneous": self.simultaneous,
            "table": self.table.for_json(),
            "notes": list(self.notes),
        }

    def plot(self, path: str | Path | None = None, *, of: str | None = None, kind: str | None = None) -> Any:
        """Draw the table: bars with intervals (kind "bars"), or a heat map of two columns ("heat map").

        Returns
        -------
        matplotlib.figure.Figure
        """
        from versadp.tabulating.drawing import draw

        return draw(self, of or self._shown[-1], kind or ("heat map" if len(self.axes) == 2 else "bars"), path)


def _level(axis: Axis, label: Label) -> int:
    """Return the number of a level by its label, or by its text; "total" is the number behind all levels."""
    every = [*axis.levels, TOTAL]
    for known in (every, [str(each) for each in every]):
        if label in known:
            return known.index(label)
    raise NoSuchName(f"{axis.name!r} has no level {label!r}", hint=near(str(label), [str(each) for each in every]))


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """Whole numbers, none negative, that add up (`published.py`).

    Attributes
    ----------
    source : Table
        The unbiased figures, whose intervals are for the truth.
    counts : array of int
        One axis per column.
    """

    source: Table
    counts: Any

    def _count(self, key: tuple[int, ...]) -> int:
        index = tuple(slice(None) if j == axis.size else j for j, axis in zip(key, self.source.axes, strict=True))
        return int(self.counts[index].sum())

    @property
    def table(self) -> CellTable:
        """The published counts, with the unbiased ones and their intervals."""
        found, rows = self.source.estimates("count"), []
        for k, key in enumerate(self.source.keys):
            numbers: dict[str, Any] = {"published": self._count(key)}
            numbers |= {
                label: float(each[k])
                for label, each in zip(("estimate", "std_error", "lower", "upper"), found[:4], strict=True)
            }
            rows.append(self.source.labels(key) | numbers)
        return CellTable(rows, self.source.level)

    def to_pandas(self) -> Any:
        """Return the published counts as a pandas DataFrame, the last column across, margins included."""
        frame = self.source.wide("count")
        place = dict(zip(self.source.keys, map(self._count, self.source.keys), strict=True))
        shape = tuple(size + self.source.margins for size in self.counts.shape)
        values = np.array([place[key] for key in np.ndindex(shape)], dtype=np.int64).reshape(frame.shape)
        return type(frame)(
            values, **({"index": frame.index, "columns": frame.columns} if frame.ndim == 2 else {"index": frame.index})
        )

    def summary(self, style: str = "text") -> str:
        """Return the published counts as text, html, latex or markdown."""
        *down, across = self.source.axes
        page, rows = as_style(style), []
        for key in np.ndindex(*(axis.size + self.source.margins for axis in down)):
            label = ", ".join(str((*a.levels, TOTAL)[j]) for a, j in zip(down, key, strict=True)) or "count"
            row = {" × ".join(self.source.names): label}
            over = [*across.levels, TOTAL][: across.size + self.source.margins]
            row |= {str(name): f"{self._count((*key, j)):,}" for j, name in enumerate(over)}
            rows.append(row)
        notes = ("none negative, whole, and adding up: nearest to the unbiased counts in the metric of their errors",)
        facts = self.source.header | {"records": f"{self.source.records:,}"}
        return page(f"Published table of {' × '.join(self.source.names)}", facts, rows, notes)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self.summary("html")
