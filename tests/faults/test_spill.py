"""Raw values that a database sorts on the disk: in the state folder alone, and gone after the next start."""

import os
import signal
import stat
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import versadp as vdp
from versadp.errors import DataError
from versadp.release.files import queries
from versadp.release.ledger.state import State
from versadp.release.spill import spill_folder, sweep

pytest.importorskip("duckdb")

ROWS = 1_500_000
MEMORY = "64MB"  # less than the rows take: DuckDB sorts on the disk

DRIVER = textwrap.dedent(
    """
    import os, signal, sys
    import versadp as vdp
    from versadp.release.files import queries, sources

    queries.MEMORY = "64MB"
    out, home, table, at = sys.argv[1:]

    def die(share):
        os.kill(os.getpid(), signal.SIGKILL)

    mechanism = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1), "y": vdp.Bounded(0, 1)}), scale=1)
    query = vdp.sql(f"SELECT * FROM '{table}'")
    if at == "counting":  # a query that sorts before it gives its first row
        query = vdp.sql(f"SELECT x, y FROM '{table}' QUALIFY row_number() OVER (ORDER BY x) >= 0")
        true = queries._batches
        queries._batches = lambda reader: die(0) if reader.schema.names == ["n"] else true(reader)
    vdp.release_file(query, out, mechanism, state=home, progress=die, engine="serial")
    """
)


def table(folder):
    rng = np.random.default_rng(0)
    values = {"x": rng.random(ROWS), "y": rng.random(ROWS)}
    pq.write_table(pa.table(values), folder / "people.parquet")
    return values


def killed(tmp_path, at):
    """Run a release of a query that is killed, with a temporary and a working folder of its own."""
    for name in ("temporary", "working"):
        (tmp_path / name).mkdir()
    words = ["released", str(tmp_path / "home"), str(tmp_path / "people.parquet"), at]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "HOME": str(tmp_path / "working")}
    command = [sys.executable, "-c", DRIVER, *words]
    done = subprocess.run(command, check=False, cwd=tmp_path / "working", env=environment, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def holding(folder, values):
    """Return the files under a folder that hold raw values, out of a thousand."""
    sought = [value.tobytes() for value in values["x"][:: ROWS // 1000]]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(value in (data := path.read_bytes()) for value in sought) and data]


@pytest.mark.parametrize("at", ["counting", "reading"])
def test_values_that_a_killed_query_spilled_are_in_the_state_folder_and_swept(tmp_path, at):
    values = table(tmp_path)
    killed(tmp_path, at)
    home = tmp_path / "home"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    left = list(home.glob("spill-*"))
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in left)
    if at == "reading":
        assert holding(home, values)  # the query did sort on the disk
    assert holding(tmp_path / "temporary", values) == holding(tmp_path / "working", values) == []
    assert left
    with State(home, make=True):
        assert list(home.glob("spill-*")) == []
    assert holding(home, values) == []


def test_a_query_that_ends_leaves_nothing_in_the_state_folder(tmp_path, monkeypatch):
    """Refused or done, and while it runs the folder of a query stays."""
    monkeypatch.setattr(queries, "MEMORY", MEMORY)
    table(tmp_path)
    home, query = tmp_path / "home", vdp.sql(f"SELECT * FROM '{tmp_path}/people.parquet'")
    rows = queries.open_query(query, home=home)
    batches = rows.batches()
    next(batches)
    (running,) = home.glob("spill-*")
    assert any(path.suffix == ".tmp" for path in running.iterdir())
    sweep(home)
    assert running.is_dir()
    batches.close()
    assert list(home.iterdir()) == []
    with pytest.raises(DataError, match="did not answer"):
        queries.open_query(vdp.sql("SELECT nothing"), home=home)
    assert list(home.iterdir()) == []


def test_a_query_without_a_state_folder_is_not_sorted_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(queries, "MEMORY", MEMORY)
    monkeypatch.chdir(tmp_path)
    table(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DataError, match="did not answer"):
        list(queries.open_query(vdp.sql("SELECT * FROM 'people.parquet'")).batches())
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_that_another_process_sweeps_before_it_is_locked_is_made_anew(tmp_path, monkeypatch):
    from versadp.release import spill

    true, swept = spill._held, []

    def held(place):
        if not swept:
            swept.append(place)
            place.rmdir()
        return true(place)

    monkeypatch.setattr(spill, "_held", held)
    with spill_folder(tmp_path) as folder:
        assert folder.is_dir()
        assert folder != swept[0]
    assert list(tmp_path.iterdir()) == []
