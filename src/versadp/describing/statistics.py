"""From sums over records to estimates, column by column: no record is needed any more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.describing.estimates import (
    NOTHING,
    Estimate,
    Moments,
    correlation_of,
    mean_of,
    sample_quantile,
    sd_of,
    share_of,
)
from versadp.describing.levels import undo_levels
from versadp.describing.one_pass import Gathered, group_keys
from versadp.estimation.cumulative import cumulative
from versadp.estimation.histogram import Histogram, histogram_of_counts
from versadp.inference.chi_square import LEVEL
from versadp.noise.selection_check import SELDOM, fewest_chance
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from pathlib import Path

    from versadp.describing.layout import Layout
    from versadp.inputs import Array

CELLS, FEWEST = 32, 4  # of a histogram, at most and at least
TOLD = 1 / 3  # what errors of a histogram's shares may be, of a mean share
SHOWN = 50  # levels of a category whose shares a summary shows; values of a public column
RARE = 0.002  # of released values, on either side: cells beyond the bounds that hold no more are left out


class Released(NamedTuple):
    """Shares of what was released: of cells of numbers, with one end more than there are cells, or of levels.

    Levels lie between -½, ½, 1½ and so on.
    """

    ends: Array
    share: Array


@dataclass(frozen=True, eq=False)
class ColumnDescription:
    """What is known of one column; estimates are named tuples `value, error, low, high`, NaN where nothing is told.

    Numbers are in the column's own units, dates in days since the first that the schema declares.

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
        The share of records without a value; None where there is none by declaration.
    notes : tuple of str
        What is not told, and why.
    """

    name: str
    declared: Any
    mean: Estimate | None
    sd: Estimate | None
    quantiles: dict[float, Estimate]
    shares: dict[Any, Estimate]
    missing: Estimate | None
    notes: tuple[str, ...]
    _statistics: Statistics

    @cached_property
    def histogram(self) -> Histogram | None:
        """Shares of the cells of a number, with their bands; None for a category, or where it cannot be had."""
        return self._statistics.histogram(self.name)

    @cached_property
    def released(self) -> Released | None:
        """What was released, noise and all: shares of levels, or of the cells of `histogram`; None without noise."""
        return self._statistics.released(self.name, self.histogram)

    @property
    def level(self) -> float:
        """Of the intervals."""
        return _level(self._statistics.z)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the corrected histogram or shares with intervals, what was released dashed; write it if a path is given.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from versadp.describing.picture import draw

        return draw({self.name: self}, path)

    @property
    def often(self) -> dict[Any, Estimate]:
        """The shares that a summary shows: all of them, or the largest, in falling order."""
        if len(self.shares) <= SHOWN:
            return self.shares
        order = sorted(self.shares, key=lambda level: -np.nan_to_num(self.shares[level].value))
        return {level: self.shares[level] for level in order[:SHOWN]}

    def rows(self, *, often: bool = False) -> list[tuple[str, Estimate]]:
        """Return statistics by name, in the order of the table; of many levels the frequent ones only if `often`."""
        out = [(label, each) for label, each in (("mean", self.mean), ("sd", self.sd)) if each is not None]
        out += [(f"{100 * tau:g}%", each) for tau, each in self.quantiles.items()]
        out += [(f"share of {level}", each) for level, each in (self.often if often else self.shares).items()]
        return out + ([] if self.missing is None else [("missing", self.missing)])


@dataclass(frozen=True, eq=False)
class Statistics:
    """Estimates from what one pass has gathered.

    Attributes
    ----------
    layout : Layout
    gathered : Gathered
    z : float
        Half the length of an interval in standard errors.
    taus : tuple of float
        Which quantiles.
    """

    layout: Layout
    gathered: Gathered
    z: float
    taus: tuple[float, ...]
    widening: float = 1.0  # of errors, where people have several rows; z is multiplied by it already

    @cached_property
    def _groups(self) -> dict[tuple[str, ...], tuple[Array, Array]]:
        return dict(zip(group_keys(self.layout), self.gathered.groups, strict=True))

    @cached_property
    def _counts(self) -> dict[str, Array]:
        names = (*self.layout.bins, *self.layout.categories)
        return {n: each.astype(float) for n, each in zip(names, self.gathered.counts, strict=True)}

    def describe(self, name: str) -> ColumnDescription:
        """Return what is known of a column."""
        layout, declared = self.layout, self.layout.columns[name]
        lacking = self._lacking(name)
        if isinstance(declared, Categorical):
            shares, notes = self._levels(name)
            missing = shares.pop(None, None)
            shares = {level: each.widened(self.widening) for level, each in shares.items()}
            missing = None if missing is None else missing.widened(self.widening)
            return ColumnDescription(name, declared, None, None, {}, shares, missing, (*lacking, *notes), self)
        if name in layout.others:
            shares, notes = self._values(name)
            shares = {value: each.widened(self.widening) for value, each in shares.items()}
            return ColumnDescription(name, declared, None, None, {}, shares, None, notes, self)
        mean, sd, notes = self._moments(name)
        quantiles, more = self._quantiles(name)
        notes = (*lacking, *notes, *more)
        mean, sd = mean.widened(self.widening), sd.widened(self.widening)
        quantiles = {tau: each.widened(self.widening) for tau, each in quantiles.items()}
        missing = self._missing(name)
        missing = None if missing is None else missing.widened(self.widening)
        return ColumnDescription(name, declared, mean, sd, quantiles, {}, missing, notes, self)

    def _lacking(self, name: str) -> tuple[str, ...]:
        """Return a note if a column that is kept or redrawn lacks outputs that redrawn records would have."""
        layout, counts = self.layout, self._counts.get(name)
        block = layout.blocks.get(name)
        lattice = None if block is None or name in block.nullable else block.lattice(name)
        if lattice is None or counts is None:
            return ()
        ends = layout.bins[name].edges if name in layout.bins else np.arange(lattice.shown + 1.0)
        share = np.diff(ends) / (ends[-1] - ends[0])
        chance = fewest_chance(counts[: share.size], share, lattice.keep, self.gathered.rows)
        if SELDOM * len(self._counts) * chance >= LEVEL:
            return ()
        return (f"{name}: lacks values that noise would have made: were rows selected by a noisy column?",)

    def correlation(self, one: str, other: str) -> Estimate:
        """Return the correlation of two numbers over the records that have both."""
        return self._correlation(one, other).widened(self.widening)

    def _correlation(self, one: str, other: str) -> Estimate:
        if (one, other) in self._groups and len({one, other} & set(self.layout.firm)) < 2:
            total, squares = self._groups[one, other]
            return correlation_of(Moments.of(self.gathered.rows, total, squares, list(range(6)), self.z), self.z)
        firm = self.layout.firm
        i, j = firm.index(one), firm.index(other)
        at = [0, 1 + i, 1 + j, self._product(i, i), self._product(j, j), self._product(i, j)]
        total, squares = self._groups[firm]
        return correlation_of(Moments.of(self.gathered.rows, total, squares, at, self.z), self.z)

    def _product(self, i: int, j: int) -> int:
        """Return where the product of two firm columns stands among their statistics."""
        p, (i, j) = len(self.layout.firm), sorted((i, j))
        return 1 + p + i * p - i * (i - 1) // 2 + j - i

    def _moments(self, name: str) -> tuple[Estimate, Estimate, tuple[str, ...]]:
        layout, rows = self.layout, self.gathered.rows
        if name not in layout.numbers:
            return NOTHING, NOTHING, (f"{name}: its noise has no moments that could be undone",)
        if layout.correlated and name in layout.firm:
            j = layout.firm.index(name)
            total, squares = self._groups[layout.firm]
            at = [0, 1 + j, 1 + j, self._product(j, j), self._product(j, j), self._product(j, j)]
        else:
            (total, squares), at = self._groups[(name,)], [0, 1, 1, 2, 2, 2]
        found = Moments.of(rows, total, squares, at, self.z)
        centre, unit = layout.place(name)
        mean, sd = mean_of(found, self.z).times(unit, centre), sd_of(found, self.z).times(unit)
        declared = layout.columns[name]
        if isinstance(declared, Bounded):
            mean = mean.within(declared.lower, declared.upper)
            sd = sd.within(0.0, declared.width / 2)
        notes = () if sd.told else (f"{name}: its spread cannot be told from none, under so much noise",)
        if found is None:
            notes = (f"{name}: too few records show a value",)
        return mean, sd, notes

    def _quantiles(self, name: str) -> tuple[dict[float, Estimate], tuple[str, ...]]:
        if not self.taus:
            return {}, ()
        if name in self.layout.places:
            kept = np.concatenate(self.gathered.kept[self.layout.public.index(name)] or [np.empty(0)])
            return {tau: sample_quantile(np.sort(kept), tau, self.z) for tau in self.taus}, ()
        declared, counts = self.layout.columns[name], self._counts.get(name)
        assert isinstance(declared, Bounded)
        nothing = dict.fromkeys(self.taus, NOTHING.within(declared.lower, declared.upper))
        block = self.layout.alone(name)
        found = None if counts is None else cumulative(block, name, declared, counts)
        if found is None:
            return nothing, (f"{name}: its quantiles are not told: {_why(block, name)}",)
        if self.gathered.rows < 2:
            return nothing, ()
        out = {}
        level = _level(self.z)
        cells = 0 if found.cells is None or found.is_single else len(found.cells[0].T)
        room = declared.width / cells / 2 if cells else 0.0  # where in its cell a quantile lies is not told
        for tau in self.taus:
            curve = found.curve(tau)
            low, high = curve.interval(level)
            each = Estimate(curve.estimate, (high - low) / 2 / self.z, low - room, high + room)
            each = each.within(declared.lower, declared.upper)
            out[tau] = each._replace(value=float(np.clip(each.value, declared.lower, declared.upper)))
        said = f"{name}: its quantiles take values to lie evenly in each of {cells} cells between its bounds"
        return out, (said,) if cells else ()

    def _missing(self, name: str) -> Estimate | None:
        if name not in self.layout.loose:
            return None
        total, _ = self._groups[(name,)]
        rows = self.gathered.rows
        found = self.layout.alone(name).cases(np.array([[self.layout.place(name)[0], np.nan]]))
        assert found is not None
        which, cases = found
        # what a record with a value and one without add to the share
        ends = 1 - cases[which[0]].factor, 1 - cases[which[1]].factor
        return share_of(1 - total[0] / rows if rows else 0.0, rows, *ends, self.z)

    def _levels(self, name: str) -> tuple[dict[Any, Estimate], tuple[str, ...]]:
        declared, found = self.layout.columns[name], undo_levels(self.layout, name, self._counts[name])
        assert isinstance(declared, Categorical)
        rows = self.gathered.rows
        levels = [*declared.levels, *((None,) if declared.nullable else ())]
        if found is None:
            unknown = Estimate(np.nan, np.nan, 0.0, 1.0)
            return dict.fromkeys(levels, unknown), (f"{name}: its noise tells nothing of its levels",)
        each = zip(levels, found.counts / max(rows, 1), found.low, found.high, strict=True)
        shares = {level: share_of(mean, rows, low, high, self.z) for level, mean, low, high in each}
        size = len(declared.levels)
        note = f"{name}: summaries show the {SHOWN} most frequent of its {size:,} levels; the table has all of them"
        return shares, (note,) if size > SHOWN else ()

    def _values(self, name: str) -> tuple[dict[Any, Estimate], tuple[str, ...]]:
        tally = self.gathered.tallies[self.layout.others.index(name)].counts
        rows = self.gathered.rows
        if tally is None:
            return {}, (f"{name}: has too many values to count",)
        often = sorted(tally, key=lambda value: (-tally[value], str(value)))
        shares = {value: share_of(tally[value] / rows, rows, 0.0, 1.0, self.z) for value in often[:SHOWN]}
        more = len(often) - SHOWN
        return shares, ((f"{name}: {more} rarer values are not shown",) if more > 0 else ())

    def histogram(self, name: str) -> Histogram | None:
        """Return the histogram of a number, if it can be had."""
        layout, counts = self.layout, self._counts.get(name)
        declared = layout.columns[name]
        if name in layout.places:
            kept = np.concatenate(self.gathered.kept[layout.public.index(name)] or [np.empty(0)])
            return _plain_histogram(kept)
        if counts is None or not isinstance(declared, Bounded):
            return None
        # values lie evenly in halves of cells rather than in cells: bands at the ends of a density need that
        found = histogram_of_counts(layout.alone(name), name, declared, counts, 2 * CELLS)
        if found is None or found.share.size <= CELLS:
            return found
        told = found.joined(2).told(FEWEST, TOLD)  # on a lattice, cells end half a step beyond the bounds
        return replace(told, low=np.maximum(told.low, declared.lower), high=np.minimum(told.high, declared.upper))

    def released(self, name: str, found: Histogram | None) -> Released | None:
        """Return the shares of what was released of a noisy column, from the counts of its outputs."""
        counts, declared, rows = self._counts.get(name), self.layout.columns[name], self.gathered.rows
        if counts is None or not rows:
            return None
        if isinstance(declared, Categorical):
            levels = len(declared.levels) + bool(declared.nullable)  # what is missing comes last
            return Released(np.arange(levels + 1.0) - 0.5, counts[:levels] / rows)
        assert isinstance(declared, Bounded)
        ends = (
            np.linspace(declared.lower, declared.upper, CELLS + 1)
            if found is None
            else np.append(found.low, found.high[-1])
        )
        bins = self.layout.bins[name].edges
        below = np.append(0.0, np.cumsum(counts[:-1]))
        shown = max(float(below[-1]), 1.0)
        low, high = np.interp([RARE * shown, (1 - RARE) * shown], below, bins)
        width = float(ends[-1] - ends[0]) / (ends.size - 1)
        before = int(min(max(np.ceil((ends[0] - low) / width), 0), CELLS))
        after = int(min(max(np.ceil((high - ends[-1]) / width), 0), CELLS))
        ends = np.concatenate(
            [ends[0] - width * np.arange(before, 0, -1), ends, ends[-1] + width * np.arange(1, after + 1)]
        )
        return Released(ends, np.diff(np.interp(ends, bins, below)) / shown)


def _why(block: Any, name: str) -> str:
    """Return why there is no distribution function."""
    if name in block.nullable:
        return "values may be missing, and it is private which"
    return "its noise does not say how likely outputs are"


def _level(z: float) -> float:
    from scipy.special import ndtr

    return float(2 * ndtr(z) - 1)


def _plain_histogram(values: Array) -> Histogram | None:
    """Return the histogram of values without noise."""
    if not values.size:
        return None
    counts, ends = np.histogram(values, CELLS)
    share = counts / values.size
    return Histogram(ends[:-1], ends[1:], share, (np.diag(share) - np.outer(share, share)) / values.size)


def as_date(days: float, declared: Dates) -> str:
    """Return days since the first date as a date."""
    from datetime import timedelta

    return str(declared.first + timedelta(days=round(days)))
