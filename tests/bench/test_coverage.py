"""The coverage harness: verdicts on estimators whose coverage is known, runs that are killed, the thinned table.

Verdicts of first runs call nothing wrong that has a chance of one in a thousand; tests that rest on one run use seeds.
"""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp.errors import StateError
from versadp_bench.coverage.misuse import Misuse
from versadp_bench.coverage.regimes import QUICK, REGIMES
from versadp_bench.coverage.running import FRESH, Plan, run
from versadp_bench.coverage.summary import summarise
from versadp_bench.coverage.table import POOLED, as_table, coverage_plan
from versadp_bench.coverage.verdict import CHANCE, NO, UNSURE, YES, Coefficient, coefficient
from versadp_tests import coverage_stubs as stubs

TWO = ("mean, n=300", "calendar, dim 1")


def stubbed(estimator, reps=150, again=0, regime=stubs.REGIME):
    (found,) = run(Plan([regime], reps, again, estimator=estimator), engine="serial")
    return found


@pytest.mark.full
@pytest.mark.parametrize("estimator", [stubs.right, pytest.param(stubs.open_ended, marks=pytest.mark.slow)])
def test_right_intervals_hold(estimator):
    """Among 600 replications 95% is more than three standard errors from either limit; they are seeded."""
    assert stubbed(estimator, reps=600).holds == YES


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("estimator", "why"),
    [
        (stubs.narrow, "covers 0."),
        (stubs.biased, "is off by +0."),
        (stubs.refusing, "answered 0."),
        (stubs.crashing, "answered 0."),
    ],
)
def test_what_is_wrong_does_not_hold_and_is_named(estimator, why):
    """Each is more than five standard errors outside; nothing but what is wrong with it is called wrong."""
    found = stubbed(estimator, reps=200)
    assert found.holds == NO
    (finding,) = [finding for finding in found.findings if not finding.by_chance]
    assert why in finding.reason


def test_what_is_no_answer_is_named():
    assert "EstimationError: not today" in stubbed(stubs.refusing, 30).row()["why"]
    assert "crashed, ZeroDivisionError: a bug" in stubbed(stubs.crashing, 30).row()["why"]


def test_unanswered_fits_do_not_count_where_raw_records_have_no_answer_either():
    lines = [line(0.0, outcome="indefinite", raw="flat") for _ in range(50)] + [line(z) for z in errors(200)]
    found = summarise(stubs.REGIME, [0.0], lines)
    assert (found.asked, found.answered, found.holds) == (200, 200, YES)


def errors(count):
    """Return normal errors without chance in them: quantiles at even steps."""
    from scipy.special import ndtri

    return ndtri((np.arange(count) + 0.5) / count)


def line(z, half=1.96, outcome="converged", raw="found"):
    plain = {"outcome": raw, "estimate": [z / 2], "error": [0.5]}
    answer = {"estimate": [z], "error": [1.0], "interval": [[z - half, z + half]]}
    return {"rep": 0, "outcome": outcome, "raw": plain, "seconds": 0.5} | (answer if outcome == "converged" else {})


def test_figures_of_a_row_are_what_they_say():
    found = summarise(stubs.REGIME, [0.0], [line(z) for z in errors(1000)], last=True).row()
    assert found["coverage"] == pytest.approx(0.95, abs=0.001)
    assert found["+-"] == pytest.approx((0.95 * 0.05 / 1000) ** 0.5, abs=1e-3)
    assert (found["rmse/raw"], found["width/raw"]) == (pytest.approx(2, rel=0.01), pytest.approx(2, rel=0.01))
    assert (found["bias/se"], found["unbounded"], found["s/fit"], found["holds"]) == (
        pytest.approx(0, abs=1e-6),
        0,
        0.5,
        YES,
    )
    wide = summarise(stubs.REGIME, [0.0], [line(z, half=4.0) for z in errors(1000)])
    assert (wide.holds, wide.row()["why"]) == (NO, "mean of x0 covers 1.000")
    shifted = summarise(stubs.REGIME, [0.3], [line(z, half=2.1) for z in errors(1000)], last=True)
    assert shifted.row()["bias/se"] == pytest.approx(-0.3, rel=0.01)
    assert (shifted.holds, len(shifted.findings)) == (NO, 1)


@pytest.mark.parametrize(
    ("covered", "m", "unbounded", "wrong"),
    [
        (92, 100, 0, False),
        (91, 100, 0, True),
        (98, 100, 0, False),
        (99, 100, 0, True),
        (100, 100, 4, True),
        (100, 100, 5, False),
    ],
)
def test_limits_are_where_they_should_be(covered, m, unbounded, wrong):
    each = Coefficient("x", covered, m, unbounded, 0.0, m, 1.0, 1.0)
    findings = list(each.findings())
    assert bool(findings) == wrong
    assert all(finding.by_chance for finding in findings)


@pytest.mark.parametrize(
    ("bias", "converged", "wrong"), [(0.24, 1000, 0), (0.26, 1000, 1), (-0.26, 1000, 1), (9.0, 9, 0)]
)
def test_bias_is_judged_where_converged_answers_are_not_few(bias, converged, wrong):
    assert len(list(Coefficient("x", 95, 100, 0, bias, converged, 1.0, 1.0).findings())) == wrong


def test_chance_is_as_rare_as_stated():
    """Of right estimators at a limit, one in a thousand is told from it by chance: counted exactly."""
    from scipy.stats import binom

    for m in (30, 200):
        told = [
            k for k in range(m + 1) if any(not f.by_chance for f in Coefficient("x", k, m, 0, 0.0, m, 1, 1).findings())
        ]
        low = [k for k in told if k < 0.92 * m]
        assert 0 < binom.cdf(max(low), m, 0.92) <= CHANCE < binom.cdf(max(low) + 1, m, 0.92)


@pytest.mark.slow
def test_a_row_outside_its_limits_is_run_again_and_only_that_counts(tmp_path):
    assert stubbed(stubs.right, 2).holds == UNSURE  # no share of two is inside
    (found,) = run(Plan([stubs.REGIME], 2, 300, estimator=stubs.narrow), tmp_path, "serial")
    assert (found.reps, found.holds) == (300, NO)
    kept = {json.loads(text)["rep"] for text in (tmp_path / "stub.jsonl").read_text().splitlines()[1:]}
    assert kept == {0, 1, *range(FRESH, FRESH + 300)}


def test_misuse_is_judged_by_what_the_test_notices():
    from dataclasses import replace

    row = replace(stubs.REGIME, misuse=Misuse("doubled", 0.2))
    assert stubbed(stubs.right, 40, regime=row).row()["why"] == "no fit was tested"
    assert stubbed(stubs.tested, 100, regime=row).holds == NO
    assert stubbed(stubs.over_tested, 100, regime=replace(row, misuse=Misuse("doubled", 0.1))).holds == YES


def test_the_size_of_the_test_is_pooled_over_rows():
    def table(most):
        lines = [line(z) | {"pvalue": most * (k + 0.5) / 1000} for k, z in enumerate(errors(1000))]
        return as_table([summarise(stubs.REGIME, [0.0], lines)] * 2)

    good, bad = table(1.0), table(0.25)
    assert [row["row"] for row in good.rows] == ["stub", "stub", POOLED]
    assert [(found.rows[-1]["reps"], found.rows[-1]["rejected"]) for found in (good, bad)] == [
        (2000, 0.05),
        (2000, 0.2),
    ]
    assert (good.rows[-1]["holds"], bad.rows[-1]["holds"]) == (YES, NO)
    assert (good.met, bad.met) == (True, False)


def timeless(summaries):
    rows = [row for found in summaries for row in (found.row(), *found.coefficient_rows())]
    return [{key: value for key, value in row.items() if key != "s/fit"} for row in rows]


def quick_plan(reps=6):
    return Plan([REGIMES[name] for name in TWO], reps, seed=3)


@pytest.fixture(scope="module")
def whole():
    return run(quick_plan(), engine="serial")


@pytest.mark.full
def test_processes_give_the_same(whole):
    assert timeless(run(quick_plan(), engine="processes")) == timeless(whole)


@pytest.mark.full
def test_a_killed_run_continues_and_gives_the_same_table(tmp_path, whole):
    code = (
        "import time\nfrom versadp_bench import store\n"
        "from versadp_bench.coverage.regimes import REGIMES\nfrom versadp_bench.coverage.running import Plan, run\n"
        "add = store.Store.add\n"
        "def slow(self, line):\n    add(self, line)\n    time.sleep(60 if line['rep'] == 2 else 0)\n"
        f"store.Store.add = slow\nrun(Plan([REGIMES[n] for n in {TWO!r}], 6, seed=3), {str(tmp_path)!r}, 'serial')\n"
    )
    file = tmp_path / "mean-n-300.jsonl"
    with subprocess.Popen([sys.executable, "-c", code]) as child:
        deadline = time.monotonic() + 60
        while not (file.exists() and file.read_bytes().count(b"\n") > 3) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(child.pid, signal.SIGKILL)
    kept = file.read_bytes()
    assert kept.count(b"\n") == 4
    file.write_bytes(kept + b'{"rep": 3, "outc')  # cut off in the middle
    assert timeless(run(quick_plan(), tmp_path, "serial")) == timeless(whole)
    assert file.read_bytes().startswith(kept)
    complete = file.read_bytes()
    assert timeless(run(quick_plan(), tmp_path, "serial")) == timeless(whole)
    assert file.read_bytes() == complete


def test_answers_of_another_run_or_of_other_code_are_not_mixed_in(tmp_path, monkeypatch):
    run(quick_plan(2), tmp_path, "serial")
    with pytest.raises(StateError, match="seed differ"):
        run(Plan(quick_plan().regimes, 2, seed=4), tmp_path, "serial")
    monkeypatch.setattr("versadp_bench.coverage.running.code_digest", lambda: "changed")
    with pytest.raises(StateError, match="code differ"):
        run(quick_plan(2), tmp_path, "serial")


def test_truths_are_found_once_a_folder(tmp_path, monkeypatch):
    run(quick_plan(2), tmp_path, "serial")
    monkeypatch.setattr("versadp_bench.coverage.regime.Regime.truth", lambda _: 1 / 0)
    run(quick_plan(2), tmp_path, "serial")


def naive(regime, release, options):
    return vdp.fit(release, regime.formula, loss=regime.loss, method="naive", **options)


@pytest.mark.full
def test_four_rows_hold():
    """Thinned to 30 replications: a row that holds is told off by chance once in a thousand runs; these are seeded."""
    found = run(Plan([REGIMES[name] for name in QUICK], 30), engine="serial")
    assert [each.holds for each in found if each.holds == NO] == []
    assert all(each.reps == each.asked == 30 for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in REGIMES if name not in QUICK])
def test_the_other_rows_hold(name):
    """As above, for all rows; whether one is right to a percent is for `versadp bench coverage --reps 200` to say."""
    (found,) = run(Plan([REGIMES[name]], 30), engine="serial")
    assert found.holds != NO, found.row()["why"]


def test_who_ignores_the_noise_is_found_out():
    (found,) = run(Plan([REGIMES["calendar, dim 1"]], 30, estimator=naive), engine="serial")
    assert found.holds == NO


def test_a_thinned_plan_leaves_out_slow_rows_and_runs_nothing_again():
    thin, full = coverage_plan(reps=20), coverage_plan(reps=200)
    assert len(full.regimes) == len(REGIMES) > len(thin.regimes)
    assert (thin.again, full.again, coverage_plan(reps=200, again=0).again) == (0, 1000, 0)
    slow = next(name for name, regime in REGIMES.items() if regime.slow)
    assert [regime.name for regime in coverage_plan([slow], 5).regimes] == [slow]


def test_the_command_prints_the_table(tmp_path):
    command = ["bench", "coverage", "--reps", "3", "--row", "mean, n=300", "--engine", "serial", "--out", str(tmp_path)]
    result = CliRunner().invoke(main, [*command, "--format", "json"])
    assert result.exit_code == 0, result.output
    row, pooled = json.loads(result.stdout)
    assert 1 <= pooled["reps"] <= 3  # specification tests: so few records do not always have one
    assert (row["row"], row["n"], row["reps"], row["holds"]) == ("mean, n=300", 300, 3, UNSURE)
    assert (tmp_path / "mean-n-300.jsonl").read_text().count("\n") == 4
    each = CliRunner().invoke(main, [*command, "--each"])
    assert "thinned" in each.output
    assert "mean of x0" in each.output


def test_rows_of_another_table_are_refused():
    """Else all rows would be run."""
    result = CliRunner().invoke(main, ["bench", "coverage", "--row", "table1 ReLU"])
    assert result.exit_code == 2
    assert "no row 'table1 ReLU' in coverage" in result.output


def test_the_command_fails_if_a_row_does_not_hold(monkeypatch):
    lines = [line(z, half=0.5) for z in errors(200)]
    table = as_table([summarise(stubs.REGIME, [0.0], lines)])
    monkeypatch.setattr("versadp_bench.command.coverage_table", lambda *_: table)
    result = CliRunner().invoke(main, ["bench", "coverage", "--row", "uniform"])
    assert result.exit_code == 1
    assert "covers 0.38" in result.output


def test_an_interval_that_ends_where_its_range_does_has_no_end_of_its_own():
    """Then it may cover too often, and is held to the truth all the same."""
    lines = [line(0.0) | {"interval": [[-1.0, 1.0]]} for _ in range(100)]
    assert not list(coefficient("x", 0, 0.5, lines, within=(-2.0, 1.0)).findings())
    (finding,) = coefficient("x", 0, 0.5, lines, within=(-2.0, 2.0)).findings()
    assert "covers 1.000" in finding.reason
    (finding,) = coefficient("x", 0, 1.5, lines, within=(-2.0, 1.0)).findings()
    assert "covers 0.000" in finding.reason
    assert REGIMES["piled up, quantile 0.9"].within == (0.0, 1.0)
    assert REGIMES["uniform"].within == (-np.inf, np.inf)
