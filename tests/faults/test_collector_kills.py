"""SIGKILL of a collector at every stage: what was acknowledged is kept, and the release has the same bytes."""

import os
import random

import pytest

import versadp as vdp
from versadp.devices.collection import Settings
from versadp.devices.intake import HEAD, REPORTS, Intake
from versadp.errors import StateError
from versadp_tests.collector_process import LINES, STEP, acknowledged, act, killed_at, points, start, taken
from versadp_tests.reports import MECH, PUBLIC, ROUND, collector, release_bytes


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    passed = points(folder)
    return release_bytes(folder / "round"), passed


def finished(folder, undisturbed):
    """Nothing acknowledged is lost; run again, the release is the same and nothing else is left."""
    if (folder / "round" / "collection.json").exists():
        assert taken(folder) >= acknowledged(folder)
    act(folder)
    assert release_bytes(folder / "round") == undisturbed[0]
    left = sorted(path.name for path in (folder / "round").iterdir())
    assert left == ["closed.json", "collection.json", "lock", "release"]


POINTS = [
    ("before replace", 1),  # of the settings
    ("report checked", 2),
    ("frame written", 2),
    ("frame on disk", 2),
    ("run written", 2),
    ("frame written", 5),  # the announcement of the close
    ("frame on disk", 5),
    ("part written", 1),
    ("before rename", 1),
    ("after rename", 1),
    ("before publication", 1),
    ("after publication", 1),
    ("before replace", 2),  # of the notes of the close
    ("closed", 1),
    ("before unlink", 1),
    ("tidied", 1),
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("point", "nth"), POINTS)
def test_a_collector_that_is_killed_and_started_again(tmp_path, undisturbed, point, nth):
    assert killed_at(tmp_path, point, nth)
    finished(tmp_path, undisturbed)


def test_the_points_of_the_tests_are_all_there_are(undisturbed):
    assert {name for name, _ in undisturbed[1]} == {name for name, _ in POINTS}


@pytest.mark.slow
def test_every_point(tmp_path, undisturbed, record_property):
    for number, (point, nth) in enumerate(undisturbed[1]):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert killed_at(folder, point, nth)
        finished(folder, undisturbed)
    record_property("kills", len(undisturbed[1]))


@pytest.mark.slow
def test_random_kills(tmp_path, undisturbed, record_property):
    rng, kills = random.Random(0), 0
    while kills < 60:
        folder = tmp_path / str(kills)
        folder.mkdir()
        process = start(folder)
        process.join(rng.uniform(0, 1.0))
        if process.exitcode is None:
            process.kill()
        process.join()
        kills += 1
        finished(folder, undisturbed)
    record_property("kills", kills)


def frames(path, payloads, key):
    intake = Intake(path, key)
    list(intake.recover())
    for payload in payloads:
        intake.append(REPORTS, payload)
    intake.close()


def test_a_torn_frame_is_cut_off_wherever_it_ends(tmp_path):
    key, payloads = b"key of the collection", [b"one" * 20, b"two" * 20, b"three" * 20]
    frames(tmp_path / "intake", payloads, key)
    data = (tmp_path / "intake").read_bytes()
    last = len(data) - HEAD.size - len(payloads[-1])
    for end in range(last, len(data), 3):
        for tail in (b"", bytes(40), b"VDPR" * 20):  # cut, zeros of a file system, what looks like a head
            (tmp_path / "torn").write_bytes(data[:end] + tail)
            intake = Intake(tmp_path / "torn", key)
            assert [frame.payload for frame in intake.recover()] == payloads[:2]
            assert intake.size == last == (tmp_path / "torn").stat().st_size
            intake.append(REPORTS, payloads[2])
            intake.close()
            assert (tmp_path / "torn").read_bytes() == data


def test_damage_in_the_middle_is_refused_and_nothing_is_cut_off(tmp_path):
    with collector(tmp_path / "round") as opened:
        for start_at in range(0, 240, STEP):
            opened.take(LINES[start_at : start_at + STEP])
    path = tmp_path / "round" / "intake"
    data = path.read_bytes()
    for at in (0, 5, 20, 30, 200, len(data) // 2):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(StateError, match="damaged in the middle"):
            vdp.devices.Collector(tmp_path / "round")
        assert path.stat().st_size == len(data)
    path.write_bytes(data)
    with vdp.devices.Collector(tmp_path / "round") as opened:
        assert opened.counts == {"taken": 240}


def test_a_failed_fsync_acknowledges_nothing_and_stops_the_collector(tmp_path, monkeypatch):
    """After a failed fsync nobody knows what is on the disk: it is read again from there."""

    def fail(_):
        raise OSError(5, "Input/output error")

    with collector(tmp_path / "round") as opened:
        opened.take(LINES[:10])
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            with pytest.raises(StateError, match="cannot be written"):
                opened.take(LINES[10:20])
        with pytest.raises(StateError, match="could not be written before"):
            opened.take(LINES[10:20])
    with collector(tmp_path / "round") as opened:
        counts = opened.take(LINES[:20])
        assert counts == {"repeated": 10, "taken": 10}


def test_settings_that_were_half_begun_are_begun_anew(tmp_path):
    folder = tmp_path / "round"
    folder.mkdir()
    (folder / ".collection.json.0123abcd.tmp").write_bytes(b"{")
    (folder / "lock").touch()
    collector(folder).close()
    assert Settings.of(MECH, ROUND, 10, public=PUBLIC).differing(vdp.devices.Collector(folder).settings) == []
