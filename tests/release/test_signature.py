"""Signatures: a release that is not its signer's is refused, and no crash or copy loses or spoils a signature."""

import json
import os
import shutil
import stat
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp.errors import KeyMaterialError, ParameterError, ReleaseError, StateError
from versadp.release import checkpoints
from versadp.release.files.append import append_file
from versadp.release.files.finalize import finalize
from versadp.release.files.release import release_file
from versadp.release.folder.manifest import digest_of
from versadp.release.folder.signature import SIGNATURE, Signature, key_text

MECH = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}, id="pid"), scale=0.25, exact_rate=0.2)
KEY = bytes(range(3, 35))
OTHER = bytes(range(70, 102))


class Killed(BaseException):
    """The end of a process, at a named point."""


def die(point, call):
    """Call something that ends at a point."""

    def watcher(name):
        if name == point:
            raise Killed

    checkpoints.watch(watcher)
    try:
        with pytest.raises(Killed):
            call()
    finally:
        checkpoints.unwatch(watcher)


def write(path, first, rows=40):
    frame = pd.DataFrame({"pid": range(first, first + rows), "age": [18 + i % 70 for i in range(rows)]})
    frame.to_parquet(path)
    return path


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "people.parquet", 0)


@pytest.fixture
def more(tmp_path):
    return write(tmp_path / "more.parquet", 100)


@pytest.fixture
def signed(tmp_path, data):
    """Return a signed release, its public key and its state."""
    home = tmp_path / "state"
    release_file(data, tmp_path / "out", MECH, state=home, sign=True, key=KEY)
    return tmp_path / "out", vdp.sign(tmp_path / "out", state=home), home


def forge(folder, change):
    """Change a manifest and make its digest right again."""
    data = json.loads((folder / "manifest.json").read_text())
    change(data)
    data["digest"] = digest_of(data)
    (folder / "manifest.json").write_text(json.dumps(data, indent=2))


def test_who_trusts_the_key_can_load(signed, tmp_path):
    folder, key, home = signed
    (tmp_path / "key.txt").write_text(f"{key}\n")
    for trusted in (
        key,
        key.encode(),
        f" {key}\n",
        bytes.fromhex(key[8:]),
        tmp_path / "key.txt",
        str(tmp_path / "key.txt"),
    ):
        assert len(vdp.load(folder, trusted=trusted)) == 40
    assert stat.S_IMODE((home / "signing.key").stat().st_mode) == 0o600
    assert (home / "signing.key").read_bytes().hex() not in (folder / SIGNATURE).read_text()


def test_a_changed_manifest_is_refused(signed):
    folder, key, _ = signed
    forge(folder, lambda data: data["metadata"].update(curator="Somebody else"))
    assert vdp.load(folder).metadata.curator == "Somebody else"  # nothing is claimed without a key
    with pytest.raises(ReleaseError, match="not one of this manifest"):
        vdp.load(folder, trusted=key)


def test_changed_records_are_refused(signed):
    folder, key, _ = signed
    (part,) = folder.glob("part-*")
    data = bytearray(part.read_bytes())
    data[40] ^= 1
    part.write_bytes(data)
    with pytest.raises(ReleaseError, match="changed after release"):
        vdp.load(folder, trusted=key).to_arrow()


def test_another_key_is_refused_whatever_the_file_says(signed):
    folder, key, _ = signed
    manifest = (folder / "manifest.json").read_bytes()
    (folder / SIGNATURE).write_bytes(Signature.make(OTHER, manifest).text())
    with pytest.raises(ReleaseError, match="another key"):
        vdp.load(folder, trusted=key)
    lying = Signature(bytes.fromhex(key[8:]), Signature.make(OTHER, manifest).signatures)
    (folder / SIGNATURE).write_bytes(lying.text())
    with pytest.raises(ReleaseError, match="not one of this manifest"):
        vdp.load(folder, trusted=key)


def test_a_signature_of_another_manifest_is_refused(signed, tmp_path, more):
    folder, key, home = signed
    release_file(more, tmp_path / "second", MECH, state=home, sign=True)
    assert vdp.load(tmp_path / "second", trusted=key)
    shutil.copy(tmp_path / "second" / SIGNATURE, folder / SIGNATURE)
    with pytest.raises(ReleaseError, match="not one of this manifest"):
        vdp.load(folder, trusted=key)


def test_no_signature_is_refused(signed):
    folder, key, _ = signed
    (folder / SIGNATURE).unlink()
    assert len(vdp.load(folder)) == 40
    with pytest.raises(ReleaseError, match="not signed"):
        vdp.load(folder, trusted=key)


def spoilt_files(text):
    """Return files that are no signatures: cut, empty, of other fields or kinds, and much too long."""
    data = json.loads(text)
    wrong = [
        data | {"version": 2},
        data | {"version": True},
        data | {"format": "x"},
        data | {"more": 1},
        {key: value for key, value in data.items() if key != "key"},
        data | {"signatures": []},
        data | {"signatures": data["signatures"] * 3},
        data | {"signatures": [data["signatures"][0][:-2]]},
        data | {"signatures": [3]},
        data | {"signatures": data["signatures"][0]},
        data | {"key": data["key"].upper()},
        data | {"key": data["key"][:-2]},
        [data],
    ]
    texts = [text[:-9], b"", b"\xff\xfe\x00", b"[" * 4000, text + b" " * 4096]
    return [*(json.dumps(each).encode() for each in wrong), *texts]


def test_spoilt_signature_files_are_refused_and_copied_nowhere(signed, tmp_path):
    folder, key, _ = signed
    whole = (folder / SIGNATURE).read_bytes()
    for number, text in enumerate(spoilt_files(whole)):
        (folder / SIGNATURE).write_bytes(text)
        with pytest.raises(ReleaseError):
            vdp.load(folder, trusted=key)
        if number % 6 == 0:
            vdp.load(folder).save(tmp_path / f"copy{number}")
            assert not (tmp_path / f"copy{number}" / SIGNATURE).exists()


def test_a_huge_signature_file_is_not_read(signed):
    folder, key, _ = signed
    with (folder / SIGNATURE).open("wb") as file:
        file.truncate(2**40)  # a terabyte of nothing
    with pytest.raises(ReleaseError, match="is not a signature"):
        vdp.load(folder, trusted=key)


@pytest.mark.skipif(os.name != "posix", reason="pipes and links")
def test_pipes_and_links_are_refused(signed, tmp_path):
    folder, key, _ = signed
    outside = shutil.copy(folder / SIGNATURE, tmp_path / "outside")
    (folder / SIGNATURE).unlink()
    (folder / SIGNATURE).symlink_to(outside)
    with pytest.raises(ReleaseError, match="link"):
        vdp.load(folder, trusted=key)
    (folder / SIGNATURE).unlink()
    os.mkfifo(folder / SIGNATURE)
    with pytest.raises(ReleaseError, match="is not a signature"):
        vdp.load(folder, trusted=key)


@pytest.mark.parametrize("trusted", ["", "no/such/file", b"", b"x" * 31, "ed25519:00", 3, ["k"], "ed25519:" + "g" * 64])
def test_what_is_no_key_is_refused_before_anything_is_read(trusted, tmp_path):
    with pytest.raises(ParameterError, match="not a public key"):
        vdp.load(tmp_path / "nowhere", trusted=trusted)


def test_a_rerun_and_a_resume_give_the_same_signature(tmp_path, data, signed):
    folder, key, home = signed
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    release_file(data, folder, MECH, state=home, sign=True)
    assert vdp.sign(folder, state=home) == key
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    second = tmp_path / "second"
    second.mkdir()

    def call():
        release_file(data, second / "out", MECH, state=tmp_path / "new", sign=True, key=KEY)

    for point in ("before publish entry", "after publish entry", "after publication"):
        die(point, call)
        assert point == "after publication" or not (second / "out").exists()
    call()
    assert {path.name for path in (second / "out").iterdir()} == set(before)
    assert vdp.load(second / "out", trusted=vdp.sign(second / "out", state=tmp_path / "new"))
    assert [path.name for path in second.iterdir()] == ["out"]


@pytest.mark.parametrize(
    "point", ["after publish entry", "part moved", "signature moved", "after publication", "before done entry"]
)
def test_at_every_moment_of_an_append_a_reader_finds_a_signature_that_fits(signed, more, point):
    folder, key, home = signed
    seen = []

    def watcher(_):
        seen.append(len(vdp.load(folder, trusted=key)))

    checkpoints.watch(watcher)
    try:
        die(point, lambda: append_file(folder, more, state=home))
        assert len(vdp.load(folder, trusted=key)) == (80 if point in {"after publication", "before done entry"} else 40)
        append_file(folder, more, state=home)
    finally:
        checkpoints.unwatch(watcher)
    assert set(seen) <= {40, 80}
    assert len(vdp.load(folder, trusted=key)) == 80
    assert {path.name for path in folder.iterdir()} == {
        "manifest.json",
        SIGNATURE,
        "part-00000.parquet",
        "part-00001.parquet",
    }
    third = write(more.with_name("third.parquet"), 500)
    append_file(folder, third, state=home)
    assert len(vdp.load(folder, trusted=key)) == 120
    assert len(json.loads((folder / SIGNATURE).read_text())["signatures"]) == 2


def test_an_append_to_what_is_not_signed_signs_nothing(tmp_path, data, more):
    release_file(data, tmp_path / "out", MECH)
    append_file(tmp_path / "out", more)
    assert not (tmp_path / "out" / SIGNATURE).exists()


def test_an_append_without_the_signing_key_is_refused_before_anything_is_spent(signed, more):
    folder, key, home = signed
    secret = (home / "signing.key").read_bytes()
    before = (home / "anchor.json").read_bytes()
    for change in ((home / "signing.key").unlink, lambda: (home / "signing.key").write_bytes(OTHER)):
        change()
        with pytest.raises(KeyMaterialError, match="signing key is not in the state folder"):
            append_file(folder, more, state=home)
        assert (home / "anchor.json").read_bytes() == before
    (home / "signing.key").write_bytes(secret)
    append_file(folder, more, state=home)
    assert len(vdp.load(folder, trusted=key)) == 80


def test_a_release_is_signed_later_and_after_finalize(tmp_path, data):
    folder = tmp_path / "out"
    release_file(data, folder, MECH)
    assert not (folder / SIGNATURE).exists()
    finalize(folder)
    key = vdp.sign(folder)
    assert vdp.load(folder, trusted=key)


def test_finalize_and_sweeps_keep_the_signing_key(signed, more, tmp_path):
    folder, key, home = signed
    finalize(folder, state=home)
    assert list(home.glob("release-*.key")) == []
    release_file(more, tmp_path / "second", MECH, state=home, sign=True)
    assert vdp.load(tmp_path / "second", trusted=key)


def test_only_what_the_ledger_knows_is_signed(signed):
    folder, _, home = signed
    forge(folder, lambda data: data["metadata"].update(curator="Somebody else"))
    with pytest.raises(StateError, match="does not know this release"):
        vdp.sign(folder, state=home)


def test_a_stray_signature_is_not_published(tmp_path, data):
    """What a killed process left in the unfinished release is swept, also if it is called like a signature."""
    folder = tmp_path / "out"
    die("after publish entry", lambda: release_file(data, folder, MECH))
    (scratch,) = tmp_path.glob(".out.*.partial/release")
    (scratch / SIGNATURE).write_text("stray")
    release_file(data, folder, MECH)
    assert not (folder / SIGNATURE).exists()


def test_save_copies_the_signature(signed, tmp_path):
    folder, key, _ = signed
    vdp.load(folder).save(tmp_path / "copy")
    assert (tmp_path / "copy" / SIGNATURE).read_bytes() == (folder / SIGNATURE).read_bytes()
    assert vdp.load(tmp_path / "copy", trusted=key)


def test_the_commands(tmp_path, data):
    schema = tmp_path / "schema.toml"
    schema.write_text('id = "pid"\n[columns.age]\ntype = "bounded"\nlower = 18\nupper = 90\n')
    out, home = str(tmp_path / "out"), str(tmp_path / "state")
    begin = ["release", str(data), "--schema", str(schema), "--out", out, "--scale", "0.25", "--state", home]

    def run(*command):
        return CliRunner().invoke(main, list(command))

    assert run(*begin).exit_code == 0
    none = run("ledger", "--state", home, "--public-key")
    assert none.exit_code == 2
    assert "has no key" in none.output
    key = run("sign", out, "--state", home).output
    assert (
        key
        == run("ledger", "--state", home, "--public-key").output
        == run("ledger", out, "--state", home, "--public-key").output
    )
    assert vdp.load(out, trusted=key)
    again = run(*[*begin[:5], str(tmp_path / "other"), *begin[6:], "--again", "charge", "--sign"])
    assert again.exit_code == 0
    assert key.strip() in again.output
    assert vdp.load(tmp_path / "other", trusted=key)


def test_the_key_is_standard():
    """The first test vector of RFC 8032: other software checks what is signed here."""
    secret = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    made = Signature.make(secret, b"")
    assert key_text(made.key) == "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert made.signatures[0].hex().startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155")


def test_a_store_gets_the_signature_before_the_manifest(tmp_path, data, more, monkeypatch):
    puts, objects = [], {}

    class Place:
        def __init__(self, name=""):
            self.name = name

        def __truediv__(self, name):
            return Place(name)

        def put(self, text):
            puts.append(self.name)
            objects[self.name] = text

        def read(self, most):
            if self.name not in objects:
                raise FileNotFoundError
            return objects[self.name]

    from versadp.release.folder import publish

    def put():
        puts.clear()
        loaded = vdp.load(tmp_path / "out")
        publish._put(Place(), loaded._folder.storage, loaded.manifest)
        return list(puts)

    def fits():
        return Signature.parse(objects[SIGNATURE]).fits(objects["manifest.json"])

    release_file(data, tmp_path / "out", MECH)
    assert put() == ["part-00000.parquet", "manifest.json"]
    vdp.sign(tmp_path / "out")
    assert put() == [SIGNATURE]
    assert put() == []
    append_file(tmp_path / "out", more)
    watched = []
    monkeypatch.setattr(publish, "reached", lambda _: watched.append(fits()))
    assert put() == ["part-00001.parquet", SIGNATURE, "manifest.json"]
    assert watched == [True, True, True]
    assert Path(tmp_path / "out" / SIGNATURE).read_bytes() == objects[SIGNATURE]


def test_editions_of_a_signed_release_are_signed_and_keep_its_metadata(signed, data, monkeypatch):
    folder, key, home = signed
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1775044800")
    changed = folder.parent / "changed.parquet"
    pd.read_parquet(data).assign(age=44).to_parquet(changed)
    append_file(folder, changed, state=home, again="charge")
    newest = vdp.load(folder, trusted=key)
    assert newest.edition == 2
    assert newest.metadata.date == "2026-04-01"
    assert newest.metadata.earlier == 0  # the edition before is counted in the figures
    assert len(vdp.load(folder, edition=1, trusted=key)) == 40
    (folder / "edition-0002" / SIGNATURE).unlink()
    with pytest.raises(ReleaseError, match="not signed"):
        vdp.load(folder, trusted=key)
    assert vdp.sign(folder, state=home) == key
    assert vdp.load(folder, trusted=key).edition == 2
    vdp.load(folder).save(folder.parent / "copy")
    assert vdp.load(folder.parent / "copy", trusted=key).edition == 2
    assert {path.name for path in folder.iterdir()} == {
        "manifest.json",
        SIGNATURE,
        "part-00000.parquet",
        "edition-0002",
    }
