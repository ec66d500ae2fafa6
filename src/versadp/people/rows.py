"""Rows drawn from a law, and replicate weights on the same rows.

**Rows** are drawn systematically: point x stands n q(x) times, up to less than one. Values of a number whose points
stand for others around them are spread evenly over these.

**Replicate weights.** A law follows from the estimates t, and their errors are known: cov t = C. Replicate b tilts the
rows to t + e_b, e_b ~ N(0, C), as the law was tilted to t, so that a statistic of the rows varies over replicates as it
does over releases as far as it follows from features. Weights are positive, and 1 on average.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.people.features import around
from versadp.people.tilt import CLOSE, Points, Tilt, systematic

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.people.axes import Axis
    from versadp.people.law import Law

SPREAD = 1e-12  # share of a covariance's trace below which its eigenvalues are rounding


def draw_points(law: Law, rows: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Return the points of rows, (rows, columns), in an order that tells nothing."""
    chosen = systematic(law.points.weight, rows, float(rng.random()))
    return np.asarray(law.points.at[rng.permutation(chosen)])


def values_of(axis: Axis, at: NDArray[np.int32], rng: np.random.Generator) -> Array:
    """Return values of a number or date at points, NaN where missing: spread over the values for which points stand."""
    low, high = (np.append(end, [np.nan] * (axis.size - axis.known)) for end in around(axis))
    values = low[at] + (high - low)[at] * rng.random(len(at))
    if axis.step and axis.gap:
        first, last = axis.points[0], axis.points[axis.known - 1]
        values = np.clip(first + axis.step * np.rint((values - first) / axis.step), first, last)
    return np.asarray(values)


def replicate_weights(
    law: Law,
    at: NDArray[np.int32],
    replicates: int,
    rng: np.random.Generator,
    tell: Callable[[float], None] = lambda _: None,
) -> Array:
    """Return weights of rows, (rows, replicates), each 1 on average."""
    shape = tuple(axis.size for axis in law.axes)
    joint = np.ravel_multi_index(tuple(at.T.astype(np.int64)), shape)
    known, place, counts = np.unique(joint, return_inverse=True, return_counts=True)
    points = Points(np.stack(np.unravel_index(known, shape), axis=1), counts / len(at))
    tilt = Tilt(points, law.features, law.tilt.penalty)
    centre = tilt.means(points.weight)
    value, vector = np.linalg.eigh(law.targets.cov)
    root = vector * np.sqrt(np.maximum(value, 0.0))
    least = float(np.sqrt(np.diag(law.targets.cov).min()))
    out = np.empty((len(at), replicates))
    for b in range(replicates):
        target = centre + root @ rng.standard_normal(len(value))
        _, weight = tilt.solve(target, CLOSE * least)
        out[:, b] = (weight / points.weight)[place]
        tell((b + 1) / replicates)
    return out
