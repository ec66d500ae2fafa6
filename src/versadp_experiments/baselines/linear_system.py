"""A density from noisy data by a penalised linear system (Yang, Apley, Staum and Ruppert 2020; Kent and Ruppert 2023).

    f >= 0 on a grid of [-1, 1], sum f dx = 1;    minimise |A f - g|² + penalty |D f|²

g is the histogram of the noisy values, A what noise makes of a density (exact integrals of Laplace's distribution
function over cells), D second differences: the smoothness penalty whose rate Kent and Ruppert give. The constraint of
Yang et al. is kept by non-negative least squares; the sum by one heavy row. Any noise of known law will do; the
penalty is a smoothing parameter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.optimize import nnls

from versadp_experiments.baselines.method import DEVICE, Budget, Estimate, Method, Sample, laplace, pure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]


def blurring(edges: Array, points: Array, scale: float) -> Array:
    """Return A: the share of each cell (rows; the outer ones are open) of noise around each point.

    Examples
    --------
    >>> blurring(np.array([-1.0, 0.0, 1.0]), np.zeros(1), 1.0).ravel().round(3)
    array([0.5, 0.5])
    """
    inner = edges[1:-1, None] - points[None, :]
    below = np.where(inner < 0, 0.5 * np.exp(np.minimum(inner, 0) / scale), 1 - 0.5 * np.exp(-np.abs(inner) / scale))
    ends = np.zeros((1, len(points)))
    return np.diff(np.vstack([ends, below, ends + 1]), axis=0)


@dataclass(frozen=True)
class PenalisedSystem(Method):
    """The density of the first covariate at `points` even places; `penalty` multiplies 1/n."""

    points: int = 21
    cells: int = 60
    penalty: float = 0.02
    name: ClassVar[str] = "penalised linear system"
    reference: ClassVar[str] = "Yang, Apley, Staum and Ruppert 2020; Kent and Ruppert 2023"
    where: ClassVar[str] = DEVICE
    reusable: ClassVar[bool] = True

    def scale(self, budget: Budget) -> float:
        """Return the scale of the noise; no noise is next to none, which the system can be made of."""
        return max(2 / budget.epsilon, 1e-9)

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return pure epsilon: 2 over the scale (one column is noised and used)."""
        return pure(2 / self.scale(budget))

    def solve(self, share: Array, edges: Array, scale: float, records: int) -> Array:
        """Return the density from the shares of noisy values in cells."""
        at = np.linspace(-1, 1, self.points)
        dx = at[1] - at[0]
        mass = np.full(self.points, dx)
        mass[[0, -1]] /= 2
        a = blurring(edges, at, scale) * mass
        second = np.diff(np.eye(self.points), 2, axis=0) / dx**2 * math.sqrt(dx)
        rows = [a, math.sqrt(self.penalty / records) * second, 1e3 * mass[None, :]]
        return np.asarray(nnls(np.vstack(rows), np.concatenate([share, np.zeros(self.points - 2), [1e3]]))[0])

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Return the density."""
        n, scale = len(sample.x), self.scale(budget)
        noisy = sample.x[:, 0] + laplace(rng, scale, n)
        reach = 1 + 6 * scale
        edges = np.linspace(-reach, reach, self.cells + 1)
        share = np.histogram(np.clip(noisy, -reach, reach), edges)[0] / n
        return Estimate(self.solve(share, edges, scale, n))
