"""Figure 1: trade-off curves, exact and simulated as in the paper, and the calibration of its panel (b).

Exact curves come from `versadp.privacy`. The paper drew T_{2, 0.5, 0.05} and T_{4, 0.5, 0.05} from 10⁵ simulated log
likelihood ratios; so does `simulated`, whose error at alpha is about sqrt(beta (1-beta) / draws) from the type II error
plus |slope| sqrt(alpha (1-alpha) / draws) from the threshold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import privacy
from versadp.noise import SymmetricLaplace
from versadp_experiments.printed import as_figure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]

SHIFT, RATE, DRAWS = 0.5, 0.05, 100_000
ENVELOPES = (0.5, 0.7, 0.9, 1.2, 1.6, 2.1, 2.8)
SHIFTS = (0.2, 0.5, 0.8, 1.0)
TARGET = (0.8, 0.17)


def exact(dim: int | None, shift: float = SHIFT, rate: float = RATE) -> PrivacyProfile:
    """Return T_{dim, shift, rate}, or its limit if dim is None."""
    base = privacy.symmetric_laplace_limit(shift) if dim is None else privacy.symmetric_laplace(dim, shift)
    return privacy.zero_inflated(base, rate) if rate else base


def simulated(dim: int, alpha: Array, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the simulated trade-off of SL noise at `alpha`, inflated, and its Monte Carlo error."""
    law = SymmetricLaplace(np.eye(dim))
    move = np.zeros(dim)
    move[0] = SHIFT

    def ratio(x: Array) -> Array:
        return law.logpdf(x - move) - law.logpdf(x)

    under_p, under_q = np.sort(ratio(law.rvs(draws, rng))), np.sort(ratio(law.rvs(draws, rng) + move))
    level = np.minimum(alpha / (1 - RATE), 1.0)
    threshold = np.quantile(under_p, 1 - level)
    beta = np.searchsorted(under_q, threshold) / draws
    slope = np.exp(threshold)  # -d beta / d alpha is the likelihood ratio at the threshold
    error = np.sqrt(beta * (1 - beta) / draws) + slope * np.sqrt(level * (1 - level) / draws)
    return (1 - RATE) * beta, (1 - RATE) * error


def panel_a(reps: int, seed: int) -> list[dict[str, Any]]:
    """Return exact and simulated curves at some alpha, and whether they agree within 3 Monte Carlo errors."""
    alpha = np.array([0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
    limit, rows = exact(None).beta(alpha), []
    for dim in (2, 4):
        curve = exact(dim).beta(alpha)
        drawn, error = simulated(dim, alpha, reps, np.random.default_rng([seed, dim]))
        rows += [
            {
                "curve": f"T_{{{dim},0.5,0.05}}",
                "alpha": float(a),
                "exact": float(e),
                "simulated": float(s),
                "+-": float(m),
                "agrees": "yes" if abs(e - s) <= 3 * m else "NO",
                "limit": float(b),
            }
            for a, e, s, m, b in zip(alpha, curve, drawn, error, limit, strict=True)
        ]
    return rows


def panel_b() -> list[dict[str, Any]]:
    """Return the shift that meets (0.8, 0.17) at exact rate 0.05: the paper's by the limit, and the exact ones."""
    figure = as_figure("0.5")
    rows: list[dict[str, Any]] = []
    for dim in (None, 1, 2, 4, 6):
        shift = _solved(dim)
        rows.append(
            {
                "curve": "limit (the paper's rule)" if dim is None else f"exact, d = {dim}",
                "published c'": figure.value if dim is None else None,
                "ours": shift,
                "agrees": None if dim else "yes" if abs(shift - figure.value) <= figure.half_digit else "NO",
                "noise that the limit adds": shift / rows[0]["ours"] - 1 if rows else 0.0,
            }
        )
    return rows


def _solved(dim: int | None) -> float:
    if dim is None:
        return float(privacy.solve_parameter(lambda c: exact(None, c), privacy.target(*TARGET), 1e-3, 10.0))
    return float(privacy.solve_shift(dim, *TARGET, RATE))
