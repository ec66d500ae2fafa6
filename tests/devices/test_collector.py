"""A collector takes reports once, sorts out what is none, and releases what it took."""

import io
import json
import random
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.devices import closing, make_report, sources
from versadp.errors import DataError, ParameterError, ReleaseError, StateError
from versadp_tests.reports import MECH, PUBLIC, ROUND, SCHEMA, collector, lines, release_bytes, reports

MADE = reports(400)


def released(folder, given, **options):
    with collector(folder, **options) as opened:
        opened.take(given)
        return opened.close_round()


def test_reports_become_an_ordinary_release(tmp_path):
    with collector(tmp_path / "round") as opened:
        assert opened.take(lines(MADE)) == {"taken": 400}
        release = opened.close_round()
    assert len(vdp.load(tmp_path / "round" / "release")) == len(release) == 400
    assert release.mechanism == MECH
    assert sorted(path.name for path in (tmp_path / "round").iterdir()) == [
        "closed.json",
        "collection.json",
        "lock",
        "release",
    ]


def test_it_has_the_bytes_of_the_same_table_released_in_memory(tmp_path):
    """Decoded by another way: block by block, through `Release.from_frame`."""
    released(tmp_path / "round", lines(MADE))
    table = {name: [report["values"][name] for report in MADE] for name in SCHEMA.columns}
    for block in MECH.blocks:
        values = np.array([[np.nan if v is None else v for v in table[name]] for name in block.columns], float)
        block.to_values(values)
        table |= dict(zip(block.columns, values, strict=True))
    levels = [None if np.isnan(v) else SCHEMA.columns["region"].levels[int(v)] for v in table["region"]]
    first = SCHEMA.columns["since"].first
    days = pa.array([None if np.isnan(v) else first + timedelta(int(v)) for v in table["since"]], pa.date32())
    frame = pa.table({"age": table["age"], "region": levels, "since": days, "bought": table["bought"]})
    vdp.Release.from_frame(frame, MECH, on_grid=True, shuffle=True).save(tmp_path / "other")
    mine = (tmp_path / "round" / "release" / "part-00000.parquet").read_bytes()
    assert mine == (tmp_path / "other" / "part-00000.parquet").read_bytes()


def test_each_bad_line_is_sorted_out_with_its_reason(tmp_path):
    good = MADE[0]
    other = [
        (b"no json" * 50, "not JSON"),
        (b'{"a": NaN}'.ljust(300), "not JSON"),
        (b'{"a": 1, "a": 1}'.ljust(300), "not JSON"),
        (b"\xff\xfe" * 100, "not JSON"),
        (b"[" * 50_000, "not JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not JSON"),
        (b" " * 70_000 + b"{}", "too long"),
        (b"[]".ljust(300), "not a report"),
        (b"no json", "not a report"),  # too short to be one
        (good | {"more": 1}, "not a report"),
        (good | {"version": 2}, "not a report"),
        (good | {"version": True}, "not a report"),
        (good | {"format": "other"}, "not a report"),
        (good | {"id": "AB" * 32}, "not a report"),
        (good | {"id": "\u0661" * 64}, "not a report"),
        (good | {"id": "0" * 63}, "not a report"),
        (good | {"mechanism": "0" * 64}, "another mechanism"),
        (good | {"mechanism": None}, "another mechanism"),
        (good | {"round": "2026-12"}, "another round"),
        (good | {"values": []}, "other columns"),
        (good | {"values": good["values"] | {"more": 1}}, "other columns"),
        (good | {"values": {"age": 1}}, "other columns"),
    ]
    values = [
        ({"age": 84}, "never given by the noise"),
        ({"age": -1}, "never given by the noise"),
        ({"age": 1.0}, "never given by the noise"),
        ({"age": "1"}, "never given by the noise"),
        ({"age": True}, "never given by the noise"),
        ({"age": None}, "never given by the noise"),
        ({"age": [1]}, "never given by the noise"),
        ({"age": 2**64}, "never given by the noise"),
        ({"age": 10**400}, "never given by the noise"),
        ({"region": 5}, "never given by the noise"),
        ({"region": None}, "never given by the noise"),
        ({"bought": 2}, "public value of another kind"),
        ({"bought": 1.0}, "public value of another kind"),
        ({"bought": True}, "public value of another kind"),
        ({"bought": None}, "public value of another kind"),
        ({"bought": "1"}, "public value of another kind"),
        ({"bought": {}}, "public value of another kind"),
    ]
    other += [(good | {"values": good["values"] | change}, reason) for change, reason in values]
    with collector(tmp_path / "round") as opened:
        for given, reason in other:
            line = given if isinstance(given, bytes) else json.dumps(given)
            assert opened.take([line]) == {reason: 1}, given if len(str(given)) < 500 else reason
        assert opened.take([json.dumps(good)]) == {"taken": 1}  # and none of them took its id
        # all together, among good ones
        every = [given if isinstance(given, bytes) else json.dumps(given).encode() for given, _ in other]
        mixed = lines(MADE[1:]) + every
        random.Random(0).shuffle(mixed)
        counts = opened.take(mixed)
        assert counts["taken"] == 399
        assert sum(counts.values()) == len(mixed)
        assert len(opened.close_round()) == 400


def test_missing_values_public_and_private(tmp_path):
    """A private missing value has several outputs; a public one is null, and its pattern counts as a public value."""
    with collector(tmp_path / "round", least=1, public=PUBLIC) as opened:
        opened.take(lines(MADE))
        table = opened.close_round().to_arrow()
    null = sum(report["values"]["since"] is None for report in MADE)
    assert 0 < null == table["since"].null_count
    assert table["region"].null_count == sum(report["values"]["region"] == 4 for report in MADE) > 0


@pytest.mark.parametrize("seed", range(3))
def test_the_release_does_not_depend_on_the_order_of_arrival(tmp_path, seed, monkeypatch):
    monkeypatch.setattr(sources, "LINES", 37)
    monkeypatch.setattr(closing, "RUN_ROWS", 64)
    monkeypatch.setattr(closing, "SHARE_ROWS", 100)
    forged = [MADE[k] | {"values": MADE[k + 1]["values"]} for k in range(0, 60, 2)]  # the same ids, other values
    every = lines([*MADE, *forged, *MADE[:30]])
    with collector(tmp_path / "straight") as opened:
        opened.take(every)
        opened.close_round()
    random.Random(seed).shuffle(every)
    with collector(tmp_path / "round") as opened:
        for start in range(0, len(every), 50 + seed):
            opened.take(every[start : start + 50 + seed])
        opened.close_round()
        counts = opened.counts
    assert counts == {"taken": 400, "another report under the same id": 30, "repeated": 30}
    assert release_bytes(tmp_path / "round") == release_bytes(tmp_path / "straight")


def test_repeats_beyond_what_is_remembered_are_found_at_the_close(tmp_path, monkeypatch):
    monkeypatch.setattr("versadp.devices.seen.MOST_KEYS", 0)
    monkeypatch.setattr("versadp.devices.seen.Seen.__init__.__defaults__", (50,))
    with collector(tmp_path / "round") as opened:
        for _ in range(3):
            for start in range(0, 400, 20):
                opened.take(lines(MADE[start : start + 20]))
        assert opened.counts["taken"] > 400
        assert len(opened.close_round()) == 400
        assert opened.counts == {"taken": 400, "repeated": 800}


def test_ids_that_were_chosen_alike_are_told_apart(tmp_path, monkeypatch):
    """Shares of ids do not depend on a few of their digits, and one may be empty."""
    monkeypatch.setattr(closing, "SHARE_ROWS", 10)
    alike = [report | {"id": f"{k:064x}"} for k, report in enumerate(MADE)]
    with collector(tmp_path / "round") as opened:
        opened.take(lines([*alike, *alike[:5]]))
        assert len(opened.close_round()) == 400
    factors = np.array([3, 5, 7, 11], np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    ids = pa.array([bytes.fromhex(report["id"]) for report in alike], pa.binary(32))
    batch = pa.record_batch({"id": ids})
    sizes = [len(closing._ids_of_share(lambda: [batch], share, 8, factors)[0]) for share in range(8)]
    assert sum(sizes) == 400
    assert max(sizes) < 100  # 50 each


def test_it_goes_on_where_it_was_left(tmp_path):
    with collector(tmp_path / "round") as opened:
        opened.take(lines(MADE[:100]))
    with vdp.devices.Collector(tmp_path / "round") as opened:
        assert opened.counts == {"taken": 100}
        assert opened.take(lines(MADE[50:])) == {"taken": 300, "repeated": 50}
        opened.close_round()
    released(tmp_path / "other", lines(MADE))
    assert release_bytes(tmp_path / "round") == release_bytes(tmp_path / "other")


def test_too_few_reports_are_refused_and_the_round_stays_open(tmp_path):
    with collector(tmp_path / "round", least=198) as opened:
        opened.take(lines(MADE[:300]))
        with pytest.raises(ReleaseError, match="and 198 are needed"):
            opened.close_round()
        assert not (tmp_path / "round" / "release").exists()
        assert not (tmp_path / "round" / "closing").exists()
        assert opened.take(lines(MADE[:10])) == {"repeated": 10}
        with pytest.raises(ReleaseError):  # ten per cent are publicly missing: a group is smaller than half
            opened.close_round()


def test_a_mechanism_for_a_shuffle_asks_for_as_many_as_it_was_calibrated_for(tmp_path):
    schema = vdp.Schema({"age": vdp.Bounded(18, 90)})
    mech = vdp.calibrate(schema, epsilon=2, delta=1e-6, shuffled=1000)
    made = lines(reports(1000, mechanism=mech))
    with vdp.devices.Collector(tmp_path / "round", mech, round=ROUND, least=10) as opened:
        opened.take(made[:999])
        with pytest.raises(ReleaseError, match="has 999 of 999 reports, and 1,000 are needed"):
            opened.close_round()
        opened.take(made)
        release = opened.close_round()
    assert release.order.among == 500  # half of them are assumed honest, as nothing was said
    figure = mech.privacy(shuffled=500).epsilon(1e-6)
    assert release.privacy().epsilon(1e-6) == figure
    assert f"epsilon {figure:.2f}"[:11] in opened.statement()


def test_after_the_close_nothing_is_taken_and_it_is_counted(tmp_path):
    released(tmp_path / "round", lines(MADE))
    before = release_bytes(tmp_path / "round")
    with vdp.devices.Collector(tmp_path / "round") as opened:
        assert opened.take(lines(MADE[:7])) == {"after close": 7}
        assert opened.take_file(io.BytesIO(b"{}\n")) == {"after close": 1}
        assert len(opened.close_round()) == 400
    with vdp.devices.Collector(tmp_path / "round") as opened:
        assert opened.counts == {"taken": 400, "after close": 8}
    assert release_bytes(tmp_path / "round") == before


def test_nothing_of_ids_and_order_is_left_after_the_close(tmp_path):
    released(tmp_path / "round", lines(MADE))
    for path in (tmp_path / "round").rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        for report in MADE:
            assert report["id"].encode() not in data
            assert bytes.fromhex(report["id"])[:8] not in data


def test_the_folder_is_for_its_owner_alone(tmp_path):
    with collector(tmp_path / "round") as opened:
        opened.take(lines(MADE[:3]))
        assert (tmp_path / "round").stat().st_mode & 0o777 == 0o700
        for name in ("intake", "collection.json", "lock"):
            assert (tmp_path / "round" / name).stat().st_mode & 0o777 == 0o600


def test_rows_without_noise_are_refused(tmp_path):
    """A client that sends true values as places; honest reports in the same number pass (above)."""
    plain = [report | {"values": report["values"] | {"age": 30 + k % 20}} for k, report in enumerate(MADE)]
    with collector(tmp_path / "round") as opened:
        opened.take(lines(plain))
        with pytest.raises(DataError, match="column 'age' shows no noise"):
            opened.close_round()
        assert not opened.is_closed


def test_reports_made_by_devices_in_python_are_taken_and_estimates_are_right(tmp_path):
    """600 devices: the mean of what was collected lies within 5 standard errors of the truth."""
    schema = vdp.Schema({"age": vdp.Bounded(18, 90, step=1)})
    mech = vdp.Mechanism(schema, noise={"age": vdp.noise.Window(4)})
    rng = np.random.default_rng(3)
    ages = rng.integers(30, 60, 600)
    made = [make_report(mech, {"age": int(age)}, key=rng.bytes(32), round=ROUND) for age in ages]
    with vdp.devices.Collector(tmp_path / "round", mech, round=ROUND, least=300) as opened:
        assert opened.take(lines(made)) == {"taken": 600}
        described = vdp.describe(opened.close_round())
    row = next(row for row in described.table if row["statistic"] == "mean")
    assert abs(row["estimate"] - ages.mean()) < 5 * row["std_error"]
    assert row["std_error"] < 3


def test_settings_cannot_be_changed(tmp_path):
    collector(tmp_path / "round").close()
    for options in (
        {"round": "2026-12"},
        {"least": 49},
        {"honest": 3},
        {"public": {"bought": "number"}},
        {"rounds": 2},
    ):
        (name,) = options
        with pytest.raises(ParameterError, match=f"has another {name}"):
            collector(tmp_path / "round", **options)
    with pytest.raises(StateError, match="holds no collection"):
        vdp.devices.Collector(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(ParameterError, match="zero-inflated"):
        vdp.devices.Collector(tmp_path / "none", vdp.Mechanism(SCHEMA_ZIL, scale=0.5), round="1", least=1)


SCHEMA_ZIL = vdp.Schema({"age": vdp.Bounded(18, 90)})
