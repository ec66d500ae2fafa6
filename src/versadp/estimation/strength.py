"""How well curvature is known: the curvature of each coefficient in units of its own sampling error.

    a_j = V^-1 c_j / (c_j' V^-1 c_j),    d_ij = a_j' [s_i(theta + h a_j) - s_i(theta - h a_j)] / 2h
    t_j = mean / (sd / √n)

is the curvature that is left for coefficient `c_j'theta` once the others follow it, over the reach h of its interval:
where V has a direction without information, every coefficient that has a part in it has a small t_j. Where t_j is below
`STRONG`, curvature may as well be half of what it seems, and no interval that divides by it can be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.moments import Quietly, evaluated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation.moments import Family, Form, Prepared

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Bends:
    """What one pass asks of some records: their curvatures along directions, by differences of their scores."""

    forms: tuple[Form, ...]
    theta: Array
    mix: Array
    along: Array  # (k, p): directions, as long as the reach

    def sums(self, prepared: Prepared) -> tuple[int, Array, Array]:
        """Return number, sum of curvatures (k,) and of their squares."""
        bends = []
        for step in self.along:
            ahead, behind = (
                evaluated(self.forms, prepared, self.theta + sign * step, self.mix, hessian=False)[0][:, 0] @ step
                for sign in (1.0, -1.0)
            )
            bends.append(ahead - behind)
        each = np.array(bends)
        return each.shape[1], each.sum(axis=1), (each * each).sum(axis=1)


def strength(family: Family, theta: Array, weights: Array, along: Array, rows: int) -> Array:
    """Return t of the curvature along each direction, a row of `along` as long as the reach.

    Parameters
    ----------
    family : Family
        All records or a random part of them.
    theta : array (p,)
    weights : array (members,)
        The combination.
    along : array (k, p)
    rows : int
        Of how many records the curvature is the mean.

    Returns
    -------
    array (k,)
        Not a number where curvature does not vary and is none; 0 where it reaches beyond what can be corrected.
    """
    try:
        with np.errstate(all="ignore"):
            n, total, squares = family.total(Quietly(Bends(family.forms, theta, np.atleast_2d(weights), along)))
    except ParameterError:
        return np.zeros(len(along))
    if not (np.isfinite(total).all() and np.isfinite(squares).all()):
        return np.zeros(len(along))
    mean = total / n
    error = np.sqrt(np.maximum(squares / n - mean**2, 0.0) / max(rows - 1, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(mean / error)


def following(hessian: Array, coefficients: Array, errors: Array) -> Array:
    """Return for each coefficient, a row each, how all move when it moves by its standard error.

    Examples
    --------
    >>> following(np.array([[2.0, 1.0], [1.0, 1.0]]), np.eye(2), np.ones(2))
    array([[ 1. , -1. ],
           [-0.5,  1. ]])
    """
    moved = np.linalg.solve(hessian, coefficients.T)
    return np.asarray((moved * errors / np.einsum("jp,pj->j", coefficients, moved)).T)
