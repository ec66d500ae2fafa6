"""Nothing of the input but what was released leaves: planted sentinels are searched for in every artefact."""

import io
import json
import logging
import pickle
import struct
import traceback
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import versadp as vdp

TEXT = "S3NT1N3L"
NUMBER = 1234567.891234
INTEGER = 987654321987
PATTERNS = [
    TEXT.encode(),
    TEXT.encode("utf-16-le"),
    struct.pack("<d", NUMBER),
    struct.pack("<q", INTEGER),
    repr(NUMBER).encode(),
    str(INTEGER).encode(),
]
SCHEMA = vdp.Schema({"x": vdp.Bounded(0, 1e7), "c": vdp.Categorical(["a", "b"]), "p": vdp.Public(), "t": vdp.Public()})
MECH = vdp.Mechanism(SCHEMA, scale=1.0, exact_rate=0.0, keep=0.3)


def search(*blobs):
    return [pattern for blob in blobs for pattern in PATTERNS if pattern in blob]


def pandas_table():
    frame = pd.DataFrame(
        {
            "x": [1.0, 2.0, 3.0],
            "c": pd.Categorical(["a", "b", "a"], categories=["a", "b", TEXT]),
            "p": [1, 2, 3],
            "t": pd.Categorical(["u", "v", "u"], categories=["u", "v", TEXT]),
        },
        index=pd.Index([TEXT, "i", "j"], name=TEXT),
    )
    frame.attrs["secret"] = TEXT
    return frame


def arrow_table():
    """Sentinels in rows that are sliced away, in schema and field metadata, in unused dictionary entries."""
    field = pa.field("x", pa.float64(), metadata={"note": TEXT})
    columns = {
        "x": pa.array([NUMBER, 1.0, 2.0, NUMBER]),
        "c": pa.DictionaryArray.from_arrays([0, 0, 1, 0], ["a", "b", TEXT]),
        "p": pa.array([INTEGER, 1, 2, INTEGER]),
        "t": pa.array([TEXT, "u", "v", TEXT], pa.large_string()),  # as it is released: nothing needs converting
    }
    schema = pa.schema([field, *(pa.field(n, c.type) for n, c in columns.items() if n != "x")], metadata={"k": TEXT})
    return pa.table(list(columns.values()), schema=schema).slice(1, 2)


def polars_table():
    return pl.from_arrow(arrow_table())


def artefacts(release, tmp_path):
    """Every byte that a release leaves: its table in several formats, its folder, its words, its pickle."""
    release.save(tmp_path / "released")
    folder = b"".join(path.read_bytes() for path in sorted((tmp_path / "released").rglob("*")))
    sink = io.BytesIO()
    table = release.to_arrow()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    buffers = b"".join(
        bytes(buffer) for column in table.columns for chunk in column.chunks for buffer in chunk.buffers() if buffer
    )
    attrs = repr(getattr(release.frame, "attrs", "")).encode()
    words = (repr(release) + str(release.frame) + release.mechanism.statement()).encode()
    return [
        folder,
        sink.getvalue(),
        buffers,
        attrs,
        words,
        pickle.dumps(release.frame),
        pickle.dumps(release.mechanism),
    ]


@pytest.mark.parametrize("make", [pandas_table, arrow_table, polars_table])
def test_no_sentinel_in_any_artefact(make, tmp_path):
    """In their own order too: sorted rows are copied, which would hide what is not."""
    for shuffle in (True, False):
        assert search(*artefacts(MECH.release(make(), shuffle=shuffle), tmp_path / str(shuffle))) == []


def test_the_search_finds_what_is_there():
    table = pandas_table()
    assert search(pickle.dumps(table))
    assert search(b"".join(bytes(b) for c in arrow_table().columns for k in c.chunks for b in k.buffers() if b))


def spoilt_tables():
    base = {"x": [1.0, NUMBER], "c": ["a", "b"], "p": [1, 2], "t": ["u", "v"]}
    yield pd.DataFrame(base | {"x": [NUMBER, np.nan]})
    yield pd.DataFrame(base | {"x": [NUMBER, TEXT]})
    yield pd.DataFrame(base | {"x": [TEXT, "1"]})
    yield pd.DataFrame(base | {"x": [NUMBER, 1e300]})
    yield pd.DataFrame(base | {"x": np.array([INTEGER, 2**62])})
    yield pd.DataFrame(base | {"c": ["a", TEXT]})
    yield pd.DataFrame(base | {"c": [INTEGER, 1]})
    yield pd.DataFrame(base | {"t": ["u", None]})
    yield pd.DataFrame(base | {"t": [b"u", 3]})
    yield pl.DataFrame(base | {"x": [NUMBER, None]})
    yield pa.table(base | {"x": pa.array([NUMBER, None])})


@pytest.mark.parametrize("table", list(spoilt_tables()), ids=lambda _: "table")
def test_errors_and_tracebacks_show_no_value(table, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(vdp.errors.VersadpError) as caught:
        MECH.release(table)
    shown = "".join(traceback.format_exception(caught.value)) + str(caught.value) + repr(caught.value) + caplog.text
    assert search(shown.encode(), pickle.dumps(caught.value)) == []
    record = {"x": NUMBER, "c": TEXT, "p": INTEGER, "t": TEXT}
    with pytest.raises(vdp.errors.VersadpError) as caught:
        MECH.privatize(record, key=vdp.fresh_key())
    assert search("".join(traceback.format_exception(caught.value)).encode()) == []


def test_warnings_show_no_value():
    outside = pd.DataFrame({"x": [1e7 + NUMBER, 5.0], "c": ["a", "b"], "p": [1, 2], "t": ["u", "v"]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MECH.release(outside)
    assert len(caught) == 1
    assert "'x' 1" in str(caught[0].message)
    assert search(str(caught[0].message).encode()) == []


def test_the_manifest_holds_no_digest_of_the_input(tmp_path):
    """Two inputs, one output size: what stands in the manifest beside digests of parts does not depend on input."""
    frames = [pandas_table(), pandas_table().assign(x=[4.0, 5.0, 6.0])]
    manifests = []
    for i, frame in enumerate(frames):
        MECH.release(frame).save(tmp_path / str(i))
        manifest = json.loads((tmp_path / str(i) / "manifest.json").read_text())
        del manifest["digest"]
        for part in manifest["parts"]:
            del part["sha256"], part["bytes"]
        manifests.append(manifest)
    assert manifests[0] == manifests[1]


def test_no_key_in_any_artefact(tmp_path):
    key = vdp.fresh_key()
    release = MECH.release(pandas_table(), key=key)
    blob = b"".join(artefacts(release, tmp_path)) + pickle.dumps(release)
    assert key not in blob
    assert key.hex().encode() not in blob
