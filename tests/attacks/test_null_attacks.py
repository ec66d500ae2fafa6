"""What missing values and omitted columns could give away: values under nulls, shared noise, who is missing."""

import struct

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import versadp as vdp
from attacks.test_file_sentinels import blobs, write
from attacks.test_sentinels import INTEGER, NUMBER, TEXT, artefacts, search
from versadp.noise import Response, Window
from versadp.release import checkpoints
from versadp.release.files.release import release_file

KEY = bytes(range(70, 102))
SCHEMA = vdp.Schema(
    {
        "x": vdp.Bounded(0, 1e7, nullable=True),
        "o": vdp.Bounded(0, 1e7, nullable="public"),
        "i": vdp.Categorical([INTEGER, 1], nullable=True),
        "c": vdp.Categorical(["a", "b"], nullable=True),
        "name": vdp.Omitted(),
        "pay": vdp.Omitted(),
    }
)
MECH = vdp.Mechanism(
    SCHEMA,
    noise={"x": Window(8.0, cells=1000, window=1), "o": Window(8.0, window=2), "i": Response(0.0), "c": Window(2)},
)
PAYLOAD = 0x7FF8DEADBEEF0001


def under_nulls(n=4):
    """Sentinels under every null, and in NaNs; the omitted columns are nothing else."""
    gone = pa.py_buffer(b"\x00")
    odd = struct.pack("<Q", PAYLOAD)

    def nulls(kind, data):
        return pa.Array.from_buffers(kind, n, [gone, pa.py_buffer(data * n)])

    text = pa.Array.from_buffers(
        pa.large_string(),
        n,
        [gone, pa.py_buffer(struct.pack("<5q", 0, 8, 16, 24, 32)), pa.py_buffer(TEXT.encode() * n)],
    )
    return pa.table(
        {
            "x": pa.chunked_array([nulls(pa.float64(), struct.pack("<d", NUMBER)), _floats(odd * n)]),
            "o": pa.chunked_array([nulls(pa.float64(), struct.pack("<d", NUMBER)), _floats(odd * n)]),
            "i": pa.chunked_array([nulls(pa.int64(), struct.pack("<q", 1)), pa.nulls(n, pa.int64())]),
            "c": pa.chunked_array([text, pa.nulls(n, pa.large_string())]),
            "name": [TEXT] * (2 * n),
            "pay": [NUMBER] * (2 * n),
        }
    )


def _floats(data):
    return pa.Array.from_buffers(pa.float64(), len(data) // 8, [None, pa.py_buffer(data)])


@pytest.mark.parametrize(
    "kind", [lambda t: t, pl.from_arrow, lambda t: t.to_pandas()], ids=["arrow", "polars", "pandas"]
)
def test_nothing_under_a_null_and_nothing_omitted_reaches_an_artefact(kind, tmp_path):
    assert search(b"".join(bytes(b) for c in under_nulls().columns for k in c.chunks for b in k.buffers() if b))
    release = MECH.release(kind(under_nulls()))
    found = artefacts(release, tmp_path)
    # a level that is declared may be drawn, and its name stands in the schema
    assert set(search(*found)) <= {struct.pack("<q", INTEGER), str(INTEGER).encode()}
    assert not any(struct.pack("<Q", PAYLOAD) in blob for blob in found)
    assert release.to_arrow()["o"].null_count == 8
    assert "name" not in release.to_arrow().column_names


def test_noise_that_is_drawn_for_a_public_null_is_thrown_away():
    """In the buffers under the nulls there is one number for all; noise that had been kept would differ."""
    column = MECH.release(under_nulls(), key=KEY, shuffle=False).frame["o"].combine_chunks()
    under = np.frombuffer(column.buffers()[1], np.float64)[: len(column)]
    assert set(under) == {0.0}


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_no_file_holds_what_is_omitted(kind, tmp_path):
    data = write(kind, tmp_path / f"data.{kind}", pa.table(under_nulls().to_pydict()))
    release_file(data, tmp_path / "out", MECH)
    found = blobs(tmp_path, {data})
    assert not any(pattern in blob for pattern in (TEXT.encode(), struct.pack("<d", NUMBER)) for blob in found)


def test_what_is_omitted_changes_nothing():
    one = under_nulls()
    other = one.set_column(4, "name", pa.array([[i] for i in range(8)])).drop_columns("pay")
    assert MECH.release(one, key=KEY).frame.equals(MECH.release(other, key=KEY).frame)


def test_a_release_goes_on_after_a_crash_as_if_nothing_had_been(tmp_path):
    data = write("parquet", tmp_path / "data.parquet", under_nulls())

    def crash(name):
        if name == "part written":
            raise KeyboardInterrupt

    checkpoints.watch(crash)
    try:
        with pytest.raises(KeyboardInterrupt):
            release_file(data, tmp_path / "out", MECH, key=KEY)
    finally:
        checkpoints.unwatch(crash)
    release = release_file(data, tmp_path / "out", MECH)
    assert release.frame.equals(MECH.release(under_nulls(), key=KEY).to_arrow().cast(release.frame.schema))


@pytest.mark.parametrize("nullable", [True, "public"])
@pytest.mark.parametrize("named", [True, False])
def test_a_missing_value_shares_no_noise_with_a_value(nullable, named):
    """The noise of another column would show whether a record changed from missing to the lower bound, and how."""
    columns = {"x": vdp.Bounded(0, 1, nullable=nullable), "y": vdp.Bounded(0, 1)}
    mech = vdp.Mechanism(vdp.Schema(columns, id="pid" if named else None), noise={("x", "y"): Window(2.0)})
    n = 2000
    people = pd.DataFrame({"x": np.zeros(n), "y": np.full(n, 0.5)} | ({"pid": range(n)} if named else {}))
    there, gone = (mech.release(people.assign(x=x), key=KEY, shuffle=False).frame["y"] for x in (0.0, np.nan))
    assert (there == gone).mean() < 0.01
    assert there.equals(mech.release(people, key=KEY, shuffle=False).frame["y"])


def test_who_is_missing_cannot_be_read_off():
    """An attacker who says "missing" where nothing is shown is right about as often as epsilon allows, not always."""
    n, mech = 100_000, vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1, nullable=True)}), noise={"x": Window(1.0)})
    shown, hidden = (mech.release(pd.DataFrame({"x": np.full(n, x)})).frame["x"].isna().mean() for x in (np.nan, 0.5))
    error = 5 * np.sqrt(0.25 / n)
    assert shown <= np.e * hidden + (1 + np.e) * error
    assert shown > 1.5 * hidden
