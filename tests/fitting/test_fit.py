"""`fit`: agreement with other libraries without noise, laws, outcomes, bad input."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm

import versadp as vdp
from versadp.errors import DataError, EstimationError, ParameterError
from versadp.losses import Check, Huber, Mean, Quantile

N = 4000
KEY = bytes(range(7, 39))  # the same noise in every run: a failure here is never bad luck
SCHEMA = vdp.Schema({"a": vdp.Bounded(-1, 1), "b": vdp.Bounded(10, 30), "w": vdp.Public(), "y": vdp.Public()})


def people(kind="squared", n=N, seed=0):
    rng = np.random.default_rng(seed)
    a, b, w = rng.uniform(-1, 1, n), rng.uniform(10, 30, n), rng.normal(size=n)
    u = 0.5 + a + 0.1 * (b - 20) + 0.3 * w
    y = {
        "squared": u + rng.normal(size=n),
        "check": u + rng.normal(size=n),
        "huber": u + rng.standard_t(3, n),
        "logistic": (rng.random(n) < 1 / (1 + np.exp(-u))).astype(float),
        "hinge": np.where(rng.random(n) < 1 / (1 + np.exp(-2 * u)), 1.0, -1.0),
        "poisson": rng.poisson(np.exp(0.5 * u)).astype(float),
    }[kind]
    return pd.DataFrame({"a": a, "b": b, "w": w, "y": y})


def release(kind="squared", scale=0.3, exact_rate=0.2, **options):
    return vdp.Mechanism(SCHEMA, scale=scale, exact_rate=exact_rate).release(people(kind, **options), key=KEY)


FORMULA = "y ~ a + b + w"


# without noise, the plain estimators --------------------------------------------------------------------------------

PEERS = {
    "squared": lambda f, x: sm.OLS(f["y"], x).fit(cov_type="HC0"),
    "logistic": lambda f, x: sm.Logit(f["y"], x).fit(disp=0, cov_type="HC0"),
    "poisson": lambda f, x: sm.Poisson(f["y"], x).fit(disp=0, cov_type="HC0"),
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("method", ["efficient", "analytic", "drcl", "sdrcl", "sl", "naive"])
@pytest.mark.parametrize("loss", PEERS)
def test_agreement_with_statsmodels_at_no_noise(loss, method):
    """Noise of a millionth of a width: estimates and robust standard errors are statsmodels'."""
    frame = people(loss)
    rel = vdp.Mechanism(SCHEMA, scale=1e-6, exact_rate=0.5).release(frame, key=KEY)
    result = vdp.fit(rel, FORMULA, loss=loss, method=method, draws=1)
    peer = PEERS[loss](frame, sm.add_constant(frame[["a", "b", "w"]]))
    assert np.abs((np.asarray(result.params) - peer.params.to_numpy()) / peer.bse.to_numpy()).max() < 0.03
    assert np.asarray(result.bse) == pytest.approx(peer.bse.to_numpy(), rel=0.02)


@pytest.mark.full
def test_agreement_at_no_noise_for_robust_losses():
    frame = people("huber")
    rel = vdp.Mechanism(SCHEMA, scale=1e-6, exact_rate=0.5).release(frame, key=KEY)
    x = sm.add_constant(frame[["a", "b", "w"]])
    median = sm.QuantReg(frame["y"], x).fit(q=0.5)
    ours = vdp.fit(rel, FORMULA, loss="check")
    assert np.abs((np.asarray(ours.params) - median.params.to_numpy()) / median.bse.to_numpy()).max() < 0.5
    assert np.asarray(ours.bse) == pytest.approx(median.bse.to_numpy(), rel=0.15)
    huber = sm.RLM(frame["y"], x, M=sm.robust.norms.HuberT(1.345)).fit(scale_est=sm.robust.scale.HuberScale(d=1.345))
    for loss in ("huber", Huber(scale=float(huber.scale))):
        ours = vdp.fit(rel, FORMULA, loss=loss)
        assert np.abs((np.asarray(ours.params) - huber.params.to_numpy()) / huber.bse.to_numpy()).max() < 0.02
        assert np.asarray(ours.bse) == pytest.approx(huber.bse.to_numpy(), rel=0.1)
    other = vdp.fit(rel, FORMULA, loss=Huber(scale=4.0))
    assert np.abs((np.asarray(other.params) - huber.params.to_numpy()) / huber.bse.to_numpy()).max() > 0.2


def test_agreement_with_delicatessen():
    """Estimating equations and sandwich of an independent library, hinge aside."""
    delicatessen = pytest.importorskip("delicatessen", reason="an oracle of the test extra")
    frame = people("logistic", n=2000)
    x = np.column_stack([np.ones(2000), frame[["a", "b", "w"]]])
    y = frame["y"].to_numpy()

    def psi(theta):
        return ((y - 1 / (1 + np.exp(-x @ theta)))[:, None] * x).T

    peer = delicatessen.MEstimator(psi, init=np.zeros(4))
    peer.estimate(solver="lm")
    rel = vdp.Mechanism(SCHEMA, scale=1e-6, exact_rate=0.5).release(frame, key=KEY)
    ours = vdp.fit(rel, FORMULA, loss="logistic")
    assert np.asarray(ours.params) == pytest.approx(peer.theta, abs=2e-2)
    assert np.asarray(ours.bse) == pytest.approx(np.sqrt(np.diag(peer.variance)), rel=0.03)


# laws ---------------------------------------------------------------------------------------------------------------


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("loss", "method"),
    [
        ("squared", "efficient"),
        ("logistic", "efficient"),
        ("check", "efficient"),
        ("squared", "analytic"),
        ("logistic", "sdrcl"),
    ],
)
def test_shift_and_scale_equivariance(loss, method):
    """The same released records in other units: coefficients change as they must, the intercept too."""
    rel = release(loss)
    shift, unit = 100.0, 7.0
    schema = vdp.Schema(dict(SCHEMA.columns) | {"b": vdp.Bounded(shift + unit * 10, shift + unit * 30)})
    mech = vdp.Mechanism(schema, scale=0.3, exact_rate=0.2)
    frame = rel.frame.assign(b=shift + unit * rel.frame["b"])
    moved = vdp.Release.from_frame(frame, mech)
    one = vdp.fit(rel, FORMULA, loss=loss, method=method)
    two = vdp.fit(moved, FORMULA, loss=loss, method=method)
    assert two.params["b"] * unit == pytest.approx(one.params["b"], rel=1e-4)
    assert two.bse["b"] * unit == pytest.approx(one.bse["b"], rel=1e-3)
    assert two.params["a"] == pytest.approx(one.params["a"], rel=1e-4)
    intercept = one.params["Intercept"] - two.params["b"] * shift
    assert two.params["Intercept"] == pytest.approx(intercept, abs=2e-3 * one.bse["Intercept"] + 1e-4 * abs(intercept))


def test_equivariance_in_the_response():
    rel = release("squared")
    other = vdp.Release.from_frame(rel.frame.assign(y=3 - 2 * rel.frame["y"]), rel.mechanism)
    one, two = vdp.fit(rel, FORMULA), vdp.fit(other, FORMULA)
    assert np.asarray(two.params) == pytest.approx(np.array([3, 0, 0, 0]) - 2 * np.asarray(one.params), abs=1e-6)


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "loss", ["squared", "logistic", "check", "hinge", pytest.param("huber", marks=pytest.mark.slow), "poisson"]
)
def test_estimates_are_right_within_their_errors(loss):
    """Against the raw fit, five standard errors; naive is off by more."""
    frame = people(loss, n=20_000, seed=3)
    rel = vdp.Mechanism(SCHEMA, scale=0.5, exact_rate=0.2).release(frame, key=KEY)
    raw = vdp.fit(vdp.Mechanism(SCHEMA, scale=1e-6, exact_rate=0.5).release(frame, key=KEY), FORMULA, loss=loss)
    result, naive = vdp.fit(rel, FORMULA, loss=loss), vdp.fit(rel, FORMULA, loss=loss, method="naive")
    off = (np.asarray(result.params) - np.asarray(raw.params)) / np.asarray(result.bse)
    assert np.abs(off).max() < 5
    assert abs(naive.params["a"] - raw.params["a"]) > 5 * naive.bse["a"]


def test_squared_loss_from_windows_is_the_same_wherever_it_is_read(tmp_path, monkeypatch):
    """Two passes, in any thread, from a folder or from memory; where a fit would start is nobody's question."""
    rng, n = np.random.default_rng(3), 150_000
    x = rng.uniform(-1, 1, n)
    people = pd.DataFrame({"x": x, "y": 1 + 2 * x + rng.normal(size=n)})
    mech = vdp.calibrate(vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()}), epsilon=4, unit="attribute")
    release = mech.release(people)
    release.save(tmp_path / "released")
    monkeypatch.delattr("versadp.losses.Squared.start")
    found = [vdp.fit(tmp_path / "released", "y ~ x", engine=engine) for engine in ("serial", "threads")]
    assert (np.asarray(found[0].params) == np.asarray(found[1].params)).all()
    assert (np.asarray(found[0].bse) == np.asarray(found[1].bse)).all()
    assert np.asarray(vdp.fit(release, "y ~ x").params) == pytest.approx(np.asarray(found[0].params), rel=1e-10)
    assert np.abs((found[0].params["x"] - 2) / found[0].bse["x"]) < 4


def test_the_same_seed_gives_the_same_answer_and_engines_agree():
    rel = release("logistic")
    one = vdp.fit(rel, FORMULA, loss="logistic", random_state=3)
    assert (np.asarray(vdp.fit(rel, FORMULA, loss="logistic", random_state=3).params) == np.asarray(one.params)).all()
    threads = vdp.fit(rel, FORMULA, loss="logistic", random_state=3, engine="threads")
    assert (np.asarray(threads.params) == np.asarray(one.params)).all()
    assert (np.asarray(vdp.fit(rel, FORMULA, loss="logistic", random_state=4).params) != np.asarray(one.params)).any()


def test_a_release_on_disk_gives_the_same_answer(tmp_path):
    rel = release("squared")
    rel.save(tmp_path / "r")
    one, two = vdp.fit(rel, FORMULA), vdp.fit(tmp_path / "r", FORMULA)
    assert np.asarray(one.params) == pytest.approx(np.asarray(two.params), rel=1e-12)


@pytest.mark.full
def test_many_records_are_fitted_in_passes(monkeypatch):
    """The large-file path (random part first, batches not kept) agrees with the small one within its draws' noise."""
    rel = release("logistic", n=20_000)
    whole = vdp.fit(rel, FORMULA, loss="logistic")
    for module in ("estimate", "solver"):
        monkeypatch.setattr(f"versadp.fitting.{module}.SAMPLE_ROWS", 6000)
    monkeypatch.setattr("versadp.fitting.source.KEPT_NUMBERS", 0)
    monkeypatch.setattr("versadp.estimation.moments.KEPT_NUMBERS", 0)
    for method in ("efficient", "analytic"):
        parts = vdp.fit(rel, FORMULA, loss="logistic", method=method)
        assert parts.converged
        assert np.abs((np.asarray(parts.params) - np.asarray(whole.params)) / np.asarray(parts.bse)).max() < 2


def test_weights_of_the_analyst():
    rel = release("squared")
    counts = np.random.default_rng(0).poisson(1.0, N)
    weighted = vdp.fit(rel, FORMULA, method="analytic", weights=counts)
    copies = rel.frame.loc[np.repeat(np.arange(N), counts)].reset_index(drop=True)
    repeated = vdp.fit(vdp.Release.from_frame(copies, rel.mechanism), FORMULA, method="analytic")
    assert np.asarray(weighted.params) == pytest.approx(np.asarray(repeated.params), abs=1e-6)


@pytest.mark.full
def test_means_quantiles_and_users_losses():
    frame = people(n=20_000)
    rel = vdp.Mechanism(SCHEMA, scale=0.3, exact_rate=0.2).release(frame, key=KEY)
    for loss, truth in [
        (Mean("a"), frame["a"].mean()),
        (Mean(lambda x: x[:, 0] * x[:, 1]), (frame["a"] * frame["b"]).mean()),
        (Quantile("b", 0.25), frame["b"].quantile(0.25)),
        (Quantile(lambda x: x[:, 0] + x[:, 3], 0.5), (frame["a"] + frame["y"]).median()),
    ]:
        result = vdp.fit(rel, loss=loss)
        assert abs(float(result.params[0]) - truth) < 5 * float(result.bse[0])

    def own(x, theta):
        return (x[:, 3] - theta[0] - theta[1] * x[:, 0]) ** 2 / 2

    result = vdp.fit(rel, loss=own, start=np.zeros(2))
    raw = np.polyfit(frame["a"], frame["y"], 1)[::-1]
    assert np.abs((np.asarray(result.params) - raw) / np.asarray(result.bse)).max() < 5
    assert result.loss == "own"


def test_functions_of_noisy_columns():
    frame = people(n=30_000)
    rel = vdp.Mechanism(SCHEMA, scale=0.3, exact_rate=0.2).release(frame, key=KEY)
    result = vdp.fit(rel, "y ~ np.log(b) + np.abs(a) + a:w")
    x = np.column_stack([np.ones(30_000), np.log(frame["b"]), np.abs(frame["a"]), frame["a"] * frame["w"]])
    raw = np.linalg.lstsq(x, frame["y"], rcond=None)[0]
    assert np.abs((np.asarray(result.params) - raw) / np.asarray(result.bse)).max() < 5


@pytest.mark.full
def test_a_noisy_response():
    frame = people(n=20_000)
    rel = vdp.Mechanism(SCHEMA, scale=0.4, exact_rate=0.2).release(frame, key=KEY)
    raw = np.polyfit(frame["a"], frame["b"], 1)[::-1]
    for loss in ("squared", Huber(5.0), Huber(5.0, scale=1.0)):
        result = vdp.fit(rel, "b ~ a", loss=loss)
        assert np.abs((np.asarray(result.params) - raw) / np.asarray(result.bse)).max() < 5
    with pytest.raises(ParameterError, match="noisy response with bounds 0 and 1"):
        vdp.fit(rel, "b ~ a", loss="logistic")


def test_the_summary_states_the_guarantee():
    text = str(vdp.fit(release(), FORMULA).summary())
    for words in (
        "mechanism",
        "epsilon",
        "delta floor",
        "effective sample size",
        "efficient",
        "converged",
        "std error",
    ):
        assert words in text


@pytest.mark.full
def test_effective_sample_size_falls_with_noise():
    sizes = [vdp.fit(release(scale=scale, n=8000), FORMULA).effective_n for scale in (0.05, 0.3, 1.0)]
    assert 8000 >= sizes[0] > sizes[1] > sizes[2] > 0


def test_only_public_columns_need_no_correction():
    frame = people()
    result = vdp.fit(release(), "y ~ w")
    assert result.params["w"] == pytest.approx(np.polyfit(frame["w"], frame["y"], 1)[0])


# outcomes and bad input ---------------------------------------------------------------------------------------------


def test_a_hopeless_fit_is_weak_and_has_no_estimate():
    rel = vdp.Mechanism(SCHEMA, scale=20, exact_rate=0.01).release(people(n=60), key=KEY)
    result = vdp.fit(rel, FORMULA, method="drcl", draws=1)
    assert not result.converged
    assert result.outcome == "weak"
    assert np.isnan(np.asarray(result.params)).all()
    assert np.isinf(np.asarray(result.conf_int())).any(axis=1).all()
    with pytest.raises(EstimationError, match="weak"):
        result.predict({"a": 0.0, "b": 0.0, "w": 0.0})
    assert result.outcome in str(result.summary())


@pytest.mark.slow
def test_separable_data_are_reported():
    frame = people("logistic", n=300)
    frame["y"] = (frame["w"] > 0).astype(float)
    rel = vdp.Mechanism(SCHEMA, scale=0.3, exact_rate=0.2).release(frame, key=KEY)
    result = vdp.fit(rel, FORMULA, loss="logistic")
    assert not result.converged or abs(result.params["w"]) > 5


BAD = [
    ({"formula": "y ~ nothing"}, ParameterError, "nothing"),
    ({"formula": "y ~ a +"}, ParameterError, "formula"),
    ({"formula": None}, ParameterError, "formula"),
    ({"loss": "absolute"}, ParameterError, "loss"),
    ({"loss": Mean("a")}, ParameterError, "formula"),
    ({"loss": Mean("y"), "formula": None}, ParameterError, "noisy"),
    ({"method": "magic"}, ParameterError, "method"),
    ({"extension": "zero"}, ParameterError, "extension"),
    ({"method": "analytic", "extension": "zero"}, ParameterError, "extension"),
    ({"method": "sdrcl", "extension": "clip"}, ParameterError, "extension"),
    ({"method": "sdrcl", "loss": "check"}, ParameterError, "efficient"),
    ({"method": "sl", "loss": "huber"}, ParameterError, "efficient"),
    ({"method": "analytic", "formula": "y ~ np.exp(a)"}, ParameterError, "linear"),
    ({"method": "drcl", "formula": "y ~ np.log(b)"}, ParameterError, "finite"),
    ({"draws": 0}, ParameterError, "draws"),
    ({"draws": True}, ParameterError, "draws"),
    ({"start": [1.0]}, ParameterError, "start"),
    ({"start": [np.nan] * 4}, ParameterError, "start"),
    ({"weights": np.ones(3)}, DataError, "weights"),
    ({"weights": -np.ones(N)}, DataError, "weights"),
    ({"loss": "logistic"}, DataError, "0 and 1"),
    ({"loss": "poisson"}, DataError, "0 or more"),
    ({"loss": lambda x, _: x[:, 0], "formula": None}, ParameterError, "start"),
    ({"loss": lambda x, _: x, "formula": None, "start": [0.0]}, ParameterError, "shape"),
    ({"loss": lambda x, _: x[:, 0] * np.nan, "formula": None, "start": [0.0]}, ParameterError, "finite"),
    ({"engine": "cloud"}, ParameterError, "engine"),
]


@pytest.mark.parametrize(("options", "error", "words"), BAD, ids=lambda c: " ".join(c) if isinstance(c, dict) else None)
def test_bad_input(options, error, words):
    options = {"formula": FORMULA} | options
    with pytest.raises(error, match=words):
        vdp.fit(release(), options.pop("formula"), **options)


def test_more_bad_input(tmp_path):
    with pytest.raises(DataError, match="more than"):
        vdp.fit(release(n=3), FORMULA)
    one = people("logistic")
    one["y"] = 1.0
    with pytest.raises(DataError, match="one class"):
        vdp.fit(vdp.Mechanism(SCHEMA, scale=0.3, exact_rate=0.2).release(one, key=KEY), FORMULA, loss="logistic")
    for loss in ("check", "hinge", "huber"):
        kind = loss if loss != "huber" else "squared"
        with pytest.raises(ParameterError, match="exact_rate above 0"):
            vdp.fit(release(kind, exact_rate=0.0), FORMULA, loss=loss)
    assert vdp.fit(release(exact_rate=0.0), FORMULA).converged
    with pytest.raises(ParameterError, match="drcl"):
        vdp.fit(release(exact_rate=0.0), FORMULA, method="drcl")
    with pytest.raises(vdp.errors.ReleaseError):
        vdp.fit(tmp_path, FORMULA)
    text = vdp.Schema(dict(SCHEMA.columns) | {"t": vdp.Public()})
    rel = vdp.Mechanism(text, scale=0.3, exact_rate=0.2).release(people().assign(t="u"), key=KEY)
    with pytest.raises(ParameterError, match="one level only"):
        vdp.fit(rel, "y ~ a + t")
    with pytest.raises(ParameterError, match="one level only"):
        vdp.fit(rel, "t ~ a")
    only = vdp.Mechanism(vdp.Schema({"c": vdp.Categorical(["u", "v"]), "y": vdp.Public()}), keep=0.5)
    with pytest.raises(ParameterError, match="no noisy numeric"):
        vdp.fit(only.release(pa.table({"c": ["u", "v"], "y": [1.0, 2.0]})), "y ~ 1")


def test_poisson_beyond_its_noise_limit_is_refused_by_analytic_and_served_by_efficient():
    rel = release("poisson", scale=2.0, n=20_000)
    with pytest.raises(ParameterError, match="efficient"):
        vdp.fit(rel, FORMULA, loss="poisson", method="analytic", start=[0.25, 0.5, 0.05, 0.15])
    assert vdp.fit(rel, FORMULA, loss="poisson").converged


def test_quantiles_cross_in_the_right_order():
    rel = release("check", n=10_000)
    low, high = (vdp.fit(rel, FORMULA, loss=Check(tau)).params["Intercept"] for tau in (0.25, 0.75))
    assert low < high
