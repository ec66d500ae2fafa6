"""Estimates of all columns from the sums over records that one pass has computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.describing.calibrated import curve_with_totals, share_estimates, with_totals
from versadp.describing.column import SHOWN, ColumnDescription, Released
from versadp.describing.cumulative import cumulative
from versadp.describing.histogram import CELLS, FEWEST_CELLS, MOST_ERROR, histogram
from versadp.describing.level_counts import undo_levels
from versadp.describing.one_pass import Gathered, group_keys
from versadp.estimation.moment_estimates import (
    NOTHING,
    Estimate,
    Moments,
    correlation_of,
    covariance_of,
    mean_of,
    sample_quantile,
    sd_of,
    share_of,
)
from versadp.inference.chi_square import LEVEL
from versadp.likelihood.histogram import Histogram, histogram_of_counts
from versadp.noise.cases import cases
from versadp.noise.selection_check import SELDOM, fewest_chance
from versadp.release.bounds.wording import beyond, beyond_words, shift_words
from versadp.schema import Bounded, Categorical, Dates
from versadp.schema.spacing import LINEAR, from_even, to_even

if TYPE_CHECKING:
    from versadp.correction.calibrated_means import CalibratedMeans
    from versadp.describing.cumulative import Cumulative
    from versadp.describing.layout import Layout
    from versadp.estimation.distribution import Curve
    from versadp.inputs import Array

# share of released values that pictures leave out on each side beyond the bounds: chosen; too small to be visible
NOT_DRAWN = 0.002


@dataclass(frozen=True, eq=False)
class Statistics:
    """Estimates from the sums of one pass.

    Attributes
    ----------
    layout : Layout
    gathered : Gathered
    z : float
        Half the width of an interval in standard errors.
    taus : tuple of float
        Levels of the quantiles.
    """

    layout: Layout
    gathered: Gathered
    z: float
    taus: tuple[float, ...]
    widening: float = 1.0  # of standard errors, if people have several rows; z includes it
    totals: CalibratedMeans | str = ""  # or why they are not used

    @property
    def level(self) -> float:
        """The level of the intervals of records that are people."""
        from scipy.special import ndtr

        return float(2 * ndtr(self.z) - 1)

    @cached_property
    def _groups(self) -> dict[tuple[str, ...], tuple[Array, Array]]:
        return dict(zip(group_keys(self.layout), self.gathered.groups, strict=True))

    @cached_property
    def _counts(self) -> dict[str, Array]:
        names = (*self.layout.bins, *self.layout.categories)
        return {n: each.astype(float) for n, each in zip(names, self.gathered.counts, strict=True)}

    def describe(self, name: str) -> ColumnDescription:
        """Return the description of a column."""
        layout, declared = self.layout, self.layout.columns[name]
        lacking = self._lacking(name)
        if name in layout.others:
            shares, notes = self._values(name)
            found = ColumnDescription(name, declared, self, notes, shares=shares)
        elif isinstance(declared, Categorical):
            shares, notes = self._levels(name)
            found = ColumnDescription(name, declared, self, (*lacking, *notes), missing=shares.pop(None, None))
            found = replace(found, shares=shares)
        else:
            (mean, sd, notes), (quantiles, more) = self._moments(name), self._quantiles(name)
            moved = shift_words(layout.learnt, name)
            found = ColumnDescription(
                name,
                declared,
                self,
                (*lacking, *notes, *moved, *more),
                mean,
                sd,
                quantiles,
                missing=self._missing(name),
            )
        return found.widened(self.widening)

    def _lacking(self, name: str) -> tuple[str, ...]:
        """Return a note if a column lacks outputs that redrawn records would have."""
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

    def covariance(self, one: str, other: str) -> Estimate:
        """Return the covariance of two numbers over the records that have both, or the variance of one."""
        found = covariance_of(self._pair(one, other), self.z)
        unit = self.layout.place(one)[1] * self.layout.place(other)[1]
        return found.times(unit).widened(self.widening)

    def _correlation(self, one: str, other: str) -> Estimate:
        return correlation_of(self._pair(one, other), self.z)

    def _pair(self, one: str, other: str) -> Moments | None:
        """Return the moments of two numbers, which may be the same, calibrated where totals are about them."""
        names = (one,) if one == other else (one, other)
        return with_totals(self._by_records(one, other), self.totals, self.layout, names)

    def _by_records(self, one: str, other: str) -> Moments | None:
        groups, firm = self._groups, self.layout.firm
        if one == other and one not in firm:
            total, squares = groups[(one,)]
            return Moments.of(self.gathered.rows, total, squares, [0, 1, 1, 2, 2, 2], self.z)
        if (one, other) in groups and len({one, other} & set(firm)) < 2 and one != other:
            total, squares = groups[one, other]
            return Moments.of(self.gathered.rows, total, squares, list(range(6)), self.z)
        i, j = firm.index(one), firm.index(other)
        at = [0, 1 + i, 1 + j, self._product(i, i), self._product(j, j), self._product(i, j)]
        total, squares = groups[firm]
        return Moments.of(self.gathered.rows, total, squares, at, self.z)

    def _product(self, i: int, j: int) -> int:
        """Return the position of the product of two firm columns among their statistics."""
        p, (i, j) = len(self.layout.firm), sorted((i, j))
        return 1 + p + i * p - i * (i - 1) // 2 + j - i

    def _moments(self, name: str) -> tuple[Estimate, Estimate, tuple[str, ...]]:
        layout, rows = self.layout, self.gathered.rows
        if name not in layout.numbers:
            return NOTHING, NOTHING, (f"{name}: no moments, as its noise has no closed-form correction",)
        if layout.correlated and name in layout.firm:
            j = layout.firm.index(name)
            total, squares = self._groups[layout.firm]
            at = [0, 1 + j, 1 + j, self._product(j, j), self._product(j, j), self._product(j, j)]
        else:
            (total, squares), at = self._groups[(name,)], [0, 1, 1, 2, 2, 2]
        found = with_totals(Moments.of(rows, total, squares, at, self.z), self.totals, layout, (name,))
        centre, unit = layout.place(name)
        mean, sd = mean_of(found, self.z).times(unit, centre), sd_of(found, self.z).times(unit)
        declared = layout.columns[name]
        if isinstance(declared, Bounded):
            mean = mean.within(declared.lower, declared.upper)
            sd = sd.within(0.0, declared.width / 2)
        notes = () if sd.told else (f"{name}: its standard deviation is not significant under so much noise",)
        if found is None:
            notes = (f"{name}: too few records have a value",)
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
        found = None if counts is None else cumulative(block, name, declared.even, counts)
        if found is None or self.gathered.rows < 2:
            return nothing, ((f"{name}: no quantiles: {_why(block, name)}",) if found is None else ())
        return self._corrected_quantiles(name, declared, found, nothing)

    def _corrected_quantiles(
        self, name: str, declared: Bounded, found: Cumulative, nothing: dict[float, Estimate]
    ) -> tuple[dict[float, Estimate], tuple[str, ...]]:
        """Return quantiles by the corrected distribution function; none beyond the learnt share of people."""
        curves = {tau: curve_with_totals(self.totals, name, declared, tau) for tau in self.taus}
        each = {tau: self._quantile(found, tau, declared.even, curve) for tau, curve in curves.items()}
        out = {tau: _on_values(one, declared) for tau, one in each.items()}
        scale = "" if declared.spacing == LINEAR else f" of {declared.spacing}"
        said = f"{name}: quantiles are told to within {found.room:.4g}{scale} on either side; where in that is hidden"
        if found.cells is not None:
            cells = len(found.cells[0].T)
            said = f"{name}: quantiles assume a uniform distribution within each of {cells} cells between the bounds"
        low, high = beyond(self.layout.learnt, name, declared)
        unknown = {tau: nothing[tau] for tau in self.taus if not low <= tau <= high}
        clipped = (beyond_words(name, declared),) if unknown else ()
        return out | unknown, ((said,) if found.room and not all(curves.values()) else ()) + clipped

    def _quantile(self, found: Cumulative, tau: float, declared: Bounded, exact: Curve | None) -> Estimate:
        """Return a quantile with its interval by inversion, widened by what is not told and cut to the bounds."""
        curve, piled, room = (exact, None, 0.0) if exact else (found.curve(tau), found.piled(tau), found.room)
        low, high = curve.interval(self.level)
        smooth = exact is None and found.ramp is not None and found.ramp.width > 0
        value = piled if piled is not None else curve.interpolated if smooth else curve.estimate
        each = Estimate(value, (high - low) / 2 / self.z, low - room, high + room)
        each = each.within(declared.lower, declared.upper)
        return each._replace(value=float(np.clip(each.value, declared.lower, declared.upper)))

    def _missing(self, name: str) -> Estimate | None:
        loose = name in self.layout.loose and name in self.layout.blocks[name].nullable
        if not loose or self.layout.alone(name).complete_rate < 1:
            return None
        total, _ = self._groups[(name,)]
        rows = self.gathered.rows
        found = cases(self.layout.alone(name), np.array([[self._middle(name), np.nan]]))
        assert found is not None
        which, every = found
        # contributions to the share of a record with a value and of one without
        ends = 1 - every[which[0]].factor, 1 - every[which[1]].factor
        return share_of(1 - total[0] / rows if rows else 0.0, rows, *ends, self.z)

    def _middle(self, name: str) -> float:
        """Return a value that a noisy number shows."""
        declared = self.layout.columns[name]
        assert isinstance(declared, Bounded)
        return sum(declared.even_bounds) / 2

    def _levels(self, name: str) -> tuple[dict[Any, Estimate], tuple[str, ...]]:
        declared, found = self.layout.columns[name], undo_levels(self.layout, name, self._counts[name])
        assert isinstance(declared, Categorical)
        rows = self._shown(name)
        levels = [*declared.levels, *((None,) if declared.nullable else ())]
        if not isinstance(self.totals, str) and self.totals.knows(name):
            return dict(zip(levels, share_estimates(self.totals, name, self.z), strict=True)), ()
        if found is None:
            unknown = Estimate(np.nan, np.nan, 0.0, 1.0)
            return dict.fromkeys(levels, unknown), (f"{name}: its noise hides its levels completely",)
        each = zip(levels, found.counts / max(rows, 1), found.low, found.high, strict=True)
        shares = {level: share_of(mean, rows, low, high, self.z) for level, mean, low, high in each}
        size = len(declared.levels)
        note = f"{name}: summaries show the {SHOWN} most frequent of its {size:,} levels; the table has all of them"
        return shares, (note,) if size > SHOWN else ()

    def _shown(self, name: str) -> int:
        """Return how many records show a category, or that it is missing: all, unless each gives some columns only."""
        rows = self.gathered.rows
        return int(self._counts[name][:-1].sum()) if self.layout.alone(name).complete_rate < 1 else rows

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
        """Return the histogram of a number, None if there is none."""
        layout, counts = self.layout, self._counts.get(name)
        declared = layout.columns[name]
        if name in layout.places:
            kept = np.concatenate(self.gathered.kept[layout.public.index(name)] or [np.empty(0)])
            return _plain_histogram(kept)
        if counts is None or not isinstance(declared, Bounded):
            return None
        alone, even = layout.alone(name), declared.even
        undone = cumulative(alone, name, even, counts)
        found = None if undone is None else histogram(undone, even.lower, even.upper)
        if found is not None:
            low, high = (from_even(declared.spacing, ends) for ends in (found.low, found.high))
            return replace(found, low=low, high=high)
        # values are uniform in halves of cells, not in cells: bands at the ends of a density need that
        found = histogram_of_counts(alone, name, even, counts, 2 * CELLS)
        if found is None:
            return found
        if found.share.size > CELLS:
            found = found.joined(2).told(FEWEST_CELLS, MOST_ERROR)
        elif declared.spacing == LINEAR:
            return found
        low, high = (from_even(declared.spacing, ends) for ends in (found.low, found.high))
        # on a lattice, cells end half a step beyond the bounds
        return replace(found, low=np.maximum(low, declared.lower), high=np.minimum(high, declared.upper))

    def released(self, name: str, found: Histogram | None) -> Released | None:
        """Return the shares of the released values of a noisy column, from the counts of its outputs."""
        counts, declared, rows = self._counts.get(name), self.layout.columns[name], self.gathered.rows
        if counts is None or not rows:
            return None
        if isinstance(declared, Categorical):
            levels = len(declared.levels) + bool(declared.nullable)  # missing comes last
            return Released(np.arange(levels + 1.0) - 0.5, counts[:levels] / max(self._shown(name), 1))
        assert isinstance(declared, Bounded)
        ends = (
            np.linspace(*declared.even_bounds, CELLS + 1)
            if found is None
            else to_even(declared.spacing, np.append(found.low, found.high[-1]))
        )
        bins = self.layout.bins[name].edges
        below = np.append(0.0, np.cumsum(counts[:-1]))
        shown = max(float(below[-1]), 1.0)
        low, high = np.interp([NOT_DRAWN * shown, (1 - NOT_DRAWN) * shown], below, bins)
        width = float(ends[-1] - ends[0]) / (ends.size - 1)
        before = int(min(max(np.ceil((ends[0] - low) / width), 0), CELLS))
        after = int(min(max(np.ceil((high - ends[-1]) / width), 0), CELLS))
        ends = np.concatenate(
            [ends[0] - width * np.arange(before, 0, -1), ends, ends[-1] + width * np.arange(1, after + 1)]
        )
        return Released(from_even(declared.spacing, ends), np.diff(np.interp(ends, bins, below)) / shown)


def _on_values(found: Estimate, declared: Bounded) -> Estimate:
    """Return an estimate of a function of a column as one of its values."""
    if declared.spacing == LINEAR:
        return found
    value, error, low, high = found
    around = from_even(declared.spacing, np.array([value - error, value + error]))
    value, low, high = from_even(declared.spacing, np.array([value, low, high])).tolist()
    return Estimate(value, float(np.ptp(around)) / 2, low, high).within(declared.lower, declared.upper)


def _why(block: Any, name: str) -> str:
    """Return the reason why there is no distribution function."""
    if name in block.nullable:
        return "values may be missing, and which is private"
    return "its noise has no known distribution"


def _plain_histogram(values: Array) -> Histogram | None:
    """Return the histogram of values without noise."""
    if not values.size:
        return None
    counts, ends = np.histogram(values, CELLS)
    share = counts / values.size
    return Histogram(ends[:-1], ends[1:], share, (np.diag(share) - np.outer(share, share)) / values.size)


def as_date(days: float, declared: Dates) -> str:
    """Return a number of days since the first date as a date."""
    from datetime import timedelta

    return str(declared.first + timedelta(days=round(days)))
