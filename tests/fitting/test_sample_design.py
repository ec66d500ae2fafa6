"""Weights, offsets, clusters and subsets: statsmodels' where there is no noise, and covering where there is."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import versadp as vdp
from versadp.errors import DataError, EstimationError, ParameterError

PUBLIC = ("y", "times", "school", "count", "exposure", "year", "sex")
SCHEMA = vdp.Schema({"x": vdp.Bounded(-4, 4)} | {name: vdp.Public() for name in PUBLIC})
NEARLY_RAW = {
    "zil": vdp.Mechanism(SCHEMA, scale=1e-4, exact_rate=0.95),
    "window": vdp.Mechanism(SCHEMA, noise={"x": vdp.noise.Window(epsilon=29)}),
}


@pytest.fixture(scope="module")
def data():
    rng, n = np.random.default_rng(2), 3000
    school = rng.integers(0, 60, n)
    x = np.clip(rng.normal(size=n) + 0.8 * rng.normal(size=60)[school], -3.9, 3.9)
    exposure = np.log(rng.uniform(0.5, 5, n))
    return pd.DataFrame(
        {
            "x": x,
            "y": 1 + 0.5 * x + rng.normal(size=60)[school] + rng.normal(size=n),
            "times": rng.integers(0, 4, n).astype(float),
            "school": school,
            "count": rng.poisson(np.exp(exposure - 0.5 + 0.4 * x)),
            "exposure": exposure,
            "year": rng.integers(1990, 2011, n),
            "sex": np.where(rng.random(n) < 0.5, "f", "m"),
        }
    )


@pytest.fixture(scope="module", params=sorted(NEARLY_RAW))
def release(request, data):
    return NEARLY_RAW[request.param].release(data)


def same(result, raw, tolerance=1e-3):
    """Compare in standard errors: the grid on which x is released moves it by a little."""
    error = np.asarray(raw.bse)
    assert (np.abs(np.asarray(result.params) - np.asarray(raw.params)) < 5 * tolerance * error).all()
    assert np.allclose(np.asarray(result.bse), error, rtol=tolerance)
    assert result.nobs == raw.nobs


def test_clusters(data, release):
    raw = smf.ols("y ~ x", data).fit(cov_type="cluster", cov_kwds={"groups": data["school"]})
    result = vdp.fit(release, "y ~ x", cov_type="cluster", groups="school")
    same(result, raw)
    plain = vdp.fit(release, "y ~ x")
    assert result.bse["x"] > 1.5 * plain.bse["x"]  # the control: what would be said of independent records
    assert result.header["covariance"] == "by 60 clusters of school"
    assert result.trust.test is None  # which takes records for independent
    raw = sm.GLM(data["count"], sm.add_constant(data["x"]), family=sm.families.Poisson()).fit(
        cov_type="cluster", cov_kwds={"groups": data["school"]}
    )
    same(vdp.fit(release, "count ~ x", loss="poisson", cov_type="cluster", groups="school"), raw, 5e-3)


def test_frequencies_are_repeated_rows(data, release):
    repeated = data.loc[np.repeat(data.index, data["times"].astype(int))]
    result = vdp.fit(release, "y ~ x", weights="times", weight_type="frequency")
    same(result, smf.ols("y ~ x", repeated).fit(cov_type="HC1"))
    assert result.rsquared == pytest.approx(smf.ols("y ~ x", repeated).fit().rsquared, rel=1e-3)
    survey = vdp.fit(release, "y ~ x", weights="times")
    raw = smf.wls("y ~ x", data, weights=data["times"]).fit(cov_type="HC1")
    same(survey, raw)
    assert np.allclose(survey.params, result.params)
    assert survey.bse["x"] > 1.1 * result.bse["x"]  # a record is drawn once, however many it stands for
    mean = survey.get_prediction(average=True)[0]["estimate"]
    assert mean == pytest.approx(np.average(data["y"], weights=data["times"]), rel=1e-3)


def test_offsets(data, release):
    raw = sm.GLM(data["count"], sm.add_constant(data["x"]), family=sm.families.Poisson(), offset=data["exposure"]).fit(
        cov_type="HC1"
    )
    result = vdp.fit(release, "count ~ x", loss="poisson", offset="exposure")
    same(result, raw)
    assert result.formula == "count ~ x"
    written = vdp.fit(release, "count ~ x + offset(exposure)", loss="poisson")
    assert np.array_equal(written.params, result.params)
    new = {"x": [0.0, 1.0], "exposure": [0.0, 1.0]}
    assert np.allclose(result.predict(new), raw.predict([[1, 0], [1, 1]], offset=[0, 1]), rtol=1e-3)
    with pytest.raises(ParameterError, match="exposure"):
        result.predict({"x": [0.0]})
    with pytest.raises(EstimationError, match="offset"):
        result.avg_slopes()
    line = vdp.fit(release, "y ~ x", offset="exposure")
    same(line, smf.ols("I(y - exposure) ~ x", data).fit(cov_type="HC1"))


def test_an_offset_is_saved(release, tmp_path):
    result = vdp.fit(release, "count ~ x", loss="poisson", offset="np.log1p(year - 1989)")
    result.save(tmp_path / "r.json")
    again = vdp.Results.load(tmp_path / "r.json")
    assert again == result
    new = {"x": [0.0, 1.0], "year": [1990, 2000]}
    assert np.array_equal(again.predict(new), result.predict(new))
    saved = result.to_dict()
    assert saved["version"] == 7
    for wrong in (3, ["year"], "__import__('os')", "open('x')", ""):
        with pytest.raises(ParameterError):
            vdp.Results.from_dict(saved | {"offset": wrong})


def test_subsets(data, release, tmp_path):
    chosen = data[(data["year"] > 2000) & (data["sex"] == "f")]
    text = '(year > 2000) & (sex == "f")'
    result = vdp.fit(release, "y ~ x", subset=text)
    same(result, smf.ols("y ~ x", chosen).fit(cov_type="HC1"), 5e-3)
    assert result.header["subset"] == text
    weights = release.to_pandas()["times"].to_numpy() + 1  # in the order of the release
    both = vdp.fit(release, "y ~ x", subset=text, weights=weights, cov_type="cluster", groups="school")
    raw = smf.wls("y ~ x", chosen, weights=chosen["times"] + 1).fit(
        cov_type="cluster", cov_kwds={"groups": chosen["school"]}
    )
    same(both, raw, 5e-3)
    release.save(tmp_path / "released")
    assert np.array_equal(vdp.fit(tmp_path / "released", "y ~ x", subset=text).params, result.params)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"subset": "x > 0"}, "noise decides who is in it"),
        ({"subset": "yeer > 2000"}, "did you mean 'year'"),
        ({"subset": "sex > 2"}, "holds text"),
        ({"subset": "year > 3000"}, "no record is left"),
        ({"subset": "1 > 0"}, "names no column"),
        ({"subset": 3}, "must be text"),
        ({"subset": "__import__('os').system('true')"}, "one record at a time|cannot hold"),
        ({"cov_type": "cluster"}, "clusters need a column"),
        ({"groups": "school", "cov_type": "rows"}, "clusters need a column"),
        ({"cov_type": "clusters", "groups": "school"}, "did you mean 'cluster'"),
        ({"cov_type": "cluster", "groups": "x"}, "noisy column"),
        ({"cov_type": "cluster", "groups": "schol"}, "did you mean 'school'"),
        ({"cov_type": "cluster", "groups": "one"}, "one cluster"),
        ({"offset": "x"}, "noisy column"),
        ({"offset": "exposur"}, "did you mean 'exposure'"),
        ({"weights": "exposure"}, "0 or more"),
        ({"weights": "times", "weight_type": "freq"}, "weight_type"),
        ({"weights": "half", "weight_type": "frequency"}, "whole numbers"),
        ({"weights": "x"}, "noisy column 'x'"),
        ({"weights": "tims"}, "times"),
    ],
)
def test_what_is_wrong_is_said(data, options, wrong):
    schema = vdp.Schema(SCHEMA.columns | {"one": vdp.Public(), "half": vdp.Public()})
    release = vdp.Mechanism(schema, scale=0.1, exact_rate=0.5).release(data.assign(one=1, half=0.5))
    with pytest.raises((ParameterError, DataError), match=wrong) as caught:
        vdp.fit(release, "y ~ x", **options)
    assert caught.value.hint


def test_logistic_loss_has_no_offset_and_says_what_does(release):
    with pytest.raises(ParameterError, match="no offset"):
        vdp.fit(release, "I(y > 1) ~ x", loss="logistic", offset="exposure")


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["zil", "window"])
def test_clustered_intervals_cover_and_plain_ones_do_not(noise):
    """Errors and columns that schools share, 80 schools; truth 0.5."""
    schema = vdp.Schema({"x": vdp.Bounded(-4, 4), "y": vdp.Public(), "school": vdp.Public()})
    mech = vdp.Mechanism(schema, scale=0.15, exact_rate=0.3) if noise == "zil" else vdp.calibrate(schema, epsilon=4)
    rng, reps, hits = np.random.default_rng(3), 400, np.zeros((400, 2))
    for k in range(reps):
        school = np.repeat(np.arange(80), 40)
        x = np.clip(rng.normal(0, 0.8, 3200) + rng.normal(size=80)[school], -4, 4)
        y = 1 + 0.5 * x + 0.8 * rng.normal(size=80)[school] + rng.normal(size=3200)
        release = mech.release(pd.DataFrame({"x": x, "y": y, "school": school}))
        for j, options in enumerate(({"cov_type": "cluster", "groups": "school"}, {})):
            low, high = vdp.fit(release, "y ~ x", **options).conf_int()["x"]
            hits[k, j] = low <= 0.5 <= high
    clustered, plain = hits.mean(axis=0)
    assert clustered > 0.89, clustered  # 94% at 80 clusters, with a standard deviation of 1.2%
    assert plain < 0.85, plain
