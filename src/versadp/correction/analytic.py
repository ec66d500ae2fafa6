"""Analytic correction: the expectation over the second randomisation, exactly.

For a loss of an index the noise enters through `S'theta` alone, a Laplace variable with variance `r t`,
`t = |alpha|^2` in noise units. The corrected loss is

    G(u, t) = loss(u) - ((1 - r)/2) t E loss''(u + L)

and the loss itself says what it and its derivatives are (`IndexLoss.corrected`). t depends on theta, so its gradient is
part of the score. It is the conditional expectation given X1 of the draws and of the Laplacian form at once, so for the
extension "none" nothing has less variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction.form import SingleForm, is_whole
from versadp.correction.kernel import weighted_squares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.model import LinearModel, Records
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
