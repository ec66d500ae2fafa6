"""Points of some columns that are uniform on their lattices: all of them, or an evenly spread sequence of many.

A calibrated mean adds `E_U[(Π v) w]` to that of the records, U uniform on the domain. Where the columns of an analysis
have few lattice points in all, every one is looked at and the mean is exact. Otherwise points of a Kronecker sequence
are, whose error is far below a standard error (`docs/theory/totals.md`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.correction.calibration import Uniform

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from versadp.correction.lattice_laws import LatticeLaw

    Array = NDArray[np.float64]


def uniform_points(
    laws: Mapping[str, LatticeLaw], columns: Collection[str], complete: Collection[str], most: tuple[int, int]
) -> Uniform:
    """Return points of some columns.

    Parameters
    ----------
    laws : mapping of str to LatticeLaw
    columns : collection of str
    complete : collection of str
        Columns whose missing values are left out: masses add up to the share of points in which none is.
    most : tuple of int
        How many points are all listed, and how many are taken of more, a power of 2.

    Examples
    --------
    >>> from versadp.correction.lattice_laws import LatticeLaw
    >>> from versadp.noise.lattice import Lattice
    >>> laws = {"x": LatticeLaw(Lattice(0.0, 1.0, 2, 1, keep=0.5)), "y": LatticeLaw(Lattice(0.0, 1.0, 1, 1, keep=0.5))}
    >>> points = uniform_points(laws, ["y", "x"], (), (2**10, 2**10))
    >>> points.codes["x"], float(points.mass.sum().round(9))
    (array([0, 1, 2, 0, 1, 2]), 1.0)
    """
    sizes = {name: laws[name].size - (name in complete and laws[name].lattice.unseen > 0) for name in columns}
    share = float(np.prod([sizes[name] / laws[name].size for name in columns]))
    every = int(np.prod([float(size) for size in sizes.values()]))
    if every <= most[0]:
        codes = np.indices(tuple(sizes.values())).reshape(len(sizes), -1)
        return Uniform(dict(zip(sizes, codes, strict=True)), np.full(every, share / every))
    drawn = _spread(most[1], len(sizes))
    each = zip(sizes.items(), drawn, strict=True)
    return Uniform(
        {name: np.minimum((own * size).astype(np.int64), size - 1) for (name, size), own in each},
        np.full(most[1], share / most[1]),
        is_exact=False,
    )


def _spread(count: int, dimension: int) -> Array:
    """Return points of the Kronecker sequence of the powers of the root of `x^(d+1) = x + 1`, (dimension, count)."""
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (dimension + 1))
    steps = root ** -np.arange(1.0, dimension + 1)
    return np.asarray((0.5 + steps[:, None] * np.arange(1, count + 1)) % 1.0)
