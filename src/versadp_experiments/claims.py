"""The claims of sections 3 and 5, checked by numbers: each row says what was claimed and what was found."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import privacy
from versadp_experiments import means
from versadp_experiments.cells import Cell
from versadp_experiments.printed import STATED_REPS, published
from versadp_experiments.sampling import noised
from versadp_experiments.tradeoffs import exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ALPHA = np.linspace(0.0, 1.0, 201)
DIMS = (1, 2, 3, 4, 6, 10, 20, 50)
_ROUNDING = 1e-7


def _row(claim: str, expected: Any, ours: float, agree: bool, error: float | None = None) -> dict[str, Any]:
    return {"claim": claim, "expected": expected, "ours": ours, "+-": error, "agrees": "yes" if agree else "NO"}


def _largest(found: Array, bound: Array) -> float:
    """Return by how much a curve is above a bound, at most."""
    return float(np.max(found - bound))


def tradeoff_rows() -> list[dict[str, Any]]:
    """Check section 3: order in c and d, shape, and the limit."""
    by_dim = {d: exact(d).beta(ALPHA) for d in DIMS}
    by_shift = [exact(4, c).beta(ALPHA) for c in (0.2, 0.5, 1.0, 2.0)]
    limit, rows = exact(None).beta(ALPHA), []
    above = max(_largest(b, a) for a, b in pairwise(by_shift))
    rows.append(_row("T falls as c grows (d = 4): largest excess", "<= 0", above, above <= _ROUNDING))
    above = max(_largest(by_dim[b], by_dim[a]) for a, b in pairwise(DIMS))
    rows.append(_row("T falls as d grows (c = 0.5): largest excess", "<= 0", above, above <= _ROUNDING))
    bend = min(float(np.diff(curve, 2).min()) for curve in by_dim.values())
    rows.append(_row("T is convex: least second difference", ">= 0", bend, bend >= -_ROUNDING))
    above = max(_largest(curve, 1 - ALPHA) for curve in by_dim.values())
    rows.append(_row("T is at most 1 - alpha: largest excess", "<= 0", above, above <= _ROUNDING))
    curve = exact(4, rate=0.0)
    back = float(np.abs(curve.beta(curve.beta(ALPHA[1:-1])) - ALPHA[1:-1]).max())
    rows.append(_row("T is its own inverse (d = 4): largest difference", 0.0, back, back <= 1e-6))
    below = max(_largest(limit, curve) for curve in by_dim.values())
    rows.append(_row("T is at least its limit: largest shortfall", "<= 0", below, below <= _ROUNDING))
    gaps = [float(np.abs(by_dim[d] - limit).max()) for d in DIMS]
    for d, gap, before in zip(DIMS, gaps, [np.inf, *gaps[:-1]], strict=True):
        rows.append(
            _row(f"distance from the limit at d = {d} (c = 0.5, delta = 0.05)", "falls to 0", gap, gap < before)
        )
    return rows


def guarantee_rows() -> list[dict[str, Any]]:
    """Check the guarantees that the paper names for its settings, by exact curves at the attribute level."""
    rows = []
    for noise, rate, stated in ((0.94, 0.1, 1.5), (1.4, 0.05, 1.0), (1.2, 0.05, 1.0)):
        epsilon = float(privacy.zero_inflated(privacy.symmetric_laplace(1, 1 / noise), rate).epsilon(rate))
        claim = f"Table 1, lambda = {noise:g}: epsilon at delta = {rate:g}"
        rows.append(_row(claim, stated, epsilon, abs(epsilon - stated) < 0.05))
    for table, noise, width, label in (
        ("Table 2", 0.5, 1.0, 4.0),
        ("Table 2", 1.0, 1.0, 2.0),
        ("Table 3", 2.0, 2.0, 2.0),
        ("Table 3", 2.5, 2.0, 0.8),
    ):
        shift = width / noise
        rows.append(_row(f"{table}, lambda = {noise:g}: c of its T_{{6,c,0.2}}", label, shift, shift == label))
    for d in (16, 256, 4096):
        beta = float(exact(None, shift=0.5 * d**0.5, rate=0.0).beta(0.1))
        rows.append(
            _row(f"record level at fixed noise, c = sqrt(d)/2, d = {d}: beta(0.1)", "falls to 0", beta, beta < 0.5)
        )
    return rows


def oracle_rows() -> list[dict[str, Any]]:
    """Check Table 1's oracle, whose RMSE is sd / sqrt(n) exactly, against 5,000 replications and rounding."""
    spread = {"relu": 12**-0.5, "indicator": 0.5, "absolute_sine": (0.5 - 4 / np.pi**2) ** 0.5}
    rows = []
    for key, figure in published("table1").items():
        if key.method == "Oracle":
            value = float(spread[key.column] / key.n**0.5)
            error = value / (2 * STATED_REPS) ** 0.5
            agree = abs(value - figure.value) <= 3 * error + figure.half_digit
            claim = f"Table 1's oracle, n = {key.n}, block {key.block + 1}, {key.column}: printed, and exact"
            rows.append(_row(claim, figure.value, value, agree, error))
    return rows


def correction_rows(draws: int, seed: int) -> list[dict[str, Any]]:
    """Check section 5: DRCL is unbiased, loses against the oracle, and loses nothing as delta -> 1 or lambda -> 0."""
    rng, rows = np.random.default_rng([seed, 5]), []
    for noise, rate in ((0.94, 0.1), (1.2, 0.05), (1.0, 0.5), (1.0, 0.99), (1.0, 0.9999), (0.01, 0.5), (1e-4, 0.5)):
        x = rng.random((draws, 1))
        x1, x2 = noised(x, Cell("table1", draws, 0, noise, rate), rng)
        for name, f in means.FUNCTIONS.items():
            terms = f.value(x1[:, 0]) / rate + (1 - 1 / rate) * f.value(x2[:, 0])
            mean, error = float(terms.mean()), float(terms.std() / draws**0.5)
            where = f"{name}, delta = {rate:g}, lambda = {noise:g}"
            if rate <= 0.1:
                rows.append(_row(f"DRCL's mean, {where}", f.mean, mean, abs(mean - f.mean) <= 4 * error, error))
            raw = f.value(x[:, 0])
            ratio = float(terms.var() / raw.var())
            chance = 4 * _ratio_error(terms, raw)
            near = 1.0 if max(rate, 1 - noise) < 0.99 else 0.1 if max(rate, 1 - noise) < 0.999 else 0.005
            least = near == 1.0 or abs(ratio - 1) <= chance + near
            claim = f"variance of DRCL over the oracle's, {where}"
            rows.append(_row(claim, ">= 1", ratio, ratio >= 1 - chance and least, chance / 4))
    return rows


def _ratio_error(terms: Array, raw: Array) -> float:
    """Return the Monte Carlo error of a ratio of variances of paired terms."""
    a, b = (terms - terms.mean()) ** 2, (raw - raw.mean()) ** 2
    return float((a / b.mean() - b * a.mean() / b.mean() ** 2).std() / len(raw) ** 0.5)
