"""How good can Table 1 get? The least asymptotic variance of any regular estimator of E f(X) from X1.

On a grid of m cells of (0, 1), A = delta I + (1 - delta) K holds the probabilities of output cells given input cells, p
is the uniform law and M = diag(p'A). A change h of p has the score (h'A)/(p'A), so the bound is

    sup_h (f'h)² / (h' A M⁻¹ A' h) = f_c' (A M⁻¹ A')⁻¹ f_c,   f_c = f - p'f,

divided by n. It converges as the grid gets finer; outputs beyond eight noise scales are left out.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp_experiments.cells import cells
from versadp_experiments.means import FUNCTIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

GRID = 240


@lru_cache(maxsize=8)
def _information(noise: float, rate: float, m: int) -> Array:
    """Return A M⁻¹ A' on the grid."""
    b, side = noise / 2**0.5, int(8 * noise * m)
    x = (np.arange(m) + 0.5) / m
    edges = np.arange(-side, m + side + 1) / m
    t = (edges[None, :] - x[:, None]) / b
    tail = 0.5 * np.exp(-np.abs(t))
    kernel = (1 - rate) * np.diff(np.where(t < 0, tail, 1 - tail), axis=1)
    kernel[np.arange(m), side + np.arange(m)] += rate
    return np.asarray((kernel / kernel.mean(axis=0)) @ kernel.T)


def least_rmse(column: str, noise: float, rate: float, n: int, m: int = GRID) -> float:
    """Return the bound on the RMSE of a column of Table 1.

    Examples
    --------
    >>> round(least_rmse("relu", 0.94, 0.1, 500), 3)
    0.031
    """
    values = FUNCTIONS[column].value((np.arange(m) + 0.5) / m)
    centred = values - values.mean()
    return float((centred @ np.linalg.solve(_information(noise, rate, m), centred) / n) ** 0.5)


def rows(n: int = 500) -> list[dict[str, Any]]:
    """Return the bound for each column and block of Table 1."""
    out = []
    for cell in cells("table1", (n,)):
        for column in FUNCTIONS:
            least = least_rmse(column, cell.noise, cell.exact_rate, n)
            claim = f"least RMSE that any method can have, {column}, {cell.name}"
            out.append({"claim": claim, "expected": None, "ours": least, "+-": None, "agrees": None})
    return out
