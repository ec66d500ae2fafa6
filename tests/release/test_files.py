"""Releasing files: every kind, every shape, and bad ones refused before anything is seen of them."""

import decimal
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc as pi
import pyarrow.parquet as pq
import pytest

import versadp as vdp
from versadp.errors import DataError, ParameterError, ReleaseError, SpentError, StateError, VersadpError
from versadp.release.files.append import append_file
from versadp.release.files.release import release_file
from versadp.release.files.sources import open_source
from versadp.release.folder import parts
from versadp.release.ledger.state import State

SCHEMA = vdp.Schema({"x": vdp.Bounded(0, 1), "c": vdp.Categorical(["a", "b"]), "p": vdp.Public()})
MECH = vdp.Mechanism(SCHEMA, scale=0.5, exact_rate=0.1, keep=0.5)
KEY = vdp.fresh_key()


def people(n):
    rng = np.random.default_rng(0)
    return pa.table({"x": rng.random(n), "c": rng.choice(["a", "b"], n), "p": rng.integers(0, 9, n)})


def write(kind, path, table, rows=5000):
    """Write a table as a file of the given kind, cut every `rows` rows."""
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=rows)
    elif kind == "csv":
        table.to_pandas().to_csv(path, index=False)
    elif kind == "tsv":
        table.to_pandas().to_csv(path, index=False, sep="\t")
    elif kind == "folder":
        path.mkdir()
        for i, start in enumerate(range(0, max(len(table), 1), rows)):
            pq.write_table(table.slice(start, rows), path / f"{i:03d}.parquet")
        (path / "_SUCCESS").write_text("")
        (path / ".hidden.parquet").write_text("")
    else:
        make = pi.new_file if kind == "arrow" else pi.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    return path


KINDS = ["parquet", "csv", "tsv", "arrow", "arrows", "folder"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rows", "batch"), [(1, 10), (8191, 1000), (8192, 8192), (8193, 100_000), (30_000, 777)])
def test_a_file_gives_what_memory_gives(tmp_path, monkeypatch, kind, rows, batch):
    monkeypatch.setattr(parts, "PART_CELLS", 1)
    data = write(kind, tmp_path / f"data.{kind}", people(rows))
    release = release_file(data, tmp_path / "out", MECH, key=KEY, batch_rows=batch)
    expected = MECH.release(people(rows), key=KEY).to_pandas()
    assert release.to_pandas().astype(str).equals(expected.astype(str))
    assert len(list((tmp_path / "out").glob("part-*"))) == -(-rows // 8192)


def test_a_release_from_memory_and_from_a_file_are_the_same_bytes(tmp_path):
    data = write("parquet", tmp_path / "d.parquet", people(200_000))
    release_file(data, tmp_path / "file", MECH, key=KEY)
    MECH.release(people(200_000), key=KEY).save(tmp_path / "memory")
    for name in ("manifest.json", "part-00000.parquet"):
        assert (tmp_path / "file" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()


class Own:
    """Records that somebody makes as they are asked for, and what is said of them."""

    def __init__(self, table, rows=None, columns=None):
        self.table, self.rows, self.columns = table, rows, columns or table.schema

    def batches(self, rows=1000):
        for batch in self.table.to_batches(rows):
            yield batch, 0.5


class Failing(Own):
    """A source that ends with an error."""

    def __init__(self, problem):
        super().__init__(people(100))
        self.problem = problem

    def batches(self, rows=1000):
        yield from super().batches(rows)
        raise self.problem


@pytest.mark.parametrize("rows", [None, 20_000])
def test_a_source_of_ones_own_gives_what_a_file_gives(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(parts, "PART_CELLS", 1)
    release_file(write("parquet", tmp_path / "d.parquet", people(20_000)), tmp_path / "file", MECH, key=KEY)
    for _ in range(2):  # the second time it is compared with what was released
        release_file(Own(people(20_000), rows), tmp_path / "own", MECH, key=KEY, population="own")
    for path in (tmp_path / "file").iterdir():
        assert path.read_bytes() == (tmp_path / "own" / path.name).read_bytes()
    with pytest.raises(ReleaseError, match="other records"):
        release_file(Own(people(20_001)), tmp_path / "own", MECH, key=KEY, population="own")


def test_a_source_of_ones_own_is_held_to_its_word(tmp_path):
    other = pa.schema([("x", pa.float32()), ("c", pa.string()), ("p", pa.int64())])
    with pytest.raises(DataError, match="other columns"):
        release_file(Own(people(100), columns=other), tmp_path / "out", MECH)
    for said in (99, 101):
        with pytest.raises(DataError, match="100 records"):
            release_file(Own(people(100), said), tmp_path / "out", MECH)
    for said in ([1], "100"):
        with pytest.raises(DataError, match="as a number or None"):
            release_file(Own(people(100), said), tmp_path / "out", MECH)
    for problem in (OSError(2, "a secret"), pa.ArrowInvalid("a secret")):
        with pytest.raises(DataError, match="source cannot be read") as caught:
            release_file(Failing(problem), tmp_path / "out", MECH)
        assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="p"):
        release_file(Own(people(100).drop_columns("p")), tmp_path / "out", MECH)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["parquet", "arrow", "folder"])
def test_no_rows(tmp_path, kind):
    release = release_file(write(kind, tmp_path / f"d.{kind}", people(0)), tmp_path / "out", MECH)
    assert len(release.frame) == len(release) == 0


def test_engines_agree(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PART_CELLS", 1)
    data = write("parquet", tmp_path / "d.parquet", people(50_000))
    for engine in ("serial", "threads"):
        release_file(data, tmp_path / engine, MECH, key=KEY, engine=engine, population=engine)
    for path in (tmp_path / "serial").iterdir():
        assert path.read_bytes() == (tmp_path / "threads" / path.name).read_bytes()
    with pytest.raises(ParameterError, match="not sent to other processes"):
        release_file(data, tmp_path / "processes", MECH, engine="processes")


def test_progress_is_told_and_ends_at_one(tmp_path):
    for kind in ("parquet", "csv", "arrows"):
        told = []
        data = write(kind, tmp_path / f"d.{kind}", people(20_000))
        release_file(data, tmp_path / kind, MECH, progress=told.append, batch_rows=1000, population=kind)
        assert told == sorted(told)
        assert told[-1] == pytest.approx(1.0, abs=1e-3)


def test_parts_are_whole_blocks_of_bounded_size():
    for columns in (1, 3, 10, 1000, 5000):
        schema = vdp.Schema({f"x{j}": vdp.Bounded(0, 1) for j in range(columns)})
        rows = parts.part_rows(schema, 2**20)
        assert rows % 8192 == 0
        assert rows * columns <= max(2**23, 8192 * columns)


def test_files_of_other_libraries(tmp_path):
    """Categories as pandas and polars write them, compressed Arrow, text views: the same values."""
    import polars as pl

    frame = people(20_000).to_pandas().astype({"c": "category"})
    frame.to_parquet(tmp_path / "pandas.parquet", row_group_size=3000)
    table = pl.from_pandas(frame)
    table.write_parquet(tmp_path / "polars.parquet", row_group_size=2500)
    table.write_ipc(tmp_path / "polars.arrow")
    table.write_ipc(tmp_path / "zstd.arrow", compression="zstd")
    table.write_ipc_stream(tmp_path / "stream.arrows")
    table.with_columns(pl.col("c").cast(pl.String)).write_csv(tmp_path / "polars.csv")
    expected = MECH.release(people(20_000), key=KEY).to_pandas().astype(str)
    for path in sorted(tmp_path.glob("*.*")):
        name = path.name.replace(".", "-")
        release = release_file(path, tmp_path / "out" / name, MECH, key=KEY, population=name)
        assert release.to_pandas().astype(str).equals(expected), path.name


# bad files ------------------------------------------------------------------------------------------------------


def refused(data, tmp_path, match=None, mechanism=MECH, error=DataError):
    """Refused with our error; nothing is left of the attempt, and nothing was charged."""
    with pytest.raises(error, match=match) as caught:
        release_file(data, tmp_path / "out", mechanism, batch_rows=100)
    assert "SENTINEL" not in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.glob(".out*")) == []
    assert list(tmp_path.rglob("release-*.key")) == []


def table(**columns):
    base = {"x": [0.1, 0.2, 0.3], "c": ["a", "b", "a"], "p": [1, 2, 3]}
    return pa.table({name: column for name, column in (base | columns).items() if column is not None})


BAD_TABLES = {
    "nan": table(x=[0.1, float("nan"), 0.3]),
    "inf": table(x=[0.1, float("inf"), 0.3]),
    "null": table(x=[0.1, None, 0.3]),
    "1e300": table(x=[0.1, 1e300, 0.3]),
    "int64 min": table(x=pa.array([0, -(2**63), 1])),
    "uint64": table(x=pa.array([0, 2**63 + 5, 1], pa.uint64())),
    "text": table(x=["SENTINEL", "0.2", "0.3"]),
    "bool": table(x=[True, False, True]),
    "decimal": table(x=[decimal.Decimal("0.1")] * 3),
    "timestamp": table(x=pa.array([1, 2, 3], pa.timestamp("s"))),
    "nested": table(x=[[0.1], [0.2], [0.3]]),
    "struct": table(x=[{"a": 1}] * 3),
    "binary": table(x=[b"SENTINEL"] * 3),
    "all null": table(x=pa.nulls(3)),
    "unknown level": table(c=["a", "b", "SENTINEL"]),
    "null level": table(c=["a", None, "b"]),
    "numbers as levels": table(c=[0, 1, 0]),
    "null public": table(p=[1, None, 3]),
    "nested public": table(p=[[1], [2], [3]]),
    "missing": table(c=None),
    "extra": table(name=["SENTINEL"] * 3),
}


@pytest.mark.parametrize("name", BAD_TABLES)
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_bad_tables_in_files(tmp_path, name, kind):
    refused(write(kind, tmp_path / f"d.{kind}", BAD_TABLES[name]), tmp_path)


@pytest.mark.parametrize("name", ["nan", "inf", "null", "1e300", "text", "unknown level", "missing", "extra"])
def test_bad_tables_in_text(tmp_path, name):
    refused(write("csv", tmp_path / "d.csv", BAD_TABLES[name]), tmp_path)


def test_bad_values_in_the_last_block_are_found(tmp_path):
    good = people(20_000).to_pandas()
    good.loc[19_999, "x"] = np.nan
    refused(write("parquet", tmp_path / "d.parquet", pa.Table.from_pandas(good)), tmp_path, "1 missing")


def test_duplicate_columns(tmp_path):
    twice = pa.table([[0.1], [0.2], ["a"], [1]], names=["x", "x", "c", "p"])
    refused(write("arrow", tmp_path / "d.arrow", twice), tmp_path, "duplicate")
    (tmp_path / "d.csv").write_text("x,x,c,p\n0.1,0.2,a,1\n")
    refused(tmp_path / "d.csv", tmp_path, "duplicate")


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize("keep", [0, 3, 10, 0.2, 0.5, 0.9, 0.99])
def test_files_that_were_cut_short(tmp_path, kind, keep):
    """A stream that ends between two batches looks whole: only its writer's end mark would tell."""
    path = write(kind, tmp_path / f"d.{kind}", people(20_000), rows=20_000)
    data = path.read_bytes()
    path.write_bytes(data[: keep if isinstance(keep, int) else int(keep * len(data))])
    refused(path, tmp_path)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows", "csv", "other"])
def test_foreign_files(tmp_path, kind):
    path = tmp_path / f"d.{kind}"
    for data in (b"", b"\x89PNG\r\n\x1a\n" + bytes(200), b"PAR1" + bytes(300) + b"PAR1", b"ARROW1\0\0" + bytes(99)):
        path.write_bytes(data)
        refused(path, tmp_path)


def test_damaged_pages_are_refused_or_without_effect(tmp_path):
    """A flipped bit in a data page without a checksum cannot be noticed; what arrow notices becomes our error."""
    path = write("parquet", tmp_path / "d.parquet", people(5000))
    data = path.read_bytes()
    for i, at in enumerate(np.linspace(4, len(data) - 9, 15).astype(int)):
        changed = bytearray(data)
        changed[at] ^= 0x55
        path.write_bytes(changed)
        try:
            release_file(path, tmp_path / f"out{i}", MECH)
        except VersadpError:
            assert not (tmp_path / f"out{i}").exists()


def test_places_without_data(tmp_path):
    refused(tmp_path / "nowhere.parquet", tmp_path, "no file")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", tmp_path, "no Parquet file")
    (tmp_path / "empty" / "a.parquet").write_text("text")
    refused(tmp_path / "empty", tmp_path, "neither Parquet")


def test_columns_that_change_between_files(tmp_path):
    (tmp_path / "d").mkdir()
    pq.write_table(table(), tmp_path / "d" / "0.parquet")
    for other in (table(p=[1.5, 2.5, 3.5]), table(p=None), table(q=[1, 2, 3]), table().select(["c", "x", "p"])):
        pq.write_table(other, tmp_path / "d" / "1.parquet")
        refused(tmp_path / "d", tmp_path, r"columns of 1\.parquet")


def test_types_that_change_within_a_text_file(tmp_path):
    lines = [f"0.5,a,{i}" for i in range(300_000)]
    lines[-1] = "0.5,a,SENTINEL"
    (tmp_path / "d.csv").write_text("\n".join(["x,c,p", *lines]))
    refused(tmp_path / "d.csv", tmp_path, "cannot be read as CSV")


def test_values_under_nulls_and_sliced_buffers_do_not_matter(tmp_path):
    sliced = pa.concat_tables([table(x=[0.7, 0.8, 0.9]), table()]).slice(3)
    one = release_file(write("arrow", tmp_path / "a.arrow", sliced), tmp_path / "one", MECH, key=KEY)
    two = release_file(write("arrow", tmp_path / "b.arrow", table()), tmp_path / "two", MECH, key=KEY, population="b")
    assert one.frame.equals(two.frame)


HOSTILE = """
import sys, versadp as vdp
from versadp.release.files.release import release_file
schema = vdp.Schema({"x": vdp.Bounded(0, 1), "c": vdp.Categorical(["a", "b", "aa", "bb"])}, id="p")
try:
    release_file(sys.argv[1], sys.argv[2], vdp.Mechanism(schema, scale=0.5, keep=0.5))
except vdp.errors.DataError as problem:
    print(problem.message)
"""


@pytest.mark.parametrize(
    "columns",
    [{"c": ["aa", "bb", "aa"], "p": ["k", "l", "m"]}, {"c": ["a", "b", "a"], "p": ["kk", "ll", "mm"]}],
    ids=["id", "levels"],
)
def test_a_hostile_arrow_file_is_validated(tmp_path, columns):
    """Offsets that point far outside their buffer must be refused, not followed: following them ends the process."""
    path = write("arrow", tmp_path / "d.arrow", table(**columns))
    data = path.read_bytes()
    offsets = np.array([0, 1, 2, 3], np.int32).tobytes()
    assert offsets in data
    path.write_bytes(data.replace(offsets, np.array([0, 2**30, 2**30 + 1, 3], np.int32).tobytes()))
    command = [sys.executable, "-c", HOSTILE, str(path), str(tmp_path / "out")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "d.arrow cannot be read as Arrow (ArrowInvalid)\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "options",
    [
        {"batch_rows": 0},
        {"batch_rows": 1.5},
        {"again": "maybe"},
        {"key": bytes(32)},
        {"key": b"short"},
        {"engine": "x"},
    ],
)
def test_bad_options(tmp_path, options):
    data = write("parquet", tmp_path / "d.parquet", table())
    with pytest.raises(VersadpError):
        release_file(data, tmp_path / "out", MECH, **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("budget", [(-1, 0.1), (1, 2), (float("nan"), 0), (float("inf"), 0), (True, 0)])
def test_bad_budgets(tmp_path, budget):
    data = write("parquet", tmp_path / "d.parquet", table())
    with pytest.raises(ParameterError):
        release_file(data, tmp_path / "out", MECH, budget=budget)


def test_append_needs_an_id_and_a_release(tmp_path):
    data = write("parquet", tmp_path / "d.parquet", table())
    release_file(data, tmp_path / "out", MECH)
    with pytest.raises(ParameterError, match="id column"):
        append_file(tmp_path / "out", data)
    with pytest.raises(ReleaseError, match="not a release folder"):
        append_file(tmp_path / "nowhere", data)
    MECH.release(table()).save(tmp_path / "saved")
    with pytest.raises(ReleaseError, match="exists already"):
        release_file(data, tmp_path / "saved", MECH, population="new")
    with pytest.raises(StateError, match="does not know"):
        release_file(data, tmp_path / "saved", MECH)


def test_one_state_beside_a_release_serves_that_release(tmp_path):
    data = write("parquet", tmp_path / "d.parquet", table())
    with State(tmp_path / "out.provider", make=True, shared=False):
        pass  # as older versions made it
    release_file(data, tmp_path / "out", MECH)
    assert not (tmp_path / "home" / "versadp" / "default").exists()
    (tmp_path / "out").rename(tmp_path / "moved")
    (tmp_path / "out.provider").rename(tmp_path / "moved.provider")
    release_file(data, tmp_path / "moved", MECH)  # found by its manifest, wherever it is
    with pytest.raises((SpentError, VersadpError)):
        release_file(data, tmp_path / "another", MECH, state=tmp_path / "moved.provider")


def test_the_source_says_what_it_is(tmp_path):
    for kind, rows in (("parquet", 100), ("csv", None), ("arrow", 100), ("arrows", None), ("folder", 100)):
        source = open_source(write(kind, tmp_path / f"d.{kind}", people(100), rows=30), SCHEMA)
        assert source.rows == rows
        assert source.columns.names == ["x", "c", "p"]
        assert sum(batch.num_rows for batch, _ in source.batches(7)) == 100


def test_the_manifest_is_that_of_a_saved_release(tmp_path):
    release_file(write("parquet", tmp_path / "d.parquet", table()), tmp_path / "out", MECH)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["version"] == 4
    assert vdp.load(tmp_path / "out").mechanism == MECH
    assert pd.read_parquet(tmp_path / "out" / "part-00000.parquet").shape == (3, 3)
