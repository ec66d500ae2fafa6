"""`versadp reproduce`, thinned: every name, every format, and pictures."""

import csv
import io
import json

import pytest
from click.testing import CliRunner

from versadp.cli import main
from versadp_experiments.cells import COLUMNS, METHODS, OURS


def run(*arguments):
    return CliRunner().invoke(main, ["reproduce", *arguments])


@pytest.mark.parametrize(
    ("table", "size"),
    [
        ("table1", "500"),
        pytest.param("table2", "5000", marks=pytest.mark.slow),
        pytest.param("table3", "2500", marks=pytest.mark.slow),
    ],
)
def test_tables_have_every_method_beside_the_published_figure(table, size):
    result = run(table, "--reps", "3", "--ours", "2", "--n", size, "--engine", "serial", "--format", "json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert {row["method"] for row in rows} == {*METHODS[table], *OURS}
    assert {row["column"] for row in rows} == set(COLUMNS[table])
    assert len({row["cell"] for row in rows}) == 2
    judged = [row for row in rows if row["published"] is not None]
    assert {row["agrees"] for row in judged} <= {"yes", "NO"}
    assert all(row["+-"] > 0 for row in judged)
    assert all(0 <= row["coverage"] <= 1 for row in rows if row["method"] == "efficient")
    assert "thinned" in result.stderr
    assert "published figures agree" in result.stderr


def test_csv_text_and_the_same_twice():
    arguments = ("table1", "--reps", "3", "--ours", "0", "--n", "500", "--engine", "serial")
    first = run(*arguments, "--format", "csv")
    assert first.stdout == run(*arguments, "--format", "csv").stdout
    assert first.stdout != run(*arguments, "--format", "csv", "--seed", "2").stdout
    rows = list(csv.DictReader(io.StringIO(first.stdout)))
    assert len(rows) == 30
    assert "published" in run(*arguments).stdout


def test_stated_settings_can_be_asked_for():
    arguments = ("table1", "--reps", "3", "--ours", "0", "--n", "500", "--engine", "serial")
    assert "lambda=1.4" in run(*arguments, "--setting", "stated").stdout


def test_figure_1_agrees_and_is_drawn(tmp_path):
    result = run("figure1", "--reps", "20000", "--format", "json", "--plot", str(tmp_path / "one.svg"))
    assert result.exit_code == 0, result.output
    parts = json.loads(result.stdout)
    assert all(row["agrees"] == "yes" for row in parts["a"])
    assert parts["b"][0]["agrees"] == "yes"
    assert parts["b"][1]["ours"] == pytest.approx(0.756656, abs=1e-5)
    assert (tmp_path / "one.svg").stat().st_size > 10_000


def test_figure_2_has_box_plots(tmp_path):
    picture = tmp_path / "two.png"
    result = run("figure2", "--reps", "4", "--ours", "2", "--n", "500", "--engine", "serial", "--plot", str(picture))
    assert result.exit_code == 0, result.output
    assert "quartile" in result.stdout
    assert picture.stat().st_size > 10_000


def test_proposition_agrees_and_is_drawn(tmp_path):
    result = run("proposition", "--reps", "100000", "--format", "json", "--plot", str(tmp_path / "p.svg"))
    assert all(row["agrees"] == "yes" for row in json.loads(result.stdout)["variances"])
    assert (tmp_path / "p.svg").exists()


def test_a_picture_that_does_not_exist_is_refused_before_any_work(tmp_path):
    result = run("claims", "--plot", str(tmp_path / "c.png"))
    assert result.exit_code == 2
    assert "no picture" in result.output
