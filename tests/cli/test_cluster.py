"""Commands that run on a cluster say what they say without one."""

import json

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from versadp.cli import main
from versadp_tests.fault_driver import PLAIN, table


def run(*arguments):
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def address(client):
    """The engine as a command is told of it."""
    return client.scheduler_info()["address"].replace("tcp", "dask")


def test_release_describe_and_fit(address, tmp_path):
    pq.write_table(table(9000), tmp_path / "people.parquet")
    PLAIN.to_toml(tmp_path / "schema.toml")
    out, where = tmp_path / "released", ("--engine", address)
    made = run(
        *("release", tmp_path / "people.parquet", "--schema", tmp_path / "schema.toml", "--out", out),
        *("--scale", 0.2, "--exact-rate", 0.2, "--keep", 0.6, "--format", "json", *where),
    )
    assert json.loads(made)[0]["rows"] == 9000
    for command in (("describe", out), ("fit", out, "y ~ x")):
        assert run(*command, "--format", "json", *where) == run(*command, "--format", "json", "--engine", "serial")


# threads of one process share their filters of warnings, and each replication changes them for a while
@pytest.mark.filterwarnings("ignore::versadp.errors.InsecureWarning")
def test_coverage_and_reproduce(address):
    for command in (
        ("bench", "coverage", "--reps", 2, "--row", "mean, n=300", "--format", "json"),
        ("reproduce", "table1", "--reps", 2, "--ours", 0, "--n", 500, "--format", "json"),
    ):
        there, here = (json.loads(run(*command, "--engine", each)) for each in (address, "serial"))
        assert [row | {"s/fit": None} for row in there] == [row | {"s/fit": None} for row in here]


def test_what_is_no_engine(tmp_path):
    result = CliRunner().invoke(main, ["reproduce", "table1", "--reps", "2", "--engine", "cloud"])
    assert result.exit_code == 2
    assert "there is no engine 'cloud'" in result.stderr
