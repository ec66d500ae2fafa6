"""Correction of polynomials where no record is exact: signed points, and nothing drawn.

    v(X1) - (1/2) Lap v(X1)

has expectation v(x) under symmetric Laplace noise, in noise units, for every v with a Laplacian that is integrable. The
score of squared loss is a polynomial where the design is one; then a difference over evenly spaced points is its
second derivative exactly, however far apart they are:

    f''(x) = sum over |k| <= K of c_k f(x + k),     sum of c_k k^j = 2 if j = 2, else 0,  j = 0, ..., 2K

for polynomials of degree 2K + 1 or less. So the correction is a sum over signed points, as any other. It looks outside
the domain, where other functions (a logarithm) need not be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp.correction.form import Form
from versadp.correction.points import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.model import Model, Records
    from versadp.noise.units import Units

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stencil(Form):
    """The one member of this correction.

    Attributes
    ----------
    reach : int
        K: points lie up to so many noise units away.
    """

    evaluator: ClassVar[str] = "differences"
    model: Model
    units: Units
    reach: int
    names: tuple[str, ...] = ("stencil",)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record."""
        return (self.model.size + 3) * (1 + 2 * self.reach * self.units.dim)

    def prepare(self, records: Records, rng: np.random.Generator) -> Rows:  # noqa: ARG002 - as all forms
        """Write out the points of some records."""
        bend, dim = second_difference(self.reach), self.units.dim
        steps = [k for k in range(-self.reach, self.reach + 1) if k]
        moves = np.concatenate([np.zeros((1, dim)), *(np.outer(steps, axis) for axis in np.eye(dim))])
        weight = np.append(1 - dim * bend[self.reach] / 2, np.tile(-np.delete(bend, self.reach) / 2, dim))
        record = np.repeat(np.arange(records.rows), len(moves))
        z = (records.z[:, None] + moves).reshape(-1, dim)
        factor = np.tile(weight, records.rows)
        if records.weight is not None:
            factor = factor * records.weight[record]
        return Rows(record, self.model.rows(z, record, records), factor[None], records.rows)

    def evaluate(self, rows: Rows, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p), and the Hessian of the first combination."""
        return rows.scores(self.model, theta, mix, hessian=hessian)


def second_difference(reach: int) -> Array:
    """Return the weights of values at -K, ..., K that make the second derivative of a polynomial at 0.

    Examples
    --------
    >>> second_difference(1)
    array([ 1., -2.,  1.])
    >>> (second_difference(2) * 12).round(9)
    array([ -1.,  16., -30.,  16.,  -1.])
    """
    at = np.arange(-reach, reach + 1.0)
    wanted = np.zeros(at.size)
    wanted[2] = 2.0
    return np.linalg.solve(np.vander(at, increasing=True).T, wanted)
