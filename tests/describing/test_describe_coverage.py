"""Intervals of `describe` over 20 distributions: skewed, lumpy, discrete, with atoms, under two kinds of noise.

One release has a column of each, with noise of its own. Truth is a sample of four million.
"""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.noise import Window, ZeroInflated

N, REPS = 4000, 200
WHOLE = {"whole even", "whole skewed", "coin", "rare coin", "counts"}
TAUS = (0.25, 0.5, 0.75)


def samples(rng, n):
    """Return 20 columns on [0, 1], those of `WHOLE` on multiples of 0.1."""
    u, normal = rng.random((3, n)), rng.normal(size=(4, n))
    clip = np.clip
    return {
        "even": u[0],
        "normal": clip(0.5 + 0.15 * normal[0], 0, 1),
        "narrow": clip(0.4 + 0.06 * normal[1], 0, 1),
        "beta skewed": rng.beta(1.2, 4, n),
        "beta skewed up": rng.beta(5, 1.5, n),
        "u-shaped": rng.beta(0.5, 0.5, n),
        "log-normal": clip(0.15 * np.exp(0.6 * normal[2]), 0, 1),
        "exponential": clip(rng.exponential(0.2, n), 0, 1),
        "gamma": clip(rng.gamma(2, 0.12, n), 0, 1),
        "pareto": clip(0.1 * u[1] ** (-1 / 2.5), 0, 1),
        "triangle": rng.triangular(0, 0.3, 1, n),
        "two hills": clip(np.where(u[2] < 0.4, 0.25, 0.7) + 0.08 * normal[3], 0, 1),
        "three hills": clip(rng.choice([0.2, 0.5, 0.8], n) + 0.05 * rng.normal(size=n), 0, 1),
        "laplace": clip(rng.laplace(0.5, 0.1, n), 0, 1),
        "atom at 0": np.where(rng.random(n) < 0.1, 0.0, rng.beta(2, 3, n)),
        "whole even": rng.integers(0, 11, n) / 10,
        "whole skewed": rng.binomial(10, 0.25, n) / 10,
        "coin": (rng.random(n) < 0.4) * 1.0,
        "rare coin": (rng.random(n) < 0.1) * 1.0,
        "counts": np.minimum(rng.poisson(2.5, n), 10) / 10,
    }


def truths():
    """Return mean, sd and quantiles of each."""
    big = samples(np.random.default_rng(99), 4_000_000)
    return {name: (x.mean(), x.std(), *np.quantile(x, TAUS, method="inverted_cdf")) for name, x in big.items()}


def mechanism(kind):
    columns = {n: vdp.Bounded(0, 1, step=0.1 if n in WHOLE else None) for n in samples(np.random.default_rng(0), 2)}
    spec = Window(epsilon=4) if kind == "window" else ZeroInflated(scale=0.3, exact_rate=0.2)
    return vdp.Mechanism(vdp.Schema(columns), noise=dict.fromkeys(columns, spec))


def coverage(kind, reps, seed=7):
    """Return how often intervals hold the truth: by distribution, of mean, sd and quartiles."""
    known, mech, rng = truths(), mechanism(kind), np.random.default_rng(seed)
    hits = {name: np.zeros(5) for name in known}
    for _ in range(reps):
        described = vdp.describe(mech.release(pd.DataFrame(samples(rng, N))), quantiles=TAUS)
        for name, true in known.items():
            column = described[name]
            found = (column.mean, column.sd, *column.quantiles.values())
            hits[name] += [each.low - 1e-9 <= t <= each.high + 1e-9 for each, t in zip(found, true, strict=True)]
    return {name: each / reps for name, each in hits.items()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["window", "zil"])
def test_intervals_cover_over_twenty_distributions(kind):
    found = coverage(kind, REPS)
    table = pd.DataFrame(found, index=["mean", "sd", *map(str, TAUS)]).T
    # 95% has a standard deviation of 1.5% in 200 runs: below 87% once in 1e6, and there are 200 figures
    assert (table > 0.87).all(axis=None), table.to_string()
    # taken together they are near their level; quantiles of whole numbers hold the truth more often
    smooth = table.loc[[name for name in table.index if name not in WHOLE]]
    assert (smooth.mean() > 0.92).all(), smooth.to_string()
    assert (smooth[["mean", "sd"]].mean() < 0.985).all(), smooth.to_string()  # of quantiles see docs/theory/describe.md
