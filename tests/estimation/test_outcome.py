"""Outcomes: one name and one set of words each, and texts to whoever asks."""

import ast
import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import versadp
from versadp.errors import ParameterError
from versadp.estimation import Fit, Outcome, SolveResult
from versadp.estimation.moments import Moments

SOURCES = Path(versadp.__file__).parent


def test_the_names_that_results_and_files_have_had():
    assert list(Outcome) == ["converged", "weak", "indefinite", "stalled", "diverged", "iterations"]


@pytest.mark.parametrize("outcome", list(Outcome))
def test_an_outcome_is_its_name_with_words(outcome):
    assert isinstance(outcome, str)
    assert json.loads(json.dumps({"outcome": outcome})) == {"outcome": str(outcome)}
    assert f"{outcome}" == str(outcome) == outcome.value
    assert pickle.loads(pickle.dumps(outcome)) is copy.deepcopy(outcome) is outcome
    assert Outcome.read(outcome.value) is Outcome.read(outcome) is outcome
    assert len(outcome.happened) > 15
    assert bool(outcome.advice) == (outcome != "converged")


def test_words_differ():
    assert len({outcome.happened for outcome in Outcome}) == len(list(Outcome))


@pytest.mark.parametrize("name", ["splendid", "", "CONVERGED", None, 3, ["converged"]])
def test_what_is_no_outcome(name):
    with pytest.raises(ParameterError, match="no outcome"):
        Outcome.read(name)


def test_the_words_stand_in_one_place():
    """No other file compares or sets an outcome by a text of its own."""
    found = {
        (path.relative_to(SOURCES).as_posix(), node.value)
        for path in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in set(Outcome)
    }
    assert found == {("estimation/outcome.py", str(outcome)) for outcome in Outcome}


def test_fits_are_frozen_and_have_named_fields():
    theta, moments = np.zeros(2), Moments(10, np.zeros((1, 2)), np.zeros((1, 2, 1, 2)), np.eye(2))
    lost = Fit.failed(theta, Outcome.STALLED, 10)
    assert (lost.converged, lost.n, lost.hessian, lost.mix, dict(lost.weights)) == (False, 10, None, None, {})
    assert np.isnan(lost.cov).all()
    assert lost.cov.shape == (2, 2)
    found = Fit(theta, np.eye(2), Outcome.CONVERGED, 10, hessian=np.eye(2))
    solved = SolveResult(theta, moments, Outcome.CONVERGED)
    assert found.converged
    assert solved.converged
    assert not SolveResult(theta, moments, Outcome.DIVERGED).converged
    for each in (found, solved):
        with pytest.raises(AttributeError):
            each.theta = theta
