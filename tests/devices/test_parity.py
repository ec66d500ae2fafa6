"""Random mechanisms and records: the client in Node reports what Python reports, with and without FMA."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from versadp_tests import device_parity, typescript

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module", autouse=True)
def built():
    typescript.need_build()


def written(place, mechanisms, records, seed):
    place.write_text("".join(json.dumps(case) + "\n" for case in device_parity.cases(mechanisms, records, seed)))
    return place


def all_same(found, mechanisms, records):
    for each in found:
        assert each["different"] == []
        assert each["mechanisms"] == mechanisms
        assert each["fingerprints"] == 0
        assert each["records"] == each["same"] == each["clamped"] == mechanisms * records


def in_node(place):
    done = typescript.run("node", "test/compare.mjs", str(place))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_random_records_are_the_same_in_node(tmp_path):
    place = written(tmp_path / "cases.jsonl", 20, 15, seed=1)
    found = in_node(place)
    assert [each["entry"] for each in found] == ["index", "plain"]
    all_same(found, 20, 15)


def test_comparison_sees_a_difference(tmp_path):
    """The negative control: one place of one report is another."""
    place = written(tmp_path / "cases.jsonl", 2, 5, seed=2)
    one, other = place.read_text().splitlines()
    case = json.loads(other)
    values = case["records"][3]["report"]["values"]
    name = next(name for name, value in values.items() if isinstance(value, int) and not isinstance(value, bool))
    values[name] += 1
    place.write_text(one + "\n" + json.dumps(case) + "\n")
    assert [each["records"] - each["same"] for each in in_node(place)] == [1, 1]


@pytest.mark.slow
def test_random_records_are_the_same_in_node_and_without_fma(tmp_path):
    place = written(tmp_path / "cases.jsonl", 200, 50, seed=3)
    all_same(in_node(place), 200, 50)
    command = [sys.executable, "-m", "versadp_tests.device_parity", "200", "50", "3"]
    paths = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"NUMBA_CPU_NAME": "generic", "PYTHONPATH": paths}
    generic = subprocess.run(command, check=True, capture_output=True, env=environment).stdout
    assert generic == place.read_bytes()
