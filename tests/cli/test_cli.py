"""The command line."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from versadp.cli import main
from versadp_bench.command import BENCHMARKS
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


@pytest.mark.full
def test_demo_tells_the_whole_story():
    result = run("demo")
    assert not Path(os.environ["XDG_STATE_HOME"]).exists()  # nothing is kept, and nothing remembered
    assert result.exit_code == 0, result.output
    for words in ("[columns.", "shows the truth up to a window", "naive", "corrected", "std error"):
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


@pytest.mark.parametrize("name", ["release", "window-release", pytest.param("windows", marks=pytest.mark.slow)])
def test_release_benchmarks_run_thinned(name):
    assert all(figure.figure > 0 for figure in BENCHMARKS[name](rows=20_000))


def test_best_times_takes_turns():
    order = []
    best_times(lambda: order.append("a"), lambda: order.append("b"), rounds=2)
    assert order == ["a", "b", "a", "b"]


SCHEMA = """
[columns.age]
type = "bounded"
lower = 18
upper = 90
[columns.income]
type = "bounded"
lower = 0
upper = 500000
[columns.region]
type = "categorical"
levels = ["n", "s"]
"""


@pytest.fixture
def schema(tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return str(tmp_path / "schema.toml")


def test_plan_says_what_a_provider_needs(schema):
    result = run("plan", schema, "--epsilon", "4", "--delta", "0.05", "--rows", "10000")
    assert result.exit_code == 0, result.output
    for words in (
        "noise in income (standard deviation)",
        "records released unchanged",
        "about 425",
        "record: delta at epsilon 4",
        "attribute: at 1% false alarms the best",
        "records needed for the mean of age",
        "What each numeric column more costs",
        "one joint window",
        "standard error of a slope of age, times raw",
        "The default is one joint window",
        "mean, bounds",
    ):
        assert words in result.output


def test_plan_of_several_candidates_as_json(schema, tmp_path):
    target = ("--epsilon", "2", "--epsilon", "4", "--delta", "0.05", "--exact-rate", "0.02", "--unit", "attribute")
    result = run("plan", schema, *target, "--format", "json", "--plot", str(tmp_path / "plan.svg"))
    data = json.loads(result.stdout)
    assert [each["target"]["epsilon"] for each in data["plans"]] == [2, 4]
    assert data["plans"][0]["candidates"][1]["privacy"]["local"]["attribute"]["epsilon"] == pytest.approx(2, rel=1e-6)
    assert (tmp_path / "plan.svg").read_text().startswith("<?xml")
    assert run("plan", schema, *target, "--format", "csv").output.startswith("fact,")


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--delta", "0.05"),
        ("--epsilon", "4", "--delta", "0.05", "--advantage", "0.1"),
        ("--epsilon", "4", "--delta", "0.05", "--exact-rate", "0.2"),
        ("--epsilon", "x", "--delta", "0.05"),
    ],
)
def test_plan_refuses(schema, options):
    result = run("plan", schema, *options)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.mark.full
def test_audit_of_a_schema_and_of_a_release(schema, tmp_path):
    import pandas as pd

    import versadp as vdp

    sure = ("-n", "20000", "--confidence", "0.999999")
    options = ("--scale", "age=2,income=3", "--exact-rate", "0.05", "--keep", "0.2")
    result = run("audit", "--schema", schema, *options, *sure)
    assert result.exit_code == 0, result.output
    assert "passed" in result.output
    mech = vdp.Mechanism(vdp.Schema.from_toml(schema), scale=2, exact_rate=0.05, keep=0.2)
    mech.release(pd.DataFrame({"age": [30], "income": [1.0], "region": ["n"]})).save(tmp_path / "r")
    result = run("audit", str(tmp_path / "r"), *sure, "--format", "json", "--unit", "attribute")
    assert json.loads(result.output)[0]["passed"] is True
    result = run("audit", str(tmp_path / "r"), "--files", "-n", "1000", "--confidence", "0.999999", "--format", "json")
    assert json.loads(result.output)[0]["law"] is True
    assert run("audit").exit_code == 2
    assert run("audit", str(tmp_path / "r"), "--schema", schema).exit_code == 2


@pytest.mark.filterwarnings("ignore::versadp.errors.UselessWarning")
def test_a_fit_that_tells_nothing_exits_with_1(tmp_path):
    """Weak in every coefficient: there is no estimate, whatever the outcome is called."""
    import versadp as vdp

    vdp.example(300, epsilon=0.5, delta=0).save(tmp_path / "released")
    result = run("fit", str(tmp_path / "released"), "visits ~ age + income")
    assert "weak" in result.output
    assert result.exit_code == 1
    vdp.example(20_000, epsilon=8, delta=0).save(tmp_path / "clear")
    assert run("fit", str(tmp_path / "clear"), "visits ~ age").exit_code == 0


def test_empty_text_is_said_to_be_missing(tmp_path):
    """A text file spells what is missing as nothing: the cure is another than for a level that was forgotten."""
    (tmp_path / "people.csv").write_text("age,city\n" + "40,Graz\n" * 50 + "41,\n" * 3, encoding="utf-8")
    (tmp_path / "schema.toml").write_text(
        '[columns.age]\ntype = "bounded"\nlower = 0\nupper = 99\n'
        '[columns.city]\ntype = "categorical"\nlevels = ["Graz", "Turku"]\n',
        encoding="utf-8",
    )
    files = (str(tmp_path / "people.csv"), "--schema", str(tmp_path / "schema.toml"), "--out", str(tmp_path / "out"))
    result = run("release", *files, "--epsilon", "8")
    assert result.exit_code == 2
    assert "missing" in result.output
    assert "nullable" in result.output
    assert "none of its levels" not in result.output
