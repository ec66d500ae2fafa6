"""The inverse of a window written out: signed points of any function.

    psi(z) = g(z)/kappa + (1 - 1/kappa) * mean of g over all outputs        (`window.py` has g and its reason)

The mean is over outputs drawn at random, or over all of them where they are few. On the lattice of one column, with
z = r + q w, g is a sum of 3 + 2q values of v, of which the mean over the first window is drawn too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.points import Points, product
from versadp.schema.spacing import from_even, to_even

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise.points import How
    from versadp.noise.window import WindowBlock

    Array = NDArray[np.float64]


def point_count(block: WindowBlock, how: How) -> int:
    """Return the points of the released record and of its draws; or all outputs, if they are few."""
    if _are_few(block, how):
        return math.prod(block.outputs)
    return (1 + how.draws) * math.prod(
        1 if w == 1 else 4 + (0 < s < w) + 2 * ((m + w) // w)
        for m, w, s in zip(block.last, block.window, block.unseen, strict=True)
    )


def points(block: WindowBlock, released: Array, rng: np.random.Generator, how: How) -> Points:
    """Return g at the released record, over kappa, and at outputs drawn at random, which share `1 - 1/kappa`."""
    if block.scales:
        return _on_values(block, points(block.even, _on_even(block, released), rng, how))
    if _are_few(block, how):
        return _every_output(block, released)
    n = released.shape[1]
    drawn = np.floor(rng.random((len(block.columns), n, how.draws)) * np.array(block.outputs)[:, None, None])
    seen = block.seen_places(released)
    unseen = np.isnan(seen)  # whatever place stands for them, their points are missing
    places = np.concatenate([np.where(unseen, 0.0, seen)[:, :, None], drawn], axis=2)
    weight = np.full((n, 1 + how.draws), (1 - 1 / block.keep) / how.draws)
    weight[:, 0] = 1 / block.keep
    every = Points(np.arange(n * (1 + how.draws)), {}, weight.ravel())
    columns = [window_points(block, j, places[j].ravel(), rng) for j in range(len(block.columns))]
    joined = product(every, *columns)
    record = joined.record // (1 + how.draws)
    for j in np.flatnonzero(unseen.any(axis=1)):
        joined.columns[block.columns[j]][unseen[j, record]] = np.nan
    return Points(record, joined.columns, joined.weight)


def _on_even(block: WindowBlock, released: Array) -> Array:
    """Return released values on the scale on which lattices are even."""
    out = released.copy()
    for j, scale in block.scales.items():
        out[j] = to_even(scale.spacing, released[j])
    return out


def _on_values(block: WindowBlock, found: Points) -> Points:
    """Return points on the columns' own scale."""
    own = {block.columns[j]: scale for j, scale in block.scales.items()}
    columns = {n: from_even(own[n].spacing, x) if n in own else x for n, x in found.columns.items()}
    return Points(found.record, columns, found.weight)


def _are_few(block: WindowBlock, how: How) -> bool:
    """Tell whether all outputs are written out: categories, or anything without windows that draws do not beat."""
    plain = all(w == 1 for w in block.window)
    return plain and (all(block.category) or math.prod(block.outputs) <= 1 + how.draws)


def _every_output(block: WindowBlock, released: Array) -> Points:
    """Return every output, with nothing drawn: `1{z = output}/kappa + (1 - 1/kappa)/outputs`."""
    seen, n = block.seen_places(released), released.shape[1]
    outputs = np.indices(block.outputs, dtype=float).reshape(len(block.outputs), 1, -1)
    unseen = np.isnan(seen)[:, :, None]
    # what is publicly missing is so at all outputs; the column's first one stands for them
    here = ((outputs == seen[:, :, None]) | (unseen & (outputs == 0))).all(axis=0)
    weight = here / block.keep + (1 - 1 / block.keep) / here.shape[1]
    values = np.where(unseen | (outputs >= block.missing_place[:, :, None]), np.nan, outputs)
    values = values * block.step[:, None, None] + block.lower[:, :, None]
    columns = {name: np.broadcast_to(v, here.shape).ravel() for name, v in zip(block.columns, values, strict=True)}
    return Points(np.repeat(np.arange(n), here.shape[1]), columns, weight.ravel())


def window_points(block: WindowBlock, j: int, z: Array, rng: np.random.Generator) -> Points:
    """Return g of one column at outputs z as signed points of v."""
    w, low, step, numbers = block.window[j], block.bounds[j][0], block.step[j], np.arange(z.size)
    unknown = z >= block.missing_place[j]
    if w == 1:
        return Points(numbers, {block.columns[j]: np.where(unknown, np.nan, low + step * z)}, np.ones(z.size))
    # the mean of the first window, drawn: it is needed in expectation only; for who is missing too (`Block.points`)
    mean = np.floor(rng.random(z.size) * w)
    lost, weight_lost, times = numbers[unknown], np.ones(int(unknown.sum())), np.ones(z.size)
    (first, behind), s = block.central[j], block.unseen[j]
    if first < behind:  # w v(missing) less the outputs in the middle, one of which is drawn
        middle = first + np.floor(rng.random(z.size) * (behind - first))
        z, times = np.where(unknown, middle, z), np.where(unknown, -(w - s) / s, 1.0)
        weight_lost *= w / s
    else:
        numbers, z, mean, times = numbers[~unknown], z[~unknown], mean[~unknown], times[~unknown]
    q, r = np.divmod(z.astype(np.int64), w)
    count = q.astype(np.int64)
    owner = np.repeat(numbers, count)
    at = np.repeat(r, count) + w * (np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count))
    record = np.concatenate([numbers, numbers, numbers, owner, owner, lost])
    # points beyond the lattice stand for a constant: v has the value of its last point there
    place = np.concatenate([r, np.zeros(z.size), mean, at + 1, at, np.full(lost.size, np.nan)])
    place = np.minimum(place, block.last[j])
    wide = w * np.repeat(times, count)
    weight = np.concatenate([times, times, -times, wide, -wide, weight_lost])
    order = np.argsort(record, kind="stable")
    return Points(record[order], {block.columns[j]: low + step * place[order]}, weight[order])
