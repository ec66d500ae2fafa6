"""Release folders: manifests that come back to the byte, handles that are read elsewhere, columns that are not read."""

import hashlib
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import versadp as vdp
from versadp.engine import Pool
from versadp.errors import ParameterError, ReleaseError
from versadp.release.folder import folder as folders
from versadp.release.folder.folder import Handle, open_folder
from versadp.release.folder.manifest import Manifest, digest_of, read_manifest
from versadp_tests.engine_work import sum_of_rows

GOLDEN = Path(__file__).parents[1] / "golden"
OLD = sorted(path.parent for path in GOLDEN.rglob("manifest.json"))
SCHEMA = vdp.Schema(
    {"x": vdp.Bounded(0, 1), "x.y": vdp.Bounded(0, 1), "c": vdp.Categorical(["a", "b"]), "t": vdp.Public()}
)
MECH = vdp.Mechanism(SCHEMA, scale=0.5, exact_rate=0.1, keep=0.5)
ROWS = 1000
GROUPS = [300, 300, 100, 300]  # two parts of 700 and 300 rows, in groups of at most 300


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "PART_ROWS", 700)
    monkeypatch.setattr(folders, "GROUP_ROWS", 300)
    number = np.arange(ROWS)
    frame = pd.DataFrame(
        {"x": number / ROWS, "x.y": 1 - number / ROWS, "c": np.array(["a", "b"])[number % 2], "t": number}
    )
    MECH.release(frame, shuffle=False).save(tmp_path / "released")
    return tmp_path / "released"


def stored(path):
    """All records, without our reader."""
    return pa.concat_tables([pq.read_table(part) for part in sorted(path.glob("*.parquet"))])


# manifests -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", OLD, ids=[path.name for path in OLD])
def test_an_old_manifest_comes_back_to_the_byte(place, tmp_path):
    manifest = read_manifest(place)
    manifest.write(tmp_path)
    assert (tmp_path / "manifest.json").read_bytes() == (place / "manifest.json").read_bytes()
    assert manifest.to_dict()["version"] == (4 if "version-4-not-final" in place.parts else 1)
    assert Manifest.from_dict(manifest.to_dict()) == manifest


def test_a_manifest_is_made_as_it_always_was():
    """Head, order of the keys, digest: only the figures of the guarantee may differ in their last digits."""
    old = json.loads((GOLDEN / "files" / "appended" / "manifest.json").read_text())
    manifest = read_manifest(GOLDEN / "files" / "appended")
    made = Manifest.of(manifest.mechanism, manifest.parts)
    assert list(made.to_dict()) == list(old)
    assert made.to_dict() | {"privacy": 0, "digest": 0} == old | {"privacy": 0, "digest": 0}
    body = {key: value for key, value in made.to_dict().items() if key != "digest"}
    assert made.digest == hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    assert made.privacy["statement"] == old["privacy"]["statement"]


def test_a_manifest_has_the_version_of_its_mechanism_and_a_grid_in_the_first_alone(saved):
    manifest = read_manifest(saved)
    first = Manifest.of(MECH.in_version(1), manifest.parts)
    data = first.to_dict()
    assert (data["version"], manifest.to_dict()["version"]) == (1, 4)
    own = {"metadata", "edition", "earlier", "batches", "totals"}
    assert [key for key in data if key != "grid"] == [key for key in manifest.to_dict() if key not in own]
    assert data["grid"] == {"x": 16, "x.y": 16}
    assert Manifest.from_dict(data) == first
    with pytest.raises(ReleaseError, match="version"):
        Manifest.from_dict(signed(manifest.to_dict() | {"grid": {"x": 16, "x.y": 16}}))
    with pytest.raises(ReleaseError, match="version is not that"):
        Manifest.from_dict(signed(data | {"mechanism": MECH.to_dict()}))
    with pytest.raises(ReleaseError, match="grid"):
        Manifest.from_dict(signed(data | {"grid": {"x": 12, "x.y": 16}}))


def signed(data):
    return data | {"digest": digest_of(data)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"insecure": 1}, "insecure"),
        ({"privacy": "good"}, "privacy"),
        ({"rows": 1000.0}, "rows"),
        ({"rows": 999}, "row counts"),
        ({"parts": {}}, "parts"),
        ({"version": [1]}, "version"),
        ({"version": 5}, "version"),
        ({"version": 1}, "version"),
        ({"grid": {}}, "version"),
        ({"mechanism": None}, "mechanism"),
    ],
)
def test_a_signed_manifest_with_wrong_values_is_refused(saved, changes, message):
    with pytest.raises(ReleaseError, match=message) as caught:
        Manifest.from_dict(signed(read_manifest(saved).to_dict() | changes))
    assert caught.value.hint == "fetch the release again"


@pytest.mark.parametrize(
    "changes",
    [{"file": "../part-00000.parquet"}, {"rows": -700}, {"bytes": True}, {"sha256": None}, {"more": 1}],
)
def test_a_signed_manifest_with_a_wrong_part_is_refused(saved, changes):
    data = read_manifest(saved).to_dict()
    data["parts"][0] |= changes
    with pytest.raises(ReleaseError):
        Manifest.from_dict(signed(data))


BATCH = {"rows": 1000, "parts": 2, "alike": None, "weaker": False}
EARLIER = {"number": 1, "rows": 9, "manifest": "0" * 64, "mechanism": MECH.to_dict(), "versions": 1}
EARLIER |= {"order": {"sorted": True, "alike": [9]}}


@pytest.mark.parametrize(
    "changes",
    [
        {"batches": []},
        {"batches": [BATCH | {"rows": 999}]},
        {"batches": [BATCH | {"rows": -1}]},
        {"batches": [BATCH | {"parts": 1}]},
        {"batches": [BATCH | {"alike": 1001}]},
        {"batches": [BATCH | {"alike": True}]},
        {"batches": [BATCH | {"weaker": 0}]},
        {"batches": [BATCH | {"more": 1}]},
        {"batches": [BATCH, {"rows": 0, "parts": 0, "alike": 0, "weaker": False}]},
        {"edition": 2},
        {"edition": True},
        {"earlier": [EARLIER]},
        {"earlier": {}},
        *({"edition": 2, "earlier": [EARLIER | {name: value}]} for name, value in (
            ("number", 2), ("rows", 8), ("rows", -1), ("manifest", "0"), ("mechanism", None), ("versions", 0),
            ("versions", 10**9), ("order", None), ("more", 1),
        )),
        {"metadata": None},
        {"metadata": {"title": "x"}},
        {"totals": {}},
    ],
)  # fmt: skip
def test_a_signed_manifest_with_wrong_batches_or_editions_is_refused(saved, changes):
    data = read_manifest(saved).to_dict()
    assert data["batches"] == [BATCH]
    with pytest.raises(ReleaseError):
        Manifest.from_dict(signed(data | changes))


def test_a_manifest_states_what_all_editions_tell_together(saved):
    data = read_manifest(saved).to_dict()
    manifest = Manifest.from_dict(signed(data | {"edition": 2, "earlier": [EARLIER]}))
    made = Manifest.of(MECH, manifest.parts, earlier=manifest.earlier)
    assert Manifest.from_dict(made.to_dict()) == made
    release = vdp.Release(pa.table({}), MECH, manifest=made)
    assert release.edition == 2
    assert release.privacy("record").delta(1) == MECH.privacy("record").compose(2).delta(1) > MECH.privacy().delta(1)
    (figure,) = [delta for epsilon, delta in made.privacy["editions"]["record"]["epsilon_delta"] if epsilon == 1]
    assert figure == release.privacy("record").delta(1)
    assert "all 2 editions" in made.privacy["statement"]
    assert "editions" not in read_manifest(saved).privacy


def test_a_loaded_release_is_saved_as_it_is(saved, tmp_path):
    """Other cuts would have other digests, and an update would count all records again."""
    release = vdp.load(saved)
    for name, act in {"loaded": lambda: None, "read": lambda: release.frame}.items():
        act()
        release.save(tmp_path / name)
        for path in saved.iterdir():
            assert (tmp_path / name / path.name).read_bytes() == path.read_bytes()


# handles -------------------------------------------------------------------------------------------------------------


def test_handles_are_the_row_groups_in_order(saved):
    handles = open_folder(saved).handles()
    assert [handle.rows for handle in handles] == GROUPS
    assert [handle.first for handle in handles] == [0, 300, 600, 700]
    assert [(handle.file, handle.group) for handle in handles] == [
        ("part-00000.parquet", 0),
        ("part-00000.parquet", 1),
        ("part-00000.parquet", 2),
        ("part-00001.parquet", 0),
    ]
    assert all(len(pickle.dumps(handle)) < 300 for handle in handles)


def test_what_handles_read_is_the_release(saved):
    folder = open_folder(saved)
    tables = [folder.read_handle(handle) for handle in folder.handles()]
    assert [table.num_rows for table in tables] == GROUPS
    assert pa.concat_tables(tables).equals(stored(saved))
    chosen = pa.concat_tables([folder.read_handle(handle, ["t", "x"]) for handle in folder.handles()])
    assert chosen.equals(stored(saved).select(["t", "x"]))


def test_batches_of_some_columns(saved):
    folder = open_folder(saved)
    batches = list(folder.batches(128, ["c", "x"]))
    assert max(batch.num_rows for batch in batches) <= 128
    assert pa.Table.from_batches(batches).equals(stored(saved).select(["c", "x"]))
    assert pa.Table.from_batches(list(folder.batches(128))).equals(stored(saved))


@pytest.mark.parametrize("name", ["z", "X", "x.", "__index_level_0__"])
def test_a_column_that_is_not_there_is_refused_and_not_passed_over(saved, name):
    folder = open_folder(saved)
    with pytest.raises(ParameterError, match="no column"):
        folder.read_handle(folder.handles()[0], [name])
    with pytest.raises(ParameterError, match="no column"):
        list(folder.batches(100, ["x", name]))


def test_a_handle_of_another_release_is_refused(saved):
    with pytest.raises(ParameterError, match="no part"):
        open_folder(saved).read_handle(Handle("part-00007.parquet", 0, 0, 300))


def test_handles_are_made_without_reading_records(saved):
    """All bytes before the footers may be gone; a part's size is all that opening looks at."""
    wanted = open_folder(saved).handles()
    for path in saved.glob("*.parquet"):
        data = bytearray(path.read_bytes())
        footer = int.from_bytes(data[-8:-4], "little") + 8
        data[4:-footer] = bytes(len(data) - footer - 4)
        path.write_bytes(data)
    folder = open_folder(saved)
    assert folder.handles() == wanted
    with pytest.raises(ReleaseError, match="changed after release"):  # and are not read unchecked
        folder.read_handle(wanted[0])


def test_a_footer_that_says_otherwise_than_the_manifest(saved):
    """The size is right, so opening lets it pass."""
    manifest = read_manifest(saved)
    one, two = manifest.parts
    Manifest.of(MECH, [replace(one, rows=701), replace(two, rows=299)]).write(saved)
    with pytest.raises(ReleaseError, match="other records"):
        open_folder(saved).handles()
    (saved / one.name).write_bytes(bytes(one.size))
    with pytest.raises(ReleaseError, match="changed after release"):
        open_folder(saved).handles()


# columns that are not asked for --------------------------------------------------------------------------------------


def spoil(path, column):
    """Overwrite all that a file holds of a column."""
    data, footer = bytearray(path.read_bytes()), pq.read_metadata(path)
    for group in range(footer.num_row_groups):
        for number in range(footer.num_columns):
            chunk = footer.row_group(group).column(number)
            if chunk.path_in_schema == column:
                pages = [chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset]
                data[min(pages) : min(pages) + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(data)


def test_columns_that_are_not_asked_for_are_not_read(saved):
    """A column's bytes are spoilt after they were checked: whoever touches them fails."""
    folder, before = open_folder(saved), stored(saved)
    handles = folder.handles()
    assert folder.read().num_rows == ROWS  # now both parts are checked
    for path in saved.glob("*.parquet"):
        spoil(path, "x")
    kept = ["x.y", "c", "t"]
    assert pa.concat_tables([folder.read_handle(handle, kept) for handle in handles]).equals(before.select(kept))
    assert pa.Table.from_batches(list(folder.batches(100, kept))).equals(before.select(kept))
    for columns in (None, ["x"]):
        with pytest.raises(ReleaseError, match="cannot be read"):
            folder.read_handle(handles[0], columns)
        with pytest.raises(ReleaseError, match="cannot be read"):
            list(folder.batches(100, columns))


def test_arrow_is_asked_for_these_columns_alone(saved, monkeypatch):
    asked = []

    class Spy(pq.ParquetFile):
        def read_row_group(self, i, columns=None, **options):
            asked.append(columns)
            return super().read_row_group(i, columns=columns, **options)

        def iter_batches(self, batch_size=65_536, columns=None, **options):
            asked.append(columns)
            return super().iter_batches(batch_size, columns=columns, **options)

    folder = open_folder(saved)
    monkeypatch.setattr(pq, "ParquetFile", Spy)
    folder.read_handle(folder.handles()[0], ("t",))
    list(folder.batches(100, ("c", "t")))
    assert asked == [["t"], ["c", "t"], ["c", "t"]]


# folders in other processes ------------------------------------------------------------------------------------------


def counted(monkeypatch):
    """Return the list of files whose bytes are digested from now on."""
    seen, real = [], vars(vdp.release.folder.part_file)["sha256"]
    monkeypatch.setattr("versadp.release.folder.part_file.sha256", lambda path: seen.append(path.name) or real(path))
    return seen


def test_a_part_is_checked_once_a_process_also_by_copies(saved, monkeypatch):
    folder, seen = open_folder(saved), counted(monkeypatch)
    for handle in folder.handles():
        copy = pickle.loads(pickle.dumps(folder))
        assert copy == folder
        copy.read_handle(pickle.loads(pickle.dumps(handle)))
    list(folder.batches(100))
    assert seen == ["part-00000.parquet", "part-00001.parquet"]


def test_threads_that_want_the_same_part_check_it_once(saved, monkeypatch):
    folder, seen = open_folder(saved), counted(monkeypatch)
    list(Pool("threads", 4).map(folder.read_handle, folder.handles()))
    assert sorted(seen) == ["part-00000.parquet", "part-00001.parquet"]


def test_a_folder_that_is_opened_anew_is_checked_anew(saved):
    first = open_folder(saved)
    first.read()
    part = saved / "part-00001.parquet"
    # the name of who wrote the file: without our digest nobody would notice
    part.write_bytes(part.read_bytes().replace(b"parquet-cpp-arrow version", b"PARQUET-CPP-ARROW VERSION"))
    assert pq.read_table(part).num_rows == 300
    second = open_folder(saved)
    second.read_handle(second.handles()[0])
    with pytest.raises(ReleaseError, match="changed after release"):
        second.read_handle(second.handles()[-1])
    part.unlink()
    with pytest.raises(ReleaseError, match="changed after release"):
        second.read_handle(Handle("part-00001.parquet", 0, 700, 300))


def test_a_part_may_be_read_while_its_digest_is_taken_and_is_refused_all_the_same(saved, monkeypatch):
    folder, digest = open_folder(saved), folders.PartFile.is_intact
    begun, read = Event(), Event()

    def slowly(part, place):
        begun.set()
        assert read.wait(20)
        return digest(part, place)

    monkeypatch.setattr(folders.PartFile, "is_intact", slowly)
    ahead, handles = replace(folder, ahead=True), folder.handles()
    with ThreadPoolExecutor(1) as other:
        taken = other.submit(ahead.read_handle, handles[0])
        assert begun.wait(20)
        assert ahead.read_handle(handles[1]).num_rows == 300  # before the digest is there
        read.set()
        assert taken.result().num_rows == 300
        ahead.check()


def test_a_fit_refuses_a_part_that_was_changed_however_it_is_read(saved):
    part = saved / "part-00001.parquet"
    part.write_bytes(part.read_bytes().replace(b"parquet-cpp-arrow version", b"PARQUET-CPP-ARROW VERSION"))
    for engine in ("serial", "threads"):
        with pytest.raises(ReleaseError, match=r"part-00001\.parquet was changed after release"):
            vdp.fit(saved, "t ~ x", engine=engine)


def test_records_that_were_read_ahead_wait_for_a_digest_that_another_takes(saved):
    """Somebody else is at it, and finds that the part was changed: who read it meanwhile must not use it."""
    release = vdp.load(saved)
    part, other = saved / "part-00000.parquet", folders._checking[release._source._opening, "part-00000.parquet"]
    part.write_bytes(part.read_bytes().replace(b"parquet-cpp-arrow version", b"PARQUET-CPP-ARROW VERSION"))
    with other, ThreadPoolExecutor(1) as thread:
        found = thread.submit(vdp.fit, release, "t ~ x", engine="serial")
        with pytest.raises(TimeoutError):
            found.result(timeout=1)
        other.release()
        with pytest.raises(ReleaseError, match=r"part-00000\.parquet was changed after release"):
            found.result(timeout=20)
        other.acquire()


def test_handles_are_read_in_other_processes(saved, monkeypatch):
    monkeypatch.chdir(saved.parent)
    folder = open_folder("released")
    monkeypatch.chdir("/")  # a process may stand elsewhere
    sums = Pool("processes", 2).map(partial(sum_of_rows, folder, "t"), folder.handles())
    assert list(sums) == [sum(range(a, b)) for a, b in ((0, 300), (300, 600), (600, 700), (700, 1000))]
