"""Releases: from frames, second randomisation, signed samples, folders."""

import json
import shutil

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import versadp as vdp
from versadp.errors import DataError, ParameterError, ReleaseError
from versadp.noise import ZeroInflatedSymmetricLaplace

SCHEMA = vdp.Schema(
    {"x": vdp.Bounded(-1, 1), "z": vdp.Bounded(0, 10), "c": vdp.Categorical(["a", "b", "d"]), "y": vdp.Public()}
)
MECH = vdp.Mechanism(SCHEMA, scale=0.5, exact_rate=0.2, keep=0.5)


def people(n=2000):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "x": rng.uniform(-1, 1, n),
            "z": rng.uniform(0, 10, n),
            "c": rng.choice(["a", "b", "d"], n),
            "y": rng.random(n),
        }
    )


@pytest.fixture(scope="module")
def release():
    return MECH.release(people())


def test_second_changes_just_the_numeric_columns(release):
    x2 = release.second(random_state=0)
    assert (x2["c"] == release.frame["c"]).all()
    assert (x2["y"] == release.frame["y"]).all()
    noise = (x2["z"] - release.frame["z"]) / (0.5 * 10)
    assert noise.var() == pytest.approx(0.2, rel=0.25)
    assert release.second(random_state=0).equals(x2)
    assert not release.second(random_state=1).equals(x2)


def test_augment_shape_and_weights(release):
    frame, weight, record = release.augment(draws=4, extension="none", return_record=True, random_state=0)
    assert len(frame) == len(weight) == len(record) == 2000 * 5 * 3
    assert list(frame.columns) == list(SCHEMA.columns)
    assert np.bincount(record, weight) == pytest.approx(np.ones(2000))
    assert (frame["y"].to_numpy() == release.frame["y"].to_numpy()[record]).all()


def test_augment_of_some_columns_corrects_just_their_blocks(release):
    frame, weight = release.augment(columns=["c", "y"])
    assert list(frame.columns) == ["c", "y"]
    assert len(frame) == 2000 * 3
    frame, weight = release.augment(draws=2, columns=["x"], extension="none")
    assert list(frame.columns) == ["x"]
    assert len(frame) == 2000 * 3
    frame, weight = release.augment(columns=["y"])
    assert (weight == 1).all()


def test_augment_keeps_the_kind(release):
    table = vdp.Release.from_frame(pl.from_pandas(release.frame), MECH)
    assert isinstance(table.augment(draws=1)[0], pl.DataFrame)
    assert isinstance(table.second(), pl.DataFrame)


@pytest.mark.parametrize("extension", ["zero", "clip", "damped"])
def test_points_of_an_extension(release, extension):
    frame, _ = release.augment(draws=2, extension=extension, random_state=0)
    half = MECH.blocks[0].step / 2
    if extension != "damped":
        assert frame["z"].between(0 - half[1], 10 + half[1]).all()
    assert frame["z"].between(-2.5 * 5 - 1, 10 + 2.5 * 5 + 1).all()


def test_augment_refuses_what_cannot_be(release):
    for draws in (0, -1, 1.5, True, "3"):
        with pytest.raises(ParameterError):
            release.augment(draws=draws)
    with pytest.raises(ParameterError, match="no extension"):
        release.augment(extension="mirror")
    with pytest.raises(ParameterError, match="no column"):
        release.augment(columns=["w"])
    exact = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1)}), scale=1).release(pd.DataFrame({"x": [0.5]}))
    with pytest.raises(ParameterError, match="analytic"):
        exact.augment()
    many = vdp.Schema({f"c{j}": vdp.Categorical(list(range(30))) for j in range(4)})
    wide = vdp.Mechanism(many, keep=0.5).release(pd.DataFrame({f"c{j}": [1] for j in range(4)}))
    with pytest.raises(ParameterError, match="columns="):
        wide.augment()


# from frames ---------------------------------------------------------------------------------------------------


def test_a_scaled_column_is_refused(release):
    scaled = release.frame.assign(x=(release.frame["x"] - release.frame["x"].mean()) / release.frame["x"].std())
    with pytest.raises(DataError, match=r"'x' has .* off the release grid"):
        vdp.Release.from_frame(scaled, MECH)
    assert vdp.Release.from_frame(scaled, MECH, on_grid=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda z: z.clip(0, 10), "clamped"),
        (lambda z: z.round(1), "off the release grid"),
        (lambda z: z / 10, "off the release grid"),
        (lambda z: z + 1e-5, "off the release grid"),
        (lambda z: np.log1p(np.abs(z)), "after release"),
    ],
)
@pytest.mark.parametrize("rows", [100, 2000])
def test_what_is_done_to_a_column_after_release_is_noticed(release, change, message, rows):
    spoilt = release.frame.assign(z=change(release.frame["z"]))[:rows]
    with pytest.raises(DataError, match=f"'z'.*{message}"):
        vdp.Release.from_frame(spoilt, MECH)


def test_a_researchers_own_noise_is_accepted_unless_asked_otherwise():
    frame = people()
    law = ZeroInflatedSymmetricLaplace(0.2, np.diag([1.0, 5.0]) ** 2)
    own = frame.copy()
    own[["x", "z"]] += law.rvs(len(frame), 3)
    assert vdp.Release.from_frame(own, MECH)
    with pytest.raises(DataError):
        vdp.Release.from_frame(own, MECH, on_grid=True)


def test_from_frame_refuses_other_columns(release):
    with pytest.raises(DataError, match="missing columns"):
        vdp.Release.from_frame(release.frame.drop(columns="x"), MECH)


# folders -------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, release):
    release.save(tmp_path / "released")
    return tmp_path / "released"


def test_save_and_load(folder, release):
    loaded = vdp.load(folder)
    assert loaded.mechanism == MECH
    assert len(loaded) == 2000
    assert isinstance(loaded.frame, pa.Table)
    assert loaded.to_pandas().astype(str).equals(release.frame.astype(str))
    assert isinstance(loaded.to_polars(), pl.DataFrame)
    assert sum(batch.num_rows for batch in loaded.batches(300)) == 2000
    assert sum(batch.num_rows for batch in vdp.load(folder).batches(300)) == 2000
    assert not loaded.insecure
    assert sorted(p.name for p in folder.iterdir()) == ["manifest.json", "part-00000.parquet"]
    assert pd.read_parquet(folder / "part-00000.parquet").shape == (2000, 4)


def test_manifest_says_what_an_analyst_needs(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["rows"] == 2000
    assert [block["columns"] for block in manifest["mechanism"]["blocks"]] == [["x", "z"], ["c"]]
    assert "assume that they can be recognised" in manifest["privacy"]["statement"]
    assert manifest["privacy"]["record"]["delta_floor"] >= 0.2
    for unit in ("record", "attribute"):
        for epsilon, delta in manifest["privacy"][unit]["epsilon_delta"]:
            assert delta == pytest.approx(MECH.privacy(unit).delta(epsilon))


def test_insecure_is_stamped(tmp_path):
    with pytest.warns(vdp.errors.InsecureWarning):
        MECH.release(people(10), insecure_seed=1).save(tmp_path / "r")
    assert vdp.load(tmp_path / "r").insecure


def test_empty_release(tmp_path):
    MECH.release(people(0)).save(tmp_path / "r")
    assert len(vdp.load(tmp_path / "r").frame) == 0


def test_parts_of_records_that_are_alike_may_be_long(tmp_path, monkeypatch):
    """Sorted by hash, equal rows stand in one part, however many they are."""
    monkeypatch.setattr("versadp.release.folder.folder.PART_ROWS", 300)
    schema = vdp.Schema({"c": vdp.Categorical(["u", "v"])})
    release = vdp.Mechanism(schema, keep=0.5).release(pd.DataFrame({"c": ["u", "v"] * 1000}))
    release.save(tmp_path / "r")
    assert len(vdp.load(tmp_path / "r").to_pandas()) == 2000


def test_many_parts(tmp_path, release, monkeypatch):
    monkeypatch.setattr("versadp.release.folder.folder.PART_ROWS", 300)
    release.save(tmp_path / "r")
    assert len(list((tmp_path / "r").glob("part-*.parquet"))) == 7
    assert vdp.load(tmp_path / "r").to_pandas().astype(str).equals(release.frame.astype(str))


def test_a_release_is_written_once_and_whole(folder, release, tmp_path, monkeypatch):
    with pytest.raises(ReleaseError, match="exists already"):
        release.save(folder)
    monkeypatch.setattr(pq, "write_table", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        release.save(tmp_path / "other")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["released"]


def edit(folder, change):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def sign(manifest):
    from versadp.release.folder.manifest import digest_of

    manifest["digest"] = digest_of(manifest)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["mechanism"]["blocks"][0].update(exact_rate=0.3), "edited"),
        (lambda m: m["mechanism"]["blocks"][0]["scale"].update(x=0.1), "edited"),
        (lambda m: m.update(rows=5), "edited"),
        (lambda m: m.update(version=99), "version"),
        (lambda m: m.pop("privacy"), "version"),
        (lambda m: m.update(extra=1), "version"),
        (lambda m: (m.update(rows=5), sign(m)), "row counts"),
        (lambda m: (m.update(version=1), sign(m)), "version"),
        (lambda m: (m["mechanism"]["blocks"][0].update(exact_rate=7), sign(m)), "not valid"),
        (lambda m: (m["parts"][0].update(file="../secret.parquet"), sign(m)), "does not write"),
        (lambda m: (m["parts"][0].update(bytes=1), sign(m)), "another size"),
        (lambda m: (m.update(parts=3), sign(m)), "not valid"),
        (lambda m: (m.update(parts=[], rows=0), sign(m)), "row counts"),
        (lambda m: (m["parts"][0].pop("rows"), sign(m)), "not valid"),
    ],
)
def test_an_edited_manifest_is_refused(folder, change, message):
    edit(folder, change)
    with pytest.raises(ReleaseError, match=message):
        vdp.load(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"x"', "[" * 100_000, "\xff"])
def test_a_manifest_that_is_none(folder, text):
    (folder / "manifest.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ReleaseError):
        vdp.load(folder)


def test_changed_or_missing_parts_are_refused(folder, tmp_path):
    part = folder / "part-00000.parquet"
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    with pytest.raises(ReleaseError, match="changed after release"):
        _ = vdp.load(folder).frame
    with pytest.raises(ReleaseError, match="changed after release"):
        list(vdp.load(folder).batches())
    part.write_bytes(data[:-10])
    with pytest.raises(ReleaseError, match="another size"):
        vdp.load(folder)
    part.unlink()
    with pytest.raises(ReleaseError, match="missing"):
        vdp.load(folder)
    shutil.rmtree(folder)
    with pytest.raises(ReleaseError, match="not a release folder"):
        vdp.load(folder)
