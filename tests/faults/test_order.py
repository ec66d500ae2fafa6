"""What lies on the disk at the moment at which a process dies: the order that makes a crash harmless."""

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import versadp as vdp
from versadp.release.folder.part_file import PartFile
from versadp_tests.fault_driver import KEY, ROWS, act, entries, keys, killed_at, prepare


@pytest.fixture
def story(tmp_path):
    return prepare(tmp_path / "story")


def test_the_key_is_on_the_disk_before_there_is_noise(story):
    assert killed_at(story, "release", "after begin entry")
    assert keys(story) == [KEY]
    assert list(story.glob(".out*")) == []


def test_every_part_is_in_the_ledger_before_the_manifest_names_it(story):
    assert killed_at(story, "release", "before publish entry")
    made = sorted(story.glob(".out.*.partial/release/part-*"))
    runs = sorted(story.glob(".out.*.partial/runs/run-*"))
    assert [path.name for path in made] == [f"part-0000{i}.parquet" for i in range(3)]
    known = entries(story)
    written = {kind: [entry["file"] for entry in known if entry["kind"] == kind] for kind in ("part", "output")}
    sizes = [8192, 8192, ROWS - 2 * 8192]
    assert written["part"] == [PartFile.of(path, rows).to_dict() for path, rows in zip(runs, sizes, strict=True)]
    sizes = [pq.read_metadata(path).num_rows for path in made]
    assert sum(sizes) == ROWS
    assert written["output"] == [PartFile.of(path, rows).to_dict() for path, rows in zip(made, sizes, strict=True)]


@pytest.mark.parametrize("point", ["part written", "after rename", "before publish entry", "after publish entry"])
def test_nothing_is_seen_of_a_release_before_it_is_whole(story, point):
    assert killed_at(story, "release", point)
    assert not (story / "out").exists()


def test_what_is_seen_is_whole(story):
    assert killed_at(story, "release", "after publication")
    assert len(vdp.load(story / "out").frame) == ROWS


@pytest.mark.parametrize("point", ["after publish entry", "part moved"])
def test_nothing_is_seen_of_an_append_before_it_is_whole(tmp_path, point):
    folder = prepare(tmp_path / "story", people=True)
    act(folder, "release")
    manifest = (folder / "out" / "manifest.json").read_bytes()
    assert killed_at(folder, "append", point)
    assert (folder / "out" / "manifest.json").read_bytes() == manifest
    assert len(vdp.load(folder / "out").frame) == ROWS


def test_whatever_gets_a_name_is_on_the_disk_first_and_its_folder_afterwards(tmp_path, monkeypatch):
    """No SIGKILL shows a missing fsync, a loss of power does: so the calls themselves are looked at."""
    events = []
    real = {name: getattr(os, name) for name in ("fsync", "rename", "replace")}

    def fsync(handle):
        events.append(("sync", os.fstat(handle).st_ino))
        real["fsync"](handle)

    def named(name):
        def call(source, target):
            # what a user remembers may be lost, and runs are made again
            if "home" not in Path(target).parts and Path(target).suffix != ".arrow":
                events.append((Path(target).name, Path(source).stat().st_ino, Path(target).parent.stat().st_ino))
            real[name](source, target)

        return call

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", named("rename"))
    monkeypatch.setattr(os, "replace", named("replace"))
    folder = prepare(tmp_path / "story", people=True)
    act(folder, "release")
    act(folder, "append")
    given = [(i, event) for i, event in enumerate(events) if event[0] != "sync"]
    assert {"out", "anchor.json", "manifest.json", "part-00002.parquet"} <= {event[0] for _, event in given}
    for i, (name, inode, parent) in given:
        assert ("sync", inode) in events[:i], name
        assert ("sync", parent) in events[i + 1 :], name
