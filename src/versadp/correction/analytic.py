"""The Laplacian form with nothing drawn: `v(X1) - ((1 - r)/2) E Lap v(X1 + S)`, its expectation exactly.

**Analytic**, for a loss of an index: the noise enters through `S'theta` alone, a Laplace variable with variance `r t`,
`t = |alpha|^2` in noise units. The corrected loss is

    G(u, t) = loss(u) - ((1 - r)/2) t E loss''(u + L)

and the loss itself says what it and its derivatives are (`IndexLoss.corrected`). t depends on theta, so its gradient is
part of the score. It is the conditional expectation given X1 of the draws and of the Laplacian form at once, so for the
extension "none" nothing has less variance.

**Stencil**, for polynomials where no record is exact (r = 0, so that S vanishes): `v(X1) - (1/2) Lap v(X1)` has
expectation v(x) for every v with a Laplacian that is integrable. The score of squared loss is a polynomial where the
design is one; then a difference over evenly spaced points is its second derivative exactly, however far apart they are:

    f''(x) = sum over |k| <= K of c_k f(x + k),     sum of c_k k^j = 2 if j = 2, else 0,  j = 0, ..., 2K

for polynomials of degree 2K + 1 or less. So the correction is a sum over signed points, as any other. It looks outside
the domain, where other functions (a logarithm) need not be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp.correction.form import Form, SingleForm, is_whole
from versadp.correction.point_kernel import weighted_squares
from versadp.correction.points import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.model import LinearModel, Model
    from versadp.correction.records import Records
    from versadp.noise.units import Units

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Analytic(SingleForm):
    """The one member of the analytic correction."""

    model: LinearModel
    units: Units
    names: tuple[str, ...] = ("analytic",)

    def prepare(self, records: Records, rng: np.random.Generator) -> tuple[Array, Array, Array | None]:  # noqa: ARG002 - as all forms
        """Return design, response and weights: there is nothing to draw."""
        m, y = self.model.rows(records.z, None, records)
        return m, y, records.weight

    def weighted_scores(
        self, rows: tuple[Array, Array, Array | None], theta: Array, *, hessian: bool
    ) -> tuple[Array, Array]:
        """Return scores (n, p), and the Hessian."""
        along, aside, pull, total = self._terms(rows, theta, hessian=hessian)
        return rows[0] * along[:, None] + aside[:, None] * pull, total

    def sums(
        self, rows: tuple[Array, Array, Array | None], theta: Array, mix: Array, *, hessian: bool
    ) -> tuple[int, Array, Array, Array]:
        """Return number, sum of scores, of their products and of Hessians, without an array of scores."""
        if not is_whole(mix):
            return super().sums(rows, theta, mix, hessian=hessian)
        m = rows[0]
        along, aside, pull, total = self._terms(rows, theta, hessian=hessian)
        score = along @ m + aside.sum() * pull
        cross = np.outer((along * aside) @ m, pull)
        outer = weighted_squares(m, along * along) + cross + cross.T + (aside @ aside) * np.outer(pull, pull)
        return len(m), score[None], outer, total

    def _terms(
        self, rows: tuple[Array, Array, Array | None], theta: Array, *, hessian: bool
    ) -> tuple[Array, Array, Array, Array]:
        """Return the score as `along * m + aside * pull`, and the Hessian."""
        m, y, weight = rows
        model, noisy = self.model, self.model.noisy
        alpha = model.slope(theta, self.units.dim)
        pull = np.zeros(model.size)
        pull[noisy] = 2 * alpha[model.columns[noisy]]
        t, rate = float(alpha @ alpha), self.units.exact_rate
        assert rate is not None
        first, by_t, *bends = model.loss.corrected(m @ theta, y, t, rate, model.bandwidth, bent=hessian)
        w = 1.0 if weight is None else weight
        along, aside = w * first, w * by_t
        if not hessian:
            return along, aside, pull, np.zeros((model.size, model.size))
        second, mixed, by_tt = (w * bend for bend in bends)
        total = weighted_squares(m, second)
        cross = np.outer(mixed @ m, pull)
        total += cross + cross.T + by_tt.sum() * np.outer(pull, pull)
        total[noisy, noisy] += 2 * aside.sum()
        return along, aside, pull, total


@dataclass(frozen=True)
class Stencil(Form):
    """The one member of the correction by differences.

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
