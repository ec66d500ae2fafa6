"""What the stopwatch times: its cases are releases that fits can read, and figures have names and limits."""

import pytest

from versadp_bench.command import BENCHMARKS
from versadp_bench.stopwatch import MOST_RATIO, MOST_SECONDS, Case, cpu_seconds, slow_cases


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("noise", ["separate", "joint", "zil"])
def test_a_case_is_a_release_with_its_columns(noise, private):
    case = Case(noise, private, 300, "y", "logistic", dim=3)
    release = case.release(1)
    assert len(release) == 300
    assert case.formula == "y ~ x0 + x1 + x2"
    assert release.to_arrow().column_names == ["x0", "x1", "x2", "y"]


def test_a_refusal_is_an_outcome():
    case = Case("separate", False, 300, "v", "squared")
    assert cpu_seconds(case.release(1), case.formula, "squared", rounds=1)[1] in {"converged", "weak"}
    assert cpu_seconds(case.release(1), "v ~ nothing", "squared", rounds=1)[1].startswith("refused: ")


def test_cases_have_names_of_their_own():
    names = [case.name for case in slow_cases()]
    assert len(set(names)) == len(names)


@pytest.mark.slow
def test_the_bench_runs_on_few_records():
    ratios = list(BENCHMARKS["kinks"](sizes=(2000,)))
    assert len(ratios) == 6
    assert {figure.required for figure in ratios} == {MOST_RATIO}
    seconds = list(BENCHMARKS["weak"](n=2000))
    assert {figure.required for figure in seconds} == {MOST_SECONDS}
