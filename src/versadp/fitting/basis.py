"""A basis for designs whose columns lie close together: years beside a constant, a square beside its column, a log.

    m -> m B,    theta = B phi,    B = √n R^-1    from    M = Q R

M is the design at points of the domain, public columns as they are; so B depends on nothing private, and on nothing
that noise has touched. Fits, weights and intervals are equivariant under it; starts and rounding are not, and Newton's
first steps from a start that a ridge has shrunk are long. Where columns are far enough apart nothing is changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import FormulaModel, LinearModel
from versadp.estimation.sizes import BASIS_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.fitting.problem import Problem

    Array = NDArray[np.float64]

NEAR = 0.01  # least over largest eigenvalue of the cosines between columns: below, they are close together; chosen


def in_basis(problem: Problem, sample: Records) -> Problem:
    """Return a problem in a basis where no two columns of the design are close together.

    Parameters
    ----------
    problem : Problem
    sample : Records
        Of which public columns are used, and no noisy one.
    """
    model, some = problem.model, _spread(sample)
    if isinstance(model, LinearModel):
        return with_basis(problem, far_apart(model.public(some)))
    if isinstance(model, FormulaModel):
        units, rng = problem.units, np.random.default_rng(0)
        inside = rng.uniform(units.lower, units.upper, (some.rows, units.dim))
        return with_basis(problem, far_apart(model.rows(inside, np.arange(some.rows), some)[0]))
    return problem


def with_basis(problem: Problem, basis: Array) -> Problem:
    """Return a problem in a basis: of the public columns of a linear design, or of all of them."""
    model = problem.model
    if (basis == np.eye(len(basis))).all():
        return problem
    whole = basis
    if isinstance(model, LinearModel):
        whole = np.eye(model.size)
        whole[np.ix_(model.open, model.open)] = basis
    return replace(problem, model=replace(model, basis=basis), scale=problem.scale @ whole)  # type: ignore[arg-type] # of a formula


def _spread(sample: Records) -> Records:
    """Return some of the records, from everywhere: files are often sorted."""
    return sample.take(np.unique(np.linspace(0, sample.rows - 1, BASIS_ROWS).astype(int)))


def far_apart(matrix: Array) -> Array:
    """Return the basis in which the columns of a matrix are orthonormal, or the one they have if they are far apart.

    Examples
    --------
    >>> year = np.linspace(2000, 2020, 50)
    >>> matrix = np.stack([np.ones(50), year], axis=1)
    >>> basis = far_apart(matrix)
    >>> bool(np.allclose((matrix @ basis).T @ (matrix @ basis), 50 * np.eye(2)))
    True
    >>> far_apart(np.stack([np.ones(50), year - 2010], axis=1))
    array([[1., 0.],
           [0., 1.]])
    """
    n, size = matrix.shape
    length = np.linalg.norm(matrix, axis=0)
    same = np.eye(size)
    if size < 2 or n < size or not length.all():
        return same
    values = np.linalg.svd(matrix / length, compute_uv=False) ** 2
    if values[-1] >= NEAR * values[0] or values[-1] <= 1e-20 * values[0]:  # a column that repeats others stays one
        return same
    r = np.linalg.qr(matrix / length, mode="r") * length / np.sqrt(n)
    return np.asarray(np.linalg.solve(r * np.sign(np.diag(r))[:, None], same))
