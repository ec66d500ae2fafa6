"""`versadp table` prints what `vdp.table` finds."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"region": rng.choice(["n", "e"], 500), "age": rng.integers(18, 91, 500).astype(float)})
    schema = vdp.Schema({"region": vdp.Categorical(["n", "e"]), "age": vdp.Bounded(18, 90, step=1)})
    place = tmp_path_factory.mktemp("table") / "released"
    vdp.calibrate(schema, epsilon=8).release(frame).save(place)
    return str(place)


def run(*words):
    return CliRunner().invoke(main, ["table", *words])


def test_styles(folder):
    base = (folder, "region", "age", "--bins", "age=18,30,90")
    assert "[18, 30)" in run(*base).output
    assert run(*base, "--format", "html").output.startswith("<div>")
    assert json.loads(run(*base, "--format", "json").output)["records"] == 500
    rows = list(csv.DictReader(io.StringIO(run(*base, "--format", "csv", "--show", "count").output)))
    assert {row["statistic"] for row in rows} == {"count"}
    assert len(rows) == 9


def test_values_test_publish_and_picture(folder, tmp_path):
    picture = tmp_path / "table.png"
    shown = run(folder, "region", "--values", "age", "--spread", "--quantile", "0.5", "--plot", str(picture))
    assert shown.exit_code == 0, shown.output
    assert picture.exists()
    assert "independence of" in run(folder, "region", "age", "--bins", "age=18,30,90", "--test").output
    assert "Published" in run(folder, "region", "--publish").output
    assert json.loads(run(folder, "region", "--publish", "--format", "json").output)[-1]["published"] == 500


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("region", "--bins", "age"), "COLUMN=EDGE"),
        (("age", "--bins", "age=90,18"), "not in order"),
        (("wealth",), "no column"),
        (("region", "--plot", "nowhere/table.png"), "cannot write"),
    ],
)
def test_mistakes_are_one_line(folder, words, message):
    found = run(folder, *words)
    assert found.exit_code == 2
    assert message in found.output


def test_describe_by_group(folder):
    found = CliRunner().invoke(main, ["describe", folder, "--by", "region", "--format", "json"])
    assert json.loads(found.output)["by"] == "region"
    found = CliRunner().invoke(main, ["describe", folder, "--by", "age", "--bins", "age=18,50,90"])
    assert "Description by age" in found.output
