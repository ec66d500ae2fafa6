"""Entries of a ledger: their text is what it always was, and what versadp would not write is not read.

The texts below were written by the code that kept entries as dictionaries: one of each kind, with letters beyond ASCII.
"""

import json
import shutil
import sqlite3
from functools import reduce
from pathlib import Path

import pytest

import versadp as vdp
from versadp.errors import StateError
from versadp.release.folder.part_file import PartFile
from versadp.release.ledger import entries
from versadp.release.ledger.entries import (
    KINDS,
    Abandon,
    Append,
    Begin,
    Bounds,
    Create,
    Done,
    Finalize,
    Output,
    Part,
    Publish,
    Sheet,
    Sort,
)
from versadp.release.ledger.history import after
from versadp.release.ledger.ledger import Ledger, _write_anchor
from versadp.release.ledger.state import State

GOLDEN = Path(__file__).parents[1] / "golden"
RELEASE = "73d22720746dbf08"
CHECK = "e25456b0eeed5ce76171ff04b542f1c7"
INPUT = "2756a45670f1d14de9416024cc09f4346f7c3a0b32116416acf368a58e0dffeb"
FILE = "1f0cfc4be226da89a7f780022299a24835c152bd1f7de2f44679c0fba39c14a7"
PEOPLE = "75e058e1e8749a3f2e4c9cfba0829dfc2f454e24928527b394101f23dc8ca05d"
MANIFEST = "0442365dd88fc03c8abb6eccc482d8e789172fe08439b60e5b5c259ebd1c0a16"
SCHEMA = vdp.Schema(
    {"größe": vdp.Bounded(0, 2.5), "c": vdp.Categorical(["ä", "b"]), "y": vdp.Public()},
    id="pid",
)
MECH = vdp.Mechanism(SCHEMA, scale=0.5, exact_rate=0.1, keep=0.5).in_version(1)
NOISE = (
    '{"exact_rate": 0.1, "format": "versadp mechanism", "keep": {"c": 0.5}, "scale": {"größe": 0.5}, "schema": '
    '{"columns": [{"lower": 0.0, "name": "größe", "type": "bounded", "upper": 2.5}, {"levels": ["ä", "b"], "name": '
    '"c", "type": "categorical"}, {"name": "y", "type": "public"}], "id": "pid"}, "version": 1}'
)
PART = f'{{"bytes": 1311, "file": "part-00000.parquet", "rows": 50, "sha256": "{FILE}"}}'
TOTALS = PART.replace("part-00000.parquet", "totals-00000.json")
TEXTS = [
    '{"budget": [100000000, 900000000000], "kind": "create", "shared": true, "version": 2}',
    (
        f'{{"again": "refuse", "batch": 0, "charge": [3606351, 200001000005], "check": "{CHECK}", "kind": "begin", '
        f'"mechanism": {NOISE}, "out": "/shared/out ü", "release": "{RELEASE}"}}'
    ),
    (
        f'{{"batch": 0, "file": {PART}, "input": "{INPUT}", "kind": "part", "number": 0, "outside": {{"größe": 1}}, '
        f'"people": "{PEOPLE}", "release": "{RELEASE}"}}'
    ),
    f'{{"batch": 0, "kind": "publish", "manifest": "{MANIFEST}", "release": "{RELEASE}"}}',
    f'{{"batch": 0, "kind": "done", "release": "{RELEASE}"}}',
    f'{{"again": "charge", "batch": 1, "kind": "begin", "release": "{RELEASE}"}}',
    f'{{"batch": 1, "kind": "abandon", "release": "{RELEASE}"}}',
    f'{{"kind": "finalize", "release": "{RELEASE}"}}',
    '{"budget": null, "kind": "create", "shared": false, "version": 2}',
    (
        f'{{"batch": 0, "file": {PART}, "input": "{INPUT}", "kind": "part", "number": 0, "outside": {{}}, '
        f'"release": "{RELEASE}"}}'
    ),
    f'{{"alike": 412, "batch": 0, "kind": "sort", "release": "{RELEASE}"}}',
    f'{{"batch": 0, "file": {PART}, "kind": "output", "number": 0, "release": "{RELEASE}"}}',
    f'{{"input": "{INPUT}", "kind": "bounds", "mechanism": {{}}, "release": "{RELEASE}"}}',
    f'{{"batch": 0, "file": {TOTALS}, "input": "{INPUT}", "kind": "totals", "release": "{RELEASE}"}}',
]
PART_FILE = PartFile("part-00000.parquet", 50, 1311, FILE)
ENTRIES = [
    Create(2, shared=True, budget=(100000000, 900000000000)),
    Begin(RELEASE, "/shared/out ü", MECH.to_dict(), CHECK, (3606351, 200001000005), "refuse"),
    Part(RELEASE, 0, 0, INPUT, PART_FILE, {"größe": 1}, PEOPLE),
    Publish(RELEASE, 0, MANIFEST),
    Done(RELEASE, 0),
    Append(RELEASE, 1, "charge"),
    Abandon(RELEASE, 1),
    Finalize(RELEASE),
    Create(2, shared=False, budget=None),
    Part(RELEASE, 0, 0, INPUT, PART_FILE, {}),
    Sort(RELEASE, 0, 412),
    Output(RELEASE, 0, 0, PART_FILE),
    Bounds(RELEASE, INPUT, {}),
    Sheet(RELEASE, 0, INPUT, PartFile("totals-00000.json", 50, 1311, FILE)),
]
STORY = TEXTS[:8]


def bodies(state):
    database = sqlite3.connect(state / "ledger.sqlite")
    found = [body for (body,) in database.execute("SELECT body FROM entries ORDER BY number")]
    database.close()
    return found


@pytest.mark.parametrize(("text", "entry"), list(zip(TEXTS, ENTRIES, strict=True)))
def test_an_entry_is_written_as_it_always_was(text, entry):
    assert entry.text() == text
    assert entries.read_entry(text) == entry
    assert type(entry).from_dict(json.loads(text)).to_dict() == json.loads(text)


def test_every_kind_is_among_these():
    assert {type(entry) for entry in ENTRIES} == set(KINDS)


def test_old_entries_come_back_the_same():
    old = json.loads((GOLDEN / "golden.json").read_text())["entries"]
    assert {entry["kind"] for entry in old} == {"create", "begin", "part", "publish", "done"}
    for entry in old:
        assert entries.read_entry(json.dumps(entry)).to_dict() == entry


def test_the_text_of_an_old_ledger_comes_back_to_the_byte():
    old = bodies(GOLDEN / "files" / "state")
    assert len(old) >= 5
    assert [entries.read_entry(text).text() for text in old] == old


def change(number, **changes):
    data = json.loads(TEXTS[number]) | changes
    return json.dumps({key: value for key, value in data.items() if value is not ...})


REFUSED = {
    "not JSON": '{"kind": "done"',
    "no object": '["done"]',
    "nothing": "{}",
    "deep": "[" * 100_000,
    "another kind": change(4, kind="undone"),
    "a kind that is no word": change(4, kind=["done"]),
    "one key more": change(4, note="x"),
    "one key less": change(4, batch=...),
    "a begin between the two kinds": change(5, out="/shared"),
    "a release that is no name": change(4, release=7),
    "a number that is a truth": change(4, batch=True),
    "a number that is no count": change(4, batch=-1),
    "a broken number": change(4, batch=0.0),
    "a truth that is a number": change(0, shared=1),
    "a budget of one": change(0, budget=[1]),
    "a budget of three": change(0, budget=[1, 2, 3]),
    "a budget in words": change(0, budget="12"),
    "a budget of halves": change(0, budget=[0.5, 1]),
    "no charge": change(1, charge=None),
    "a mechanism in words": change(1, mechanism="none"),
    "a file that is none": change(2, file={"file": "part-00000.parquet"}),
    "a file that climbs out": change(2, file=PART_FILE.to_dict() | {"file": "../part-00000.parquet"}),
    "a count of names": change(2, outside={"x": "1"}),
    "counts in a row": change(2, outside=[["x", 1]]),
    "people that are null": change(2, people=None),
    "a digest that is null": change(3, manifest=None),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_versadp_would_not_write_is_not_read(text):
    with pytest.raises(StateError, match="does not know") as caught:
        entries.read_entry(text)
    assert caught.value.hint is not None
    assert "use the versadp that wrote it" in caught.value.hint


def test_an_unknown_entry_in_a_true_chain_stops_everything(tmp_path):
    """Whoever has the key wrote it: a newer versadp, which may mean something by it."""
    with State(tmp_path / "state", make=True) as state:
        ledger = state.ledger
        text = '{"kind": "pause"}'
        head = ledger._next(ledger._head, 2, text)
        ledger._database.execute("INSERT INTO entries VALUES (?, ?, ?)", (2, text, head))
        _write_anchor(tmp_path / "state", 2, head)
    with pytest.raises(StateError, match="does not know"):
        State(tmp_path / "state")


def test_an_old_ledger_is_opened_and_goes_on(tmp_path):
    shutil.copytree(GOLDEN / "files" / "state", tmp_path / "state")
    (tmp_path / "state").chmod(0o700)
    before = bodies(tmp_path / "state")
    with State(tmp_path / "state") as state:
        (history,) = state.ledger.histories.values()
        state.ledger.add(Append(history.name, 1, "refuse"))
        state.ledger.add(Abandon(history.name, 1))
    added = [json.dumps({"again": "refuse", "batch": 1, "kind": "begin", "release": history.name})]
    added += [json.dumps({"batch": 1, "kind": "abandon", "release": history.name})]
    assert bodies(tmp_path / "state") == before + added
    State(tmp_path / "state").close()


# histories -----------------------------------------------------------------------------------------------------------


def plain_fold(texts):
    """What the entries say, by dictionaries and assignments, as it was once told: the oracle."""
    out = {}
    for entry in map(json.loads, texts):
        kind = entry["kind"]
        if kind == "begin" and entry["batch"] == 0:
            out[entry["release"]] = {"final": False, "intakes": []}
        if kind == "begin":
            out[entry["release"]]["intakes"].append({"parts": [], "publish": None, "status": "running"})
        elif kind == "finalize":
            out[entry["release"]]["final"] = True
        elif kind != "create":
            intake = out[entry["release"]]["intakes"][-1]
            if kind == "part":
                intake["parts"].append(entry["number"])
            elif kind == "publish":
                intake["publish"] = entry["manifest"]
            else:
                intake["status"] = "done" if kind == "done" else "abandoned"
    return out


def seen(histories):
    return {
        name: {
            "final": history.final,
            "intakes": [
                {"parts": [part.number for part in i.parts], "publish": i.publish, "status": i.status}
                for i in history.intakes
            ],
        }
        for name, history in histories.items()
    }


def more_parts(texts):
    """Return a story with three parts in place of one."""
    parts = [json.dumps(json.loads(texts[2]) | {"number": number}) for number in (1, 2)]
    return [*texts[:3], *parts, *texts[3:]]


@pytest.mark.parametrize("until", range(11))
def test_a_history_is_what_the_entries_say(until):
    texts = more_parts(STORY)[:until]
    read = [entries.read_entry(text) for text in texts]
    assert seen(reduce(after, read, {})) == plain_fold(texts)


def test_a_history_is_never_changed_only_derived():
    read = [entries.read_entry(text) for text in STORY]
    steps = [{}]
    for entry in read:
        steps.append(after(steps[-1], entry))
    for number, step in enumerate(steps):
        assert step == reduce(after, read[:number], {})
    assert [intake.status for intake in steps[-1][RELEASE].intakes] == ["done", "abandoned"]
    assert steps[-1][RELEASE].over
    assert not steps[-2][RELEASE].over
    with pytest.raises(AttributeError):
        steps[-1][RELEASE].intakes[0].status = "running"


@pytest.mark.parametrize(
    "order",
    [[2], [5], [7], [1, 1], [1, 2, 2], [1, 6], [1, 5, 5], [1, 2, 3, 4, 5, 1]],
    ids=["part", "append", "finalize", "begun twice", "part twice", "no such intake", "append twice", "begun anew"],
)
def test_entries_that_do_not_follow_one_another(order):
    with pytest.raises(StateError, match="do not follow"):
        reduce(after, [entries.read_entry(TEXTS[number]) for number in order], {})


def test_nothing_is_written_that_does_not_follow(tmp_path):
    with State(tmp_path / "state", make=True) as state:
        with pytest.raises(StateError, match="do not follow"):
            state.ledger.add(Done(RELEASE, 0))
        assert len(state.ledger.entries) == 1
    assert len(bodies(tmp_path / "state")) == 1
    with State(tmp_path / "state") as state:
        assert isinstance(state.ledger, Ledger)
        assert state.first == Create(2, shared=True, budget=None)
