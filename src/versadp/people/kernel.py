"""The compiled loops of a law: its cumulative sums, its mass in boxes, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.kernel import summing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Whole = NDArray[np.int64]


@summing
def add_up_along(law: Array, backwards: bool) -> None:
    """Replace a law, seen as (outer, points, inner), by its sums along the points, from the first or from the last."""
    outer, points, inner = law.shape
    for o in range(outer):
        if backwards:
            for p in range(points - 2, -1, -1):
                for i in range(inner):
                    law[o, p, i] += law[o, p + 1, i]
        else:
            for p in range(1, points):
                for i in range(inner):
                    law[o, p, i] += law[o, p - 1, i]


@summing
def mass_in_boxes(
    total: Array,
    codes: NDArray[np.int32],
    first: Whole,
    place: Whole,
    weight: Array,
    number: Whole,
    most: int,
    out: Array,
) -> None:
    """Write how likely each joint code is, given cumulative sums `total`, flat.

    `place`, `weight` are (modes, codes of all columns, corners), the places in strides of the flat law; `number` says
    how many corners each has, `first` where the codes of each column begin, `most` how many corners a box may have.
    """
    rows, columns = codes.shape
    modes = place.shape[0]
    at = np.empty((columns + 1, most), np.int64)
    factor = np.empty((columns + 1, most))
    at[0, 0], factor[0, 0] = 0, 1.0
    for i in range(rows):
        found = 0.0
        for mode in range(modes):
            size = 1
            for j in range(columns - 1):
                row = first[j] + codes[i, j]
                grown = 0
                for k in range(number[mode, row]):
                    p, w = place[mode, row, k], weight[mode, row, k]
                    for s in range(size):
                        at[j + 1, grown] = at[j, s] + p
                        factor[j + 1, grown] = factor[j, s] * w
                        grown += 1
                size = grown
            row = first[columns - 1] + codes[i, columns - 1]
            for k in range(number[mode, row]):
                p, w = place[mode, row, k], weight[mode, row, k]
                inner = 0.0
                for s in range(size):
                    inner += factor[columns - 1, s] * total[at[columns - 1, s] + p]
                found += w * inner
        out[i] = found


@summing
def spread_to_corners(
    weights: Array,
    codes: NDArray[np.int32],
    first: Whole,
    place: Whole,
    weight: Array,
    number: Whole,
    most: int,
    out: Array,
) -> None:
    """Add the weight of each joint code to the corners of its boxes: what `mass_in_boxes` does, transposed."""
    rows, columns = codes.shape
    modes = place.shape[0]
    at = np.empty((columns + 1, most), np.int64)
    factor = np.empty((columns + 1, most))
    at[0, 0], factor[0, 0] = 0, 1.0
    for i in range(rows):
        for mode in range(modes):
            size = 1
            for j in range(columns - 1):
                row = first[j] + codes[i, j]
                grown = 0
                for k in range(number[mode, row]):
                    p, w = place[mode, row, k], weight[mode, row, k]
                    for s in range(size):
                        at[j + 1, grown] = at[j, s] + p
                        factor[j + 1, grown] = factor[j, s] * w
                        grown += 1
                size = grown
            row = first[columns - 1] + codes[i, columns - 1]
            for k in range(number[mode, row]):
                p, w = place[mode, row, k], weight[mode, row, k] * weights[i]
                for s in range(size):
                    out[at[columns - 1, s] + p] += factor[columns - 1, s] * w
