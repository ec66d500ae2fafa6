"""Metadata of a release: fixed when it is begun, the same after a crash on another day, and text only."""

import json

import pandas as pd
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp.errors import ParameterError, ReleaseError
from versadp.release import checkpoints
from versadp.release.files.append import append_file
from versadp.release.files.release import release_file
from versadp.release.folder.metadata import Metadata
from versadp.release.ledger.entries import Begin, read_entry

MECH = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}, id="pid"), scale=0.25, exact_rate=0.2)
SAID = Metadata(
    title="Ages 2026",
    curator="Office",
    contact="privacy@office.example",
    purpose="Teaching.\nAnd research.",
    covers="Members",
    rationale="As in 2025",
)
KEY = bytes(range(3, 35))
APRIL = "1775044800"


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "people.parquet"
    pd.DataFrame({"pid": range(300), "age": [18 + i % 70 for i in range(300)]}).to_parquet(path)
    return path


class Killed(BaseException):
    """The end of a process, at a named point."""


def die_at(point):
    def watcher(name):
        if name == point:
            raise Killed

    return watcher


@pytest.mark.parametrize(
    "point", ["after begin entry", "after part entry", "before publish entry", "after publication"]
)
def test_a_release_that_is_resumed_on_another_day_has_the_same_bytes(tmp_path, data, monkeypatch, point):
    release_file(data, tmp_path / "whole", MECH, key=KEY, metadata=SAID, state=tmp_path / "one")
    watcher = die_at(point)
    checkpoints.watch(watcher)
    try:
        with pytest.raises(Killed):
            release_file(data, tmp_path / "out", MECH, key=KEY, metadata=SAID, state=tmp_path / "two")
    finally:
        checkpoints.unwatch(watcher)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", APRIL)
    monkeypatch.setattr(vdp, "__version__", "99.0")
    release_file(data, tmp_path / "out", MECH, metadata=SAID, state=tmp_path / "two", key=None)
    for path in (tmp_path / "whole").iterdir():
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()
    found = vdp.load(tmp_path / "out").metadata
    assert (found.date, found.earlier) == ("2026-03-01", 0)
    assert found.says(SAID)
    assert found.software == vdp.load(tmp_path / "whole").metadata.software != "versadp 99.0"


def test_earlier_counts_releases_of_the_population(tmp_path, data):
    for number in range(3):
        made = release_file(data, tmp_path / f"out{number}", MECH, again="charge")
        assert made.metadata.earlier == number
    assert release_file(data, tmp_path / "other", MECH, population="others").metadata.earlier == 0
    assert release_file(data, tmp_path / "out1", MECH, again="charge").metadata.earlier == 1  # a rerun changes nothing


def test_what_was_given_up_is_not_counted(tmp_path, data):
    watcher = die_at("after part entry")
    checkpoints.watch(watcher)
    try:
        with pytest.raises(Killed):
            release_file(data, tmp_path / "first", MECH)
    finally:
        checkpoints.unwatch(watcher)
    assert release_file(data, tmp_path / "second", MECH).metadata.earlier == 0


def test_facts_of_the_release_are_not_the_callers(tmp_path, data):
    given = Metadata(title="t", date="1999-01-01", software="mine", earlier=7)
    found = release_file(data, tmp_path / "out", MECH, metadata=given).metadata
    assert (found.title, found.date, found.earlier) == ("t", "2026-03-01", 0)
    assert found.software == f"versadp {vdp.__version__}"


def test_an_append_keeps_the_metadata(tmp_path, data, monkeypatch):
    release_file(data, tmp_path / "out", MECH, metadata=SAID)
    before = vdp.load(tmp_path / "out").metadata
    pd.DataFrame({"pid": [900, 901], "age": [30, 31]}).to_parquet(tmp_path / "more.parquet")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", APRIL)
    append_file(tmp_path / "out", tmp_path / "more.parquet")
    assert vdp.load(tmp_path / "out").metadata == before


def test_a_release_is_not_gone_on_with_under_other_metadata(tmp_path, data):
    release_file(data, tmp_path / "out", MECH, metadata=SAID)
    release_file(data, tmp_path / "out", MECH)  # who says nothing contradicts nothing
    with pytest.raises(ReleaseError, match="other metadata"):
        release_file(data, tmp_path / "out", MECH, metadata=Metadata(title="Ages 2027"))


def test_save_takes_metadata_and_a_loaded_release_is_copied_as_it_is(tmp_path, monkeypatch):
    release = MECH.release(pd.DataFrame({"pid": [1, 2], "age": [30, 41]}))
    release.save(tmp_path / "out", metadata=SAID)
    loaded = vdp.load(tmp_path / "out")
    assert loaded.metadata.says(SAID)
    assert (loaded.metadata.date, loaded.metadata.earlier) == ("2026-03-01", 0)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", APRIL)
    loaded.save(tmp_path / "copy")
    assert (tmp_path / "copy" / "manifest.json").read_bytes() == (tmp_path / "out" / "manifest.json").read_bytes()
    with pytest.raises(ParameterError, match="copied as it is"):
        loaded.save(tmp_path / "again", metadata=SAID)


def test_the_command_says_it(tmp_path, data):
    schema = tmp_path / "schema.toml"
    schema.write_text('id = "pid"\n[columns.age]\ntype = "bounded"\nlower = 18\nupper = 90\n')
    texts = [part for name, value in SAID.to_dict().items() if isinstance(value, str) for part in (f"--{name}", value)]
    command = ["release", str(data), "--schema", str(schema), "--out", str(tmp_path / "out"), "--accept-useless"]
    run = CliRunner().invoke(main, [*command, "--epsilon", "4", *texts])
    assert run.exit_code == 0, run.output
    assert vdp.load(tmp_path / "out").metadata.says(SAID)
    run = CliRunner().invoke(main, [*command, "--epsilon", "4", "--title", "a\x1b[31m"])
    assert run.exit_code == 2
    assert "\x1b" not in run.output


def test_older_mechanisms_take_no_metadata(tmp_path, data):
    old = MECH.in_version(3)
    with pytest.raises(ParameterError, match="version 3 has no metadata"):
        release_file(data, tmp_path / "out", old, metadata=SAID)
    with pytest.raises(ParameterError, match="version 3 has no metadata"):
        old.release(pd.DataFrame({"pid": [1], "age": [30]})).save(tmp_path / "memory", metadata=SAID)
    assert not (tmp_path / "out").exists()
    assert release_file(data, tmp_path / "out", old).metadata == Metadata()


BAD = ["\x00", "\x1b[2J", "\t", "\r", "\x85", "\u2028", "\u202e", "\u2066", "\ud800", "\ufeff", "\U000e0041"]


@pytest.mark.parametrize("name", ["title", "curator", "contact", "purpose", "covers", "rationale"])
def test_text_is_text(name):
    for bad in BAD:
        with pytest.raises(ParameterError, match=f"metadata's {name}"):
            Metadata(**{name: f"a{bad}b"})
    most = 2000 if name in {"purpose", "covers", "rationale"} else 300
    assert getattr(Metadata(**{name: "a" * most}), name) == "a" * most
    for bad in ("", "  ", "a" * (most + 1), 3, ["a"]):
        with pytest.raises(ParameterError, match=f"metadata's {name}"):
            Metadata(**{name: bad})
    assert getattr(Metadata(**{name: "ﬁ 😀 אב می‌خواهم"}), name)


@pytest.mark.parametrize("name", ["title", "curator", "contact"])
def test_what_is_shown_in_one_line_is_one(name):
    with pytest.raises(ParameterError, match="one line"):
        Metadata(**{name: "a\nb"})


def test_older_ledgers_have_no_metadata_and_other_fields_are_refused():
    begin = Begin("dea3", "/released", MECH.to_dict(), "69de", (8, 4), "refuse", metadata=SAID.begun(2).to_dict())
    assert read_entry(begin.text()).said == SAID.begun(2)
    text = json.loads(begin.text())
    without = {key: value for key, value in text.items() if key != "metadata"}
    assert read_entry(json.dumps(without)).said == Metadata()
    with pytest.raises(vdp.errors.StateError, match="does not know"):
        read_entry(json.dumps(text | {"metadata": {"title": "t"}}))


def test_an_edition_keeps_the_texts_of_the_one_before_unless_others_are_given(tmp_path, data, monkeypatch):
    release_file(data, tmp_path / "out", MECH, metadata=SAID)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", APRIL)
    for age, name in ((43, "second"), (44, "third")):
        pd.read_parquet(data).assign(age=age).to_parquet(tmp_path / f"{name}.parquet")
    append_file(tmp_path / "out", tmp_path / "second.parquet", again="charge")
    second = vdp.load(tmp_path / "out").metadata
    assert second.says(SAID)
    assert (second.date, second.earlier) == ("2026-04-01", 0)
    other = Metadata(title="Ages, third edition")
    third = release_file(tmp_path / "third.parquet", None, MECH, edition_of=tmp_path / "out", metadata=other)
    assert (third.edition, third.metadata.title, third.metadata.curator) == (3, other.title, None)
