"""How residuals of a line lie, from corrected waves: their distribution function, and how many records tell of it.

    f(e) = (1/P) Σ_m shrink_m phi(2πm/P) e^{-i 2πm e/P},     phi(t) = mean of the corrected e^{it(y - u)},

P a period beyond all residuals, up to where phi is lost in its own sampling error s: `shrink = 1 - s²/|phi|²`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.terms import Layers, Terms

    Array = NDArray[np.float64]

LONGER = 1.25
WAVES, ROWS, PLACES = 160, 20_000, 1000
SEEN = 2.0  # sampling errors that a wave must stand out by


def distribution_of(form: Terms, seen: Layers, theta: Array, reach: tuple[float, float]) -> tuple[Array, Array, float]:
    """Return values of residuals, the share of records below each, and how many raw records would tell as much.

    Parameters
    ----------
    form : Terms
    seen : Layers
        Some records.
    theta : array (p,)
        Of the line.
    reach : tuple of float
        Between which `u - y` lies.
    """
    low, high = -reach[1], -reach[0]
    period, n = LONGER * (high - low), len(seen.m)
    some = np.arange(n) if n <= ROWS else np.random.default_rng(1).choice(n, ROWS, replace=False)
    tau = 2 * np.pi / period * np.arange(1.0, WAVES + 1)
    share = np.ones(len(some)) if seen.weight is None else seen.weight[some] / seen.weight[some].mean()
    at, density = np.linspace(low, high, PLACES), np.ones(PLACES)
    told = float(len(some))
    train = form.train(theta, -1.0)
    for frequency in np.array_split(tau, 20):
        waves = share[:, None] * np.conj(form.waves(seen, theta, frequency, some, train))
        phi, error = waves.mean(axis=0), waves.var(axis=0) / len(some)
        kept = np.cumprod(np.abs(phi) ** 2 > SEEN**2 * error)
        shrink = kept * (1 - error / np.maximum(np.abs(phi) ** 2, 1e-300))
        density += 2 * (np.exp(-1j * np.multiply.outer(at, frequency)) @ (shrink * phi)).real
        told = min(told, 1 / float(error[0])) if frequency[0] == tau[0] else told
        if not kept[-1]:
            break
    total = np.cumsum(np.maximum(density, 0.0))
    return at, total / total[-1], told * n / len(some)
