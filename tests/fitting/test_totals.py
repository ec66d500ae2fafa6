"""Fits of releases with noisy totals beside the records."""

import math

import numpy as np
import pytest

import versadp as vdp
from versadp.correction.calibrated_release import calibration_of
from versadp.correction.uniform_points import uniform_points
from versadp.noise import Window
from versadp_tests.totals import law_of, released, schema_of

SCHEMA = schema_of({"x": 8, "z": 6, "y": 2}, nullable=("z",))
MU = 0.17  # half of the budget of (1, 1e-6)


def people(rng, rows, *, missing=0.0):
    x = np.clip(np.rint(3.5 + 1.5 * rng.standard_normal(rows)), 0, 7)
    z = np.clip(np.rint(2.5 + 0.4 * (x - 3.5) + rng.standard_normal(rows)), 0, 5)
    y = (rng.random(rows) < 1 / (1 + np.exp(-(x - 3.5) / 2 + (z - 2.5) / 3))).astype(float)
    z[rng.random(rows) < missing] = np.nan
    return {"x": x, "z": z, "y": y}


def mechanism(layout="joint"):
    columns = list(SCHEMA.columns)
    groups = [tuple(columns)] if layout == "joint" else [("x",), ("z", "y")]
    return vdp.Mechanism(SCHEMA, noise={names: Window(4.9) for names in groups})


def raw(formula, content, loss):
    """Return the fit of records without noise, by Newton's method."""
    left, right = (side.strip() for side in formula.split("~"))
    keep = np.isfinite(np.stack([content[name] for name in content])).all(axis=0)
    design = np.column_stack([np.ones(keep.sum()), *(content[name][keep] for name in right.split(" + "))])
    y, theta = content[left][keep], np.zeros(design.shape[1])
    if loss == "squared":
        return np.linalg.lstsq(design, y, rcond=None)[0]
    for _ in range(30):
        mean = 1 / (1 + np.exp(-design @ theta))
        theta += np.linalg.solve((design * (mean * (1 - mean))[:, None]).T @ design, design.T @ (y - mean))
    return theta


@pytest.mark.parametrize("layout", ["joint", "apart"])
@pytest.mark.parametrize(("formula", "loss"), [("x ~ z + y", "squared"), ("y ~ x + z", "logistic")])
def test_totals_bring_estimates_nearer_to_those_without_noise(layout, formula, loss):
    errors = {True: [], False: []}
    mech = mechanism(layout)
    for turn in range(3):
        rng = np.random.default_rng([7, turn])
        content = people(rng, 4000, missing=0.05)
        truth = raw(formula, content, loss)
        for totals in (True, False):
            release = released(
                mech, content, np.random.default_rng([8, turn]), law=law_of(mech, 3 * MU) if totals else None
            )
            result = vdp.fit(release, formula, loss=loss)
            assert result.converged
            assert ("used: worth" in result.header.get("totals", "")) is totals
            errors[totals].append(np.asarray(result.bse))
            off = (np.asarray(result.params) - truth) / errors[totals][-1]
            assert np.abs(off).max() < 4.5
    ratio = np.mean(errors[True], axis=0) / np.mean(errors[False], axis=0)
    assert (ratio < (0.8 if layout == "joint" else 0.95)).all()


def test_precise_totals_give_what_exact_moments_give():
    """With hardly any noise in the totals, least squares of their columns is that of the records without noise.

    But for what the closed form of the fit and the least-variance inverse of the totals differ by.
    """
    rng = np.random.default_rng(3)
    content, mech = people(rng, 3000), mechanism()
    release = released(mech, content, rng, law=law_of(mech, 500.0))
    result = vdp.fit(release, "x ~ y")
    assert np.allclose(np.asarray(result.params), raw("x ~ y", content, "squared"), atol=1e-2)
    without = vdp.fit(released(mech, content, rng), "x ~ y")
    assert np.abs(np.asarray(without.params) - raw("x ~ y", content, "squared")).max() > 0.03


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"method": "drcl"}, "method 'efficient'"),
        ({"weights": np.linspace(0.5, 1.5, 2000)}, "weights"),
        ({"cov_type": "cluster", "groups": "team"}, "clusters"),
        ({"subset": "team > 1"}, "subset"),
        ({"formula": "x ~ z + team"}, "public column 'team'"),
    ],
)
def test_summary_says_why_totals_are_not_used(how, why):
    rng = np.random.default_rng(5)
    content = people(rng, 2000)
    columns = dict(SCHEMA.columns) | {"team": vdp.Public()}
    mech = vdp.Mechanism(vdp.Schema(columns), noise={("x", "z", "y"): Window(4.9)})
    release = released(mech, content, rng, law=law_of(mech, MU), public={"team": rng.integers(0, 5, 2000)})
    result = vdp.fit(release, **({"formula": "x ~ z"} | how))
    assert result.header["totals"].startswith("not used: ")
    assert why in result.header["totals"]


def test_a_release_without_totals_says_nothing_of_them():
    rng = np.random.default_rng(6)
    result = vdp.fit(released(mechanism(), people(rng, 2000), rng), "x ~ z")
    assert "totals" not in result.header


def test_points_are_a_mean_over_the_lattice():
    """Means over points of products of two columns, against means over all lattice points."""
    rng = np.random.default_rng(9)
    release = released(mechanism(), people(rng, 500), rng, law=law_of(mechanism(), MU))
    laws = calibration_of(release).features.laws
    every = uniform_points(laws, laws, (), (10**6, 1))
    some = uniform_points(laws, laws, (), (0, 2**12))
    assert every.size == math.prod(law.size for law in laws.values())
    for points in (every, some):
        values = {name: points.codes[name] / (laws[name].size - 1) for name in laws}
        assert abs(points.mass @ (values["x"] * values["z"]) - 0.25) < (1e-12 if points is every else 5e-3)


def test_answers_by_the_records_alone_say_so():
    rng = np.random.default_rng(11)
    content, mech = people(rng, 3000), mechanism()
    release = released(mech, content, rng, law=law_of(mech, MU))
    result = vdp.fit(release, "y ~ x + z", loss="logistic")
    without = vdp.fit(vdp.Release(release.frame, mech), "y ~ x + z", loss="logistic")
    with pytest.warns(vdp.errors.TotalsWarning, match="averages"):
        slopes = result.avg_slopes()
    assert str(slopes) == str(without.avg_slopes())
    with pytest.raises(vdp.errors.EstimationError, match="cannot be updated"):
        result.update(release)
    assert "not used" in vdp.fit(release, loss=vdp.losses.Quantile("x", 0.5)).header["totals"]
    with pytest.warns(vdp.errors.TotalsWarning, match="signed sample"):
        release.augment(draws=1)
    learner = vdp.LogisticRegression(mechanism=mech).fit(vdp.Release(release.frame, mech), "y")
    with pytest.warns(vdp.errors.TotalsWarning, match="scores of learners"):
        vdp.corrected_score(learner, release, "y", metric="neg_brier_score")
