"""Saved results: frozen, each entry checked by its name; version 1 is read, and written where there are no curves."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from versadp.errors import EstimationError, ParameterError
from versadp.estimation import Curve, ScoreSet
from versadp.formula.terms import Terms
from versadp.inference import Results
from versadp.inference.chi_square import SpecificationTest
from versadp.inference.saved_results import SavedResults
from versadp.inference.trust import Trust
from versadp_tests.inference_cases import make

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text())["results"]


def test_version_1_is_read_and_written_as_it_was():
    assert Results.from_dict(GOLDEN).to_dict() == GOLDEN
    assert list(make().to_dict()) == list(GOLDEN)
    assert json.dumps(Results.from_dict(GOLDEN).to_dict()) == json.dumps(GOLDEN)


def test_a_failed_fit_of_version_1_is_read():
    """As the first version wrote it, with what happened in its advice."""
    data = GOLDEN | {"outcome": "iterations", "params": None, "cov": None, "advice": "too many steps: more records"}
    res = Results.from_dict(data)
    assert (res.outcome, res.advice, res.converged) == ("iterations", "too many steps: more records", False)
    assert res.to_dict() == data


def test_a_saved_result_is_frozen_and_typed():
    saved = SavedResults.from_dict(GOLDEN)
    with pytest.raises(dataclasses.FrozenInstanceError):
        saved.nobs = 3
    assert saved.params == tuple(GOLDEN["params"])
    assert saved.terms == ((), ("a",), ("b",))
    assert saved == SavedResults.of(Results.from_dict(GOLDEN))
    saved.to_dict()["params"][0] = 99.0  # a copy
    saved.to_dict()["header"]["epsilon"] = "0"
    assert saved == SavedResults.from_dict(GOLDEN)
    res = make()
    res.to_dict()["header"]["epsilon"] = "0"
    assert res.header["epsilon"] == "4"


WRONG = {
    "names": ["abc", [1, 2, 3], None, {"a": 1}],
    "outcome": ["splendid", None, 3, ["converged"]],
    "params": ["abc", ["1", "2", "3"], [True, 1.0, 2.0], [np.nan] * 3, [np.inf, 1.0, 2.0], [[1.0]] * 3],
    "cov": [[1.0, 2.0, 3.0], [["1"] * 3] * 3, 3.0],
    "nobs": [1e3, True, -1, "many", None],
    "loss": [None, 3],
    "method": [None, 3],
    "formula": [3, ["y ~ x"]],
    "header": [None, ["x"], {"epsilon": 4}],
    "effective_n": ["many", True, np.nan, [1.0]],
    "weights": [["x"], {"zero": "much"}, {"zero": None}, {"zero": True}],
    "link": [3, ["logistic"]],
    "terms": ["abc", [1, 2, 3], [["a", 1]]],
    "advice": [3],
}


def test_every_entry_is_among_the_wrong_ones():
    since = {"curves", "trust", "levels", "classes", "bias", "offset", "profiles"}  # which version 1 has not
    assert set(WRONG) == {each.name for each in dataclasses.fields(SavedResults)} - since


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_an_entry_of_a_wrong_kind_is_named(name, value):
    with pytest.raises(ParameterError, match=name):
        SavedResults.from_dict(GOLDEN | {name: value})


def test_levels_and_classes_are_saved_and_checked(tmp_path):
    terms = Terms(("b:1", "b:g"), ((), ("g == 'e'",)), {"g": ("n", "e", None), "h": (0, True)})
    result = Results(
        [0.1, 0.2], np.eye(2), terms.names, "converged", 9, loss="multinomial", method="efficient", design=terms,
        predict_link="softmax", classes=("a", "b"),
    )  # fmt: skip
    result.save(tmp_path / "results.json")
    again = Results.load(tmp_path / "results.json")
    assert again == result
    assert again.design.levels == terms.levels
    assert again.predict({"g": ["e", None]}).shape == (2, 2)
    saved = result.to_dict()
    assert saved["version"] == 5
    for wrong in ({"levels": {"g": "ne"}}, {"levels": {"g": [1.5]}}, {"levels": []}, {"classes": [1]}, {"classes": []}):
        with pytest.raises(ParameterError):
            Results.from_dict(saved | wrong)
    code = saved | {"terms": [[], ["__import__('os').system('true') == 'e'"]]}
    with pytest.raises(ParameterError):
        Results.from_dict(code)
    old = {name: value for name, value in saved.items() if name != "classes"} | {"version": 4, "link": "logistic"}
    assert Results.from_dict(old).classes == ()


def test_bias_is_saved_and_checked(tmp_path):
    given = {"loss": "squared", "method": "efficient", "bias": {"x": 0.02}}
    result = Results([0.1, 0.2], np.eye(2), ("1", "x"), "converged", 9, **given)
    result.save(tmp_path / "results.json")
    assert Results.load(tmp_path / "results.json") == result
    saved = result.to_dict()
    assert saved["version"] == 6
    for wrong in ({"z": 0.1}, {"x": "much"}, {"x": np.inf}, [0.1], None):
        with pytest.raises(ParameterError):
            Results.from_dict(saved | {"bias": wrong})
    without = Results.from_dict(saved | {"cov": [[0.0, 0.0], [0.0, 0.0]]})  # somebody's file
    assert "inf standard errors" in str(without.summary())
    old = {name: value for name, value in saved.items() if name != "bias"} | {"version": 5}
    assert Results.from_dict(old).bias == {}


def test_curves_are_saved_and_version_1_is_read(tmp_path):
    at = np.linspace(0, 1, 21)
    curve = Curve(at, at - 0.31, np.full(21, 0.1), 0.001)
    result = Results(
        [0.35], [[0.01]], ("median",), "converged", 100, loss="median", method="efficient", curves={"median": curve}
    )
    result.save(tmp_path / "results.json")
    again = Results.load(tmp_path / "results.json")
    assert again == result
    for level in (0.5, 0.95, 0.999):
        assert again.conf_int(level)[0].tolist() == list(curve.interval(level))
        assert again.coef_table(level)[0]["lower"] == curve.interval(level)[0]
    assert "inverting" in str(again.summary())
    old = result.to_dict() | {"version": 1}
    with pytest.raises(ParameterError):
        Results.from_dict(old)
    del old["curves"]
    plain = Results.from_dict(old)
    assert plain.trust == Trust()
    assert not plain.curves
    assert plain.conf_int()["median"] == pytest.approx(0.35 + np.array([-0.196, 0.196]), abs=1e-3)
    for spoiled in ([[0.0], [0.0], [1.0]], [[1, 0], [0, 0], [1, 1], 0], {"at": 1}):
        with pytest.raises(ParameterError):
            Results.from_dict(result.to_dict() | {"curves": {"median": spoiled}})
    with pytest.raises(ParameterError):
        Results.from_dict(result.to_dict() | {"curves": {"age": result.to_dict()["curves"]["median"]}})


def weak(**changes):
    at = np.linspace(-4.0, 6.0, 201)
    sets = {
        "Intercept": ScoreSet(at, (at - 1) ** 2),
        "age": ScoreSet(at, at**2 / (1 + at**2)),
        "np.log1p(income)": ScoreSet.nothing(),
    }
    trust = Trust({"Intercept": 5.0, "age": 1.5}, sets, SpecificationTest.of(30.0, 10))
    return make(**({"outcome": "weak", "params": [1.0, 9.75, np.nan], "cov": None, "trust": trust} | changes))


def test_weak_fit_has_score_sets_and_estimates_with_significant_curvature(tmp_path):
    res = weak()
    assert (res.converged, res.answered, res.outcome) == (False, True, "weak")
    assert np.asarray(res.params) == pytest.approx([1.0, np.nan, np.nan], nan_ok=True)
    assert np.isnan(np.asarray(res.bse)).all()
    ends = np.asarray(res.conf_int())
    assert ends[0] == pytest.approx([-0.96, 2.96], abs=0.01)
    assert (ends[1:] == [-np.inf, np.inf]).all()
    for ask in (res.cov_params, lambda: res.wald_test("age"), lambda: res.conf_int(kind="wald")):
        with pytest.raises(EstimationError, match="not converged: weak"):
            ask()
    assert "9.75" not in str(res.summary()) + res.summary().to_html() + json.dumps(res.to_dict())


def test_infinite_ends_are_shown_everywhere_and_json_stays_json(tmp_path):
    res = weak()
    for text in (str(res.summary()), res.summary().to_html(), res.coef_table().to_csv(), str(res.coef_table())):
        assert "-inf" in text
    rows = json.loads(res.coef_table().to_json(), parse_constant=pytest.fail)
    assert (rows[1]["lower"], rows[1]["upper"], rows[1]["estimate"]) == ("-inf", "inf", None)
    assert "Something is wrong" in str(res.summary())
    assert "Something is wrong" not in str(weak(trust=Trust(test=SpecificationTest.of(3.0, 10))).summary())


def test_a_weak_fit_is_saved_whole(tmp_path):
    res = weak()
    res.save(tmp_path / "weak.json")
    json.loads((tmp_path / "weak.json").read_text(), parse_constant=pytest.fail)
    again = Results.load(tmp_path / "weak.json")
    assert again == res
    assert again.specification_test().df == 10
    np.testing.assert_array_equal(again.conf_int(0.9), res.conf_int(0.9))
    assert res.to_dict()["version"] == 3
    for version in (1, 2):
        with pytest.raises(ParameterError, match="have no"):
            Results.from_dict(res.to_dict() | {"version": version})
    trust = res.to_dict()["trust"]
    for wrong in (None, {}, trust | {"strength": []}, trust | {"test": 3}, {"test": None}):
        with pytest.raises(ParameterError, match="trust"):
            Results.from_dict(res.to_dict() | {"trust": wrong})


def test_score_sets_of_a_fit_that_is_not_weak_are_asked_for():
    with pytest.raises(EstimationError, match="no score sets"):
        make().conf_int(kind="score")
    with pytest.raises(ParameterError, match="kind"):
        make().conf_int(kind="bayes")
    with pytest.raises(EstimationError, match="nothing to contrast"):
        make().specification_test()
    at = np.linspace(0, 2, 101)
    res = make(more_sets=lambda: {"age": ScoreSet(at, 100 * (at - 1) ** 2)})
    assert res.conf_int(kind="score")["age"] == pytest.approx([0.804, 1.196], abs=0.01)
