"""Releases of what a database is asked for: DuckDB here, and a PostgreSQL server that a test starts."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp.errors import DataError, ParameterError, StateError
from versadp.release.files.queries import open_query
from versadp.schema import Schema

SCHEMA = Schema(
    {
        "age": vdp.Bounded(18, 90),
        "income": vdp.Bounded(0, 1000),
        "born": vdp.Dates("1930-01-01", "2008-12-31"),
        "region": vdp.Categorical(["n", "s"]),
        "fee": vdp.Public(),
        "note": vdp.Omitted(),
    },
    id="pid",
)
MECHANISM = vdp.calibrate(SCHEMA, epsilon=6)
KEY = bytes(range(32))
ROWS = 3000


def people(rows=ROWS):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "pid": rng.permutation(rows),
            "age": rng.integers(18, 91, rows),
            "income": rng.integers(0, 100_000, rows) / 100,
            "born": (np.datetime64("1950-01-01") + rng.integers(0, 9000, rows)).tolist(),
            "region": rng.choice(["n", "s"], rows),
            "fee": rng.integers(0, 400, rows) / 4,
            "note": "private",
        }
    )


TABLE = """CREATE TABLE people
(pid INTEGER, age INTEGER, income NUMERIC(9, 2), born DATE, region TEXT, fee NUMERIC(9, 2), note TEXT)"""


@pytest.fixture
def state(tmp_path):
    return {"state": tmp_path / "secret", "key": KEY}


@pytest.fixture
def database(tmp_path):
    """A DuckDB file with decimals, in another order than the people's."""
    place = tmp_path / "people.duckdb"
    with duckdb.connect(str(place)) as connection:
        everybody = pa.Table.from_pandas(people())  # noqa: F841 - which the query names
        connection.execute(TABLE)
        connection.execute("INSERT INTO people SELECT * FROM everybody ORDER BY hash(pid)")
    return place


@pytest.fixture
def expected(tmp_path):
    """The release of the same people from a file."""
    people().to_parquet(tmp_path / "people.parquet")
    made = vdp.release_file(
        tmp_path / "people.parquet", tmp_path / "file", MECHANISM, state=tmp_path / "other", key=KEY
    )
    return made.to_arrow()


def test_a_query_is_released_like_a_file(tmp_path, database, state, expected):
    """Noise belongs to people and not to where they are stored; a file is the oracle, and other people differ."""
    query = vdp.sql("SELECT * FROM people", database)
    made = vdp.release_file(query, tmp_path / "released", MECHANISM, batch_rows=500, **state)
    assert made.to_arrow().equals(expected)
    some = vdp.sql("SELECT * FROM people WHERE pid < 2000;", str(database))
    fewer = vdp.release_file(some, tmp_path / "some", MECHANISM, state=tmp_path / "third", key=KEY)
    assert len(fewer) == 2000
    assert not fewer.to_arrow().equals(expected)


def test_rows_come_in_one_order_whatever_the_database_does(database):
    """By the id, or by all columns: in batches, and the same each time."""
    whole = open_query(vdp.sql("SELECT * FROM people ORDER BY random()", database), SCHEMA)
    batches = [batch for batch, _ in whole.batches(700)]
    assert max(batch.num_rows for batch in batches) <= 700
    assert np.concatenate([batch["pid"].to_numpy() for batch in batches]).tolist() == list(range(ROWS))
    assert whole.rows == ROWS
    without = Schema({"age": vdp.Bounded(18, 90), "region": vdp.Categorical(["n", "s"])})
    rows = [open_query(vdp.sql("SELECT age, region FROM people ORDER BY random()", database), without) for _ in "ab"]
    one, other = (pd.concat([batch.to_pandas() for batch, _ in each.batches(500)]) for each in rows)
    assert one.to_numpy().tolist() == other.to_numpy().tolist() == sorted(one.to_numpy().tolist())


def test_rows_are_streamed():
    """An error at the end of ten million rows comes after the first batches: nothing waits for the whole."""
    source = open_query(vdp.sql("SELECT i AS a FROM range(10000000) r(i)"))
    late = vdp.sql("SELECT CASE WHEN i < 9999999 THEN i ELSE error('late') END AS a FROM range(10000000) r(i)")
    batches = replace(source, query=late, _order="").batches(50_000)
    assert next(batches)[0].num_rows > 0
    with pytest.raises(DataError, match="did not answer"):
        list(batches)


def test_an_interrupted_query_goes_on(tmp_path, database, state, expected, monkeypatch):
    monkeypatch.setattr("versadp.release.folder.folder.PART_ROWS", 2**16)
    query, out = vdp.sql("SELECT * FROM people", database), tmp_path / "released"

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vdp.release_file(query, out, MECHANISM, progress=stop, **state)
    assert not out.exists()
    assert vdp.release_file(query, out, MECHANISM, **state).to_arrow().equals(expected)
    with duckdb.connect(str(database)) as connection:
        connection.execute("UPDATE people SET age = 18 WHERE pid = 7")
    with pytest.raises((StateError, vdp.errors.ReleaseError)):
        vdp.release_file(query, out, MECHANISM, **state)


def test_a_query_may_name_files(tmp_path, state, expected):
    query = vdp.sql(f"SELECT * FROM '{tmp_path}/people.parquet'")
    assert vdp.release_file(query, tmp_path / "released", MECHANISM, **state).to_arrow().equals(expected)


def test_more_people_from_a_query(tmp_path, database, state):
    first = vdp.sql("SELECT * FROM people WHERE pid < 1000", database)
    vdp.release_file(first, tmp_path / "released", MECHANISM, **state)
    found = vdp.append_file(tmp_path / "released", vdp.sql("SELECT * FROM people", database), state=state["state"])
    assert (found.new, found.skipped) == (2000, 1000)


BAD = [
    ("SELECT * FROM people; DROP TABLE people", DataError),
    ("DELETE FROM people", DataError),
    ("SELECT nothing FROM people", DataError),
    ("SELECT age, age FROM people", DataError),
    ("SELECT CAST(note AS INTEGER) AS age FROM people", DataError),
    ("SELECT age FROM people", DataError),
    ("", ParameterError),
]


@pytest.mark.parametrize(("text", "error"), BAD)
def test_bad_queries_are_refused_and_show_nothing(tmp_path, database, state, text, error):
    before = database.read_bytes()
    with pytest.raises(error) as caught:
        vdp.release_file(vdp.sql(text, database), tmp_path / "released", MECHANISM, **state)
    assert "private" not in f"{caught.value}{caught.value.__cause__}"
    assert database.read_bytes() == before
    assert not (tmp_path / "released").exists()


def test_a_database_says_nothing_private(database):
    with pytest.raises(DataError, match="did not answer") as caught:
        list(open_query(vdp.sql("SELECT CAST(note AS INTEGER) AS age FROM people", database)).batches())
    assert "private" not in str(caught.value)


def test_what_a_query_cannot_be(tmp_path, database, state):
    query = vdp.sql("SELECT * FROM people", database)
    with pytest.raises(ParameterError, match="order that tells"):
        vdp.release_file(query, tmp_path / "released", MECHANISM, shuffle=False, **state)
    with pytest.raises(ParameterError, match="DuckDB files and PostgreSQL"):
        vdp.sql("SELECT 1", "mysql://somewhere/x")
    with pytest.raises(DataError, match="there is no database"):
        open_query(vdp.sql("SELECT 1 AS x", tmp_path / "none.duckdb"))
    lost = vdp.sql("SELECT 1 AS x", "postgresql://me:hush@127.0.0.1:1/x?connect_timeout=2")
    with pytest.raises(DataError) as caught:
        open_query(lost)
    assert "hush" not in f"{caught.value}{lost!r}"


def test_stores_that_are_not_known_are_refused_with_a_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for ask in (
        lambda: vdp.load("gs://bucket/released"),
        lambda: vdp.fit("gs://bucket/released", "age ~ 1"),
        lambda: vdp.release_file("gs://bucket/people.parquet", "released", MECHANISM, state="secret"),
        lambda: vdp.release_file(vdp.sql("SELECT 1"), "s3://bucket/released", MECHANISM, state="secret"),
    ):
        with pytest.raises(ParameterError, match=r"(s3|gs):// is no folder of this machine"):
            ask()
    assert not list(tmp_path.glob("*:"))


def test_the_command_takes_a_query(tmp_path, database):
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml())
    say = ["release", "--query", "SELECT * FROM people", "--database", str(database)]
    say += ["--schema", str(tmp_path / "schema.toml"), "--out", str(tmp_path / "released"), "--epsilon", "6"]
    say += ["--state", str(tmp_path / "secret")]
    done = CliRunner().invoke(main, say)
    assert done.exit_code == 0, done.output
    assert len(vdp.load(tmp_path / "released")) == ROWS
    assert CliRunner().invoke(main, [*say, "people.parquet"]).exit_code != 0


def _program(name):
    found = shutil.which(name) or next(iter(sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))[::-1]), None)
    return None if found is None else str(found)


def _as_user():
    """Return what starts a program as somebody whom PostgreSQL takes: it does not run as root."""
    if os.name != "posix" or os.geteuid() != 0:
        return []
    return None if shutil.which("runuser") is None else ["runuser", "-u", "postgres", "--"]


@pytest.fixture(scope="module")
def server():
    """The address of a PostgreSQL server that ends with the tests."""
    make, serve, user = _program("initdb"), _program("postgres"), _as_user()
    if make is None or serve is None or user is None:
        pytest.skip("there is no PostgreSQL server on this machine")
    place = Path(tempfile.mkdtemp(prefix="versadp-postgres-"))
    if user:
        shutil.chown(place, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data, own = str(place / "data"), {"cwd": place, "capture_output": True, "timeout": 300}
    running = None
    try:
        subprocess.run([*user, make, "-D", data, "-U", "tester", "-A", "trust", "--no-sync"], check=True, **own)
        settings = ["-p", str(port), "-h", "127.0.0.1", "-k", "", "-c", "fsync=off"]
        running = subprocess.Popen([*user, serve, "-D", data, *settings], cwd=place, stderr=subprocess.DEVNULL)
        address = f"postgresql://tester@127.0.0.1:{port}/postgres"
        _wait_for(address, running)
        yield address
    finally:
        if running is not None:
            running.terminate()
            running.wait(60)
        shutil.rmtree(place, ignore_errors=True)


def _wait_for(address, running, seconds=120):
    from adbc_driver_postgresql import dbapi

    end = time.monotonic() + seconds
    while True:
        try:
            dbapi.connect(address).close()
        except dbapi.Error:
            if running.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.2)
        else:
            return


@pytest.fixture
def filled(server):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS people")
        cursor.execute(TABLE)
        rows = ", ".join(
            f"({r.pid}, {r.age}, {r.income}, '{r.born}', '{r.region}', {r.fee}, '{r.note}')"
            for r in people().itertuples()
        )
        cursor.execute(f"INSERT INTO people VALUES {rows}")
        connection.commit()
    return server


def test_postgresql_is_released_like_a_file(tmp_path, filled, state, expected):
    """NUMERIC comes as text and is read by the schema: the numbers are those of the file."""
    made = vdp.release_file(vdp.sql("SELECT * FROM people", filled), tmp_path / "released", MECHANISM, **state)
    assert made.to_arrow().equals(expected)
    assert pq.read_table(tmp_path / "released" / "part-00000.parquet").num_rows == ROWS


def test_postgresql_says_nothing_private(filled):
    with pytest.raises(DataError) as caught:
        list(open_query(vdp.sql("SELECT CAST(note AS INTEGER) AS age FROM people", filled)).batches())
    assert "private" not in str(caught.value)
