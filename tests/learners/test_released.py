"""On released records learners are `fit`, whatever way the records come; and what would be wrong is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import versadp as vdp
from versadp.errors import DataError, EstimationError, ParameterError
from versadp.learners.order_check import refuse_another_order

N = 3000
KEY = bytes(range(32))
SCHEMA = vdp.Schema(
    {"age": vdp.Bounded(18, 90), "income": vdp.Bounded(0, 100), "bought": vdp.Public(), "spent": vdp.Public()}
)
MECH = vdp.Mechanism(SCHEMA, scale=0.25, exact_rate=0.3)


def made(seed=5, rows=N):
    rng = np.random.default_rng(seed)
    age, income = rng.uniform(18, 90, rows), rng.uniform(0, 100, rows)
    u = (age - 54) / 15 + (income - 50) / 40
    bought = (rng.random(rows) < 1 / (1 + np.exp(-u))).astype(int)
    return pd.DataFrame({"age": age, "income": income, "bought": bought, "spent": rng.poisson(np.exp(u / 3))})


PEOPLE = made()
REL = MECH.release(PEOPLE, key=KEY)
X, BOUGHT, SPENT = REL.frame[["age", "income"]], REL.frame["bought"], REL.frame["spent"]


def theta(model):
    return np.append(np.ravel(model.intercept_), np.ravel(model.coef_))


CASES = [
    (vdp.LinearRegression(), "spent", "squared"),
    (vdp.LogisticRegression(), "bought", "logistic"),
    (vdp.LinearSVC(), "bought", "hinge"),
    (vdp.QuantileRegressor(0.3), "spent", vdp.losses.Check(0.3)),
    (vdp.HuberRegressor(2.0), "spent", vdp.losses.Huber(2.0)),
    (vdp.PoissonRegressor(), "spent", "poisson"),
    (vdp.MEstimator("huber"), "spent", "huber"),
]


@pytest.mark.thinned(4)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("model", "y", "loss"), CASES, ids=lambda each: type(each).__name__)
def test_the_estimate_is_that_of_fit(model, y, loss):
    expected = vdp.fit(REL, f"{y} ~ age + income", loss=loss)
    by_name = clone(model).set_params(columns=["age", "income"]).fit(REL, y=y)
    by_array = clone(model).set_params(mechanism=MECH).fit(X.to_numpy(), REL.frame[y].to_numpy())
    for found in (by_name, by_array):
        assert np.allclose(theta(found), expected.params.values, rtol=0, atol=1e-10)
    assert by_name.result_.nobs == N
    assert np.allclose(by_name.predict(X), by_array.predict(X.to_numpy()))
    index = theta(by_name)[0] + X.to_numpy() @ theta(by_name)[1:]
    if hasattr(by_name, "decision_function"):
        assert np.allclose(by_name.decision_function(X), index)
        assert by_name.classes_.tolist() == [0, 1]
        assert np.array_equal(by_name.predict(X), index > 0)
    else:
        assert np.allclose(by_name.predict(X), expected.predict(X))


@pytest.mark.full
def test_tables_of_all_kinds_arrays_and_folders(tmp_path):
    REL.save(tmp_path / "released")
    options = {"columns": ["age", "income"]}
    expected = theta(vdp.LinearRegression(**options).fit(REL, "spent"))
    plain = vdp.LinearRegression(mechanism=MECH)
    frames = [X, X[["income", "age"]], pl.from_pandas(X), REL.to_arrow().select(["age", "income"])]
    for frame in frames:
        found = clone(plain).fit(frame, SPENT.to_numpy())
        order = [0, 2, 1] if list(found.feature_names_in_) == ["income", "age"] else [0, 1, 2]
        assert np.allclose(theta(found)[order], expected, atol=1e-8)
        assert found.n_features_in_ == 2
    assert np.array_equal(theta(vdp.LinearRegression(**options).fit(tmp_path / "released", "spent")), expected)
    both = REL.frame.drop(columns="spent")  # with a public column among the predictors
    formula = vdp.fit(REL, "spent ~ age + income + bought").params.values
    assert np.allclose(theta(clone(plain).fit(both, SPENT)), formula, atol=1e-10)
    assert np.allclose(
        theta(clone(plain).set_params(response="spent").fit(both.to_numpy(), SPENT)), formula, atol=1e-10
    )


def test_a_private_response():
    schema = vdp.Schema({"age": vdp.Bounded(18, 90), "income": vdp.Bounded(0, 100)})
    mech = vdp.Mechanism(schema, scale=0.2, exact_rate=0.3)
    people = PEOPLE[["age"]].assign(income=np.clip(PEOPLE.age + np.random.default_rng(0).normal(0, 5, N), 0, 100))
    rel = mech.release(people, key=KEY)
    expected = vdp.fit(rel, "income ~ age").params.values
    model = vdp.LinearRegression(mechanism=mech, response="income")
    for args in (
        (rel.frame[["age"]], rel.frame["income"]),
        (rel.frame[["age"]].to_numpy(), rel.frame["income"]),
        (rel, None),
    ):
        assert np.allclose(theta(model.fit(*args)), expected, atol=1e-10)
    with pytest.raises(ParameterError, match="'income', a private column"):
        vdp.LinearRegression(mechanism=mech).fit(rel.frame[["age"]], rel.frame["income"])
    with pytest.raises(DataError, match="missing columns: 'income'"):
        vdp.LinearRegression(mechanism=mech).fit(rel.frame[["age"]], rel.frame["income"].to_numpy())


@pytest.mark.thinned(3)
@pytest.mark.parametrize("levels", [[False, True], ["no", "yes"], [3, 7]])
def test_classes_private_and_public(levels):
    x = np.random.default_rng(1).uniform(-1, 1, 6000)
    at = (x + np.random.default_rng(2).normal(0, 0.7, 6000) > 0).astype(int)
    people = pd.DataFrame({"x": x, "y": np.array(levels)[at]})
    for kind in (vdp.Public(), vdp.Categorical(levels)):
        schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": kind})
        mech = vdp.Mechanism(schema, scale=0.2, exact_rate=0.4, keep=None if isinstance(kind, vdp.Public) else 0.8)
        rel = mech.release(people, key=KEY)
        model = vdp.LogisticRegression().fit(rel, "y")
        assert model.classes_.tolist() == levels
        assert model.coef_.shape == (1, 1)
        assert model.coef_[0, 0] > 1
        response = None if isinstance(kind, vdp.Public) else "y"
        again = vdp.LogisticRegression(mechanism=mech, response=response).fit(rel.frame[["x"]], rel.frame["y"])
        assert np.allclose(theta(again), theta(model), atol=1e-10)
        assert np.allclose(model.predict_proba(rel.frame[["x"]]).sum(axis=1), 1)
        assert set(model.predict(rel.frame[["x"]])) == set(levels)
        assert abs(model.score(rel, "y") - np.mean(model.predict(people[["x"]]) == people["y"])) < 0.06


def test_response_in_another_order_is_refused():
    model = vdp.LogisticRegression(mechanism=MECH)
    whole = REL.frame.drop(columns="bought")
    with pytest.raises(DataError, match="sorted by a public hash"):
        vdp.LogisticRegression().fit(REL, PEOPLE["bought"])
    with pytest.raises(DataError, match="kept apart from a shuffled release"):
        model.fit(whole, PEOPLE["bought"])
    with pytest.raises(DataError, match="kept apart from a shuffled release"):
        model.fit(whole, PEOPLE["bought"].to_numpy())
    with pytest.raises(DataError, match="in another order"):
        model.fit(REL.frame, PEOPLE["bought"])
    with pytest.raises(DataError, match="y is column 'bought' of X"):
        model.fit(REL.frame, REL.frame["bought"].to_numpy())
    with pytest.raises(DataError, match="different index labels"):
        model.fit(whole, BOUGHT[::-1])


def test_rows_of_a_release_with_many_equal_rows_are_not_refused():
    """Equal rows have equal hashes: a third of the steps between sorted hashes is 0, which is no disorder."""
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"age": rng.integers(0, 1000, 3000), "bought": rng.random(3000) < 0.5})
    schema = vdp.Schema({"age": vdp.Bounded(0, 1000, step=1), "bought": vdp.Public()})
    released = vdp.Mechanism(schema, noise={"age": vdp.noise.Window(epsilon=2)}).release(people, key=KEY)
    assert released.frame.duplicated().mean() > 0.3
    refuse_another_order(released)


def test_permuted_rows_are_not_refused():
    """A fifth of the rows, in any order, sorted by anything: no false alarm, however often."""
    whole = REL.frame.drop(columns="bought")
    rng = np.random.default_rng(0)
    for k in range(60):
        rows = [
            rng.permutation(N)[: rng.integers(60, N)],
            np.sort(rng.permutation(N)[: rng.integers(60, N)]),
            np.argsort(whole["spent"].to_numpy(), kind="stable"),
            rng.integers(0, N, N),
        ][k % 4]
        frame = REL.frame.iloc[rows].reset_index(drop=True)
        frame = frame.astype({"bought": [int, float, bool][k % 3]})
        refuse_another_order(vdp.Release.from_frame(frame, MECH))
    wrong = REL.frame.assign(bought=PEOPLE["bought"])
    with pytest.raises(DataError):
        refuse_another_order(vdp.Release.from_frame(wrong, MECH))


def test_a_release_in_its_own_order_takes_an_array():
    rel = MECH.release(PEOPLE, key=KEY, shuffle=False)
    found = vdp.LinearRegression().fit(rel, PEOPLE["age"].to_numpy())  # here the order is that of the people
    assert found.n_features_in_ == 4


def test_a_column_that_a_scaler_touched_is_refused():
    scaled = X.assign(age=StandardScaler().fit_transform(X[["age"]])[:, 0])
    with pytest.raises(DataError, match=r"'age' has .* values off the release grid"):
        vdp.LinearRegression(mechanism=MECH).fit(scaled, SPENT)
    with pytest.raises(DataError, match="off the release grid"):
        make_pipeline(StandardScaler(), vdp.LinearRegression(mechanism=MECH)).fit(X, SPENT)
    window = vdp.calibrate(SCHEMA, epsilon=8)
    frame = window.release(PEOPLE, key=KEY).frame
    with pytest.raises(DataError, match="its window never gives"):
        vdp.LinearRegression(mechanism=window).fit(frame[["age", "income"]] * 1.01, frame["spent"])


def test_invalid_inputs_of_learners_are_refused():
    model = vdp.LinearRegression(mechanism=MECH)
    with pytest.raises(DataError, match="does not know: 'squares'"):
        model.fit(X.assign(squares=X.age**2), SPENT)
    with pytest.raises(DataError, match="missing columns: 'income'"):
        model.fit(X[["age"]], SPENT)
    with pytest.raises(DataError, match="order of the schema, with 2 columns"):
        model.fit(np.zeros((5, 7)), np.zeros(5))
    with pytest.raises(ParameterError, match="another mechanism"):
        vdp.LinearRegression(mechanism=vdp.Mechanism(SCHEMA, scale=0.5)).fit(REL, "spent")
    with pytest.raises(ParameterError, match="y must name a column"):
        vdp.LinearRegression().fit(REL)
    with pytest.raises(ParameterError, match="there is no column 'bout'"):
        vdp.LinearRegression().fit(REL, "bout")
    with pytest.raises(ParameterError, match="Only binary"):
        vdp.LogisticRegression().fit(REL, "spent")
    with pytest.raises(ParameterError, match="not a Mechanism"):
        vdp.LinearRegression(mechanism="zil").fit(X, SPENT)
    with pytest.raises(ParameterError, match="for released records"):
        vdp.LinearRegression(response="spent").fit(X, SPENT)


def test_a_fit_without_an_answer_is_an_error():
    noisy = vdp.Mechanism(SCHEMA, scale=8.0, exact_rate=0.001)
    with pytest.raises(EstimationError, match="not converged"):
        vdp.LinearRegression(columns=["age"]).fit(noisy.release(made(1, 200), key=KEY), "spent")


def test_a_fit_that_is_hardly_known_is_warned_of_and_keeps_its_intervals():
    weak = vdp.Mechanism(SCHEMA, scale=0.7, exact_rate=0.05)
    with pytest.warns(ConvergenceWarning, match="hardly known: Intercept, age"):
        model = vdp.LinearRegression(columns=["age"]).fit(weak.release(made(1, 400), key=KEY), "spent")
    assert model.result_.conf_int().values.shape == (2, 2)


def test_categories_weights_and_windows():
    rng = np.random.default_rng(9)
    people = PEOPLE.assign(region=rng.choice(["n", "s", "w"], N))
    schema = vdp.Schema({**SCHEMA.columns, "region": vdp.Categorical(["n", "s", "w"])})
    mech = vdp.calibrate(schema, epsilon=9)
    rel = mech.release(people, key=KEY)
    model = vdp.LinearRegression(columns=["age", "region"]).fit(rel, "spent", sample_weight="bought")
    expected = vdp.fit(rel, "spent ~ age + C(region)", weights="bought")
    assert model.coef_names_ == ("age", "C(region)[T.s]", "C(region)[T.w]")
    assert np.allclose(theta(model), expected.params.values, atol=1e-10)
    new = pd.DataFrame({"age": [30.0, 60.0], "region": ["w", "n"]})
    assert np.allclose(model.predict(new), expected.predict(new))
