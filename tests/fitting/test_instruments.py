"""Instrumental variables: two-stage least squares from second moments, against statsmodels on raw data."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.sandbox.regression.gmm import IV2SLS

import versadp as vdp
from versadp.errors import ParameterError, WeakInstrumentsWarning

BOUNDS = {"x": vdp.Bounded(-1, 2), "z": vdp.Bounded(0, 1), "w": vdp.Bounded(0, 1), "y": vdp.Bounded(-4, 8)}
FORMULA = "y ~ x + w | z + v + w"


def people(n, strength=1.0, seed=0):
    rng = np.random.default_rng(seed)
    z, v, w, u = rng.uniform(0, 1, n), rng.uniform(0, 1, n), rng.uniform(0, 1, n), rng.normal(size=n)
    x = 0.5 + strength * (z - 0.5 + 0.5 * (v - 0.5)) + 0.3 * (w - 0.5) + 0.15 * u + 0.1 * rng.normal(size=n)
    x = np.clip(x, -1, 2)
    y = np.clip(1 + 2 * x + 0.5 * w - u + 0.3 * rng.normal(size=n), -4, 8)
    return pd.DataFrame({"x": x, "z": z, "v": v, "w": w, "y": y, "g": rng.integers(0, 60, n), "other": z})


def release_of(data, noisy, **noise):
    schema = vdp.Schema({name: noisy.get(name, vdp.Public()) for name in data})
    noise = noise or {"noise": {name: vdp.noise.Window(epsilon=5) for name in noisy}}
    return vdp.Mechanism(schema, **noise).release(data)


def by_hand(data, groups=None):
    """Return two-stage least squares with its sandwich, without noise."""
    n, one = len(data), np.ones(len(data))
    X = np.column_stack([one, data["x"], data["w"]])
    Z = np.column_stack([one, data["z"], data["v"], data["w"]])
    theta = IV2SLS(data["y"].to_numpy(), X, Z).fit().params
    fitted = Z @ np.linalg.lstsq(Z, X, rcond=None)[0]
    scores, bread = fitted * (data["y"].to_numpy() - X @ theta)[:, None], np.linalg.inv(fitted.T @ fitted)
    if groups is not None:
        scores = pd.DataFrame(scores).groupby(groups.to_numpy()).sum().to_numpy()
    factor = n / (n - 3) * (1 if groups is None else len(scores) / (len(scores) - 1))
    return theta, np.sqrt(np.diag(bread @ scores.T @ scores @ bread) * factor)


@pytest.fixture(scope="module")
def data():
    return people(8000)


def test_two_stage_least_squares_is_that_of_statsmodels_without_noise(data):
    release = release_of(data, {"other": vdp.Bounded(0, 1)})
    theta, errors = by_hand(data)
    ours = vdp.fit(release, FORMULA)
    np.testing.assert_allclose(ours.params.values, theta, rtol=1e-9)
    np.testing.assert_allclose(ours.bse.values, errors, rtol=1e-9)
    plain = vdp.fit(release, "y ~ x + w").params["x"]
    assert abs(plain - 2) > 20 * abs(ours.params["x"] - 2)  # what instruments are for
    np.testing.assert_allclose(vdp.fit(release, FORMULA, groups="g").bse.values, by_hand(data, data["g"])[1], rtol=1e-9)
    same = vdp.fit(release, "y ~ x + w | x + w")
    np.testing.assert_allclose(same.params.values, vdp.fit(release, "y ~ x + w").params.values, rtol=1e-8)
    assert ours.wald_test("x").df == 1
    assert ours.anova()["w"]["df"] == 1
    assert ours.predict({"x": [1.0], "w": [0.0]})[0] == pytest.approx(theta[:2].sum())
    assert "z, v" in str(ours.summary())


@pytest.mark.parametrize("how", ["window", "zil"])
def test_estimates_from_noisy_records_cover_those_of_raw_records(data, how):
    noise = {} if how == "window" else {"scale": 0.1, "exact_rate": 0.2}
    release = release_of(data, BOUNDS, **noise)
    ours, (theta, _) = vdp.fit(release, FORMULA), by_hand(data)
    for kind in ("wald", "score"):
        ends = ours.conf_int(0.999, kind=kind).values
        assert ((ends[:, 0] < theta) & (theta < ends[:, 1])).all()
    low, high = vdp.fit(release, "y ~ x + w").conf_int(0.999)["x"]
    assert not low < theta[1] < high  # without instruments


def test_weak_instruments_are_told():
    release = release_of(people(3000, strength=0.0), BOUNDS)
    with pytest.warns(WeakInstrumentsWarning, match="Anderson and Rubin"):
        found = vdp.fit(release, FORMULA)
    assert not np.isfinite(found.conf_int()["x"]).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::versadp.errors.WeakInstrumentsWarning")
def test_intervals_cover_whatever_the_strength():
    for strength in (1.0, 0.1, 0.0):
        inside = 0
        for k in range(200):
            found = vdp.fit(release_of(people(1500, strength, seed=k), BOUNDS), FORMULA)
            low, high = found.conf_int(kind="score")["x"]
            inside += low < 2 < high
        assert inside >= 180  # of 200 at 95%: fewer have a chance of 0.3%


@pytest.mark.parametrize(
    ("formula", "options", "wrong"),
    [
        ("y ~ x + w | z", {}, "need as many instruments"),
        ("y ~ x | z | w", {}, "one |"),
        ("y ~ x |", {}, "one |"),
        ("y | x", {}, "one |"),
        ("y ~ x - 1 | z", {}, "intercept"),
        ("y ~ x | z", {"loss": "logistic"}, "squared loss"),
        ("y ~ x | z", {"method": "likelihood"}, "no likelihood"),
        ("y ~ x | z", {"start": [0.0, 0.0]}, "no likelihood and no start"),
        ("y ~ x | z", {"offset": "v"}, "no offset"),
    ],
)
def test_what_has_no_instruments_is_refused(data, formula, options, wrong):
    with pytest.raises(ParameterError, match=wrong):
        vdp.fit(release_of(data[:200], BOUNDS), formula, **options)
