"""`Release.augment` of windows: weighted sums of a function have its true mean in expectation, for all blocks."""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.noise import Window

N = 20_000
COLUMNS = {
    "a": vdp.Bounded(0, 4, step=1, nullable=True),
    "b": vdp.Bounded(-1, 1, step=0.5),
    "c": vdp.Categorical(["u", "v", "w"]),
}
NOISE = {
    "columns": {"a": Window(3.0, window=2), "b": Window(3.0, window=1), "c": Window(2.0)},
    "joint": {("a", "b", "c"): Window(5.0, window={"a": 2, "b": 2})},
    "product": {("a", "c"): Window(4.0, window=2), "b": Window(3.0, window=2)},
}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(11)
    a = rng.binomial(4, 0.3, N).astype(float)
    a[rng.random(N) < 0.15] = np.nan
    return pd.DataFrame({"a": a, "b": rng.integers(-2, 3, N) / 2, "c": rng.choice(list("uvw"), N, p=[0.6, 0.3, 0.1])})


def functions(frame):
    a, b, c = frame["a"].to_numpy(float), frame["b"].to_numpy(float), frame["c"].to_numpy()
    known = np.nan_to_num(a)
    return np.stack([known, np.exp(known * b), np.isnan(a) * (c == "u"), (c == "v") * b**2, (known > 1) * (b > 0)])


def worst(sample, people):
    """Return the largest of |mean difference| over its standard error."""
    frame, weight, record = sample
    here = np.stack([np.bincount(record, weight * each, minlength=N) for each in functions(frame)])
    away = here - functions(people)
    return np.abs(away.mean(axis=1) / (away.std(axis=1) / np.sqrt(N))).max()


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", list(NOISE))
def test_weighted_sums_have_the_true_mean(kind, people):
    """Five functions, three products: a false alarm at 5.5 standard errors is once in 1e6."""
    release = vdp.Mechanism(vdp.Schema(COLUMNS), noise=NOISE[kind]).release(people, shuffle=False)
    frame, weight, record = release.augment(draws=4, return_record=True, random_state=1)
    assert worst((frame, weight, record), people) < 5.5
    assert worst((frame, np.where(weight > 0, 1.1 * weight, weight), record), people) > 5.5
