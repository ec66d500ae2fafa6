"""Sentinels planted in files of every kind are searched for in every byte that releasing them leaves behind."""

import io
import logging
import pickle
import struct
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc as pi
import pyarrow.parquet as pq
import pytest

import versadp as vdp
from attacks.test_sentinels import INTEGER, NUMBER, PATTERNS, TEXT
from versadp.cli import main
from versadp.release import checkpoints
from versadp.release.files.append import append_file
from versadp.release.files.draft import draft_schema
from versadp.release.files.release import release_file

COLUMNS = {"x": vdp.Bounded(0, 1e7), "c": vdp.Categorical(["a", "b"]), "p": vdp.Public(), "t": vdp.Public()}
SCHEMA = vdp.Schema(COLUMNS, id="pid")
MECH = vdp.Mechanism(SCHEMA, scale=1.0, exact_rate=0.0, keep=0.3)
MORE_PATTERNS = [*PATTERNS, struct.pack(">d", NUMBER), struct.pack(">q", INTEGER), struct.pack("<f", NUMBER)]


def search(*blobs):
    return [pattern for blob in blobs for pattern in MORE_PATTERNS if pattern in blob]


def table():
    """The private number, the id, metadata and names of unused categories are sentinels; what is public is not."""
    n = 3000
    columns = {
        "pid": pa.array([f"{TEXT}-{i}" if i else TEXT for i in range(n)]),
        "x": pa.array(np.where(np.arange(n) % 2, NUMBER, float(INTEGER % 10**7))),
        "c": pa.DictionaryArray.from_arrays([i % 2 for i in range(n)], ["a", "b", TEXT]),
        "p": pa.array(np.arange(n)),
        "t": pa.array(["u", "v", "w"] * (n // 3)),
    }
    fields = [pa.field(name, array.type, metadata={"note": TEXT}) for name, array in columns.items()]
    return pa.table(list(columns.values()), schema=pa.schema(fields, metadata={"note": TEXT, TEXT: "x"}))


def write(kind, path, data):
    if kind == "parquet":
        pq.write_table(data, path)
    elif kind == "csv":
        data.to_pandas().to_csv(path, index=False)
    else:
        with pi.new_file(path, data.schema) as writer:
            writer.write_table(data)
    return path


def blobs(folder, but):
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file() and path not in but]


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_no_sentinel_in_any_file(tmp_path, kind, caplog):
    """At every step on the way, and at the end: release, manifest, state, journals and temporary files."""
    caplog.set_level(logging.DEBUG)
    data = write(kind, tmp_path / f"data.{kind}", table())
    assert search(data.read_bytes())
    found = []

    def look(_):
        found.extend(search(*blobs(tmp_path, {data})))

    checkpoints.watch(look)
    try:
        release = release_file(data, tmp_path / "out", MECH)
        append_file(tmp_path / "out", data)
    finally:
        checkpoints.unwatch(look)
    look(None)
    assert found == []
    shown = repr(release) + caplog.text + str(release.mechanism)
    assert search(shown.encode(), pickle.dumps(release.mechanism), pickle.dumps(release)) == []
    assert "pid" not in release.frame.column_names
    sink = io.BytesIO()
    pq.write_table(release.frame, sink)
    assert search(sink.getvalue()) == []


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_a_draft_of_a_schema_shows_nothing_of_the_data(tmp_path, kind):
    """Parquet keeps least and largest values in its footer, dictionaries are in the file: neither is looked at."""
    text = draft_schema(write(kind, tmp_path / f"data.{kind}", table()))
    assert search(text.encode()) == []
    assert "lower = ..." in text
    with pytest.raises(vdp.errors.SchemaError):
        vdp.Schema.from_toml_text(text)


def spoilt():
    good = table().to_pandas()
    yield "nan", good.assign(x=np.where(good.index == 2999, np.nan, good["x"]))
    yield "text", good.assign(x=TEXT)
    yield "huge", good.assign(x=np.where(good.index == 2999, NUMBER * 1e300, good["x"]))
    yield "level", good.assign(c=TEXT)
    yield "late level", good.assign(c=np.where(good.index == 2999, TEXT, "a"))
    yield "mixed", good.assign(x=[TEXT if i == 2999 else str(NUMBER) for i in range(3000)])
    yield "extra", good.assign(extra=TEXT)
    yield "repeats", good.assign(pid=TEXT)
    yield "no name", good.assign(pid=[None] * 3000)
    yield "late public", good.assign(p=[TEXT if i == 2999 else str(i) for i in range(3000)], t=None)


@pytest.mark.parametrize(("name", "frame"), list(spoilt()), ids=[name for name, _ in spoilt()])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_errors_tracebacks_and_ledgers_show_no_value(tmp_path, kind, name, frame):
    data = tmp_path / f"data.{kind}"
    if kind == "csv":
        frame.to_csv(data, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), data)
    with pytest.raises(vdp.errors.VersadpError) as caught:
        release_file(data, tmp_path / "out", MECH, batch_rows=500)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert search(shown.encode(), pickle.dumps(caught.value)) == []
    assert search(*blobs(tmp_path, {data})) == []
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_an_error_that_travels_carries_nothing_of_what_was_said_before(tmp_path):
    """Clusters send errors with their context: `from None` hides that from readers only."""
    support = pytest.importorskip("tblib.pickling_support", reason="an extra: dask")
    support.install(vdp.errors.DataError)  # as importing distributed does
    (tmp_path / "data.csv").write_text(f"pid,x,c,p,t\n1,{TEXT},a,0,u\n")
    with pytest.raises(vdp.errors.DataError) as caught:
        release_file(tmp_path / "data.csv", tmp_path / "out", MECH)
    assert search(pickle.dumps(caught.value)) == []
    assert pickle.loads(pickle.dumps(caught.value)).__context__ is None
    support.install(KeyError, ValueError)
    with pytest.raises(KeyError) as other:  # the control: another library's error does carry it
        _not_a_number()
    assert search(pickle.dumps(other.value)) == [TEXT.encode()]


def _not_a_number():
    try:
        float(TEXT)
    except ValueError:
        raise KeyError("x") from None


@pytest.mark.parametrize("line", ['"S3NT1N3L', "S3NT1N3L,1,2,3,4,5,6,7", "S3NT1N3L,x", "\x00\xff"])
def test_broken_lines_of_text_are_not_shown(tmp_path, line):
    data = tmp_path / "data.csv"
    data.write_bytes(b"pid,x,c,p,t\n1,2.0,a,3,u\n" + line.encode("latin-1") + b"\n")
    with pytest.raises(vdp.errors.DataError) as caught:
        release_file(data, tmp_path / "out", MECH)
    assert search("".join(traceback.format_exception(caught.value)).encode()) == []


def test_the_command_shows_no_value(tmp_path):
    """In a process of its own: whatever reaches the terminal."""
    frame = table().to_pandas()
    frame.loc[2999, "c"] = None
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "d.parquet")
    SCHEMA.to_toml(tmp_path / "s.toml")
    code = "import sys; from versadp.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "release", str(tmp_path / "d.parquet"), "--schema", str(tmp_path / "s.toml")]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "o"), "--scale", "1", "--keep", "0.3"], check=False, capture_output=True
    )
    assert done.returncode == 2
    assert search(done.stdout, done.stderr) == []
    assert b"Traceback" not in done.stderr
    assert main is not None


def test_counts_of_clamped_values_are_for_the_provider(tmp_path):
    """Out-of-bounds counts are in the warning and the ledger, and not in the release."""
    frame = table().to_pandas().assign(x=np.r_[2e7 + NUMBER, np.full(2999, 5.0)])
    write("parquet", tmp_path / "d.parquet", pa.Table.from_pandas(frame))
    with pytest.warns(vdp.errors.ClampedWarning, match="'x' 1") as caught:
        release_file(tmp_path / "d.parquet", tmp_path / "out", MECH)
    assert search(str(caught[0].message).encode()) == []
    assert b"outside" not in (tmp_path / "out" / "manifest.json").read_bytes()
    assert Path(caught[0].filename).name == "test_file_sentinels.py"


def test_states_and_jobs_cannot_be_pickled(tmp_path):
    from versadp.noise.words import keystream
    from versadp.release.files.part import Job
    from versadp.release.ledger.state import State

    pd.DataFrame({"pid": ["a"], "x": [1.0], "c": ["a"], "p": [1], "t": ["u"]}).to_parquet(tmp_path / "d.parquet")
    release_file(tmp_path / "d.parquet", tmp_path / "out", MECH)
    job = Job(MECH, keystream(vdp.fresh_key(), b""), b"secret", "r", tmp_path, 8192, 0, {})
    assert "secret" not in repr(job)
    with State(tmp_path / "home" / "versadp" / "default") as state:
        for thing in (state, job):
            with pytest.raises(vdp.errors.KeyMaterialError):
                pickle.dumps(thing)
