"""One total budget over m analyses: what each may spend.

Gaussian noise composes exactly, mu/sqrt(m) each. A pure method of which no more is known (objective perturbation) may
spend the largest epsilon whose m-fold composition, exact for the worst mechanism of that epsilon (randomised response m
times), meets the total. The Laplace noise of a histogram is better than that: a record moves two counts, so its loss is
the sum of 2m losses, each of which is

    at most l with probability exp((l - e)/2)/2 for -e <= l < e = epsilon/2,       and e with probability 1/2,

rounded up to a grid and convolved here. That is never too little, and too much by less than a thousandth.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from versadp import privacy
from versadp_experiments.baselines.method import Budget


@lru_cache(maxsize=256)
def pure_share(total: Budget, m: int) -> Budget:
    """Return the pure budget of each of m analyses.

    Examples
    --------
    >>> round(pure_share(Budget(1.0, 1e-6), 100).epsilon, 3)
    0.024
    """
    if m == 1:
        return Budget(total.epsilon)
    goal = privacy.target(total.epsilon, total.delta)
    least, most = total.epsilon / m, min(total.epsilon, 600 / m)  # beyond, e^(m epsilon) is no number
    return Budget(
        privacy.solve_parameter(lambda e: privacy.approx_dp(e, 0.0).compose(m), goal, 0.9 * least, most, tolerance=1e-4)
    )


@lru_cache(maxsize=256)
def laplace_share(total: Budget, m: int) -> Budget:
    """Return the pure budget of each of m histograms, by the composition of their own noise.

    Examples
    --------
    >>> round(laplace_share(Budget(1.0, 1e-6), 100).epsilon, 3)
    0.034
    """
    least = pure_share(total, m).epsilon
    if m == 1:
        return Budget(least)
    room = math.log(total.delta)
    most = brentq(lambda e: math.log(histogram_delta(e, m, total.epsilon)) - room, 0.9 * least, 3 * least, rtol=1e-4)
    return Budget(max(least, (1 - 2e-4) * float(most)))  # the root is right to a ten thousandth


def histogram_delta(each: float, m: int, epsilon: float) -> float:
    """Return delta at epsilon of m histograms of pure epsilon `each`, from above.

    Examples
    --------
    >>> histogram_delta(0.5, 1, 0.5) < 1e-12 < 0.1 < histogram_delta(0.5, 1, 0.0) < 0.2
    True
    """
    e, half, k = each / 2, max(50, 50_000 // m), 2 * m
    below = np.exp((np.arange(-half, half) / half - 1) * e / 2) / 2
    one = np.diff(np.concatenate([[0.0], below, [1.0]]))  # mass is moved up to the next of the losses -e, ..., e
    size = 1 << (k * 2 * half).bit_length()
    mass = np.maximum(np.fft.irfft(np.fft.rfft(one, size) ** k, size)[: k * 2 * half + 1], 0.0)
    loss = (np.arange(len(mass)) - k * half) * (e / half)
    above = loss > epsilon
    return max(float(mass[above] @ -np.expm1(epsilon - loss[above])), 1e-300)


@lru_cache(maxsize=256)
def gaussian_share(total: Budget, m: int) -> Budget:
    """Return an (epsilon, delta) budget of each of m analyses whose Gaussian noise composes to the total, exactly.

    Examples
    --------
    >>> total = Budget(1.0, 1e-6)
    >>> round(gaussian_share(total, 100).mu / total.mu, 6)
    0.1
    """
    if m == 1:
        return total
    mu = total.mu / m**0.5
    return Budget(max(float(privacy.gaussian(mu).epsilon(total.delta)), 1e-9), total.delta)
