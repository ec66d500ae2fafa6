"""Noisy responses: under a function, as counts and as events; against fits of the raw records."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import versadp as vdp
from versadp.errors import DataError, InsecureWarning, ParameterError

N = 20_000


def released(frame, rate=0.15, scale=0.2, **bounds):
    schema = vdp.Schema({name: vdp.Bounded(*bounds.get(name, (-1, 1))) for name in frame})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureWarning)
        return vdp.Mechanism(schema, scale=scale, exact_rate=rate).release(frame, insecure_seed=4)


def gems():
    rng = np.random.default_rng(0)
    carat = rng.uniform(0.2, 3, N)
    price = np.clip(np.exp(7 + 0.8 * carat + 0.3 * rng.normal(size=N)), 300, 20_000)
    return pd.DataFrame({"carat": carat, "price": price})


BOUNDS = {"carat": (0.2, 3), "price": (300, 20_000)}


def counts():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, N)
    return pd.DataFrame({"x": x, "y": np.minimum(rng.poisson(np.exp(0.3 + 0.7 * x)), 12.0)})


def events():
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, N)
    happened = rng.random(N) < 1 / (1 + np.exp(-0.3 - 0.7 * x))
    return pd.DataFrame({"x": x, "y": happened.astype(float)})


def near(found, raw, naive):
    """Within five standard errors, where the naive fit is further away."""
    away, far = (np.abs(np.asarray(each.params) - np.asarray(raw)) / found.bse for each in (found, naive))
    assert (away < 5).all()
    assert (far > 5).any()


def both_with(raw, release, formula, loss):
    found, naive = (vdp.fit(release, formula, loss=loss, method=method) for method in ("efficient", "naive"))
    return found, raw.params, naive


@pytest.mark.thinned(2)
@pytest.mark.parametrize("loss", ["squared", "check", "huber"])
def test_the_logarithm_of_a_noisy_price(loss):
    frame = gems()
    x, y = sm.add_constant(frame["carat"]), np.log(frame["price"])
    raw = {"squared": sm.OLS(y, x), "check": sm.QuantReg(y, x), "huber": sm.RLM(y, x)}[loss].fit()
    release = released(frame, **BOUNDS)
    found = vdp.fit(release, "np.log(price) ~ carat", loss=loss)
    assert (np.abs(np.asarray(found.params) - np.asarray(raw.params)) < 5 * np.asarray(found.bse)).all()
    other = vdp.fit(release, "np.log1p(price / 1000) ~ carat", loss=loss)
    assert (np.abs(np.asarray(other.params) - np.asarray(raw.params)) > 5 * np.asarray(found.bse)).any()


def test_noisy_counts():
    frame = counts()
    raw = sm.GLM(frame["y"], sm.add_constant(frame["x"]), family=sm.families.Poisson()).fit()
    near(*both_with(raw, released(frame, y=(0, 12)), "y ~ x", "poisson"))


def test_noisy_events():
    frame = events()
    raw = sm.Logit(frame["y"], sm.add_constant(frame["x"])).fit(disp=0)
    near(*both_with(raw, released(frame, y=(0, 1)), "y ~ x", "logistic"))


def test_an_event_that_is_a_function_of_a_noisy_column():
    frame = gems()
    raw = sm.Logit(frame["price"] > 4000, sm.add_constant(frame["carat"])).fit(disp=0)
    near(*both_with(raw, released(frame, rate=0.3, **BOUNDS), "I(price > 4000) ~ carat", "logistic"))


def test_what_cannot_be_a_noisy_response():
    frame = gems()
    release = released(frame, **BOUNDS)
    with pytest.raises(ParameterError, match="logistic loss needs a response of 0 and 1"):
        vdp.fit(release, "np.log(price) ~ carat", loss="logistic")
    with pytest.raises(ParameterError, match="noisy response with bounds -1 and 1"):
        vdp.fit(release, "price ~ carat", loss="hinge")
    with pytest.raises(DataError, match="0 or more"):
        vdp.fit(released(counts(), y=(-1, 12)), "y ~ x", loss="poisson")
    with pytest.raises(DataError, match="0 or more"):
        vdp.fit(release, "np.log(price / 4000) ~ carat", loss="poisson")
    with pytest.raises(ParameterError, match="exact_rate above 0"):
        vdp.fit(released(events(), rate=0.0, y=(0, 1)), "y ~ x", loss="logistic")
