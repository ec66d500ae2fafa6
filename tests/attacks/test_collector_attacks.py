"""Attacks on a collector: whoever sends lines may be hostile, and so may be who prepared its folder."""

import gzip
import json
import random
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest

import versadp as vdp
from versadp.devices import fingerprint
from versadp.devices.reports import LINE_BYTES
from versadp.errors import ParameterError, ReleaseError, StateError
from versadp_tests.reports import MECH, PUBLIC, ROUND, collector, lines, release_bytes, reports

MADE = reports(300)


def closed(folder, given):
    with collector(folder, least=2) as opened:
        opened.take(given)
        opened.close_round()
        return opened.counts


# lines ----------------------------------------------------------------------------------------------


HOSTILE = [
    b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    b"[" * (LINE_BYTES - 1),
    b'{"values": {"age": ' + b"9" * 60_000 + b"}}",
    b'{"values": {"age": 1e' + b"9" * 60_000 + b"}}",
    b'"' + b"\\ud800" * 1000 + b'"',
    b"\x00" * 1000,
    b"\xef\xbb\xbf{}",
    "{}".encode("utf-16"),
    "{}".encode("utf-32"),
    b'{"__class__": "os.system", "__proto__": {}}',
    b"-Infinity",
    b"nul",
    b'{"a": "\x01"}',
    gzip.compress(b"0" * 10_000_000),
    zlib.compress(b"0" * 10_000_000),
]


def test_hostile_lines_stop_nothing_and_take_no_room(tmp_path):
    """Whatever is between honest reports, the release is the same, and nothing of it is kept."""
    rng = random.Random(0)
    noise = [rng.randbytes(rng.randrange(1, 2000)).replace(b"\n", b" ") for _ in range(500)]
    cut = [line[: rng.randrange(1, len(line))] for line in lines(MADE)]
    twice = [line[:-1] + b"," + line[1:] for line in lines(MADE[:50])]  # all names twice
    mixed = [*lines(MADE), *HOSTILE, *noise, *cut, *twice]
    rng.shuffle(mixed)
    counts = closed(tmp_path / "round", mixed)
    assert counts["taken"] == 300
    assert sum(counts.values()) == len(mixed)
    closed(tmp_path / "clean", lines(MADE))
    assert release_bytes(tmp_path / "round") == release_bytes(tmp_path / "clean")


def test_bytes_that_were_changed_never_crash_and_never_pass_as_another_mechanism(tmp_path):
    rng, line = random.Random(1), lines(MADE[:1])[0]
    changed = []
    for _ in range(3000):
        at = rng.randrange(len(line))
        changed.append(line[:at] + bytes([rng.randrange(256)]) * rng.randrange(3) + line[at + 1 :])
    with collector(tmp_path / "round") as opened:
        counts = opened.take([each.replace(b"\n", b" ") for each in changed])
        assert sum(counts.values()) == 3000
        assert counts["not JSON"] > 100
        assert counts["another mechanism"] > 100


def test_reports_of_another_mechanism_context_or_round_are_not_mixed_in(tmp_path):
    other = vdp.Mechanism(MECH.schema, noise={("age", "region"): vdp.noise.Window(3), "since": vdp.noise.Window(4)})
    given = [
        MADE[0] | {"mechanism": fingerprint(other)},
        MADE[0] | {"mechanism": fingerprint(MECH, context="clinic")},
        MADE[0] | {"mechanism": fingerprint(MECH).upper()},
        MADE[0] | {"round": ROUND + " "},
        MADE[0] | {"round": ROUND + "\u0000"},
    ]
    with collector(tmp_path / "round") as opened:
        assert opened.take(lines(given)) == {"another mechanism": 3, "another round": 2}


def test_an_id_that_is_repeated_a_hundred_thousand_times_is_kept_once(tmp_path):
    """And takes no room: neither on the disk nor in memory."""
    line = lines(MADE[:1])[0]
    with collector(tmp_path / "round") as opened:
        counts = opened.take(line for _ in range(100_000))
        assert counts == {"taken": 1, "repeated": 99_999}
        assert opened._intake.size < 20_000


def test_another_report_under_a_known_id_displaces_nobody_by_coming_first(tmp_path):
    """The one that is kept does not depend on who came first, so that a race cannot be won."""
    forged = MADE[0] | {"values": MADE[1]["values"]}
    kept = []
    for number, order in enumerate(([MADE[0], forged], [forged, MADE[0]])):
        counts = closed(tmp_path / str(number), lines([*order, *MADE[1:]]))
        assert counts == {"taken": 300, "another report under the same id": 1}
        kept.append(release_bytes(tmp_path / str(number)))
    assert kept[0] == kept[1]


def test_one_forged_public_value_does_not_stop_a_round_for_ever(tmp_path):
    kinds = {"bought": "number"}
    many = [report for report in reports(400) if report["values"]["since"] is not None][:300]
    forged = many[0] | {"id": "f" * 64, "values": many[0]["values"] | {"bought": 12345}}
    with collector(tmp_path / "round", public=kinds, least=100) as opened:
        opened.take(lines([*many, forged]))
        with pytest.raises(ReleaseError, match="has 1 of 301 reports, and 100 are needed"):
            opened.close_round()
        release = opened.close_round(without_small_groups=True)
        assert opened.counts == {"taken": 300, "in a small public group": 1}
    assert len(release) == 300
    assert 12345 not in release.to_arrow()["bought"].to_pylist()


# memory and files ----------------------------------------------------------------------------------------------


ALONE = """
import sys
from versadp.cli import main
from versadp_bench.measure import peak_memory
main(sys.argv[1:], standalone_mode=False)
print(peak_memory(), file=sys.stderr)
"""


def test_a_stream_without_an_end_of_line_is_passed_over_in_bounded_memory(tmp_path):
    """100 MB of one line, then a report: the process needs the memory of its libraries, and no more."""
    (tmp_path / "m.json").write_text(MECH.to_json())
    words = ("collect", tmp_path / "round", "--mechanism", tmp_path / "m.json", "--round", ROUND, "--least", "10")
    process = subprocess.Popen(
        [sys.executable, "-c", ALONE, *map(str, words), "--public", "bought=0|1", "-", "--format", "json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    for _ in range(100):
        process.stdin.write(b"[" * 2**20)
    out, err = process.communicate(b"\n" + lines(MADE[:1])[0])
    assert json.loads(out) == [{"lines": "taken", "count": 1}, {"lines": "too long", "count": 1}]
    assert float(err) < 0.24  # GiB


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/passwd", "a/b", "..", "", "a\n", "\u202e", "x" * 65, "-rf", None, 3]
)
def test_rounds_whose_names_are_paths_are_refused_and_write_nothing(tmp_path, name):
    with pytest.raises(ParameterError, match=r"a round is named by|needs the name"):
        collector(tmp_path / "in" / "round", round=name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "round").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError, match="is a link"):
        collector(tmp_path / "round")
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["intake", "lock"])
def test_files_that_are_links_are_not_followed(tmp_path, name):
    collector(tmp_path / "round").close()
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "round" / name).unlink()
    (tmp_path / "round" / name).symlink_to(victim)
    with pytest.raises(StateError):
        collector(tmp_path / "round").take(lines(MADE[:1]))
    assert victim.read_bytes() == b"precious"


def test_a_release_that_somebody_else_put_there_is_not_taken_for_ours(tmp_path):
    closed(tmp_path / "other", lines(MADE))
    with collector(tmp_path / "round", least=2) as opened:
        opened.take(lines(MADE[:200]))
        (tmp_path / "other" / "release").rename(tmp_path / "round" / "release")
        with pytest.raises(StateError, match="is not of this round"):
            opened.close_round()
        assert not opened.is_closed
        (tmp_path / "round" / "release").rename(tmp_path / "back")
        assert len(opened.close_round()) == 200


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(StateError, match="holds other files"):
        collector(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_two_collectors_in_one_folder(tmp_path):
    with collector(tmp_path / "round") as opened:
        opened.take(lines(MADE[:5]))
        with pytest.raises(StateError, match="another collector is at work"):
            collector(tmp_path / "round")
        opened.take(lines(MADE[5:9]))
    with collector(tmp_path / "round") as opened:
        assert opened.counts == {"taken": 9}


BOTH = """
import sys, time
from versadp.cli import main
time.sleep(max(0, float(sys.argv[1]) - time.time()))
main(sys.argv[2:])
"""


def test_two_that_begin_at_the_same_time_share_no_folder(tmp_path):
    """Settings are written under the lock: whoever loses it changes nothing of what the other has."""
    (tmp_path / "m.json").write_text(MECH.to_json())
    (tmp_path / "r.ndjson").write_bytes(b"\n".join(lines(MADE)))
    words = [tmp_path / "round", tmp_path / "r.ndjson", "--mechanism", tmp_path / "m.json", "--round", ROUND]
    words += ["--least", "2", "--public", "bought=0|1"]
    command = [sys.executable, "-c", BOTH, str(time.time() + 2), "collect", *map(str, words)]
    started = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    told = [process.communicate(timeout=120)[1] for process in started]
    assert any(process.returncode == 0 for process in started), told
    for process, err in zip(started, told, strict=True):
        assert process.returncode == 0 or "another collector is at work" in err, err
    with collector(tmp_path / "round", least=2) as opened:
        assert opened.counts["taken"] == 300
        assert len(opened.close_round()) == 300


def test_nobody_who_sends_reports_can_write_a_frame(tmp_path):
    """Behind a torn frame valid ones are looked for: those in public values are not of the collection's key."""
    from versadp.devices.intake import CLOSING, HEAD, Intake

    payload = b'{"counts": {}}'
    inner = Intake(tmp_path / "mine", b"a key of the attacker's")
    list(inner.recover())
    inner.append(CLOSING, payload)
    inner.close()
    frame = (tmp_path / "mine").read_bytes()
    assert len(frame) == HEAD.size + len(payload)
    with collector(tmp_path / "round") as opened:
        opened.take(lines(MADE[:5]))
    path = tmp_path / "round" / "intake"
    path.write_bytes(path.read_bytes() + b"VDPR torn" + frame)
    with vdp.devices.Collector(tmp_path / "round") as opened:
        assert opened.counts == {"taken": 5}
        assert not opened.is_closed


def test_messages_and_counts_hold_no_value_of_a_report(tmp_path):
    secret = 4071
    bad = [
        MADE[0] | {"values": MADE[0]["values"] | {"age": secret}},
        MADE[0] | {"values": MADE[0]["values"] | {"bought": secret}},
        MADE[0] | {"round": f"round-{secret}"},
    ]
    with collector(tmp_path / "round", least=1000) as opened:
        told = str(opened.take(lines([*bad, *MADE]))) + repr(opened) + opened.statement()
        with pytest.raises(ReleaseError) as refused:
            opened.close_round()
    assert str(secret) not in told + str(refused.value)
    stored = (tmp_path / "round" / "intake").read_bytes()
    assert np.int32(secret).tobytes() not in stored
    assert f"round-{secret}".encode() not in stored


def test_forged_crowds_are_not_counted_as_honest(tmp_path):
    """Whoever forged all but H reports sees the others alone: the release claims no more than H hide."""
    with collector(tmp_path / "round", honest=20, public=PUBLIC) as opened:
        opened.take(lines(MADE))
        release = opened.close_round()
    assert release.order.among <= 20
    assert release.privacy().epsilon(1e-6) >= MECH.privacy(shuffled=20).epsilon(1e-6)
