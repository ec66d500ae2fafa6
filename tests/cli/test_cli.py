"""The command line."""

import json

import pytest
from click.testing import CliRunner

from versadp.cli import main
from versadp_bench.foundation import BENCHMARKS
from versadp_bench.measure import Figure, best_times


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_help_lists_all_commands():
    result = run("--help")
    assert result.exit_code == 0
    for command in ("demo", "bench"):
        assert command in result.output


def test_version_and_unknown_command():
    assert run("--version").output.startswith("versadp, version")
    assert run("nonsense").exit_code == 2


def test_demo_tells_the_whole_story():
    result = run("demo")
    assert result.exit_code == 0, result.output
    for words in ("[columns.", "assume that they can be recognised", "naive", "corrected", "std error"):
        assert words in result.output


def test_what_the_user_can_mend_is_one_line_and_exit_code_2(monkeypatch):
    from versadp.errors import DataError

    def fail():
        raise DataError("column 'x' is missing", hint="add it")

    monkeypatch.setattr("versadp.cli.demo.people", fail)
    result = run("demo")
    assert result.exit_code == 2
    assert "versadp: column 'x' is missing" in result.output
    assert "Traceback" not in result.output


def test_bench_in_every_format(monkeypatch):
    def quick():
        yield Figure("one", 2.0, "ratio", 1.0, higher=True)

    monkeypatch.setitem(BENCHMARKS, "import", quick)
    assert json.loads(run("bench", "import", "--format", "json").output)[0]["met"] is True
    assert run("bench", "import", "--format", "csv").output.startswith("benchmark,figure")
    assert "one" in run("bench", "import").output
    assert run("bench", "nonsense").exit_code == 2


def test_bench_fails_when_a_requirement_is_not_met(monkeypatch):
    monkeypatch.setitem(BENCHMARKS, "import", lambda: iter([Figure("one", 2.0, "s", 1.0, higher=False)]))
    assert run("bench", "import").exit_code == 1


@pytest.mark.parametrize("name", ["privatize", "import"])
def test_small_benchmarks_run(name):
    assert all(figure.figure > 0 for figure in BENCHMARKS[name]())


def test_release_benchmark_runs_thinned():
    assert all(figure.figure > 0 for figure in BENCHMARKS["release"](rows=20_000))


def test_best_times_takes_turns():
    order = []
    best_times(lambda: order.append("a"), lambda: order.append("b"), rounds=2)
    assert order == ["a", "b", "a", "b"]
