"""Kernel deconvolution (Stefanski and Carroll 1990), and quantile regression plugged into it (Firpo et al. 2017).

    f_hat(x) = mean K_h*(x - X1),   K* has Fourier transform phi_K(t)/phi_Z(t/h):   E K_h*(x - X1) = E K_h(x - X)

For Laplace noise of scale b, 1/phi_Z = 1 + b²t², so K* = K - (b/h)² K'' with K normal: closed. Its variance is of
order b⁴/(n h⁵), its bias h² f''/2: h = factor (b⁴/n)^(1/9) balances the two, and the rate is n^(-2/9).

Firpo, Galvao and Song put the density of (x, y) so estimated into the estimating equation of quantile regression,

    sum_i ∫ (tau - 1{y_i < z(x)'theta}) z(x) K_h*(x - X1_i) dx = 0

which is done here on a grid, for one noisy covariate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.optimize import minimize

from versadp.errors import ParameterError
from versadp_experiments.baselines.method import DEVICE, Budget, Estimate, Method, Sample, laplace, pure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]


def deconvolving(v: Array, h: float, scale: float) -> Array:
    """Return K_h*(v) for Laplace noise of this scale.

    Examples
    --------
    >>> v = np.linspace(-30, 30, 6001)
    >>> round(float(deconvolving(v, 0.5, 1.0).sum() * 0.01), 6)
    1.0
    """
    u = v / h
    density = np.exp(-u * u / 2) / (h * math.sqrt(2 * math.pi))
    return np.asarray(density * (1 - (scale / h) ** 2 * (u * u - 1)))


@dataclass(frozen=True)
class KernelDensity(Method):
    """The density of the first covariate at `points` even places in [-1, 1]."""

    points: int = 21
    factor: float = 0.5
    name: ClassVar[str] = "kernel deconvolution"
    reference: ClassVar[str] = "Stefanski and Carroll 1990"
    where: ClassVar[str] = DEVICE
    reusable: ClassVar[bool] = True

    def bandwidth(self, records: int, scale: float) -> float:
        """Return h, at least a twentieth."""
        return max(self.factor * float((scale**4 / records) ** (1 / 9)), 0.05)

    def scale(self, budget: Budget) -> float:
        """Return the scale of the noise."""
        return 2 / budget.epsilon

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return pure epsilon: 2 over the scale (one column is noised and used)."""
        return pure(2 / self.scale(budget))

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Return the density with pointwise errors, which know nothing of the bias."""
        n, scale = len(sample.x), self.scale(budget)
        noisy = sample.x[:, 0] + laplace(rng, scale, n)
        h = self.bandwidth(n, scale)
        at = np.linspace(-1, 1, self.points)
        each = [deconvolving(a - noisy, h, scale) for a in at]
        return Estimate(np.mean(each, axis=1), np.std(each, axis=1) / math.sqrt(n))


@dataclass(frozen=True)
class PluggedQuantile(Method):
    """Quantile regression on one noisy covariate; `blur` smooths the kink for the solver."""

    tau: float = 0.5
    points: int = 41
    factor: float = 0.5
    blur: float = 0.02
    name: ClassVar[str] = "plug-in quantile regression"
    reference: ClassVar[str] = "Firpo, Galvao and Song 2017"
    where: ClassVar[str] = DEVICE
    reusable: ClassVar[bool] = True

    @property
    def density(self) -> KernelDensity:
        """The estimator that is plugged in."""
        return KernelDensity(factor=self.factor)

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:
        """Return pure epsilon for one covariate."""
        return self.density.guarantee(records, columns, budget)

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Minimise the plugged-in loss, whose weights may be negative, from the median of the response."""
        n, d = sample.x.shape
        if d != 1:
            raise ParameterError("one noisy covariate, please", hint="its density has one axis here")
        scale = self.density.scale(budget)
        noisy = sample.x[:, 0] + laplace(rng, scale, n)
        h = self.density.bandwidth(n, scale)
        reach = 1 + 3 * h  # the smoothed density reaches beyond the box
        grid = np.linspace(-reach, reach, self.points)
        weight = deconvolving(grid[None, :] - noisy[:, None], h, scale) * (grid[1] - grid[0])
        y = sample.y[:, None]

        def loss(theta: Array) -> tuple[float, Array]:
            r = (y - theta[0] - theta[1] * grid) / self.blur
            slope = 1 / (1 + np.exp(-np.clip(r, -50, 50))) - (1 - self.tau)  # of a softened check loss, in r
            value = self.blur * (np.logaddexp(0.0, -r) + self.tau * r)
            w = weight * slope
            return float((weight * value).sum()) / n, -np.array([w.sum(), (w * grid).sum()]) / n

        start = np.array([np.quantile(sample.y, self.tau), 0.0])
        return Estimate(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(-5, 5)] * 2).x)
