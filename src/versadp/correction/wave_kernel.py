"""Compiled loops of waves: scores and Hessian of `Re Σ_m weight_m e^{i m base u}`, corrected block by block.

A block's factor is `F = gain e^{iτs} + level`, τ = m base, s = alpha_B'e_B; a wave `W = weight e^{iτ public} Π F`.
With `C = W/F`, `P = C e^{iτs}` and a real gain g and a level l, whose derivatives in alpha_j are g_j and l_j,

    dW/d alpha_j            = g_j P + iτ e_j g P + l_j C                               score of a noisy column
    d²W/d alpha_j d alpha_h = g_jh P + iτ (e_j g_h + e_h g_j) P - τ² e_j e_h g P + l_jh C     of two in one block
                            = (dW/d alpha_j)(dW/d alpha_h)/W                             of two in different blocks

and a public column p has the derivative iτ p. The centre of a column is public too: with centres c, W has a factor
`e^{iτ alpha'c}` more, dW/d alpha_j a term iτ c_j W, and of two in one block `iτ (c_j W_h + c_h W_j) + τ² c_j c_h W`.
Sums over m are taken record by record first, so that products of columns are real and taken once. Several records are
worked on side by side, for the sake of the processor.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.kernel import summing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LANES = 64  # records that are worked on side by side, as many as stay in the first-level cache


@summing
def turns(phase: Array, rate: Array, real: Array, imaginary: Array) -> None:
    """Write `e^{i base phase}`, where `rate` is the real and imaginary part of `i base`: one of them is 0."""
    for k in range(phase.shape[0]):
        size = math.exp(rate[0] * phase[k])
        real[k] = size * math.cos(rate[1] * phase[k])
        imaginary[k] = size * math.sin(rate[1] * phase[k])


@summing
def times(real: Array, imaginary: Array, by_real: Array, by_imaginary: Array) -> None:
    """Multiply complex numbers in place."""
    for k in range(real.shape[0]):
        kept = real[k]
        real[k] = kept * by_real[k] - imaginary[k] * by_imaginary[k]
        imaginary[k] = kept * by_imaginary[k] + imaginary[k] * by_real[k]


@summing
def add_waves(
    e: Array,
    block: NDArray[np.int64],
    places: NDArray[np.int64],
    design: Array,
    public: Array,
    alpha: Array,
    centre: Array,
    rate: Array,
    ahead: Array,
    weights: Array,
    gain: tuple[Array, Array, Array],
    level: tuple[Array, Array, Array],
    twist: tuple[Array, Array, Array],
    share: Array,
    out: Array,
    hessian: Array,
    bent: bool,
) -> None:
    """Add scores to `out` (n, p), and the Hessian's lower half.

    Parameters
    ----------
    e : array (columns, n)
        Released columns around the centres of their blocks.
    block : array (columns,)
        The block of each column.
    places : array (p,)
        For each coefficient its noisy column, or -1 - k for column k of `design` (public columns, n).
    public : array (n,)
        The public part of the index, centres included.
    alpha, centre : array (columns,)
        The slope of the index, and where columns have their e = 0.
    rate : array (2,)
        Real and imaginary part of `i base`, one of which is 0.
    ahead : array (blocks + 1, n) or (blocks + 1, 0)
        A phase that all waves have of each block, and of what is public; none if it is empty.
    weights : array (M, 2)
        Real and imaginary part of each wave's weight.
    gain, level, twist : tuples of arrays (M, blocks), (M, columns), (M, columns, columns)
        Values, and derivatives in alpha; `level + i twist` is the level.
    share : array (n,)
        The records' weights.
    """
    (g0, g1, g2), (l0, l1, l2), (i0, i1, i2) = gain, level, twist
    dim, blocks, size = e.shape[0], g0.shape[1], places.shape[0]
    turn, now = np.empty((2, blocks + 1, LANES)), np.empty((2, blocks + 1, LANES))  # the last is the public part's
    over, wave = np.empty((2, blocks, LANES)), np.empty((2, LANES))
    c, p, ip = np.empty((2, LANES)), np.empty((2, LANES)), np.empty((2, LANES))
    moved, other = np.zeros((2, dim, LANES)), np.zeros((2, dim, LANES))  # dW/d alpha, and the same over W
    score, pulled = np.empty((dim, LANES)), np.empty((dim, LANES))
    crossed, curved = np.empty((dim, LANES)), np.empty((blocks, LANES))
    straight, bowed = np.empty(LANES), np.empty(LANES)
    between, inside = np.zeros((dim, dim)), np.zeros((dim, dim))
    for first in range(0, e.shape[1], LANES):
        width = min(LANES, e.shape[1] - first)
        phase = np.zeros((blocks + 1, LANES))
        for j in range(dim):
            for k in range(width):
                phase[block[j], k] += alpha[j] * e[j, first + k]
        for k in range(width):
            phase[blocks, k] = public[first + k]
        for b in range(blocks + 1):
            turns(phase[b], rate, turn[0, b], turn[1, b])
        now[0], now[1] = 1.0, 0.0
        if ahead.shape[1]:
            for b in range(blocks + 1):
                for k in range(width):
                    now[0, b, k], now[1, b, k] = math.cos(ahead[b, first + k]), math.sin(ahead[b, first + k])
        score[:], pulled[:], crossed[:], curved[:], straight[:], bowed[:] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for m in range(weights.shape[0]):
            ir, ii = (m + 1) * rate[0], (m + 1) * rate[1]  # iτ
            square = ir * ir - ii * ii
            for b in range(blocks + 1):
                times(now[0, b], now[1, b], turn[0, b], turn[1, b])
            for k in range(LANES):
                wave[0, k] = weights[m, 0] * now[0, blocks, k] - weights[m, 1] * now[1, blocks, k]
                wave[1, k] = weights[m, 0] * now[1, blocks, k] + weights[m, 1] * now[0, blocks, k]
            for k in range(width):
                wave[0, k] *= share[first + k]
                wave[1, k] *= share[first + k]
            for k in range(width, LANES):
                wave[0, k] = wave[1, k] = 0.0
            for b in range(blocks):
                for k in range(LANES):
                    fr, fi = g0[m, b] * now[0, b, k] + l0[m, b], g0[m, b] * now[1, b, k] + i0[m, b]
                    scale = 1.0 / (fr * fr + fi * fi)
                    over[0, b, k], over[1, b, k] = fr * scale, -fi * scale
                    kept = wave[0, k]
                    wave[0, k] = kept * fr - wave[1, k] * fi
                    wave[1, k] = kept * fi + wave[1, k] * fr
            for k in range(LANES):
                straight[k] += ir * wave[0, k] - ii * wave[1, k]
                bowed[k] += square * wave[0, k]
            for b in range(blocks):
                whole, part, aside = 0.0, 0.0, 0.0
                for k in range(LANES):
                    c[0, k] = wave[0, k] * over[0, b, k] - wave[1, k] * over[1, b, k]
                    c[1, k] = wave[0, k] * over[1, b, k] + wave[1, k] * over[0, b, k]
                    p[0, k] = c[0, k] * now[0, b, k] - c[1, k] * now[1, b, k]
                    p[1, k] = c[0, k] * now[1, b, k] + c[1, k] * now[0, b, k]
                    ip[0, k] = ir * p[0, k] - ii * p[1, k]
                    ip[1, k] = ir * p[1, k] + ii * p[0, k]
                    curved[b, k] += square * g0[m, b] * p[0, k]
                    whole += p[0, k]
                    part += c[0, k]
                    aside += c[1, k]
                for j in range(dim):
                    if block[j] != b:
                        continue
                    slope, shift, turned, own = g1[m, j], l1[m, j], i1[m, j], g0[m, b]
                    cr, ci = centre[j] * ir, centre[j] * ii
                    for k in range(width):
                        pull = e[j, first + k] * own
                        moved[0, j, k] = slope * p[0, k] + pull * ip[0, k] + shift * c[0, k] - turned * c[1, k]
                        moved[1, j, k] = slope * p[1, k] + pull * ip[1, k] + shift * c[1, k] + turned * c[0, k]
                        moved[0, j, k] += cr * wave[0, k] - ci * wave[1, k]
                        moved[1, j, k] += cr * wave[1, k] + ci * wave[0, k]
                    for k in range(LANES):
                        score[j, k] += moved[0, j, k]
                        pulled[j, k] += slope * ip[0, k]
                        crossed[j, k] += ir * moved[0, j, k] - ii * moved[1, j, k]
                    if bent:
                        for h in range(dim):
                            if block[h] == b:
                                inside[j, h] += g2[m, j, h] * whole + l2[m, j, h] * part - i2[m, j, h] * aside
            if bent and blocks > 1:
                for k in range(LANES):  # 1/W, to divide by
                    scale = wave[0, k] * wave[0, k] + wave[1, k] * wave[1, k]
                    scale = 1.0 / scale if scale > 0.0 else 0.0
                    c[0, k], c[1, k] = wave[0, k] * scale, -wave[1, k] * scale
                for j in range(dim):
                    for k in range(LANES):
                        other[0, j, k] = moved[0, j, k] * c[0, k] - moved[1, j, k] * c[1, k]
                        other[1, j, k] = moved[0, j, k] * c[1, k] + moved[1, j, k] * c[0, k]
                    for h in range(j):
                        if block[h] != block[j]:
                            total = 0.0
                            for k in range(LANES):
                                total += other[0, j, k] * moved[0, h, k] - other[1, j, k] * moved[1, h, k]
                            between[j, h] += total
                            between[h, j] += total
        for i in range(size):
            j = places[i]
            for k in range(width):
                out[first + k, i] += score[j, k] if j >= 0 else straight[k] * design[-1 - j, first + k]
        if not bent:
            continue
        for i in range(size):
            j = places[i]
            for q in range(i + 1):
                h = places[q]
                total = 0.0
                if j >= 0 and h >= 0:
                    if block[j] == block[h]:
                        for k in range(width):
                            ej, eh = e[j, first + k], e[h, first + k]
                            total += ej * eh * curved[block[j], k] + ej * pulled[h, k] + eh * pulled[j, k]
                            total += centre[h] * crossed[j, k] + centre[j] * crossed[h, k]
                            total -= centre[j] * centre[h] * bowed[k]
                elif j < 0 and h < 0:
                    for k in range(width):
                        total += design[-1 - j, first + k] * design[-1 - h, first + k] * bowed[k]
                else:
                    noisy, open_ = max(j, h), -1 - min(j, h)
                    for k in range(width):
                        total += design[open_, first + k] * crossed[noisy, k]
                hessian[i, q] += total
    for i in range(size):
        for q in range(i + 1):
            if places[i] >= 0 and places[q] >= 0:
                hessian[i, q] += between[places[i], places[q]] + inside[places[i], places[q]]


@summing
def wave_values(
    e: Array,
    block: NDArray[np.int64],
    public: Array,
    alpha: Array,
    rate: Array,
    weights: Array,
    gain: Array,
    level: Array,
    twist: Array,
    out: Array,
) -> None:
    """Add the waves themselves, corrected, to `out` (n,); arguments are those of `add_waves`."""
    dim, blocks = e.shape[0], gain.shape[1]
    turn, now, wave = np.empty((2, blocks + 1, LANES)), np.empty((2, blocks + 1, LANES)), np.empty((2, LANES))
    for first in range(0, e.shape[1], LANES):
        width = min(LANES, e.shape[1] - first)
        phase = np.zeros((blocks + 1, LANES))
        for j in range(dim):
            for k in range(width):
                phase[block[j], k] += alpha[j] * e[j, first + k]
        for k in range(width):
            phase[blocks, k] = public[first + k]
        for b in range(blocks + 1):
            turns(phase[b], rate, turn[0, b], turn[1, b])
        now[0], now[1] = 1.0, 0.0
        for m in range(weights.shape[0]):
            for b in range(blocks + 1):
                times(now[0, b], now[1, b], turn[0, b], turn[1, b])
            for k in range(LANES):
                wave[0, k] = weights[m, 0] * now[0, blocks, k] - weights[m, 1] * now[1, blocks, k]
                wave[1, k] = weights[m, 0] * now[1, blocks, k] + weights[m, 1] * now[0, blocks, k]
            for b in range(blocks):
                for k in range(LANES):
                    fr = gain[m, b] * now[0, b, k] + level[m, b]
                    fi = gain[m, b] * now[1, b, k] + twist[m, b]
                    kept = wave[0, k]
                    wave[0, k] = kept * fr - wave[1, k] * fi
                    wave[1, k] = kept * fi + wave[1, k] * fr
            for k in range(width):
                out[first + k] += wave[0, k]
