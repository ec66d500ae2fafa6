"""The score that is left for a coefficient once the others follow it: score sets in few passes.

    a = V^-1 c,    others by a Newton step on their own scores,    Q = n (a'm)^2 / a'Ca

m is the mean and C the covariance of the records' scores, V their mean derivative. What moves the others does not move
`a'm` to first order, so V must be seen. The least Q over the others (`scoreset.py`) needs no V, and hundreds of passes;
scores of a kinked loss take many draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation.criterion import ByPasses

    Array = NDArray[np.float64]

LONGEST = 3.0  # standard errors of a Newton step of the others
SMALL = 0.1  # standard errors: a shorter step changes the score that is left by its square, and needs no second pass


@dataclass(frozen=True)
class Followed:
    """Q of the score that is left for a coefficient.

    Attributes
    ----------
    scores : ByPasses
    hessian : array (p, p)
        Mean derivative of the scores.
    along, aside : array (p,), (p, p - 1)
        What moves the coefficient by its standard error, and what does not move it.
    origin : array (p,)
        The estimate.
    """

    scores: ByPasses
    hessian: Array
    along: Array
    aside: Array
    origin: Array

    def __call__(self, at: float, *starts: Array, enough: float = 0.0) -> tuple[float, Array]:  # noqa: ARG002 - for a least
        """Return Q at a distance, and where the others are; 0, which rejects nothing, where there are no scores."""
        eta = starts[0]
        found = self.scores.means(self._theta(at, eta))
        if found is None:
            return 0.0, eta
        if eta.size:
            step = np.linalg.solve(self.aside.T @ self.hessian @ self.aside, self.aside.T @ found[1])
            size = float(np.linalg.norm(step))
            eta = eta - step * min(1.0, LONGEST / max(size, 1e-300))
            found = found if size < SMALL else self.scores.means(self._theta(at, eta))
        return (0.0, eta) if found is None else (self._left(*found), eta)

    def _theta(self, at: float, eta: Array) -> Array:
        return np.asarray(self.origin + at * self.along + self.aside @ eta)

    def _left(self, n: int, mean: Array, outer: Array) -> float:
        """Return `n (a'm)^2 / a'Ca`; `a` is what no move aside changes: `a'V aside = 0`."""
        a = _across(self.hessian @ self.aside)
        score = float(a @ mean)
        variance = float(a @ outer @ a) - score**2
        found = n * score**2 / variance if variance > 0 else 0.0
        return found if np.isfinite(found) else 0.0


def _across(vectors: Array) -> Array:
    """Return the direction across all columns of a matrix (p, p - 1).

    Examples
    --------
    >>> abs(_across(np.array([[1.0], [1.0]]))).round(4)
    array([0.7071, 0.7071])
    """
    return np.asarray(np.linalg.svd(vectors, full_matrices=True)[0][:, -1])
