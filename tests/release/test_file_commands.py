"""The provider's commands, as a provider runs them."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main

SCHEMA = """
id = "pid"
[columns.age]
type = "bounded"
lower = 18
upper = 90
[columns.region]
type = "categorical"
levels = ["n", "s"]
"""


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def people(rows, start=0):
    number = np.arange(start, start + rows)
    return pd.DataFrame({"pid": number, "age": 18 + number % 70, "region": np.array(["n", "s"])[number % 2]})


@pytest.fixture
def place(tmp_path):
    people(500).to_csv(tmp_path / "people.csv", index=False)
    people(300, 400).to_parquet(tmp_path / "more.parquet", index=False)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def test_the_whole_story(place):
    release = ["release", place / "people.csv", "--schema", place / "schema.toml", "--out", place / "out"]
    result = run(*release, "--epsilon", 4, "--delta", 0.05, "--exact-rate", 0.02)
    assert result.exit_code == 0, result.output
    assert "500 records released" in result.output
    assert "Protecting a whole record" in result.output
    assert vdp.load(place / "out").privacy().delta(4.0) <= 0.05
    again = run(*release, "--epsilon", 4, "--delta", 0.05, "--exact-rate", 0.02)
    assert "holds these 500 records already: nothing was released" in again.output
    again = run(*release, "--epsilon", 4, "--delta", 0.05, "--exact-rate", 0.02, "--format", "json")
    assert json.loads(again.stdout) == [{"release": str(place / "out"), "rows": 500}]
    result = run("append", place / "out", place / "more.parquet")
    added, guarantee = result.output.splitlines()
    assert added == "200 people added, 100 were there already"
    assert guarantee.startswith("before and now: a whole record: (0.5, ")
    result = run("append", place / "out", place / "more.parquet", "--format", "json")
    (told,) = json.loads(result.output)
    assert {name: told[name] for name in ("new", "skipped", "charged")} == {"new": 0, "skipped": 300, "charged": 0}
    older = people(300, 400).assign(age=44)
    older.to_parquet(place / "older.parquet", index=False)
    result = run("append", place / "out", place / "older.parquet")
    assert result.exit_code == 2
    assert "people were released before" in result.output
    charge = ["--again", "charge", "--without-missing-people"]
    result = run("append", place / "out", place / "older.parquet", *charge, "--format", "csv")
    assert result.output.splitlines()[0] == "new,skipped,charged,before,after"
    result = run("finalize", place / "out", "--yes")
    assert "destroyed" in result.output
    assert run("append", place / "out", place / "more.parquet").exit_code == 2


def test_noise_by_hand_a_shared_state_and_a_budget(place):
    options = ["--schema", place / "schema.toml", "--state", place / "state", "--scale", "age=1", "--keep", 0.3]
    first = ["--budget-epsilon", 100, "--budget-delta", 0.5]
    assert run("release", place / "people.csv", "--out", place / "one", *options, *first).exit_code == 0
    result = run("release", place / "people.csv", "--out", place / "two", *options)
    assert "500 people were released before" in result.output
    result = run("release", place / "people.csv", "--out", place / "two", *options, "--again", "charge")
    assert result.exit_code == 0
    charge = np.sqrt(2) + np.log(0.65 / 0.35)  # Laplace noise whose sd is the range; a region that is kept or redrawn
    total = [line for line in result.output.splitlines() if "charged by 2 releases" in line]
    assert float(total[0].split("at most epsilon ")[1].split(",")[0]) == pytest.approx(2 * charge, rel=1e-4)
    assert "a budget of epsilon 100, delta 0.5" in total[0]
    shown = run("ledger", place / "two", "--state", place / "state")
    assert total[0] in shown.output
    rows = json.loads(run("ledger", "--state", place / "state", "--format", "json").output)
    assert [(Path(row["release"]).name, row["records"], row["status"]) for row in rows] == [
        ("one", 500, "open"),
        ("two", 500, "open"),
    ]
    assert sum(row["epsilon"] for row in rows) == pytest.approx(2 * charge, rel=1e-4)


def test_the_ledger_of_nobody(place):
    result = run("ledger", "--population", "nobody")
    assert result.exit_code == 2
    assert "there is no ledger of a population 'nobody'" in result.output
    assert "there is: none yet" in result.output
    assert not Path(os.environ["XDG_STATE_HOME"]).exists()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--delta", 0.1],
        ["--epsilon", 1, "--delta", 0.1, "--scale", 1],
        ["--scale", 1, "--keep", 0.5, "--budget-epsilon", 1],
        ["--scale", 1, "--keep", 0.5, "--again", "others"],
        ["--scale", -1, "--keep", 0.5],
        ["--epsilon", 5e-324, "--delta", 1e-9],
    ],
)
def test_what_the_user_can_mend(place, options):
    result = run("release", place / "people.csv", "--schema", place / "schema.toml", "--out", place / "out", *options)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert not (place / "out").exists()
    assert not Path(os.environ["XDG_STATE_HOME"]).exists()


def test_a_schema_is_drafted_and_has_to_be_filled_in(place):
    result = run("schema", "init", place / "people.csv")
    assert result.exit_code == 0
    assert '[columns."age"]\ntype = "bounded"\nlower = ...\n' in result.output
    assert run("schema", "init", place / "people.csv", "--out", place / "draft.toml").exit_code == 0
    assert run("schema", "init", place / "people.csv", "--out", place / "draft.toml").exit_code == 2
    release = ["release", place / "people.csv", "--schema", place / "draft.toml", "--out", place / "out"]
    assert run(*release, "--scale", 1, "--keep", 0.5).exit_code == 2
    assert run("schema", "init", place / "nothing.csv").exit_code == 2


def command(place, *more):
    code = "import sys; from versadp.cli import main; main(sys.argv[1:])"
    arguments = ["release", place / "big.parquet", "--schema", place / "schema.toml", "--out", place / "out", *more]
    return [sys.executable, "-c", code, *map(str, arguments), "--scale", "1", "--keep", "0.5"]


@pytest.mark.full
def test_killed_and_run_again(place):
    """As a provider would: the command is killed in the middle and simply run again."""
    people(60_000).to_parquet(place / "big.parquet", index=False)
    with subprocess.Popen(command(place), stdout=subprocess.DEVNULL) as process:
        ledger = Path(os.environ["XDG_STATE_HOME"], "versadp", "default", "ledger.sqlite")
        while not ledger.exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
    assert not (place / "out").exists() or len(vdp.load(place / "out").frame) == 60_000
    done = subprocess.run(command(place), check=True, capture_output=True, text=True)
    assert "60,000 records released" in done.stdout
    assert done.stderr == ""
    assert len(vdp.load(place / "out").frame) == 60_000


def test_a_progress_bar_on_a_terminal(place):
    """On a terminal a bar and the time that is left; nothing of it where the output goes into a file (above)."""
    people(2000).to_parquet(place / "big.parquet", index=False)
    leader, follower = pty.openpty()
    with subprocess.Popen(
        command(place), stdout=subprocess.DEVNULL, stderr=follower, env=os.environ | {"TERM": "xterm"}
    ):
        os.close(follower)
        shown = b""
        while True:
            try:
                piece = os.read(leader, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    os.close(leader)
    assert b"releasing" in shown
    assert b"100%" in shown
    assert b"left" in shown
