"""The law that the default is never worse than an alternative: what its table says of replications that are known."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import versadp_bench.alternatives as law
from versadp.cli import main


def replication(error, outcome="converged", covered=1.0):
    found = np.full(2, error if outcome == "converged" else np.nan)
    return {"outcome": outcome, "error": found, "covered": np.where(np.isnan(found), np.nan, covered)}


def rows_of(ours, theirs, monkeypatch):
    every = [{"default": one, "drcl, zero": other} for one, other in zip(ours, theirs, strict=True)]
    monkeypatch.setattr(law, "replicate", lambda _, seed: every[seed - 1])
    return list(law.alternatives_rows("logistic, zil, one number", len(every)))


@pytest.mark.parametrize(
    ("ours", "covered", "violated"),
    [(1.0, 1.0, ""), (1.09, 1.0, ""), (1.2, 1.0, "error"), (1.2, 0.0, "")],
    ids=["as good", "within a tenth", "worse", "worse than one that does not cover"],
)
def test_errors_are_compared_with_alternatives_that_cover(ours, covered, violated, monkeypatch):
    theirs = [replication(sign, covered=covered) for sign in (1, -1, 1, -1)]
    (row,) = rows_of([replication(ours * sign) for sign in (1, -1, 1, -1)], theirs, monkeypatch)
    assert row["violated"] == violated
    assert row["RMSE ratio"] == pytest.approx(ours)
    assert row["+-"] == pytest.approx(0, abs=1e-9)


def test_an_alternative_that_answers_more_often_is_a_violation(monkeypatch):
    ours = [replication(1.0), replication(1.0), replication(0.0, "weak")]
    (row,) = rows_of(ours, [replication(1.0)] * 3, monkeypatch)
    assert (row["violated"], row["answers"], row["its answers"]) == ("outcome", 2, 3)
    (row,) = rows_of([replication(1.0)] * 3, ours, monkeypatch)
    assert row["violated"] == ""


CHEAP = ["mean, joint, no formula", "mean, joint, no formula, private"]
FULL = ["poisson, zil, one number", "logistic, zil, one number"]


def worse(name, reps=10):
    """Return the alternatives than which the default is worse, by more than five of the ratio's standard errors."""
    rows = [row for row in law.alternatives_rows(name, reps) if row["violated"]]
    return [
        row["alternative"]
        for row in rows
        if row["violated"] != "error" or row["RMSE ratio"] > law.WORSE + 5 * row["+-"]
    ]


@pytest.mark.parametrize("name", CHEAP + [pytest.param(name, marks=pytest.mark.full) for name in FULL])
def test_the_default_is_no_worse_in_cheap_cells(name):
    assert worse(name) == []


def test_a_default_that_is_twice_as_wrong_is_worse(monkeypatch):
    def spoilt(*given, replicate=law.replicate):
        found = replicate(*given)
        found["default"]["error"] *= 2
        return found

    monkeypatch.setattr(law, "replicate", spoilt)
    assert worse(CHEAP[0]) == ["drcl, none"]


def test_the_command_prints_violations(monkeypatch):
    monkeypatch.setattr(law, "replicate", lambda *_: {"default": replication(2.0), "drcl, zero": replication(1.0)})
    options = ["--row", "logistic, zil, one number", "--reps", "3", "--engine", "serial", "--format", "json"]
    result = CliRunner().invoke(main, ["bench", "alternatives", *options])
    assert result.exit_code == 1
    assert json.loads(result.stdout)[0]["violated"] == "error"
