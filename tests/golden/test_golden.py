"""What version 1 wrote is read, goes on, and gives the same: columns to the bit, estimates to rounding.

`golden_make.py` says how the files were made. Columns are compared decoded: how Parquet packs them is not ours.
"""

import json
import shutil
import warnings
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import versadp as vdp
from versadp.release.ledger.entries import Begin
from versadp.release.ledger.state import State
from versadp.release.target.plan import compare
from versadp_tests.golden_cases import (
    DRAWN,
    FITS,
    FLOORS,
    KEY,
    LARGE,
    MECHANISMS,
    MOVED,
    PRIVATE,
    RECORD,
    WEAK,
    large_people,
    people,
    release_of,
)

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "golden.json").read_text())
SINCE = json.loads((HERE / "drawn.json").read_text())


def columns(frame):
    return {name: frame[name].tolist() for name in frame.columns}


def stored(folder):
    """The columns of a release folder as they were written, without our reader."""
    return pq.read_table(sorted(folder.glob("*.parquet"))).to_pandas()


@pytest.fixture(scope="module")
def large():
    return vdp.Mechanism.from_json(LARGE).release(large_people(), key=KEY, shuffle=False)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_of_version_1_stays_one(name):
    mech = vdp.Mechanism.from_json(MECHANISMS[name])
    assert json.loads(mech.to_json()) == json.loads(MECHANISMS[name])
    assert vdp.load(HERE / "releases" / name).mechanism == mech


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_same_noise(name):
    mech = vdp.Mechanism.from_json(MECHANISMS[name])
    assert columns(release_of(mech).to_pandas()) == columns(stored(HERE / "releases" / name))
    assert columns(vdp.load(HERE / "releases" / name).to_pandas()) == columns(stored(HERE / "releases" / name))


def test_the_same_noise_in_many_rows(large):
    for name in PRIVATE:
        values = np.ascontiguousarray(large.frame[name].to_numpy())
        assert sha256(values.tobytes()).hexdigest() == GOLDEN["large"]["columns"][name]


def test_the_same_noise_on_a_device():
    mech = vdp.Mechanism.from_json(MECHANISMS["people"])
    assert mech.privatize(RECORD | {"pid": "ann"}, key=KEY) == GOLDEN["privatize"]
    with pytest.raises(vdp.errors.DataError, match="id column"):  # which the first version took
        mech.privatize(RECORD, key=KEY)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_same_guarantee_in_words_and_numbers(name):
    mech, text = vdp.Mechanism.from_json(MECHANISMS[name]), json.dumps(GOLDEN["mechanisms"][name])
    for old, new in FLOORS.get(name, {}).items():
        text = text.replace(old, new)
    golden = json.loads(text)
    assert mech.statement() == golden["statement"]
    assert compare({"A": mech}, rows=1000) == golden["plan"]
    for unit, delta in golden["delta"].items():
        assert mech.privacy(unit).delta(1.0) == pytest.approx(delta, rel=1e-12)


@pytest.mark.parametrize("name", [n for n in MECHANISMS if "second" in GOLDEN["mechanisms"][n]])
def test_the_same_second_randomisation(name):
    release = vdp.load(HERE / "releases" / name)
    assert columns(release.second(3).to_pandas()) == GOLDEN["mechanisms"][name]["second"]


@pytest.mark.parametrize("name", [n for n in MECHANISMS if "augment" in GOLDEN["mechanisms"][n]])
def test_the_same_signed_sample(name):
    release, golden = vdp.load(HERE / "releases" / name), GOLDEN["mechanisms"][name]["augment"]
    frame, weight, record = release.augment(draws=2, return_record=True, random_state=5)
    assert columns(frame.slice(0, 300).to_pandas()) == golden["columns"]
    assert weight[:300].tolist() == golden["weight"]
    assert record[:300].tolist() == golden["record"]


def fitted(name, large):
    where, make = FITS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return make(large if where == "large" else vdp.load(HERE / "releases" / where)), GOLDEN["fits"][name]


@pytest.mark.parametrize("name", [name for name in FITS if name not in (*MOVED, *WEAK, *DRAWN)])
def test_the_same_estimates(name, large):
    result, golden = fitted(name, large)
    assert result.outcome == golden["outcome"]
    if result.converged:
        check_same(result, golden, 1e-12)
        if result.effective_n is not None:  # what is known badly is told no longer; it is drawn for
            assert result.effective_n == pytest.approx(golden["effective_n"], rel=0.2)


def check_same(result, golden, rel):
    # what is taken off for being biased came later
    whole = np.asarray(result.params) + np.array([result.bias.get(each, 0.0) for each in result.names])
    assert whole == pytest.approx(np.array(golden["params"]), rel=rel, abs=1e-12)
    assert np.asarray(result.bse) == pytest.approx(np.array(golden["bse"]), rel=100 * rel)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", DRAWN)
def test_the_same_estimates_since_draws_belong_to_places(name, large):
    """As far from version 1 as other draws are, up to a standard error or so with few of them, and the same since."""
    result, golden = fitted(name, large)
    assert result.outcome == golden["outcome"]
    away = (np.asarray(SINCE[name]["params"]) - golden["params"]) / golden["bse"]
    assert 1e-5 < np.abs(away).max() < 2
    # a search of another library starts losses of one's own, and its sums depend on the number of BLAS threads
    check_same(result, SINCE[name], 1e-5 if name.startswith("own") else 1e-11)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", MOVED)
def test_another_estimator_of_the_same_is_near(name, large):
    """Near the first version's number, and yet not it: else the case belongs above.

    That number is one draw of many, and draws move a fit by a third of its standard error.
    """
    result, golden = fitted(name, large)
    assert result.outcome == golden["outcome"]
    away = (np.asarray(result.params) - golden["params"]) / golden["bse"]
    assert np.abs(away).max() < 1.5
    assert np.abs(away).max() > 1e-9


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name != WEAK[0])) for name in WEAK],  # half a minute each
)
def test_what_was_weak_says_so(name, large):
    result, golden = fitted(name, large)
    assert result.outcome == "weak"
    assert min(result.trust.strength.values()) < 7
    if golden["outcome"] == "converged":
        ends = np.asarray(result.conf_int())
        assert (ends[:, 0] < golden["params"]).all()
        assert (golden["params"] < ends[:, 1]).all()


def test_saved_results_are_read():
    result = vdp.Results.from_dict(GOLDEN["results"])
    assert result.converged
    assert result.predict({"a": np.zeros(2), "b": np.array([0.0, 1.0])}).shape == (2,)


# files: a release with its state goes on -----------------------------------------------------------------------------


def inputs_of(folder):
    """The two tables that were released: 3000 people, and forty more."""
    first = people().assign(pid=np.arange(3000) + 1000)
    first.to_parquet(folder / "first.parquet")
    first.iloc[:40].assign(pid=lambda t: t["pid"] + 50_000).to_parquet(folder / "second.parquet")


def test_appending_to_a_release_of_version_1(tmp_path):
    inputs_of(tmp_path)
    shutil.copytree(HERE / "files" / "released", tmp_path / "released")
    shutil.copytree(HERE / "files" / "state", tmp_path / "state")
    (tmp_path / "state").chmod(0o700)
    done = vdp.append_file(tmp_path / "released", tmp_path / "second.parquet", state=tmp_path / "state")
    assert (done.new, done.skipped, done.charged) == (40, 0, 0)
    assert columns(stored(tmp_path / "released")) == columns(stored(HERE / "files" / "appended"))
    again = vdp.append_file(tmp_path / "released", tmp_path / "first.parquet", state=tmp_path / "state")
    assert (again.new, again.skipped, again.charged) == (0, 3000, 0)
    assert json.loads((tmp_path / "released" / "manifest.json").read_text())["version"] == 1


def test_resuming_a_release_that_version_1_began(tmp_path):
    """The first entries of the old code's ledger and its key: the rest is made as it would have made it."""
    inputs_of(tmp_path)
    begin = next(entry for entry in GOLDEN["entries"] if entry["kind"] == "begin")
    with State(tmp_path / "state", make=True, shared=True) as state:
        (tmp_path / "state" / f"release-{begin['release']}.key").write_bytes(KEY)
        # the folder is another, and digests are keyed by the state folder
        state.ledger.add(Begin.from_dict(begin | {"out": str(tmp_path / "released"), "check": state.key_check(KEY)}))
    mech = vdp.Mechanism.from_json(MECHANISMS["people"])
    vdp.release_file(tmp_path / "first.parquet", tmp_path / "released", mech, state=tmp_path / "state")
    assert columns(stored(tmp_path / "released")) == columns(stored(HERE / "files" / "released"))


def test_running_the_command_of_version_1_again_changes_nothing(tmp_path):
    inputs_of(tmp_path)
    for name in ("released", "state"):
        shutil.copytree(HERE / "files" / name, tmp_path / name)
    (tmp_path / "state").chmod(0o700)
    mech = vdp.Mechanism.from_json(MECHANISMS["people"])
    vdp.release_file(tmp_path / "first.parquet", tmp_path / "released", mech, state=tmp_path / "state")
    assert columns(stored(tmp_path / "released")) == columns(stored(HERE / "files" / "released"))
    with pytest.raises(vdp.errors.VersadpError):
        vdp.release_file(tmp_path / "second.parquet", tmp_path / "released", mech, state=tmp_path / "state")
