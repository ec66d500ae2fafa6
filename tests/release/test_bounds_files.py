"""Bounds learnt in the same transaction as a release of files: one charge, one guarantee, the same after a crash."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import ClampedWarning, DataError, ParameterError, ReleaseError, SpentError, StateError
from versadp.release import checkpoints
from versadp.release.files.account import account
from versadp.release.files.append import append_file
from versadp.release.files.release import release_file

N = 30_000
KEY = bytes(range(50, 82))
SCHEMA = vdp.Schema({"x": vdp.Bounded(0, 1000), "k": vdp.Bounded(0, 100, step=1), "c": vdp.Categorical(["a", "b"])})
TARGET = {"epsilon": 4.0, "delta": 1e-6}
pytestmark = [
    pytest.mark.filterwarnings("ignore::versadp.errors.ClampedWarning"),
    pytest.mark.filterwarnings("ignore::versadp.errors.RowsLeftOutWarning"),
]


def people(n=N, seed=0, ids=None):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"x": rng.gamma(4, 10, n), "k": rng.integers(20, 60, n), "c": rng.choice(["a", "b"], n)},
    )
    return frame if ids is None else frame.assign(pid=np.arange(ids, ids + n).astype(str))


def mechanism(schema=SCHEMA, **target):
    asked = TARGET | target
    return vdp.calibrate(vdp.fit_bounds(None, schema, **asked), **asked, shuffled=N)


@pytest.fixture
def data(tmp_path):
    people().to_parquet(tmp_path / "people.parquet", row_group_size=4000)
    return tmp_path / "people.parquet"


def go(data, place, state, **more):
    options = {"state": state, "key": KEY, "fit_bounds": True, "target": tuple(TARGET.values()), "engine": "serial"}
    return release_file(data, place, mechanism(), **(options | more))


def content(place):
    return {path.name: path.read_bytes() for path in sorted(place.iterdir()) if path.name != "manifest.json"}


def learnt(made):
    return {name: (column.lower, column.upper) for name, column in made.mechanism.schema.columns.items() if name != "c"}


def test_one_release_one_charge(data, tmp_path):
    made = go(data, tmp_path / "out", tmp_path / "state")
    schema = made.mechanism.schema
    assert schema.columns["x"].declared == (0.0, 1000.0)
    assert schema.columns["x"].upper < 300
    assert schema.columns["k"].lower >= 15
    assert made.privacy("record").delta(4.0) <= 1e-6
    found = account(state=tmp_path / "state")
    assert found.most == (4_000_000, 1_000_000)
    assert len(found.releases) == 1
    assert schema == vdp.fit_bounds(people(), SCHEMA, **TARGET, key=KEY)  # what is learnt is what the function learns
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    entry = manifest["mechanism"]["schema"]
    assert entry["bounds"]["share"] == 0.05
    assert set(entry["bounds"]["clipped"]) == {"x", "k"}
    assert entry["columns"][0]["effective"] == [schema.columns["x"].lower, schema.columns["x"].upper]
    assert "declared 0 to 1,000" in manifest["privacy"]["statement"]


def test_run_again_it_changes_nothing_and_a_second_look_is_refused(data, tmp_path):
    first = go(data, tmp_path / "out", tmp_path / "state")
    before = content(tmp_path / "out")
    again = go(data, tmp_path / "out", tmp_path / "state")
    assert learnt(again) == learnt(first)
    assert content(tmp_path / "out") == before
    with pytest.raises(SpentError):
        go(data, tmp_path / "second", tmp_path / "state", key=None)
    go(data, tmp_path / "second", tmp_path / "state", key=None, again="charge")
    assert account(state=tmp_path / "state").most == (8_000_000, 2_000_000)
    with pytest.raises(ReleaseError, match="made with another schema"):
        release_file(data, tmp_path / "out", vdp.calibrate(SCHEMA, epsilon=4), state=tmp_path / "state", key=KEY)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("point", ["bounds counted", "bounds learnt", "part written", "after part commit"])
def test_after_a_crash_the_same_bounds(data, tmp_path, point):
    whole = go(data, tmp_path / "whole", tmp_path / "other")

    def kill(reached):
        if reached == point:
            raise Killed

    checkpoints.watch(kill)
    try:
        with pytest.raises(Killed):
            go(data, tmp_path / "out", tmp_path / "state")
    finally:
        checkpoints.unwatch(kill)
    assert not (tmp_path / "out").exists()
    made = go(data, tmp_path / "out", tmp_path / "state")
    assert learnt(made) == learnt(whole)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


@pytest.mark.parametrize("point", ["bounds learnt", "after part commit"])
def test_a_file_that_changed_after_a_crash_is_refused(data, tmp_path, point):
    def kill(reached):
        if reached == point:
            raise Killed

    checkpoints.watch(kill)
    try:
        with pytest.raises(Killed):
            go(data, tmp_path / "out", tmp_path / "state")
    finally:
        checkpoints.unwatch(kill)
    changed = people()
    changed.loc[7, "x"] = 999.0
    changed.to_parquet(data, row_group_size=4000)
    with pytest.raises(StateError, match="not those with which the release was begun"):
        go(data, tmp_path / "out", tmp_path / "state")
    made = go(data, tmp_path / "out", tmp_path / "state", restart=True, key=None)
    assert len(made) == N


def test_bad_records_spend_nothing(tmp_path):
    frame = people()
    frame.loc[11, "x"] = np.inf
    frame.to_parquet(tmp_path / "people.parquet")
    with pytest.raises(DataError, match="'x'"):
        go(tmp_path / "people.parquet", tmp_path / "out", tmp_path / "state")
    assert account(state=tmp_path / "state").most == (0, 0)


def test_a_mechanism_without_a_share_for_bounds_is_refused(data, tmp_path):
    ordinary = vdp.calibrate(SCHEMA, epsilon=4)
    with pytest.raises(ParameterError, match="fit_bounds"):
        release_file(
            data,
            tmp_path / "out",
            vdp.calibrate(vdp.fit_bounds(people(), SCHEMA, epsilon=4, key=KEY), epsilon=4),
            state=tmp_path / "state",
            fit_bounds=True,
        )
    with pytest.raises(ParameterError, match="fit_bounds"):
        release_file(data, tmp_path / "out", ordinary, state=tmp_path / "state", fit_bounds=True)


IDS = vdp.Schema(dict(SCHEMA.columns), id="pid")


def test_appended_people_keep_the_bounds_and_far_more_clipped_is_said(tmp_path):
    people(ids=0).to_parquet(tmp_path / "people.parquet")
    made = release_file(
        tmp_path / "people.parquet",
        tmp_path / "out",
        mechanism(IDS),
        state=tmp_path / "state",
        fit_bounds=True,
        key=KEY,
    )
    bounds = learnt(made)
    people(seed=1, ids=N).to_parquet(tmp_path / "more.parquet")
    append_file(tmp_path / "out", tmp_path / "more.parquet", state=tmp_path / "state")
    assert learnt(vdp.load(tmp_path / "out")) == bounds
    richer = people(seed=2, ids=2 * N)
    richer["x"] *= 4
    richer.to_parquet(tmp_path / "rich.parquet")
    with pytest.warns(ClampedWarning, match="far more values of this batch"):
        append_file(tmp_path / "out", tmp_path / "rich.parquet", state=tmp_path / "state")
    assert learnt(vdp.load(tmp_path / "out")) == bounds


def test_an_edition_learns_bounds_of_its_own_and_is_charged(tmp_path):
    people(ids=0).to_parquet(tmp_path / "people.parquet")
    options = {"state": tmp_path / "state", "fit_bounds": True, "target": tuple(TARGET.values())}
    release_file(tmp_path / "people.parquet", tmp_path / "out", mechanism(IDS), **options)
    changed = people(ids=0)
    changed["x"] *= 3
    changed.to_parquet(tmp_path / "later.parquet")
    made = release_file(tmp_path / "later.parquet", None, mechanism(IDS), edition_of=tmp_path / "out", **options)
    assert made.edition == 2
    assert made.mechanism.schema.columns["x"].upper > 200
    assert account(state=tmp_path / "state").most == (8_000_000, 2_000_000)
    again = release_file(tmp_path / "later.parquet", None, mechanism(IDS), edition_of=tmp_path / "out", **options)
    assert again.edition == 2
    assert account(state=tmp_path / "state").most == (8_000_000, 2_000_000)


def test_only_rows_that_are_kept_are_counted(tmp_path):
    frame = people(ids=0)
    many = pd.concat([frame, frame.assign(x=990.0), frame.assign(x=991.0)])
    many.to_parquet(tmp_path / "many.parquet", index=False)
    schema = vdp.Schema(dict(SCHEMA.columns), id="pid")
    made = release_file(
        tmp_path / "many.parquet",
        tmp_path / "out",
        mechanism(schema),
        state=tmp_path / "state",
        fit_bounds=True,
        keep_rows=1,
        key=KEY,
    )
    assert len(made) == N
    assert made.mechanism.schema.columns["x"].upper > 900


def test_csv_and_parquet_and_engines_give_the_same_bounds(data, tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    one = go(data, tmp_path / "one", tmp_path / "state")
    two = go(tmp_path / "people.csv", tmp_path / "two", tmp_path / "state2", engine="local")
    assert learnt(one) == learnt(two)
    assert content(tmp_path / "one") == content(tmp_path / "two")


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes(data, tmp_path):
    distributed = pytest.importorskip("distributed")
    one = go(data, tmp_path / "one", tmp_path / "state")
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with local as cluster, distributed.Client(cluster) as client:
        two = go(data, tmp_path / "two", tmp_path / "state2", engine=client)
    assert learnt(one) == learnt(two)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    shutil.rmtree(tmp_path / "one")
