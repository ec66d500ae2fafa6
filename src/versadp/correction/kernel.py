"""Compiled loops of the Laplacian form: one pass over the records, no array of intermediate geometry.

The formulas stand in `laplacian.py`; losses are evaluated outside, by their own numpy code, between the two loops.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.kernel import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ONE, FADE, DAMPED = 0, 1, 2


@compiled
def distance2(z: Array, lower: Array, upper: Array, out: Array) -> None:
    """Write squared distances to the box."""
    for i in range(z.shape[0]):
        q = 0.0
        for j in range(z.shape[1]):
            e = max(lower[j] - z[i, j], z[i, j] - upper[j], 0.0)
            q += e * e
        out[i] = q


@compiled
def soft_clip(x: float, lower: float, upper: float, soft: float) -> tuple[float, float, float, float]:
    """Return P, P', P'' and the excess of one coordinate; soft = 0 leaves it where it is."""
    if x > upper:
        e = x - upper
    elif x < lower:
        e = x - lower
    else:
        return x, 1.0, 0.0, 0.0
    if soft == 0.0:
        return x, 1.0, 0.0, e
    rho = soft / (soft + abs(e))
    bend = -2.0 * rho * rho * rho / soft
    return x - e + e * rho, rho * rho, bend if e > 0.0 else -bend, e


@compiled
def index_at(
    z: Array,
    box: Array,
    soft: float,
    columns: NDArray[np.int64],
    response: int,
    design: Array,
    theta: Array,
    u: Array,
    y: Array,
) -> None:
    """Write the index at the softly clipped points, and the response if it is a column of the block."""
    for i in range(z.shape[0]):
        total = 0.0
        for j in range(theta.shape[0]):
            c = columns[j]
            m = soft_clip(z[i, c], box[0, c], box[1, c], soft)[0] if c >= 0 else design[i, j]
            total += m * theta[j]
        u[i] = total
        if response >= 0:
            y[i] = soft_clip(z[i, response], box[0, response], box[1, response], soft)[0]


@compiled
def profile_at(q: float, kind: int, length: float, rounding: float) -> tuple[float, float, float]:
    """Return a profile and its first two derivatives in q."""
    if kind == FADE:
        r = math.sqrt(q + rounding * rounding)
        value = math.exp(-(r - rounding) / length) if q > 0.0 else 1.0
        k = 2.0 * length * r
        return value, -value / k, value * (1.0 / (k * k) + 1.0 / (2.0 * k * r * r))
    if kind == DAMPED:
        w2 = length * length
        left = max(1.0 - q / w2, 0.0)
        return left * left * left, -3.0 / w2 * left * left, 6.0 / (w2 * w2) * left
    return 1.0, 0.0, 0.0


@compiled
def add_terms(
    laplacian: bool,
    z: Array,
    box: Array,
    soft: float,
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

    s (4, n) holds the derivatives of the loss in the index at these points.
    """
    n, dim = z.shape
    size, groups = columns.shape[0], mix.shape[0]
    p0, p1, p2, e = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    m, b = np.empty(size), np.empty(size)
    a, aq, aqq = np.empty(groups), np.empty(groups), np.empty(groups)
    for i in range(n):
        q, outside = 0.0, 0.0
        for j in range(dim):
            p0[j], p1[j], p2[j], e[j] = soft_clip(z[i, j], box[0, j], box[1, j], soft)
            q += e[j] * e[j]
            outside += e[j] != 0.0
        for g in range(groups):
            a[g] = aq[g] = aqq[g] = 0.0
        for k in range(kinds.shape[0]):
            v0, v1, v2 = profile_at(q, kinds[k], lengths[k], rounding)
            for g in range(groups):
                w = mix[g, k] * scale[i]
                a[g] += w * v0
                aq[g] += w * v1
                aqq[g] += w * v2
        for j in range(size):
            m[j] = p0[columns[j]] if columns[j] >= 0 else design[i, j]
        s0, s1, s2, s3 = s[0, i], s[1, i], s[2, i], s[3, i]
        if not laplacian:
            for g in range(groups):
                for j in range(size):
                    out[i, g, j] += a[g] * s0 * m[j]
            if bent:
                for j in range(size):
                    for h in range(j + 1):
                        hessian[j, h] += a[0] * s1 * m[j] * m[h]
            continue
        a2, a1, ag = 0.0, 0.0, 0.0
        for j in range(dim):
            a2 += alpha[j] * alpha[j] * p1[j] * p1[j]
            a1 += alpha[j] * p2[j]
            ag += alpha[j] * e[j] * p1[j]
        for g in range(groups):
            f1 = 2.0 * aq[g]
            lap = 4.0 * aqq[g] * q + f1 * outside
            radial = a[g] * (s2 * a2 + s1 * a1) + 2.0 * s1 * f1 * ag + s0 * lap
            for j in range(size):
                value = m[j] * radial
                c = columns[j]
                if c >= 0:
                    value += 2.0 * a[g] * s1 * alpha[c] * p1[c] * p1[c] + a[g] * s0 * p2[c]
                    value += 2.0 * s0 * f1 * e[c] * p1[c]
                out[i, g, j] += value
        if bent:
            f1 = 2.0 * aq[0]
            lap = 4.0 * aqq[0] * q + f1 * outside
            radial = a[0] * (s3 * a2 + s2 * a1) + 2.0 * s2 * f1 * ag + s1 * lap
            for j in range(size):
                c = columns[j]
                b[j] = 0.0
                if c >= 0:
                    b[j] = 2.0 * a[0] * s2 * alpha[c] * p1[c] * p1[c] + a[0] * s1 * p2[c] + 2.0 * s1 * f1 * e[c] * p1[c]
                    hessian[j, j] += 2.0 * a[0] * s1 * p1[c] * p1[c]
            for j in range(size):
                for h in range(j + 1):
                    hessian[j, h] += radial * m[j] * m[h] + b[j] * m[h] + b[h] * m[j]


@compiled
def cubic(start: float, width: float, table: Array, v: Array, out: Array) -> None:
    """Write each column of a table on a uniform grid at v, by cubic interpolation through four neighbours."""
    last = table.shape[0] - 3
    for i in range(v.shape[0]):
        at = min(max(int((v[i] - start) / width), 1), last)
        x = (v[i] - start) / width - at
        w0, w1 = -x * (x - 1.0) * (x - 2.0) / 6.0, (x + 1.0) * (x - 1.0) * (x - 2.0) / 2.0
        w2, w3 = -(x + 1.0) * x * (x - 2.0) / 2.0, (x + 1.0) * x * (x - 1.0) / 6.0
        for k in range(table.shape[1]):
            out[k, i] = w0 * table[at - 1, k] + w1 * table[at, k] + w2 * table[at + 1, k] + w3 * table[at + 2, k]
