"""Points of some columns that are uniform on their lattices: all of them, or a Sobol sequence of many.

A calibrated mean adds `E_U[v 𝒩 phi] lambda` to that of the records, U uniform on the domain. Where the columns of an
analysis have few lattice points in all, every one is looked at and the mean is exact. Otherwise scrambled Sobol points
are: their error falls nearly as 1/N, and is far below a standard error (`docs/theory/totals.md`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.correction.calibration import Uniform

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from versadp.correction.lattice_laws import LatticeLaw

SEED = 0x5EED  # of the scrambling: the points of a release and an analysis are always the same


def uniform_points(
    laws: Mapping[str, LatticeLaw], columns: Collection[str], complete: Collection[str], most: int
) -> Uniform:
    """Return points of some columns.

    Parameters
    ----------
    laws : mapping of str to LatticeLaw
    columns : collection of str
    complete : collection of str
        Columns whose missing values are left out: masses add up to the share of points in which none is.
    most : int
        Number of points at most, a power of 2.

    Examples
    --------
    >>> from versadp.correction.lattice_laws import LatticeLaw
    >>> from versadp.noise.lattice import Lattice
    >>> laws = {"x": LatticeLaw(Lattice(0.0, 1.0, 2, 1, keep=0.5)), "y": LatticeLaw(Lattice(0.0, 1.0, 1, 1, keep=0.5))}
    >>> points = uniform_points(laws, ["y", "x"], (), 2**10)
    >>> points.codes["x"], points.mass.sum().round(9)
    (array([0, 1, 2, 0, 1, 2]), 1.0)
    """
    sizes = {name: laws[name].size - (name in complete and laws[name].lattice.unseen > 0) for name in columns}
    share = float(np.prod([sizes[name] / laws[name].size for name in columns]))
    every = int(np.prod([float(size) for size in sizes.values()]))
    if every <= most:
        codes = np.indices(tuple(sizes.values())).reshape(len(sizes), -1)
        return Uniform(dict(zip(sizes, codes, strict=True)), np.full(every, share / every))
    from scipy.stats.qmc import Sobol

    drawn = Sobol(len(sizes), rng=np.random.default_rng(SEED)).random(most).T
    each = zip(sizes.items(), drawn, strict=True)
    return Uniform(
        {name: np.minimum((own * size).astype(np.int64), size - 1) for (name, size), own in each},
        np.full(most, share / most),
    )
