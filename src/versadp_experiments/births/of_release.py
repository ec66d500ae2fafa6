"""Criteria 3 to 7 asked of a release itself: corrected means and coefficients, with intervals.

A criterion is a largest difference, or a sum of differences, of figures that each have an interval. Beside it stand the
widest of their half widths and how many intervals hold the raw figure.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import versadp as vdp
from versadp_experiments.births import criteria
from versadp_experiments.births.data import BOUNDS, NAMES

if TYPE_CHECKING:
    from versadp_experiments.births.data import Prepared

FORMULA = f"{NAMES[-1]} ~ {' + '.join(NAMES[:-1])}"
Z95 = 1.959964
DRAWS = 400  # of the coefficients, for the interval of criterion 7: chosen


class Judged(NamedTuple):
    """A criterion of one release: its value, the widest half width, intervals that hold the raw figure, and all."""

    value: float
    half_width: float
    held: int
    intervals: int


def means(release: vdp.Release, b: Prepared, target: str) -> Judged:
    """Return the largest difference of means of a column, overall and by bins of others."""
    worst, widest, held, count = 0.0, 0.0, 0, 0
    for k, by in enumerate(criteria.MEANS[target]):
        table = vdp.table(release, by, bins=_bins(by), values=target)
        true, raw = criteria.cell_means(b, target, by)
        mean, rows = table.estimates("mean"), table.estimates("count").value
        size = criteria.cell_sizes(raw)
        cells = len(raw)
        found = criteria.resized(mean.value[:cells], rows[:cells], size, criteria.MIDDLE[target])
        worst = max(worst, float(np.abs(found - true)[raw > 0].max()))
        low, high = mean[2][: cells + (k == 0)], mean[3][: cells + (k == 0)]
        truth = np.append(true, b[target].mean())[: cells + (k == 0)]
        if k == 0:
            worst = max(worst, abs(float(mean.value[cells] - b[target].mean())))
        widest = max(widest, float((high - low).max() / 2))
        held += int(((low <= truth) & (truth <= high)).sum())
        count += truth.size
    return Judged(worst, widest, held, count)


def regression(release: vdp.Release, b: Prepared) -> tuple[Judged, Judged]:
    """Return criteria 6 and 7: sum of differences of coefficients, and difference of mean absolute errors."""
    centre, spread = criteria.standards(b)
    fitted = vdp.fit(release, FORMULA)
    # raw coefficients, intercept first, to standardised ones, intercept last
    change = np.zeros((len(NAMES), len(NAMES)))
    change[:-1, 1:] = np.diag(spread)
    change[-1] = [1.0, *centre]
    found, cov = change @ np.asarray(fitted.params), change @ np.asarray(fitted.cov_params()) @ change.T
    total, error = criteria.regression_differences(found, b)
    true, half = criteria.regression(b, centre, spread), Z95 * np.sqrt(np.diag(cov))
    draws = np.random.default_rng(0).multivariate_normal(found, cov, DRAWS)
    low, high = np.quantile(_errors(draws, b), [0.025, 0.975])
    raw = float(_errors(true[None], b)[0])
    inside = int((np.abs(found - true) <= half).sum())
    return (
        Judged(total, float(half.max()), inside, len(half)),
        Judged(error, float(high - low) / 2, int(low <= raw <= high), 1),
    )


def _errors(coefficients: criteria.Array, b: Prepared) -> criteria.Array:
    """Return the mean absolute error on b of each row of coefficients."""
    x, y = criteria.design(b, *criteria.standards(b)), b[NAMES[-1]]
    return np.array([np.abs(y - x @ theta).mean() for theta in coefficients])


def _bins(by: str) -> dict[str, list[float]]:
    """Return the edges of a column within its bounds; a category has none."""
    if by not in BOUNDS:
        return {}
    low, high = BOUNDS[by]
    return {by: [float(low), *(edge for edge in criteria.BINS[by] if low < edge < math.inf), float(high)]}
