"""M-estimators from a perturbed histogram (Lei 2011).

The box of records, response included, is cut into cells of width h; counts get Laplace noise of scale 2/epsilon
(replacing a record moves two counts by one each: L1 sensitivity 2), so the whole histogram has pure epsilon; negative
counts become 0; and the loss is minimised over cell centres, weighted by noisy counts. With k = d + 1 axes Lei takes

    h in proportion to (sqrt(log n)/n)^(2/(2 + k))

whose error is then of that order unless it is below 1/sqrt(n), which it is for one or two axes only. Centres instead
of records are a bias of order h², noise in empty cells another; there are no intervals. A histogram of all columns
serves any number of analyses, so it is the one baseline on a server that is versatile: `reusable`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp.errors import ParameterError
from versadp_experiments.baselines.method import Budget, Estimate, Method, Sample, laplace, pure
from versadp_experiments.baselines.scores import Logistic, Score, minimum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]

MOST_CELLS = 2_000_000


@dataclass(frozen=True)
class PerturbedHistogram(Method):
    """A noisy histogram, then a smooth loss; `factor` multiplies Lei's width, `levels` are those of the response."""

    score: Score = field(default_factory=Logistic)
    factor: float = 1.0
    levels: int | None = 2
    name: ClassVar[str] = "perturbed histogram"
    reference: ClassVar[str] = "Lei 2011"
    reusable: ClassVar[bool] = True

    def cells(self, records: int, columns: int) -> int:
        """Return the cells of each numeric axis.

        Examples
        --------
        >>> [PerturbedHistogram().cells(10_000, d) for d in (1, 2, 4)]
        [100, 58, 15]
        """
        axes = columns + (self.levels is None)
        width = 2 * self.factor * float((math.sqrt(math.log(records)) / records) ** (2 / (2 + axes)))
        return max(min(math.ceil(2 / width), 100), 2)

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return pure epsilon: sensitivity 2 over the noise's scale."""
        return pure(2 / self.scale(budget))

    def scale(self, budget: Budget) -> float:
        """Return the scale of a count's Laplace noise."""
        return 2 / budget.epsilon

    def counts(self, sample: Sample, k: int) -> Array:
        """Return the counts of all cells; the response is the last axis."""
        x = np.minimum(((sample.x + 1) / 2 * k).astype(int), k - 1)
        last = k if self.levels is None else self.levels
        y = (sample.y + 1) / 2 * k if self.levels is None else sample.y
        shape = (*(k,) * x.shape[1], last)
        if math.prod(shape) > MOST_CELLS:
            raise ParameterError(f"{math.prod(shape)} cells are too many", hint="use fewer columns, or a larger factor")
        index = np.ravel_multi_index((*x.T, np.minimum(y.astype(int), last - 1)), shape)
        return np.bincount(index, minlength=math.prod(shape)).astype(float)

    def noisy(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Return what is published: design and response at the centres of cells, and their noisy counts."""
        k = self.cells(*sample.x.shape)
        counts = self.counts(sample, k)
        noisy = np.maximum(counts + laplace(rng, self.scale(budget), counts.size), 0.0)
        design, y = _centres(k, sample.x.shape[1], self.levels)
        return design, y, noisy

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Minimise the loss over centres, weighted by noisy counts."""
        design, y, noisy = self.noisy(sample, budget, rng)
        keep = noisy > 0
        weights = noisy[keep] / max(float(noisy.sum()), 1.0)
        return Estimate(minimum(self.score, design[keep], y[keep], weights, ridge=1e-6))


@lru_cache(maxsize=8)
def _centres(k: int, columns: int, levels: int | None) -> tuple[Array, Array]:
    centre = (np.arange(k) + 0.5) * 2 / k - 1
    last = centre if levels is None else np.arange(levels, dtype=float)
    grid = np.meshgrid(*[centre] * columns, last, indexing="ij")
    flat = [axis.ravel() for axis in grid]
    return np.column_stack([np.ones(flat[0].size), *flat[:-1]]), flat[-1]
