"""On which scale the noise of a number is even, by the same noisy counts as its bounds: post-processing.

Noise of a window is relative to the width of the bounds on its scale, so that what counts is how wide the values are
spread there: with s the standard deviation of the people per cell, in widths,

    log1p is taken where    s of log(1 + x)  >=  SPREAD * s of x.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.release.bounds.estimate import estimated
from versadp.schema import Bounded, Dates
from versadp.schema.spacing import LINEAR, LOG1P, to_even

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.release.bounds.cells import Cells
    from versadp.schema import Column

    Array = NDArray[np.float64]

SPREAD = 1.1  # by which log1p must spread values wider: chosen; docs/guides/spacing.md says what it gains and costs


def better_spacing(column: Column, cells: Cells, noisy: Array, n: int) -> Column:
    """Return the column with the spacing by which its values are spread wider.

    Parameters
    ----------
    column : Column
        With the bounds that were learnt.
    cells : Cells
    noisy : ndarray
        The counts of all resolutions, with noise.
    n : int
        How many people there are in all.

    Examples
    --------
    >>> from versadp.release.bounds.cells import cells_of
    >>> cells = cells_of(Bounded(0, 500_000))
    >>> people = np.where((cells.low > 3_000) & (cells.high < 100_000), 100, 0)
    >>> better_spacing(Bounded(3_000, 100_000), cells, cells.sums(np.append(people, 0)).astype(float), people.sum())
    Bounded(lower=3000.0, upper=100000.0, spacing='log1p')
    """
    if not isinstance(column, Bounded) or isinstance(column, Dates) or column.step is not None:
        return column
    if column.spacing != LINEAR:
        return column
    people = estimated(cells, noisy, n, 1.0).people[: cells.size]  # unbiased: some are below 0, and stay
    if people.sum() <= 0:
        return column
    middle = np.clip((cells.low + cells.high) / 2, column.lower, column.upper)
    spaced = replace(column, spacing=LOG1P)
    wider = _spread(to_even(LOG1P, middle), people, spaced.even_bounds)
    now = _spread(middle, people, (column.lower, column.upper))
    return spaced if wider >= SPREAD * now > 0 else column


def _spread(values: Array, people: Array, ends: tuple[float, float]) -> float:
    """Return the standard deviation of the people, in widths; 0 where noise hides it."""
    share = people / people.sum()
    return math.sqrt(max(float(share @ (values - share @ values) ** 2), 0.0)) / (ends[1] - ends[0])
