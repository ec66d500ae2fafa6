"""Rows drawn from a law, and replicate weights on the same rows.

**Rows** are drawn systematically: point x stands n q(x) times, up to less than one. Values of a number whose points
stand for others around them are spread evenly over these.

**Replicate weights.** Replicate b weighs the released records by Poisson draws of mean 1, and does all of it again: EM
by as many steps, f_b, and unbiased estimates, t_b. Its law, as that of the rows, is tilted,

    q_b/q = (f_b/f) exp(μ_b'φ)/Z_b,        mean of φ over the rows = its own + t_b - t - ω C μ_b,

so that a statistic of the rows varies over replicates as it does over releases. Weights are positive, and 1 on average.
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

FAR = 100.0  # times by which the mass of a drawn cell may change between replicates: beyond it EM has emptied it


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


def record_weights(records: int, replicates: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return how often each record stands in each replicate, (records, replicates)."""
    out = np.empty((records, replicates), np.uint8)
    for b in range(replicates):
        out[:, b] = rng.poisson(1.0, records)
    return out


def replicate_weights(
    law: Law,
    at: NDArray[np.int32],
    repeated: NDArray[np.uint8],
    tell: Callable[[float], None] = lambda _: None,
) -> Array:
    """Return weights of rows, (rows, replicates), each 1 on average.

    Parameters
    ----------
    law : Law
        With estimates from the weighted records.
    at : array of int (rows, columns)
    repeated : array of int (records, replicates)
        Weights of the records.
    tell : callable
        Told the share that is done.
    """
    found, again = law.likeliest, law.targets.repeated
    assert found is not None
    assert again is not None
    shape = tuple(axis.size for axis in law.axes)
    joint = np.ravel_multi_index(tuple(at.T.astype(np.int64)), shape)
    known, place, counts = np.unique(joint, return_inverse=True, return_counts=True)
    points = Points(np.stack(np.unravel_index(known, shape), axis=1), counts / len(at))
    tilt = Tilt(points, law.features, law.tilt.penalty)
    centre = tilt.means(points.weight)
    least = float(np.sqrt(np.diag(law.targets.cov).min()))
    out = np.empty((len(at), repeated.shape[1]))
    for b in range(repeated.shape[1]):
        changed = found.again(repeated[:, b]).ravel()[known] / found.law.ravel()[known]
        own = points.weight * np.clip(changed, 1 / FAR, FAR)
        _, weight = tilt.solve(centre + again[b] - law.targets.mean, CLOSE * least, own / own.sum())
        out[:, b] = (weight / points.weight)[place]
        tell((b + 1) / repeated.shape[1])
    return out
