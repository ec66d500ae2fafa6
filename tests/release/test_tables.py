"""Bad tables: our own error, with column and count, before anything is spent, and never the value."""

import decimal
import struct

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.errors import DataError

SCHEMA = vdp.Schema({"x": vdp.Bounded(0, 1), "c": vdp.Categorical(["a", "b"]), "p": vdp.Public()})
MECH = vdp.Mechanism(SCHEMA, scale=0.5, exact_rate=0.1, keep=0.5)
NAN_WITH_PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0x7FF8_DEAD_BEEF_0001))[0]


def table(**columns):
    base = {"x": [0.1, 0.2, 0.3], "c": ["a", "b", "a"], "p": [1, 2, 3]}
    return pd.DataFrame(base | columns)


BAD_NUMBERS = {
    "nan": [0.1, np.nan, 0.3],
    "nan with payload": [0.1, NAN_WITH_PAYLOAD, 0.3],
    "inf": [0.1, np.inf, 0.3],
    "-inf": [0.1, -np.inf, 0.3],
    "none": [0.1, None, 0.3],
    "1e300": [0.1, 1e300, 0.3],
    "int64 min": np.array([0, -(2**63), 1]),
    "int64 max": np.array([0, 2**63 - 1, 1]),
    "above 2^53": np.array([0, 2**53 + 1, 1]),
    "uint64": np.array([0, 2**63 + 5, 1], np.uint64),
    "numeric strings": ["0.1", "0.2", "0.3"],
    "text": ["low", "mid", "high"],
    "objects": [object(), object(), object()],
    "mixed": [0.1, "SENTINEL", 0.3],
    "complex": np.array([1j, 2, 3]),
    "decimal": [decimal.Decimal("0.1")] * 3,
    "nested": [[1], [2], [3]],
    "timestamps": pd.to_datetime(["2020-01-01"] * 3),
    "durations": pd.to_timedelta([1, 2, 3]),
    "bool": [True, False, True],
    "category": pd.Categorical([0.1, 0.2, 0.3]),
    "nullable": pd.array([1, None, 0], dtype="Int64"),
}


@pytest.mark.parametrize("name", BAD_NUMBERS)
def test_bad_numbers(name):
    with pytest.raises(DataError, match="'x'") as caught:
        MECH.release(table(x=BAD_NUMBERS[name]))
    for secret in ("SENTINEL", "1e+300", "9223372036854775807", "9007199254740993"):
        assert secret not in str(caught.value)


BAD_CATEGORIES = {
    "unknown": ["a", "b", "SENTINEL"],
    "missing": ["a", None, "b"],
    "numbers": [0, 1, 0],
    "bool": [True, False, True],
    "bytes": [b"a", b"b", b"a"],
    "nested": [["a"], ["b"], ["a"]],
    "category with others": pd.Categorical(["a", "b", "SENTINEL"]),
}


@pytest.mark.parametrize("name", BAD_CATEGORIES)
def test_bad_categories(name):
    with pytest.raises(DataError, match="'c'") as caught:
        MECH.release(table(c=BAD_CATEGORIES[name]))
    assert "SENTINEL" not in str(caught.value)


@pytest.mark.parametrize("values", [[1.0, np.nan, 2.0], ["a", None, "b"], [[1], [2], [3]], [1j, 2, 3]])
def test_bad_public_columns(values):
    with pytest.raises(DataError, match="'p'"):
        MECH.release(table(p=values))


def test_columns_must_be_those_of_the_schema():
    with pytest.raises(DataError, match="missing columns: 'c'"):
        MECH.release(table().drop(columns="c"))
    with pytest.raises(DataError, match="does not know: 'name'"):
        MECH.release(table(name=["SENTINEL"] * 3))
    with pytest.raises(DataError, match="duplicate columns: 'x'"):
        MECH.release(pd.concat([table(), table()[["x"]]], axis=1))
    twice = pa.table([[0.1], [0.2], ["a"], [1]], names=["x", "x", "c", "p"])
    with pytest.raises(DataError, match="duplicate columns"):
        MECH.release(twice)


@pytest.mark.parametrize("thing", [None, 3, "data.csv", [1, 2], {"x": [1]}, np.zeros((2, 3))])
def test_things_that_are_no_tables(thing):
    with pytest.raises(DataError, match="cannot read a table"):
        MECH.release(thing)


def test_lazy_frames_are_to_be_collected():
    with pytest.raises(DataError, match="collect"):
        MECH.release(pl.from_pandas(table()).lazy())


def test_counts_are_given():
    with pytest.raises(DataError, match="2 missing"):
        MECH.release(pl.DataFrame({"x": [None, None, 0.5], "c": ["a"] * 3, "p": [1] * 3}))
    with pytest.raises(DataError, match="1 missing"):
        MECH.release(pl.DataFrame({"x": [float("nan"), 0.2, 0.5], "c": ["a"] * 3, "p": [1] * 3}))


HANDLED = {
    "negative zero": table(x=[-0.0, 0.0, 1.0]),
    "subnormal": table(x=[5e-324, 0.0, 1.0]),
    "float32": table(x=np.array([0.1, 0.2, 0.3], np.float32)),
    "int8": table(x=np.array([0, 1, 0], np.int8)),
    "nullable without nulls": table(x=pd.array([0, 1, 0], dtype="Int64")),
    "pandas categories": table(c=pd.Categorical(["a", "b", "a"], categories=["b", "a", "unused"])),
    "text index": table().set_index(pd.Index(["u", "v", "w"])),
    "filtered": table()[[True, False, True]],
    "one row": table()[:1],
    "no rows": table()[:0],
    "constant": table(x=[0.5] * 3),
    "bool public": table(p=[True, False, True]),
    "category public": table(p=pd.Categorical(["u", "v", "u"])),
    "sliced arrow": pa.Table.from_pandas(table(), preserve_index=False).slice(1, 1),
    "chunked arrow": pa.concat_tables([pa.Table.from_pandas(table(), preserve_index=False)] * 2),
    "dictionary arrow": pa.table({"x": [0.5], "c": pa.array(["a"]).dictionary_encode(), "p": [1]}),
    "polars enum": pl.DataFrame({"x": [0.5], "c": ["a"], "p": [1]}).with_columns(pl.col("c").cast(pl.Enum(["a", "z"]))),
}


@pytest.mark.parametrize("name", HANDLED)
def test_odd_but_good_tables(name):
    frame = HANDLED[name]
    released = MECH.release(frame)
    assert len(released) == len(frame)
    assert len(vdp.Release.from_frame(released.frame, MECH, on_grid=True)) == len(frame)


def test_negative_zero_is_zero():
    key = vdp.fresh_key()
    assert MECH.release(table(x=[-0.0, 0, 1]), key=key).frame.equals(MECH.release(table(x=[0.0, 0, 1]), key=key).frame)


@pytest.mark.parametrize("dim", [1, 1000])
def test_one_column_and_a_thousand(dim):
    schema = vdp.Schema({f"x{j}": vdp.Bounded(0, 1) for j in range(dim)})
    frame = pd.DataFrame(np.full((20, dim), 0.5), columns=list(schema.columns))
    assert vdp.Mechanism(schema, scale=1, exact_rate=0.1).release(frame).frame.shape == (20, dim)
