"""Odd files, types, names and places: released as they are meant, or refused with an error that shows no value."""

import decimal
import gzip
import io
import os
import shutil
import tempfile
import traceback
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as pi
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import versadp as vdp
from versadp.errors import DataError, ParameterError, ReleaseError, VersadpError
from versadp.release.files.append import append_file
from versadp.release.files.release import release_file
from versadp.release.files.sources import open_source

SCHEMA = vdp.Schema({"x": vdp.Bounded(0, 1), "c": vdp.Categorical(["a", "b"]), "p": vdp.Public()})
MECH = vdp.Mechanism(SCHEMA, scale=0.5, exact_rate=0.1, keep=0.5)
KEY = vdp.fresh_key()
HEAD = b"x,c,p\n"
SENTINEL = "S3NT1N3L"


def refused(data, folder, match=None, mechanism=MECH):
    with pytest.raises(DataError, match=match) as caught:
        release_file(data, folder / "out", mechanism)
    assert caught.value.hint
    assert SENTINEL not in "".join(traceback.format_exception(caught.value))
    assert not (folder / "out").exists()


# text ------------------------------------------------------------------------------------------------------------

MEANT = {
    "plain": b"x,c,p\n0.5,a,u\n0.25,b,v\n",
    "byte order mark": b"\xef\xbb\xbfx,c,p\n0.5,a,u\n0.25,b,v\n",
    "carriage returns": b"x,c,p\r\n0.5,a,u\r\n0.25,b,v\r\n",
    "old carriage returns": b"x,c,p\r0.5,a,u\r0.25,b,v\r",
    "quotes": b'"x","c","p"\n"0.5","a","u"\n0.25,"b",v\n',
    "no last newline": b"x,c,p\n0.5,a,u\n0.25,b,v",
    "other order": b"p,x,c\nu,0.5,a\nv,0.25,b\n",
}


@pytest.mark.parametrize("name", MEANT)
def test_text_that_is_meant_the_same(tmp_path, name):
    (tmp_path / "d.csv").write_bytes(MEANT[name])
    frame = release_file(tmp_path / "d.csv", tmp_path / "out", MECH, key=KEY).to_pandas()
    table = pa.table({"x": [0.5, 0.25], "c": ["a", "b"], "p": ["u", "v"]})
    assert frame.astype(str).equals(MECH.release(table, key=KEY).to_pandas().astype(str))


@pytest.mark.parametrize("value", ["2020-01-01", "2020-01-01 10:00:00", "caf\u00e9", "a\0b", '"a,b"'])
def test_public_text_is_released_as_it_stands(tmp_path, value):
    (tmp_path / "d.csv").write_bytes(HEAD + f"0.5,a,{value}\n".encode())
    frame = release_file(tmp_path / "d.csv", tmp_path / "out", MECH).to_pandas()
    assert frame["p"].tolist() == [value.strip('"')]


def zipped(data):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("d.csv", data)
    return sink.getvalue()


ROW = HEAD + b"0.5,a,1\n"
ODD_TEXT = {
    "nothing": b"",
    "newlines": b"\n\n\n",
    "only a head": HEAD,
    "utf-16": ROW.decode().encode("utf-16"),
    "latin-1 text": HEAD + b"0.5,a,S3NT1N3L\xe9\n",
    "latin-1 level": HEAD + b"0.5,S3NT1N3L\xe9,1\n",
    "latin-1 name": b"x,c,S3NT1N3L\xe9\n0.5,a,1\n",
    "semicolons": b"x;c;p\n0.5;a;1\n",
    "decimal comma": HEAD + b'"0,5",a,S3NT1N3L\n',
    "infinity": HEAD + b"inf,a,S3NT1N3L\n",
    "huge": HEAD + b"123456789012345678901234567890,a,S3NT1N3L\n",
    "beyond floats": HEAD + b"1e400,a,S3NT1N3L\n",
    "public nothing": HEAD + b"0.5,a,\n",
    "ragged": HEAD + b"0.5,S3NT1N3L\n",
    "no name": b",x,c,p\n1,1,a,S3NT1N3L\n",
    "a line of 3 MB": HEAD + b"0.5,a," + b"S3NT1N3L" * 400_000 + b"\n",
    "gzip": gzip.compress(ROW),
    "zip": zipped(ROW),
}


@pytest.mark.parametrize("name", ODD_TEXT)
def test_odd_text_is_refused(tmp_path, name):
    (tmp_path / "d.csv").write_bytes(ODD_TEXT[name])
    refused(tmp_path / "d.csv", tmp_path, "packed" if name in {"gzip", "zip"} else None)


@pytest.mark.parametrize("break_", [b"\n", b"\r\n"])
@pytest.mark.parametrize("end", [b"", b'"'])
def test_a_stray_quote_does_not_release_the_rows_behind_it(tmp_path, break_, end):
    """A quote that is not closed makes text of all that follows: private values would stand in a public column."""
    rows = [b"x,c,p", b'0.5,a,"u', b"0.1234567,b,v", b"0.75,a,w" + end, b""]
    (tmp_path / "d.csv").write_bytes(break_.join(rows))
    refused(tmp_path / "d.csv", tmp_path, "1 texts with a line break in column 'p'")
    schema = vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid")  # or one person of many
    (tmp_path / "d.csv").write_bytes(break_.join([b"x,pid", b'0.5,"u', b"0.1,v", b"0.75,w" + end, b""]))
    refused(tmp_path / "d.csv", tmp_path, "in column 'pid'", vdp.Mechanism(schema, scale=0.5))


def test_negative_zero_is_zero(tmp_path):
    frames = []
    for i, zero in enumerate([b"0", b"-0.0", b"1e-320"]):
        (tmp_path / "d.csv").write_bytes(HEAD + zero + b",a,1\n")
        frames.append(release_file(tmp_path / "d.csv", tmp_path / str(i), MECH, key=KEY, population=str(i)).frame)
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])


# types -----------------------------------------------------------------------------------------------------------


def texts(*values):
    return pa.array([f"{SENTINEL}{value}" for value in values])


def not_utf8():
    offsets, data = np.array([0, 9, 18, 27], np.int32), (SENTINEL.encode() + b"\xff") * 3
    return pa.StringArray.from_buffers(3, pa.py_buffer(offsets), pa.py_buffer(data))


def run_ends():
    return pa.RunEndEncodedArray.from_arrays([3], texts(1))


NEVER = {
    "decimal": pa.array([decimal.Decimal("1.5")] * 3),
    "wide decimal": pa.array([decimal.Decimal(1)] * 3, pa.decimal256(50)),
    "timestamp": pa.array([1, 2, 3], pa.timestamp("us", "UTC")),
    "date": pa.array([1, 2, 3], pa.date32()),
    "duration": pa.array([1, 2, 3], pa.duration("s")),
    "interval": pa.array([pa.MonthDayNano([1, 2, 3])] * 3),
    "half float": pa.array(np.array([0.1, 0.2, 0.3], np.float16)),
    "list": pa.array([[SENTINEL]] * 3),
    "struct": pa.array([{"a": SENTINEL}] * 3),
    "map": pa.array([[(SENTINEL, 1)]] * 3, pa.map_(pa.string(), pa.int64())),
    "union": pa.UnionArray.from_sparse(pa.array([0, 0, 0], pa.int8()), [texts(1, 2, 3)]),
    "binary": pa.array([SENTINEL.encode()] * 3),
    "fixed binary": pa.array([SENTINEL.encode()] * 3, pa.binary(8)),
    "run ends": run_ends(),
    "nulls": pa.nulls(3),
    "not UTF-8": not_utf8(),
    "a null behind a category": pa.DictionaryArray.from_arrays([0, 1, 0], [SENTINEL, None]),
    "a null": pa.array([SENTINEL, None, SENTINEL]),
}


def table(**columns):
    return pa.table({"x": [0.1, 0.2, 0.3], "c": ["a", "b", "a"], "p": [1, 2, 3]} | columns)


def write(path, data):
    if path.suffix == ".parquet":
        pq.write_table(data, path)
    else:
        with pi.new_file(path, data.schema) as writer:
            writer.write_table(data)
    return path


def written(folder, data, *, least=1):
    """Write a table as each kind of file that can hold it."""
    paths = []
    for path in (folder / "d.arrow", folder / "d.parquet"):
        try:
            paths.append(write(path, data))
        except (pa.ArrowException, OSError):
            path.unlink(missing_ok=True)
    assert len(paths) >= least
    return paths


@pytest.mark.parametrize("column", ["x", "c", "p", "pid"])
@pytest.mark.parametrize("name", NEVER)
def test_types_that_are_never_released(tmp_path, name, column):
    schema = vdp.Schema(SCHEMA.columns, id="pid") if column == "pid" else SCHEMA
    mechanism = vdp.Mechanism(schema, scale=0.5, exact_rate=0.1, keep=0.5)
    for path in written(tmp_path, table(**{column: NEVER[name]})):
        refused(path, tmp_path, mechanism=mechanism)


@st.composite
def arrays(draw):
    """Columns of many types, some of which fit."""
    kind = draw(
        st.sampled_from(
            [pa.int8(), pa.uint64(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.bool_()]
        )
    )
    low, high = {pa.int8(): (-128, 127), pa.uint64(): (0, 2**64 - 1)}.get(kind, (-(2**63), 2**63 - 1))
    numbers = st.one_of(st.sampled_from([0, 1, low, high]), st.integers(low, high))
    floats = st.one_of(st.floats(0, 1, width=32), st.sampled_from([-0.0, 5e-324, np.nan, np.inf, 1e30]))
    words = st.one_of(st.sampled_from(["a", "b"]), st.text(st.characters(codec="utf-8"), max_size=5))
    value = (
        st.booleans()
        if pa.types.is_boolean(kind)
        else numbers
        if pa.types.is_integer(kind)
        else floats
        if pa.types.is_floating(kind)
        else words
    )
    values = draw(
        st.lists(st.one_of(value, value, st.none()) if draw(st.booleans()) else value, min_size=3, max_size=3)
    )
    array = pa.array(values, kind)
    # categories of numbers are numbers in Parquet
    return array.dictionary_encode() if draw(st.booleans()) and value is words else array


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(arrays(), arrays(), arrays(), st.permutations(["x", "c", "p"]), st.integers(0, 3))
@pytest.mark.filterwarnings("ignore::versadp.errors.ClampedWarning")  # values are outside on purpose
def test_a_file_is_taken_just_when_its_table_is(x, c, p, order, rows):
    """Whatever the types and values: the same verdict and the same values as in memory, and no other kind of error."""
    data = pa.table({"x": x, "c": c, "p": p}).slice(0, rows).select(order)
    try:
        expected = MECH.release(data, key=KEY).to_pandas().astype(str)
    except VersadpError:
        expected = None
    folder = Path(tempfile.mkdtemp())
    try:
        for path in written(folder, data):
            try:
                options = {"key": KEY, "state": folder / f"state{path.suffix}"}
                found = release_file(path, folder / path.suffix, MECH, **options).to_pandas().astype(str)
            except VersadpError:
                found = None
            assert (found is None) == (expected is None)
            assert found is None or found.equals(expected)
    finally:
        shutil.rmtree(folder)


# names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a/b", "../x", "\u00e9", " ", "x" * 300, "a.b", 'a"b', "a,b", "manifest.json"])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_names_of_columns_are_only_names(tmp_path, name, kind):
    path, data = tmp_path / f"d.{kind}", pa.table({name: [0.1, 0.2], "pid": ["p", "q"]})
    data.to_pandas().to_csv(path, index=False) if kind == "csv" else write(path, data)
    mechanism = vdp.Mechanism(vdp.Schema({name: vdp.Bounded(0, 1)}, id="pid"), scale=0.5)
    assert release_file(path, tmp_path / "in" / "out", mechanism).frame.column_names == [name]
    assert {p.name for p in tmp_path.iterdir()} == {"in", "home", path.name}


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_nobody_and_a_person_without_letters(tmp_path, kind, rows):
    columns = {"x": [0.5], "p": [""], "pid": [""]}
    types = pa.schema({"x": pa.float64(), "p": pa.string(), "pid": pa.string()})
    path = write(tmp_path / f"d.{kind}", pa.table(columns, schema=types).slice(0, rows))
    schema = vdp.Schema({"x": vdp.Bounded(0, 1), "p": vdp.Public()}, id="pid")
    release_file(path, tmp_path / "out", vdp.Mechanism(schema, scale=0.5))
    assert append_file(tmp_path / "out", path).skipped == rows
    assert len(vdp.load(tmp_path / "out").frame) == rows


# places ----------------------------------------------------------------------------------------------------------


def test_links_are_followed(tmp_path):
    data = write(tmp_path / "d.parquet", table())
    (tmp_path / "folder").mkdir()
    for link, to in (("l.parquet", data), ("folder/a.parquet", data), ("f", tmp_path / "folder")):
        (tmp_path / link).symlink_to(to)
    for name in ("l.parquet", "folder", "f"):
        assert open_source(tmp_path / name, SCHEMA).rows == 3


def test_places_that_hold_no_file(tmp_path):
    os.mkfifo(tmp_path / "fifo.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "dangling").mkdir()
    (tmp_path / "dangling" / "a.parquet").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folders" / "a.parquet").mkdir(parents=True)
    for place in ("/dev/stdin", "/dev/null", tmp_path / "fifo.csv"):
        refused(place, tmp_path, "not an ordinary file|no file|neither")
    for place in ("loop.csv", "dangling", "folders", "a\0b.csv", "a" * 5000):
        refused(tmp_path / place, tmp_path, "no file|cannot be opened")


def test_places_that_cannot_be_written_to(tmp_path):
    data = write(tmp_path / "d.parquet", table())
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for out in (data, data / "out", tmp_path / "empty", tmp_path / "link", tmp_path / ("a" * 300)):
        with pytest.raises(ReleaseError):
            release_file(data, out, MECH)
    for options in ({"out": "a\0b"}, {"out": tmp_path / "out", "state": "a\0b"}):
        with pytest.raises(ParameterError, match="zero byte"):
            release_file(data, mechanism=MECH, **options)
    assert list(tmp_path.glob(".*")) == []


def test_a_release_and_its_state_on_two_file_systems(tmp_path):
    other = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        data = write(tmp_path / "d.parquet", table())
        assert len(release_file(data, other / "out", MECH, state=tmp_path / "state").frame) == 3
        assert len(release_file(data, tmp_path / "out", MECH, state=other / "state").frame) == 3
    finally:
        shutil.rmtree(other)
