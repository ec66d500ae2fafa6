"""Estimates from records and totals together, and people of a release with totals."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import versadp as vdp
from versadp.people.combined import combined_estimate, has_totals
from versadp.people.features import make_features
from versadp.people.people import read_axes
from versadp.people.targets import estimate
from versadp.people.tilt import Points

N = 20_000
NAMES = ["age", "visits", "region"]
SCHEMA = vdp.Schema(
    {
        "age": vdp.Bounded(20, 40, step=1),
        "visits": vdp.Bounded(0, 8, step=1),
        "region": vdp.Categorical(["north", "south"]),
    }
)


@pytest.fixture(scope="module")
def raw():
    rng = np.random.default_rng(0)
    age = np.clip(np.rint(rng.normal(30, 5, N)), 20, 40).astype(int)
    visits = np.clip(rng.poisson(1 + (age - 20) / 8), 0, 8)
    return pd.DataFrame({"age": age, "visits": visits, "region": np.where(rng.random(N) < age / 60, "north", "south")})


@pytest.fixture(scope="module")
def release(raw):
    return vdp.calibrate(SCHEMA, epsilon=1, delta=1e-6, shuffled=N, totals=True).release(raw)


def joint(axes, raw):
    """Return the points of the raw people, and their law."""
    place = [np.searchsorted(axis.points, raw[axis.name]) if axis.ordered else 0 for axis in axes]
    place[2] = (raw["region"] == "south").to_numpy().astype(int)
    at, count = np.unique(np.stack(place, axis=1), axis=0, return_counts=True)
    return Points(at.astype(np.int32), count / N)


def test_both_together_are_unbiased_and_better_than_records_alone(release, raw):
    axes, _ = read_axes(release, NAMES, "serial")
    law = joint(axes, raw)
    margins = [np.bincount(own, law.weight, axis.size) for own, axis in zip(law.at.T, axes, strict=True)]
    features = make_features(axes, margins, most=80, complete=True)
    found = combined_estimate(release, features, law)
    values = features.values(law.at)
    true = law.weight @ values
    sampling = (values * law.weight[:, None]).T @ values / N - np.outer(true, true) / N
    noise = found.cov - sampling
    off = found.mean - true
    ratio = off / np.sqrt(np.maximum(np.diag(noise), 1e-12))
    assert chi2(features.size).ppf(1e-5) / 2 < ratio @ ratio < 2 * chi2(features.size).ppf(1 - 1e-5)
    alone = estimate(release, features, "serial").mean - true
    assert np.median(np.abs(off)) < np.median(np.abs(alone)) / 2


@pytest.mark.full
def test_people_have_the_tables_of_the_totals(release, raw):
    assert has_totals(release, NAMES)
    assert not has_totals(release, [*NAMES, "year"])
    people = release.people()
    made = people.frame
    assert list(made.columns) == NAMES
    assert "no replicate weights" in people.description
    for a, b in (("age", "visits"), ("visits", "region")):
        one, other = (pd.crosstab(each[a], each[b], normalize=True) for each in (made, raw))
        assert one.sub(other, fill_value=0).abs().to_numpy().max() < 0.012
    assert abs(made["visits"].mean() - raw["visits"].mean()) < 0.03
