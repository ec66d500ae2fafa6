"""Correction of the counts of the levels of a category.

Noise that keeps a category with probability κ and otherwise draws one of L outputs uniformly is corrected by

    count of level v  <-  count_v / κ + (1 - 1/κ) n / L

without a matrix, so that a postcode with 30,000 levels takes no more memory than its counts. Other noise is corrected
by the matrix (levels, outputs) of its signed points, for up to `MOST_DENSE` levels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.errors import ParameterError
from versadp.schema import Categorical

if TYPE_CHECKING:
    from versadp.describing.layout import Layout
    from versadp.inputs import Array

MOST_DENSE = 1000  # levels of a category that is corrected by a matrix, which then takes 8 MB


class Undone(NamedTuple):
    """Corrected counts of levels.

    Attributes
    ----------
    counts : array (levels,)
        Missing is the last level, if values may be missing.
    low, high : array (levels,)
        The smallest and the largest contribution of one record to a count.
    """

    counts: Array
    low: Array
    high: Array


def undo_levels(layout: Layout, name: str, counts: Array) -> Undone | None:
    """Return corrected counts of the levels of a category and of missing; None if they are not identified.

    Parameters
    ----------
    layout : Layout
    name : str
    counts : array (levels + 1,)
        Counts of the released levels and of missing values.
    """
    declared = layout.columns[name]
    assert isinstance(declared, Categorical)
    seen = counts[: len(declared.levels) + bool(declared.nullable)]
    lattice = layout.blocks[name].lattice(name)
    if lattice is None or lattice.window != 1 or lattice.merged != 1:
        return _by_points(layout, name, seen)
    public = declared.nullable == "public"  # the count of missing values is public
    outputs = lattice.last + lattice.window + lattice.unseen
    rest = (1 - 1 / lattice.keep) / outputs
    noisy = seen[:-1] if public else seen
    out = noisy / lattice.keep + rest * noisy.sum()
    low, high = np.full(seen.size, rest), np.full(seen.size, rest + 1 / lattice.keep)
    if public:
        out, low[-1], high[-1] = np.append(out, seen[-1]), 0.0, 1.0
    return Undone(out, low, high)


def _by_points(layout: Layout, name: str, seen: Array) -> Undone | None:
    """Return the counts corrected by the matrix of signed points of all outputs of a block of one column."""
    from versadp.noise import How

    declared, block = layout.columns[name], layout.alone(name)
    assert isinstance(declared, Categorical)
    size = len(declared.levels)
    if block.columns != (name,) or size > MOST_DENSE:
        return None
    outputs = np.append(np.arange(float(size)), np.nan)[: seen.size]
    try:
        points = block.points(outputs[None], np.random.default_rng(0), How())
    except ParameterError:  # a category that is always redrawn
        return None
    inverse = np.zeros((size + 1, size + 1))
    level = np.nan_to_num(points.columns[name], nan=size).astype(np.int64)
    np.add.at(inverse, (level, points.record), points.weight)
    inverse = inverse[: seen.size, : seen.size]
    return Undone(inverse @ seen, inverse.min(axis=1), inverse.max(axis=1))
