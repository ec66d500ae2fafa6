"""The test of independence keeps its size under noise, and finds what raw records would show."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

import versadp as vdp
from versadp.noise import Response, Window

A, B = list("wxyz"), list("pqr")
COLUMNS = {"a": vdp.Categorical(A), "b": vdp.Categorical(B), "age": vdp.Bounded(18, 90, step=1)}
NOISE = {
    "one window": {("a", "b", "age"): Window(6.0)},
    "windows": {"a": Response(0.6), "b": Response(0.6), "age": Window(4.0)},
}
BINS = {"age": [18, 30, 50, 70, 90]}
N = 2000


def people(rng, n, tied=0.0):
    """Return records whose columns are independent, but for a share of them."""
    a, b = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1]), rng.choice(3, n, p=[0.6, 0.3, 0.1])
    age = rng.integers(18, 91, n).astype(float)
    same = rng.random(n) < tied
    b = np.where(same, np.minimum(a, 2), b)
    return pd.DataFrame({"a": np.array(A)[a], "b": np.array(B)[b], "age": age})


def rejected(kind, other, reps, tied=0.0, n=N):
    """Return how often independence is rejected: by the test, and by Pearson's of the released records."""
    mechanism, rng = vdp.Mechanism(vdp.Schema(COLUMNS), noise=NOISE[kind]), np.random.default_rng(8)
    out = np.zeros(2)
    for _ in range(reps):
        release = mechanism.release(people(rng, n, tied), shuffle=False)
        bins = {name: edges for name, edges in BINS.items() if name == other}
        out[0] += vdp.table(release, "a", other, bins=bins, engine="serial").test().rejects
        frame = release.frame
        shown = frame[other] if other != "age" else pd.cut(frame["age"].clip(18, 90), [18, 30, 50, 70, 91], right=False)
        out[1] += chi2_contingency(pd.crosstab(frame["a"], shown)).pvalue < 0.05
    return out / reps


@pytest.mark.slow
@pytest.mark.parametrize("other", ["b", "age"])
@pytest.mark.parametrize("kind", NOISE)
def test_size_is_five_percent(kind, other):
    found, released = rejected(kind, other, 2000)
    # 5% has a standard deviation of 0.5% in 2000 runs
    assert 0.03 < found < 0.07
    if (kind, other) == ("one window", "b"):  # kept and redrawn records are two kinds, which ties what is released
        assert released > 0.15


@pytest.mark.slow
def test_ties_are_found():
    power = [rejected("one window", "b", 200, tied)[0] for tied in (0.0, 0.05, 0.2)]
    assert power[0] < 0.12 < power[2]
    assert power[2] > 0.9
