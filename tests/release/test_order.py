"""The order of released rows: a function of the rows alone, in memory and in files; and what it is worth."""

import itertools
import json
import math
import re
import sys
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import versadp as vdp
from versadp.errors import ParameterError, ReleaseError, StateError
from versadp.noise.words import SLAB_ROWS
from versadp.release.atomic_write import sha256
from versadp.release.files import intake, sorting
from versadp.release.files.append import append_file
from versadp.release.files.release import release_file
from versadp.release.files.sorting import read_runs, write_run
from versadp.release.folder import folder as folders
from versadp.release.folder import parts
from versadp.release.folder.part_file import PartFile
from versadp.release.ledger.state import State
from versadp.release.path.order import MOST_GROUPS, Alike, Order, count_alike, in_order, is_sorted, row_hash, row_order

KEY = bytes(range(32))
SCHEMA = vdp.Schema(
    {"x": vdp.Bounded(0, 1), "c": vdp.Categorical(["a", "b", "c"]), "y": vdp.Public(), "t": vdp.Public()}, id="pid"
)
MECH = vdp.Mechanism(SCHEMA, noise={("x", "c"): vdp.noise.Window(epsilon=3)})


def people(n=3000, first=0):
    rng = np.random.default_rng(first)
    return pd.DataFrame(
        {
            "pid": np.arange(first, first + n),
            "x": np.sort(rng.random(n)),
            "c": rng.choice(["a", "b", "c"], n),
            "y": rng.integers(0, 3, n),
            "t": rng.choice(["ä", "b"], n),
        }
    )


# a function of the rows alone ----------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, -0.0, 1.5, 2.5]), st.sampled_from(["", "a", "ä", "b"])), max_size=30))
def test_whatever_the_order_before_the_order_after_is_the_same(rows):
    for moved in (rows[::-1], sorted(rows), rows[1:] + rows[:1]):
        one, two = (in_order(table_of(each)) for each in (rows, moved))
        assert all(np.array_equal(_bytes(one[name]), _bytes(two[name])) for name in one)
        assert is_sorted(one)


def test_rows_with_one_hash_are_sorted_by_what_they_hold(monkeypatch):
    """With a hash that is the same for all, nothing but the values is left to sort by."""
    monkeypatch.setattr("versadp.noise.kernel.mix", lambda *_: None)
    rng = np.random.default_rng(0)
    rows = list(zip(rng.integers(0, 4, 300).astype(float), rng.choice(["a", "b", "ä"], 300), strict=True))
    one, two = (in_order(table_of(each)) for each in (rows, rows[::-1]))
    assert one["x"].tolist() == two["x"].tolist()
    assert one["t"].to_pylist() == two["t"].to_pylist()
    assert len(set(zip(one["x"], one["t"].to_pylist(), strict=True))) > 9


def table_of(rows):
    return {"x": np.array([x for x, _ in rows], float), "t": pa.array([t for _, t in rows], pa.large_string())}


def _bytes(column):
    return column.view(np.uint64) if isinstance(column, np.ndarray) else np.array(column.to_pylist(), object)


def test_nulls_and_kinds_of_numbers_have_hashes():
    columns = [
        pa.array([1, None, 3]),
        pa.array([1.5, None, 2.5]),
        pa.array([True, None, False]),
        pa.array(["a", None, ""]),
    ]
    hashes = [row_hash({"x": column}) for column in columns]
    assert all(len(set(each.tolist())) == 3 for each in hashes)
    assert (row_hash({"x": pa.array([1, 2], pa.int8())}) == row_hash({"x": pa.array([1, 2])})).all()
    assert row_order({"x": pa.chunked_array([[1, 2], [3]])}).tolist() == row_order({"x": pa.array([1, 2, 3])}).tolist()


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_people_in_any_order_are_released_in_one(kind):
    """Noise is keyed by the id, so nothing may depend on where people stand."""
    frame = people()
    moved = frame.sample(frac=1, random_state=1)
    one, two = (MECH.release(as_kind(each, kind), key=KEY) for each in (frame, moved))
    assert one.to_pandas().equals(two.to_pandas())
    kept = MECH.release(as_kind(moved, kind), key=KEY, shuffle=False)
    assert not kept.to_pandas().equals(one.to_pandas())
    assert sorted(kept.to_pandas()["x"]) == sorted(one.to_pandas()["x"])


def as_kind(frame, kind):
    import polars as pl

    return {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame, preserve_index=False),
    }[kind]


@pytest.mark.parametrize("rows", [1, 8192, 20_000, 60_001])
def test_a_file_in_many_parts_is_sorted_as_one(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(parts, "PART_CELLS", 1)
    moved = people(rows).sample(frac=1, random_state=2)
    for name, frame in (("one", people(rows)), ("two", moved)):
        frame.to_parquet(tmp_path / f"{name}.parquet", index=False)
        release_file(tmp_path / f"{name}.parquet", tmp_path / name, MECH, key=KEY, population=name)
    MECH.release(people(rows), key=KEY).save(tmp_path / "memory")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(names) == 1 + -(-rows // 8192)
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()
    table = vdp.load(tmp_path / "one").frame
    assert is_sorted(dict(zip(table.column_names, table.columns, strict=True)))


def test_a_run_that_ends_early_is_not_taken_for_whole(tmp_path):
    """Zeros look like the end of an Arrow file; its size is right, and rows would be lost."""
    rows = people(5000)
    write_run(tmp_path / "run-00000.arrow", pa.Table.from_pandas(rows, preserve_index=False).columns)
    file = PartFile.of(tmp_path / "run-00000.arrow", len(rows))
    (whole,) = read_runs(tmp_path, [file])
    assert sum(batch.num_rows for batch in whole.neighbours(0, 2**64).rows(0, 2**64)) == 5000
    data, end = (tmp_path / "run-00000.arrow").read_bytes(), sorting._index(whole).places[2]
    (tmp_path / "run-00000.arrow").write_bytes(data[:end].ljust(len(data), b"\0"))
    (cut,) = read_runs(tmp_path, [replace(file, sha256="another")])
    with pytest.raises(ReleaseError, match="scratch folder was changed"):
        cut.neighbours(0, 2**64)


@pytest.mark.parametrize("rows", [0, 1, 1024, 5000])
def test_a_run_says_where_its_batches_lie(tmp_path, rows):
    """As going through all of it finds; and so do runs that were begun before they said so."""
    path = tmp_path / "run-00000.arrow"
    contents = write_run(path, pa.Table.from_pandas(people(rows), preserve_index=False).columns)
    assert contents == (path.stat().st_size, sha256(path))
    (told,) = read_runs(tmp_path, [PartFile(path.name, rows, *contents)])
    index = sorting._index(told)
    path.write_bytes(path.read_bytes()[: -sorting.TAIL.size - 8 * (2 * len(index.starts) + 1)])
    (silent,) = read_runs(tmp_path, [PartFile.of(path, rows)])
    with pa.ipc.open_file(path) as file:
        assert file.num_record_batches == len(index.starts) == -(-rows // sorting.BATCH)
    assert sorting._index(silent).columns == index.columns
    for mine, walked in zip(index[1:], sorting._index(silent)[1:], strict=True):
        assert mine.tolist() == walked.tolist()


def test_a_run_that_tells_other_batches_is_not_believed(tmp_path):
    path = tmp_path / "run-00000.arrow"
    contents = write_run(path, pa.Table.from_pandas(people(5000), preserve_index=False).columns)
    data = path.read_bytes()
    for batches in (4, 6, 2**40):
        path.write_bytes(data[: -sorting.TAIL.size] + sorting.TAIL.pack(batches, sorting._INDEXED))
        (run,) = read_runs(tmp_path, [PartFile(path.name, 5000, contents.size, str(batches))])
        with pytest.raises(ReleaseError, match="scratch folder was changed"):
            run.neighbours(0, 2**64)


def without_index(path, columns, known=None):
    """Write a run as it was once: it does not say where its batches lie."""
    write_run(path, columns)
    count, _ = sorting.TAIL.unpack(path.read_bytes()[-sorting.TAIL.size :])
    path.write_bytes(path.read_bytes()[: -sorting.TAIL.size - 8 * (2 * count + 1)])
    return path.stat().st_size, sha256(path)


@pytest.mark.parametrize("lost", [True, False])
def test_runs_that_were_begun_without_an_index_go_on(tmp_path, monkeypatch, lost):
    """Also if one of them is lost, and is made again: the ledger knows what it was."""
    monkeypatch.setattr(folders, "PART_ROWS", 4 * SLAB_ROWS)
    people(11 * SLAB_ROWS).to_parquet(tmp_path / "people.parquet", index=False)
    release = partial(release_file, tmp_path / "people.parquet", tmp_path / "out", MECH, key=KEY, population="one")
    with monkeypatch.context() as before:
        before.setattr("versadp.release.files.part.write_run", without_index)
        before.setattr(intake.Run, "_sort", interrupted)
        with pytest.raises(KeyboardInterrupt):
            release()
    if lost:
        next(tmp_path.glob(".out.*/runs/run-00001.arrow")).unlink()
    release()
    MECH.release(people(11 * SLAB_ROWS), key=KEY).save(tmp_path / "memory")
    for path in (tmp_path / "memory").iterdir():
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def test_nobody_is_left_out_between_runs_and_parts(tmp_path, monkeypatch):
    people(3 * SLAB_ROWS).to_parquet(tmp_path / "people.parquet", index=False)
    inside = sorting._inside
    monkeypatch.setattr(sorting, "_inside", lambda batch, low, high: inside(batch, low, high).slice(1))
    with pytest.raises(StateError, match="records were lost"):
        release_file(tmp_path / "people.parquet", tmp_path / "out", MECH, key=KEY)
    assert not (tmp_path / "out").exists()


def test_runs_that_were_begun_longer_go_on(tmp_path, monkeypatch):
    """Runs were as long as parts once: what was begun so is finished, and found to be complete, all the same."""
    monkeypatch.setattr(folders, "PART_ROWS", 4 * SLAB_ROWS)
    people(11 * SLAB_ROWS).to_parquet(tmp_path / "people.parquet", index=False)
    release = partial(release_file, tmp_path / "people.parquet", tmp_path / "out", MECH, key=KEY, population="one")
    with monkeypatch.context() as before:
        before.setattr(intake, "run_rows", int)
        before.setattr(intake.Run, "_sort", interrupted)
        with pytest.raises(KeyboardInterrupt):
            release()
    release()
    release()
    MECH.release(people(11 * SLAB_ROWS), key=KEY).save(tmp_path / "memory")
    for path in (tmp_path / "memory").iterdir():
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def interrupted(*_):
    raise KeyboardInterrupt


# who is alike --------------------------------------------------------------------------------------------------------


def test_the_smallest_group_is_counted(tmp_path):
    frame = people()
    smallest = int(frame.groupby(["y", "t"]).size().min())
    release = MECH.release(frame)
    assert release.order == Order((smallest,))
    frame.to_parquet(tmp_path / "d.parquet", index=False)
    released = release_file(tmp_path / "d.parquet", tmp_path / "out", MECH, batch_rows=100)
    assert released.order == vdp.load(tmp_path / "out").order == Order((smallest,))
    assert released.privacy("attribute") == MECH.privacy("attribute", shuffled=smallest)
    assert (
        f"has {smallest:,} records"
        in json.loads((tmp_path / "out" / "manifest.json").read_text())["privacy"]["statement"]
    )


@pytest.mark.filterwarnings("ignore::versadp.errors.UselessWarning")
def test_without_public_columns_all_records_are_alike():
    schema = vdp.Schema({"x": vdp.Bounded(0, 1)})
    mech = vdp.calibrate(schema, epsilon=2)
    assert mech.release(pd.DataFrame({"x": np.zeros(70)})).order.among == 70
    assert mech.release(pd.DataFrame({"x": np.zeros(0)})).order.among == 1


def test_too_many_groups_count_as_groups_of_one(monkeypatch):
    alike = Alike()
    alike.add([count_alike({"y": pa.array([0, 0, 1, 1])})] * 2)
    assert alike.smallest(8) == 4
    monkeypatch.setattr("versadp.release.path.order.MOST_GROUPS", 3)
    alike.add([count_alike({"y": pa.array([2, 2, 3, 3, 4, 4])})])
    assert alike.smallest(14) == 1
    assert MOST_GROUPS == 2**20


def test_appended_people_are_a_shuffle_of_their_own(tmp_path):
    for name, frame in (("d", people()), ("e", people(500, 3000))):
        frame.to_parquet(tmp_path / f"{name}.parquet", index=False)
    release_file(tmp_path / "d.parquet", tmp_path / "out", MECH, key=KEY)
    before = vdp.load(tmp_path / "out").frame
    append_file(tmp_path / "out", tmp_path / "e.parquet", accept_weaker=True)
    release = vdp.load(tmp_path / "out")
    counts = [int(each.groupby(["y", "t"]).size().min()) for each in (people(), people(500, 3000))]
    assert release.order.alike == tuple(counts)
    assert release.order.among == min(counts)
    assert release.frame.slice(0, 3000).equals(before)
    added = release.frame.slice(3000)
    assert is_sorted(dict(zip(added.column_names, added.columns, strict=True)))


# what was calibrated for ---------------------------------------------------------------------------------------------

NAMED = vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid")


def named(n, first=0):
    return pd.DataFrame({"pid": np.arange(first, first + n), "x": np.linspace(0, 1, n)})


def test_fewer_records_than_calibrated_for_are_refused_in_memory():
    mech = vdp.calibrate(NAMED, epsilon=1, delta=1e-6, shuffled=1000)
    assert mech.privacy(shuffled=1000).delta(1.0) <= 1e-6
    assert mech.privacy().delta(1.0) > 1e-3
    with pytest.raises(ReleaseError, match=r"at least 1,000 .* 999"):
        mech.release(named(999))
    with pytest.raises(ReleaseError, match="keeps the order"):
        mech.release(named(1000), shuffle=False)
    assert mech.release(named(1000)).privacy().delta(1.0) <= 1e-6
    assert vdp.Mechanism.from_json(mech.to_json()).target == mech.target


def test_what_was_calibrated_for_is_said_in_words(tmp_path):
    """By the mechanism for as many as it needs, by the release and on the terminal for as many as there are."""
    from click.testing import CliRunner

    from versadp.cli import main

    mech = vdp.calibrate(NAMED, epsilon=1, delta=1e-6, shuffled=1000)
    words = mech.statement()
    assert words.count("Among 1,000 records in an order that tells nothing") == 2
    assert len(re.findall(r"\(1, (1e-06|9\.9\de-07)\)", words)) == 2
    assert "Among" not in vdp.calibrate(NAMED, epsilon=1).statement()
    named(1500).to_parquet(tmp_path / "d.parquet", index=False)
    NAMED.to_toml(tmp_path / "s.toml")
    data, schema, out = (str(tmp_path / name) for name in ("d.parquet", "s.toml", "out"))
    target = ["--epsilon", "1", "--delta", "1e-6", "--shuffled", "1000"]
    shown = CliRunner().invoke(main, ["release", data, "--schema", schema, "--out", out, *target])
    assert shown.exit_code == 0, shown.output
    statement = vdp.load(out).statement()
    assert statement in shown.output
    assert statement == json.loads((tmp_path / "out" / "manifest.json").read_text())["privacy"]["statement"]
    assert statement.count("Among 1,500 records in an order that tells nothing") == 2


def test_fewer_records_than_calibrated_for_are_refused_in_files_and_cost_nothing(tmp_path):
    schema = vdp.Schema({"x": vdp.Bounded(0, 1), "y": vdp.Public()}, id="pid")
    mech = vdp.calibrate(schema, epsilon=1, delta=1e-6, shuffled=1000)
    frame = named(3000).assign(y=[0] * 2500 + [1] * 500)
    frame.to_parquet(tmp_path / "d.parquet", index=False)
    with pytest.raises(ReleaseError, match="a group has 500"):
        release_file(tmp_path / "d.parquet", tmp_path / "out", mech)
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.glob(".out*")) == []
    with State(tmp_path / "home" / "versadp" / "default") as state:
        assert [history.counts for history in state.ledger.histories.values()] == [False]
    frame.assign(y=0).to_parquet(tmp_path / "d.parquet", index=False)
    release_file(tmp_path / "d.parquet", tmp_path / "out", mech)
    with State(tmp_path / "home" / "versadp" / "default") as state:
        (history,) = [history for history in state.ledger.histories.values() if history.counts]
        assert history.begin.charge[0] < 1_000_001
    named(100, 3000).assign(y=0).to_parquet(tmp_path / "e.parquet", index=False)
    with pytest.raises(ReleaseError, match="a group has 100"):
        append_file(tmp_path / "out", tmp_path / "e.parquet")
    assert len(vdp.load(tmp_path / "out")) == 3000
    named(2000, 3000).assign(y=1).to_parquet(tmp_path / "e.parquet", index=False)
    assert append_file(tmp_path / "out", tmp_path / "e.parquet").new == 2000
    with pytest.raises(ReleaseError, match="keeps the order"):
        release_file(tmp_path / "d.parquet", tmp_path / "other", mech, shuffle=False)


def test_an_order_once_begun_stays(tmp_path):
    named(100).to_parquet(tmp_path / "d.parquet", index=False)
    mech = vdp.calibrate(NAMED, epsilon=1)
    kept = release_file(tmp_path / "d.parquet", tmp_path / "out", mech, shuffle=False)
    assert kept.order == Order()
    assert "in the order in which they came" in kept._source.manifest.privacy["statement"]
    with pytest.raises(ReleaseError, match="shuffle=False"):
        release_file(tmp_path / "d.parquet", tmp_path / "out", mech)


def test_collected_records_claim_no_shuffle_unless_told():
    released = MECH.release(people()).frame
    assert vdp.Release.from_frame(released, MECH).privacy() == MECH.privacy()
    moved = released.sample(frac=1, random_state=3)
    shuffled = vdp.Release.from_frame(moved, MECH, shuffle=True)
    assert shuffled.order.among == int(released.groupby(["y", "t"]).size().min())
    assert shuffled.frame.equals(released)


def test_laplace_noise_claims_nothing_more_for_a_shuffle():
    mech = vdp.Mechanism(NAMED, scale=0.5, exact_rate=0.1)
    assert mech.privacy(shuffled=1000) == mech.privacy()
    with pytest.raises(ParameterError, match="gains nothing"):
        vdp.calibrate(NAMED, epsilon=1, delta=0.1, exact_rate=0.05, shuffled=1000)


# against enumeration -------------------------------------------------------------------------------------------------


def law(block, record):
    """Return the probabilities of all outputs of one record, as they are sampled, in whole numbers."""
    words, chances = 2**64, []
    for x, w, n in zip(record, block.window, block.outputs, strict=True):
        draw = [Fraction(-(-words * (z + 1) // n) - -(-words * z // n), words) for z in range(n)]
        kept = [
            Fraction(-(-words * (z - x + 1) // w) - -(-words * (z - x) // w), words) if x <= z < x + w else 0
            for z in range(n)
        ]
        chances.append((kept, draw))
    keep = Fraction(block.kept, words)
    out = {}
    for z in itertools.product(*(range(n) for n in block.outputs)):
        kept = drawn = Fraction(1)
        for place, (one, two) in zip(z, chances, strict=True):
            kept, drawn = kept * one[place], drawn * two[place]
        out[z] = keep * kept + (1 - keep) * drawn
    assert sum(out.values()) == 1
    return out


def multiset_law(laws):
    total = {(): Fraction(1)}
    for each in laws:
        new = {}
        for seen, p in total.items():
            for z, q in each.items():
                after = tuple(sorted((*seen, z)))
                new[after] = new.get(after, 0) + p * q
        total = new
    return total


@pytest.mark.parametrize(
    ("noise", "n", "unit"),
    [
        ({("a", "b"): vdp.noise.Window(epsilon=1.5, cells=2, window=1)}, 3, "record"),
        (
            {"a": vdp.noise.Window(epsilon=2, cells=2, window=2), "b": vdp.noise.Window(epsilon=1, cells=1, window=1)},
            3,
            "record",
        ),
        (
            {"a": vdp.noise.Window(epsilon=2, cells=1, window=1), "b": vdp.noise.Window(epsilon=1, cells=1, window=1)},
            4,
            "attribute",
        ),
    ],
)
def test_what_is_claimed_is_at_least_what_enumeration_finds(noise, n, unit):
    """All multisets of n reports, and every data set of records at the corners of the lattice."""
    schema = vdp.Schema({"a": vdp.Bounded(0, 1), "b": vdp.Bounded(0, 1)})
    mech = vdp.Mechanism(schema, noise=noise)
    profile = mech.privacy(unit, shuffled=n)
    corners = list(itertools.product((0, 1), repeat=2))

    def report(corner):
        at = dict(zip("ab", corner, strict=True))
        laws = [
            law(block, [at[name] * last for name, last in zip(block.columns, block.last, strict=True)])
            for block in mech.blocks
        ]
        return {
            sum((z for z, _ in pairs), ()): math.prod(p for _, p in pairs)
            for pairs in itertools.product(*(each.items() for each in laws))
        }

    reports = {corner: report(corner) for corner in corners}
    worst = dict.fromkeys((0.1, 0.5, 1.0), 0.0)
    for others in itertools.combinations_with_replacement(corners, n - 1):
        for one, two in itertools.permutations(corners, 2):
            if unit == "attribute" and sum(a != b for a, b in zip(one, two, strict=True)) > 1:
                continue
            p, q = (multiset_law([reports[c] for c in (x, *others)]) for x in (one, two))
            for epsilon in worst:
                found = sum(max(float(p[z]) - np.exp(epsilon) * float(q[z]), 0.0) for z in p)
                worst[epsilon] = max(worst[epsilon], found)
    for epsilon, found in worst.items():
        claimed = profile.delta(epsilon)
        assert claimed >= found * (1 - 1e-9)
        assert claimed <= mech.privacy(unit).delta(epsilon) * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::versadp.errors.UselessWarning")
def test_a_public_pattern_of_nulls_is_a_public_column():
    schema = vdp.Schema({"x": vdp.Bounded(0, 1, nullable="public"), "z": vdp.Bounded(0, 1, nullable=True)})
    mech = vdp.calibrate(schema, epsilon=2)
    frame = pd.DataFrame({"x": np.linspace(0, 1, 100), "z": np.linspace(0, 1, 100)})
    frame.loc[:9, "x"] = np.nan
    frame.loc[50:, "z"] = np.nan
    assert mech.release(frame).order == Order((10,))


@pytest.mark.parametrize("unit", ["record", "attribute"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (0.1, 1e-6), (1.0, 1e-3), (4.0, 0.1)])
def test_windows_with_a_delta_meet_it_as_it_is_reported(epsilon, delta, unit):
    schema = vdp.Schema({"a": vdp.Bounded(0, 1), "b": vdp.Bounded(0, 1), "c": vdp.Categorical(["x", "y"])})
    mech = vdp.calibrate(schema, epsilon=epsilon, delta=delta, noise="window", unit=unit)
    assert delta * (1 - 1e-5) <= mech.privacy(unit).delta(epsilon) <= delta


def test_hashes_are_the_same_with_and_without_the_compiled_loop(monkeypatch):
    rng = np.random.default_rng(0)
    columns = {"x": rng.normal(size=40_000), "y": rng.integers(-(2**63), 2**63 - 1, 40_000)}
    import versadp.noise.kernel as compiled

    with_loop = row_hash(columns)
    monkeypatch.delitem(sys.modules, compiled.__name__)
    without = row_hash(columns)
    assert np.array_equal(with_loop, without)
    assert len(np.unique(without)) == 40_000
