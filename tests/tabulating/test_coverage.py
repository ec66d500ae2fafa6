"""Intervals of tables hold the truth as often as they say: counts, shares, means, medians; three kinds of noise.

People have a region, an age with a tenth of them at 40, and a skewed income that depends on both. Truth is a sample of
two million.
"""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.noise import Response, Window, ZeroInflated

N, REPS = 6000, 200
BINS = [18, 30, 50, 90]
COLUMNS = {
    "region": vdp.Categorical(["n", "e", "s", "w"]),
    "age": vdp.Bounded(18, 90, step=1),
    "income": vdp.Bounded(0, 100),
}
NOISE = {
    "one window": {("region", "age", "income"): Window(9.0)},
    "windows": {"region": Response(0.7), "age": Window(5.0), "income": Window(5.0)},
    "zero-inflated": {"region": Response(0.7), ("age", "income"): ZeroInflated(scale=0.3, exact_rate=0.3)},
}


def people(rng, n):
    region = rng.choice(4, n, p=[0.4, 0.35, 0.2, 0.05])
    age = np.where(rng.random(n) < 0.1, 40, np.floor(18 + 73 * rng.beta(1.5, 2.5, n)))
    income = np.clip(np.exp(rng.normal(2.6 + 0.15 * region + 0.005 * age, 0.6, n)), 0, 100)
    return pd.DataFrame({"region": np.array(list("nesw"))[region], "age": age, "income": income})


def truth():
    frame = people(np.random.default_rng(99), 2_000_000)
    cut = pd.cut(frame["age"], [18, 30, 50, 91], right=False)
    groups = frame.groupby(["region", cut], observed=True)["income"]
    share = groups.size() / len(frame)
    within = share / share.groupby("region").transform("sum")
    return np.stack([s.reindex(list("nesw"), level=0) for s in (share, within, groups.mean(), groups.median())])


def coverage(kind, reps, n=N, seed=11):
    """Return how often the intervals of each statistic hold the truth, (statistics, cells)."""
    known, rng, hits = truth(), np.random.default_rng(seed), 0
    mechanism = vdp.Mechanism(vdp.Schema(COLUMNS), noise=NOISE[kind])
    for _ in range(reps):
        release = mechanism.release(people(rng, n), shuffle=False)
        found = vdp.table(
            release,
            "region",
            "age",
            bins={"age": BINS},
            values="income",
            quantiles=[0.5],
            margins=False,
            engine="serial",
        )
        each = [found.estimates(name) for name in ("share", "row share", "mean", "50%")]
        low, high = (np.stack([getattr(e, end)[:12] for e in each]) for end in ("low", "high"))
        hits = hits + ((low <= known) & (known <= high))
    return hits / reps


@pytest.mark.slow
@pytest.mark.parametrize("kind", NOISE)
def test_intervals_of_tables_hold_the_truth(kind):
    found = coverage(kind, REPS)
    # 95% has a standard deviation of 1.5% in 200 runs: below 87.5% once in 1e6, and there are 144 figures
    assert (found > 0.87).all(), found.round(3)
    assert (found.mean(axis=1) > 0.93).all(), found.mean(axis=1)
    assert (found[:2].mean(axis=1) < 0.97).all(), found.mean(axis=1)  # those of counts are no wider than they say


def test_counts_of_released_records_do_not_cover():
    rng, known, hits = np.random.default_rng(3), truth()[0], 0
    mechanism = vdp.Mechanism(vdp.Schema(COLUMNS), noise=NOISE["windows"])
    for _ in range(5):
        frame = mechanism.release(people(rng, N), shuffle=False).frame
        cut = pd.cut(frame["age"].clip(18, 90), [18, 30, 50, 91], right=False)
        share = (frame.groupby(["region", cut], observed=True).size() / N).reindex(list("nesw"), level=0).to_numpy()
        hits = hits + (np.abs(share - known) < 1.96 * np.sqrt(share * (1 - share) / N))
    assert (hits / 5).mean() < 0.6
