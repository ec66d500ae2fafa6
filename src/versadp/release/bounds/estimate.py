"""From noisy counts to bounds and merged levels: all of it post-processing.

The counts of one column are y = A h + noise, h the people per cell and 1'h = n known. Least squares gives

    h^ = G A'y + M^-1 1 n/(1'M^-1 1),   M = A'A,   G = M^-1 - M^-1 11'M^-1/(1'M^-1 1),   Cov h^ = s² G,

and so every tail T_k, the people from cell k on, with its standard error s_k. On each side the bound is the innermost
end of a cell beyond which all tails are within

    T_k <= max(n (1 - coverage)/2 - s_k/2, 2 s_k):

it is pushed outwards by half of the noise's standard error, and never inwards past what the counts tell from nobody.
In the cell where the limit is reached people are taken to be evenly spread, and the bound lies where they reach it;
unless they are more than in the next cell inwards, as where values pile up at one of them: such a cell is kept whole.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.schema import Bounded, Categorical, Dates
from versadp.schema.columns import other_level
from versadp.schema.learnt import GEOMETRIC, Clipped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.release.bounds.cells import Cells
    from versadp.schema import Column
    from versadp.schema.learnt import LearntBounds

    Array = NDArray[np.float64]

OUTWARDS = 0.5  # standard errors of a tail by which a bound is pushed outwards (docs/theory/bounds.md has figures)
UNSEEN = 2.0  # standard errors below which a tail is not told from an empty one
MOST_CLIPPED = 0.05  # share of the people: where noise alone could clip more on a side, the declared bounds stay
MERGED_BELOW = 3.0  # standard deviations of a level's count below which it is merged


class CellEstimates(NamedTuple):
    """People per cell, missing last if it is hidden, and the covariance that noise gives them."""

    people: Array
    covariance: Array


def noise_sd(learnt: LearntBounds) -> float:
    """Return the standard deviation of one noisy count."""
    if learnt.noise == GEOMETRIC:
        ratio = math.exp(-1 / learnt.scale)
        return math.sqrt(2 * ratio) / (1 - ratio)
    return math.sqrt(learnt.scale**2 + 1 / 12)


def estimated(cells: Cells, noisy: Array, n: int, sd: float) -> CellEstimates:
    """Return the least squares estimate of the people per cell, whose total is known."""
    incidence = cells.incidence
    inverse = np.linalg.inv(incidence.T @ incidence)
    total = inverse.sum(axis=0)
    free = inverse @ (incidence.T @ noisy)
    people = free + total * ((n - free.sum()) / total.sum())
    return CellEstimates(people, sd**2 * (inverse - np.outer(total, total) / total.sum()))


def better_column(
    column: Column, cells: Cells, noisy: Array, n: int, learnt: LearntBounds
) -> tuple[Column, Clipped] | None:
    """Return a column with learnt bounds or merged levels, and what that clips; None if the declared ones stay.

    Parameters
    ----------
    column : Column
        As declared.
    cells : Cells
    noisy : ndarray
        The counts of all resolutions, with noise.
    n : int
        How many people there are in all.
    learnt : LearntBounds
    """
    sd = noise_sd(learnt)
    if isinstance(column, Categorical):
        return _merged(column, noisy[: cells.size], sd, n)
    assert isinstance(column, Bounded)
    return _narrowed(column, cells, estimated(cells, noisy, n, sd), n, learnt.coverage)


def _narrowed(
    column: Bounded, cells: Cells, found: CellEstimates, n: int, coverage: float
) -> tuple[Column, Clipped] | None:
    """Return a column with bounds around most of its values."""
    people = found.people[: cells.size]
    covariance = found.covariance[: cells.size, : cells.size]
    below = _end(people, covariance, n, coverage)
    above = _end(people[::-1], covariance[::-1, ::-1], n, coverage)
    first, last = below.cell, cells.size - 1 - above.cell
    if first > last or max(below.worst, above.worst) * UNSEEN > MOST_CLIPPED * n:
        return None
    width = cells.high - cells.low
    low = float(cells.low[first] + below.part * width[first])
    high = float(cells.high[last] - above.part * width[last])
    made = with_bounds(column, *_on_steps(low, high, column))
    if made == column:
        return None
    low, high = _positions(made, column)
    moved = np.clip((cells.low + cells.high) / 2, low, high) - (cells.low + cells.high) / 2
    figures: tuple[float, ...] = below.people, above.people, max(below.error, above.error)
    figures += float(people @ moved), math.sqrt(max(float(moved @ covariance @ moved), 0.0))
    return made, Clipped(*(_brief(value / max(n, 1)) for value in figures))


class _End(NamedTuple):
    """Estimate of a bound on one side: its cell, the part cut off, and people beyond it, with standard errors."""

    cell: int
    part: float
    people: float
    error: float
    worst: float


def _end(people: Array, covariance: Array, n: int, coverage: float) -> _End:
    """Return the innermost place outside of which all sums of people are small."""
    corner = np.cumsum(np.cumsum(covariance, axis=0), axis=1)
    errors = np.sqrt(np.maximum(np.append(0.0, np.diag(corner))[:-1], 0.0))  # of the people before each cell
    sums = np.append(0.0, np.cumsum(people))[:-1]
    limit = np.maximum(n * (1 - coverage) / 2 - OUTWARDS * errors, UNSEEN * errors)
    over = np.flatnonzero(sums > limit)
    cell = int(over[0]) - 1 if over.size else len(people) - 1
    part = 0.0
    if over.size and cell + 1 < len(people):
        spread = people[cell] <= people[cell + 1] + UNSEEN * math.sqrt(covariance[cell, cell])
        room = limit[cell + 1] - max(sums[cell], 0.0)
        part = float(np.clip(room / people[cell], 0.0, 1.0)) if spread and people[cell] > 0 else 0.0
    cut = float(part * people[cell])  # by even spreading, which may be wrong by half of it
    return _End(cell, part, float(sums[cell]) + cut, math.hypot(float(errors[cell]), cut / 2), float(errors.max()))


def _on_steps(low: float, high: float, column: Bounded) -> tuple[float, float]:
    """Return bounds moved outwards to few digits, or to steps; around a single value a step on both sides."""
    if column.step is None:
        unit = 10.0 ** math.floor(math.log10(high - low) - 3) if high > low else 0.0
        outer = (math.floor(low / unit) * unit, math.ceil(high / unit) * unit) if unit else (low, high)
        return max(float(f"{outer[0]:.12g}"), column.lower), min(float(f"{outer[1]:.12g}"), column.upper)
    assert column.steps is not None
    first = math.floor((low - column.lower) / column.step)
    last = math.ceil((high - column.lower) / column.step)
    if first == last:
        first, last = first - 1, last + 1
    return column.lower + column.step * max(first, 0), column.lower + column.step * min(last, column.steps)


def _positions(made: Bounded, column: Bounded) -> tuple[float, float]:
    """Return effective bounds in the units of the declared column: days from its first one."""
    if isinstance(made, Dates) and isinstance(column, Dates):
        start = float((made.first - column.first).days)
        return start, start + made.upper
    return made.lower, made.upper


def with_bounds(column: Bounded, low: float, high: float) -> Bounded:
    """Return the column with bounds in its own units."""
    if isinstance(column, Dates):
        first, last = (column.first + timedelta(days=round(day)) for day in (low, high))
        outer = column.first, column.first + timedelta(days=round(column.upper))
        return Dates(first, last, nullable=column.nullable, declared=outer)
    return replace(column, lower=low, upper=high, declared=(column.lower, column.upper))


def _merged(column: Categorical, people: Array, sd: float, n: int) -> tuple[Column, Clipped] | None:
    """Return a category whose rare levels are one."""
    rare = people < MERGED_BELOW * sd
    rare[int(np.argmax(people))] = False
    made = rare_levels_merged(column, rare)
    if made is None:
        return None
    gone = np.isin(np.arange(rare.size), [column.levels.index(level) for level in made.merged])
    share, error = float(people[gone].sum()) / max(n, 1), sd * math.sqrt(gone.sum()) / max(n, 1)
    return made, Clipped(0.0, _brief(share), _brief(error), 0.0, 0.0)


def rare_levels_merged(column: Categorical, rare: NDArray[np.bool_]) -> Categorical | None:
    """Return a category whose rare levels are one, if they are two at least and not all.

    Examples
    --------
    >>> rare_levels_merged(Categorical(["n", "e", "s", "w"]), np.array([False, True, False, True]))
    Categorical(levels=('n', 's', 'other'), merged=('e', 'w'))
    >>> rare_levels_merged(Categorical([11, 12, 13]), np.array([False, True, True]))
    Categorical(levels=(11, -1), merged=(12, 13))
    """
    other = other_level(column.levels)
    gone = rare | np.array([bool(rare.any()) and level == other for level in column.levels])
    flagged = list(zip(column.levels, gone.tolist(), strict=True))
    kept, merged = ([level for level, out in flagged if out is flag] for flag in (False, True))
    return Categorical([*kept, other], column.nullable, merged) if len(merged) > 1 and kept else None


def _brief(value: float) -> float:
    """Return three digits of a noisy figure."""
    return float(f"{value:.3g}")
