"""The same people again, by other ways than the same file: budgets over mixed releases, other ids, other folders."""

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp.errors import KeyMaterialError, ParameterError, SchemaError, SpentError, StateError
from versadp.release.files.append import append_file
from versadp.release.files.finalize import finalize
from versadp.release.files.release import release_file
from versadp.release.ledger.state import State

N = 40
BLIND = vdp.Schema({"x": vdp.Bounded(0, 1)})
NAMED = vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid")
OTHER = vdp.Schema({"x": vdp.Bounded(0, 1)}, id="tax")


def write(folder, version=0):
    """The same people, whose values have changed a little in each version."""
    x = (np.arange(N) * 0.618 + 0.01 * version) % 1
    frame = pd.DataFrame({"pid": [f"p{i}" for i in range(N)], "tax": [f"t{i}" for i in range(N)], "x": x})
    for name, columns in (("blind", ["x"]), ("named", ["pid", "x"]), ("other", ["tax", "x"])):
        frame[columns].to_parquet(folder / f"{name}{version}.parquet", index=False)


class Provider:
    """A budget of 3 a person; every release costs 1."""

    def __init__(self, folder):
        self.folder, self.state = folder, folder / "state"
        for version in range(6):
            write(folder, version)

    def release(self, kind, name, again="charge", version=0):
        schema = {"blind": BLIND, "named": NAMED, "other": OTHER}[kind]
        mech = vdp.Mechanism(schema, scale=2.0, exact_rate=0.0)
        options = {"state": self.state, "again": again, "target": (1.0, 1e-6), "budget": (3.0, 1.0)}
        return release_file(self.folder / f"{kind}{version}.parquet", self.folder / name, mech, **options)

    def append(self, name, again="charge", version=0):
        data = self.folder / f"named{version}.parquet"
        return append_file(self.folder / name, data, state=self.state, again=again)

    def refuses(self, act):
        with pytest.raises(SpentError, match="budget"):
            act()


@pytest.fixture
def provider(tmp_path):
    return Provider(tmp_path)


def test_no_id_and_then_three_with_an_id_do_not_fit(provider):
    provider.release("blind", "0")
    provider.release("named", "1")
    provider.release("named", "2")
    provider.refuses(lambda: provider.release("named", "3"))


def test_an_id_with_charged_appends_and_then_without_an_id_does_not_fit(provider):
    provider.release("named", "0")
    provider.append("0", version=1)
    provider.append("0", version=2)
    provider.refuses(lambda: provider.release("blind", "1"))


def test_vouched_releases_do_not_leave_the_sum(provider):
    """Whoever is in the release of other people may be in all later ones."""
    provider.release("blind", "0", again="others")
    provider.release("blind", "1")
    provider.release("blind", "2")
    provider.refuses(lambda: provider.release("blind", "3"))


def test_other_people_have_a_budget_of_their_own(provider):
    for name in "012":
        provider.release("blind", name)
    provider.release("blind", "3", again="others")
    provider.refuses(lambda: provider.release("blind", "4"))


def test_another_id_column_is_refused_or_charged(provider):
    provider.release("named", "0")
    with pytest.raises(SpentError, match="without the same id"):
        provider.release("other", "1", again="refuse")
    provider.release("other", "1")
    provider.release("other", "2")
    provider.refuses(lambda: provider.release("other", "3"))
    provider.refuses(lambda: provider.release("named", "4"))


def test_an_append_after_a_release_without_an_id_is_refused_or_charged(provider):
    provider.release("named", "0", again="refuse")
    provider.release("blind", "1")
    with pytest.raises(SpentError, match="without the same id"):
        provider.append("0", again="refuse", version=1)
    assert provider.append("0", version=1).charged == N
    provider.refuses(lambda: provider.append("0", version=2))


# one state a user ----------------------------------------------------------------------------------------------------


def release(folder, kind, name, **options):
    schema = {"blind": BLIND, "named": NAMED, "other": OTHER}[kind]
    mech = vdp.Mechanism(schema, scale=2.0, exact_rate=0.0)
    return release_file(folder / f"{kind}0.parquet", folder / name, mech, **options)


@pytest.fixture
def folder(tmp_path):
    write(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", ["blind", "named"])
def test_the_same_people_to_another_folder_are_refused(folder, kind):
    release(folder, kind, "one")
    with pytest.raises(SpentError):
        release(folder, kind, "two")
    with pytest.raises(SpentError):
        release(folder, kind, "deep/er/two")
    assert sorted(p.name for p in folder.iterdir() if p.is_dir()) == ["deep", "home", "one"]
    assert len(release(folder, kind, "one")) == N  # the same command: nothing to do


def renamed(frame):
    return frame.rename(columns={"x": "score"}), vdp.Schema({"score": vdp.Bounded(0, 1)}, id="pid")


def renamed_id(frame):
    return frame.rename(columns={"pid": "person"}), vdp.Schema({"x": vdp.Bounded(0, 1)}, id="person")


def exported(frame):
    return frame.sample(frac=1, random_state=1).round(6), NAMED


def without_id(frame):
    return frame[["x"]], BLIND


def wider(frame):
    return frame.assign(z=frame["x"] ** 2), vdp.Schema({"z": vdp.Bounded(0, 1), "x": vdp.Bounded(0, 1)}, id="pid")


@pytest.mark.parametrize("change", [renamed, renamed_id, exported, without_id, wider])
def test_the_same_people_in_another_guise_are_refused(folder, change):
    """A renamed column, another id column, a new export in another order and as text, no id, more columns."""
    release(folder, "named", "one")
    frame, schema = change(pd.read_parquet(folder / "named0.parquet"))
    frame.to_csv(folder / "guise.csv", index=False)
    mech = vdp.Mechanism(schema, scale=2.0, exact_rate=0.0)
    with pytest.raises(SpentError, match=f"{N} people|without the same id"):
        release_file(folder / "guise.csv", folder / "two", mech)
    assert not (folder / "two").exists()
    assert len(release_file(folder / "guise.csv", folder / "two", mech, again="charge")) == N


def test_populations_have_ledgers_of_their_own(folder):
    """A provider who names another population says that these are other people, and is believed."""
    release(folder, "named", "one", population="patients")
    release(folder, "named", "two", population="staff")
    for name, population in (("three", "patients"), ("four", "staff")):
        with pytest.raises(SpentError, match=f"{N} people"):
            release(folder, "named", name, population=population)
    home = Path(os.environ["XDG_STATE_HOME"], "versadp")
    assert sorted(path.name for path in home.iterdir() if path.is_dir()) == ["patients", "staff"]
    for name in ("one", "two"):  # each is found by the release that it knows, wherever that is by now
        (folder / name).rename(folder / f"moved {name}")
        assert append_file(folder / f"moved {name}", folder / "named0.parquet").skipped == N


def test_a_population_in_the_schema_file(folder):
    text = 'population = "patients"\n' + NAMED.to_toml()
    (folder / "s.toml").write_text(text)
    schema = vdp.Schema.from_toml(folder / "s.toml")
    assert schema.population == "patients"
    assert schema == NAMED
    assert vdp.Schema.from_toml_text(schema.to_toml()).population == "patients"
    command = ["release", str(folder / "named0.parquet"), "--schema", str(folder / "s.toml"), "--scale", "2"]
    for out, more, code in (("one", [], 0), ("two", [], 2), ("two", ["--population", "staff"], 0)):
        result = CliRunner().invoke(main, [*command, "--out", str(folder / out), *more])
        assert result.exit_code == code, result.output
    home = Path(os.environ["XDG_STATE_HOME"], "versadp")
    assert sorted(path.name for path in home.iterdir() if path.is_dir()) == ["patients", "staff"]
    assert "patients" not in (folder / "one" / "manifest.json").read_text()
    for bad in ("", ".", "..", "a/b", "a b", "é", "x" * 65, 7, "CON.x"):
        with pytest.raises(SchemaError, match="population"):
            vdp.Schema({"x": vdp.Bounded(0, 1)}, population=bad)


def test_where_the_state_of_a_user_is(folder, monkeypatch):
    monkeypatch.setenv("VERSADP_STATE", str(folder / "elsewhere"))
    release(folder, "named", "one")
    assert (folder / "elsewhere" / "default" / "ledger.key").exists()
    with pytest.raises(SpentError):
        release(folder, "named", "two")
    monkeypatch.setenv("VERSADP_STATE", "relative")
    with pytest.raises(ParameterError, match="absolute"):
        release(folder, "named", "two")
    monkeypatch.delenv("VERSADP_STATE")
    with pytest.raises(StateError, match="no ledger of yours"):
        append_file(folder / "one", folder / "named0.parquet")
    with pytest.raises(ParameterError, match="one of them"):
        release(folder, "named", "two", state=folder / "s", population="patients")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError))
    with pytest.raises(ParameterError, match="no home"):
        release(folder, "named", "two")


def test_an_older_state_beside_a_release_goes_on(folder):
    """Earlier versions kept one beside each release; it is found there, and serves that release alone."""
    with State(folder / "one.provider", make=True, shared=False):
        pass
    release(folder, "named", "one")
    assert not Path(os.environ["XDG_STATE_HOME"], "versadp", "default").exists()
    assert append_file(folder / "one", folder / "named0.parquet").skipped == N
    finalize(folder / "one")
    with pytest.raises(KeyMaterialError, match="finalised"):
        append_file(folder / "one", folder / "named0.parquet")
    assert not list((folder / "one.provider").glob("*.key"))


def test_a_finalised_release_is_still_known(folder):
    release(folder, "named", "one")
    finalize(folder / "one")
    shutil.rmtree(folder / "one")
    with pytest.raises(SpentError, match=f"{N} people"):
        release(folder, "named", "two")


# versions of a record ------------------------------------------------------------------------------------------------


# pairs of 200 that meet by chance: a step of the grid is at most 0.5 / 2^10, and the difference has density 0.71 at 0:
# 0.07 are expected, and 6 or more have a chance below 1e-9
MET = 6


def test_who_did_not_change_cannot_be_seen_in_a_charged_version(folder):
    """Two hundred people of whom half change: who has the same released value twice did not, right for 200 of 200."""
    x = np.round(np.random.default_rng(0).uniform(0, 1, 200), 3)
    frame = pd.DataFrame({"pid": [f"p{i}" for i in range(200)], "x": x})
    frame.to_parquet(folder / "jan.parquet")
    later = frame.assign(x=np.where(np.arange(200) < 100, (x + 0.3) % 1, x))
    later.to_parquet(folder / "feb.parquet")
    mech = vdp.Mechanism(NAMED, scale=0.5, exact_rate=0.0)
    options = {"state": folder / "state"}
    release_file(folder / "jan.parquet", folder / "out", mech, shuffle=False, **options)
    done = append_file(folder / "out", folder / "feb.parquet", again="charge", **options)
    assert (done.new, done.skipped, done.charged) == (0, 0, 200)
    one, two = (vdp.load(folder / "out", edition=k).to_pandas()["x"].to_numpy() for k in (1, 2))
    assert (one == two).sum() < MET
    # the noise of those who did not change is new: independent, with the variance of two draws
    difference = (two - one)[100:]
    assert difference.std() == pytest.approx(np.sqrt(2) * 0.5, rel=0.5)
    append_file(folder / "out", folder / "jan.parquet", again="charge", **options)  # and back: new noise once more
    three = vdp.load(folder / "out").to_pandas()["x"].to_numpy()
    assert (three == one).sum() < MET
    assert (three == two).sum() < MET


def test_the_first_version_is_what_memory_gives(folder):
    """The number of a version is in the tag, and that of the first changes nothing."""
    key = vdp.fresh_key()
    mech = vdp.Mechanism(NAMED, scale=0.5, exact_rate=0.0)
    frame = pd.read_parquet(folder / "named0.parquet")
    frame[:30].to_parquet(folder / "a.parquet")
    frame[30:].to_parquet(folder / "b.parquet")
    release_file(folder / "a.parquet", folder / "out", mech, key=key, shuffle=False)
    append_file(folder / "out", folder / "b.parquet")
    expected = mech.release(frame, key=key, shuffle=False).frame["x"].to_numpy()
    assert (vdp.load(folder / "out").to_pandas()["x"].to_numpy() == expected).all()


# a state that is turned back -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("witness", [True, False])
def test_a_home_that_is_rolled_back_is_noticed_by_a_witness_elsewhere(folder, monkeypatch, witness):
    """All of the home is restored, the memory in it too, as in a container that starts afresh from a snapshot."""
    if witness:
        monkeypatch.setenv("VERSADP_WITNESS", str(folder / "volume"))
    home = Path(os.environ["XDG_STATE_HOME"])
    release(folder, "named", "one")
    shutil.copytree(home, folder / "snapshot")
    release(folder, "named", "two", again="charge")
    shutil.rmtree(folder / "two")
    shutil.rmtree(home)
    (folder / "snapshot").rename(home)
    if witness:
        with pytest.raises(StateError, match="restored from a backup"):
            release(folder, "named", "three", again="charge")
        assert not (folder / "three").exists()
    else:  # nothing that is left can tell: a known weakness, and said so in docs/security.md
        release(folder, "named", "three", again="charge")
