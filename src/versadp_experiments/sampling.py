"""What the simulations draw: raw records, X1 = X + ZIL(delta, lambda²), X2 = X1 + SL(delta lambda²)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, ndtr, ndtri

from versadp.noise import SymmetricLaplace, ZeroInflatedSymmetricLaplace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp_experiments.cells import Cell

    Array = NDArray[np.float64]

SLOPE = 1.0


class Sample(NamedTuple):
    """Raw records, the released ones, their second randomisation, and a public response (empty in table 1)."""

    x: Array
    x1: Array
    x2: Array
    y: Array


def draw(cell: Cell, rng: np.random.Generator) -> Sample:
    """Draw one data set of a cell."""
    x, y = _uniform(cell, rng) if cell.table == "table1" else _regression(cell, rng)
    x1, x2 = noised(x, cell, rng)
    return Sample(x, x1, x2, y)


def noised(x: Array, cell: Cell, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return X1 and X2 of raw records under a cell's noise."""
    unit = np.eye(x.shape[1]) * cell.noise**2
    x1 = x + ZeroInflatedSymmetricLaplace(cell.exact_rate, unit).rvs(len(x), rng)
    return x1, x1 + SymmetricLaplace(unit * cell.exact_rate).rvs(len(x), rng)


def truncated_normal(rng: np.random.Generator, size: tuple[int, int], bound: float) -> Array:
    """Draw normal numbers that lie in [-bound, bound]."""
    low = ndtr(-bound)
    return np.asarray(ndtri(low + (1 - 2 * low) * rng.random(size)))


def _uniform(cell: Cell, rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.random((cell.n, 1)), np.empty(0)


def _regression(cell: Cell, rng: np.random.Generator) -> tuple[Array, Array]:
    x = truncated_normal(rng, (cell.n, 6), cell.bound)
    u = SLOPE * x.sum(axis=1)
    if cell.table == "table2":
        return x, (rng.random(cell.n) < expit(u)).astype(float)
    return x, 1.0 + u + cell.sigma * rng.standard_normal(cell.n)
