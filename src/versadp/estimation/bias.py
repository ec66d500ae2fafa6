"""What is left of an estimate's bias after one correction: the term of order 1/n, estimated and taken off.

An estimate solves `mean psi_i(theta) = 0`. With `psi_i = V^-1 s_i`, whose mean has derivative 1, and with directions
`b_k` that make up its covariance, `sum b_k b_k' = C`,

    bias = (1/n) E psi_i' psi_i - 1/2 E sum_k psi_i''[b_k, b_k],    psi_i' psi_i = sum_k (psi_i' b_k) (b_k' C^-1 psi_i)

The first term says that curvature and score go together, as they do where noise makes both; the second that the score
bends. Derivatives are differences over `b_k`, a standard error long, so that one look ahead and one behind give both.
In units of the standard error the bias falls as the strength of the curvature (`strength.py`) grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.moments import Quietly, evaluated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation.criterion import Combined
    from versadp.estimation.moments import Form, Prepared
    from versadp.estimation.newton import Fit

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Drift:
    """What one pass asks of some records: both terms of the bias, summed.

    Attributes
    ----------
    inverse : array (groups, p, p)
        Rows of the inverse of the Hessian that belong to the coefficients of each group; others are zero.
    along, against : array (k, p)
        Directions that make up the covariance, and what they are in its inverse.
    """

    forms: tuple[Form, ...]
    theta: Array
    mix: Array
    inverse: Array
    along: Array
    against: Array

    def sums(self, prepared: Prepared) -> tuple[int, Array, Array]:
        """Return number, and the sums of `psi' psi` and of `sum_k psi''[b_k, b_k]`."""
        here = self._moves(prepared, self.theta)
        together, bent = np.zeros_like(self.theta), np.zeros_like(self.theta)
        for step, other in zip(self.along, self.against, strict=True):
            ahead, behind = self._moves(prepared, self.theta + step), self._moves(prepared, self.theta - step)
            together += (here @ other) @ (ahead - behind) / 2
            bent += (ahead + behind - 2 * here).sum(axis=0)
        return len(here), together, bent

    def _moves(self, prepared: Prepared, theta: Array) -> Array:
        score, _ = evaluated(self.forms, prepared, theta, self.mix, hessian=False)
        return np.asarray(np.einsum("gpq,igq->ip", self.inverse, score, optimize=True))


def bias(scores: Combined, fit: Fit, rows: int) -> Array | None:
    """Return the bias of an estimate from scores of all records, of which there are `rows`, or of a random part.

    None where the scores reach beyond what can be corrected, within a standard error of the estimate.
    """
    values, vectors = np.linalg.eigh(fit.cov)
    if fit.hessian is None or not values[0] > 0:
        return None
    whole = np.linalg.inv(fit.hessian)
    inverse = np.zeros((len(scores.groups), *whole.shape))
    for part, group in zip(inverse, scores.groups, strict=True):
        part[group] = whole[group]
    along = (vectors * np.sqrt(values)).T
    against = (vectors / np.sqrt(values)).T
    asked = Drift(scores.family.forms, fit.theta, scores.mix, inverse, along, against)
    try:
        with np.errstate(all="ignore"):
            n, together, bent = scores.family.total(Quietly(asked))
    except ParameterError:
        return None
    found = together / n / rows - bent / n / 2
    return found if np.isfinite(found).all() else None
