"""Results: agreement with statsmodels, refusal to show what is no estimate, and what cannot be results."""

import copy
import dataclasses
import json
import pickle

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from versadp.display.tables import render
from versadp.errors import EstimationError, ParameterError
from versadp.estimation import Outcome
from versadp.inference import Results, Terms
from versadp_tests.inference_cases import HEADER, NAMES, make


@pytest.fixture(params=["ols", "logit"], scope="module")
def theirs(request):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"const": 1.0, "a": rng.normal(size=400), "b": rng.normal(size=400)})
    index = 0.3 + 0.1 * frame["a"] - 0.05 * frame["b"]
    if request.param == "ols":
        return sm.OLS(index + rng.normal(size=400), frame).fit(cov_type="HC0")
    return sm.Logit((index + rng.logistic(size=400) > 0).astype(float), frame).fit(disp=0)


def same(theirs):
    return Results(
        theirs.params.to_numpy(),
        theirs.cov_params().to_numpy(),
        list(theirs.params.index),
        "converged",
        400,
        loss="squared",
        method="naive",
        predict_link="identity",
    )


def test_coefficient_table_agrees_with_statsmodels(theirs):
    ours = same(theirs)
    np.testing.assert_allclose(ours.bse, theirs.bse, rtol=1e-12)
    np.testing.assert_allclose(ours.tvalues, theirs.tvalues, rtol=1e-12)
    np.testing.assert_allclose(ours.pvalues, theirs.pvalues, rtol=1e-9)
    for level in (0.5, 0.9, 0.95, 0.999):
        np.testing.assert_allclose(ours.conf_int(level), theirs.conf_int(alpha=1 - level), rtol=1e-10)
    table = ours.coef_table(0.9).to_pandas()
    np.testing.assert_allclose(table[["lower", "upper"]], theirs.conf_int(alpha=0.1), rtol=1e-10)
    np.testing.assert_allclose(table["p_value"], theirs.pvalues, rtol=1e-9)


@pytest.mark.parametrize("words", ["a = 0", "a = 0, b = 0", "a = b", "2*a - b = 0.5, const = 1", "a/2 = b + 0.1"])
def test_wald_test_agrees_with_statsmodels(theirs, words):
    ours, expected = same(theirs).wald_test(words), theirs.wald_test(words, use_f=False, scalar=True)
    assert ours.statistic == pytest.approx(float(expected.statistic), rel=1e-9)
    assert ours.df == int(expected.df_denom)
    assert ours.pvalue == pytest.approx(float(expected.pvalue), rel=1e-8)


def test_bands_agree_with_statsmodels(theirs):
    points = np.array([[1.0, 0.5, -2.0], [1.0, 0.0, 3.0]])
    band = same(theirs).predict(points, interval=0.9)
    test = theirs.t_test(points)
    np.testing.assert_allclose(band.estimate, test.effect, rtol=1e-12)
    np.testing.assert_allclose(np.stack([band.lower, band.upper], 1), test.conf_int(alpha=0.1), rtol=1e-10)


def test_estimates_by_name_and_number():
    res = make()
    assert res.params["age"] == res.params[1] == -1 / 3
    assert res.bse["Intercept"] == pytest.approx(0.3, rel=1e-15)
    assert res.cov_params()["age", "Intercept"] == res.cov_params()[1, 0]
    np.testing.assert_array_equal(res.params[["age", "Intercept"]], [-1 / 3, 0.1])
    np.testing.assert_array_equal(res.conf_int()["age"], np.asarray(res.conf_int())[1])
    assert dict(res.params.items())["age"] == -1 / 3
    assert list(res.params.to_pandas().index) == list(NAMES)
    assert list(res.cov_params().to_pandas().columns) == list(NAMES)
    with pytest.raises(KeyError, match="there is no 'income'"):
        res.params["income"]


def test_arithmetic_with_estimates_is_plain():
    params = make().params
    for value in (params + 1, 2 * params, params[::-1], params[:2], np.exp(params), params @ np.eye(3)):
        assert type(value) is np.ndarray
    assert params.sum() == pytest.approx(0.1 - 1 / 3 + 2.5)
    assert copy.deepcopy(params)["age"] == pickle.loads(pickle.dumps(params))["age"] == params["age"]
    assert repr(params.copy()) == repr(np.asarray(params))


def test_results_are_a_frozen_dataclass():
    res = make()
    assert dataclasses.is_dataclass(Results)
    for name in ("nobs", "params", "cov", "something new"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(res, name, 3)
    order = ["params", "cov", "names", "outcome", "nobs", "loss", "method"]
    assert [each.name for each in dataclasses.fields(Results)][:7] == order
    assert not hasattr(Results, "params")  # no default: it must be given
    other = dataclasses.replace(res, loss="squared")
    assert (other.loss, other.params["age"], other.predict_link) == ("squared", res.params["age"], "logistic")
    assert other != res


def test_results_cannot_be_changed():
    res = make()
    with pytest.raises(AttributeError):
        res.nobs = 3
    with pytest.raises(AttributeError):
        del res.outcome
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(res.params)[0] = 0
    with pytest.raises(TypeError):
        res.header["epsilon"] = "0"
    with pytest.raises(TypeError):
        res.weights["zero"] = 1.0
    res.cov_params().values[:] = 0
    assert res.cov_params()[0, 0] > 0


ESTIMATES = {
    "params": lambda res: res.params,
    "bse": lambda res: res.bse,
    "zvalues": lambda res: res.zvalues,
    "tvalues": lambda res: res.tvalues,
    "pvalues": lambda res: res.pvalues,
    "cov_params": lambda res: res.cov_params(),
    "conf_int": lambda res: res.conf_int(),
    "coef_table": lambda res: res.coef_table(),
    "wald_test": lambda res: res.wald_test("age"),
    "predict": lambda res: res.predict({"age": 1, "income": 1}),
}


@pytest.mark.parametrize("ask", ESTIMATES.values(), ids=ESTIMATES)
def test_without_convergence_there_is_no_estimate(ask):
    assert ask(make()) is not None
    res = make(outcome="indefinite", advice="collect 4000 records")
    assert not res.converged
    with pytest.raises(EstimationError, match="not converged: indefinite") as caught:
        ask(res)
    assert caught.value.hint == "collect 4000 records"


def test_without_convergence_the_summary_says_what_to_do():
    for res in (
        make(outcome="indefinite", params=[1.25, 9.75, np.nan], advice="collect 4000 records"),
        make(outcome="indefinite", params=None, cov=None, advice="collect 4000 records"),
    ):
        for text in (str(res.summary()), res.summary()._repr_html_()):
            assert "No estimate: indefinite." in text
            assert "collect 4000 records" in text
            assert "epsilon" in text
            assert "9.75" not in text
            assert "std error" not in text


@pytest.mark.parametrize("outcome", [each for each in Outcome if each not in {"converged", "weak"}])
def test_an_outcome_speaks_for_itself(outcome):
    res = make(outcome=str(outcome), params=None, cov=None)
    assert res.outcome is outcome
    for text in (str(res.summary()), res.summary().to_html()):
        assert f"What happened: {outcome.happened}" in text
        assert f"What to do: {outcome.advice}" in text
    with pytest.raises(EstimationError) as caught:
        _ = res.params
    assert outcome.happened in caught.value.message
    assert caught.value.hint == outcome.advice


@pytest.mark.parametrize("outcome", ["indefinite", Outcome.ITERATIONS])
def test_last_iterate_of_a_failed_fit_is_not_kept(outcome):
    left = {"params": [1.25, 9.75, np.nan], "cov": np.full((3, 3), 8.25)}
    res = make(outcome=outcome, **left)
    everything = repr(vars(res)) + repr(res.to_dict()) + repr(pickle.dumps(res)) + str(res.summary())
    assert not any(number in everything for number in ("1.25", "9.75", "8.25"))
    assert res == make(outcome=outcome, params=None, cov=None)
    assert "1.25" in repr(vars(make(params=[1.25, 9.75, 0.0])))


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"nobs": 2}, EstimationError, "2 records for 3 coefficients"),
        ({"cov": np.diag([1.0, -1.0, 1.0])}, EstimationError, "variance is negative"),
        ({"cov": np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]])}, EstimationError, "not symmetric"),
        ({"cov": np.full((3, 3), np.nan)}, EstimationError, "not finite"),
        ({"cov": None}, ParameterError, "shape"),
        ({"cov": np.eye(2)}, ParameterError, "shape"),
        ({"params": [1, 2, np.inf]}, EstimationError, "not finite"),
        ({"params": [1, 2]}, ParameterError, "shape"),
        ({"params": ["a", "b", "c"]}, ParameterError, "shape"),
        ({"names": ("a", "a", "b")}, ParameterError, "repeated"),
        ({"names": (), "params": []}, ParameterError, "repeated"),
        ({"effective_n": np.nan}, EstimationError, r"effective_n must be a number in \[0, inf\)"),
        ({"effective_n": "many"}, EstimationError, "effective_n"),
        ({"effective_n": True}, EstimationError, "effective_n"),
        ({"effective_n": -1.0}, EstimationError, "effective_n"),
        ({"weights": {"zero": np.nan}}, EstimationError, "weight of 'zero'"),
        ({"weights": {"zero": np.inf}}, EstimationError, "weight of 'zero'"),
        ({"weights": {"zero": "0.5"}}, EstimationError, "weight of 'zero'"),
        ({"nobs": 1000.0}, ParameterError, "nobs must be a whole number"),
        ({"nobs": True}, ParameterError, "nobs"),
        ({"nobs": -1, "outcome": "stalled"}, ParameterError, "nobs"),
        ({"outcome": "splendid"}, ParameterError, "no outcome 'splendid'"),
        ({"outcome": None}, ParameterError, "no outcome"),
        ({"predict_link": "probit"}, ParameterError, "no link"),
        ({"predict_link": 3}, ParameterError, "name or a function"),
        ({"design": "y ~ x"}, ParameterError, "Terms"),
        ({"design": Terms(("a",), ((),))}, ParameterError, "different names"),
    ],
)
def test_invalid_results_are_refused(changes, error, words):
    with pytest.raises(error, match=words):
        make(**changes)


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, np.nan, "0.95", True])
def test_levels_out_of_range(level):
    for ask in (make().conf_int, make().coef_table, make().summary):
        with pytest.raises(ParameterError, match="level"):
            ask(level)


def test_a_coefficient_without_error():
    res = make(cov=np.diag([0.0, 1.0, 1.0]))
    row = res.coef_table()[0]
    assert row["z"] is None
    assert row["p_value"] == 0
    assert json.loads(res.coef_table().to_json())[0]["z"] is None
    assert make(params=[0, 0, 0], cov=np.zeros((3, 3))).coef_table()[0]["p_value"] is None


def test_coefficient_table_in_every_format():
    table = make().coef_table()
    assert len(table) == 3
    assert list(table[0]) == ["coefficient", "estimate", "std_error", "z", "p_value", "lower", "upper"]
    assert render(table) == str(table) == table.render()
    assert json.loads(table.to_json())[1]["estimate"] == -1 / 3
    assert table.to_csv().splitlines()[2].startswith("age,-0.333333333333333")
    assert [row["coefficient"] for row in table[1:]] == list(NAMES[1:])
    table[0]["estimate"] = 9.0  # a copy
    assert table[0]["estimate"] == 0.1
    assert "<td>age</td>" in table._repr_html_()


def test_summary_states_everything():
    for text in (str(make().summary()), make().summary().to_html(), make()._repr_html_()):
        for words in (
            *HEADER,
            *HEADER.values(),
            "1,000",
            "effective sample size",
            "322",
            "logistic",
            "efficient",
            "converged",
            "y ~ age + np.log1p(income)",
            "zero 0.75, clip 0.25",
            "lower 95%",
            *NAMES,
        ):
            assert words in text
    assert "lower 99.9%" in str(make().summary(0.999))
    assert "effective" not in str(make(effective_n=None, weights=None).summary())
    assert repr(make().summary()) == str(make().summary())
    assert repr(make()) == "<Results: y ~ age + np.log1p(income), 1000 records, converged>"


def test_html_is_escaped():
    bad = "<script>alert('x')</script>&"
    res = make(
        names=(bad, "b", "c"), design=None, formula=bad, header={bad: bad}, loss=bad, method=bad, weights={bad: 1}
    )
    lost = make(names=(bad, "b", "c"), design=None, formula=bad, outcome="diverged", advice=bad, header={bad: bad})
    for text in (res.summary().to_html(), res.coef_table()._repr_html_(), lost.summary().to_html()):
        assert "<script" not in text
        assert "&lt;script&gt;" in text
