"""Section 6: asymptotic variances of SL, DRCL and sDRCL in linear regression, and where they cross.

With D = I, W = lambda² |t|² S + sigma² lambda² I + 2 lambda⁴ |t|² I + (2 + delta) lambda⁴ tt', S = E XX':

    SL   S⁻¹ (sigma² S + lambda² |t|² S + sigma² lambda² I + 2 lambda⁴ |t|² I + 3 lambda⁴ tt') S⁻¹
    DR   SL - (2 - 1/delta) S⁻¹ W S⁻¹          sDR   SL - delta S⁻¹ W S⁻¹

so DR and SL cross at delta = 1/2, and sDR is never above either. `simulated` estimates the same variances from the
corrected scores at the truth, which needs no fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from versadp_experiments.cells import Cell
from versadp_experiments.sampling import noised, truncated_normal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DIM, NOISE, SIGMA = 3, 1.0, 1.0
RATES = (0.1, 0.25, 0.5, 0.75, 0.9)
METHODS = ("SL", "sDR", "DR")


def covariance(bound: float = 1.0) -> float:
    """Return the variance of a normal number truncated to [-bound, bound].

    Examples
    --------
    >>> round(covariance(), 4)
    0.2911
    """
    density = np.exp(-(bound**2) / 2) / (2 * np.pi) ** 0.5
    return float(1 - 2 * bound * density / (2 * ndtr(bound) - 1))


def variances(rate: float, noise: float = NOISE, sigma: float = SIGMA) -> dict[str, float]:
    """Return the asymptotic variance of the first coefficient (all are alike) by each method.

    Examples
    --------
    >>> v = variances(0.5)
    >>> abs(v["SL"] - v["DR"]) < 1e-12, v["sDR"] < v["SL"]
    (True, True)
    """
    theta, s = np.ones(DIM), covariance() * np.eye(DIM)
    norm, outer, unit = float(theta @ theta), np.outer(theta, theta), np.eye(DIM)
    square = noise**2
    common = square * norm * s + sigma**2 * square * unit + 2 * square**2 * norm * unit
    inverse = np.linalg.inv(s)
    sl = inverse @ (sigma**2 * s + common + 3 * square**2 * outer) @ inverse
    w = inverse @ (common + (2 + rate) * square**2 * outer) @ inverse
    found = {"SL": sl, "sDR": sl - rate * w, "DR": sl - (2 - 1 / rate) * w}
    return {name: float(v[0, 0]) for name, v in found.items()}


def simulated(rate: float, draws: int, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """Return the same from corrected scores at the truth, with Monte Carlo errors."""
    x = truncated_normal(rng, (draws, DIM), 1.0)
    y = x.sum(axis=1) + SIGMA * rng.standard_normal(draws)
    x1, x2 = noised(x, Cell("linear", draws, 0, NOISE, rate), rng)
    theta, square = np.ones(DIM), NOISE**2
    at1, at2 = (-(y - m @ theta)[:, None] * m for m in (x1, x2))
    scores = {
        "SL": at2 - square * theta,
        "sDR": at1 - (1 - rate) * square * theta,
        "DR": at1 / rate + (1 - 1 / rate) * at2,
    }
    found = {}
    for name, score in scores.items():
        each = (score[:, 0] / covariance()) ** 2
        found[name] = float(each.mean()), float(each.std() / draws**0.5)
    return found


def rows(draws: int, seed: int) -> list[dict[str, Any]]:
    """Return closed forms beside simulated variances, and whether they agree within 3 Monte Carlo errors."""
    out = []
    for rate in RATES:
        drawn = simulated(rate, draws, np.random.default_rng([seed, int(1000 * rate)]))
        for name, value in variances(rate).items():
            ours, error = drawn[name]
            agree = "yes" if abs(ours - value) <= 3 * error else "NO"
            out.append({"delta": rate, "method": name, "published": value, "ours": ours, "+-": error, "agrees": agree})
    return out
