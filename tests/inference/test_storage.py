"""Saved results: a frozen class of their own, each entry checked by its name; version 1 is read and written."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from versadp.errors import ParameterError
from versadp.inference import Results
from versadp.inference.storage import SavedResults
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
    assert set(WRONG) == {each.name for each in dataclasses.fields(SavedResults)}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_an_entry_of_a_wrong_kind_is_named(name, value):
    with pytest.raises(ParameterError, match=name):
        SavedResults.from_dict(GOLDEN | {name: value})
