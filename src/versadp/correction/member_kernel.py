"""Compiled loop of several series at the same frequencies: their scores, one pass over the records for all of them.

A block's factor is `F = gain e^{iτs} + level`, as in `wave_kernel.py`; with `C = Π F / F_b`, `P = C e^{iτs}` of unit
weight and a member's own `v = weight e^{iτ public}`, the score of a noisy column j of block b is

    Re Σ_m v (g_j P + l_j C)  +  e_j Re Σ_m v iτ g P

whose last sum is one of the block. All that has to do with blocks is had once for all members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.correction.wave_kernel import times, turns
from versadp.noise.kernel import summing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LANES = 256  # records that are worked on side by side: a quarter quicker than 64, and not slower than 512


@summing
def add_members(
    e: Array,
    block: NDArray[np.int64],
    places: NDArray[np.int64],
    design: Array,
    public: Array,
    alpha: Array,
    centre: Array,
    base: float,
    weights: Array,
    gain: tuple[Array, Array, Array],
    level: tuple[Array, Array, Array],
    twist: tuple[Array, Array, Array],
    share: Array,
    out: Array,
) -> None:
    """Add the scores of K members to `out` (K, p, n).

    Parameters
    ----------
    public : array (K, n)
        The public part of each member's argument, centres included.
    base : float
        The lowest frequency.
    weights : array (K, M, 2)
        Real and imaginary part of each member's weights.

    Other parameters are those of `wave_kernel.add_waves`; of gain, level and twist second derivatives are not read.
    """
    (g0, g1, _), (l0, l1, _), (i0, i1, _) = gain, level, twist
    dim, blocks, size, members = e.shape[0], g0.shape[1], places.shape[0], public.shape[0]
    rate, wanted, scored = np.array([0.0, base]), np.zeros(dim, np.bool_), np.zeros(blocks, np.bool_)
    for i in range(size):  # a response has no coefficient, and may be all that there is in a block
        if places[i] >= 0:
            wanted[places[i]], scored[block[places[i]]] = True, True
    turn, now = np.empty((2, blocks, LANES)), np.empty((2, blocks, LANES))
    spun, own = np.empty((2, members, LANES)), np.empty((2, members, LANES))  # of the members' public parts
    factor, whole = np.empty((2, blocks, LANES)), np.empty((2, LANES))
    c, p = np.empty((2, blocks, LANES)), np.empty((2, blocks, LANES))
    v, vc, vp = np.empty((2, LANES)), np.empty((2, LANES)), np.empty((2, LANES))
    phase, score = np.empty((blocks, LANES)), np.empty((members, dim, LANES))
    along, straight = np.empty((members, blocks, LANES)), np.empty((members, LANES))
    for first in range(0, e.shape[1], LANES):
        width = min(LANES, e.shape[1] - first)
        phase[:], score[:], along[:], straight[:] = 0.0, 0.0, 0.0, 0.0
        for j in range(dim):
            for k in range(width):
                phase[block[j], k] += alpha[j] * e[j, first + k]
        for b in range(blocks):
            turns(phase[b], rate, turn[0, b], turn[1, b])
        for a in range(members):
            whole[0] = 0.0
            for k in range(width):
                whole[0, k] = public[a, first + k]
            turns(whole[0], rate, spun[0, a], spun[1, a])
        now[0], now[1], own[0], own[1] = 1.0, 0.0, 1.0, 0.0
        for m in range(weights.shape[1]):
            tau = (m + 1) * base
            whole[0], whole[1] = 1.0, 0.0
            for b in range(blocks):
                times(now[0, b], now[1, b], turn[0, b], turn[1, b])
                for k in range(LANES):
                    factor[0, b, k] = g0[m, b] * now[0, b, k] + l0[m, b]
                    factor[1, b, k] = g0[m, b] * now[1, b, k] + i0[m, b]
            for b in range(blocks):  # the factors of the blocks before, then those of the blocks after
                for k in range(LANES):
                    c[0, b, k], c[1, b, k] = whole[0, k], whole[1, k]
                times(whole[0], whole[1], factor[0, b], factor[1, b])
            v[0], v[1] = 1.0, 0.0
            for b in range(blocks - 1, -1, -1):
                if scored[b]:
                    times(c[0, b], c[1, b], v[0], v[1])
                times(v[0], v[1], factor[0, b], factor[1, b])
                for k in range(LANES):
                    p[0, b, k] = c[0, b, k] * now[0, b, k] - c[1, b, k] * now[1, b, k]
                    p[1, b, k] = c[0, b, k] * now[1, b, k] + c[1, b, k] * now[0, b, k]
            for a in range(members):
                times(own[0, a], own[1, a], spun[0, a], spun[1, a])
                wr, wi = weights[a, m, 0], weights[a, m, 1]
                if wr == 0.0 and wi == 0.0:
                    continue
                for k in range(LANES):
                    v[0, k] = wr * own[0, a, k] - wi * own[1, a, k]
                    v[1, k] = wr * own[1, a, k] + wi * own[0, a, k]
                    straight[a, k] -= tau * (v[0, k] * whole[1, k] + v[1, k] * whole[0, k])
                for b in range(blocks):
                    if not scored[b]:
                        continue
                    pull = tau * g0[m, b]
                    for k in range(LANES):
                        vc[0, k] = v[0, k] * c[0, b, k] - v[1, k] * c[1, b, k]
                        vc[1, k] = v[0, k] * c[1, b, k] + v[1, k] * c[0, b, k]
                        vp[0, k] = v[0, k] * p[0, b, k] - v[1, k] * p[1, b, k]
                        along[a, b, k] -= pull * (v[0, k] * p[1, b, k] + v[1, k] * p[0, b, k])
                    for j in range(dim):
                        if wanted[j] and block[j] == b:
                            gj, lj, ij = g1[m, j], l1[m, j], i1[m, j]
                            for k in range(LANES):
                                score[a, j, k] += gj * vp[0, k] + lj * vc[0, k] - ij * vc[1, k]
        for a in range(members):
            for i in range(size):
                j = places[i]
                if j < 0:
                    for k in range(width):
                        out[a, i, first + k] += share[first + k] * straight[a, k] * design[-1 - j, first + k]
                else:
                    for k in range(width):
                        found = score[a, j, k] + e[j, first + k] * along[a, block[j], k] + centre[j] * straight[a, k]
                        out[a, i, first + k] += share[first + k] * found
