"""`versadp collect`: collects, closes, and says what to do."""

import json
import re

import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp_tests.reports import MECH, ROUND, lines, reports

MADE = reports(400)


@pytest.fixture
def begun(tmp_path):
    (tmp_path / "m.json").write_text(MECH.to_json())
    (tmp_path / "r.ndjson").write_bytes(b"\n".join([*lines(MADE), b"no json", b""]))
    return tmp_path


def run(*words, **options):
    return CliRunner().invoke(main, ["collect", *map(str, words)], **options)


def test_the_command_collects_and_closes(begun):
    first = (
        begun / "round",
        "--mechanism",
        begun / "m.json",
        "--round",
        ROUND,
        "--least",
        10,
        "--public",
        "bought=0|1",
    )
    done = run(*first, begun / "r.ndjson")
    assert done.exit_code == 0, done.output
    assert re.search(r"taken +400", done.output)
    assert "open: --close" in done.output
    again = run(begun / "round", input=(begun / "r.ndjson").read_bytes())  # standard input
    assert re.search(r"repeated +400", again.output)
    done = run(begun / "round", "--close", "--title", "A survey", "--format", "json")
    assert json.loads(done.output)[0] == {"lines": "taken", "count": 400}
    assert "1. Against the collector" in run(begun / "round", "--close").output
    assert vdp.load(begun / "round" / "release").metadata.title == "A survey"
    late = run(begun / "round", begun / "r.ndjson")
    assert late.exit_code == 2
    assert "was closed: 401 reports were counted and not taken" in late.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--round", "1"), "together with its mechanism"),
        (("--close",), "holds no collection"),
        (("--mechanism", "none.json", "--round", "1", "--least", "5"), "cannot be read"),
        (("--mechanism", "m.json", "--least", "5"), "needs the name of its round"),
        (("--mechanism", "m.json", "--round", "../x", "--least", "5", "--public", "bought=0|1"), "a round is named by"),
        (("--mechanism", "m.json", "--round", "1", "--least", "0"), "least must be"),
        (("--mechanism", "m.json", "--round", "1", "--least", "5"), "'bought' needs a kind"),
        (("--mechanism", "m.json", "--round", "1", "--least", "5", "--public", "bought"), "--public needs a column"),
        (("--mechanism", "m.json", "--round", "1", "--least", "5", "--public", "bought=0|1", "none"), "cannot be read"),
    ],
)
def test_the_command_says_what_to_do(begun, words, says, monkeypatch):
    monkeypatch.chdir(begun)
    done = run("round", *words)
    assert done.exit_code == 2
    assert says in done.output
    assert "hint: " in done.output
    assert "Traceback" not in done.output
