"""Noisy totals in the same transaction as their records: one charge, the same sheet after a crash."""

import json
import shutil
from functools import cache

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import ParameterError, ReleaseError, SpentError, StateError
from versadp.release import checkpoints
from versadp.release.files.account import account
from versadp.release.files.append import append_file
from versadp.release.files.release import release_file
from versadp.release.folder import folder as folders
from versadp.release.folder.manifest import digest_of
from versadp.release.mechanism import Mechanism
from versadp.release.totals.count import RunningTotals

N = 20_000
KEY = bytes(range(50, 82))
COLUMNS = {
    "x": vdp.Bounded(0, 1000),
    "k": vdp.Bounded(0, 20, step=1, nullable=True),
    "c": vdp.Categorical(["a", "b", "c"]),
}
TARGET = (4.0, 1e-6)


@cache
def mechanism(ids=False):
    schema = vdp.Schema(COLUMNS, id="pid" if ids else None)
    return vdp.calibrate(schema, epsilon=4, delta=1e-6, shuffled=N // 2, groups=[tuple(COLUMNS)], totals=True)


def people(n=N, seed=0, ids=None):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.gamma(4, 60, n).clip(0, 1000), "k": rng.integers(0, 21, n).astype(float)})
    frame["c"] = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    frame.loc[rng.random(n) < 0.1, "k"] = np.nan
    return frame if ids is None else frame.assign(pid=np.arange(ids, ids + n).astype(str))


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(folders, "PART_ROWS", 8192)


@pytest.fixture
def data(tmp_path):
    people().to_parquet(tmp_path / "people.parquet", row_group_size=3000)
    return tmp_path / "people.parquet"


def go(data, place, state, ids=False, **more):
    options = {"state": state, "key": KEY, "target": TARGET, "engine": "serial"} | more
    return release_file(data, place, mechanism(ids), **options)


def content(place):
    return {path.name: path.read_bytes() for path in sorted(place.iterdir()) if path.name != "manifest.json"}


def near(totals, frame):
    """Return how far the sheet's counts of the category are off, in standard errors."""
    table = totals.table().to_pandas()
    own = table[(table.sheet == "A") & (table["columns"] == "c")].set_index("levels")
    return ((own.total - frame.c.value_counts()) / own.standard_error).abs().max()


def test_a_sheet_stands_in_the_folder_and_in_the_manifest(data, tmp_path):
    made = go(data, tmp_path / "out", tmp_path / "state")
    assert near(made.totals, people()) < 5
    assert made.totals.rows == N
    assert account(state=tmp_path / "state").most == (4_000_000, 1_000_000)
    assert made.privacy("record").delta(4.0) <= 1e-6
    assert made.privacy("record").delta(4.0) > made.mechanism.without_totals().privacy(shuffled=N).delta(4.0)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [entry["file"] for entry in manifest["totals"]] == ["totals-00000.json"]
    assert set(manifest["mechanism"]["totals"]) == {"columns", "share", "split", "scale"}
    readable = json.loads((tmp_path / "out" / "totals-00000.json").read_text())
    assert readable["totals"][0][0] == "A"
    assert not np.array_equal(made.totals.values, exact(people()).sums)


def exact(frame):
    """Return the exact totals of a frame, up to rounding of x."""
    from versadp.release.path.table import read_table

    mech = mechanism()
    table = read_table(frame, mech.schema)
    running = RunningTotals(mech.totals_features, mech.layout.columns)
    running.see(mech.layout.content(table.private), np.zeros((running.words, len(frame)), np.uint64))
    return running


@pytest.mark.full
def test_the_noise_has_its_law():
    """Exact counts of natural levels against sheets by many keys: mean 0, the stated standard deviation."""
    mech, frame = mechanism(), people(6000, seed=3).assign(x=0.0)
    frame = pd.concat([frame, frame])  # enough for the shuffle
    natural = [i for i, f in enumerate(mech.totals_features.all) if all(name != "x" for name, _ in f.product)]
    truth = exact(frame).sums[natural]
    sheets = [mech.release(frame, key=bytes([i, *range(1, 32)])).totals for i in range(60)]
    unit = np.array([f.scale for f in mech.totals_features.all])[natural]
    z = np.array([(t.values[natural] - truth) / unit / t.scaled[1][natural] for t in sheets])
    assert abs(z.mean()) < 5 / np.sqrt(z.size)
    assert abs((z**2).mean() - 1) < 5 * np.sqrt(2 / z.size)
    assert abs(np.corrcoef(z[0], z[1])[0, 1]) < 5 / np.sqrt(len(natural))


def test_other_people_get_other_noise_under_the_same_key():
    frame, mech = people(N // 2), mechanism()
    one = mech.release(frame, key=KEY).totals
    changed = frame.copy()
    changed.loc[0, "c"] = "c" if frame.c[0] != "c" else "a"
    two = mech.release(changed, key=KEY).totals
    assert (one.values == mech.release(frame, key=KEY).totals.values).all()
    difference = np.abs(two.values - one.values)
    assert (difference > 2).mean() > 0.5  # and not the difference of one record


class Killed(BaseException):
    pass


def killed(point, act):
    def kill(reached):
        if reached == point:
            raise Killed

    checkpoints.watch(kill)
    try:
        with pytest.raises(Killed):
            act()
    finally:
        checkpoints.unwatch(kill)


POINTS = ["part written", "after part commit", "totals counted", "totals written", "totals made", "after publication"]


@pytest.mark.full
@pytest.mark.parametrize("point", POINTS)
def test_after_a_crash_the_same_sheet(data, tmp_path, point):
    go(data, tmp_path / "whole", tmp_path / "other")
    killed(point, lambda: go(data, tmp_path / "out", tmp_path / "state"))
    go(data, tmp_path / "out", tmp_path / "state", engine="local")
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert account(state=tmp_path / "state").most == (4_000_000, 1_000_000)


@pytest.mark.full
@pytest.mark.parametrize("point", ["after part commit", "totals made"])
def test_people_who_changed_after_a_crash_are_refused(data, tmp_path, point):
    killed(point, lambda: go(data, tmp_path / "out", tmp_path / "state"))
    changed = people()
    changed.loc[7, "c"] = "c" if changed.c[7] != "c" else "a"
    changed.to_parquet(data, row_group_size=3000)
    with pytest.raises(StateError, match="not those with which the release was begun"):
        go(data, tmp_path / "out", tmp_path / "state")


def test_a_sheet_of_other_totals_under_one_name_is_refused(data, tmp_path, monkeypatch):
    """Parts are held against the ledger one by one; the totals are too, should they ever differ alone."""
    killed("totals made", lambda: go(data, tmp_path / "out", tmp_path / "state"))
    see = RunningTotals.see
    monkeypatch.setattr(RunningTotals, "see", lambda self, *args: (see(self, *args), self.sums.__iadd__(1))[0])
    with pytest.raises(StateError, match="not those with which the release was begun"):
        go(data, tmp_path / "out", tmp_path / "state")


@pytest.mark.full
def test_a_second_sheet_of_the_same_people_is_charged(data, tmp_path):
    first = go(data, tmp_path / "out", tmp_path / "state")
    again = go(data, tmp_path / "out", tmp_path / "state")
    assert (first.totals.values == again.totals.values).all()
    with pytest.raises(SpentError):
        go(data, tmp_path / "second", tmp_path / "state", key=None)
    go(data, tmp_path / "second", tmp_path / "state", key=None, again="charge")
    assert account(state=tmp_path / "state").most == (8_000_000, 2_000_000)


@pytest.mark.full
def test_batches_and_editions_bring_their_own(tmp_path):
    people(ids=0).to_parquet(tmp_path / "people.parquet")
    people(N // 2, seed=1, ids=N).to_parquet(tmp_path / "more.parquet")
    go(tmp_path / "people.parquet", tmp_path / "out", tmp_path / "state", ids=True)
    killed("totals made", lambda: append_file(tmp_path / "out", tmp_path / "more.parquet", state=tmp_path / "state"))
    append_file(tmp_path / "out", tmp_path / "more.parquet", state=tmp_path / "state")
    made = vdp.load(tmp_path / "out")
    assert [totals.rows for totals in made.totals_by_batch] == [N, N // 2]
    assert made.totals is None
    assert near(made.totals_by_batch[1], people(N // 2, seed=1)) < 5
    both = pd.concat([people(ids=0), people(N // 2, seed=1, ids=N)]).assign(x=5.0)
    both.to_parquet(tmp_path / "both.parquet", index=False)
    options = {"state": tmp_path / "state", "target": TARGET}
    later = release_file(tmp_path / "both.parquet", None, mechanism(True), edition_of=tmp_path / "out", **options)
    assert later.edition == 2
    assert near(later.totals, both) < 5
    made = vdp.load(tmp_path / "out")
    made.save(tmp_path / "copy")
    assert (vdp.load(tmp_path / "copy").totals.values == later.totals.values).all()
    assert len(vdp.load(tmp_path / "copy", edition=1).totals_by_batch) == 2


def test_saved_and_loaded_it_stays_and_some_records_have_none(tmp_path):
    made = mechanism().release(people(), key=KEY)
    made.save(tmp_path / "out")
    there = vdp.load(tmp_path / "out")
    assert (there.totals.values == made.totals.values).all()
    assert there.with_source(made.frame.head(100)).totals is None
    with pytest.raises(ReleaseError, match="write all records"):
        there.with_source(made.frame.head(100)).save(tmp_path / "some")
    with pytest.raises(ParameterError, match="totals=False"):
        vdp.Release.from_frame(made.frame, mechanism())
    with pytest.raises(ParameterError, match="totals=False"):
        mechanism().privatize({"x": 1.0, "k": 2, "c": "a"}, key=KEY)
    assert vdp.Release.from_frame(made.frame, mechanism().without_totals()).totals is None


def spoil(place, change, *, again=True):
    """Change the file of totals, and with `again` the manifest so that it fits."""
    path = place / "totals-00000.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    if again:
        manifest = json.loads((place / "manifest.json").read_text())
        from versadp.release.folder.part_file import PartFile

        manifest["totals"] = [PartFile.of(path, manifest["rows"]).to_dict()]
        manifest["digest"] = digest_of(manifest)
        (place / "manifest.json").write_text(json.dumps(manifest))


def _more(data):
    data["totals"][0][3] += 1


def _fewer(data):
    del data["totals"][-1]


def _figure(data):
    data["totals"][0][4] += 1000


def _text(data):
    data["totals"][0][3] = "1" * 5000


def _rows(data):
    data["rows"] += 1


@pytest.mark.parametrize("change", [_more, _fewer, _figure, _text, _rows], ids=lambda f: f.__name__)
@pytest.mark.parametrize("again", [True, False])
def test_a_sheet_that_is_not_what_it_was_is_refused(tmp_path, change, again):
    mechanism().release(people(), key=KEY).save(tmp_path / "out")
    spoil(tmp_path / "out", change, again=again)
    with pytest.raises(ReleaseError):
        vdp.load(tmp_path / "out")


def test_a_folder_without_its_sheet_is_refused(tmp_path):
    mechanism().release(people(), key=KEY).save(tmp_path / "out")
    shutil.copytree(tmp_path / "out", tmp_path / "hidden")
    (tmp_path / "out" / "totals-00000.json").unlink()
    with pytest.raises(ReleaseError, match="totals-00000"):
        vdp.load(tmp_path / "out")
    manifest = json.loads((tmp_path / "hidden" / "manifest.json").read_text())
    manifest["totals"] = None
    manifest["digest"] = digest_of(manifest)
    (tmp_path / "hidden" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ReleaseError, match="totals"):
        vdp.load(tmp_path / "hidden")


def test_a_mechanism_that_promises_endless_totals_is_refused():
    schema = vdp.Schema({f"x{i}": vdp.Categorical([f"l{j}" for j in range(64)]) for i in range(40)})
    data = vdp.Mechanism(schema, keep=0.5).to_dict()
    data["totals"] = {"columns": list(schema.columns), "share": 0.5, "split": [0.2, 0.6, 0.2], "scale": [9.0, 9.0, 9.0]}
    with pytest.raises(ParameterError, match="more than 1,000,000"):
        Mechanism.from_dict(data)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::versadp.errors.ClampedWarning")
def test_learnt_bounds_change_the_lattices_of_totals_and_nothing_that_is_claimed(tmp_path):
    schema = vdp.Schema({name: COLUMNS[name] for name in ("x", "c")} | {"k": vdp.Bounded(0, 200, step=1)})
    plan = vdp.fit_bounds(None, schema, epsilon=4, delta=1e-6)
    mech = vdp.calibrate(plan, epsilon=4, delta=1e-6, shuffled=N, groups=[schema.private], totals=True)
    frame = people().assign(x=lambda f: f.x / 10, k=lambda f: f.k.fillna(3))
    frame.to_parquet(tmp_path / "people.parquet")
    options = {"state": tmp_path / "state", "fit_bounds": True, "target": TARGET}
    made = release_file(tmp_path / "people.parquet", tmp_path / "out", mech, **options)
    assert made.mechanism.schema.columns["x"].upper < 200
    assert made.mechanism.totals == mech.totals
    assert made.mechanism.totals_features.columns != mech.totals_features.columns
    epsilons = np.linspace(0, 6, 13)
    claims = [each.privacy("record", shuffled=N).delta(epsilons) for each in (made.mechanism, mech)]
    assert (claims[0] == claims[1]).all()
    assert near(made.totals, frame) < 5


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes(data, tmp_path):
    distributed = pytest.importorskip("distributed")
    go(data, tmp_path / "one", tmp_path / "state")
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with local as cluster, distributed.Client(cluster) as client:
        go(data, tmp_path / "two", tmp_path / "state2", engine=client)
    assert content(tmp_path / "one") == content(tmp_path / "two")
