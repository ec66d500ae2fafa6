"""Mechanism, device answer and release folder of version 4. NOT FINAL.

`version_4_make.py` says how the folder was made. Columns are compared decoded: how Parquet packs them is not ours.
"""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import versadp as vdp
from golden import version_4_make as made
from versadp_tests.golden_cases import KEY, MECHANISMS, RECORD

HERE = Path(__file__).parent / "version-4-not-final"
GOLDEN = json.loads((Path(__file__).parent / "version-4-not-final.json").read_text())


def test_version_4_keeps_its_text_and_answers():
    mech = vdp.Mechanism.from_json(json.dumps(GOLDEN["mechanism"]))
    assert mech.version == 4
    assert mech.to_dict() == GOLDEN["mechanism"]
    assert mech == vdp.Mechanism.from_json(MECHANISMS["people"]).in_version(4)
    assert mech.privatize(RECORD | {"pid": "ann"}, key=KEY) == GOLDEN["privatize"]
    assert mech.privatize(RECORD | {"pid": "ann"}, key=KEY, context="clinic") == GOLDEN["privatize in a context"]
    assert [law.hex() for law in mech.block_laws] == GOLDEN["laws"]


def stored(folder):
    """The columns of a release folder as they were written, without our reader."""
    parts = sorted(folder.glob("*.parquet"))
    assert parts
    return pq.read_table(parts)


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


@pytest.mark.parametrize(
    ("place", "edition", "folder"),
    [("released", None, ""), ("appended", 1, ""), ("appended", 2, "edition-0002")],
    ids=["released", "appended", "next edition"],
)
def test_a_folder_of_version_4_is_read_as_it_was_written(place, edition, folder):
    release, written = vdp.load(HERE / place, edition=edition), HERE / place / folder
    assert release.frame.equals(stored(written))
    assert release.mechanism == made.mechanism()
    assert manifest(written)["version"] == 4
    assert manifest(written)["totals"] is None
    said = manifest(written)["privacy"]["statement"]
    if (place, edition) == ("appended", 1):  # the reader knows of a later edition, and the manifest cannot
        assert len(release.statement()) > len(said)
    else:
        assert release.statement() == said


def test_the_signature_of_a_folder_of_version_4_holds():
    key = json.loads((HERE / "released" / "manifest.sig").read_text())["key"]
    assert vdp.load(HERE / "released", trusted=key).frame.equals(stored(HERE / "released"))
    with pytest.raises(vdp.errors.ReleaseError):
        vdp.load(HERE / "released", trusted=key[:-1] + ("0" if key[-1] != "0" else "1"))


def test_a_folder_of_version_4_goes_on(tmp_path):
    """The same noise for who is appended and for the next edition, from the state as it was left."""
    made.files(tmp_path)
    for name in ("released", "state"):
        shutil.copytree(HERE / name, tmp_path / name)
    (tmp_path / "state").chmod(0o700)
    out, state = tmp_path / "released", tmp_path / "state"
    done = vdp.append_file(out, tmp_path / "second.parquet", state=state)
    assert (done.new, done.skipped) == (stored(HERE / "appended").num_rows - stored(HERE / "released").num_rows, 0)
    assert stored(out).equals(stored(HERE / "appended"))
    every = tmp_path / "a year later.parquet"
    vdp.release_file(every, None, made.mechanism(), edition_of=out, key=made.NEXT_KEY, again="charge", state=state)
    assert stored(out / "edition-0002").equals(stored(HERE / "appended" / "edition-0002"))


def test_a_fresh_release_of_the_same_people_has_the_same_noise(tmp_path):
    made.files(tmp_path)
    out = tmp_path / "out"
    vdp.release_file(tmp_path / "first.parquet", out, made.mechanism(), key=made.KEY, state=tmp_path / "state")
    assert stored(out).equals(stored(HERE / "released"))
    other = made.KEY[::-1]
    vdp.release_file(tmp_path / "first.parquet", tmp_path / "b", made.mechanism(), key=other, state=tmp_path / "more")
    assert not stored(tmp_path / "b").equals(stored(HERE / "released"))
