"""Missing values, dates and omitted columns on the whole way: every kind of table and file, one record, and back."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import versadp as vdp
from release import test_file_properties as shapes
from release.test_files import write
from versadp.errors import DataError, ParameterError
from versadp.noise import Response, Window
from versadp.release.files.append import append_file
from versadp.release.files.release import release_file

KEY = bytes(range(60, 92))
FIRST = pd.Timestamp("1990-01-01")
COLUMNS = {
    "x": vdp.Bounded(0, 6, step=1, nullable=True),
    "c": vdp.Categorical(["a", "b"], nullable=True),
    "i": vdp.Categorical([1, 2], nullable=True),
    "b": vdp.Categorical([False, True], nullable=True),
    "o": vdp.Bounded(0, 1, nullable="public"),
    "d": vdp.Dates("1990-01-01", "2026-12-31", nullable=True),
    "e": vdp.Dates("1990-01-01", "2026-12-31"),
    "p": vdp.Public(),
    "name": vdp.Omitted(),
}
SCHEMA = vdp.Schema(COLUMNS)
NOISE = {
    ("x", "c", "o"): Window(epsilon=5),
    "i": Response(0.5),
    "b": Window(epsilon=2),
    "d": Window(epsilon=3),
    "e": Window(epsilon=4),
}
MECH = vdp.Mechanism(SCHEMA, noise=NOISE)
NAMED = vdp.Mechanism(vdp.Schema(COLUMNS, id="pid"), noise=NOISE)
WINDOWS = {
    columns: replace(spec, missing="window") if spec.name == "window" else spec for columns, spec in NOISE.items()
}
OLD = vdp.Mechanism(vdp.Schema(COLUMNS, id="pid"), noise=WINDOWS).in_version(2)  # there a record is keyed as a whole


def people(n=500):
    """Arrow, with something under every null."""
    rng = np.random.default_rng(0)
    gone = {name: rng.random(n) < 0.3 for name in "xcibod"}
    days = rng.integers(0, 13_514, (2, n)) + (dt.date(1990, 1, 1) - dt.date(1970, 1, 1)).days
    return pa.table(
        {
            "x": pa.array(rng.integers(0, 7, n).astype(float), mask=gone["x"]),
            "c": pa.array(rng.choice(["a", "b"], n).astype(object), mask=gone["c"]),
            "i": pa.array(rng.integers(1, 3, n), mask=gone["i"]),
            "b": pa.array(rng.random(n) < 0.5, mask=gone["b"]),
            "o": pa.array(rng.random(n), mask=gone["o"]),
            "d": pa.array(days[0].astype(np.int32), mask=gone["d"]).cast(pa.date32()),
            "e": pa.array(days[1].astype(np.int32)).cast(pa.date32()),
            "p": pa.array(np.arange(n)),
            "name": pa.array([f"name {i}" for i in range(n)]),
        }
    )


def same(left, right):
    """Whether two tables hold the same values, however their kinds spell them."""
    return left.equals(right.cast(left.schema))


def pandas_plain(table):
    """As pandas reads it by itself: whole numbers as floats, truth as objects, dates as timestamps."""
    return table.to_pandas(date_as_object=False)


def pandas_nullable(table):
    kinds = {pa.int64(): pd.Int64Dtype(), pa.float64(): pd.Float64Dtype(), pa.bool_(): pd.BooleanDtype()}
    return table.to_pandas(types_mapper=kinds.get)  # dates as objects


READERS = {"pandas": pandas_plain, "nullable": pandas_nullable, "polars": pl.from_arrow, "arrow": lambda table: table}


@pytest.mark.parametrize("kind", READERS)
def test_all_kinds_of_tables_give_the_same(kind, tmp_path):
    expected = MECH.release(people(), key=KEY, shuffle=False).frame
    release = MECH.release(READERS[kind](people()), key=KEY, shuffle=False)
    assert same(expected, release.to_arrow())
    assert release.to_arrow().column_names == [name for name in COLUMNS if name != "name"]
    assert all(expected[name].null_count for name in "xcibod")
    again = vdp.Release.from_frame(release.frame, MECH)
    assert same(expected, again.to_arrow())
    release.save(tmp_path / "out")
    loaded = vdp.load(tmp_path / "out")
    assert same(expected, loaded.frame)
    assert loaded.frame.schema.field("d").type == pa.date32()
    assert loaded.mechanism == MECH
    assert loaded.mechanism.blocks == MECH.blocks


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "arrows", "folder"])
def test_all_kinds_of_files_give_the_same(kind, tmp_path):
    table = people(9000)
    data = write(kind, tmp_path / f"data.{kind}", table)
    release = release_file(data, tmp_path / "out", MECH, key=KEY, batch_rows=777)
    assert same(MECH.release(table, key=KEY).frame, release.frame)
    MECH.release(pandas_plain(table), key=KEY).save(tmp_path / "memory")
    parts = [(tmp_path / folder / "part-00000.parquet").read_bytes() for folder in ("out", "memory")]
    assert parts[0] == parts[1]


nullable = st.sampled_from([False, True, "public"])
columns = st.one_of(
    st.builds(lambda low, width, n: vdp.Bounded(low, low + width, nullable=n), *[st.floats(1e-3, 1e6)] * 2, nullable),
    st.builds(vdp.Categorical, shapes.levels, nullable),
    st.builds(
        lambda days, n: vdp.Dates(*sorted(days), nullable=n),
        st.lists(st.dates(dt.date(1800, 1, 1), dt.date(2200, 1, 1)), min_size=2, max_size=2, unique=True),
        nullable,
    ),
    st.just(vdp.Omitted()),
)


@st.composite
def tables(draw):
    """Schemas of all kinds of columns, and tables of them in which anything nullable may be missing."""
    declared = {"cx": vdp.Bounded(0, 1, nullable=True)} | draw(st.dictionaries(shapes.names, columns, max_size=4))
    schema = vdp.Schema(declared, id=draw(st.sampled_from([None, "pid"])))
    rows, rng = draw(st.sampled_from([1, 9, 8193])), np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.0, 0.5, 1.0]))
    arrays = {}
    for name, column in declared.items():
        if isinstance(column, vdp.Dates):
            days = rng.integers(-5, column.upper + 5, rows) + (column.first - dt.date(1970, 1, 1)).days
            arrays[name] = pa.array(days.astype(np.int32)).cast(pa.date32())
        else:
            arrays[name] = shapes.values(column, rows, rng, "text")
        if getattr(column, "nullable", True):
            arrays[name] = pa.array(
                arrays[name].to_numpy(zero_copy_only=False), arrays[name].type, mask=rng.random(rows) < share
            )
    if schema.id is not None:
        arrays["pid"] = pa.array([f"p{i}" for i in range(rows)])
    return schema, pa.table(arrays)


@shapes.QUICK
@given(tables(), st.sampled_from(["parquet", "arrow", "folder", "csv"]), st.sampled_from(["record", "attribute"]))
@pytest.mark.filterwarnings("ignore::versadp.errors.ClampedWarning")  # values are outside on purpose
def test_a_file_of_any_columns_gives_what_memory_gives(tmp_path_factory, case, kind, unit):
    schema, table = case
    mech, folder = vdp.calibrate(schema, epsilon=6.0, unit=unit), tmp_path_factory.mktemp("shapes")
    release = release_file(
        shapes.write(kind, 4000, folder, table), folder / "out", mech, key=KEY, batch_rows=3000, state=folder / "s"
    )
    for make in READERS.values():
        assert same(release.frame, mech.release(make(table), key=KEY).to_arrow())
    assert release.frame.column_names == list(schema.columns)
    assert same(release.frame, vdp.Release.from_frame(release.frame, mech).to_arrow())
    for name in schema.private:
        assert schema.columns[name].nullable or not release.frame[name].null_count
    for name in schema.public_patterns:
        assert release.frame[name].null_count == table[name].null_count


def test_one_record_gives_what_a_table_gives():
    table = people(40).append_column("pid", pa.array([f"q{i}" for i in range(40)]))
    expected = OLD.release(table, key=KEY, shuffle=False).to_arrow().to_pylist()
    assert [OLD.privatize(row, key=KEY) for row in table.to_pylist()] == expected
    assert any(row["d"] is None for row in expected)
    row = table.to_pylist()[0]
    for nothing in (None, float("nan"), np.float64("nan"), pd.NA, pd.NaT):
        assert NAMED.privatize(row | dict.fromkeys("xcibod", nothing), key=KEY) == NAMED.privatize(
            row | dict.fromkeys("xcibod"), key=KEY
        )
    with pytest.raises(DataError, match="'e' is missing"):
        NAMED.privatize(row | {"e": pd.NaT}, key=KEY)
    with pytest.raises(DataError, match="'e' needs a date"):
        NAMED.privatize(row | {"e": 3}, key=KEY)


def test_versions_before_4_have_a_window_of_places_for_what_is_missing():
    column = {"d": vdp.Bounded(0, 1, nullable=True)}
    shared = vdp.Mechanism(vdp.Schema(column), noise={"d": Window(epsilon=3, cells=100, window=31, missing=10)})
    with pytest.raises(ParameterError, match="version 4"):
        shared.in_version(3)
    data = shared.to_dict() | {"version": 3}
    data["blocks"] = [{k: v for k, v in block.items() if k != "derived"} for block in data["blocks"]]
    with pytest.raises(ParameterError, match="version 4"):
        vdp.Mechanism.from_dict(data)
    for missing in (0, 32, 11, "flag"):
        with pytest.raises(ParameterError, match="missing"):
            Window(epsilon=3, cells=100, window=31, missing=missing).on(column)


def test_a_column_that_is_missing_altogether():
    table = people(50)
    for kind in ("pandas", "polars", "arrow"):
        nothing = table
        for name in "xcibod":
            empty = pa.nulls(50) if kind == "arrow" else pa.nulls(50, table[name].type)
            nothing = nothing.set_column(table.column_names.index(name), name, empty)
        released = MECH.release(READERS[kind](nothing), key=KEY, shuffle=False).to_arrow()
        assert released["o"].null_count == 50
        assert 0 < released["x"].null_count < 50


def test_what_is_not_declared_as_nullable_says_how_to_and_advises_no_dropping():
    schema = vdp.Schema({"x": vdp.Bounded(0, 1), "c": vdp.Categorical(["a", "b"]), "d": COLUMNS["e"]})
    mech = vdp.calibrate(schema, epsilon=2.0)
    fine = {"x": [0.1, 0.2], "c": ["a", "b"], "d": [dt.date(2000, 1, 1)] * 2}
    for name in schema.columns:
        with pytest.raises(DataError, match=f"'{name}' has 1 missing") as caught:
            mech.release(pa.table(fine | {name: [fine[name][0], None]}))
        assert "nullable=True" in str(caught.value)
        assert "drop" not in str(caught.value)
    with pytest.raises(DataError, match="'x' has 1 missing or non-finite"):
        vdp.Mechanism(vdp.Schema({"x": COLUMNS["x"]}), noise={"x": Window(1.0)}).release(pa.table({"x": [np.inf, 1.0]}))


@pytest.mark.parametrize(
    "changes",
    [
        {"x": ["1", "2"]},
        {"x": [2**60, 1]},
        {"x": [True, None]},
        {"c": ["a", "other"]},
        {"c": [1, None]},
        {"i": [1.5, None]},
        {"i": ["1", None]},
        {"i": [3, None]},
        {"b": [1, None]},
        {"b": ["true", None]},
        {"b": [True, "other"]},
        {"b": [True, print]},
        {"d": [dt.date(2000, 1, 1), "other"]},
        {"d": [dt.date(2000, 1, 1), 1.5]},
        {"d": ["2000-01-01", None]},
        {"d": [1.0, None]},
        {"d": pd.to_datetime(["2000-01-01", None], utc=True)},
        {"e": [pd.Timestamp("2000-01-01"), pd.NaT]},
    ],
    ids=range(18),
)
def test_bad_values_in_nullable_columns(changes):
    frame = pandas_plain(people(2)).assign(**changes)
    with pytest.raises(DataError, match=f"'{next(iter(changes))}'") as caught:
        MECH.release(frame)
    for value in ("other", "1.5", "2000-01-01", str(2**60)):
        assert value not in str(caught.value)


def test_who_is_missing_is_part_of_a_persons_record(tmp_path):
    """The ledger tells a missing value from the bound that would take its place, private or public."""
    row = people(200).set_column(0, "x", pa.array([0.0] * 200)).set_column(4, "o", pa.array([0.0] * 200))
    row = row.append_column("pid", pa.array([f"q{i}" for i in range(200)]))
    data = write("parquet", tmp_path / "one.parquet", row)
    release_file(data, tmp_path / "out", NAMED)
    assert append_file(tmp_path / "out", data) is not None  # the same people with the same records: nothing to do
    for k, name in enumerate(("x", "o")):
        gone = row.set_column(row.column_names.index(name), name, pa.nulls(200, pa.float64()))
        changed = write("parquet", tmp_path / f"two{k}.parquet", gone)
        with pytest.raises(vdp.errors.SpentError, match="200 people were released before"):
            append_file(tmp_path / "out", changed)
    other = row.set_column(row.column_names.index("name"), "name", pa.array(["someone else"] * 200))
    append_file(tmp_path / "out", write("parquet", tmp_path / "three.parquet", other))
    append_file(tmp_path / "out", write("parquet", tmp_path / "four.parquet", row.drop_columns("name")))
    assert len(vdp.load(tmp_path / "out")) == 200


def test_nothing_is_missing_in_text_unless_it_is_a_level(tmp_path):
    for levels, lost in ((["a", "b"], 2), (["a", ""], 1)):
        schema = vdp.Schema({"c": vdp.Categorical(levels, nullable="public")})
        mech = vdp.Mechanism(schema, noise={"c": Window(epsilon=9)})
        table = pa.table({"c": ["a", "", None]})
        assert mech.release(table).frame["c"].null_count == lost


# dates ---------------------------------------------------------------------------------------------------------------


DATES = vdp.Mechanism(vdp.Schema({"e": COLUMNS["e"], "y": vdp.Public()}), noise={"e": Window(epsilon=4)})


def test_a_time_of_day_is_dropped_and_dates_beyond_the_bounds_are_clamped():
    days = pd.to_datetime(["1990-01-01", "2026-12-31", "2000-02-29"])
    late = days + pd.Timedelta("23h59min")
    plain, timed = (
        DATES.release(pd.DataFrame({"e": d, "y": [0, 1, 2]}), key=KEY, shuffle=False).frame for d in (days, late)
    )
    pd.testing.assert_frame_equal(plain, timed)
    assert plain["e"].dtype.kind == "M"
    beyond = pd.DataFrame({"e": pd.to_datetime(["1980-05-05", "2036-12-31", "2000-02-29"]), "y": [0, 1, 2]})
    with pytest.warns(vdp.errors.ClampedWarning, match="'e' 2"):
        clamped = DATES.release(beyond, key=KEY, shuffle=False).frame
    pd.testing.assert_frame_equal(plain, clamped)


def test_a_kept_date_is_near_and_others_are_anywhere():
    """The law of the window in days, by its share; a window of a day less is rejected."""
    n, block = 100_000, DATES.blocks[0]
    assert block.last == (13_513,)
    assert block.window[0] % 2 == 1
    out = DATES.release(pd.DataFrame({"e": [pd.Timestamp("2005-06-07")] * n, "y": np.zeros(n)}), key=KEY).frame["e"]
    away = np.abs((out - pd.Timestamp("2005-06-07")).dt.days.to_numpy())
    reach = int(block.reach()["e"])
    share = block.keep + (1 - block.keep) * block.window[0] / block.outputs[0]
    assert abs((away <= reach).mean() - share) < 5 * np.sqrt(share * (1 - share) / n)
    assert (away == reach).any()
    assert out.min() >= FIRST - pd.Timedelta(days=reach)


def test_in_a_formula_a_date_is_days_since_the_first():
    n, rng = 20_000, np.random.default_rng(3)
    days = rng.integers(0, 13_514, n)
    frame = pd.DataFrame({"e": FIRST + pd.to_timedelta(days, "D"), "y": 5 + days / 1000 + rng.normal(0, 1, n)})
    for table in (frame, pa.Table.from_pandas(frame)):
        result = vdp.fit(DATES.release(table, key=KEY), "y ~ e", draws=5)
        assert abs(result.params["e"] - 0.001) < 5 * result.bse["e"]
        assert abs(result.params["Intercept"] - 5) < 5 * result.bse["Intercept"]
        assert result.bse["e"] < 5e-5


# fits ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def selected():
    """x is missing more often where it is high, so that complete cases differ from all; who has it is private."""
    n, rng = 30_000, np.random.default_rng(4)
    x, u = rng.uniform(-1, 1, (2, n))
    frame = pd.DataFrame({"x": x, "u": u, "y": 1 + 2 * x + u + rng.normal(0, 0.5, n)})
    return frame.assign(x=frame["x"].mask(rng.random(n) < np.where(x > 0, 0.6, 0.1)))


@pytest.mark.parametrize("nullable", [True, "public"])
def test_fits_are_about_complete_records(selected, nullable):
    """By closed forms on the complete cases; the mean of all is rejected, and so is missing taken as 0."""
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1, nullable=nullable), "u": vdp.Bounded(-1, 1), "y": vdp.Public()})
    mech = vdp.Mechanism(schema, noise={"x": Window(epsilon=4), "u": Window(epsilon=4)})
    release, complete = mech.release(selected), selected.dropna()
    mean = vdp.fit(release, loss=vdp.losses.Mean("x"), draws=5)
    assert abs(mean.params[0] - complete["x"].mean()) < 5 * mean.bse[0]
    for wrong in (0.0, selected["x"].fillna(0).mean()):
        assert abs(mean.params[0] - wrong) > 5 * mean.bse[0]
    line = vdp.fit(release, "y ~ x", draws=5)
    slope, level = np.polyfit(complete["x"], complete["y"], 1)
    assert abs(line.params["x"] - slope) < 5 * line.bse["x"]
    assert abs(line.params["Intercept"] - level) < 5 * line.bse["Intercept"]
    with pytest.raises(ParameterError, match="'naive' does not serve"):
        vdp.fit(release, "y ~ x", method="naive")


def test_a_model_without_the_missing_column_uses_all_records(selected):
    selected = selected[:6000]
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1, nullable=True), "u": vdp.Bounded(-1, 1), "y": vdp.Public()})
    release = vdp.Mechanism(schema, noise={("x", "u"): Window(epsilon=6)}).release(selected)
    mean = vdp.fit(release, loss=vdp.losses.Mean("u"), draws=3)
    assert abs(mean.params[0] - selected["u"].mean()) < 5 * mean.bse[0]
    slope, _ = np.polyfit(selected["u"], selected["y"], 1)
    line = vdp.fit(release, "y ~ u", draws=3)
    assert abs(line.params["u"] - slope) < 5 * line.bse["u"]
