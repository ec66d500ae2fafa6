"""Principal components and factor loadings of a corrected covariance or correlation matrix.

    S = V diag(λ) V',          loadings of component k:  v_k √λ_k,          explained share:  λ_k / Σ λ

A corrected matrix is unbiased, and on a finite sample need not be positive definite. Then its negative eigenvalues are
set to 0 and its diagonal is scaled back, and a warning says so: noise hides the directions of these eigenvalues.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp import inputs
from versadp.display.tables import render
from versadp.errors import EstimationError, IndefiniteWarning, find_stacklevel
from versadp.inference.arrays import NamedArray

if TYPE_CHECKING:
    from versadp.inputs import Array

STEPS, CLOSE = 500, 1e-10  # of principal axes: at most, and change of communalities that ends them


@dataclass(frozen=True)
class Components:
    """Principal components, the largest first; `print` shows a table.

    Attributes
    ----------
    variances : array (k,)
        Eigenvalues.
    vectors : NamedArray (columns, k)
        Eigenvectors, whose largest entry is positive.

    Examples
    --------
    >>> found = components_of(NamedArray([[2.0, 1.0], [1.0, 2.0]], ("a", "b")))
    >>> found.variances.round(9), found.explained.round(9)
    (array([3., 1.]), array([0.75, 0.25]))
    """

    variances: Array
    vectors: NamedArray

    @property
    def explained(self) -> Array:
        """The share of the variance of each component."""
        return np.asarray(self.variances / self.variances.sum())

    @property
    def loadings(self) -> NamedArray:
        """Eigenvectors times the roots of their eigenvalues: covariances of columns with components of variance 1."""
        return NamedArray(np.asarray(self.vectors) * np.sqrt(self.variances), self.vectors.names, self.vectors.columns)

    def __str__(self) -> str:
        rows = {name: np.asarray(self.vectors)[j] for j, name in enumerate(self.vectors.names)}
        heads = self.vectors.columns
        table = [{"": name} | dict(zip(heads, map(float, row), strict=True)) for name, row in rows.items()]
        return render([*table, {"": "share"} | dict(zip(heads, map(float, self.explained), strict=True))])

    __repr__ = __str__


def components_of(matrix: NamedArray) -> Components:
    """Return the principal components of a covariance or correlation matrix."""
    values, vectors = np.linalg.eigh(np.asarray(positive(matrix)))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    heads = tuple(f"PC{k + 1}" for k in range(len(values)))
    return Components(values, NamedArray(vectors, matrix.names, heads))


def factors_of(matrix: NamedArray, factors: int) -> NamedArray:
    """Return the loadings of common factors by principal axes, unrotated, from a correlation matrix.

    Communalities start at squared multiple correlations and are iterated, as in statsmodels' `Factor(method="pa")`.
    """
    size = len(matrix.names)
    factors = inputs.whole("factors", factors, 1)
    if factors >= size:
        raise EstimationError(f"{size} columns have fewer than {factors} common factors", hint="ask for fewer factors")
    corr = np.asarray(positive(matrix))
    common = 1 - 1 / np.diag(np.linalg.pinv(corr, hermitian=True))
    loadings = np.zeros((size, factors))
    for _ in range(STEPS):
        values, vectors = np.linalg.eigh(corr - np.diag(1 - common))
        values, vectors = values[::-1][:factors], vectors[:, ::-1][:, :factors]
        loadings = vectors * np.sqrt(np.maximum(values, 0.0))
        last, common = common, (loadings**2).sum(axis=1)
        if np.abs(common - last).max() < CLOSE:
            break
    loadings = loadings * np.where(loadings[np.abs(loadings).argmax(axis=0), np.arange(factors)] < 0, -1.0, 1.0)
    return NamedArray(loadings, matrix.names, tuple(f"factor {k + 1}" for k in range(factors)))


def positive(matrix: NamedArray) -> NamedArray:
    """Return the matrix if it is positive semidefinite, else the one without its negative eigenvalues, and warn.

    Examples
    --------
    >>> positive(NamedArray([[1.0, 0.2], [0.2, 1.0]], ("a", "b")))["a", "b"].round(3)
    np.float64(0.2)
    """
    given = np.asarray(matrix)
    if np.isnan(given).any():
        lost = [name for name, row in zip(matrix.names, given, strict=True) if np.isnan(row[matrix.names.index(name)])]
        raise EstimationError(
            f"some entries have no estimate{': ' + ', '.join(lost) if lost else ''}",
            hint="noise hides them: choose other columns, describe(release, columns=[...]), or use more records",
        )
    scale = np.sqrt(np.diag(given))
    values, vectors = np.linalg.eigh(given / np.outer(scale, scale))
    if values[0] >= 0:
        return matrix
    warnings.warn(
        f"the corrected matrix is not positive definite: {int((values < 0).sum())} of its {len(values)} eigenvalues "
        "were below 0 and set to 0; noise hides the directions of the last components",
        IndefiniteWarning,
        stacklevel=find_stacklevel(),
    )
    kept = (vectors * np.maximum(values, 0.0)) @ vectors.T
    back = scale / np.sqrt(np.diag(kept))
    return NamedArray(kept * np.outer(back, back), matrix.names)
