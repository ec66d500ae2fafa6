"""Rows on a pile: found, merged and compared as a plain list of them would be, in memory and in files."""

import json
import pickle
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import versadp as vdp
from versadp.errors import KeyMaterialError
from versadp.noise.words import SLAB_ROWS
from versadp.release.files.repartition import Screen
from versadp.release.folder import folder as folders
from versadp.release.ledger import row_store as piles
from versadp.release.ledger.ledger import LEDGER
from versadp.release.ledger.people import Distinct, People
from versadp.release.ledger.row_store import Pile, RowsOnDisk

TAGS = st.one_of(st.integers(0, 5), st.integers(2**64 - 3, 2**64 - 1), st.integers(0, 2**64 - 1))
BATCHES = st.lists(st.lists(st.tuples(TAGS, st.integers(0, 3)), max_size=40), max_size=12)


@pytest.fixture
def on_disk(tmp_path, monkeypatch):
    """Piles that hardly keep anything in memory, and the folder where their files are."""
    monkeypatch.setattr(piles, "IN_MEMORY", 20)
    monkeypatch.setattr(piles, "TOGETHER", 3)
    monkeypatch.setattr(piles, "APART", 4)
    monkeypatch.setattr(piles, "ASKED", 7)
    return tmp_path


def _array(rows, width):
    return np.array(rows, np.uint64).reshape(-1, width)


@settings(max_examples=60)
@given(batches=BATCHES, asked=st.lists(TAGS, max_size=30, unique=True), in_files=st.booleans())
def test_a_pile_finds_what_a_list_finds(batches, asked, in_files, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("IN_MEMORY", 20), ("TOGETHER", 3), ("APART", 4), ("ASKED", 7)):
            patch.setattr(piles, name, value)
        pile = Pile(2, tmp_path_factory.mktemp("state") if in_files else None)
        for batch in batches:
            pile.add(_array(batch, 2))
        tags = np.array(asked, np.uint64)
        found = [
            (asked[at], row.tolist()) for which, rows in pile.matches(tags) for at, row in zip(which, rows, strict=True)
        ]
        every = [list(row) for batch in batches for row in batch]
        assert sorted(found) == sorted((row[0], row) for row in every if row[0] in asked)
        pieces = [rows.tolist() for rows in pile.pieces()]
        assert [row[0] for rows in pieces for row in rows] == sorted(row[0] for row in every)
        assert sorted(row for rows in pieces for row in rows) == sorted(every)


def test_many_rows_stand_in_a_few_files_without_a_name(on_disk):
    pile, rng = Pile(2, on_disk), np.random.default_rng(0)
    for _ in range(40):
        pile.add(rng.integers(0, 2**64, (25, 2), np.uint64))
    ages = [array.age for array in pile._arrays if isinstance(array, RowsOnDisk)]
    assert len(pile) == 1000
    assert ages == sorted(ages, reverse=True)
    assert len(ages) <= 8
    assert not list(on_disk.iterdir())


def test_piles_are_compared_whatever_the_order_of_their_rows(on_disk):
    rows = np.random.default_rng(1).integers(0, 2**64, (300, 3), np.uint64)
    rows[:150, 0] = rows[150:, 0]  # two rows a tag
    one, other, less = (Pile(3, on_disk) for _ in range(3))
    for part in np.array_split(rows, 7):
        one.add(part)
    for part in np.array_split(rows[::-1], 4):
        other.add(part)
    less.add(np.concatenate([rows[1:], rows[1:2]]))
    assert one.is_same(other)
    assert not one.is_same(less)
    assert not one.is_same(Pile(3))
    assert Pile(3).is_same(Pile(3))


@settings(max_examples=40)
@given(batches=st.lists(st.lists(TAGS, max_size=40), max_size=10))
def test_repeats_are_counted_as_a_set_counts_them(batches, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(piles, "IN_MEMORY", 20)
        people = Distinct(tmp_path_factory.mktemp("state"))
        for batch in batches:
            people.see(np.array(batch, np.uint64))
        every = [tag for batch in batches for tag in batch]
        assert people.repeats() == len(every) - len(set(every))


def test_the_most_that_anybody_was_charged_since_then(on_disk):
    rng = np.random.default_rng(2)
    people, spent, first = People(on_disk), {}, {}
    for when in range(12):
        rows = rng.integers(0, 30, (40, 4)).astype(np.uint64)
        rows = rows[np.unique(rows[:, 0], return_index=True)[1]]
        people.add(rows, when)
        for tag, _, *charge in rows.tolist():
            spent[tag] = np.add(spent.get(tag, (0, 0)), charge)
            first.setdefault(tag, when)
    for place in (-1, 0, 3, 20):
        expected = np.max([(0, 0), *(spent[tag] for tag in spent if first[tag] > place)], axis=0)
        assert people.most_since([place]).tolist() == [expected.tolist()]


def test_people_in_files_are_recognised_repeated_and_charged(on_disk):
    schema = vdp.Schema({"age": vdp.Bounded(0, 100)}, id="person")
    mech = vdp.Mechanism(schema, scale=0.25, exact_rate=0.2)
    frame = pd.DataFrame({"person": np.arange(500), "age": np.arange(500) % 90})
    frame.to_csv(on_disk / "all.csv", index=False)
    frame.iloc[[*range(500), 3, 77]].to_csv(on_disk / "twice.csv", index=False)
    where = {"state": on_disk / "state", "batch_rows": 30}
    with pytest.raises(vdp.errors.DataError, match="repeats people in 2 rows"):
        vdp.release_file(on_disk / "twice.csv", on_disk / "out", mech, **where)
    vdp.release_file(on_disk / "all.csv", on_disk / "out", mech, **where)
    more = pd.DataFrame({"person": np.arange(450, 560), "age": np.arange(450, 560) % 90})
    more.to_csv(on_disk / "more.csv", index=False)
    done = vdp.append_file(on_disk / "out", on_disk / "more.csv", **where)
    assert (done.new, done.skipped) == (60, 50)
    more.assign(age=95).to_csv(on_disk / "changed.csv", index=False)
    with pytest.raises(vdp.errors.SpentError, match="110 people were released before"):
        vdp.append_file(on_disk / "out", on_disk / "changed.csv", **where)
    where |= {"again": "charge", "without_missing_people": True}
    charged = vdp.append_file(on_disk / "out", on_disk / "changed.csv", **where)
    assert charged.charged == 110
    again = vdp.append_file(on_disk / "out", on_disk / "changed.csv", **where)
    assert (again.new, again.skipped, again.charged) == (0, 110, 0)


def test_who_comes_twice_is_noticed_before_much_is_written(tmp_path, monkeypatch):
    """And of what was given up the ledger keeps nobody."""
    monkeypatch.setattr(folders, "PART_ROWS", 2 * SLAB_ROWS)
    mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(0, 100)}, id="person"), scale=0.25, exact_rate=0.2)
    person = np.arange(12 * SLAB_ROWS)
    person[5 * SLAB_ROWS + 5] = 3
    pd.DataFrame({"person": person, "age": person % 90}).to_parquet(tmp_path / "all.parquet")
    for _ in range(2):
        with pytest.raises(vdp.errors.DataError, match="repeats people in 1 rows"):
            vdp.release_file(
                tmp_path / "all.parquet", tmp_path / "out", mech, state=tmp_path / "keys", batch_rows=SLAB_ROWS
            )
    with closing(sqlite3.connect(tmp_path / "keys" / LEDGER)) as ledger:
        assert ledger.execute("SELECT count(*) FROM people").fetchone() == (0,)
        parts = [body for (body,) in ledger.execute("SELECT body FROM entries") if json.loads(body)["kind"] == "part"]
    assert 0 < len(parts) <= 8  # of six, twice


def test_a_screen_is_not_sent_anywhere():
    screen = Screen(None, b"secret", "release", (1, 0), None, None, "refuse")
    with pytest.raises(KeyMaterialError, match="cannot be pickled"):
        pickle.dumps(screen)
    assert "secret" not in repr(screen).replace("secrets", "")
