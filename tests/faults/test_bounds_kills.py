"""SIGKILL of a release that learns its bounds: resumed, it has the same bounds, the same bytes and one charge."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import versadp as vdp
from versadp_tests.fault_driver import (
    KEY,
    ROWS,
    act,
    begun,
    check_view,
    contents,
    copy,
    entries,
    keys,
    killed_at,
    leftovers,
    points,
    prepare,
)

pytestmark = pytest.mark.filterwarnings("ignore::versadp.errors.ClampedWarning")
VERBS = ("learnt", "spaced")
KILLED = ["after begin entry", "bounds counted", "bounds learnt", "part written", "after publish entry"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Bytes and points of releases without a disturbance, with linear noise and with a spacing that is chosen."""
    out = {}
    for verb in VERBS:
        folder = prepare(tmp_path_factory.mktemp("undisturbed") / "story")
        passed = points(folder, verb)
        out[verb] = contents(folder), passed
    return out


def finished(folder, verb, undisturbed):
    check_view(folder, {ROWS})
    act(folder, verb)
    assert contents(folder) == undisturbed[verb][0]
    assert (begun(folder), leftovers(folder), keys(folder)) == (1, [], [KEY])
    assert [entry["kind"] for entry in entries(folder)].count("bounds") == 1
    column = vdp.load(folder / "out").mechanism.schema.columns["x"]
    assert column.declared == (0.0, 100.0)
    assert column.upper < 5


@pytest.mark.thinned(2)
@pytest.mark.parametrize("point", KILLED)
def test_a_release_with_learnt_bounds_that_is_killed_and_resumed(tmp_path, undisturbed, point):
    folder = prepare(tmp_path / "story")
    assert killed_at(folder, "learnt", point, 2 if "part" in point else 1)
    finished(folder, "learnt", undisturbed)


@pytest.mark.full
def test_bounds_counted_twice_and_killed_twice_are_the_same(tmp_path, undisturbed):
    folder = prepare(tmp_path / "story")
    assert killed_at(folder, "spaced", "bounds counted")
    assert killed_at(folder, "spaced", "bounds counted")
    finished(folder, "spaced", undisturbed)


@pytest.mark.full
def test_records_that_changed_between_two_kills_are_refused(tmp_path):
    """Control of the tests above: a row more leads to other counts, and no second draw of noise is made."""
    folder = prepare(tmp_path / "story")
    assert killed_at(folder, "learnt", "bounds learnt")
    table = pq.read_table(folder / "data.parquet")
    moved = pa.array(np.append(table["x"].to_numpy()[:-1], 50.0))
    pq.write_table(table.set_column(0, "x", moved), folder / "data.parquet", row_group_size=3000)
    with pytest.raises(vdp.errors.VersadpError):
        act(folder, "learnt")
    assert [entry["kind"] for entry in entries(folder)].count("bounds") == 1


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_every_point_of_a_release_with_learnt_bounds(tmp_path, undisturbed, verb):
    story = prepare(tmp_path / "story")
    for i, (point, nth) in enumerate(undisturbed[verb][1]):
        folder = copy(story, tmp_path / str(i))
        assert killed_at(folder, verb, point, nth)
        finished(folder, verb, undisturbed)
