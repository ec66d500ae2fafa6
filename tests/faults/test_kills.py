"""SIGKILL at every named point and at random times: resumed, a release has the same bytes and one charge."""

import itertools
import random
import time

import pytest

import versadp as vdp
from versadp.release.ledger.state import State
from versadp_tests.fault_driver import (
    KEY,
    MORE,
    OTHER_KEY,
    ROWS,
    act,
    begun,
    check_view,
    contents,
    copy,
    keys,
    killed_at,
    leftovers,
    points,
    prepare,
    start,
)

TOTAL = ROWS + MORE - 1000


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Both stories, told without a disturbance: their bytes, and the points that they pass."""
    out = {}
    for people in (False, True):
        folder = prepare(tmp_path_factory.mktemp("undisturbed") / "story", people=people)
        passed = points(folder, "release")
        out["people release" if people else "release"] = (contents(folder), passed)
        if people:
            out["append"] = (None, points(folder, "append"))
            out["append"] = (contents(folder), out["append"][1])
            passed = points(folder := released(tmp_path_factory.mktemp("undisturbed")), "edition")
            out["edition"] = (contents(folder), passed)
    return out


def finished(folder, verb, undisturbed):
    """Finish, and compare with the undisturbed story."""
    check_view(folder, {ROWS, TOTAL})
    act(folder, verb)
    people = (folder / "more.parquet").exists()
    name = verb if verb in {"append", "edition"} else "people release" if people else "release"
    assert contents(folder) == undisturbed[name][0]
    assert begun(folder) == (2 if verb in {"append", "edition"} else 1)
    assert leftovers(folder) == []
    assert sorted(keys(folder)) == ([KEY, OTHER_KEY] if verb == "edition" else [KEY])  # and none that a crash left


def released(tmp_path):
    folder = prepare(tmp_path / "story", people=True)
    act(folder, "release")
    return folder


RELEASE_POINTS = [
    "after begin commit",
    "after begin entry",
    "part written",
    "before rename",
    "after rename",
    "before part commit",
    "after part commit",
    "before sort commit",
    "after sort commit",
    "before output commit",
    "after output commit",
    "before publish commit",
    "after publish entry",
    "after publication",
    "before done commit",
    "after done commit",
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("point", RELEASE_POINTS)
def test_a_release_that_is_killed_and_resumed(tmp_path, undisturbed, point):
    folder = prepare(tmp_path / "story")
    assert killed_at(folder, "release", point, 2 if "part" in point or "rename" in point else 1)
    finished(folder, "release", undisturbed)


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "point", ["before create commit", "after create commit", "before begin commit", "before replace"]
)
def test_a_release_that_is_killed_before_it_began(tmp_path, undisturbed, point):
    folder = prepare(tmp_path / "story")
    assert killed_at(folder, "release", point)
    finished(folder, "release", undisturbed)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("point", ["after begin entry", "after part commit", "after publish entry", "part moved"])
def test_an_append_that_is_killed_and_resumed(tmp_path, undisturbed, point):
    folder = released(tmp_path)
    assert killed_at(folder, "append", point)
    finished(folder, "append", undisturbed)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("point", RELEASE_POINTS)
def test_an_edition_that_is_killed_and_resumed(tmp_path, undisturbed, point):
    """Until it is there the edition before is the newest, whole."""
    folder = released(tmp_path)
    before = contents(folder)
    assert killed_at(folder, "edition", point, 2 if "part" in point or "rename" in point else 1)
    seen = vdp.load(folder / "out")
    assert seen.edition == (2 if point in {"after publication", "before done commit", "after done commit"} else 1)
    assert len(seen.frame) == ROWS
    assert before.items() <= contents(folder).items()
    finished(folder, "edition", undisturbed)


def test_an_edition_that_nobody_saw_is_given_up_by_an_append(tmp_path):
    folder = released(tmp_path)
    assert killed_at(folder, "edition", "after part commit")
    act(folder, "append")
    assert leftovers(folder) == []
    assert len(vdp.load(folder / "out")) == TOTAL
    with pytest.raises(vdp.errors.DataError, match="11000 people of edition 1 are not in the file"):
        act(folder, "edition")


def test_nothing_comes_between_an_edition_and_its_announcement(tmp_path, undisturbed):
    folder = released(tmp_path)
    assert killed_at(folder, "edition", "after publish entry")
    with pytest.raises(vdp.errors.ReleaseError, match="an edition is unfinished"):
        act(folder, "append")
    finished(folder, "edition", undisturbed)


def test_two_writers_of_an_edition(tmp_path, undisturbed):
    """One works, the other is told to wait, or finds that it is done."""
    folder = released(tmp_path)
    writers = [start(folder, "edition") for _ in range(2)]
    for writer in writers:
        writer.join(120)
    assert {writer.exitcode for writer in writers} <= {0, 3}
    for path in folder.glob("refused-*"):
        assert "another process" in path.read_text()
    finished(folder, "edition", undisturbed)


@pytest.mark.parametrize("point", ["after finalize commit", "before unlink"])
def test_a_finalize_that_is_killed_and_run_again(tmp_path, point):
    with State(tmp_path / "story" / "out.provider", make=True, shared=False):
        pass  # as older versions kept it: for this release alone
    folder = released(tmp_path)
    assert killed_at(folder, "finalize", point)
    act(folder, "finalize")
    assert list((folder / "out.provider").glob("*.key")) == []
    with pytest.raises(vdp.errors.KeyMaterialError, match="finalised"):
        act(folder, "append")


def test_the_points_of_the_tests_are_all_there_are(undisturbed):
    """A new point without a test shows up here."""
    passed = {name for _, names in undisturbed.values() for name, _ in names}
    tested = {*RELEASE_POINTS, "part moved", "before replace"}
    kinds = ("create", "begin", "part", "sort", "output", "publish", "done")
    rest = {f"{when} {kind} {what}" for when in ("before", "after") for kind in kinds for what in ("entry", "commit")}
    assert passed <= tested | rest


@pytest.mark.slow
def test_every_point_of_every_story(tmp_path, undisturbed, record_property):
    kills = 0
    stories = {
        "release": prepare(tmp_path / "plain"),
        "people release": prepare(tmp_path / "people", people=True),
        "append": released(tmp_path),
        "edition": released(tmp_path / "edition"),
    }
    for name, (_, passed) in undisturbed.items():
        for i, (point, nth) in enumerate(passed):
            folder = copy(stories[name], tmp_path / name / str(i))
            kills += killed_at(folder, name.split()[-1], point, nth)
            finished(folder, name.split()[-1], undisturbed)
    record_property("kills", kills)
    assert kills >= 120


def random_kills(tmp_path, undisturbed, wanted, seed):
    """Kill again and again at random times until one process gets through; then begin a new story."""
    rng, kills, stories = random.Random(seed), 0, 0
    while kills < wanted:
        people = stories % 2 == 1
        folder = prepare(tmp_path / str(stories), people=people)
        for verb in ("release", "append") if people else ("release",):
            for attempt in itertools.count():
                options = {"batch_rows": rng.choice([777, 5000, 100_000]), "engine": rng.choice(["serial", "threads"])}
                process = start(folder, verb, options)
                process.join(rng.uniform(0.0, 0.35 + 0.05 * attempt))  # a busy machine gets through too
                if process.exitcode is not None:
                    assert process.exitcode == 0, [path.read_text() for path in folder.glob("refused-*")]
                    break
                process.kill()
                process.join()
                kills += 1
                check_view(folder, {ROWS, TOTAL})
            finished(folder, verb, undisturbed)
        stories += 1
    return kills


@pytest.mark.full
def test_random_kills_thinned(tmp_path, undisturbed):
    assert random_kills(tmp_path, undisturbed, 2, seed=time.time_ns()) >= 2


@pytest.mark.slow
def test_random_kills(tmp_path, undisturbed, record_property):
    kills = random_kills(tmp_path, undisturbed, 200, seed=0)
    record_property("kills", kills)
    assert kills >= 200
