"""Laws over schemas, tables and shapes of files; and readers that are fed nonsense."""

import json
import shutil
import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as pi
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import versadp as vdp
from versadp.errors import ReleaseError, SchemaError, VersadpError
from versadp.release.files.append import append_file
from versadp.release.files.release import release_file
from versadp.release.files.sources import open_source
from versadp.release.folder import parts
from versadp.release.folder.manifest import digest_of

QUICK = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
FUZZ = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))

names = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8).map(
    lambda text: unicodedata.normalize("NFC", "c" + text)
)
levels = st.one_of(
    st.lists(st.text("abcxyz", min_size=1, max_size=4), min_size=2, max_size=5, unique=True),
    st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=5, unique=True),
    st.just([False, True]),
)
columns = st.one_of(
    st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda b: vdp.Bounded(b[0], b[0] + b[1])),
    levels.map(vdp.Categorical),
    st.just(vdp.Public()),
)


@st.composite
def schemas(draw):
    declared = draw(st.dictionaries(names, columns, min_size=1, max_size=5))
    if all(isinstance(column, vdp.Public) for column in declared.values()):
        declared["private"] = vdp.Bounded(0, 1)
    return vdp.Schema(declared, id=draw(st.sampled_from([None, "pid"])))


def values(column, rows, rng, kind):
    if isinstance(column, vdp.Bounded):
        return pa.array(rng.uniform(column.lower - 1, column.upper + 1, rows))
    if isinstance(column, vdp.Categorical):
        return pa.array([column.levels[i] for i in rng.integers(0, len(column.levels), rows)], type=None)
    public = {
        "int": pa.array(rng.integers(-5, 5, rows)),
        "float": pa.array(rng.normal(size=rows)),
        "text": pa.array([f"t{i}" for i in rng.integers(0, 5, rows)], pa.string()),
        "bool": pa.array(rng.random(rows) < 0.5),
    }
    return public[kind]


@st.composite
def tables(draw):
    schema = draw(schemas())
    rows = draw(st.one_of(st.integers(1, 20), st.sampled_from([8191, 8192, 8193, 17_000])))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = st.sampled_from(["int", "float", "text", "bool"])
    arrays = {name: values(column, rows, rng, draw(kinds)) for name, column in schema.columns.items()}
    if schema.id is not None:
        arrays["pid"] = (
            pa.array(rng.permutation(rows)) if draw(st.booleans()) else pa.array([f"p{i}" for i in range(rows)])
        )
    return schema, pa.table(arrays)


def write(draw_kind, cut, folder, table):
    path = folder / f"data.{draw_kind}"
    if draw_kind == "parquet":
        pq.write_table(table, path, row_group_size=cut)
    elif draw_kind == "folder":
        path.mkdir()
        for i, start in enumerate(range(0, len(table), max(cut, len(table) // 5 + 1))):
            pq.write_table(table.slice(start, max(cut, len(table) // 5 + 1)), path / f"{i:04d}.parquet")
    elif draw_kind == "csv":
        table.to_pandas().to_csv(path, index=False)
    else:
        with pi.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=max(cut, len(table) // 50 + 1))
    return path


@QUICK
@given(
    tables(),
    st.sampled_from(["parquet", "arrow", "folder", "csv"]),
    st.sampled_from([1, 7, 1000, 9000]),
    st.sampled_from([1, 13, 8192, 100_000]),
)
@pytest.mark.filterwarnings("ignore::versadp.errors.ClampedWarning")  # values are outside on purpose
def test_a_file_of_any_shape_gives_what_memory_gives(case, kind, cut, batch):
    """Same key, same values: whatever the schema, the kind of file, and how it is cut and read."""
    schema, table = case
    batch = max(batch, len(table) // 50)
    cut = max(cut, len(table) // 50 + 1)
    mech = vdp.Mechanism(
        schema, scale=0.5 if schema.numeric else None, exact_rate=0.2, keep=0.5 if schema.categorical else None
    )
    key, most = vdp.fresh_key(), parts.PART_CELLS
    folder = Path(tempfile.mkdtemp())
    try:
        parts.PART_CELLS = 1
        release = release_file(
            write(kind, cut, folder, table), folder / "out", mech, key=key, batch_rows=batch, state=folder / "s"
        )
        expected = mech.release(table, key=key)
        assert release.to_pandas().astype(str).equals(expected.to_pandas().astype(str))
        if schema.id is not None:
            again = append_file(folder / "out", write("arrow", cut, folder, table), state=folder / "s")
            assert (again.new, again.skipped) == (0, len(table))
    finally:
        parts.PART_CELLS = most
        shutil.rmtree(folder)


@QUICK
@given(tables(), st.lists(st.integers(1, 9000), min_size=1, max_size=5))
def test_sources_lose_nothing_and_keep_the_order(case, cuts):
    _, table = case
    folder = Path(tempfile.mkdtemp())
    try:
        for kind in ("parquet", "arrow", "folder"):
            source = open_source(write(kind, max(cuts[0], len(table) // 50 + 1), folder, table))
            read = pa.Table.from_batches([batch for batch, _ in source.batches(cuts[-1])], schema=source.columns)
            assert read.combine_chunks().equals(table.replace_schema_metadata(None).combine_chunks())
    finally:
        shutil.rmtree(folder)


# readers that are fed nonsense ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    schema = vdp.Schema({"x": vdp.Bounded(0, 1), "c": vdp.Categorical(["a", "b"]), "p": vdp.Public()}, id="pid")
    mech = vdp.Mechanism(schema, scale=0.5, exact_rate=0.1, keep=0.5)
    folder = tmp_path_factory.mktemp("saved") / "out"
    mech.release(pa.table({"pid": [1, 2], "x": [0.1, 0.2], "c": ["a", "b"], "p": [1, 2]})).save(folder)
    return folder


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value, path=()):
    """Every place in nested JSON."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def loads(folder, data):
    """Feed a manifest to the reader: a release that can be read, or our error."""
    (folder / "manifest.json").write_bytes(data)
    try:
        release = vdp.load(folder)
        assert len(release.frame) == len(release)
        str(release)
    except ReleaseError:
        return False
    return True


@FUZZ
@given(st.data())
def test_manifests_that_were_signed_by_somebody_else(saved, data):
    """Any value in any place, with a digest that fits."""
    original = (saved / "manifest.json").read_bytes()
    try:
        manifest = json.loads(original)
        place = data.draw(st.sampled_from([place for place in places(manifest) if place]))
        target = manifest
        for key in place[:-1]:
            target = target[key]
        if data.draw(st.booleans()):
            target[place[-1]] = data.draw(json_values)
        elif isinstance(target, dict):
            target[data.draw(st.text(max_size=5))] = target.pop(place[-1])
        else:
            del target[place[-1]]
        if isinstance(manifest, dict):
            manifest["digest"] = digest_of(manifest)
        loads(saved, json.dumps(manifest).encode())
    finally:
        (saved / "manifest.json").write_bytes(original)


@FUZZ
@given(st.data())
def test_manifests_with_bytes_changed(saved, data):
    original = (saved / "manifest.json").read_bytes()
    try:
        changed = bytearray(original)
        at = data.draw(st.integers(0, len(changed) - 1))
        action = data.draw(st.sampled_from(["flip", "cut", "insert"]))
        if action == "flip":
            changed[at] ^= data.draw(st.integers(1, 255))
        elif action == "cut":
            del changed[at : at + data.draw(st.integers(1, 50))]
        else:
            changed[at:at] = data.draw(st.binary(min_size=1, max_size=10))
        if loads(saved, bytes(changed)):
            assert json.loads(changed) == json.loads(original)  # white space
    finally:
        (saved / "manifest.json").write_bytes(original)


@FUZZ
@given(st.binary(max_size=200))
@example(b"[" * 100_000)
@example(b'{"a":' * 100_000)
@example(b"1" * 10_000)
def test_manifests_of_any_bytes(saved, data):
    original = (saved / "manifest.json").read_bytes()
    try:
        assert not loads(saved, data)
    finally:
        (saved / "manifest.json").write_bytes(original)


SCHEMA_TEXT = vdp.Schema(
    {"age": vdp.Bounded(18, 90), "region": vdp.Categorical(["n", "s"]), "y": vdp.Public()}, id="pid"
).to_toml()


@FUZZ
@given(st.data())
def test_schema_files_with_characters_changed(data):
    text = list(SCHEMA_TEXT)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at] = data.draw(
            st.one_of(st.characters(), st.sampled_from(['"', "[", "]", "=", "\n", "1e999", "nan", "{}", ""]))
        )
    try:
        schema = vdp.Schema.from_toml_text("".join(text))
    except SchemaError:
        return
    assert vdp.Schema.from_toml_text(schema.to_toml()) == schema


@FUZZ
@given(st.one_of(st.text(max_size=100), json_values.map(lambda v: f"columns = {json.dumps(v)}")))
@example("a = " + "[" * 10_000)
@example("[columns.x]\ntype = 'bounded'\nlower = 1e400\nupper = inf")
@example("[columns.x]\ntype = 'categorical'\nlevels = [" + "9" * 400 + ", 1]")
def test_schema_files_of_any_text(text):
    try:
        vdp.Schema.from_toml_text(text)
    except SchemaError:
        return


@FUZZ
@given(json_values)
def test_schemas_and_mechanisms_of_any_json(value):
    for read in (vdp.Schema.from_dict, vdp.Mechanism.from_dict):
        with pytest.raises(VersadpError):
            read(value)
