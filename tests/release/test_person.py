"""A person with several rows: noise, choice of rows, guarantees, charges, statements."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import versadp as vdp
from versadp.errors import DataError, ParameterError, ReleaseError, RowsLeftOutWarning, SpentError
from versadp.release.files.account import account
from versadp.release.files.append import Appended, append_file
from versadp.release.files.charges import charge_of
from versadp.release.files.release import release_file

COLUMNS = {"age": vdp.Bounded(18, 90), "region": vdp.Categorical(["n", "s"]), "visit": vdp.Public()}
SEVERAL = vdp.Schema(COLUMNS, id="pid", rows_per_person=3)
ONE = vdp.Schema(COLUMNS, id="pid")
NOISE = {"age": vdp.noise.Window(epsilon=2), "region": vdp.noise.Window(epsilon=2)}
MECH, MECH_ONE = vdp.Mechanism(SEVERAL, noise=NOISE), vdp.Mechanism(ONE, noise=NOISE)
KEY = bytes(range(32))


def panel(people=200, rows=3, *, equal=True, start=0):
    """Return people with so many rows each, all alike or not, visit after visit."""
    rng = np.random.default_rng(people)
    pid = np.tile(np.arange(start, start + people), rows)
    age = rng.uniform(18, 90, people)[pid - start] if equal else rng.uniform(18, 90, people * rows)
    return pd.DataFrame(
        {"pid": pid, "age": age, "region": np.where(pid % 2, "n", "s"), "visit": np.repeat(np.arange(rows), people)}
    )


def in_place(mechanism, frame, **options):
    return mechanism.release(frame, shuffle=False, key=KEY, **options).frame


# noise ----------------------------------------------------------------------------------------------------------------


def test_equal_rows_of_a_person_do_not_look_alike():
    frame = panel()
    out = in_place(MECH, frame).assign(pid=frame.pid)
    first, second = (out[out.visit == visit].sort_values("pid").age.to_numpy() for visit in (0, 1))
    assert np.mean(first == second) < 0.01


def test_first_rows_have_the_words_that_single_rows_have():
    """The number 0 changes nothing: a schema with one row per person has the bytes that it always had."""
    from versadp.noise.words import keystream

    frame = panel(rows=1)
    stream = keystream(KEY, MECH.parameters)
    content = np.zeros((2, 5))
    plain = stream.records(content, None, 4)
    assert (plain == stream.records(content, None, 4, np.zeros(5, np.uint64))).all()
    assert (plain != stream.records(content, None, 4, np.full(5, 1 << 32, np.uint64))).all()
    assert len(in_place(MECH, frame)) == len(frame)


def test_order_of_a_persons_rows_does_not_change_their_noise():
    frame = panel(equal=False)
    moved = frame.sample(frac=1, random_state=1).reset_index(drop=True)
    one = in_place(MECH, frame).assign(pid=frame.pid)
    two = in_place(MECH, moved).assign(pid=moved.pid)
    pd.testing.assert_frame_equal(
        one.sort_values(["pid", "visit"], ignore_index=True), two.sort_values(["pid", "visit"], ignore_index=True)
    )


def test_equal_rows_that_change_places_exchange_their_noise():
    frame = panel()
    moved = frame.iloc[::-1].reset_index(drop=True)
    one, two = (
        in_place(MECH, each).assign(pid=each.pid).sort_values(["pid", "age", "region"], ignore_index=True)
        for each in (frame, moved)
    )
    assert (one.age == two.age).all()
    assert not one.visit.equals(two.visit)


def test_people_who_share_rows_do_not_share_noise():
    frame = panel(2, 3)
    frame["age"], frame["region"] = 41.0, "n"
    assert in_place(MECH, frame).age.nunique() == 6


# which rows -----------------------------------------------------------------------------------------------------------


def test_more_rows_than_the_schema_allows_are_refused_with_a_hint():
    with pytest.raises(DataError, match="200 rows beyond the 3") as caught:
        MECH.release(panel(rows=4))
    assert "keep_rows=3" in str(caught.value)
    with pytest.raises(DataError, match="repeats people in 400 rows") as caught:
        MECH_ONE.release(panel())
    assert "keep_rows=1" in str(caught.value)
    assert "rows_per_person" in str(caught.value)


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_the_key_chooses_which_rows_are_kept(keep):
    frame = panel(rows=5, equal=False)
    mechanism = vdp.Mechanism(vdp.Schema(COLUMNS, id="pid", rows_per_person=keep), noise=NOISE)
    with pytest.warns(RowsLeftOutWarning, match=f"^{200 * (5 - keep):,} rows were left out"):
        out = in_place(mechanism, frame, keep_rows=keep)
    assert len(out) == 200 * keep
    with pytest.warns(RowsLeftOutWarning):
        pd.testing.assert_frame_equal(out, in_place(mechanism, frame, keep_rows=keep))
    with pytest.warns(RowsLeftOutWarning):
        other = mechanism.release(frame, shuffle=False, key=bytes(range(1, 33)), keep_rows=keep).frame
    assert not (other.visit.to_numpy() == out.visit.to_numpy()).all()
    counts = out.visit.value_counts()
    assert counts.min() > 200 * keep / 5 * 0.6  # no place among the rows is preferred


def test_which_rows_are_kept_does_not_depend_on_what_stands_in_them():
    frame = panel(rows=5, equal=False)
    changed = frame.assign(age=frame.age.to_numpy()[::-1], region="n")
    with pytest.warns(RowsLeftOutWarning):
        one, two = (in_place(MECH, each, keep_rows=3) for each in (frame, changed))
    assert (one.visit == two.visit).all()


def test_nothing_is_left_out_where_nobody_has_too_many_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pd.testing.assert_frame_equal(in_place(MECH, panel(), keep_rows=3), in_place(MECH, panel()))


def test_what_cannot_be_kept():
    for keep in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="keep_rows"):
            MECH.release(panel(), keep_rows=keep)
    with pytest.raises(ParameterError, match="allows 3 per person"):
        MECH.release(panel(), keep_rows=4)
    with pytest.raises(ParameterError, match="id"):
        vdp.Mechanism(vdp.Schema(COLUMNS), noise=NOISE).release(panel().drop(columns="pid"), keep_rows=1)


# files ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def write(tmp_path):
    numbers = itertools.count()

    def write_file(frame):
        path = tmp_path / f"people-{next(numbers)}.parquet"
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
        return path

    return write_file


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("keep", [None, 2])
def test_files_have_the_bytes_of_tables(tmp_path, write, shuffle, keep):
    frame = panel(500, 3)
    source = write(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RowsLeftOutWarning)
        expected = MECH.release(frame, shuffle=shuffle, key=KEY, keep_rows=keep).frame
        for batch_rows, engine in ((17, "serial"), (100_000, "local")):
            out = tmp_path / f"out-{batch_rows}"
            made = release_file(
                source,
                out,
                MECH,
                key=KEY,
                shuffle=shuffle,
                keep_rows=keep,
                state=tmp_path / f"state-{batch_rows}",
                batch_rows=batch_rows,
                engine=engine,
            )
            pd.testing.assert_frame_equal(made.to_pandas(), expected)


def test_files_with_too_many_rows_are_refused_whatever_the_batches(tmp_path, write):
    source = write(panel(500, 4))
    for batch_rows in (17, 100_000):
        with pytest.raises(DataError, match="rows beyond the 3"):
            release_file(source, tmp_path / "out", MECH, state=tmp_path / "state", batch_rows=batch_rows)
    assert not (tmp_path / "out").exists()


def test_the_number_left_out_is_for_the_provider_only(tmp_path, write):
    with pytest.warns(RowsLeftOutWarning, match="1,000 rows"):
        release_file(write(panel(500, 5)), tmp_path / "out", MECH, keep_rows=3, state=tmp_path / "state")
    manifest = (tmp_path / "out" / "manifest.json").read_text()
    assert "left out" not in manifest
    assert "1000" not in manifest
    assert "keep" not in manifest.replace("kept", "")


def test_a_choice_of_rows_is_recorded_and_goes_on_as_it_was_begun(tmp_path, write):
    source = write(panel(500, 5))
    options = {"state": tmp_path / "state"}
    with pytest.warns(RowsLeftOutWarning):
        made = release_file(source, tmp_path / "out", MECH, keep_rows=2, **options)
    with pytest.warns(RowsLeftOutWarning):
        again = release_file(source, tmp_path / "out", MECH, keep_rows=2, **options)
    assert len(made) == len(again) == 1000
    with pytest.raises(ReleaseError, match="keep_rows=2"):
        release_file(source, tmp_path / "out", MECH, keep_rows=3, **options)
    with pytest.raises(ReleaseError, match="keep_rows=2"):
        release_file(source, tmp_path / "out", MECH, **options)


# the ledger -----------------------------------------------------------------------------------------------------------


def test_a_person_with_several_rows_is_charged_once(tmp_path, write):
    state = tmp_path / "state"
    one = charge_of(MECH)[0] / 1e6
    budget = (2.5 * one, 0.1)
    release_file(write(panel(50)), tmp_path / "a", MECH, state=state, budget=budget, batch_rows=20)
    assert account(state=state).most[0] == charge_of(MECH)[0]
    release_file(write(panel(50, equal=False)), tmp_path / "b", MECH, state=state, again="charge", batch_rows=20)
    assert account(state=state).most[0] == 2 * charge_of(MECH)[0]
    with pytest.raises(SpentError, match=r"^50 people have no budget"):
        release_file(write(panel(50)), tmp_path / "c", MECH, state=state, again="charge")


def test_a_row_is_charged_for_the_person():
    assert charge_of(MECH)[0] == pytest.approx(3 * 4e6, rel=1e-6)
    assert charge_of(MECH_ONE)[0] == pytest.approx(4e6, rel=1e-6)
    with pytest.raises(ParameterError, match="does not keep"):
        charge_of(MECH, (4.1, 0.0))
    assert charge_of(MECH, (12.1, 0.0))[0] == 12_100_000


@pytest.mark.full
def test_people_are_appended_and_skipped_with_all_their_rows(tmp_path, write):
    state, out = tmp_path / "state", tmp_path / "out"
    release_file(write(panel(50)), out, MECH, state=state)
    more = pd.concat([panel(50), panel(20, 2, start=100)])
    done = append_file(out, write(more), state=state, accept_weaker=True)
    assert done == Appended(new=40, skipped=150, charged=0)
    assert len(vdp.load(out)) == 190
    another = more.assign(visit=7)
    with pytest.raises(SpentError, match="released before"):
        append_file(out, write(another), state=state)
    assert append_file(out, write(another), state=state, again="charge").charged == 190  # the next edition
    assert account(state=state).most[0] == 2 * charge_of(MECH)[0]
    with pytest.raises(DataError, match="beyond the 3"):
        append_file(out, write(panel(10, 5, start=500)), state=state)
    with pytest.warns(RowsLeftOutWarning):
        done = append_file(out, write(panel(10, 5, start=500)), state=state, keep_rows=1, accept_weaker=True)
    assert done.new == 10


def test_a_charged_version_has_noise_of_its_own_in_every_row(tmp_path, write):
    state, out = tmp_path / "state", tmp_path / "out"
    frame = panel(50)
    release_file(write(frame), out, MECH, state=state, shuffle=False)
    append_file(out, write(frame), state=state, again="charge")
    ages = vdp.load(out).to_pandas().age.to_numpy().reshape(2, -1)
    assert np.mean(ages[0] == ages[1]) < 0.05
    visits = ages[1].reshape(3, -1)  # equal rows, in the order of the file
    assert np.mean(visits[0] == visits[1]) < 0.05


# guarantees -----------------------------------------------------------------------------------------------------------


def test_the_unit_is_the_person_where_people_have_several_rows():
    assert MECH.privacy() == MECH.privacy("person") == vdp.privacy.group(MECH.privacy("record"), 3)
    assert MECH.privacy().epsilon(0) == pytest.approx(12, rel=1e-9)
    assert MECH.privacy("record") == MECH_ONE.privacy("record") == MECH_ONE.privacy("person") == MECH_ONE.privacy()
    among = MECH.privacy(shuffled=50_000)
    assert among == vdp.privacy.group(MECH.privacy("record", shuffled=50_000), 3)
    assert among.delta(1.0) > MECH.privacy("record", shuffled=50_000).delta(1.0)
    with pytest.raises(ParameterError, match="no unit"):
        MECH.privacy("household")


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "goal",
    [
        {"epsilon": 4},
        {"epsilon": 4, "delta": 1e-4},
        {"epsilon": 1, "delta": 1e-6, "shuffled": 50_000},
        {"epsilon": 4, "delta": 0.05, "noise": "zil"},
        {"advantage": 0.3},
        {"alpha": 0.05, "beta": 0.7},
    ],
    ids=str,
)
def test_targets_mean_the_person(goal):
    mech = vdp.calibrate(SEVERAL, **goal)
    assert mech.target.unit == "person"
    for unit, met in (("person", True), (None, True), ("record", True)):
        assert (mech.target.room(mech.privacy(unit, shuffled=mech.target.shuffled)) >= 0) is met
    row = vdp.calibrate(ONE, **goal)
    of_row = vdp.Mechanism(SEVERAL, noise={block.columns: block.spec for block in row.blocks})
    assert row.target.room(of_row.privacy("person", shuffled=row.target.shuffled)) < 0  # a row's noise is not enough
    as_row = vdp.calibrate(SEVERAL, **goal, unit="record")
    assert as_row.target.unit == "record"
    assert vdp.calibrate(ONE, **goal, unit="person") == row


def test_a_shuffled_target_is_used_up():
    mech = vdp.calibrate(SEVERAL, epsilon=1, delta=1e-6, shuffled=50_000)
    assert 0.95e-6 <= mech.privacy(shuffled=50_000).delta(1.0) <= 1e-6


def test_the_crowd_is_the_smallest_public_group_of_any_row():
    frame = panel(300, 3)
    frame.loc[(frame.visit == 2) & (frame.pid >= 20), "visit"] = 1  # third visits of few people
    released = MECH.release(frame)
    assert released.order.among == 20
    assert released.privacy() == MECH.privacy(shuffled=20)
    with pytest.raises(ReleaseError, match="a group has 20"):
        vdp.calibrate(SEVERAL, epsilon=1, delta=1e-6, shuffled=300).release(frame)


# words ----------------------------------------------------------------------------------------------------------------


def test_statement_names_the_person_and_what_is_not_protected(tmp_path, write):
    statement = MECH.release(panel()).statement()
    assert "Protecting a person (all private columns in all rows of one person, 3 at most" in statement
    assert "How many rows somebody has is not protected" in statement
    assert statement.index("Protecting a person") < statement.index("Protecting a whole record")
    assert "one row of a person" in statement
    plain = MECH_ONE.release(panel(rows=1)).statement()
    assert "Protecting a person" not in plain
    assert "This holds for replacing one record" in plain
    release_file(write(panel()), tmp_path / "out", MECH, state=tmp_path / "state")
    loaded = vdp.load(tmp_path / "out")
    assert loaded.mechanism == MECH
    assert loaded.mechanism.schema.rows_per_person == 3
    assert set(loaded.privacy("person").notes)
    assert "person" in (tmp_path / "out" / "manifest.json").read_text()


def test_plan_speaks_of_the_person():
    shown = vdp.plan(SEVERAL, epsilon=6)
    assert shown.unit == "person"
    assert "protecting one person" in str(shown)
    assert shown[shown.default] == vdp.calibrate(SEVERAL, epsilon=6)


def test_audit_holds_rows_of_people_against_the_claim():
    result = vdp.audit(MECH, n=20_000)
    assert result.passed
    assert result.unit == "record"
    assert "up to 3 rows" in str(result)


def test_devices_have_one_row_per_person():
    with pytest.raises(ParameterError, match="one row per person"):
        MECH.privatize({"pid": 1, "age": 30, "region": "n", "visit": 1}, key=KEY)


# clusters and crashes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [None, 2])
def test_an_interrupted_release_goes_on_with_the_same_bytes(tmp_path, write, monkeypatch, keep):
    from versadp.release.files import part

    source = write(panel(500))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RowsLeftOutWarning)
        expected = MECH.release(panel(500), key=KEY, keep_rows=keep).frame
        options = {"key": KEY, "keep_rows": keep, "state": tmp_path / "state", "engine": "serial"}

        def killed(where):
            if where == "part written":
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(part, "reached", killed)
            with pytest.raises(KeyboardInterrupt):
                release_file(source, tmp_path / "out", MECH, **options)
        made = release_file(source, tmp_path / "out", MECH, **options)
    pd.testing.assert_frame_equal(made.to_pandas(), expected)
    assert account(state=tmp_path / "state").most[0] == charge_of(MECH)[0]


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes(tmp_path, write):
    dask = pytest.importorskip("dask.distributed")
    frame = panel(500)
    with dask.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        made = release_file(write(frame), tmp_path / "out", MECH, key=KEY, state=tmp_path / "state", engine=client)
        pd.testing.assert_frame_equal(made.to_pandas(), MECH.release(frame, key=KEY).frame)


def test_report_names_the_person():
    pytest.importorskip("matplotlib")
    page = str(vdp.report(MECH.release(panel())))
    assert "person, shuffled" in page
    assert "how many" in page
    assert "(epsilon, delta) of a person" in page
