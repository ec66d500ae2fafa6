"""Releases and data in a store: read, put, appended to; against a real server that speaks S3."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp.errors import DataError, ParameterError, ReleaseError, StoreError
from versadp.release import checkpoints
from versadp.release.folder import storage
from versadp.release.object_store import Stored, place_of
from versadp_tests.stores import CREDENTIALS, SECRET, Store

pytest.importorskip("moto")
pytest.importorskip("flask")

SCHEMA = vdp.Schema({"x": vdp.Bounded(-1, 1), "c": vdp.Categorical(["u", "v"]), "y": vdp.Public()})
MECHANISM = vdp.Mechanism(SCHEMA, scale=0.2, exact_rate=0.2, keep=0.5)
KEY = bytes(range(3, 35))


@pytest.fixture(scope="module")
def store():
    made = Store()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def environment(store, monkeypatch):
    for name, value in (CREDENTIALS | {"AWS_ENDPOINT_URL": store.url}).items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 3000)
    return pd.DataFrame({"x": x, "c": rng.choice(["u", "v"], 3000), "y": 1 + x + rng.normal(size=3000)})


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "released"
    MECHANISM.release(people, key=KEY).save(path)
    return path


def test_a_release_is_read_where_it_is(store, folder):
    store.put_folder(folder, "surveys/a/released")
    there, here = vdp.load("s3://surveys/a/released"), vdp.load(folder)
    assert repr(there).endswith("in a store>")
    assert there.to_arrow().equals(here.to_arrow())
    assert there.handles() == here.handles()
    assert there.types == here.types
    assert vdp.fit("s3://surveys/a/released", "y ~ x + C(c)") == vdp.fit(folder, "y ~ x + C(c)")
    assert vdp.describe("s3://surveys/a/released/").to_dict() == vdp.describe(folder).to_dict()


def test_a_cluster_reads_a_release_and_data_where_they_are(store, folder, people, client, tmp_path):
    """Each worker by itself: what is sent are addresses."""
    store.put_folder(folder, "surveys/far")
    assert vdp.fit("s3://surveys/far", "y ~ x", engine=client) == vdp.fit(folder, "y ~ x")
    people.to_parquet(tmp_path / "people.parquet")
    store.ask("PUT", "surveys/people.parquet", (tmp_path / "people.parquet").read_bytes())
    made = [
        vdp.release_file(data, tmp_path / name, MECHANISM, key=KEY, state=tmp_path / f"state-{name}", engine=engine)
        for name, data, engine in (
            ("there", "s3://surveys/people.parquet", client),
            ("here", tmp_path / "people.parquet", "serial"),
        )
    ]
    assert made[0].to_arrow().equals(made[1].to_arrow())


def test_a_part_is_fetched_once_and_travels_as_a_name(store, folder):
    store.put_folder(folder, "surveys/once")
    release = vdp.load("s3://surveys/once")
    first = release.read(release.handles()[0])
    Stored.at("s3://surveys/once/part-00000.parquet").put(b"something else by now")
    handle = vdp.load(folder).handles()[0]
    assert release.read(handle).equals(first)
    sent = pickle.dumps(release._source)
    assert len(sent) < 600
    assert not any(word.encode() in sent for word in CREDENTIALS.values() if len(word) > 9)


def test_a_release_is_put_parts_first_and_manifest_last(store, folder, people):
    seen = []
    checkpoints.watch(seen.append)
    try:
        vdp.load(folder).save("s3://surveys/put/released")
        assert seen == ["part put", "manifest put"]
        vdp.load("s3://surveys/put/released").save("s3://surveys/put/copy")
        assert len(seen) == 4
        vdp.load(folder).save("s3://surveys/put/released")  # again: nothing is to be done
        assert len(seen) == 4
    finally:
        checkpoints.unwatch(seen.append)
    for name in ("released", "copy"):
        for path in folder.iterdir():
            assert store.ask("GET", f"surveys/put/{name}/{path.name}") == path.read_bytes()
    other = MECHANISM.release(people, key=KEY[::-1])
    with pytest.raises(ReleaseError, match="another release already"):
        other.save("s3://surveys/put/released")
    other.save("s3://surveys/put/other")  # out of memory
    assert vdp.load("s3://surveys/put/other").to_arrow().equals(other.to_arrow())


def test_what_was_appended_is_put_too(tmp_path):
    schema = vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid")
    mechanism = vdp.Mechanism(schema, scale=0.2, exact_rate=0.2)
    for name, first in (("one", 0), ("two", 50)):
        pd.DataFrame({"pid": range(first, first + 50), "x": 0.5}).to_parquet(tmp_path / f"{name}.parquet")
    out, home = tmp_path / "out", tmp_path / "state"
    vdp.release_file(tmp_path / "one.parquet", out, mechanism, state=home).save("s3://surveys/grows")
    before = vdp.load("s3://surveys/grows")
    vdp.append_file(out, tmp_path / "two.parquet", state=home)
    vdp.load(out).save("s3://surveys/grows")
    assert len(before.to_arrow()) == 50  # whoever opened it before reads what it was
    assert vdp.load("s3://surveys/grows").to_arrow().equals(vdp.load(out).to_arrow())
    with pytest.raises(ReleaseError, match="replaced or appended to"):
        before.save("s3://surveys/grows")  # there is no way back


def test_editions_are_put_beside_what_is_there(tmp_path):
    """Without a listing; and whoever stopped between parts and manifest sees the edition before."""
    schema = vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid")
    mechanism = vdp.Mechanism(schema, scale=0.2, exact_rate=0.2)
    for name, value in (("one", 0.5), ("two", 0.7)):
        pd.DataFrame({"pid": range(50), "x": value}).to_parquet(tmp_path / f"{name}.parquet")
    out, home = tmp_path / "out", tmp_path / "state"
    vdp.release_file(tmp_path / "one.parquet", out, mechanism, state=home).save("s3://surveys/editions")
    vdp.release_file(tmp_path / "two.parquet", None, mechanism, edition_of=out, state=home)

    def stop(name):
        if name == "part put":
            raise KeyboardInterrupt

    checkpoints.watch(stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            vdp.load(out).save("s3://surveys/editions")
    finally:
        checkpoints.unwatch(stop)
    assert vdp.load("s3://surveys/editions").edition == 1
    vdp.load(out, edition=1).save("s3://surveys/editions")  # whichever was loaded, all are put
    for number in (1, 2):
        there, here = (vdp.load(place, edition=number) for place in ("s3://surveys/editions", out))
        assert (there.edition, there.to_arrow()) == (number, here.to_arrow())
        assert there.statement() == here.statement()
    assert vdp.load("s3://surveys/editions").edition == 2
    assert vdp.load("s3://surveys/editions/edition-0002").edition == 2
    vdp.load("s3://surveys/editions").save(tmp_path / "back")
    assert vdp.load(tmp_path / "back", edition=1).to_arrow().equals(vdp.load(out, edition=1).to_arrow())


def test_data_are_read_where_they_are(store, people, tmp_path):
    people.iloc[:1000].to_parquet(tmp_path / "a.parquet")
    people.iloc[1000:].to_parquet(tmp_path / "b.parquet")
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_feather(tmp_path / "people.arrow", compression="uncompressed")
    for name in ("a.parquet", "b.parquet"):
        store.ask("PUT", f"surveys/data/many/{name}", (tmp_path / name).read_bytes())
    store.ask("PUT", "surveys/data/many/.hidden.parquet", b"no data")
    for name in ("people.csv", "people.arrow"):
        store.ask("PUT", f"surveys/data/{name}", (tmp_path / name).read_bytes())
    made = []
    for number, name in enumerate(["many", "people.csv", "people.arrow"]):
        out = tmp_path / str(number)
        vdp.release_file(f"s3://surveys/data/{name}", out, MECHANISM, key=KEY, state=tmp_path / f"state{number}")
        made.append(vdp.load(out).to_arrow())
    people.to_parquet(tmp_path / "people.parquet")
    here = vdp.release_file(tmp_path / "people.parquet", tmp_path / "out", MECHANISM, key=KEY, state=tmp_path / "state")
    assert all(each.equals(here.to_arrow()) for each in made)
    with pytest.raises(DataError, match="there is nothing at s3://surveys/data/none"):
        vdp.release_file("s3://surveys/data/none", tmp_path / "no", MECHANISM, state=tmp_path / "none")
    store.ask("PUT", "surveys/data/bad.parquet", b"PAR1 and nothing else")
    with pytest.raises(DataError, match=r"bad\.parquet cannot be read as Parquet"):
        vdp.release_file("s3://surveys/data/bad.parquet", tmp_path / "no", MECHANISM, state=tmp_path / "none")


def test_commands_take_addresses(store, people, tmp_path):
    def run(*arguments):
        result = CliRunner().invoke(main, [str(each) for each in arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    people.to_parquet(tmp_path / "people.parquet")
    store.ask("PUT", "surveys/commands/people.parquet", (tmp_path / "people.parquet").read_bytes())
    data, place, out = "s3://surveys/commands/people.parquet", "s3://surveys/commands/released", tmp_path / "out"
    assert "columns" in run("schema", "init", data)
    SCHEMA.to_toml(tmp_path / "schema.toml")
    noise = ("--schema", tmp_path / "schema.toml", "--scale", 0.2, "--keep", 0.6, "--state", tmp_path / "state")
    run("release", data, "--out", out, *noise)
    assert run("upload", out, place) == run("upload", out, place) == f"3,000 records at {place}\n"
    assert run("fit", place, "y ~ x", "--format", "json") == run("fit", out, "y ~ x", "--format", "json")
    assert run("describe", place) == run("describe", out)
    refused = CliRunner().invoke(main, ["release", data, "--out", place, *map(str, noise)])
    assert refused.exit_code == 2
    assert "s3:// is no folder of this machine" in refused.stderr
    assert CliRunner().invoke(main, ["upload", str(out), str(tmp_path / "copy")]).exit_code == 2


def test_a_release_is_made_in_a_folder(tmp_path, people):
    people.to_parquet(tmp_path / "people.parquet")
    with pytest.raises(ParameterError, match="s3:// is no folder of this machine") as caught:
        vdp.release_file(tmp_path / "people.parquet", "s3://surveys/direct", MECHANISM, state=tmp_path / "state")
    assert "save(" in caught.value.hint
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("address", [f"s3://AKID:{SECRET}@surveys/x", f"s3://{SECRET}@surveys/x", "s3://surveys:1/x"])
def test_credentials_in_an_address_are_refused_and_not_shown(address):
    with pytest.raises(ParameterError, match="no user, password or port") as caught:
        vdp.load(address)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["s3://", "s3:///x", "s3://surveys", "s3://surveys/a//b", "s3://surveys/../x", "s3://S/x"]
)
def test_what_is_no_address(address):
    with pytest.raises(ParameterError, match="no address in a store"):
        place_of(address, "a release")


def test_what_is_not_there():
    with pytest.raises(ReleaseError, match="'s3://surveys/nothing' is not a release folder"):
        vdp.load("s3://surveys/nothing")
    with pytest.raises(ReleaseError, match="not a release folder"):
        vdp.load("s3://nobody/has/it")


def test_a_manifest_of_any_size_is_not_read(store, monkeypatch):
    monkeypatch.setattr(storage, "MAX_MANIFEST", 1000)
    store.ask("PUT", "surveys/large/manifest.json", b" " * 1001)
    with pytest.raises(ReleaseError, match="no readable manifest"):
        vdp.load("s3://surveys/large")


def test_room_for_copies_is_bounded(store, folder, monkeypatch):
    store.put_folder(folder, "surveys/room")
    release = vdp.load("s3://surveys/room")
    (handle,) = release.handles()
    size = (folder / handle.file).stat().st_size
    place = Path(storage._copies().name)
    monkeypatch.setattr(storage, "KEPT_BYTES", size + 10)
    for old in place.iterdir():
        old.unlink()
    (place / ("0" * 64)).write_bytes(b"0" * 100)
    release.read(handle)
    assert [path.stat().st_size for path in place.iterdir()] == [size]
    monkeypatch.setattr(storage, "KEPT_BYTES", size - 1)
    (next(place.iterdir())).unlink()
    with pytest.raises(ReleaseError, match="larger than what is kept"):
        release.read(handle)
    assert not list(place.iterdir())


def test_another_server_needs_an_address(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://me:{SECRET}@127.0.0.1")
    with pytest.raises(ParameterError, match="AWS_ENDPOINT_URL") as caught:
        Stored.at("s3://surveys/x").size()
    assert SECRET not in str(caught.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(StoreError, match="cannot be reached"):
        Stored.at("s3://surveys/x").size()


@pytest.mark.full
def test_a_signature_goes_into_the_store_and_is_checked_there(tmp_path):
    schema = vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid")
    mechanism = vdp.Mechanism(schema, scale=0.2, exact_rate=0.2)
    for name, first in (("one", 0), ("two", 50)):
        pd.DataFrame({"pid": range(first, first + 50), "x": 0.5}).to_parquet(tmp_path / f"{name}.parquet")
    out, home, place = tmp_path / "out", tmp_path / "state", "s3://surveys/signed"
    vdp.release_file(tmp_path / "one.parquet", out, mechanism, state=home).save(place)
    key = vdp.sign(out, state=home)
    with pytest.raises(ReleaseError, match="not signed"):
        vdp.load(place, trusted=key)
    vdp.load(out).save(place)  # again: the signature alone is new
    assert len(vdp.load(place, trusted=key)) == 50
    vdp.append_file(out, tmp_path / "two.parquet", state=home)
    seen = []

    def watcher(name):
        if name in {"part put", "signature put", "manifest put"}:
            seen.append((name, len(vdp.load(place, trusted=key))))

    checkpoints.watch(watcher)
    try:
        vdp.load(out).save(place)
    finally:
        checkpoints.unwatch(watcher)
    assert seen == [("part put", 50), ("signature put", 50), ("manifest put", 100)]
    vdp.load(place, trusted=key).save(tmp_path / "back")
    assert vdp.load(tmp_path / "back", trusted=key).to_arrow().equals(vdp.load(out).to_arrow())
    Stored.at(f"{place}/manifest.sig").put(b"x" * 5000)
    with pytest.raises(ReleaseError, match="is not a signature"):
        vdp.load(place, trusted=key)
