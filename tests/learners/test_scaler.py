"""Other units change coefficients and nothing else, and noise goes with them to a learner of ours only."""

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model
from sklearn.pipeline import make_pipeline

import versadp as vdp
from versadp.errors import DataError, ParameterError

RNG = np.random.default_rng(3)
N = 4000
AGE = RNG.uniform(20, 80, N)
PEOPLE = pd.DataFrame({"age": AGE, "income": RNG.uniform(0, 1e5, N), "y": AGE / 10 + RNG.normal(size=N)})
SCHEMA = vdp.Schema({"age": vdp.Bounded(18, 90), "income": vdp.Bounded(0, 1e5), "y": vdp.Public()})
MECHANISMS = [vdp.Mechanism(SCHEMA, scale=0.3, exact_rate=0.3), vdp.calibrate(SCHEMA, epsilon=8)]


@pytest.mark.parametrize("mech", MECHANISMS, ids=["zil", "window"])
@pytest.mark.parametrize("to", ["bounds", "moments"])
def test_a_pipeline_is_the_same_fit_in_other_units(mech, to):
    frame = mech.release(PEOPLE, key=bytes(range(32))).frame
    X, y = frame[["age", "income"]], frame["y"]
    pipe = make_pipeline(vdp.Scaler(mech, to=to), vdp.LinearRegression()).fit(X, y)
    plain = vdp.LinearRegression(mechanism=mech).fit(X, y)
    scale = [pipe[0].scale_[name] for name in ("age", "income")]
    assert np.allclose(pipe[-1].coef_ / scale, plain.coef_, rtol=1e-6)
    assert np.allclose(pipe.predict(X), plain.predict(X), rtol=1e-6)
    assert pipe.score(X, y) == pytest.approx(plain.score(X, y), abs=1e-6) if mech is MECHANISMS[0] else True
    center = pipe[0].center_["age"], pipe[0].scale_["age"]
    truth = (54.0, 36.0) if to == "bounds" else (AGE.mean(), AGE.std())
    assert np.allclose(center, truth, rtol=1e-12 if to == "bounds" else 0.15)


def test_scaled_columns_keep_their_mechanism():
    mech = MECHANISMS[0]
    frame = mech.release(PEOPLE, key=bytes(range(32))).frame
    X, y = frame[["age", "income"]], frame["y"]
    with pytest.raises(ParameterError, match="other estimators would ignore"):
        make_pipeline(vdp.Scaler(mech), linear_model.LinearRegression()).fit(X, y)
    with pytest.raises(ParameterError, match="another mechanism"):
        make_pipeline(vdp.Scaler(mech), vdp.LinearRegression(mechanism=MECHANISMS[1])).fit(X, y)
    with pytest.raises(DataError, match="off the release grid"):
        vdp.Scaler(mech).fit(X / 2, y)
    with pytest.raises(ParameterError, match="needs a mechanism"):
        vdp.Scaler().fit(X, y)
    with pytest.raises(ParameterError, match="no option to='range'"):
        vdp.Scaler(mech, to="range").fit(X, y)


def test_a_release_and_a_name_and_a_private_response():
    mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90), "y": vdp.Bounded(-5, 15)}), scale=0.2, exact_rate=0.3)
    rel = mech.release(PEOPLE[["age", "y"]], key=bytes(range(32)))
    plain = vdp.LinearRegression().fit(rel, "y")
    for scaler, args in (
        (vdp.Scaler(mech), (rel, "y")),
        (vdp.Scaler(mech, response="y"), (rel.frame[["age"]], rel.frame["y"])),
    ):
        pipe = make_pipeline(scaler, vdp.LinearRegression(response="y")).fit(*args)
        assert np.allclose(pipe[-1].coef_ / 36, plain.coef_, rtol=1e-6)
        assert set(pipe[0].scale_) == {"age"}
