"""Noisy gradient descent, with intervals.

    theta <- theta - eta (mean over a batch of slope(z'theta, y) z + N(0, sigma² I))

The batches of a pass are disjoint and fixed beforehand, so each record takes part in one step of each pass: with E
passes, batches of m and gradients of norm at most B = bound sqrt(p),

    mu² = E (2B/(m sigma))²,

exactly, by composition of Gaussian mechanisms (Dong, Roth and Su 2022). One batch of all is noisy gradient descent
(Rajkumar and Agarwal 2012). Many are a noisy SGD, though not that of Bassily, Smith and Thakurta (2014), who draw a
record at random at each step and count on amplification: here batches are fixed and disjoint, and their composition is
exact. Their last pass is averaged. Intervals are Avella-Medina, Bradshaw and Loh's (2023): Hessian H and covariance G
of the scores are released with noise from a share of the budget, and

    Var theta = H⁻¹ G H⁻¹ / n + eta² sigma² (I - C²)⁻¹ (k + 2 sum_{j<k} (k - j) C^j)/k²,      C = I - eta H

where the last term is the noise that the steps themselves leave: an AR(1) process in its stationary state, averaged
over the k batches of a pass. With mu fixed and n growing it vanishes, and the estimator is as precise as the one
without privacy: at the price of one model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp import privacy
from versadp_experiments.baselines.method import Budget, Estimate, Method, Sample
from versadp_experiments.baselines.scores import Check, Logistic, Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class NoisyGradient(Method):
    """Noisy descent on an index loss.

    Attributes
    ----------
    passes, batches : int
        Passes over the records, and batches in each.
    rate : float
        Step, in units of 1/(largest curvature).
    share : float
        Share of mu² that pays for the standard errors; 0 has none.
    """

    score: Score = field(default_factory=Logistic)
    passes: int = 50
    batches: int = 1
    rate: float = 1.0
    share: float = 0.2
    name: ClassVar[str] = "noisy gradient descent"
    reference: ClassVar[str] = "Rajkumar and Agarwal 2012; Bassily et al. 2014; Avella-Medina et al. 2023"

    def sigma(self, records: int, columns: int, budget: Budget) -> float:
        """Return the standard deviation of a step's noise.

        Examples
        --------
        >>> round(NoisyGradient(passes=4, share=0.0).sigma(1000, 3, Budget(1.0, 1e-6)), 5)
        0.0338
        """
        bound = self.score.bound * math.sqrt(columns + 1)
        steps = math.sqrt(1 - self.share) * budget.mu
        return 2 * bound * math.sqrt(self.passes) / (self.size(records) * steps)

    def size(self, records: int) -> int:
        """Return the size of the smallest batch."""
        return records // self.batches

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:
        """Return the Gaussian curve of all steps and of the two matrices."""
        bound = self.score.bound * math.sqrt(columns + 1)
        each = 2 * bound / (self.size(records) * self.sigma(records, columns, budget))
        return privacy.gaussian(math.sqrt(self.passes * each**2 + self.share * budget.mu**2))

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Descend from 0; errors if a share of the budget pays for them."""
        z, y, n, d = sample.design, sample.y, *sample.x.shape
        sigma, eta = self.sigma(n, d, budget), self.rate / (self.score.curvature * (d + 1))
        bounds = np.linspace(0, n, self.batches + 1).astype(int)
        theta, tail = np.zeros(d + 1), []
        for step in range(self.passes * self.batches):
            k = step % self.batches
            part = slice(bounds[k], bounds[k + 1])
            zs = z[part]
            gradient = zs.T @ self.score.slope(zs @ theta, y[part]) / len(zs)
            theta = theta - eta * (gradient + rng.normal(0.0, sigma, d + 1))
            tail.append(theta)
        if self.batches > 1:
            theta = np.mean(tail[-self.batches :], axis=0)  # a pass averaged: minibatches wander
        return Estimate(theta, self._errors(sample, theta, budget, rng, eta) if self.share else None)

    def _errors(self, sample: Sample, theta: Array, budget: Budget, rng: np.random.Generator, eta: float) -> Array:
        z, y, n, d = sample.design, sample.y, *sample.x.shape
        u, p = z @ theta, d + 1
        slope = self.score.slope(u, y)
        h = z.T @ (z * self.score.bend(u, y)[:, None]) / n
        g = z.T @ (z * (slope * slope)[:, None]) / n
        mu = math.sqrt(self.share / 2) * budget.mu
        root2 = math.sqrt(2)  # matrices of one record are positive: two differ by at most sqrt(2) times the larger
        h = h + _symmetric(rng, root2 * self.score.peak * p / (n * mu), p)
        g = g + _symmetric(rng, root2 * self.score.bound**2 * p / (n * mu), p)
        h, g = _positive(h, 1e-3 * self.score.peak), _positive(g, 0.0)
        inverse = np.linalg.inv(h)
        left = wandering(h, eta, self.batches) * (eta * self.sigma(n, d, budget)) ** 2
        return np.sqrt(np.maximum(np.diag(inverse @ g @ inverse / n + left), 0.0))


@dataclass(frozen=True)
class NoisyMedian(Method):
    """The median of the first covariate: noisy descent on the check loss of a constant.

    A slope is 1{x < theta} - 1/2, so a mean gradient moves by at most 1/n, and is a smooth function of theta but for
    steps of that size.
    """

    descent: NoisyGradient = field(default_factory=lambda: NoisyGradient(Check(0.5), passes=60, rate=0.5))
    name: ClassVar[str] = "noisy descent to a median"
    reference: ClassVar[str] = NoisyGradient.reference

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return the guarantee of the descent, which has a constant only."""
        return self.descent.guarantee(records, 0, budget)

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Descend to the median."""
        return self.descent.fit(Sample(np.zeros((len(sample.x), 0)), sample.x[:, 0]), budget, rng)


def wandering(h: Array, eta: float, k: int) -> Array:
    """Return the covariance of the mean of k iterates of theta <- (I - eta h) theta + e, e standard normal.

    Examples
    --------
    >>> wandering(np.array([[0.5]]), 1.0, 1), wandering(np.array([[1.0]]), 1.0, 4)
    (array([[1.33333333]]), array([[0.25]]))
    """
    values, vectors = np.linalg.eigh(h)
    c = 1 - eta * values
    powers = sum(((k - j) * c**j for j in range(1, k)), np.zeros(len(c)))
    return np.asarray((vectors * ((k + 2 * powers) / (k * k * (1 - c * c)))) @ vectors.T)


def _symmetric(rng: np.random.Generator, spread: float, p: int) -> Array:
    """Return a symmetric matrix of noise: the distinct entries of a matrix whose Frobenius norm is bounded."""
    upper = np.triu(rng.normal(0.0, spread, (p, p)))
    return np.asarray(upper + np.triu(upper, 1).T)


def _positive(matrix: Array, least: float) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)
