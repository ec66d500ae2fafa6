"""Corrected scores have the score on the true records for expectation; naive ones have not."""

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model
from sklearn import metrics as sk
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import versadp as vdp
from versadp.errors import ParameterError
from versadp.learners.metrics import signed_auc

N, REPLICATIONS = 400, 30
LIMIT = 5.0  # standard errors of the mean over replications: by chance 6e-7 each


def made(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (N, 2))
    u = 1.5 * x[:, 0] - x[:, 1]
    frame = pd.DataFrame(x, columns=["a", "b"])
    frame["number"] = np.clip(u + rng.normal(0, 0.5, N), -4, 4)
    frame["label"] = rng.random(N) < 1 / (1 + np.exp(-3 * u))
    frame["count"] = rng.poisson(np.exp(u / 2))
    return frame


RAW = made()
OTHERS = made(1)
MODELS = {
    "label": linear_model.LogisticRegression(),
    "number": linear_model.LinearRegression(),
    "count": linear_model.PoissonRegressor(alpha=0.0),
}
MODELS = {name: model.fit(OTHERS[["a", "b"]], OTHERS[name]) for name, model in MODELS.items()}
SCORES = {
    "accuracy": ("label", "predict", sk.accuracy_score),
    "neg_log_loss": ("label", "predict_proba", lambda y, p: -sk.log_loss(y, p)),
    "roc_auc": ("label", "decision_function", sk.roc_auc_score),
    "r2": ("number", "predict", sk.r2_score),
    "neg_mean_pinball_loss": ("number", "predict", lambda y, f: -sk.mean_pinball_loss(y, f, alpha=0.5)),
    "d2_poisson": ("count", "predict", lambda y, f: sk.d2_tweedie_score(y, f, power=1)),
}


def score_as_it_is(metric, frame):
    name, wants, function = SCORES[metric]
    return function(frame[name], getattr(MODELS[name], wants)(frame[["a", "b"]]))


def releases(response, private):
    kinds = {"number": vdp.Bounded(-4, 4), "label": vdp.Categorical([False, True])}
    numbers = {"a": vdp.Bounded(-1, 1), "b": vdp.Bounded(-1, 1)}
    schema = vdp.Schema(numbers | {response: kinds[response] if private else vdp.Public()})
    mech = vdp.Mechanism(schema, scale=0.4, exact_rate=0.4, keep=0.7 if private and response == "label" else None)
    return [mech.release(RAW[["a", "b", response]], key=bytes([k, *range(31)])) for k in range(REPLICATIONS)]


def z_value(values, truth):
    return (np.mean(values) - truth) / (np.std(values) / len(values) ** 0.5)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("response", "private"),
    [
        ("label", False),
        ("number", False),
        ("label", True),
        pytest.param("count", False, marks=pytest.mark.slow),
        pytest.param("number", True, marks=pytest.mark.slow),
    ],
)
def test_expected_corrected_score_is_that_on_the_true_records(response, private):
    made = releases(response, private)
    for metric, (of, _, _) in SCORES.items():
        if of != response:
            continue
        truth = score_as_it_is(metric, RAW)
        options = {"metric": metric, "draws": 2, "return_std": True}
        found = [vdp.corrected_score(MODELS[of], r, of, random_state=k, **options) for k, r in enumerate(made)]
        score, error = np.transpose(found)
        assert abs(z_value(score, truth)) < LIMIT, metric
        assert abs(z_value([score_as_it_is(metric, r.frame) for r in made], truth)) > LIMIT, metric
        # a standard deviation of 40 is known to a ninth, and these records are given: their own spread is counted too
        assert 0.4 < score.std() / error.mean() < 1.6, metric


def test_signed_auc_is_the_weighted_area():
    rng = np.random.default_rng(3)
    score, t, weight = rng.integers(0, 9, 60).astype(float), rng.integers(0, 2, 60).astype(float), rng.random(60)
    area = signed_auc(score, t, weight, np.arange(60), 60)[0]
    assert area == pytest.approx(sk.roc_auc_score(t, score, sample_weight=weight), abs=1e-12)


def test_pairs_of_a_record_with_itself_do_not_count():
    rng = np.random.default_rng(4)
    score, t, weight, record = rng.random(40), rng.random(40), rng.normal(1, 1, 40), np.repeat(np.arange(10), 4)
    above = (score[:, None] > score[None]) * (weight * t)[:, None] * (weight * (1 - t))[None]
    apart = record[:, None] != record[None]
    pairs = ((weight * t)[:, None] * (weight * (1 - t))[None] * apart).sum()
    assert signed_auc(score, t, weight, record, 10)[0] == pytest.approx((above * apart).sum() / pairs, abs=1e-12)
    assert abs(above.sum() / (weight * t).sum() / (weight * (1 - t)).sum() - (above * apart).sum() / pairs) > 1e-4


def test_what_cannot_be_scored_is_refused():
    release = releases("number", private=False)[0]
    with pytest.raises(ParameterError, match="no corrected score 'f1'"):
        vdp.corrected_score(MODELS["number"], release, "number", metric="f1")
    with pytest.raises(ParameterError, match="two classes"):
        vdp.corrected_score(MODELS["number"], release, "number", metric="roc_auc")
    machine = vdp.LinearSVC().fit(RAW[["a", "b"]], RAW["label"])
    labels = releases("label", private=False)[0]
    with pytest.raises(ParameterError, match="no predict_proba"):
        vdp.corrected_score(machine, labels, "label", metric="neg_log_loss")


def test_user_defined_metric():
    release = releases("number", private=False)[0]
    options = {"draws": 3, "return_std": True}
    own = vdp.corrected_score(MODELS["number"], release, "number", metric=lambda y, f: -abs(y - f) / 2, **options)
    assert own == vdp.corrected_score(MODELS["number"], release, "number", metric="neg_mean_pinball_loss", **options)


@pytest.mark.slow
def test_grid_search_and_cross_validation_on_released_records():
    rng = np.random.default_rng(7)
    x = rng.uniform(-1, 1, 3000)
    people = pd.DataFrame({"x": 36 * x + 54, "z": rng.uniform(-1, 1, 3000), "y": 3 * x + rng.normal(size=3000)})
    schema = vdp.Schema({"x": vdp.Bounded(18, 90), "z": vdp.Bounded(-1, 1), "y": vdp.Public()})
    mech = vdp.Mechanism(schema, scale=0.3, exact_rate=0.3)
    frame = mech.release(people, key=bytes(range(32))).frame
    X, y = frame[["x", "z"]], frame["y"]
    pipe = make_pipeline(vdp.Scaler(mech), vdp.LinearRegression())
    grid = {"linearregression__alpha": [0.01, 10.0], "linearregression__l1_ratio": [0.0, 1.0]}
    found = GridSearchCV(pipe, grid, scoring=vdp.corrected_scorer("r2", draws=2), cv=3, error_score="raise").fit(X, y)
    assert found.best_params_["linearregression__alpha"] == 0.01
    assert abs(found.best_estimator_[-1].coef_[0] - 3) < 0.5
    plain = vdp.LinearRegression(mechanism=mech)
    truth = 1 - 1 / (1 + 9 / 3)
    for scoring in (vdp.corrected_scorer("r2"), None):  # its own score is corrected too
        assert abs(cross_val_score(plain, X, y, scoring=scoring, cv=3).mean() - truth) < 0.15
    assert cross_val_score(plain, X, y, scoring="r2", cv=3).mean() < truth - 0.15
    arrays = cross_val_score(plain, X.to_numpy(), y.to_numpy(), scoring=vdp.corrected_scorer("r2"), cv=3)
    assert np.allclose(arrays, cross_val_score(plain, X, y, scoring=vdp.corrected_scorer("r2"), cv=3))
