"""Stores that fail: errors, silence, answers that drip, parts that are missing, cut or of another release.

The store is a real server in a process of its own; what is bad is the way to it.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import DataError, ReleaseError, StoreError
from versadp.release import object_store as stores
from versadp.release.folder import storage
from versadp_tests.stores import CREDENTIALS, SECRET, BadWay, Store

pytest.importorskip("moto")
pytest.importorskip("flask")

SCHEMA = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
MECHANISM = vdp.Mechanism(SCHEMA, scale=0.2, exact_rate=0.2)
KEY = bytes(range(9, 41))
PLACE = "s3://surveys/released"
SOON = 60.0  # seconds, on a machine that is busy; without a bound all of these would take many minutes, or for ever


@pytest.fixture(scope="module")
def store():
    made = Store()
    yield made
    made.close()


@pytest.fixture(scope="module")
def people():
    x = np.random.default_rng(1).uniform(-1, 1, 2000)
    return pd.DataFrame({"x": x, "y": 1 + x})


@pytest.fixture(scope="module")
def folder(store, people, tmp_path_factory):
    path = tmp_path_factory.mktemp("stores") / "released"
    MECHANISM.release(people, key=KEY).save(path)
    store.put_folder(path, "surveys/released")
    return path


@pytest.fixture
def way(store, folder, monkeypatch):
    """A way to the store that loses its patience soon; no copy is kept of what came over another."""
    made = BadWay(store)
    for name, value in (CREDENTIALS | {"AWS_ENDPOINT_URL": made.url}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(stores, "_SILENCE", 1.0)
    monkeypatch.setattr(stores, "PATIENCE", 12.0)
    for copy in Path(storage._copies().name).iterdir():
        copy.unlink()
    yield made
    made.close()


def seconds(call):
    begun = time.monotonic()
    with pytest.raises(StoreError) as caught:
        call()
    shown = f"{caught.value!r}{caught.value}"
    assert SECRET not in shown
    assert "s3://surveys/" in shown
    return time.monotonic() - begun


def parts(fault):
    """Have parts befallen, and the manifest not."""
    return lambda method, path, _: fault if "part-" in path and method == "GET" else None


def test_an_error_or_two_are_tried_again(way, folder):
    way.fault = lambda _, __, count: 500 if count in {1, 2, 5} else None
    assert vdp.load(PLACE).to_arrow().equals(vdp.load(folder).to_arrow())


@pytest.mark.parametrize("code", [500, 503, 403])
def test_errors_without_end(way, code):
    way.fault = lambda *_: code
    assert seconds(lambda: vdp.load(PLACE)) < SOON
    assert way.count <= 2 * stores.ATTEMPTS


def test_a_store_that_says_nothing(way):
    way.fault = lambda *_: "silent"
    assert seconds(lambda: vdp.load(PLACE)) < SOON
    assert way.count <= stores.ATTEMPTS


def test_an_answer_that_drips(way, monkeypatch):
    """A byte now and then is no silence, so it is the patience that ends it."""
    way.fault = parts("drip")
    monkeypatch.setattr(stores, "PATIENCE", 2.0)
    assert seconds(lambda: vdp.fit(PLACE, "y ~ x")) < SOON


def test_answers_that_are_cut_or_changed(way):
    way.fault = parts("cut")
    with pytest.raises((StoreError, ReleaseError)):
        vdp.load(PLACE).to_arrow()
    way.fault = lambda *_: None
    release = vdp.load(PLACE)
    way.fault = parts("changed")
    with pytest.raises(ReleaseError, match=r"part-00000\.parquet was changed after release"):
        release.to_arrow()
    way.fault = lambda *_: None
    assert len(release.to_arrow()) == 2000  # nothing of it was kept


def test_a_part_is_missing_cut_or_of_another_release(way, store, folder, people, tmp_path):
    MECHANISM.release(people, key=KEY[::-1]).save(tmp_path / "other")
    name = "part-00000.parquet"
    whole, other = (folder / name).read_bytes(), (tmp_path / "other" / name).read_bytes()
    manifest = (folder / "manifest.json").read_bytes()
    for number, (damage, said) in enumerate(
        {None: "missing", whole[:-9]: "another size", other: "size|changed"}.items()
    ):
        place = f"surveys/damaged-{number}"
        store.ask("PUT", f"{place}/manifest.json", manifest)
        if damage is not None:
            store.ask("PUT", f"{place}/{name}", damage)
        with pytest.raises(ReleaseError, match=f"{name} .*({said})"):
            vdp.fit(f"s3://{place}", "y ~ x")


def test_data_that_cannot_be_read_release_nothing(way, store, people, tmp_path):
    people.to_parquet(tmp_path / "people.parquet")
    store.ask("PUT", "surveys/people.parquet", (tmp_path / "people.parquet").read_bytes())
    arguments = "s3://surveys/people.parquet", tmp_path / "out", MECHANISM
    way.fault = lambda _, __, count: 500 if count > 6 else None
    with pytest.raises((StoreError, DataError)) as caught:
        vdp.release_file(*arguments, key=KEY, state=tmp_path / "state")
    assert SECRET not in str(caught.value)
    assert not (tmp_path / "out").exists()
    way.fault = lambda *_: None
    made = vdp.release_file(*arguments, key=KEY, state=tmp_path / "state")
    here = vdp.release_file(
        tmp_path / "people.parquet", tmp_path / "here", MECHANISM, key=KEY, state=tmp_path / "other"
    )
    assert made.to_arrow().equals(here.to_arrow())


def test_putting_that_fails_is_done_again(way, store, folder):
    """Without a manifest there is no release; the same call then makes one."""
    way.fault = lambda method, path, _: 500 if method == "PUT" and "manifest" in path else None
    assert seconds(lambda: vdp.load(folder).save("s3://surveys/again")) < SOON
    way.fault = lambda *_: None
    with pytest.raises(ReleaseError, match="not a release folder"):
        vdp.load("s3://surveys/again")
    vdp.load(folder).save("s3://surveys/again")
    assert vdp.load("s3://surveys/again").to_arrow().equals(vdp.load(folder).to_arrow())


_PUT = """
import os, signal, sys
import versadp as vdp
from versadp.release import checkpoints
checkpoints.watch(lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == sys.argv[1] else None)
vdp.load(sys.argv[2]).save(sys.argv[3])
"""


def test_a_process_is_killed_while_it_puts(way, folder):
    place, environment = "s3://surveys/killed", {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", _PUT, "part put", str(folder), place]
    assert subprocess.run(command, check=False, env=os.environ | environment, timeout=60).returncode == -9
    with pytest.raises(ReleaseError, match="not a release folder"):
        vdp.load(place)
    vdp.load(folder).save(place)
    assert vdp.load(place).to_arrow().equals(vdp.load(folder).to_arrow())
