"""People who are added and protected less than the others: said, refused, or accepted and recorded."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli.main import main
from versadp.errors import ReleaseError
from versadp.release.files.account import account
from versadp.release.files.append import append_file
from versadp.release.files.release import release_file
from versadp.release.ledger.entries import Sort
from versadp.release.ledger.state import State

SCHEMA = vdp.Schema({"x": vdp.Bounded(0, 1), "y": vdp.Public()}, id="pid")
BY_HAND = vdp.Mechanism(SCHEMA, noise={"x": vdp.noise.Window(epsilon=4)})
SHUFFLED = vdp.calibrate(SCHEMA, epsilon=1, delta=1e-6, shuffled=1000)


def people(start, stop, groups=2):
    number = np.arange(start, stop)
    return pd.DataFrame({"pid": number, "x": (0.618 * number) % 1, "y": number % groups})


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSADP_STATE", str(tmp_path / "states"))
    people(0, 4000).to_parquet(tmp_path / "first.parquet")
    people(4000, 4100).to_parquet(tmp_path / "few.parquet")
    people(4000, 9000).to_parquet(tmp_path / "many.parquet")
    return tmp_path


def everything(place):
    return {path.name: path.read_bytes() for path in (place / "out").iterdir()}


@pytest.mark.parametrize("mechanism", [BY_HAND, SHUFFLED], ids=["by hand", "for a shuffle"])
def test_a_weaker_batch_is_refused_before_anything_is_published_or_spent(place, mechanism):
    release_file(place / "first.parquet", place / "out", mechanism)
    seen, spent = everything(place), account(place / "out").most
    with pytest.raises(ReleaseError, match=r"and here a group has 50: now .*; with these people .*") as caught:
        append_file(place / "out", place / "few.parquet")
    assert "--accept-weaker" in caught.value.hint
    assert (everything(place), account(place / "out").most) == (seen, spent)
    assert not list(place.glob(".out*"))
    assert append_file(place / "out", place / "many.parquet").new == 5000  # it stands in nobody's way


@pytest.mark.parametrize("mechanism", [BY_HAND, SHUFFLED], ids=["by hand", "for a shuffle"])
def test_an_accepted_weaker_batch_is_recorded_and_said(place, mechanism):
    release_file(place / "first.parquet", place / "out", mechanism)
    before = vdp.load(place / "out").privacy()
    done = append_file(place / "out", place / "few.parquet", accept_weaker=True)
    release = vdp.load(place / "out")
    assert [batch.weaker for batch in release.manifest.batches] == [False, True]
    assert release.privacy().delta(1.0) > before.delta(1.0)
    assert "among 2,000 alike" in done.before
    assert "among 50 alike" in done.after
    (first, second) = (line for line in release.statement().splitlines() if line.startswith("  batch "))
    assert first.startswith("  batch 1: 2,000 records; a whole record: (0.5, ")
    assert second.startswith("  batch 2: 50 records; a whole record: (0.5, ")
    assert first.split(";")[1] != second.split(";")[1]
    with State(place / "states" / "default") as state:
        assert [entry.weaker for entry in state.ledger.entries if isinstance(entry, Sort)] == [None, True]
    again = append_file(place / "out", place / "few.parquet", accept_weaker=True)
    assert (again.skipped, again.before) == (100, again.after)


def test_who_hides_among_fewer_than_calibrated_for_is_charged_without_the_shuffle(place):
    release_file(place / "first.parquet", place / "out", SHUFFLED, target=(1.0, 1e-6))
    assert account(place / "out").most == (1_000_000, 1_000_000)
    append_file(place / "out", place / "few.parquet", accept_weaker=True)
    epsilon = account(place / "out").most[0] / 1e6
    assert SHUFFLED.privacy(shuffled=50).delta(1.0) > 1e-3
    assert SHUFFLED.privacy().delta(epsilon) <= 2e-6
    assert epsilon > 2


def test_a_smaller_batch_that_a_target_without_a_shuffle_covers_is_not_weaker(place):
    release_file(place / "first.parquet", place / "out", vdp.calibrate(SCHEMA, epsilon=4))
    append_file(place / "out", place / "few.parquet")
    assert [batch.weaker for batch in vdp.load(place / "out").manifest.batches] == [False, False]


def test_a_larger_batch_is_not_weaker_and_flags_that_are_not_needed_leave_no_trace(place):
    release_file(place / "few.parquet", place / "out", BY_HAND)
    append_file(place / "out", place / "first.parquet", accept_weaker=True)
    assert [batch.weaker for batch in vdp.load(place / "out").manifest.batches] == [False, False]


def test_the_command_shows_the_guarantee_before_and_after(place):
    release_file(place / "first.parquet", place / "out", BY_HAND)
    run = CliRunner().invoke
    refused = run(main, ["append", str(place / "out"), str(place / "few.parquet")])
    assert refused.exit_code == 2
    assert "--accept-weaker" in refused.output
    done = run(main, ["append", str(place / "out"), str(place / "few.parquet"), "--accept-weaker"])
    assert done.exit_code == 0, done.output
    assert "before: a whole record, among 2,000 alike: (0.5, " in done.output
    assert "now:    a whole record, among 50 alike: (0.5, " in done.output
    done = run(main, ["append", str(place / "out"), str(place / "few.parquet"), "--format", "json"])
    assert set(json.loads(done.output)[0]) == {"new", "skipped", "charged", "before", "after"}
