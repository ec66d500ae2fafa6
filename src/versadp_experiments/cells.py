"""The cells of the paper's tables: what was drawn, what was estimated, under which noise.

Two readings of every table: `"stated"`, what the paper's text says, and `"found"`, what gives its printed figures
(`docs/measured/findings.md` has the evidence):

| table | stated | found |
|---|---|---|
| 1, second block | lambda 1.4 | lambda 1.2 |
| 2 | covariates in ±1, no box for theta named | covariates in ±0.5, theta in [0, 2] |
| 3 | sigma 1, no box for theta named | sigma 0.8, theta in [0, 2] |
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from versadp.errors import ParameterError

READINGS = ("found", "stated")
TABLES = ("table1", "table2", "table3")
COLUMNS = {
    "table1": ("relu", "indicator", "absolute_sine"),
    "table2": tuple(f"beta_{j}" for j in range(1, 7)),
    "table3": tuple(f"beta_{j}" for j in range(7)),
}
METHODS = {
    "table1": ("Oracle", "Naive", "SL", "sDR", "DR"),
    "table2": ("Oracle", "Naive", "SL", "sDR", "DR"),
    "table3": ("Oracle", "Naive", "sCL", "DR"),
}
OURS = ("analytic", "efficient")
SIZES = {
    "table1": (500, 1000, 2000, 3000, 4000, 5000),
    "table2": (5000, 7500, 10000),
    "table3": (2500, 5000, 7500),
}


@dataclass(frozen=True)
class Cell:
    """One sample size under one noise.

    Attributes
    ----------
    noise, exact_rate : float
        The paper's lambda, in the columns' own units, and its delta.
    bound : float
        Covariates are normal, truncated to [-bound, bound] (tables 2 and 3).
    sigma : float
        Standard deviation of the error (table 3).
    box : tuple of float or None
        Where the paper's methods look for theta.
    """

    table: str
    n: int
    block: int
    noise: float
    exact_rate: float
    bound: float = 1.0
    sigma: float = 1.0
    box: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """A short name."""
        return f"n={self.n} lambda={self.noise:g} delta={self.exact_rate:g}"


_FOUND = {
    "table1": (Cell("table1", 0, 0, 0.94, 0.1), Cell("table1", 0, 1, 1.2, 0.05)),
    "table2": tuple(Cell("table2", 0, k, lam, 0.2, bound=0.5, box=(0.0, 2.0)) for k, lam in enumerate((0.5, 1.0))),
    "table3": tuple(Cell("table3", 0, k, lam, 0.2, sigma=0.8, box=(0.0, 2.0)) for k, lam in enumerate((2.0, 2.5))),
}
_STATED = {
    "table1": (_FOUND["table1"][0], replace(_FOUND["table1"][1], noise=1.4)),
    "table2": tuple(replace(cell, bound=1.0, box=None) for cell in _FOUND["table2"]),
    "table3": tuple(replace(cell, sigma=1.0, box=None) for cell in _FOUND["table3"]),
}


def cells(table: str, sizes: tuple[int, ...] = (), reading: str = "found") -> list[Cell]:
    """Return the cells of a table, by sample size and block.

    Examples
    --------
    >>> [cell.name for cell in cells("table1", (500,))]
    ['n=500 lambda=0.94 delta=0.1', 'n=500 lambda=1.2 delta=0.05']
    """
    if reading not in READINGS:
        raise ParameterError(f"there is no reading {reading!r}", hint=f"choose from {', '.join(READINGS)}")
    if any(n < 50 for n in sizes):
        raise ParameterError("a sample has 50 records or more")
    blocks = (_FOUND if reading == "found" else _STATED)[table]
    return [replace(block, n=n) for n in sizes or SIZES[table] for block in blocks]
