"""The vectors that are shipped: made by this version, and equal to what Python computes, layer by layer."""

import hmac
import json
import os
import subprocess
import sys
import warnings
from hashlib import sha256

import numpy as np
import pytest

import versadp as vdp
from versadp.devices import fingerprint, make_report, report_id, vectors
from versadp.devices.fingerprint import fingerprint_bytes
from versadp.errors import ClampedWarning, VersadpError
from versadp.noise.window_law import worst_ratio

SHIPPED = vectors.load()
KEY = bytes(range(32))


def read(case):
    return vdp.Mechanism.from_json(case["mechanism"])


MECHANISMS = [read(case) for case in SHIPPED["laws"]]


def test_shipped_file_is_what_the_script_makes():
    assert vectors.to_text(vectors.make()) + "\n" == vectors.SHIPPED.read_text(encoding="utf-8")


def test_shipped_file_is_smaller_than_300_kb_and_plain_ascii():
    data = vectors.SHIPPED.read_bytes()
    assert len(data) < 300_000
    assert data.isascii()


def test_every_layer_has_its_cases():
    counts = {name: len(layer) for name, layer in SHIPPED.items() if isinstance(layer, list)}
    assert counts["laws"] == 12
    assert counts["thresholds"] == 200
    assert counts["records"] == 100
    refused = [case for case in SHIPPED["refusals"] if case["kind"] != "accepted"]
    assert len(refused) >= 60
    assert len({(case["kind"], case["what"]) for case in refused}) == len(refused)


@pytest.mark.parametrize("number", range(12))
def test_laws_and_fingerprints(number):
    case, mechanism = SHIPPED["laws"][number], MECHANISMS[number]
    assert [law.hex() for law in mechanism.block_laws] == case["laws"]
    for context, name in case["fingerprints"].items():
        assert fingerprint(mechanism, context) == name
        assert sha256(fingerprint_bytes(mechanism, context)).hexdigest() == name


def test_thresholds_are_the_largest_that_epsilon_allows():
    """Against the exact ratio of probabilities, which no code of the threshold computes."""
    for case in SHIPPED["thresholds"]:
        window, outputs, threshold = tuple(case["window"]), tuple(case["outputs"]), int(case["threshold"])
        block_odds = np.exp(case["epsilon"])
        if case["delta"] == 0:
            assert float(worst_ratio(window, outputs, threshold)) <= block_odds * (1 + 1e-12)
            if threshold < 2**64 - 2:
                assert float(worst_ratio(window, outputs, threshold + 1)) > block_odds * (1 - 1e-12)


def test_words_follow_from_key_context_and_law():
    for case in SHIPPED["words"]:
        context = case["context"].encode()
        domain = len(b"versadp device 4").to_bytes(8, "little") + b"versadp device 4"
        law = len(context).to_bytes(8, "little") + context + bytes.fromhex(case["law"])
        own = hmac.digest(bytes.fromhex(case["key"]), domain + law, "sha256")
        assert own.hex() == case["own"]
        places = [2**64 - 1 if place is None else int(place) for place in case["places"]]
        message = b"".join(n.to_bytes(8, "little") for n in (0, len(places), *places))
        made = b"".join(hmac.digest(own, k.to_bytes(8, "little") + message, "sha256") for k in range(6))
        assert made[: 8 * case["count"]].hex() == case["words"]


def test_ids_follow_from_key_fingerprint_and_round():
    for case in SHIPPED["ids"]:
        assert report_id(bytes.fromhex(case["key"]), case["mechanism"], case["round"]) == case["id"]


def test_outputs_follow_from_words():
    """By the integer arithmetic of docs/format.md, beside the compiled kernel that made them."""
    seen, folded = set(), 0
    for case in SHIPPED["outputs"]:
        block = MECHANISMS[case["mechanism"]].blocks[case["block"]]
        derived, (coin, *words) = block.derived(), map(int, case["words"])
        threshold = int(derived["threshold"])
        seen.add(coin - threshold if abs(coin - threshold) < 2 else None)
        window, outputs = derived.get("window", [1]), derived.get("outputs", [derived.get("levels")])
        lasts = derived.get("last", [outputs[0] - 1])
        for place, word, w, n, m, z in zip(case["places"], words, window, outputs, lasts, case["outputs"], strict=True):
            kept = int(place) + word * w // 2**64
            if kept >= n:  # a missing value that is shown in the middle
                kept -= n - (m + (n - m - w)) // 2
                folded += 1
            assert int(z) == (kept if coin < threshold else word * n // 2**64)
    assert {-1, 0, 1} <= seen
    assert folded


def test_contents_follow_from_values():
    for case in SHIPPED["contents"]:
        mechanism = read(case)
        column = mechanism.schema.columns["x"]
        for value, place, clamped in case["values"]:
            report = None
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                report = make_report(mechanism, {"x": value}, key=KEY, round="r")
            assert any(issubclass(each.category, ClampedWarning) for each in caught) == clamped
            assert (report["values"]["x"] is None) == (place is None)
            if isinstance(column, vdp.Categorical) and place is not None:
                known = value in column.levels
                assert int(place) == (column.levels.index(value) if known else len(column.levels))
            elif place is not None and value is not None and not isinstance(column, vdp.Dates):
                nearest = (min(max(value, column.lower), column.upper) - column.lower) / mechanism.blocks[0].step[0]
                assert abs(int(place) - nearest) <= 0.5 + 1e-9 * abs(nearest)


def test_ties_go_to_even_places():
    case = next(case for case in SHIPPED["contents"] if case["name"] == "whole years")
    assert [place for value, place, _ in case["values"] if value in {18.5, 19.5, 20.5}] == ["0", "2", "2"]


def report_of(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClampedWarning)
        mechanism, more = MECHANISMS[case["mechanism"]], {"round": case["report"]["round"], "context": case["context"]}
        return make_report(mechanism, case["record"], key=bytes.fromhex(case["key"]), **more)


def test_records():
    for case in SHIPPED["records"]:
        assert report_of(case) == case["report"]
        assert list(report_of(case)["values"]) == list(case["report"]["values"])


def test_places_are_those_of_released_values():
    """A report's places, turned into values, are what `privatize` releases."""
    from datetime import date

    for case in SHIPPED["records"]:
        mechanism = MECHANISMS[case["mechanism"]]
        record = {
            name: date.fromisoformat(value)
            if isinstance(mechanism.schema.columns.get(name), vdp.Dates) and value
            else value
            for name, value in case["record"].items()
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClampedWarning)
            released = mechanism.privatize(record, key=bytes.fromhex(case["key"]), context=case["context"])
        for block, at, _ in mechanism.layout.places:
            names = mechanism.layout.columns[at]
            places = [case["report"]["values"][name] for name in names]
            content = np.array([[np.nan if place is None else float(place)] for place in places])
            block.to_values(content)
            for name, value in zip(names, content[:, 0].tolist(), strict=True):
                column = mechanism.schema.columns[name]
                if np.isnan(value):
                    assert released[name] is None
                elif isinstance(column, vdp.Categorical):
                    assert released[name] == column.levels[int(value)]
                elif isinstance(column, vdp.Dates):
                    assert (released[name] - column.first).days == round(value)
                else:
                    assert released[name] == value


GOOD = SHIPPED["refusals"][0]


def refuse(case):
    mechanism, record, more = vdp.Mechanism.from_json(GOOD["mechanism"]), GOOD["record"], {"round": "r"}
    if case["kind"] == "mechanism":
        text = GOOD["mechanism"]
        mechanism = vdp.Mechanism.from_json(text[: case["start"]] + case["text"] + text[case["stop"] :])
    elif case["kind"] == "record":
        record = case["record"]
    else:
        more |= {case["kind"]: case[case["kind"]]}
    make_report(mechanism, record, key=KEY, **more)


@pytest.mark.parametrize("case", SHIPPED["refusals"][1:], ids=lambda case: case["what"])
def test_refusals(case):
    with pytest.raises(VersadpError) as caught:
        refuse(case)
    assert "41" not in str(caught.value).partition("hint")[0] or case["kind"] != "record"


def test_what_the_refusals_start_from_is_accepted():
    assert make_report(read(GOOD), GOOD["record"], key=KEY, round="r")["values"]["y"] == 1


@pytest.mark.full
def test_vectors_are_the_same_on_a_cpu_without_fused_operations(tmp_path):
    place = tmp_path / "vectors.json"
    command = [sys.executable, "-m", "versadp.devices.vectors", str(place)]
    subprocess.run(command, check=True, env=os.environ | {"NUMBA_CPU_NAME": "generic"})
    assert place.read_bytes() == vectors.SHIPPED.read_bytes()


def test_to_text_is_json():
    assert json.loads(vectors.to_text(SHIPPED)) == SHIPPED
