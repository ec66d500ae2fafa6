"""A basis for designs whose columns nearly coincide: `y ~ age + year`, squares, logarithms.

    theta_user = B theta,    the columns of M B are far apart

A year is 2010 give or take 6, so its column is nearly the intercept's, and a square is nearly a line. Arithmetic suffers
from that, statistics do not: both designs span the same. B comes from places that the noise has no part in, public
columns as they are and noisy columns anywhere in their domain, and it is the identity where columns are far apart already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from versadp.formula.terms import Terms
    from versadp.noise.units import Units
    from versadp.release.release import Release

    Array = NDArray[np.float64]

ROWS = 2000
HANDLES = 20
NEAR = 1e-3  # of the smallest to the largest eigenvalue of the columns' cosines: nearer columns get a basis
SAME = 1e-22  # columns that coincide to rounding are the mistake of whoever wrote the formula: no basis helps


def apart(matrix: Array) -> Array:
    """Return B such that the columns of `matrix @ B` are far apart; the identity if they are already.

    Examples
    --------
    >>> year = np.array([2000.0, 2010.0, 2020.0, 2005.0])
    >>> design = np.stack([np.ones(4), year], axis=1)
    >>> (design @ apart(design)).round(2)
    array([[ 1.  , -1.18],
           [ 1.  ,  0.17],
           [ 1.  ,  1.52],
           [ 1.  , -0.51]])
    >>> apart(np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """
    size = matrix.shape[1]
    rows = matrix[np.isfinite(matrix).all(axis=1)]
    length = np.sqrt((rows**2).sum(axis=0))
    if len(rows) <= size or not (length > 0).all():
        return np.eye(size)
    values = np.linalg.svd(rows / length, compute_uv=False) ** 2
    if values[-1] > NEAR * values[0] or values[-1] < SAME * values[0]:
        return np.eye(size)
    upper = np.linalg.qr(rows / length, mode="r")
    upper *= np.sign(np.diag(upper))[:, None]  # so that columns keep their direction
    return np.asarray(np.linalg.inv(upper) / length[:, None] * np.sqrt(len(rows)))


def basis_of(terms: Terms, release: Release, public: Sequence[str], units: Units | None) -> Array:
    """Return the basis of some terms: public columns at some records, noisy ones at random places of the domain."""
    from versadp.models.source import numbers_of

    if len(terms.names) < 2:
        return np.eye(len(terms.names))
    columns: dict[str, Array] = {}
    if public:
        handles = release.handles()
        chosen = handles[:: -(-len(handles) // HANDLES)]
        tables = [release.read(handle, list(public)) for handle in chosen]
        each = -(-ROWS // len(tables))
        for name in public:  # every so many rows of each: files are often sorted
            parts = [numbers_of(table.column(name))[:: max(1, table.num_rows // each)] for table in tables]
            columns[name] = np.concatenate(parts)
    if units is not None:
        rows = len(next(iter(columns.values()))) if columns else ROWS
        z = np.random.default_rng(0).uniform(units.lower, units.upper, (rows, units.dim))
        columns |= dict(zip(units.names, units.to_columns(z).T, strict=True))
    return apart(terms.matrix(columns or {"": np.zeros(1)}))
