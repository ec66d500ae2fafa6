"""The exact curve at very many epsilons, from few evaluations of it.

A composition wants half a million values of a curve of which one costs 0.1 ms. The logarithms of delta and of the
false alarms are smooth in ε, so they are interpolated on panels that are split until Chebyshev interpolation agrees
with the curve at points in between. What it still differed by there, fourfold, is added to the result, as is the error
bound of the curve itself.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from versadp.privacy.curves.exact import curve

Array = NDArray[np.float64]

_NODES = 16
_CHECKS = np.array([-0.97, -0.6, -0.2, 0.3, 0.7, 0.98])
_GOOD = 1e-11  # agreement relative to delta at which a panel is not split further
_SMALL = 1e-22  # below this delta relative accuracy is given up
_TINY = 1e-14
_LEVELS = 12


class CurveTable:
    """delta and false alarms of ``SL_dim`` under a shift, tabulated; make it with `curve_table`, which caches.

    Parameters
    ----------
    dim : int
        Dimension, at least 2.
    shift : float
        Distance of the two centres.

    Examples
    --------
    >>> table = curve_table(6, 0.5)
    >>> delta, alarms = table(np.array([0.8]))
    >>> print(f"{delta[0]:.10f}")
    0.0960839562
    """

    def __init__(self, dim: int, shift: float) -> None:
        self._of = (dim, shift)
        tries = np.asarray(2.0 ** np.arange(-2, 13), dtype=np.float64)
        tiny = np.flatnonzero(curve(dim, shift, tries)[0] < _SMALL)
        self._ends_tiny = tiny.size > 0
        self.top = float(tries[tiny[0]] if self._ends_tiny else tries[-1])
        edge = np.sqrt(2) * shift  # beyond it A is bounded: the curve is smooth there, but not analytic
        edges = np.unique(np.concatenate([[0.0, min(edge, self.top)], self.top * np.logspace(-4, 0, 13)]))
        nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
        fit = 2 / _NODES * chebyshev.chebvander(nodes, _NODES - 1).T
        fit[0] /= 2
        lows, highs, kept = edges[:-1], edges[1:], []
        for level in range(_LEVELS):
            half = (highs - lows) / 2
            points = lows[:, None] + half[:, None] * (np.concatenate([nodes, _CHECKS]) + 1)
            delta, error, alarms = (v.reshape(points.shape) for v in curve(dim, shift, points.ravel()))
            logs = np.log(np.maximum(np.stack([delta, alarms]), 1e-290))
            tables = np.einsum("kn,fpn->fkp", fit, logs[:, :, :_NODES])
            off = np.abs(np.expm1(chebyshev.chebval(_CHECKS, tables[0]) - logs[0][:, _NODES:])).max(axis=1)
            done = (off < _GOOD) | (delta.max(axis=1) < _SMALL) | (level == _LEVELS - 1)
            # the error of the curve is relative as long as delta is not tiny, and delta may fall far in a panel
            relative = np.where(delta > _TINY, error / np.maximum(delta, _TINY), 0.0).max(axis=1)
            absolute = np.where(delta > _TINY, 0.0, error).max(axis=1)
            kept += [
                (lows[i], highs[i], off[i], relative[i], absolute[i], tables[:, :, i]) for i in np.flatnonzero(done)
            ]
            lows, half, highs = lows[~done], half[~done], highs[~done]
            lows, highs = np.concatenate([lows, lows + half]), np.concatenate([lows + half, highs])
            if not lows.size:
                break
        kept.sort(key=lambda panel: panel[0])
        self._lows = np.array([p[0] for p in kept])
        self._highs = np.array([p[1] for p in kept])
        # one factor for all panels: a jump from one to the next would break the convexity that composition needs
        self._factor = 1 + max(p[3] + 4 * p[2] for p in kept if p[2] < _GOOD)
        self._error = _SMALL + max(p[4] for p in kept)
        self._tables = np.ascontiguousarray(np.stack([p[5] for p in kept], axis=-1))

    def __call__(self, epsilon: Array) -> tuple[Array, Array]:
        """Return an upper bound on delta, and the false alarms; beyond the table the curve itself is asked."""
        panel = np.clip(np.searchsorted(self._lows, epsilon, side="right") - 1, 0, len(self._lows) - 1)
        low, high = self._lows.take(panel), self._highs.take(panel)
        twice = 2 * np.clip((2 * epsilon - low - high) / (high - low), -1, 1)
        found = []
        for table in self._tables:
            older, old = np.zeros_like(epsilon), np.zeros_like(epsilon)
            for row in table[:0:-1]:  # Clenshaw
                older, old = old, row.take(panel) + twice * old - older
            found.append(np.exp(table[0].take(panel) + 0.5 * twice * old - older))
        delta = found[0] * self._factor + self._error
        beyond = epsilon > self.top
        if self._ends_tiny:  # delta at the end of the table, below 1e-22, bounds what follows
            found[1][beyond] = 0.0
        elif beyond.any():
            value, error, alarms = curve(*self._of, epsilon[beyond])
            delta[beyond], found[1][beyond] = value + error, alarms
        return delta, found[1]


@lru_cache(maxsize=64)
def curve_table(dim: int, shift: float) -> CurveTable:
    """Return the cached `CurveTable` of a dimension and a shift.

    Parameters
    ----------
    dim : int
        Dimension, at least 2.
    shift : float
        Distance of the two centres.

    Returns
    -------
    CurveTable

    Examples
    --------
    >>> curve_table(2, 0.5) is curve_table(2, 0.5)
    True
    """
    return CurveTable(dim, shift)
