"""The command line where people may have several rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from versadp.cli.main import main

COLUMNS = '[columns.age]\ntype = "bounded"\nlower = 18\nupper = 90\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSADP_STATE", str(tmp_path / "state"))
    pid = np.repeat(np.arange(3000), 2)
    pd.DataFrame({"pid": pid, "age": 18.0 + pid % 70}).to_parquet(tmp_path / "people.parquet")
    pd.DataFrame({"age": 18.0 + pid % 70}).to_parquet(tmp_path / "nameless.parquet")
    (tmp_path / "none.toml").write_text(COLUMNS)
    (tmp_path / "one.toml").write_text('id = "pid"\n' + COLUMNS)
    (tmp_path / "two.toml").write_text('id = "pid"\nrows_per_person = 2\n' + COLUMNS)
    return tmp_path


def run(folder, schema, *options, data="people.parquet", out="out", answer=None):
    command = ["release", str(folder / data), "--schema", str(folder / schema), "--out", str(folder / out)]
    return CliRunner().invoke(main, [*command, "--epsilon", "8", *options], input=answer)


def test_the_target_and_the_statement_are_the_persons(folder):
    done = run(folder, "two.toml")
    assert done.exit_code == 0, done.output
    assert "Protecting a person" in done.output
    assert "How many rows somebody has is not protected" in done.output.replace("\n", " ")
    told = CliRunner().invoke(main, ["ledger", str(folder / "out")])
    assert "One person was charged by 1 release at most epsilon 8, delta 0" in told.output.replace("\n", " ")


def test_too_many_rows_are_refused_and_may_be_kept_by_the_key(folder):
    refused = run(folder, "one.toml")
    assert refused.exit_code == 2
    assert "--keep-rows 1" in refused.output
    done = run(folder, "one.toml", "--keep-rows", "1")
    assert done.exit_code == 0, done.output
    assert "3,000 rows were left out" in done.output
    assert "3,000 records released" in done.output


def test_without_an_id_and_a_terminal_it_says_what_it_takes_for_granted(folder):
    done = run(folder, "none.toml", data="nameless.parquet")
    assert done.exit_code == 0, done.output
    assert "each row is protected as another person" in done.output
    silent = run(folder, "none.toml", "--one-row-per-person", "--again", "charge", data="nameless.parquet", out="more")
    assert silent.exit_code == 0, silent.output
    assert "another person" not in silent.output


@pytest.mark.parametrize(("answer", "code"), [("y\n", 2), ("n\n", 0)])
def test_without_an_id_a_terminal_is_asked(folder, monkeypatch, answer, code):
    import versadp.cli.release

    monkeypatch.setattr(versadp.cli.release, "has_terminal", lambda: True)
    done = run(folder, "none.toml", data="nameless.parquet", answer=answer)
    assert "Can one person have several rows" in done.output
    assert done.exit_code == code, done.output
    assert (folder / "out").exists() == (code == 0)
