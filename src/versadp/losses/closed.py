"""Corrected losses in closed form: functions of one variable, kept as tables.

With phi the loss as a function of one variable v (u - y for losses of the residual, 1 - y u for hinge),

    G(v, t) = phi(v) - ((1 - r)/2) t E phi''(v + L),      L Laplace with variance r t, b = sqrt(r t / 2)

A closed form gives the slopes of G on a grid, and cubic interpolation does the rest: the work is linear in the records,
and batches of similar reach share their tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from versadp.inputs import Array

GRID, SMALL = 1024, 1e-4
FAR = 26.0  # e^-26 is 5e-12


@dataclass(frozen=True)
class Closed(ABC):
    """A corrected loss of one variable whose slope is a constant far out on each side.

    Attributes
    ----------
    rate : float
        The probability that there is no noise.
    """

    rate: float

    @property
    @abstractmethod
    def core(self) -> float:
        """From where on the loss itself is straight, up to 1e-11."""

    @abstractmethod
    def slopes(self, v: Array, t: float) -> tuple[Array, Array, Array]:
        """Return `G_v, G_t, G_vv`."""

    def points(self, reach: float) -> int:
        """Return the number of points of a table from -reach to reach; a form that is smooth may need fewer."""
        return GRID

    def at(self, v: Array, t: float, *, bent: bool) -> tuple[Array, ...]:
        """Return `G_v, G_t` at each v, and `G_vv, G_vt, G_tt` too if `bent`."""
        from versadp.losses.interpolation import cubic

        flat = float(self.core + FAR * np.sqrt(self.rate * t / 2) + 1e-2)  # an outlier must not stretch the grid
        reach = min(2.0 ** np.ceil(np.log2(np.abs(v).max(initial=0.0) + 1e-2)), flat)
        grid, table = _tables(self, float(reach), t, bent=bent)
        out = np.empty((table.shape[1], v.size))
        cubic(float(grid[0]), float(grid[1] - grid[0]), table, np.clip(v, -reach, reach), out)
        return tuple(out)


@lru_cache(maxsize=8)
def _tables(form: Closed, reach: float, t: float, *, bent: bool) -> tuple[Array, Array]:
    """Return a grid and, in columns, G_v, G_t, and G_vv, G_vt, G_tt too if `bent`: the last two by differences in t."""
    grid = np.linspace(-1.01 * reach, 1.01 * reach, form.points(reach))
    here = form.slopes(grid, t)
    if not bent:
        return grid, np.stack(here[:2], axis=1)
    ends = (t * (1 - SMALL), t * (1 + SMALL) + 1e-12)
    down, up = (form.slopes(grid, end) for end in ends)
    width = ends[1] - ends[0]
    return grid, np.stack([*here, (up[0] - down[0]) / width, (up[1] - down[1]) / width], axis=1)


def need_exact_rate(loss: str, rate: float) -> None:
    """Refuse a mechanism without exact records for a loss that cannot do without.

    Examples
    --------
    >>> need_exact_rate("check", 0.1)
    """
    if rate == 0:
        raise ParameterError(
            f"{loss} loss needs an exact_rate above 0, and this mechanism has 0",
            hint="use a smooth loss (squared, logistic, poisson), or release with an exact_rate",
        )
