"""The smoothed corrected loss of Wang, Stefanski and Zhu (2012), at the median: other quantiles are not programmed.

    X1 = x + SL(s² I);   rho_h(r) = r (2 Phi(r/h) - 1);   corrected rho = rho_h(r) - (s²/2)|theta|² rho_h''(r)

with r = y - z'theta. A kink has no second derivative, so the absolute value is smoothed first: the correction then
undoes the noise exactly for rho_h, which is not |r|. Bias falls with h and variance grows like h^-3: a smoothing
parameter. Twice the check loss at 1/2. The formula is `versadp_experiments.median.smoothed_corrected`; the response
is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp import privacy
from versadp_experiments.baselines.method import DEVICE, Budget, Estimate, Method, Sample
from versadp_experiments.logistic import boxed
from versadp_experiments.median import smoothed_corrected

if TYPE_CHECKING:
    from versadp.privacy import PrivacyProfile


@dataclass(frozen=True)
class SmoothedCorrection(Method):
    """Median regression on symmetric Laplace noise; h = `factor` s n^(-1/3)."""

    factor: float = 5.0
    box: float = 5.0
    name: ClassVar[str] = "smoothed corrected loss"
    reference: ClassVar[str] = "Wang, Stefanski and Zhu 2012"
    where: ClassVar[str] = DEVICE
    reusable: ClassVar[bool] = True

    def scale(self, columns: int, budget: Budget) -> float:
        """Return s: the diameter 2 sqrt(d) over the largest shift that meets the budget, by the exact curve."""
        if math.isinf(budget.epsilon):
            return 0.0
        return 2 * math.sqrt(columns) / privacy.solve_shift(columns, budget.epsilon, budget.delta)

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return the curve of symmetric Laplace noise at that shift."""
        return privacy.symmetric_laplace(columns, 2 * math.sqrt(columns) / self.scale(columns, budget))

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Minimise in a box from the middle of the response."""
        n, d = sample.x.shape
        scale = self.scale(d, budget)
        noise = np.sqrt(rng.exponential(size=(n, 1))) * rng.normal(size=(n, d)) * scale
        m = np.column_stack([np.ones(n), sample.x + noise])
        h = max(self.factor * scale * n ** (-1 / 3), 0.05)
        start = np.append(np.median(sample.y), np.zeros(d))
        return Estimate(boxed(smoothed_corrected(m, sample.y, h, scale**2), start, (-self.box, self.box)))
