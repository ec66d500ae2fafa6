"""What a category beside zero-inflated numbers costs: members are combined for several blocks as for one."""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import ParameterError
from versadp.fitting.models import make_problem
from versadp.losses import as_loss
from versadp.noise import Response, Window, ZeroInflated

N = 10_000


def people(seed):
    rng = np.random.default_rng(seed)
    a, g = rng.uniform(-1, 1, N), rng.integers(0, 3, N)
    chance = 1 / (1 + np.exp(-(0.2 + a + 0.5 * (g - 1))))
    return pd.DataFrame({"a": a, "g": np.array(["k", "l", "m"])[g], "y": (rng.random(N) < chance).astype(float)})


def with_category(seed, **how):
    schema = vdp.Schema({"a": vdp.Bounded(-1, 1), "g": vdp.Categorical(["k", "l", "m"]), "y": vdp.Public()})
    mechanism = vdp.Mechanism(schema, scale=1.0, exact_rate=0.3, keep=0.5)
    release = mechanism.release(people(seed), key=np.random.default_rng([seed, 1]).bytes(32))
    return vdp.fit(release, "y ~ a + C(g)", loss="logistic", engine="serial", **how)


def test_a_logistic_fit_with_a_category_converges_and_names_its_members():
    found = with_category(0)
    assert found.converged
    assert found.bse["a"] <= 0.093
    assert found.correction.startswith("signed points: zero ")
    assert "Laplacian by level: fade 0.15 " in found.correction
    assert sum(found.weights.values()) == pytest.approx(1)
    assert abs(found.params["a"] - 1) < 4 * found.bse["a"]
    assert found.specification_test().df > 4


@pytest.mark.slow
def test_nine_of_ten_logistic_fits_with_a_category_converge():
    found = [with_category(seed) for seed in range(10)]
    assert sum(each.converged and each.bse["a"] <= 0.093 for each in found) >= 9


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::versadp.errors.DeltaWarning")
def test_a_category_costs_little_at_a_calibrated_mechanism():
    rng, n = np.random.default_rng(0), 20_000
    frame = pd.DataFrame({"age": rng.uniform(18, 90, n), "income": 5e5 * rng.beta(2, 2, n)})
    frame["region"] = rng.choice(list("nesw"), n)
    frame["y"] = 0.06 * frame.age - 1e-5 * frame.income + 0.3 * (frame.region == "s") + rng.normal(0, 1, n)
    columns = {"age": vdp.Bounded(18, 90), "income": vdp.Bounded(0, 500_000), "region": vdp.Categorical(list("nesw"))}
    schema = vdp.Schema({**columns, "y": vdp.Public()})
    mechanism = vdp.calibrate(schema, epsilon=4, delta=0.1, unit="attribute", noise="zil")
    release = mechanism.release(frame, key=rng.bytes(32))
    alone, beside = (
        vdp.fit(release, "y ~ age + income" + more, engine="serial").bse["age"] for more in ("", " + C(region)")
    )
    assert beside <= 1.08 * alone


def test_public_coefficients_have_weights_of_their_own():
    schema = vdp.Schema({"a": vdp.Bounded(-1, 1), "g": vdp.Categorical(["k", "l", "m"]), "y": vdp.Public()})
    mechanism = vdp.Mechanism(schema, scale=1.0, exact_rate=0.3, keep=0.5)
    release = mechanism.release(people(0), key=bytes(range(32)))
    problem = make_problem(release, "y ~ a*C(g)", as_loss("logistic"), None, None)
    groups = [[problem.names[j] for j in group] for group in problem.groups]
    assert groups == [["a", "a:C(g)[T.l]", "a:C(g)[T.m]"], ["Intercept", "C(g)[T.l]", "C(g)[T.m]"]]


NOISE = {
    "window": {"a": ZeroInflated(0.5, 0.3), "b": Window(4.0)},
    "another zero-inflated block": {"a": ZeroInflated(0.5, 0.3), "b": ZeroInflated(1.0, 0.3)},
}


@pytest.mark.parametrize("noise", NOISE)
def test_members_stand_beside_the_closed_form(noise):
    rng, n = np.random.default_rng(3), 4000
    frame = pd.DataFrame({"a": rng.uniform(-1, 1, n), "b": rng.uniform(-1, 1, n)})
    frame["y"] = 0.3 + 0.8 * frame.a - 0.8 * frame.b + rng.normal(0, 0.8, n)
    schema = vdp.Schema({"a": vdp.Bounded(-1, 1), "b": vdp.Bounded(-1, 1), "y": vdp.Public()})
    release = vdp.Mechanism(schema, noise=NOISE[noise]).release(frame, key=rng.bytes(32))
    found = vdp.fit(release, "y ~ a + b", engine="serial")
    zero = vdp.fit(release, "y ~ a + b", method="drcl", extension="zero", draws=4, engine="serial")
    assert list(found.weights) == ["zero", "fade 0.3", "fade 1", "clip", "closed form"]
    assert (np.asarray(found.bse) < np.asarray(zero.bse)).all()
    assert (np.asarray(found.bse) > 0.8 / np.sqrt(n)).all()  # no correction makes records better than they are
    off = (np.asarray(found.params) - [0.3, 0.8, -0.8]) / np.asarray(found.bse)
    assert np.abs(off).max() < 4


def test_without_unchanged_records_there_are_no_members_by_points():
    rng, n = np.random.default_rng(0), 3000
    frame = pd.DataFrame({"a": rng.uniform(-1, 1, n), "g": rng.choice(list("kl"), n), "y": rng.normal(size=n)})
    schema = vdp.Schema({"a": vdp.Bounded(-1, 1), "g": vdp.Categorical(list("kl")), "y": vdp.Public()})
    noise = {"a": ZeroInflated(0.2, 0.0), "g": Response(0.6)}
    release = vdp.Mechanism(schema, noise=noise).release(frame, key=rng.bytes(32))
    assert vdp.fit(release, "y ~ a + C(g)", engine="serial").converged
    with pytest.raises(ParameterError, match="exact_rate above 0"):
        vdp.fit(release, "y ~ a + C(g)", method="drcl")
