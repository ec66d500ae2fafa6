"""Column names that look like names which the library makes itself change nothing of what is counted."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import versadp as vdp
from versadp.errors import ReleaseError
from versadp.noise import Window
from versadp.release.files.release import release_file
from versadp.release.path.order import order_of
from versadp.release.path.table import read_table

NUMBER = vdp.Bounded(0, 1, nullable="public")
HOSTILE = (
    "{0} is missing",
    "missing {0}",
    "missing",
    "public",
    "('missing', '{0}')",
    "count_all",
    "count_all_sum",
    "0",
    "1",
    "{0}_is_null",
    "{0}.missing",
    "{0}:missing",
    "__null_mask__",
    " {0}",
    "{0}\x00",
    "ｘ",
)


def people(n, serial, income="income"):
    rng = np.random.default_rng(1)
    missing = np.where(rng.random(n) < 0.5, np.nan, rng.random(n))
    return pd.DataFrame({income: missing, serial: np.arange(n)})


def serial_mechanism(serial, shuffled=None, income="income"):
    schema = vdp.Schema({income: NUMBER, serial: vdp.Public()})
    if shuffled:
        return vdp.calibrate(schema, epsilon=1, delta=1e-6, shuffled=shuffled)
    return vdp.Mechanism(schema, noise={income: Window(2)})


def test_a_serial_number_named_like_a_pattern_of_missing_values_is_counted():
    """Everybody has a public serial number of their own: nobody is hidden among others."""
    mech = serial_mechanism("income is missing", shuffled=20_000)
    with pytest.raises(ReleaseError, match="a group has 1"):
        mech.release(people(20_000, "income is missing"))


def test_files_count_a_column_named_like_a_pattern_of_missing_values(tmp_path):
    people(4000, "income is missing").to_parquet(tmp_path / "people.parquet", index=False)
    mech = serial_mechanism("income is missing")
    release_file(tmp_path / "people.parquet", tmp_path / "out", mech, state=tmp_path / "state")
    assert vdp.load(tmp_path / "out").order.alike == (1,)


@settings(max_examples=60, deadline=None)
@given(
    income=st.sampled_from(["income", "x", "0", "count_all", "missing", "public"]) | st.text(min_size=1, max_size=5),
    serial=st.sampled_from(HOSTILE) | st.text(min_size=1, max_size=9),
    serials=st.lists(st.integers(0, 2), min_size=1, max_size=12),
)
def test_groups_are_counted_whatever_columns_are_called(income, serial, serials):
    """The smallest group is that of pairs (public value, whether the private value is missing), by any name."""
    serial = serial.format(income) if "{0}" in serial else serial
    try:
        schema = vdp.Schema({income: NUMBER, serial: vdp.Public()})
    except vdp.errors.VersadpError:
        return  # a name that no schema takes
    if len(schema.columns) < 2:
        return
    missing = [k % 3 == 0 for k in range(len(serials))]
    frame = pd.DataFrame({income: [np.nan if each else 0.5 for each in missing], serial: serials})
    table = read_table(frame, schema)
    pairs = list(zip(serials, missing, strict=True))
    assert len(table.shown(schema)) == 2
    assert order_of(table.shown(schema), table.rows).alike == (min(map(pairs.count, pairs)),)
