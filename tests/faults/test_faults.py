"""Disks that fail, files that vanish, change or come back from a backup, and two who work at once."""

import errno
import os
import resource
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import versadp as vdp
from versadp.errors import (
    DataError,
    KeyMaterialError,
    ParameterError,
    ReleaseError,
    SpentError,
    StateError,
    VersadpError,
)
from versadp.release import checkpoints
from versadp.release.files.release import release_file
from versadp_tests.fault_driver import (
    KEY,
    PEOPLE,
    PLAIN,
    ROWS,
    _context,
    act,
    begun,
    contents,
    entries,
    killed_at,
    leftovers,
    mechanism,
    prepare,
    start,
    table,
)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = prepare(tmp_path_factory.mktemp("undisturbed") / "story")
    act(folder, "release")
    return contents(folder)


@pytest.fixture
def story(tmp_path):
    return prepare(tmp_path / "story")


@pytest.fixture
def half(story):
    """Killed when two of three parts are in the ledger."""
    assert killed_at(story, "release", "after part entry", 2)
    return story


@pytest.fixture
def people(tmp_path):
    folder = prepare(tmp_path / "people", people=True)
    act(folder, "release")
    return folder


# disks ---------------------------------------------------------------------------------------------------------


def _limited(folder, limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        act(folder, "release")
    except VersadpError:
        os._exit(3)


@pytest.mark.parametrize("limit", [10, 5_000, 13_000, 18_000])
def test_a_disk_that_is_full(story, undisturbed, limit):
    """The system refuses to let files grow, as a full disk does; with room again the release goes on."""
    process = _context().Process(target=_limited, args=(str(story), limit))
    process.start()
    process.join(60)
    assert process.exitcode == 3
    assert not (story / "out").exists()
    act(story, "release")
    assert contents(story) == undisturbed
    assert begun(story) == 1


def failing(monkeypatch, name, at, number):
    """Make a call of the system fail the nth time."""
    real, count = getattr(os, name), 0

    def call(*arguments, **options):
        nonlocal count
        count += 1
        if count == at:
            raise OSError(number, os.strerror(number))
        return real(*arguments, **options)

    monkeypatch.setattr(os, name, call)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("at", [1, 2, 5, 9, 14, 20, 26, 31, 36])
def test_fsync_that_fails(story, undisturbed, monkeypatch, at):
    with monkeypatch.context() as patch:
        failing(patch, "fsync", at, errno.EIO)
        try:
            act(story, "release")
        except ReleaseError as problem:
            assert "EIO" in str(problem)  # noqa: PT017 - late calls may not be reached
            assert not (story / "out").exists() or len(vdp.load(story / "out").frame) == ROWS
    act(story, "release")
    assert contents(story) == undisturbed
    assert begun(story) == 1
    assert leftovers(story) == []


def test_an_output_that_cannot_be_written(story):
    with pytest.raises(ReleaseError, match="cannot be written"):
        release_file(story / "data.parquet", "/proc/versadp", mechanism(), state=story / "state")
    assert [e["kind"] for e in entries(story, "state")] == ["create", "begin", "abandon"]
    assert list((story / "state").glob("release-*.key")) == []
    (story / "file").write_text("")
    with pytest.raises(ReleaseError, match="cannot be written"):
        release_file(story / "data.parquet", story / "file" / "out", mechanism())
    with pytest.raises(ReleaseError, match="cannot be written"):
        release_file(story / "data.parquet", "/proc/versadp", mechanism())


@pytest.mark.parametrize("what", ["part.write_run", "sorting.write_groups"])
def test_no_room_is_told_apart_from_bad_data(story, monkeypatch, what):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"versadp.release.files.{what}", full)
    with pytest.raises(ReleaseError, match="ENOSPC") as caught:
        act(story, "release")
    assert "run the same command again" in str(caught.value)
    assert begun(story) == 1


# what a release and a ledger may go through ----------------------------------------------------------------------


def test_an_output_that_was_deleted_comes_back_the_same(story, undisturbed):
    act(story, "release")
    shutil.rmtree(story / "out")
    act(story, "release")
    assert contents(story) == undisturbed
    assert begun(story) == 1


@pytest.mark.parametrize(
    ("point", "names"),
    [
        ("after part entry", ["runs/run-00000.arrow", "runs/run-00001.arrow"]),
        ("after output entry", ["release/part-00000.parquet", "release/part-00001.parquet"]),
        ("after output entry", ["runs/run-00000.arrow", "release/part-00001.parquet"]),
        ("after output entry", ["runs/run-00002.arrow", "runs/run-00001.arrow"]),
    ],
)
def test_files_that_are_lost_or_changed_before_publication_are_made_again(story, undisturbed, point, names):
    assert killed_at(story, "release", point, 2)
    (scratch,) = story.glob(".out.*.partial")
    (scratch / names[0]).unlink()
    data = bytearray((scratch / names[1]).read_bytes())
    data[len(data) // 2] ^= 1
    (scratch / names[1]).write_bytes(data)
    act(story, "release")
    assert contents(story) == undisturbed


def test_an_output_that_was_changed_is_refused(people):
    part = people / "out" / "part-00001.parquet"
    data = bytearray(part.read_bytes())
    data[100] ^= 1
    part.write_bytes(data)
    with pytest.raises(ReleaseError):
        act(people, "release")
    part.unlink()
    for verb in ("release", "append", "finalize"):
        with pytest.raises(VersadpError):
            act(people, verb)
    assert begun(people) == 1


def test_a_release_restored_from_a_backup_is_refused(people):
    shutil.copytree(people / "out", people / "backup")
    act(people, "append")
    shutil.rmtree(people / "out")
    shutil.move(people / "backup", people / "out")
    with pytest.raises(StateError, match="restored"):
        act(people, "append")


def restore(folder, names):
    """Restore files of the state; what the user remembers of it is gone too, so that it does not help."""
    shutil.rmtree(folder / "home", ignore_errors=True)
    for name in names:
        shutil.copy2(folder / "backup" / name, folder / "out.provider" / name)


@pytest.mark.parametrize("names", [["ledger.sqlite"], ["anchor.json"], ["ledger.sqlite", "anchor.json"]])
def test_a_ledger_restored_from_a_backup_is_refused(people, names):
    """Alone it does not fit its anchor; with its anchor it does not know the release that is there."""
    shutil.copytree(people / "out.provider", people / "backup")
    act(people, "append")
    before = contents(people)
    restore(people, names)
    for verb in ("append", "release", "finalize"):
        with pytest.raises(StateError, match=r"restored|latest"):
            act(people, verb)
    assert contents(people) == before


def shared(folder, out, **options):
    """Release people into a state folder that serves several releases."""
    return release_file(folder / "data.parquet", folder / out, mechanism(PEOPLE), state=folder / "state", **options)


@pytest.fixture
def restored(tmp_path, monkeypatch):
    """A whole state folder from before the last release, which went to another place."""
    folder = prepare(tmp_path / "shared", people=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "home"))
    release_file(folder / "more.parquet", folder / "one", mechanism(PEOPLE), state=folder / "state")
    shutil.copytree(folder / "state", folder / "backup")
    shared(folder, "two", again="charge")
    shutil.rmtree(folder / "state")
    shutil.move(folder / "backup", folder / "state")
    return folder


def test_a_whole_state_folder_restored_from_a_backup_is_refused(restored):
    """It fits itself, and nothing that it made is at hand: the user remembers it."""
    with pytest.raises(StateError, match="restored from a backup") as caught:
        shared(restored, "three", again="charge")
    assert not (restored / "three").exists()
    Path(caught.value.hint.split("remove ")[1].split(" and run")[0]).unlink()  # the way out that the hint names
    shared(restored, "three", again="charge")


@pytest.mark.parametrize("elsewhere", [0, 1])
def test_two_copies_of_a_state_folder_do_not_both_go_on(restored, monkeypatch, elsewhere):
    """Refused if it is the shorter one, and if it grew as long where another user's memory was in force."""
    shutil.copytree(restored / "state", restored / "copy")
    shutil.rmtree(restored / "home")
    options = {"again": "charge"}
    release_file(restored / "data.parquet", restored / "x", mechanism(PEOPLE), state=restored / "copy", **options)
    with monkeypatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(restored / "another"))
        for i in range(elsewhere):
            shared(restored, f"elsewhere{i}", **options)
    with pytest.raises(StateError, match="it is a copy"):
        shared(restored, "three", **options)


@pytest.mark.parametrize("home", ["/proc/nowhere", "", "relative"])
def test_without_a_place_to_remember_nothing_is_refused(restored, monkeypatch, home):
    monkeypatch.setenv("XDG_STATE_HOME", home)
    monkeypatch.setenv("HOME", "/proc/nowhere")
    shared(restored, "three", again="charge")
    shared(restored, "three")


def test_a_damaged_memory_is_none(restored):
    (memory,) = (restored / "home" / "versadp").glob("*.json")
    memory.write_text("{")
    shared(restored, "three", again="charge")
    memory.write_text('{"number": 99999, "head": "00"}')
    with pytest.raises(StateError, match="restored"):
        shared(restored, "four", again="charge")


@pytest.mark.parametrize("names", [["ledger.sqlite"], ["anchor.json"], ["ledger.sqlite", "anchor.json"]])
def test_a_ledger_that_was_deleted_is_refused(people, half, names):
    for folder, verb in ((people, "append"), (half, "release")):
        for name in names:
            (folder / "out.provider" / name).unlink()
        with pytest.raises(StateError, match="missing"):
            act(folder, verb)


def test_a_state_folder_that_was_deleted_is_refused(people):
    shutil.rmtree(people / "out.provider")
    with pytest.raises(ReleaseError, match="exists already"):
        act(people, "release")
    with pytest.raises(StateError, match="no state folder"):
        act(people, "append")


def flips(folder, name, count):
    """Flip one bit at places all over a file: refused, or without effect; never a release that should not be."""
    story = folder / "story"
    data = (story / "out.provider" / name).read_bytes()
    harmless = 0
    for at in np.linspace(0, len(data) - 1, count).astype(int):
        other = folder / f"flip{at}"
        shutil.copytree(story, other)
        changed = bytearray(data)
        changed[at] ^= 1 << (at % 8)
        (other / "out.provider" / name).write_bytes(changed)
        try:
            act(other, "append")
            harmless += 1
        except VersadpError:
            continue
        yield other
        shutil.rmtree(other)
    assert harmless < count


@pytest.mark.parametrize(("name", "count"), [("ledger.sqlite", 25), ("anchor.json", 6), ("ledger.key", 4)])
def test_a_flipped_bit_in_the_state(tmp_path, name, count):
    story = prepare(tmp_path / "story", people=True)
    act(story, "release")
    shutil.copytree(story, tmp_path / "undisturbed")
    act(tmp_path / "undisturbed", "append")
    for other in flips(tmp_path, name, count):
        assert contents(other) == contents(tmp_path / "undisturbed")


def test_an_entry_that_was_edited_or_cut_is_refused(people):
    ledger = people / "out.provider" / "ledger.sqlite"
    shutil.copytree(people / "out.provider", people / "backup")
    for statement in (
        "UPDATE entries SET body = replace(body, '100000', '000001')",
        "DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)",
        "UPDATE entries SET body = '{}' WHERE number = 2",
        "DELETE FROM people",
        "UPDATE people SET rows = zeroblob(length(rows))",
        "DROP TABLE people",
        "DROP TABLE entries",
    ):
        database = sqlite3.connect(ledger)
        database.execute(statement)
        database.commit()
        database.close()
        with pytest.raises(StateError):
            act(people, "append")
        restore(people, ["ledger.sqlite", "anchor.json"])
    act(people, "append")


# two at once ---------------------------------------------------------------------------------------------------


def _stopping(folder, verb, options, point):
    checkpoints.watch(lambda name: os.kill(os.getpid(), signal.SIGSTOP) if name == point else None)
    act(folder, verb, options)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("data", ["data.parquet", "other.parquet"])
@pytest.mark.parametrize("point", ["after begin entry", "after publish entry"])
def test_two_writers(story, undisturbed, data, point):
    """One is stopped in the middle of its work; the other is refused, whatever it brings; the first then finishes."""
    pq.write_table(table(ROWS, 5), story / "other.parquet")
    first = _context().Process(target=_stopping, args=(str(story), "release", None, point))
    first.start()
    try:
        wait_for_stop(first.pid)
        with pytest.raises(StateError, match="another process"):
            act(story, "release", {"data": story / data})
        os.kill(first.pid, signal.SIGCONT)
        first.join(60)
    finally:
        exit_code = first.exitcode
        first.kill()
    assert exit_code == 0
    assert contents(story) == undisturbed
    if data == "data.parquet":
        act(story, "release", {"data": story / data})
    else:
        with pytest.raises(ReleaseError, match="other records"):
            act(story, "release", {"data": story / data})
    assert contents(story) == undisturbed
    assert begun(story) == 1


def wait_for_stop(pid):
    for _ in range(600):
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
            return
        time.sleep(0.05)
    raise AssertionError("the first process did not get there")


def test_many_writers_at_once_spend_once(story, undisturbed):
    processes = [start(story, "release") for _ in range(4)]
    for process in processes:
        process.join(60)
    assert {process.exitcode for process in processes} <= {0, 3}
    assert any(process.exitcode == 0 for process in processes)
    assert contents(story) == undisturbed
    assert begun(story) == 1


def test_without_the_lock_the_ledger_itself_lets_only_one_spend(story, monkeypatch):
    """Two who both read the ledger before either wrote: the second is turned away inside its transaction."""
    from versadp.release.ledger.entries import Begin
    from versadp.release.ledger.ledger import Ledger

    act(story, "release")
    key = (story / "out.provider" / "ledger.key").read_bytes()
    one, two = Ledger(story / "out.provider", key), Ledger(story / "out.provider", key)
    one.add(Begin("a", "out", {}, "check", (1, 1), "refuse"))
    with pytest.raises(StateError, match="in the meantime"):
        two.add(Begin("b", "out", {}, "check", (1, 1), "refuse"))
    one.close()
    two.close()


def test_a_ledger_that_is_locked(story, undisturbed, monkeypatch):
    act(story, "release")
    shutil.rmtree(story / "out")
    monkeypatch.setattr("versadp.release.ledger.database.BUSY_SECONDS", 0.1)
    database = sqlite3.connect(story / "out.provider" / "ledger.sqlite", isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StateError, match="locked"):
        act(story, "release")
    database.close()
    act(story, "release")
    assert contents(story) == undisturbed


# going on otherwise than one began --------------------------------------------------------------------------------


@pytest.mark.thinned(2)
@pytest.mark.parametrize("rows", [1, 777, 8192, 1_000_000])
def test_resume_with_another_chunk_size_and_engine(half, undisturbed, rows):
    if rows > 1:
        act(half, "release", {"batch_rows": rows, "engine": "threads"})
    else:
        act(half, "release", {"batch_rows": 100, "engine": "serial"})
    assert contents(half) == undisturbed


def test_resume_without_its_key_or_with_another(half):
    (key,) = (half / "out.provider").glob("release-*.key")
    original = key.read_bytes()
    key.write_bytes(vdp.fresh_key())
    with pytest.raises(KeyMaterialError, match="not that of this release"):
        act(half, "release")
    key.unlink()
    with pytest.raises(KeyMaterialError, match="missing"):
        act(half, "release")
    key.write_bytes(original)
    with pytest.raises(KeyMaterialError, match="another key"):
        act(half, "release", {"key": vdp.fresh_key()})
    ledger_key = half / "out.provider" / "ledger.key"
    ledger_key.rename(half / "aside")
    with pytest.raises(KeyMaterialError, match="gone"):
        act(half, "release")
    ledger_key.write_bytes(vdp.fresh_key())
    with pytest.raises(StateError, match="does not belong"):
        act(half, "release")
    assert not (half / "out").exists()


@pytest.mark.parametrize("at", [0, 9000, ROWS - 1])
def test_data_that_changed_since_the_release_began(half, undisturbed, at):
    """Rows that were read before, rows that were not: whatever was recorded must still be there."""
    changed = table().to_pandas()
    changed.loc[at, "x"] = 0.123
    original = (half / "data.parquet").read_bytes()
    changed.to_parquet(half / "data.parquet", index=False)
    if at < 2 * 8192:
        with pytest.raises(StateError, match="not those with which"):
            act(half, "release")
        assert not (half / "out").exists()
        (half / "data.parquet").write_bytes(original)
        act(half, "release")
        assert contents(half) == undisturbed
    else:  # the third part had not been read: nothing of it was ever made
        act(half, "release")
        assert len(vdp.load(half / "out").frame) == ROWS


def test_data_that_changed_when_all_of_it_was_read(story, undisturbed):
    assert killed_at(story, "release", "after output entry", 1)
    changed = table().to_pandas()
    changed.loc[ROWS - 1, "x"] = 0.123
    original = (story / "data.parquet").read_bytes()
    changed.to_parquet(story / "data.parquet", index=False)
    with pytest.raises(StateError, match="not those with which"):
        act(story, "release")
    (story / "data.parquet").write_bytes(original)
    act(story, "release")
    assert contents(story) == undisturbed


def test_fewer_records_than_before(half):
    pq.write_table(table(8192), half / "data.parquet")
    with pytest.raises(StateError, match="not those with which"):
        act(half, "release")


def test_beginning_anew(half):
    pq.write_table(table(5000), half / "data.parquet")
    with pytest.raises(StateError, match="--restart"):
        act(half, "release")
    (old,) = (half / "out.provider").glob("release-*.key")
    act(half, "release", {"restart": True, "key": None})
    assert len(vdp.load(half / "out")) == 5000
    assert not old.exists()
    assert begun(half) == 1
    with pytest.raises(ReleaseError, match="complete"):
        act(half, "release", {"restart": True})


def test_other_noise_is_not_mixed_in(half):
    with pytest.raises(ParameterError, match="other noise"):
        release_file(half / "data.parquet", half / "out", mechanism(scale=0.7))


def test_data_that_change_under_the_reader(story, undisturbed):
    """A new file in place of the old one does not matter; one that is cut short is noticed, and nothing is seen."""
    seen = []

    def swap(name):
        if name == "part written" and not seen:
            seen.append(name)
            pq.write_table(table(ROWS, 3), story / "new.parquet")
            (story / "new.parquet").replace(story / "data.parquet")

    checkpoints.watch(swap)
    try:
        act(story, "release", {"batch_rows": 500})
    finally:
        checkpoints.unwatch(swap)
    assert contents(story) == undisturbed


def test_data_that_are_cut_under_the_reader(story):
    def cut(name):
        if name == "part written":
            os.truncate(story / "data.parquet", 20_000)

    checkpoints.watch(cut)
    try:
        with pytest.raises((DataError, StateError)):
            act(story, "release", {"batch_rows": 500})
    finally:
        checkpoints.unwatch(cut)
    assert not (story / "out").exists()
    assert leftovers(story) == []


def test_partitions_that_changed_places(tmp_path):
    folder = prepare(tmp_path / "story")
    (folder / "parts").mkdir()
    for i in range(3):
        pq.write_table(table(8192, i * 8192), folder / "parts" / f"{i}.parquet")
    options = {"data": folder / "parts"}
    assert killed_at(folder, "release", "after part entry", 2, options)
    names = [folder / "parts" / f"{i}.parquet" for i in (0, 1, 2)]
    names[0].rename(folder / "parts" / "x")
    names[1].rename(names[0])
    (folder / "parts" / "x").rename(names[1])
    with pytest.raises(StateError, match="not those with which"):
        act(folder, "release", options)


def test_the_same_task_twice(people):
    """An append that is run again changes nothing and costs nothing."""
    first = act(people, "append")
    assert (first.new, first.skipped) == (11_000, 1000)
    before = contents(people)
    again = act(people, "append")
    assert (again.new, again.skipped, again.charged) == (0, 12_000, 0)
    assert contents(people) == before
    assert leftovers(people) == []


def test_a_release_that_goes_on_elsewhere(half, undisturbed):
    """The same key in memory gives what the interrupted release gives."""
    act(half, "release")
    values = mechanism(PLAIN).release(table(), key=KEY).frame["x"].to_numpy()
    assert (vdp.load(half / "out").frame["x"].to_numpy() == values).all()


def test_an_unfinished_release_does_not_block_the_next(tmp_path):
    """Its people are not all in the ledger, and nobody saw it: it is given up, and its command begins anew."""
    folder = prepare(tmp_path / "story", people=True)
    state = {"state": folder / "state"}
    assert killed_at(folder, "release", "after part entry", 1, state)
    assert len(list((folder / "state").glob("release-*.key"))) == 1
    release_file(folder / "more.parquet", folder / "two", mechanism(PEOPLE), **state)
    assert leftovers(folder) == []
    assert len(list((folder / "state").glob("release-*.key"))) == 1
    with pytest.raises(SpentError, match="1000 people"):
        act(folder, "release", state)
    assert not (folder / "out").exists()
    act(folder, "release", state | {"again": "charge"})
    assert len(vdp.load(folder / "out")) == ROWS


def test_an_announced_release_stays_when_another_is_begun(tmp_path):
    """It may have been seen, and all of it is in the ledger: nobody is released again, and it is finished later."""
    folder = prepare(tmp_path / "story", people=True)
    state = {"state": folder / "state"}
    assert killed_at(folder, "release", "after publish entry", 1, state)
    with pytest.raises(SpentError, match="1000 people"):
        release_file(folder / "more.parquet", folder / "two", mechanism(PEOPLE), **state)
    release_file(folder / "more.parquet", folder / "two", mechanism(PEOPLE), again="charge", **state)
    act(folder, "release", state)
    assert len(vdp.load(folder / "out")) == ROWS


def test_an_unfinished_release_that_was_refused_another_is_still_there(half):
    """A refusal gives up nothing."""
    assert len(entries(half)) == 4
    with pytest.raises(VersadpError):
        release_file(half / "data.parquet", half / "two", mechanism(PLAIN), state=half / "out.provider", budget=(1, 0))
    assert len(entries(half)) == 4
    act(half, "release")


def test_a_later_release_does_not_stand_in_the_way_of_an_earlier_one(people):
    """Run again after others were released: nothing to do, and a lost folder comes back the same."""
    state = {"state": people / "state"}
    shutil.rmtree(people / "out")
    act(people, "release", state)
    before = contents(people)
    release_file(people / "data.parquet", people / "two", mechanism(PEOPLE), again="charge", **state)
    act(people, "release", state)
    shutil.rmtree(people / "out")
    act(people, "release", state)
    assert contents(people) == before


def test_a_state_of_another_version_is_refused(people, monkeypatch):
    """Its digests may be others, and nobody would be recognised."""
    monkeypatch.setattr("versadp.release.ledger.state._VERSION", 3)
    with pytest.raises(StateError, match="version"):
        act(people, "append")


# publication: what was announced is what is seen ----------------------------------------------------------------------


def other_words(monkeypatch):
    """Another version of versadp, which states the guarantee otherwise."""
    monkeypatch.setattr("versadp.release.target.statement.privacy_statement", lambda *_, **__: "in other words")


@pytest.mark.parametrize("verb", ["release", "append"])
def test_an_announced_manifest_is_used_as_it_stands(tmp_path, monkeypatch, verb):
    """A release that is resumed by a version with other words for the guarantee keeps the words that it began with."""
    folder = prepare(tmp_path / "story", people=True)
    if verb == "append":
        act(folder, "release")
    shutil.copytree(folder, tmp_path / "undisturbed")
    act(tmp_path / "undisturbed", verb, {"key": KEY} if verb == "release" else None)
    assert killed_at(folder, verb, "after publish entry")
    (scratch,) = folder.glob(f".out.*.partial/{verb}")
    announced = (scratch / "manifest.json").read_bytes()
    other_words(monkeypatch)
    act(folder, verb)
    assert (folder / "out" / "manifest.json").read_bytes() == announced
    assert set(contents(folder)) == set(contents(tmp_path / "undisturbed"))
    assert b"in other words" not in announced
    assert leftovers(folder) == []


def test_an_announced_manifest_that_is_lost_is_not_replaced_by_another(story, undisturbed, monkeypatch):
    """The same words give it back; other words, or another manifest under its name, are refused or made anew."""
    assert killed_at(story, "release", "after publish entry")
    (manifest,) = story.glob(".out.*.partial/release/manifest.json")
    text = manifest.read_bytes()
    with monkeypatch.context() as patched:
        other_words(patched)
        for damaged in (None, b"{}", text.replace(b'"insecure": false', b'"insecure": true')):
            manifest.unlink()
            if damaged is not None:
                manifest.write_bytes(damaged)
            with pytest.raises(StateError, match="the manifest came out otherwise"):
                act(story, "release")
            assert not (story / "out").exists()
            assert b"in other words" in manifest.read_bytes()
    act(story, "release")
    assert contents(story) == undisturbed


def test_a_release_is_not_enlarged_after_its_manifest_was_announced(story, tmp_path):
    """Whole parts more than were announced are other data; the right ones still finish the release."""
    pq.write_table(table(2 * 8192), story / "data.parquet")
    shutil.copytree(story, tmp_path / "undisturbed")
    act(tmp_path / "undisturbed", "release")
    for point in ("after publish entry", "after done entry"):
        if point == "after publish entry":
            assert killed_at(story, "release", point)
        else:
            shutil.rmtree(story / "out")  # it is made again
        before = entries(story)
        pq.write_table(table(), story / "data.parquet")
        with pytest.raises(StateError, match="not those with which"):
            act(story, "release")
        assert entries(story) == before
        pq.write_table(table(2 * 8192), story / "data.parquet")
        act(story, "release")
        assert contents(story) == contents(tmp_path / "undisturbed")


@pytest.mark.parametrize(("shuffle", "left"), [(True, "runs/.run-00002.arrow.tmp"), (False, "*/.part-00002.*")])
def test_what_a_killed_process_left_of_other_data_is_not_published(story, shuffle, left):
    """A part of records that are not in the data any more lies about under its temporary name."""
    options = {"shuffle": shuffle}
    assert killed_at(story, "release", "part written", 3, options)
    pq.write_table(table(2 * 8192), story / "data.parquet")
    assert len(list(story.glob(f".out.*.partial/{left}"))) == 1
    act(story, "release", options)
    assert sorted(contents(story)) == ["manifest.json", "part-00000.parquet", "part-00001.parquet"]
    assert len(vdp.load(story / "out").frame) == 2 * 8192
