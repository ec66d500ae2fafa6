"""Editions: each holds every person once, and a folder states what all of them tell together."""

import hashlib
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli.main import main
from versadp.errors import DataError, KeyMaterialError, ParameterError, ReleaseError, SpentError
from versadp.release.files.account import account
from versadp.release.files.append import append_file
from versadp.release.files.finalize import finalize
from versadp.release.files.release import release_file
from versadp.release.folder.manifest import digest_of
from versadp.release.ledger.entries import Append
from versadp.release.ledger.state import State
from versadp.release.target.statement import rounded_up

N = 400
SCHEMA = vdp.Schema({"x": vdp.Bounded(0, 1), "y": vdp.Public()}, id="pid")
MECH = vdp.calibrate(SCHEMA, epsilon=2)
SHARPER = vdp.calibrate(SCHEMA, epsilon=4)


def people(start=0, stop=N, shift=0.0):
    number = np.arange(start, stop)
    return pd.DataFrame({"pid": number, "x": (0.618 * number + shift) % 1, "y": number % 2})


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A release of 400 people, and files for later."""
    monkeypatch.setenv("VERSADP_STATE", str(tmp_path / "states"))
    people().to_parquet(tmp_path / "one.parquet")
    people(shift=0.1).to_parquet(tmp_path / "two.parquet")
    people(5, N + 50).to_parquet(tmp_path / "fewer.parquet")
    people(N, N + 100).to_parquet(tmp_path / "more.parquet")
    release_file(tmp_path / "one.parquet", tmp_path / "out", MECH)
    return tmp_path


def edition(place, name, mechanism=MECH, **options):
    return release_file(place / f"{name}.parquet", None, mechanism, edition_of=place / "out", **options)


def snapshot(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# making one ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["release", "append"])
def test_an_edition_holds_each_person_once_beside_the_first(place, way):
    before = snapshot(place / "out")
    if way == "release":
        edition(place, "two")
    else:
        done = append_file(place / "out", place / "two.parquet", again="charge")
        assert (done.new, done.skipped, done.charged) == (0, 0, N)
        assert done.before != done.after
    newest, first = vdp.load(place / "out"), vdp.load(place / "out", edition=1)
    assert (newest.edition, first.edition, len(newest), len(first)) == (2, 1, N, N)
    assert {name: data for name, data in snapshot(place / "out").items() if "/" not in name} == before
    assert sorted(path.name for path in (place / "out" / "edition-0002").iterdir()) == [
        "manifest.json",
        "part-00000.parquet",
    ]
    assert vdp.fit(place / "out", "x ~ y").nobs == N


def test_manifest_statement_and_profile_of_every_edition_state_all_of_them(place):
    edition(place, "two", SHARPER)
    together = vdp.privacy.compose(*(mech.privacy(shuffled=N // 2) for mech in (MECH, SHARPER)))
    for number in (1, 2):
        release = vdp.load(place / "out", edition=number)
        assert release.privacy().delta(0.5) == pytest.approx(together.delta(0.5), rel=1e-9)
        assert release.privacy().delta(0.5) > release.mechanism.privacy(shuffled=N // 2).delta(0.5)
        assert "all 2 editions" in release.statement()
        assert f"This is edition {number}" in release.statement()
        alone = vdp.privacy.compose(*(mech.privacy() for mech in (MECH, SHARPER))).delta(0.5)
        for delta in (together.delta(0.5), alone):  # from those who know no rows, and those who do
            assert f"(0.5, {rounded_up(delta)})" in release.statement().partition("all 2 editions")[2]
    assert vdp.load(place / "out" / "edition-0002").edition == 2
    data = json.loads((place / "out" / "edition-0002" / "manifest.json").read_text())
    assert data["privacy"]["editions"]["count"] == 2
    assert data["earlier"][0]["manifest"] == vdp.load(place / "out", edition=1).manifest.digest


def test_the_same_command_again_changes_and_charges_nothing(place):
    edition(place, "two")
    seen, spent = snapshot(place / "out"), account(place / "out").most
    edition(place, "two")
    assert append_file(place / "out", place / "two.parquet", again="charge").charged == 0
    assert (snapshot(place / "out"), account(place / "out").most) == (seen, spent)


def test_a_lost_edition_comes_back_the_same(place):
    edition(place, "two")
    seen = snapshot(place / "out")
    shutil.rmtree(place / "out" / "edition-0002")
    edition(place, "two")
    assert snapshot(place / "out") == seen


def test_a_file_that_leaves_out_people_is_refused_before_anything_is_spent(place):
    seen, spent = snapshot(place), account(place / "out").releases
    for act in (edition, lambda p, name: append_file(p / "out", p / f"{name}.parquet", again="charge")):
        with pytest.raises(DataError, match="5 people of edition 1 are not in the file") as caught:
            act(place, "fewer")
        assert "how many people an edition has is public" in caught.value.hint
    assert account(place / "out").releases == spent
    assert {name for name in snapshot(place) if "states" not in name} == {n for n in seen if "states" not in n}
    assert len(edition(place, "fewer", without_missing_people=True)) == N + 45


def test_everybody_is_charged_for_one_release_more_and_budgets_hold(place, tmp_path):
    state = tmp_path / "limited"
    options = {"state": state, "target": (2.0, 0.0)}
    release_file(place / "one.parquet", place / "held", MECH, budget=(4.0, 0.0), **options)
    release_file(place / "two.parquet", None, MECH, edition_of=place / "held", **options)
    assert account(place / "held", state=state).most == (4_000_000, 0)
    with pytest.raises(SpentError, match=f"{N} people have no budget left"):
        release_file(place / "one.parquet", None, MECH, edition_of=place / "held", **options)
    assert vdp.load(place / "held").edition == 2
    release_file(place / "two.parquet", None, MECH, edition_of=place / "held", **options)  # it is there


def test_people_can_be_added_to_the_newest_edition(place):
    edition(place, "two")
    first = snapshot(place / "out")["manifest.json"]
    done = append_file(place / "out", place / "more.parquet")
    assert (done.new, done.skipped) == (100, 0)
    assert len(vdp.load(place / "out")) == N + 100
    assert append_file(place / "out", place / "two.parquet").skipped == N
    with pytest.raises(SpentError, match=f"{N} people were released before"):  # as edition 1 had them
        append_file(place / "out", place / "one.parquet")
    assert snapshot(place / "out")["manifest.json"] == first
    assert len(vdp.load(place / "out").manifest.earlier) == 1


def test_people_of_an_older_edition_only_are_not_added_without_a_word(place):
    edition(place, "fewer", without_missing_people=True)
    people(0, 5).to_parquet(place / "left.parquet")
    with pytest.raises(SpentError, match="5 people were released before"):
        append_file(place / "out", place / "left.parquet")
    assert len(vdp.load(place / "out")) == N + 45


def test_what_cannot_be_an_edition_is_refused(place):
    nameless = vdp.calibrate(vdp.Schema({"x": vdp.Bounded(0, 1)}), epsilon=1)
    other = vdp.calibrate(vdp.Schema({"x": vdp.Bounded(0, 1), "pid": vdp.Omitted()}, id="y"), epsilon=1)
    with pytest.raises(ParameterError, match="an edition needs an id column"):
        edition(place, "two", nameless)
    with pytest.raises(ParameterError, match="another id column"):
        edition(place, "two", other)
    with pytest.raises(ParameterError, match="give a new folder, or the one that gets an edition"):
        release_file(place / "two.parquet", place / "new", MECH, edition_of=place / "out")
    key = vdp.fresh_key()
    edition(place, "two", key=key)
    with pytest.raises(KeyMaterialError, match="that of an edition before"):
        edition(place, "one", key=key)
    finalize(place / "out")
    with pytest.raises(ReleaseError, match="finalised"):
        edition(place, "one")
    assert not list((place / "states").rglob("release-*.key"))


def test_an_edition_follows_a_folder_of_an_older_version(place):
    old = MECH.in_version(3)
    release_file(place / "one.parquet", place / "old", old, again="charge")
    append_file(place / "old", place / "two.parquet", again="charge")
    newest, first = vdp.load(place / "old"), vdp.load(place / "old", edition=1)
    assert (newest.manifest.version, first.manifest.version, newest.edition) == (4, 3, 2)
    assert newest.mechanism == MECH
    assert newest.privacy().delta(0.5) == MECH.privacy(shuffled=N // 2).compose(2).delta(0.5)


# opening and copying -------------------------------------------------------------------------------------------------


def test_a_release_is_saved_with_all_its_editions(place):
    edition(place, "two")
    for number in (1, 2):
        vdp.load(place / "out", edition=number).save(place / f"copy{number}")
        assert snapshot(place / f"copy{number}") == snapshot(place / "out")


@pytest.mark.parametrize("number", [0, 3, -1, 1.5])
def test_an_edition_that_is_not_there_is_refused(place, number):
    edition(place, "two")
    with pytest.raises((ParameterError, ReleaseError)):
        vdp.load(place / "out", edition=number)


def test_editions_in_wrong_places_are_refused(place):
    edition(place, "two")
    edition(place, "one")
    out = place / "out"
    for wrong, match in (("edition-0005", "not named"), ("x", "not named")):
        shutil.copytree(out / "edition-0002", place / wrong)
        with pytest.raises(ReleaseError, match=match):
            vdp.load(place / wrong)
    shutil.copytree(out, place / "swapped")
    (place / "swapped" / "edition-0002").rename(place / "swapped" / "x")
    shutil.copytree(out / "edition-0003", place / "swapped" / "edition-0002")
    with pytest.raises(ReleaseError, match="the folder of edition 2 holds edition 3"):
        vdp.load(place / "swapped")
    shutil.copytree(out, place / "linked")
    (place / "linked" / "edition-0002").rename(place / "away")
    (place / "linked" / "edition-0002").symlink_to(place / "away")
    with pytest.raises(ReleaseError, match="a link to somewhere else"):
        vdp.load(place / "linked")


def test_an_earlier_edition_that_was_exchanged_is_refused(place):
    edition(place, "two")
    path = place / "out" / "manifest.json"
    data = json.loads(path.read_text())
    data["metadata"]["title"] = "another"
    path.write_text(json.dumps(data | {"digest": digest_of(data)}))
    with pytest.raises(ReleaseError, match="edition 1 is not the one that edition 2 follows"):
        vdp.load(place / "out")


# updates -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def states(place):
    """The state of a fit to each edition."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"pid": range(6000), "x": rng.uniform(0, 1, 6000), "y": rng.integers(0, 2, 6000)})
    frame.to_parquet(place / "many.parquet")
    release_file(place / "many.parquet", place / "big", SHARPER, population="big")
    vdp.fit(place / "big", "y ~ x").save_state(place / "first.json")
    release_file(place / "many.parquet", None, MECH, edition_of=place / "big")
    frame.assign(x=1 - frame["x"]).to_parquet(place / "changed.parquet")
    release_file(place / "changed.parquet", None, SHARPER, edition_of=place / "big")
    return place


@pytest.mark.parametrize("age", ["new", "old"])
def test_an_update_refuses_a_state_of_another_edition(states, age):
    if age == "old":  # states of older versions do not say their edition
        data = json.loads((states / "first.json").read_text())
        del data["edition"]
        (states / "first.json").write_text(json.dumps(data))
    with pytest.raises(ReleaseError, match="the state is of another edition"):
        vdp.update(states / "first.json", states / "big")
    pd.DataFrame({"pid": range(6000, 12000), "x": 0.5, "y": 1}).to_parquet(states / "later.parquet")
    vdp.fit(states / "big", "y ~ x").save_state(states / "third.json")
    append_file(states / "big", states / "later.parquet")
    assert vdp.update(states / "third.json", states / "big").nobs == 12_000


def test_a_saved_release_is_not_counted_twice(place):
    frame = pd.DataFrame({"pid": range(9000), "x": np.linspace(0, 1, 9000), "y": np.arange(9000) % 2})
    for name, part in {"a": frame[:6000], "b": frame[6000:]}.items():
        part.to_parquet(place / f"{name}.parquet")
    release_file(place / "a.parquet", place / "big", SHARPER, population="big")
    append_file(place / "big", place / "b.parquet")
    vdp.fit(place / "big", "y ~ x").save_state(place / "fit.json")
    release = vdp.load(place / "big")
    _ = release.frame
    release.save(place / "copy")
    with pytest.raises(DataError) as caught:
        vdp.update(place / "fit.json", place / "copy")
    assert caught.value.message == "all of these records are in the state already"
    vdp.Release.from_frame(release.to_pandas()[::-1], SHARPER).save(place / "cut")  # other parts, and another order
    assert not {part.sha256 for part in vdp.load(place / "cut").manifest.parts} & {
        part.sha256 for part in release.manifest.parts
    }
    with pytest.raises(DataError, match="in files that are cut otherwise"):
        vdp.update(place / "fit.json", place / "cut")


# folders in which an older versadp put several versions of a person --------------------------------------------------


def append_as_before(place, name):
    """What `append --again charge` did: the ledger has begun it, and it is finished as it was begun."""
    with State(place / "states" / "default") as state:
        (history,) = state.ledger.histories.values()
        state.ledger.add(Append(history.name, len(history.intakes), "charge"))
    return append_file(place / "out", place / f"{name}.parquet", again="charge")


def test_a_charged_append_that_an_older_version_began_is_finished_as_it_was_begun(place):
    assert append_as_before(place, "two").charged == N
    assert not (place / "out" / "edition-0002").exists()
    assert len(vdp.load(place / "out")) == 2 * N
    assert append_file(place / "out", place / "two.parquet", again="charge").charged == 0  # the command once more
    assert not (place / "out" / "edition-0002").exists()


@pytest.mark.full
def test_several_versions_of_a_person_are_said_where_the_ledger_knows(place):
    assert append_file(place / "out", place / "more.parquet").notes == ()
    assert account(place / "out").notes == ()
    append_as_before(place, "two")
    append_as_before(place, "one")
    twice = MECH.privacy(shuffled=50).compose(3)
    said = f"up to 3 versions of a person, .* guarantee \\(epsilon, delta\\): \\(0.5, {rounded_up(twice.delta(0.5))}\\)"
    people(900, 1100).to_parquet(place / "new.parquet")
    for note in (append_file(place / "out", place / "new.parquet").notes, account(place / "out").notes):
        assert re.search(said, note[0])
    for command in (["ledger"], ["report", "--out", str(place / "report.html")]):
        result = CliRunner().invoke(main, [command[0], str(place / "out"), *command[1:]])
        assert re.search(said, result.output), result.output
    assert vdp.load(place / "out").privacy() == MECH.privacy(shuffled=50)  # an analyst cannot know


def test_an_edition_states_the_versions_that_the_one_before_holds(place):
    append_as_before(place, "two")
    edition(place, "one")
    newest, first = vdp.load(place / "out"), vdp.load(place / "out", edition=1)
    assert newest.manifest.earlier[0].versions == 2
    expected = MECH.privacy(shuffled=N // 2).compose(3).delta(1.0)
    for release in (newest, first):
        assert release.privacy().delta(1.0) == pytest.approx(expected, rel=1e-9)
        assert "in 3 versions" in release.statement()


# the command ---------------------------------------------------------------------------------------------------------


def test_the_commands_make_and_open_editions(place):
    run = CliRunner().invoke
    columns = '[columns.x]\ntype = "bounded"\nlower = 0\nupper = 1\n[columns.y]\ntype = "public"\n'
    (place / "schema.toml").write_text('id = "pid"\n' + columns)
    out, noise = str(place / "out"), ["--schema", str(place / "schema.toml"), "--epsilon", "4", "--accept-useless"]
    refused = run(main, ["release", str(place / "fewer.parquet"), "--edition-of", out, *noise])
    assert refused.exit_code == 2
    assert "5 people of edition 1 are not in the file" in refused.output
    made = run(main, ["release", str(place / "two.parquet"), "--edition-of", out, *noise])
    assert f"{N} records released to {out}, edition 2" in made.output, made.output
    assert "One person was charged by 2 releases" in made.output
    again = run(main, ["release", str(place / "two.parquet"), "--edition-of", out, *noise])
    assert "nothing was released" in again.output
    charged = run(main, ["append", out, str(place / "fewer.parquet"), "--again", "charge", "--without-missing-people"])
    assert charged.output.startswith(f"50 people added, 0 were there already, {N - 5} released once more and charged")
    assert "by all 3 editions" in charged.output
    for edition_, records in (("1", N), ("3", N + 45)):
        fitted = run(main, ["fit", out, "x ~ y", "--edition", edition_, "--format", "json"])
        assert json.loads(fitted.output)["records"] == records
    neither = run(main, ["release", str(place / "two.parquet"), *noise])
    assert "--out DIR or --edition-of DIR" in neither.output


@pytest.mark.slow
def test_intervals_of_the_newest_edition_cover(place):
    """Four editions of the same people: as versions in one folder, 95% intervals covered 25 of 40 times."""
    covered, times = 0, 40
    for run in range(times):
        rng = np.random.default_rng(run)
        out, x = place / f"run{run}", rng.uniform(0, 1, N)
        for number in range(4):
            frame = pd.DataFrame({"pid": range(N), "x": x, "y": 1 + 2 * x + rng.normal(size=N)})
            frame.to_parquet(place / "data.parquet")
            where = {"edition_of": out} if number else {}
            key = hashlib.sha256(f"{run} {number}".encode()).digest()
            options = {"state": place / f"state{run}", "key": key, "engine": "serial"}
            release_file(place / "data.parquet", None if number else out, SHARPER, **where, **options)
        low, high = vdp.fit(out, "y ~ x").conf_int()["x"]
        covered += low <= 2 <= high
    assert covered >= 34  # a binomial of 40 and 0.95 is below with probability 0.003


# metadata and signatures ---------------------------------------------------------------------------------------------


def test_an_edition_says_what_the_one_before_it_said_or_what_is_given(place):
    first = release_file(
        place / "one.parquet", place / "other", MECH, state=place / "own", metadata=vdp.Metadata("Wave 1")
    )
    second = release_file(place / "two.parquet", None, MECH, edition_of=place / "other", state=place / "own")
    assert second.metadata.title == first.metadata.title == "Wave 1"
    assert (first.metadata.earlier, second.metadata.earlier) == (0, 0)  # the figures count editions
    people(shift=0.2).to_parquet(place / "three.parquet")
    given = vdp.Metadata("Wave 3")
    third = release_file(
        place / "three.parquet", None, MECH, edition_of=place / "other", state=place / "own", metadata=given
    )
    assert third.metadata.title == "Wave 3"


def test_editions_of_a_signed_release_are_signed(place):
    assert not (edition(place, "two").edition, (place / "out" / "edition-0002" / "manifest.sig").exists())[1]
    key = vdp.sign(place / "out")
    for number in (1, 2):
        assert vdp.load(place / "out", number, trusted=key).edition == number
    people(shift=0.2).to_parquet(place / "three.parquet")
    append_file(place / "out", place / "three.parquet", again="charge")
    assert vdp.load(place / "out", trusted=key).edition == 3
    people(N, N + 100).to_parquet(place / "more.parquet")
    append_file(place / "out", place / "more.parquet")
    vdp.load(place / "out").save(place / "copy")
    for folder in ("out", "copy"):
        assert len(vdp.load(place / folder, trusted=key)) == N + 100
    (place / "out" / "edition-0003" / "manifest.sig").unlink()
    with pytest.raises(ReleaseError, match="not signed"):
        vdp.load(place / "out", trusted=key)
    assert sorted(path.name for path in place.iterdir() if path.name.startswith(".")) == []
