"""Files that somebody else wrote: release folders, schemas, results and formulas that are weapons."""

import json
import os
import signal
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import versadp as vdp
from versadp.auditing.order import groups_hold, recount_alike
from versadp.errors import EstimationError, ParameterError, ReleaseError, SchemaError
from versadp.fitting.update_state import State
from versadp.formula.expression import parse_expression
from versadp.formula.terms import Terms
from versadp.release.folder.manifest import digest_of
from versadp.release.folder.part_file import PartFile

SCHEMA = vdp.Schema({"age": vdp.Bounded(0, 1), "y": vdp.Public()})
N = 200


@pytest.fixture
def saved(tmp_path):
    people = pd.DataFrame({"age": np.linspace(0, 1, N), "y": np.arange(N) % 2})
    vdp.Mechanism(SCHEMA, scale=0.5, exact_rate=0.2).release(people).save(tmp_path / "released")
    return tmp_path / "released"


def sign(folder, **changes):
    """Change a manifest as its author could: its digest fits."""
    data = json.loads((folder / "manifest.json").read_text()) | changes
    (folder / "manifest.json").write_text(json.dumps(data | {"digest": digest_of(data)}))


def batch(rows, alike, parts=1):
    return {"rows": rows, "parts": parts, "alike": alike, "weaker": False}


def sign_part(folder, rows):
    part = PartFile.of(folder / "part-00000.parquet", rows)
    sign(folder, rows=rows, parts=[part.to_dict()], batches=[batch(rows, None)])


def waits(*_):
    raise AssertionError("it waits for somebody to write")


def quickly(act, *kinds, match=None):
    """Refuse in a bounded time of this process, and without waiting."""
    begun = time.process_time()
    before = signal.signal(signal.SIGALRM, waits)
    signal.alarm(30)
    try:
        with pytest.raises(kinds, match=match):
            act()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - begun < 20  # none takes over 2 s; what they refuse takes minutes, or for ever


def test_more_records_than_there_are(saved):
    part = json.loads((saved / "manifest.json").read_text())["parts"][0]
    sign(saved, rows=10**12, parts=[part | {"rows": 10**12}], batches=[batch(10**12, None)])
    quickly(lambda: vdp.load(saved), ReleaseError, match="other records")


def test_a_part_with_another_column(saved):
    path = saved / "part-00000.parquet"
    pq.write_table(pq.read_table(path).rename_columns(["else", "y"]), path)
    sign_part(saved, N)
    quickly(lambda: vdp.load(saved), ReleaseError, match="other columns")


def test_a_small_file_of_many_records(saved):
    """Ninety million equal numbers take 400 kB, and 720 MB when they are read."""
    table = pa.table({"age": pa.array(np.zeros(3_000_000)), "y": pa.array(np.zeros(3_000_000, np.int64))})
    pq.write_table(table, saved / "part-00000.parquet", row_group_size=3_000_000)
    assert (saved / "part-00000.parquet").stat().st_size < 200_000
    sign_part(saved, 3_000_000)
    quickly(lambda: vdp.load(saved), ReleaseError, match="more records")
    pq.write_table(table.slice(0, 200_000), saved / "part-00000.parquet", row_group_size=200_000)
    sign_part(saved, 200_000)
    quickly(lambda: vdp.load(saved), ReleaseError, match="more records")


def test_a_long_text_that_is_repeated(saved):
    """A megabyte of text, once in the file and a hundred thousand times in the table, is 100 GB when it is read."""
    codes = pa.array(np.zeros(100_000, np.int32))
    texts = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 2**20]))
    table = pa.table({"age": pa.array(np.zeros(100_000)), "y": texts})
    pq.write_table(table, saved / "part-00000.parquet", row_group_size=100_000)
    assert (saved / "part-00000.parquet").stat().st_size < 10 * 2**20
    sign_part(saved, 100_000)
    release = vdp.load(saved)
    for read in (lambda: release.frame, lambda: next(release.batches()), lambda: release.read(release.handles()[0])):
        quickly(read, ReleaseError, match="MiB")


@pytest.mark.parametrize("name", ["manifest.json", "part-00000.parquet"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "outside", "round"])
def test_what_is_no_ordinary_file_of_the_folder(saved, name, kind):
    (saved / name).rename(saved.parent / "elsewhere")
    if kind == "pipe":
        os.mkfifo(saved / name)
    elif kind == "folder":
        (saved / name).mkdir()
    else:
        target = {"device": "/dev/zero", "outside": saved.parent / "elsewhere", "round": saved / name}[kind]
        (saved / name).symlink_to(target)
    quickly(lambda: vdp.load(saved).frame, ReleaseError)


def test_links_inside_a_folder_and_to_it_are_fine(saved):
    for name in ("manifest.json", "part-00000.parquet"):
        (saved / name).rename(saved / f"real-{name}")
        (saved / name).symlink_to(f"real-{name}")
    (saved.parent / "link").symlink_to(saved)
    assert len(vdp.load(saved.parent / "link").frame) == N


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_that_are_none(saved, text):
    data = (saved / "manifest.json").read_text()
    (saved / "manifest.json").write_text(data.replace('"rows"', f'"other": {text}, "rows"', 1))
    quickly(lambda: vdp.load(saved), ReleaseError, match="finite")


DEEP = {"list": "[" * 100_000, "table": '{"a":' * 100_000, "number": "9" * 100_000, "text": '"' + "x" * 10**6 + '"'}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_and_huge(saved, tmp_path, text):
    (saved / "manifest.json").write_text(text)
    quickly(lambda: vdp.load(saved), ReleaseError)
    (tmp_path / "r.json").write_text(text)
    quickly(lambda: vdp.Results.load(tmp_path / "r.json"), ParameterError)
    (tmp_path / "s.toml").write_text("columns = " + text)
    quickly(lambda: vdp.Schema.from_toml(tmp_path / "s.toml"), SchemaError)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "large"])
def test_schemas_and_results_are_ordinary_files(tmp_path, kind):
    path = tmp_path / "file"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(2**31)
    quickly(lambda: vdp.Schema.from_toml(path), SchemaError)
    quickly(lambda: vdp.Results.load(path), ParameterError)


# formulas ------------------------------------------------------------------------------------------------------------

WRITES = [
    "np.multiply(age, 0, age)",
    "np.log(age, age)",
    "exp(age, age)",
    "np.clip(age, 0, 0, age)",
    "np.round(age, 0, age)",
    "np.where(age)",
    "np.add(age, 1, age)",
    "abs(age, age)",
]


@pytest.mark.parametrize("text", WRITES)
def test_a_term_cannot_write_to_the_callers_array(text):
    ages = np.array([0.25, 0.5])
    with pytest.raises(ParameterError, match="plain arguments"):
        Terms(("a",), ((text,),)).matrix({"age": ages})
    assert ages.tolist() == [0.25, 0.5]


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ (age + z)**40",
        "y ~ (age + z + y)^9",
        "y ~ ((age + z)**5)**5",
        "y ~ " + "*".join(f"x{i}" for i in range(25)),
        "y ~ " + " + ".join(f"x{i}" for i in range(2000)),
        "y ~ (" + "+".join(f"x{i}" for i in range(60)) + "):(" + "+".join(f"x{i}" for i in range(60)) + ")",
        "y ~ (" * 40 + "age" + ")**9" * 40,
    ],
)
def test_formulas_that_would_never_end(saved, formula):
    quickly(lambda: vdp.fit(saved, formula), ParameterError)


def test_a_formula_of_too_many_terms_says_so(saved):
    formula = "y ~ " + " + ".join(f"x{i}" for i in range(2000))
    quickly(lambda: vdp.fit(saved, formula), ParameterError, match="more than 1000 terms")


@pytest.mark.parametrize("text", ["age ** 1000", "age ** -99", "+".join(["age"] * 2000), "x" * 20_000])
def test_terms_that_would_take_long(text):
    quickly(lambda: parse_expression(text), ParameterError)


def test_a_part_is_named_once(saved):
    part = json.loads((saved / "manifest.json").read_text())["parts"][0]
    sign(saved, parts=[part] * 20_000, rows=20_000 * N)
    with pytest.raises(ReleaseError, match="names a part twice"):
        vdp.load(saved)


def test_more_records_alike_than_there_are_is_refused(saved):
    sign(saved, batches=[batch(N, 1_000_000)])
    with pytest.raises(ReleaseError, match="equal public values"):
        vdp.load(saved)


def test_an_audit_counts_the_groups_that_a_release_claims(saved):
    """200 records with two public values: groups of 100 pass, a forged claim of 200 does not."""
    assert vdp.audit(vdp.load(saved), n=2000).groups
    sign(saved, batches=[batch(N, N)])
    found = vdp.audit(vdp.load(saved), n=2000)
    assert found.groups is False
    assert not found.passed
    assert "FEWER" in str(found)


def test_groups_are_counted_in_each_batch_of_a_folder(tmp_path):
    schema = vdp.Schema({"x": vdp.Bounded(0, 1), "y": vdp.Public()}, id="pid")
    people = pd.DataFrame({"pid": range(900), "x": 0.5, "y": [0, 1, 1] * 300})
    for name, some in {"first": people[:600], "more": people[600:]}.items():
        some.to_parquet(tmp_path / f"{name}.parquet", index=False)
    mech = vdp.Mechanism(schema, scale=0.5)
    vdp.release_file(tmp_path / "first.parquet", tmp_path / "out", mech, state=tmp_path / "state")
    vdp.append_file(tmp_path / "out", tmp_path / "more.parquet", state=tmp_path / "state")
    release = vdp.load(tmp_path / "out")
    assert recount_alike(release) == release.order.alike == (200, 100)
    assert groups_hold(release)
    sign(tmp_path / "out", batches=[batch(600, 200), batch(300, 101)])
    assert groups_hold(vdp.load(tmp_path / "out")) is False


def test_a_state_that_asks_for_many_draws_is_refused_before_anything_is_drawn(tmp_path):
    people = pd.DataFrame({"age": np.linspace(0, 1, 2000), "y": np.arange(2000) % 2})
    release = vdp.Mechanism(SCHEMA, scale=0.1, exact_rate=0.5).release(people)
    release.save(tmp_path / "released")
    vdp.fit(vdp.load(tmp_path / "released"), "y ~ age").save_state(tmp_path / "state.json")
    data = json.loads((tmp_path / "state.json").read_text())
    for draws in (10_000, 10**9, 10**30):
        (tmp_path / "state.json").write_text(json.dumps(data | {"draws": draws}))
        with pytest.raises(ParameterError, match="draws per record"):
            State.load(tmp_path / "state.json")


@pytest.mark.thinned(3)
@pytest.mark.parametrize("degrees", [[100, 100], [49, 2], [80, 75]])
def test_a_state_that_asks_for_high_degrees_is_refused_before_anything_is_undone(tmp_path, degrees):
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"age": rng.uniform(1, 2, 4000), "size": rng.uniform(1, 2, 4000)})
    people["y"] = np.log(people["age"] * people["size"])
    schema = vdp.Schema({"age": vdp.Bounded(1, 2), "size": vdp.Bounded(1, 2), "y": vdp.Public()})
    mech = vdp.Mechanism(schema, noise={("age", "size"): vdp.noise.Window(epsilon=12)})
    key = bytes(range(32))
    vdp.fit(mech.release(people, key=key), "y ~ np.log(age*size)").save_state(tmp_path / "state.json")
    new = mech.release(people + 0.0, key=bytes(range(1, 33)))
    data = json.loads((tmp_path / "state.json").read_text())
    assert len(data["degrees"]) == 2
    vdp.update(tmp_path / "state.json", new)
    (tmp_path / "state.json").write_text(json.dumps(data | {"degrees": degrees}))
    with pytest.raises(ParameterError, match="more than can be undone"):
        vdp.update(tmp_path / "state.json", new)
    # degrees in a state of a score that is not projected
    vdp.fit(mech.release(people, key=key), "y ~ age + size").save_state(tmp_path / "state.json")
    data = json.loads((tmp_path / "state.json").read_text())
    (tmp_path / "state.json").write_text(json.dumps(data | {"degrees": [6, 6]}))
    with pytest.raises((ParameterError, EstimationError)):
        vdp.update(tmp_path / "state.json", new)


def test_reading_a_mechanism_takes_work_in_proportion_to_its_columns(monkeypatch):
    asked = []
    private = vdp.Schema.private.fget
    monkeypatch.setattr(vdp.Schema, "private", property(lambda schema: asked.append(1) or private(schema)))
    names = [f"c{number}" for number in range(300)]
    schema = vdp.Schema({name: vdp.Bounded(0, 1) for name in names})
    text = vdp.Mechanism(schema, noise={name: vdp.noise.Window(1) for name in names}).to_json()
    asked.clear()
    vdp.Mechanism.from_json(text)
    assert len(asked) < 10  # each looks at all columns
