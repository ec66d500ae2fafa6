"""Mechanism, device answer and table of version 4. NOT FINAL: it may change until Devices and Totals have landed."""

import json
from pathlib import Path

import versadp as vdp
from versadp_tests.golden_cases import KEY, MECHANISMS, RECORD

GOLDEN = json.loads((Path(__file__).parent / "version-4-not-final.json").read_text())


def test_version_4_keeps_its_text_and_answers():
    mech = vdp.Mechanism.from_json(json.dumps(GOLDEN["mechanism"]))
    assert mech.version == 4
    assert mech.to_dict() == GOLDEN["mechanism"]
    assert mech == vdp.Mechanism.from_json(MECHANISMS["people"]).in_version(4)
    assert mech.privatize(RECORD | {"pid": "ann"}, key=KEY) == GOLDEN["privatize"]
    assert mech.privatize(RECORD | {"pid": "ann"}, key=KEY, context="clinic") == GOLDEN["privatize in a context"]
    assert [law.hex() for law in mech.block_laws] == GOLDEN["laws"]
