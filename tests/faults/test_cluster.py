"""Clusters of real processes: a lost worker changes nothing, a lost scheduler is told and what was begun goes on."""

import shutil
import signal
from pathlib import Path

import pytest

import versadp as vdp
from versadp.errors import EngineError, ReleaseError, StateError
from versadp_tests.clusters import Cluster
from versadp_tests.fault_driver import KEY, act, begun, contents, copy, keys, leftovers, prepare, start

pytest.importorskip("distributed")

FORMULA = "y ~ x + C(c)"


@pytest.fixture
def cluster(tmp_path):
    """A scheduler without any worker."""
    (tmp_path / "cluster").mkdir()
    with Cluster(tmp_path / "cluster") as started:
        yield started


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A story that was told here, without a disturbance."""
    folder = prepare(tmp_path_factory.mktemp("undisturbed") / "story")
    act(folder, "release")
    return folder


def killed(process):
    return process.wait(60) == -signal.SIGKILL


def check(folder, undisturbed):
    assert contents(folder) == contents(undisturbed)
    assert begun(folder) == 1
    assert leftovers(folder) == []
    assert keys(folder) == [KEY]


def test_a_worker_is_killed_in_a_release_and_in_a_fit(cluster, undisturbed, tmp_path):
    """By SIGKILL, when its first part is written and has no name yet; then when it begins to read."""
    folder = prepare(tmp_path / "story")
    writer, _ = cluster.worker("part written"), cluster.worker()
    cluster.ready(2)
    act(folder, "release", {"engine": cluster.engine})
    assert killed(writer)
    check(folder, undisturbed)
    reader = cluster.worker("read")
    cluster.ready(2)
    there = vdp.fit(folder / "out", FORMULA, engine=cluster.engine)
    assert killed(reader)
    assert there.to_dict() == vdp.fit(undisturbed / "out", FORMULA, engine="serial").to_dict()
    for spelled in (KEY, KEY.hex().encode()):
        assert spelled not in cluster.logs()


@pytest.mark.slow
@pytest.mark.parametrize(("point", "nth"), [("before rename", 1), ("after rename", 1), ("part written", 3)])
def test_a_worker_is_killed_anywhere(cluster, undisturbed, tmp_path, point, nth):
    """The third file of a worker is a part of the sorted release: the first three of both are runs."""
    folder = prepare(tmp_path / "story")
    worker, _ = cluster.worker(point, nth), cluster.worker()
    cluster.ready(2)
    act(folder, "release", {"engine": cluster.engine})
    assert nth > 1 or killed(worker)  # who shares six files may write fewer than three
    check(folder, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("nth", [1, 4])
def test_the_scheduler_is_lost_in_a_release(cluster, undisturbed, tmp_path, nth):
    """The error says so, and the same command goes on where it stopped: on another cluster, or here."""
    folder = prepare(tmp_path / "story")
    cluster.worker("part written", nth, cluster.scheduler.pid)
    cluster.ready(1)
    with pytest.raises(EngineError, match="lost") as caught:
        act(folder, "release", {"engine": cluster.engine})
    assert "a release goes on" in caught.value.hint
    assert killed(cluster.scheduler)
    assert not (folder / "out").exists()
    act(folder, "release")
    check(folder, undisturbed)


@pytest.mark.slow
def test_the_scheduler_is_lost_in_a_fit(cluster, undisturbed):
    cluster.worker("read", 2, cluster.scheduler.pid)
    cluster.ready(1)
    with pytest.raises(EngineError, match="lost"):
        vdp.fit(undisturbed / "out", FORMULA, engine=cluster.engine)
    assert killed(cluster.scheduler)


@pytest.mark.slow
def test_a_part_is_missing_cut_or_of_another_release(cluster, undisturbed, tmp_path):
    cluster.worker()
    act(other := prepare(tmp_path / "other"), "release", {"key": KEY[::-1]})
    for number, damage in enumerate(["missing", "cut", "other"]):
        folder = copy(undisturbed / "out", tmp_path / str(number))
        release, part = vdp.load(folder), folder / "part-00001.parquet"
        if damage == "missing":
            part.unlink()
        elif damage == "cut":
            part.write_bytes(part.read_bytes()[:-100])
        else:
            shutil.copy(other / "out" / part.name, part)
        with pytest.raises(ReleaseError, match=r"part-00001\.parquet|a part"):
            vdp.fit(release, FORMULA, engine=cluster.engine)


@pytest.mark.slow
def test_two_drivers_on_one_release(cluster, undisturbed, tmp_path):
    """The first waits for a worker; the second is refused; then the first is finished."""
    folder = prepare(tmp_path / "story")
    first = start(folder, "release", {"engine": cluster.engine})
    while not list(folder.glob(".out.*.partial")):
        assert first.is_alive()
    with pytest.raises(StateError, match="another process"):
        act(folder, "release", {"engine": cluster.engine})
    cluster.worker()
    first.join(120)
    assert first.exitcode == 0
    check(folder, undisturbed)


@pytest.mark.slow
def test_workers_with_another_version_are_refused(cluster, undisturbed, tmp_path):
    """Those that are there, and one that comes while others work."""
    source = Path(vdp.__file__).parent
    shutil.copytree(source, tmp_path / "other" / "versadp", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "other" / "versadp" / "errors.py").open("a") as file:
        file.write("\n# another version\n")
    cluster.worker(path=tmp_path / "other")
    with pytest.raises(EngineError, match="runs another version of versadp than the driver") as caught:
        vdp.fit(undisturbed / "out", FORMULA, engine=cluster.engine)
    assert "same versions" in caught.value.hint


@pytest.mark.slow
def test_a_cluster_without_workers(cluster, undisturbed, monkeypatch):
    monkeypatch.setattr("versadp.engine.dask.PATIENCE", 1.0)
    with pytest.raises(EngineError, match="no worker"):
        vdp.fit(undisturbed / "out", FORMULA, engine=cluster.engine)


@pytest.mark.slow
def test_the_last_worker_is_lost(cluster, undisturbed, monkeypatch):
    cluster.worker("read", 2)
    cluster.ready(1)
    monkeypatch.setattr("versadp.engine.dask.PATIENCE", 6.0)
    with pytest.raises(EngineError, match="has had no worker"):
        vdp.fit(undisturbed / "out", FORMULA, engine=cluster.engine)


@pytest.mark.slow
def test_a_cluster_of_this_machine(undisturbed, tmp_path):
    """Started by its name, and gone afterwards."""
    import psutil

    folder = prepare(tmp_path / "story")
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    act(folder, "release", {"engine": "dask"})
    check(folder, undisturbed)
    assert vdp.fit(folder / "out", FORMULA, engine="dask") == vdp.fit(undisturbed / "out", FORMULA, engine="serial")
    left = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    assert not [p for p in left if "spawn_main" in " ".join(p.cmdline())]
