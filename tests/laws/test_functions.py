"""`E corrected score = score(x)` for every loss, block and product, by enumeration of outputs; and what must fail."""

from dataclasses import replace

import numpy as np
import pytest

from versadp.correction import CustomModel, FormulaModel, Projected, Projection, RecordModel, Records
from versadp.formula.design import make_design
from versadp.losses import Check, Custom, Hinge, Huber, Logistic, Poisson, Squared
from versadp.noise import Window
from versadp.noise.units import Units
from versadp.schema import Bounded, Categorical, Public, Schema
from versadp_tests.outputs import together

A, B, LEVELS = Bounded(1, 4, step=1, nullable=True), Bounded(-1, 1), Categorical(["u", "v", "w"])
SCHEMA = Schema({"a": A, "b": B, "c": LEVELS, "p": Public(), "y": Public()})
WHOLE = replace(A, nullable=False)
BLOCKS = {
    "joint": (Window(2.0, cells={"a": 3, "b": 2}, window=2).on({"a": WHOLE, "b": B, "c": LEVELS}),),
    "two": (Window(2.0, cells=3, window=2).on({"a": WHOLE}), Window(1.0, cells=2, window=3).on({"b": B, "c": LEVELS})),
    "missing": (Window(2.0, cells=3, window=2).on({"a": A}), Window(1.5, cells=2).on({"b": B, "c": LEVELS})),
    "missing, joint": (Window(3.0, cells={"a": 3, "b": 2}, window=2).on({"a": A, "b": B, "c": LEVELS}),),
    "three": (
        Window(2.0, cells=3, window=3).on({"a": WHOLE}),
        Window(2.0, cells=2, window=1).on({"b": B}),
        Window(1.0).on({"c": LEVELS}),
    ),
}
RIGHT = "np.log(a) + I(b ** 2):C(c) + np.exp(a * b / 4) + p:np.sqrt(a)"
THETA = np.array([0.4, -0.7, 1.3, 0.2, 0.9, -0.5, 0.3])
UNITS = Units.plain({"a": (1.0, 4.0), "b": (-1.0, 1.0), "c": (0.0, 2.0)})


def own(x, theta):
    return np.abs(np.sin(x[:, 0] * theta[0] + x[:, 1])) + theta[1] ** 2 * x[:, 0] * x[:, 1] * x[:, 2]


def formula(loss, left="y"):
    return FormulaModel(loss, make_design(f"{left} ~ {RIGHT}", SCHEMA), UNITS)


MODELS = {
    "squared": formula(Squared()),
    "logistic": formula(Logistic()),
    "poisson": formula(Poisson()),
    "huber": formula(Huber(k=0.3)),
    "check": formula(Check(0.3)),
    "hinge": formula(Hinge()),
    "a function as response": formula(Check(0.6), "np.sin(a)"),
    "own": CustomModel(Custom(own), 2, ("a", "b", "p"), UNITS),
    "mean of a function": RecordModel(Squared(), lambda x: np.exp(x[:, 0] * x[:, 1]), ("a", "b"), UNITS),
}
PEOPLE = [{"a": 0, "b": 0, "c": 0}, {"a": 2, "b": 1, "c": 2}, {"a": 3, "b": 2, "c": 1}]


def seen(values, p=0.6, y=1.0):
    n = values.shape[1]
    middle = np.where(np.isnan(values), UNITS.middle[:, None], values)
    return Records(UNITS.from_columns(list(middle)), {"p": np.full(n, p)}, None, np.full(n, y), None, values)


def truth(model, person, theta):
    x = np.array([[1.0 + person["a"], person["b"] - 1.0, float(person["c"])]])
    record = seen(x.T)
    if isinstance(model, FormulaModel) and "np.sin(a)" in model.design.formula.split("~")[0]:
        record = replace(record, response=None)
    return model.score(model.rows((x - UNITS.centre) / UNITS.unit, np.zeros(1, int), record), theta)[0]


def expected(model, blocks, person, theta, projection=None):
    """Return the mean corrected score over all outputs of a person, each way of evaluating it."""
    values, chance = together(blocks, person)
    records = seen(values)
    if isinstance(model, FormulaModel) and model.design.response != -1:
        records = replace(records, response=None)
    form = Projected(model, UNITS, projection or Projection(blocks, (3, 2, 2)))
    spots = form.prepare(records, np.random.default_rng(0))
    assert spots.first is not None  # all are alike in public
    each = [spots.scores(theta, hessian=False)[0]]
    apart = replace(spots, first=None, kind=None)
    if form.factors is not None:
        each.append(apart.scores(theta, hessian=False)[0])
    each.append(apart._one_by_one(theta, hessian=False)[0])
    for other in each[1:]:
        np.testing.assert_allclose(other, each[0], atol=1e-9 * max(1, np.abs(each[0]).max()))
    return chance @ each[0]


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("kind", list(BLOCKS))
def test_the_corrected_score_has_the_true_one_in_expectation(kind, name):
    model, blocks = MODELS[name], BLOCKS[kind]
    theta = THETA[: model.size]
    for person in PEOPLE:
        np.testing.assert_allclose(expected(model, blocks, person, theta), truth(model, person, theta), atol=1e-9)
    if "missing" in kind:  # which no complete record is
        lost = expected(model, blocks, {"a": None, "b": 1, "c": 0}, theta)
        np.testing.assert_allclose(lost, np.zeros(model.size), atol=1e-9)


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("spoilt", ["another coin", "one block for two"])
def test_a_wrong_inverse_is_found_out(spoilt, name):
    model, blocks = MODELS[name], BLOCKS["two"]
    theta, first = THETA[: model.size], blocks[0]
    wrong = (replace(first, coin=int(first.kept * 0.8)), blocks[1])
    if spoilt == "one block for two":  # one coin for what has two
        wrong = (replace(BLOCKS["joint"][0], last=(3, 2, 2), window=(2, 3, 1), coin=first.kept),)
    projection = Projection(wrong, (3, 2, 2))
    away = [expected(model, blocks, each, theta, projection) - truth(model, each, theta) for each in PEOPLE]
    assert np.abs(away).max() > 1e-2
