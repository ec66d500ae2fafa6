"""Compiled loops of the corrections: one pass over the points, no array of intermediate geometry.

The formulas stand in `laplacian.py`; losses are evaluated outside, by their own numpy code, between two loops.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.extension import DAMPED, FADE
from versadp.noise.kernel import summing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@summing
def add_scores(m: Array, s: Array, weight: Array, record: NDArray[np.int64], out: Array) -> None:
    """Add `weight[g, i] s[i] m[i]` of each point i to row `record[i]` of the scores `out` (n, G, p)."""
    for i in range(m.shape[0]):
        for g in range(weight.shape[0]):
            factor = weight[g, i] * s[i]
            for j in range(m.shape[1]):
                out[record[i], g, j] += factor * m[i, j]


@summing
def add_steps(
    order: NDArray[np.int64],
    record: NDArray[np.int64],
    place: NDArray[np.int64],
    weight: Array,
    tau: float,
    score: Array,
    outer: Array,
) -> None:
    """Add corrected indicators less tau, and their products, of all records and for all values of a grid.

    `order` sorts points by record, `place` is the first value of the grid that a point is not above; `score` is
    (t, G) and `outer` (t, G, G).
    """
    size, groups = score.shape
    cell, running = np.zeros((size + 1, groups)), np.zeros(groups)
    i = 0
    while i < order.shape[0]:
        own = record[order[i]]
        cell[:], running[:] = 0.0, 0.0
        while i < order.shape[0] and record[order[i]] == own:
            at = order[i]
            for g in range(groups):
                cell[place[at], g] += weight[g, at]
                running[g] -= tau * weight[g, at]
            i += 1
        for t in range(size):
            for g in range(groups):
                running[g] += cell[t, g]
                score[t, g] += running[g]
                for h in range(g + 1):
                    outer[t, g, h] += running[g] * running[h]
    for t in range(size):
        for g in range(groups):
            for h in range(g):
                outer[t, h, g] = outer[t, g, h]


@summing
def index_at(
    z: Array,
    box: Array,
    hard: float,
    columns: NDArray[np.int64],
    response: int,
    design: Array,
    theta: Array,
    u: Array,
    y: Array,
) -> None:
    """Write the index at the softly clipped points, and the response if it is a column of the block.

    `hard` is 1 over the length of the soft clip; 0 leaves points where they are. `columns` has for each coefficient its
    column of the block, or -1 - k for column k of the public design.
    """
    slope = np.zeros(z.shape[1])
    public = 0
    for j in range(theta.shape[0]):
        if columns[j] >= 0:
            slope[columns[j]] += theta[j]
        else:
            public += 1
    for i in range(z.shape[0]):
        total = 0.0
        for j in range(z.shape[1]):
            nearest = min(max(z[i, j], box[0, j]), box[1, j])
            e = z[i, j] - nearest
            place = nearest + e / (1.0 + hard * abs(e))
            total += slope[j] * place
            if j == response:
                y[i] = place
        if public:
            for j in range(theta.shape[0]):
                if columns[j] < 0:
                    total += design[i, -1 - columns[j]] * theta[j]
        u[i] = total


@summing
def factor_at(q: float, r: float, kind: int, length: float, rounding: float) -> tuple[float, float, float]:
    """Return the factor of an extension and its first two derivatives in q; `r = sqrt(q + rounding^2)`."""
    if kind == FADE:
        value = math.exp((rounding - r) / length) if q > 0.0 else 1.0
        half = 0.5 / (length * r)
        return value, -value * half, value * half * (half + 0.5 / (r * r))
    if kind == DAMPED:
        w2 = length * length
        left = max(1.0 - q / w2, 0.0)
        return left * left * left, -3.0 / w2 * left * left, 6.0 / (w2 * w2) * left
    return 1.0, 0.0, 0.0


@summing
def add_terms(
    laplacian: bool,
    z: Array,
    box: Array,
    hard: float,
    columns: NDArray[np.int64],
    design: Array,
    alpha: Array,
    s: Array,
    kinds: NDArray[np.int64],
    lengths: Array,
    rounding: float,
    mix: Array,
    scale: Array,
    out: Array,
    hessian: Array,
    bent: bool,
) -> None:
    """Add scale times v (or its Laplacian) to the scores `out` (n, G, p), and its derivative to the Hessian.

    s (4, n) holds the derivatives of the loss in the index at these points. Geometry has no branches, so that it is
    done for several columns at once, and members without weight are left out.
    """
    n, dim = z.shape
    size, groups = columns.shape[0], mix.shape[0]
    p0, p1, p2, e = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    m, b = np.empty(size), np.empty(size)
    a, aq, aqq = np.empty(groups), np.empty(groups), np.empty(groups)
    used = np.zeros(kinds.shape[0])
    for g in range(groups):
        for k in range(kinds.shape[0]):
            used[k] += abs(mix[g, k])
    for i in range(n):
        q, outside, a2, a1, ag = 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(dim):
            nearest = min(max(z[i, j], box[0, j]), box[1, j])
            e[j] = z[i, j] - nearest
            rho = 1.0 / (1.0 + hard * abs(e[j]))
            side = (1.0 if e[j] > 0.0 else 0.0) - (1.0 if e[j] < 0.0 else 0.0)
            p0[j], p1[j], p2[j] = nearest + e[j] * rho, rho * rho, -2.0 * hard * side * rho * rho * rho
            q += e[j] * e[j]
            outside += abs(side)
            a2 += alpha[j] * alpha[j] * p1[j] * p1[j]
            a1 += alpha[j] * p2[j]
            ag += alpha[j] * e[j] * p1[j]
        for g in range(groups):
            a[g] = aq[g] = aqq[g] = 0.0
        r = math.sqrt(q + rounding * rounding)
        for k in range(kinds.shape[0]):
            if used[k] > 0.0:
                v0, v1, v2 = factor_at(q, r, kinds[k], lengths[k], rounding)
                for g in range(groups):
                    w = mix[g, k] * scale[i]
                    a[g] += w * v0
                    aq[g] += w * v1
                    aqq[g] += w * v2
        for j in range(size):
            m[j] = p0[columns[j]] if columns[j] >= 0 else design[i, -1 - columns[j]]
        s0, s1, s2, s3 = s[0, i], s[1, i], s[2, i], s[3, i]
        if not laplacian:
            for g in range(groups):
                for j in range(size):
                    out[i, g, j] += a[g] * s0 * m[j]
            if bent:
                for j in range(size):
                    b[j] = a[0] * s1 * m[j]
                    for h in range(j + 1):
                        hessian[j, h] += b[j] * m[h]
            continue
        for g in range(groups):
            f1 = 2.0 * aq[g]
            lap = 4.0 * aqq[g] * q + f1 * outside
            radial = a[g] * (s2 * a2 + s1 * a1) + 2.0 * s1 * f1 * ag + s0 * lap
            for j in range(size):
                value = m[j] * radial
                c = columns[j]
                if c >= 0:
                    value += 2.0 * (a[g] * s1 * alpha[c] * p1[c] + s0 * f1 * e[c]) * p1[c] + a[g] * s0 * p2[c]
                out[i, g, j] += value
        if bent:
            f1 = 2.0 * aq[0]
            lap = 4.0 * aqq[0] * q + f1 * outside
            radial = a[0] * (s3 * a2 + s2 * a1) + 2.0 * s2 * f1 * ag + s1 * lap
            for j in range(size):
                c = columns[j]
                b[j] = 0.5 * radial * m[j]
                if c >= 0:
                    b[j] += 2.0 * (a[0] * s2 * alpha[c] * p1[c] + s1 * f1 * e[c]) * p1[c] + a[0] * s1 * p2[c]
                    hessian[j, j] += 2.0 * a[0] * s1 * p1[c] * p1[c]
            for j in range(size):
                for h in range(j + 1):
                    hessian[j, h] += b[j] * m[h] + b[h] * m[j]


@summing
def weighted_squares(m: Array, weight: Array) -> Array:
    """Return the sum of `weight m m'` over the rows of m, without an array of weighted rows."""
    size = m.shape[1]
    out = np.zeros((size, size))
    for i in range(m.shape[0]):
        for j in range(size):
            part = weight[i] * m[i, j]
            for h in range(j + 1):
                out[j, h] += part * m[i, h]
    for j in range(size):
        for h in range(j):
            out[h, j] = out[j, h]
    return out
