"""Absorbed fixed effects against dummies and demeaned regressions of statsmodels."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import versadp as vdp
from versadp.errors import EstimationError, ParameterError

BOUNDS = {"x": vdp.Bounded(-1, 2), "w": vdp.Bounded(0, 1), "y": vdp.Bounded(-12, 14)}


def people(n, groups, seed=0):
    rng = np.random.default_rng(seed)
    school, effect = rng.integers(0, groups, n), rng.normal(size=groups)
    x = np.clip(effect[school] / 6 + 0.5 + 0.4 * rng.normal(size=n), -1, 2)
    w = rng.uniform(0, 1, n)
    y = np.clip(2 * x + w + 2 * effect[school] + rng.normal(size=n), -12, 14)
    columns = {"x": x, "w": w, "y": y, "school": school, "year": rng.integers(2018, 2021, n)}
    return pd.DataFrame(columns | {"other": rng.uniform(0, 1, n)})


def release_of(data, noisy, epsilon=8.0):
    schema = vdp.Schema({name: noisy.get(name, vdp.Public()) for name in data})
    return vdp.Mechanism(schema, noise={name: vdp.noise.Window(epsilon=epsilon) for name in noisy}).release(data)


def public(data):
    return release_of(data, {"other": vdp.Bounded(0, 1)})


def test_few_groups_are_the_dummies_of_statsmodels():
    data = people(3000, 20)
    ours = vdp.fit(public(data), "y ~ x + w + C(year)", absorb="school")
    theirs = smf.ols("y ~ x + w + C(year) + C(school)", data).fit(cov_type="HC1")
    for name in ours.names:
        assert ours.params[name] == pytest.approx(theirs.params[name], rel=1e-8)
        assert ours.bse[name] == pytest.approx(theirs.bse[name], rel=1e-6)
    assert ours.anova()["C(year)"]["df"] == 2
    plain = vdp.fit(public(data), "y ~ x + w").params["x"]
    assert abs(plain - 2) > 5 * abs(ours.params["x"] - 2)  # schools differ


def test_many_groups_are_clusters_of_demeaned_columns():
    data = people(3000, 300)
    ours = vdp.fit(public(data), "y ~ x + w", absorb="school")
    columns = data[["x", "w", "y"]] - data.groupby("school")[["x", "w", "y"]].transform("mean")
    plain = smf.ols("y ~ x + w - 1", columns)
    theirs = plain.fit(cov_type="cluster", cov_kwds={"groups": data["school"]})
    np.testing.assert_allclose(ours.params.values, theirs.params.to_numpy(), rtol=1e-9)
    np.testing.assert_allclose(ours.bse.values, theirs.bse.to_numpy(), rtol=1e-6)


def test_noisy_columns_cover_the_fit_of_raw_records():
    data = people(6000, 1500)  # four records per school
    release = release_of(data, BOUNDS, epsilon=6.5)
    ours = vdp.fit(release, "y ~ x + w", absorb="school")
    assert ours.converged
    raw = vdp.fit(public(data), "y ~ x + w", absorb="school").params
    assert (np.abs(ours.params - raw) < 4 * ours.bse).all()
    naive = vdp.fit(release, "y ~ x + w", absorb="school", method="naive")
    assert not (np.abs(naive.params - raw) < 4 * naive.bse).all()


def test_what_cannot_be_absorbed_is_refused():
    data = people(300, 10)
    release = release_of(data, BOUNDS)
    for options, wrong in (
        ({"loss": "check"}, "exact for least squares"),
        ({"weights": "year"}, "no weights"),
        ({"groups": "year"}, "clusters of the absorbed"),
        ({"absorb": "x"}, "noisy column"),
        ({"absorb": "scool"}, "did you mean"),
        ({"absorb": ["school"]}, "must name"),
        ({"formula": "y ~ x - 1"}, "intercept"),
        ({"formula": "y ~ x | w"}, "instruments"),
    ):
        given = {"formula": "y ~ x + w", "absorb": "school"} | options
        with pytest.raises(ParameterError, match=wrong):
            vdp.fit(release, **given)
    with pytest.raises(EstimationError, match="do not differ within"):
        vdp.fit(public(data.assign(w=data["school"])), "y ~ w", absorb="school")
