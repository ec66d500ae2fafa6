"""Attacks on releases from files: what is remembered, what lies about, and what the ledger gives away."""

import ast
import json
import os
import re
import sqlite3
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import ParameterError, ReleaseError, SpentError
from versadp.release.files.append import append_file
from versadp.release.files.charges import allowance, charge_of, whole
from versadp.release.files.finalize import finalize
from versadp.release.files.release import release_file
from versadp.release.ledger.state import State

BLIND = vdp.Schema({"x": vdp.Bounded(0, 1)})
NAMED = vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid")
N = 5000


def mechanism(schema=BLIND, scale=1.0):
    return vdp.Mechanism(schema, scale=scale, exact_rate=0.0)


def people(n=N):
    return pd.DataFrame({"pid": [f"p{i}" for i in range(n)], "x": (np.arange(n) * 0.618) % 1})


def write(frame, path, schema=BLIND):
    (frame if schema is NAMED else frame[["x"]]).to_parquet(path, index=False)
    return path


def noise(folder, frame):
    return vdp.load(folder).to_pandas()["x"].to_numpy() - frame["x"].to_numpy()


def correlated(a, b):
    return abs(np.mean(np.sign(a) * np.sign(b))) > 5 / np.sqrt(len(a))


# the same people again -------------------------------------------------------------------------------------------


def test_averaging_releases_gains_nothing(tmp_path):
    """Twenty runs of one command are one answer, one key and one charge."""
    data = write(people(), tmp_path / "d.parquet")
    seen = {release_file(data, tmp_path / "out", mechanism()).frame["x"].to_numpy().tobytes() for _ in range(20)}
    assert len(seen) == 1
    assert len(list((tmp_path / "home").rglob("release-*.key"))) == 1


def test_deleting_the_output_gives_no_second_draw(tmp_path):
    import shutil

    data = write(people(), tmp_path / "d.parquet")
    one = release_file(data, tmp_path / "out", mechanism()).frame
    shutil.rmtree(tmp_path / "out")
    assert release_file(data, tmp_path / "out", mechanism()).frame.equals(one)


def edited(frame):
    return frame.assign(x=np.where(frame.index == 7, 0.9, frame["x"]))


def permuted(frame):
    return frame.sample(frac=1, random_state=0, ignore_index=True)


def extended(frame):
    return pd.concat([frame, people(N + 5)[N:]], ignore_index=True)


@pytest.mark.parametrize("change", [lambda f: f, edited, permuted, extended, lambda f: f[100:]])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_without_an_id_a_second_release_is_refused(tmp_path, change, scale):
    """An edited row, other order, more rows, fewer rows, other noise: nobody can tell who is in it again."""
    first = write(people(), tmp_path / "d.parquet")
    second = write(change(people()), tmp_path / "e.parquet")
    release_file(first, tmp_path / "one", mechanism(), state=tmp_path / "state")
    with pytest.raises(SpentError, match="without the same id"):
        release_file(second, tmp_path / "two", mechanism(scale=scale), state=tmp_path / "state")
    assert not (tmp_path / "two").exists()
    if scale == 1.0 and change(people()).equals(people()):
        return  # the same command: no second release
    with pytest.raises((ReleaseError, ParameterError)):
        release_file(second, tmp_path / "one", mechanism(scale=scale), state=tmp_path / "state")


def test_a_second_release_that_is_paid_for_shares_no_noise(tmp_path):
    data = write(people(), tmp_path / "d.parquet")
    options = {"state": tmp_path / "state", "again": "charge", "shuffle": False}
    release_file(data, tmp_path / "one", mechanism(), **options)
    release_file(data, tmp_path / "two", mechanism(scale=2.0), **options)
    release_file(write(edited(people()), tmp_path / "e.parquet"), tmp_path / "three", mechanism(), **options)
    one, two, three = (
        noise(tmp_path / "one", people()),
        noise(tmp_path / "two", people()),
        noise(tmp_path / "three", edited(people())),
    )
    assert not correlated(one, two)
    assert not correlated(one, three)
    assert correlated(one, one)


@pytest.mark.parametrize("change", [permuted, lambda f: f[::-1], lambda f: f[100:]])
def test_with_an_id_permuted_people_are_recognised(tmp_path, change):
    first = write(people(), tmp_path / "d.parquet", NAMED)
    second = write(change(people()), tmp_path / "e.parquet", NAMED)
    release_file(first, tmp_path / "one", mechanism(NAMED), state=tmp_path / "state")
    result = append_file(tmp_path / "one", second, state=tmp_path / "state")
    assert (result.new, result.skipped) == (0, len(change(people())))
    with pytest.raises(SpentError, match=f"{len(change(people()))} people were released before"):
        release_file(second, tmp_path / "two", mechanism(NAMED), state=tmp_path / "state")
    assert not (tmp_path / "two").exists()


def test_with_an_id_an_edited_record_is_refused_and_counted(tmp_path):
    release_file(write(people(), tmp_path / "d.parquet", NAMED), tmp_path / "out", mechanism(NAMED))
    with pytest.raises(SpentError, match="1 people were released before"):
        append_file(tmp_path / "out", write(edited(people()), tmp_path / "e.parquet", NAMED))
    assert len(vdp.load(tmp_path / "out")) == N
    result = append_file(tmp_path / "out", tmp_path / "e.parquet", again="charge")
    assert (result.new, result.skipped, result.charged) == (0, 0, N)
    third = people().assign(x=np.where(people().index == 7, 0.1, people()["x"]))
    again = append_file(tmp_path / "out", tmp_path / "e.parquet", again="charge")  # the same command once more
    assert (again.new, again.skipped, again.charged) == (0, N, 0)
    with pytest.raises(SpentError, match="1 people"):  # a third version would be a third charge
        append_file(tmp_path / "out", write(third, tmp_path / "f.parquet", NAMED))


@pytest.mark.parametrize(
    "change", [lambda p: p + 1, lambda p: -p - 1, lambda p: p.astype(float), lambda p: p.astype(str)]
)
def test_public_columns_are_part_of_a_record(tmp_path, change):
    """Another public value, or the same as another kind of value, is another record; other bits of it are not."""
    schema = vdp.Schema({"x": vdp.Bounded(0, 1), "p": vdp.Public()}, id="pid")
    frame = people(100).assign(p=np.arange(100))
    for name, values in (("d", frame["p"]), ("same", frame["p"].astype("uint8")), ("e", change(frame["p"]))):
        frame.assign(p=values).to_parquet(tmp_path / f"{name}.parquet", index=False)
    release_file(tmp_path / "d.parquet", tmp_path / "out", mechanism(schema))
    assert append_file(tmp_path / "out", tmp_path / "same.parquet").skipped == 100
    with pytest.raises(SpentError, match="100 people"):
        append_file(tmp_path / "out", tmp_path / "e.parquet")


def test_an_edited_row_redraws_nobody_elses_noise_with_an_id(tmp_path):
    key = vdp.fresh_key()
    one = release_file(write(people(), tmp_path / "d.parquet", NAMED), tmp_path / "a", mechanism(NAMED), key=key)
    changed = write(edited(people()), tmp_path / "e.parquet", NAMED)
    two = release_file(changed, tmp_path / "b", mechanism(NAMED), key=key, population="b")
    assert len(set(one.frame["x"].to_pylist()) ^ set(two.frame["x"].to_pylist())) == 2


def test_a_person_twice_in_one_file_is_refused_wherever_they_stand(tmp_path, monkeypatch):
    monkeypatch.setattr("versadp.release.folder.parts.PART_CELLS", 1)  # so that they are in two parts
    twice = pd.concat([people(9000), people()[:3]], ignore_index=True)
    data = write(twice, tmp_path / "d.parquet", NAMED)
    for rows in (300, 1000, 100_000):
        with pytest.raises(vdp.errors.DataError, match="repeats people in 3 rows"):
            release_file(data, tmp_path / "out", mechanism(NAMED), batch_rows=rows)
    assert not (tmp_path / "out").exists()


def test_a_number_and_its_text_are_one_person(tmp_path):
    frame = pd.DataFrame({"pid": np.arange(10), "x": np.linspace(0, 1, 10)})
    release_file(write(frame, tmp_path / "d.parquet", NAMED), tmp_path / "out", mechanism(NAMED))
    text = write(frame.assign(pid=frame["pid"].astype(str)), tmp_path / "e.parquet", NAMED)
    assert append_file(tmp_path / "out", text).skipped == 10


# budgets ---------------------------------------------------------------------------------------------------------


def test_charges_are_whole_and_rounded_up():
    assert whole(0.1, 1e-13) == (100_000, 1)
    assert whole(0.1000001, 0.5) == (100_001, 5 * 10**11)
    assert allowance(0.3, 1e-13) == (300_000, 0)
    assert whole(1e-9, 0.0) == (1, 0)
    assert all(type(part) is int for part in charge_of(mechanism()))
    epsilon, delta = charge_of(mechanism())
    assert mechanism().privacy().delta(epsilon / 1e6) <= delta / 1e12
    with pytest.raises(ParameterError, match="does not keep"):
        charge_of(mechanism(), (0.1, 1e-9))


@pytest.mark.parametrize("schema", [BLIND, NAMED])
def test_nobody_is_charged_more_than_their_budget(tmp_path, schema):
    """Three releases fit into the budget; the fourth does not, down to the last unit."""
    data = write(people(100), tmp_path / "d.parquet", schema)
    epsilon, delta = charge_of(mechanism(schema))
    options = {"state": tmp_path / "state", "again": "charge"}
    budget = ((3 * epsilon + epsilon - 1) / 1e6, 4 * delta / 1e12)
    release_file(data, tmp_path / "0", mechanism(schema), budget=budget, **options)
    for i in (1, 2):
        release_file(data, tmp_path / str(i), mechanism(schema), **options)
    with pytest.raises(SpentError, match="budget"):
        release_file(data, tmp_path / "3", mechanism(schema), **options)
    assert not (tmp_path / "3").exists()
    with pytest.raises(ParameterError, match="cannot be changed"):
        release_file(data, tmp_path / "4", mechanism(schema), budget=(99.0, 0.9), **options)


# what lies about ---------------------------------------------------------------------------------------------------


def test_the_state_is_for_its_owner_alone_and_apart(tmp_path):
    data = write(people(), tmp_path / "d.parquet", NAMED)
    before = os.umask(0)
    try:
        release_file(data, tmp_path / "out", mechanism(NAMED))
    finally:
        os.umask(before)
    state = tmp_path / "home" / "versadp" / "default"
    assert stat.S_IMODE(state.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in state.iterdir()} == {0o600}
    for inside in (tmp_path / "r", tmp_path / "r" / "state", tmp_path):
        with pytest.raises(ParameterError, match="apart"):
            release_file(data, tmp_path / "r", mechanism(NAMED), state=inside)
    state.chmod(0o755)
    with pytest.raises(vdp.errors.StateError, match="others can read"):
        append_file(tmp_path / "out", data)


def everything(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_no_key_leaves_the_state(tmp_path):
    key = vdp.fresh_key()
    data = write(people(), tmp_path / "d.parquet", NAMED)
    release = release_file(data, tmp_path / "out", mechanism(NAMED), key=key)
    secrets = [key, *((tmp_path / "home" / "versadp" / "default" / "ledger.key").read_bytes(),)]
    holding = {
        p.name for p, blob in everything(tmp_path).items() for s in secrets if s in blob or s.hex().encode() in blob
    }
    assert len(holding) == 2
    assert all(name.endswith(".key") for name in holding)
    assert key not in repr(vars(release)).encode()


def test_finalize_destroys_the_keys(tmp_path):
    key = vdp.fresh_key()
    data = write(people(), tmp_path / "d.parquet", NAMED)
    with State(tmp_path / "out.provider", make=True, shared=False):
        pass  # of this release alone, as older versions made it
    release_file(data, tmp_path / "out", mechanism(NAMED), key=key)
    ledger_key = (tmp_path / "out.provider" / "ledger.key").read_bytes()
    links = tmp_path / "links"  # another name for the same bytes on the disk shows that they were overwritten
    links.mkdir()
    for path in (tmp_path / "out.provider").glob("*.key"):
        os.link(path, links / path.name)
    finalize(tmp_path / "out")
    for blob in everything(tmp_path).values():
        assert key not in blob
        assert ledger_key not in blob
    assert len(vdp.load(tmp_path / "out").frame) == N
    for act in (lambda: append_file(tmp_path / "out", data), lambda: finalize(tmp_path / "out")):
        with pytest.raises(vdp.errors.KeyMaterialError, match="finalised"):
            act()


def test_a_shared_state_still_recognises_people_after_finalize(tmp_path):
    data = write(people(), tmp_path / "d.parquet", NAMED)
    release_file(data, tmp_path / "one", mechanism(NAMED), state=tmp_path / "state")
    finalize(tmp_path / "one", state=tmp_path / "state")
    assert list((tmp_path / "state").glob("release-*.key")) == []
    with pytest.raises(SpentError, match=f"{N} people"):
        release_file(data, tmp_path / "two", mechanism(NAMED), state=tmp_path / "state")
    with pytest.raises(ReleaseError, match="finalised"):
        append_file(tmp_path / "one", data, state=tmp_path / "state")


def digests(state):
    database = sqlite3.connect(state / "ledger.sqlite")
    bodies = [json.loads(body) for (body,) in database.execute("SELECT body FROM entries")]
    tags = b"".join(rows for (rows,) in database.execute("SELECT rows FROM people"))
    database.close()
    rows = np.frombuffer(tags, np.uint64).reshape(-1, 4)
    return {body["input"] for body in bodies if "input" in body}, set(rows[:, 0].tolist()), set(rows[:, 1].tolist())


def test_digests_in_the_ledger_cannot_be_guessed_at(tmp_path):
    """Two providers with the same data share no digest: without the key a guess cannot be tested."""
    data = write(people(300), tmp_path / "d.parquet", NAMED)
    for name in ("one", "two"):
        release_file(data, tmp_path / name, mechanism(NAMED), key=bytes(range(32)), state=tmp_path / f"{name}-state")
    one, two = digests(tmp_path / "one-state"), digests(tmp_path / "two-state")
    for ours, theirs in zip(one, two, strict=True):
        assert ours
        assert not ours & theirs


def test_the_manifest_says_nothing_about_the_input_beyond_its_rows(tmp_path):
    """Two tables of the same shape: manifests differ in the digests and sizes of released parts only."""
    found = []
    for i, frame in enumerate((people(), edited(people()))):
        release_file(write(frame, tmp_path / f"{i}.parquet"), tmp_path / str(i), mechanism(), population=str(i))
        manifest = json.loads((tmp_path / str(i) / "manifest.json").read_text())
        for part in manifest["parts"]:
            del part["sha256"], part["bytes"]
        found.append(manifest | {"digest": None})
        assert str(tmp_path) not in json.dumps(manifest)
    assert found[0] == found[1]


def test_the_statement_is_in_the_manifest_and_on_the_terminal(tmp_path):
    from click.testing import CliRunner

    from versadp.cli import main

    data = write(people(), tmp_path / "d.parquet")
    BLIND.to_toml(tmp_path / "s.toml")
    command = ["release", str(data), "--schema", str(tmp_path / "s.toml"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, [*command, "--scale", "0.5", "--exact-rate", "0.1"])
    assert result.exit_code == 0, result.output
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    for words in (result.output, manifest["privacy"]["statement"]):
        assert "assume that they can be recognised" in words


# generators --------------------------------------------------------------------------------------------------------

ANALYSTS = {"release.py", "augment.py"}  # second randomisation: an analyst's draws need not be secret


def test_no_ordinary_generator_where_files_are_released():
    folder = Path(vdp.__file__).parent / "release"
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            random = isinstance(node, ast.Attribute) and node.attr == "random"
            imported = isinstance(node, ast.Import | ast.ImportFrom) and re.search(r"\brandom\b", ast.unparse(node))
            assert str(path.relative_to(folder)) in ANALYSTS or not (random or imported), path.name


def test_four_processes_draw_four_keys(tmp_path):
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("forkserver")) as pool:
        keys = {pool.submit(vdp.fresh_key).result() for _ in range(8)}
    assert len(keys) == 8
