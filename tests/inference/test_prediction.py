"""Predictions, their bands, and results on disk."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

from versadp.errors import ParameterError
from versadp.inference import Prediction, Results
from versadp.inference.prediction import exponential
from versadp_tests.inference_cases import NAMES, TERMS, make

DATA = {"age": np.array([20.0, 40.0, 3.0]), "income": np.array([0.0, 10.0, 100.0]), "other": np.array(["a", "b", "c"])}
LINKS = {
    "identity": lambda u: u,
    "logistic": lambda u: 1 / (1 + np.exp(-u)),
    "exponential": np.exp,
}


@pytest.mark.parametrize("link", LINKS)
def test_bands_by_their_formula(link):
    res = make(predict_link=link)
    matrix = np.stack([np.ones(3), DATA["age"], np.log1p(DATA["income"])], axis=1)
    centre = matrix @ np.asarray(res.params)
    half = stats.norm.ppf(0.95) * np.sqrt([x @ np.asarray(res.cov_params()) @ x for x in matrix])
    band = res.predict(DATA, interval=0.9)
    assert isinstance(band, Prediction)
    for got, expected in ((band.estimate, centre), (band.lower, centre - half), (band.upper, centre + half)):
        np.testing.assert_allclose(got, LINKS[link](expected), rtol=1e-10)
    np.testing.assert_array_equal(res.predict(DATA), band.estimate)
    np.testing.assert_array_equal(res.predict(matrix), band.estimate)
    assert list(band.to_pandas().columns) == ["estimate", "lower", "upper"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_any_table(kind):
    np.testing.assert_array_equal(make().predict(kind(DATA)), make().predict(DATA))


def test_one_record_and_a_number_for_a_column():
    res = make()
    assert res.predict({"age": 20.0, "income": 0.0}).shape == (1,)
    np.testing.assert_array_equal(
        res.predict({"age": [20.0, 40.0], "income": 3.0}), res.predict({"age": [20.0, 40.0], "income": [3.0, 3.0]})
    )


def test_a_decreasing_link_keeps_the_ends_in_order():
    band = make(predict_link=lambda u: -u).predict(DATA, interval=0.9)
    assert (band.lower < band.estimate).all()
    assert (band.estimate < band.upper).all()


def test_overflow_is_quiet():
    assert np.isinf(exponential(np.array([1e4]))[0])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"age": [1.0]}, "missing columns: 'income'"),
        ({"age": ["x"], "income": [1.0]}, "plain numbers"),
        ({"age": [1.0, 2.0], "income": [1.0, 2.0, 3.0]}, "differ in length"),
        (np.ones((2, 2)), "3 columns"),
        (np.array([["a", "b", "c"]]), "3 columns"),
        ("age", "cannot predict at str"),
    ],
)
def test_data_that_do_not_fit(data, words):
    with pytest.raises(ParameterError, match=words):
        make().predict(data)


def test_fits_that_do_not_predict():
    with pytest.raises(ParameterError, match="without a linear predictor"):
        make(predict_link=None).predict(DATA)
    with pytest.raises(ParameterError, match="no formula"):
        make(design=None).predict(DATA)
    with pytest.raises(ParameterError, match="level"):
        make().predict(DATA, interval=95)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"outcome": "diverged", "advice": "more records", "params": None, "cov": None},
        {"formula": None, "header": None, "effective_n": None, "weights": None, "predict_link": None, "design": None},
        {"params": [np.pi * 1e-300, -0.0, 1e300], "cov": np.diag([1e-300, 0.1 + 0.2, 1e300])},
        {"header": {"größe": "→ <&>"}},
    ],
)
def test_exact_round_trip(tmp_path, changes):
    res = make(**changes)
    res.save(tmp_path / "fit.json")
    back = Results.load(tmp_path / "fit.json")
    assert back == res
    assert hash(back) == hash(res)
    assert str(back.summary()) == str(res.summary())
    assert json.dumps(back.to_dict()) == json.dumps(res.to_dict())
    assert pickle.loads(pickle.dumps(res)) == res
    if res.converged:
        assert back.params.tobytes() == res.params.tobytes()
        assert back.cov_params().tobytes() == res.cov_params().tobytes()


def test_predictions_from_a_file(tmp_path):
    make().save(tmp_path / "fit.json")
    np.testing.assert_array_equal(Results.load(tmp_path / "fit.json").predict(DATA), make().predict(DATA))
    res = make(predict_link=np.tanh)
    res.save(tmp_path / "fit.json")
    assert Results.load(tmp_path / "fit.json") == res
    with pytest.raises(ParameterError, match="which is not saved"):
        Results.load(tmp_path / "fit.json").predict(DATA)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(res)).predict(DATA), res.predict(DATA))


CHANGES = {
    "no format": lambda d: d.pop("format"),
    "a later version": lambda d: d.update(version=2),
    "an entry more": lambda d: d.update(more=1),
    "an entry less": lambda d: d.pop("cov"),
    "names": lambda d: d.update(names="abc"),
    "numbers as names": lambda d: d.update(names=[1, 2, 3]),
    "names repeated": lambda d: d.update(names=["a", "a", "b"]),
    "nobs": lambda d: d.update(nobs=1e3),
    "nobs true": lambda d: d.update(nobs=True),
    "params": lambda d: d.update(params=["1", [], None]),
    "params missing": lambda d: d.update(params=None),
    "params NaN": lambda d: d.update(params=[float("nan")] * 3),
    "negative variance": lambda d: d["cov"][0].__setitem__(0, -1.0),
    "ragged": lambda d: d["cov"].pop(),
    "weights": lambda d: d.update(weights={"zero": "much"}),
    "effective_n": lambda d: d.update(effective_n="many"),
    "header": lambda d: d.update(header=["x"]),
    "link": lambda d: d.update(link="probit"),
    "terms": lambda d: d.update(terms=[["age"]]),
    "terms of another kind": lambda d: d.update(terms=[1, 2, 3]),
    "code": lambda d: d["terms"].__setitem__(1, ["__import__('os').getpid()"]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_files_that_were_edited(tmp_path, change):
    data = make().to_dict()
    change(data)
    (tmp_path / "fit.json").write_text(json.dumps(data))
    with pytest.raises(ValueError) as caught:  # ParameterError or EstimationError
        Results.load(tmp_path / "fit.json")
    assert type(caught.value).__module__ == "versadp.errors"


@pytest.mark.parametrize("text", ["", "no", "[]", "3", "[" * 100_000, "\x00"])
def test_files_that_are_something_else(tmp_path, text):
    (tmp_path / "fit.json").write_text(text)
    with pytest.raises(ParameterError):
        Results.load(tmp_path / "fit.json")


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(ParameterError, match="cannot read"):
        Results.load(tmp_path / "none.json")
    with pytest.raises(ParameterError, match="cannot write"):
        make().save(tmp_path / "none" / "fit.json")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(ParameterError, match="not a JSON file"):
        Results.load(tmp_path / "bytes")


def test_the_terms_are_those_of_the_names():
    assert TERMS.names == NAMES
    assert TERMS.columns == ("age", "income")
