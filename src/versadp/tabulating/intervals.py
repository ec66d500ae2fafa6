"""Intervals of shares and of means of cells, from means over records and their covariance.

A share R = p_k/p_m of the cells m (all of them, a row, a column) has the interval

    {R : n (p_k - R p_m)² <= z² V(R)},    V(R) = E (psi_k - R psi_m)² at p_k = R p_m.

Of the second moments, E psi_k² = e + δ p_k and E psi_k psi_m = f + d p_k move with p_k; δ and d are the products of 1/κ
of the blocks that both look at. Without noise e = f = 0 and δ = d = 1, and this is Wilson's interval. A negative p_k
counts as 0 here, which is nearer to the truth whatever that is. There is no end where p_m is not told apart from 0.
Means are ratios of a cell's sum and count, by Fieller's set

    {M : (S - M N)² <= z² Var(S - M N)}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from versadp.inputs import Array


def share_intervals(
    means: tuple[Array, Array], second: tuple[Array, Array, Array], slopes: tuple[Array, Array], rows: int, z: float
) -> Array:
    """Return the ends of the intervals of shares, (cells, 2), which may lie beyond 0 and 1.

    Parameters
    ----------
    means : pair of arrays (cells,)
        p_k and p_m.
    second : three arrays (cells,)
        Means of psi_k², psi_k psi_m and psi_m².
    slopes : pair of arrays
        δ and d.
    rows : int
    z : float
        Half the width of a normal interval in standard errors.

    Examples
    --------
    >>> p, one = np.array([0.0]), np.array([1.0])
    >>> share_intervals((p, one), (p, p, one), (one, one), 100, 1.96).round(3) + 0.0  # Wilson's, of 0 in 100
    array([[0.   , 0.037]])
    """
    (pk, pm), (ekk, ekm, emm), (own, both) = means, second, slopes
    if not rows:
        return np.tile([-np.inf, np.inf], (pk.size, 1))
    rest, mixed = np.maximum(ekk - own * pk, 0.0), ekm - both * pk
    square = rows * pm**2 - z**2 * (emm - 2 * both * pm)
    near = np.clip(pk, 0.0, np.maximum(pm, 0.0))
    half = rows * near * pm + z**2 * (own * pm / 2 - mixed)
    free = rows * near**2 - z**2 * rest
    root = half**2 - square * free
    told = (square > 0) & (pm > 0) & (root >= 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = (half[:, None] + np.sqrt(np.maximum(root, 0.0))[:, None] * [-1, 1]) / square[:, None]
    return np.where(told[:, None], ends, [-np.inf, np.inf])


def ratio_intervals(top: Array, bottom: Array, cov: tuple[Array, Array, Array], z: float) -> Array:
    """Return Fieller's intervals of ratios, (ratios, 2); infinite where the denominator is not significant.

    Parameters
    ----------
    top, bottom : arrays (ratios,)
    cov : three arrays (ratios,)
        Variance of the numerator, covariance, and variance of the denominator.
    z : float

    Examples
    --------
    >>> top, bottom, none = np.array([2.0]), np.array([4.0]), np.zeros(1)
    >>> ratio_intervals(top, bottom, (np.array([0.04]), none, none), 2.0)
    array([[0.4, 0.6]])
    """
    tt, tb, bb = cov
    square = bottom**2 - z**2 * bb
    half = top * bottom - z**2 * tb
    free = top**2 - z**2 * tt
    root = np.sqrt(np.maximum(half**2 - square * free, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = (half[:, None] + root[:, None] * [-1, 1]) / square[:, None]
    return np.where((square > 0)[:, None], ends, [-np.inf, np.inf])
