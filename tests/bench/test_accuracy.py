"""The accuracy table, thinned: error, coverage and failures of the default method, and of the paper's beside it."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from versadp.cli import main
from versadp_bench.accuracy import ROWS, accuracy_row, accuracy_table, met, true_values
from versadp_bench.command import BENCHMARKS


@pytest.mark.full
@pytest.mark.parametrize(
    ("row", "reps"), [pytest.param("table2 0.5", 8, marks=pytest.mark.slow), ("table3 2", 8), ("table1 ReLU", 60)]
)
def test_thinned(row, reps):
    """The relative error of an RMSE over m independent errors is (2m)^-1/2: five of those above what is required."""
    found = accuracy_row(row, reps)
    m = reps * true_values(row).size
    assert found["rmse"] < ROWS[row].required[0] * (1 + 5 / np.sqrt(2 * m))
    assert found["coverage"] > 0.95 - 5 * np.sqrt(0.05 * 0.95 / m)
    assert found["failed"] == 0


@pytest.mark.slow
def test_the_papers_estimator_is_much_worse():
    """Table 3's DRCL has five times our error: the same check rejects it."""
    found = accuracy_row("table3 2", 6, "drcl", draws=1)
    assert found["rmse"] > 2 * ROWS["table3 2"].required[0]


@pytest.mark.slow
@pytest.mark.parametrize("row", [name for name, setting in ROWS.items() if setting.n <= 20_000])
def test_at_size(row):
    reps = 200
    *_, found = accuracy_table([row], reps)
    m = reps * true_values(row).size
    assert found["rmse"] < found["required"] * (1 + 4 / np.sqrt(2 * m))
    assert abs(found["coverage"] - 0.95) < 0.015 + 4 * np.sqrt(0.05 * 0.95 / m)
    assert found["failed"] < 0.01


@pytest.mark.full
def test_the_command_prints_the_table():
    result = CliRunner().invoke(main, ["bench", "accuracy", "--reps", "2", "--row", "table1 ReLU", "--format", "json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)[0]["row"] == "table1 ReLU"


def test_half_of_drcl_is_required_where_the_paper_has_no_figure(monkeypatch):
    """A row of its own for drcl, and half of it beside ours; the verdict follows every figure."""
    good = {"rmse": 1.0, "required": None, "intercept": 0.1, "of it required": None, "bias/se": 0.1, "failed": 0.0}
    good |= {"row": "huber 3", "coverage": 0.95, "least": 0.9, "most": 0.99}
    monkeypatch.setattr("versadp_bench.accuracy.accuracy_row", lambda *_, **__: dict(good))
    paper, ours = accuracy_table(["huber 3"], 10)
    assert (paper["met"], ours["required"], ours["of it required"], ours["met"]) == (None, 0.5, 0.05, "no")
    fine = good | {"required": 1.0, "of it required": 0.1}
    assert met(fine)
    for wrong in ({"coverage": 0.93}, {"bias/se": 0.2}, {"failed": 0.02}, {"rmse": 1.01}, {"intercept": 0.11}):
        assert not met(fine | wrong)
    each = fine | {"row": "window check attribute 4, 3", "least": 0.92, "most": 0.985, "bias/se": 0.5, "failed": 0.02}
    assert met(each)
    for wrong in ({"least": 0.91}, {"most": 0.99}, {"failed": 0.03}, {"least": None}):
        assert not met(each | wrong)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("median", {"rows": 3000}),
        pytest.param("logistic", {"rows": 4000}, marks=pytest.mark.slow),
        ("windows", {"rows": 20_000}),
        pytest.param("pass", {"rows": 400_000, "rounds": 1}, marks=pytest.mark.slow),  # fewer are read in no time
        pytest.param("cluster", {"rows": 20_000, "rounds": 1}, marks=pytest.mark.slow),
    ],
)
def test_fitting_benchmarks_run_thinned(name, options):
    assert all(figure.figure > 0 for figure in BENCHMARKS[name](**options))


def test_accounting_benchmark_runs():
    assert all(figure.figure > 0 for figure in BENCHMARKS["accounting"]())


def test_replications_that_are_kept_are_not_run_again(tmp_path, monkeypatch):
    """A run that goes on adds to the lines of the first, and gives what one run gives."""
    once = accuracy_row("table1 ReLU", 6, out=tmp_path)
    accuracy_row("table1 ReLU", 3, out=tmp_path / "begun")
    again = accuracy_row("table1 ReLU", 6, out=tmp_path / "begun")
    assert {key: value for key, value in again.items() if key != "s/rep"} == {
        key: value for key, value in once.items() if key != "s/rep"
    }
    monkeypatch.setattr("versadp_bench.accuracy.replicate", pytest.fail)  # nothing is left to do
    assert accuracy_row("table1 ReLU", 6, out=tmp_path)["rmse"] == once["rmse"]
