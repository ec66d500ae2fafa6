"""Runs: the same from the same seed on every engine, and continued after a kill or damage."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from versadp.errors import ParameterError, StateError
from versadp_experiments.cells import cells
from versadp_experiments.comparing import table_rows
from versadp_experiments.running import Plan, jobs, run
from versadp_experiments.store import Store

PLAN = Plan("table1", reps=60, ours=1, sizes=(500,), seed=5)


@pytest.fixture(scope="module")
def whole():
    return run(PLAN, engine="serial")


def same(left, right):
    return json.dumps(sorted(left.lines.items())) == json.dumps(sorted(right.lines.items()))


def test_seeds_decide_everything(whole):
    assert same(whole, run(PLAN, engine="serial"))
    other = run(Plan("table1", reps=60, ours=1, sizes=(500,), seed=6), engine="serial")
    assert not same(whole, other)


@pytest.mark.full
def test_processes_give_the_same(whole):
    assert same(whole, run(PLAN, engine="processes"))


def test_replications_do_not_depend_on_how_many_there_are(whole):
    few = run(Plan("table1", reps=7, ours=0, sizes=(500,), seed=5), engine="serial")
    for key, line in few.lines.items():
        assert line["paper"] == whole.lines[key]["paper"]


@pytest.mark.full
def test_a_killed_run_continues(tmp_path, whole):
    plan = "Plan('table1', reps=60, ours=1, sizes=(500,), seed=5)"
    code = (
        "import time\nfrom versadp_experiments import store\nfrom versadp_experiments.running import Plan, run\n"
        "add = store.Store.add\n"
        "def slow(self, lines):\n    add(self, lines)\n    time.sleep(60)\n"
        f"store.Store.add = slow\nrun({plan}, {str(tmp_path)!r}, 'local')\n"
    )
    file = tmp_path / "table1-found-5.jsonl"
    with subprocess.Popen([sys.executable, "-c", code]) as child:
        deadline = time.monotonic() + 30
        while not (file.exists() and file.read_bytes().count(b"\n") > 1) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(child.pid, signal.SIGKILL)
    kept = file.read_bytes()
    assert 1 < kept.count(b"\n") < 121
    file.write_bytes(kept + b'{"n": 500, "block": 0, "re')  # a line cut off in the middle
    store = Store(file, {"table": "table1", "seed": 5, "reading": "found", "format": 1})
    assert 0 < sum(len(job.reps) for job in jobs(PLAN, store)) < 120
    assert same(whole, run(PLAN, tmp_path, "serial"))
    complete = file.read_bytes()
    assert same(whole, run(PLAN, tmp_path, "serial"))
    assert file.read_bytes() == complete


@pytest.mark.parametrize("damage", [b"\x00\xff garbage", b"[1, 2]", b'{"n": 500}', b""])
def test_damaged_lines_are_run_again(tmp_path, whole, damage):
    run(PLAN, tmp_path, "serial")
    file = next(tmp_path.glob("*.jsonl"))
    lines = file.read_bytes().split(b"\n")
    lines[3] = damage
    file.write_bytes(b"\n".join(lines))
    assert same(whole, run(PLAN, tmp_path, "serial"))


def test_a_damaged_header_starts_over_and_another_run_is_refused(tmp_path, whole):
    file = tmp_path / "table1-found-5.jsonl"
    file.write_bytes(b"\x00\x01")
    assert same(whole, run(PLAN, tmp_path, "serial"))
    file.write_text('{"table": "table9"}\n', encoding="utf-8")
    with pytest.raises(StateError, match="another run"):
        run(PLAN, tmp_path, "serial")


def test_a_longer_run_builds_on_a_shorter_one(tmp_path):
    run(Plan("table1", 3, 0, (500,), 5), tmp_path, "serial")
    file = next(tmp_path.glob("*.jsonl"))
    before = file.read_bytes()
    longer = run(Plan("table1", 5, 1, (500,), 5), tmp_path, "serial")
    assert file.read_bytes().startswith(before)
    assert len(longer.lines) == 10
    assert "ours" in longer.lines[500, 0, 0]
    rows = table_rows(longer, Plan("table1", 5, 1, (500,), 5))
    assert {row["reps"] for row in rows if row["method"] == "DR"} == {5}


def test_bad_sizes_and_readings():
    with pytest.raises(ParameterError, match="50 records"):
        cells("table1", (3,))
    with pytest.raises(ParameterError, match="no reading"):
        cells("table1", (), "hoped")
