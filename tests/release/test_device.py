"""Records on people's devices: noise that stays as long as values do, what a change shows, and what it costs."""

import hmac
import json
import os
import subprocess
import sys
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.devices.fingerprint import check_served
from versadp.errors import ParameterError
from versadp.release.path.device_words import block_words, text, u64
from versadp_tests.strangers import Lottery

vdp.noise.register(Lottery)
KEY = bytes(range(32))
SCHEMA = vdp.Schema(
    {
        "x": vdp.Bounded(0, 1),
        "z": vdp.Bounded(0, 20, step=1),
        "c": vdp.Categorical(["a", "b", "c"]),
        "d": vdp.Categorical(["a", "b", "c"]),
        "y": vdp.Public(),
    },
    id="pid",
)
NOISE = {
    "x": vdp.noise.ZeroInflated(0.5, 0.1),
    "z": vdp.noise.Window(2.0),
    "c": vdp.noise.Response(0.4),
    "d": vdp.noise.Response(0.4),
}
MECH = vdp.Mechanism(SCHEMA, noise=NOISE)
ALONE = vdp.Mechanism(vdp.Schema(dict(SCHEMA.columns)), noise=NOISE)  # on a device with a key of its own
RECORD = {"x": 0.25, "z": 7, "c": "b", "d": "b", "y": 1}
OTHERS = {"x": 0.75, "z": 13, "c": "c", "d": "a"}


def test_what_version_2_gave_stays():
    """Written down when a record was keyed as a whole."""
    old = vdp.Mechanism.from_json(json.dumps(MECH.in_version(3).to_dict() | {"version": 2}))
    assert old.version == 2
    assert json.loads(old.to_json())["version"] == 2
    named = {"x": 0.1144561767578125, "z": 6.0, "c": "b", "d": "b", "y": 1}
    assert old.privatize(RECORD | {"pid": "ann"}, key=KEY) == named


def test_the_words_of_version_3_stay():
    """Written down when it began: a change here needs another version."""
    named, alone = MECH.in_version(3), ALONE.in_version(3)
    assert named.privatize(RECORD | {"pid": "ann"}, key=KEY) == {"x": 0.25, "z": 10.0, "c": "a", "d": "b", "y": 1}
    assert alone.privatize(RECORD, key=KEY) == {"x": 1.8401336669921875, "z": 8.0, "c": "c", "d": "b", "y": 1}


def test_tables_have_the_same_noise_since():
    assert MECH.version == 4
    assert MECH.in_version(2).parameters == MECH.in_version(3).parameters == MECH.parameters


@pytest.mark.parametrize("changed", OTHERS)
@pytest.mark.parametrize("name", [{}, {"pid": "ann"}], ids=["no name", "a name"])
def test_a_block_whose_values_did_not_change_keeps_its_noise(changed, name):
    """And one whose values changed has fresh noise: over many keys its answers differ as two people's do."""
    mech, fresh = (MECH if name else ALONE), 0
    for seed in range(40):
        key = np.random.default_rng(seed).bytes(32)
        before = mech.privatize(RECORD | name, key=key)
        after = mech.privatize(RECORD | name | {changed: OTHERS[changed]}, key=key)
        assert {c: v for c, v in before.items() if c != changed} == {c: v for c, v in after.items() if c != changed}
        fresh += before[changed] != after[changed]
        assert mech.privatize(RECORD | name, key=key) == before, "what comes back is answered as before"
    assert fresh > 10  # of a category two answers are alike at least one time in three


def test_columns_of_one_block_change_together():
    joint = vdp.Mechanism(ALONE.schema, noise={("x", "z"): vdp.noise.Window(4.0), ("c", "d"): vdp.noise.Window(3.0)})
    before, after = (joint.privatize(RECORD | {"z": z}, key=KEY) for z in (7, 8))
    assert before["x"] != after["x"]
    assert (before["c"], before["d"]) == (after["c"], after["d"])


def test_blocks_with_equal_content_share_no_noise():
    """c and d hold the same level under the same noise; their answers agree as often as those of strangers do."""
    n = 1500
    rng = np.random.default_rng(1)
    answers = [ALONE.privatize(RECORD, key=rng.bytes(32)) for _ in range(n)]
    kept = 0.4 + 0.6 / 3
    agree = kept**2 + 2 * (0.6 / 3) ** 2
    assert abs(np.mean([a["c"] == a["d"] for a in answers]) - agree) < 5 * np.sqrt(agree * (1 - agree) / n)
    for column in ("c", "d"):
        assert abs(np.mean([a[column] == "b" for a in answers]) - kept) < 5 * np.sqrt(kept * (1 - kept) / n)
    block = MECH.blocks[1]
    inside = np.mean([abs(a["z"] - 7) <= block.reach()["z"] for a in answers])
    expected = block.keep + (1 - block.keep) * block.window[0] / block.outputs[0]
    assert abs(inside - expected) < 5 * np.sqrt(expected * (1 - expected) / n)


def test_people_with_one_key_and_other_names_have_other_noise():
    answers = {MECH.privatize(RECORD | {"pid": f"p{i}"}, key=KEY)["x"] for i in range(30)}
    assert len(answers) > 20


def test_every_kind_of_block_works():
    mech = vdp.Mechanism(SCHEMA, noise=NOISE | {"x": Lottery(9, 0.4)})
    one = mech.privatize(RECORD | {"pid": "ann"}, key=KEY)
    assert list(one) == list(SCHEMA.columns)
    assert mech.privatize(RECORD | {"pid": "ann", "c": "a"}, key=KEY)["x"] == one["x"]


@pytest.mark.parametrize("unit", ["record", "attribute"])
def test_reports_compose(unit):
    """Three values in turn of pure blocks cost three times epsilon, and never more than so many whole records."""
    pure = vdp.Mechanism(SCHEMA, noise=dict.fromkeys(("x", "z", "c", "d"), vdp.noise.Window(1.0)))
    single = pure.privacy(unit).pure_epsilon
    together = pure.privacy(unit).compose(3)
    assert together.epsilon(1e-9) == pytest.approx(3 * single, rel=1e-3)
    assert together.epsilon(1e-2) < 2.99 * single


def test_the_statement_says_what_shows_and_what_it_costs():
    said = MECH.statement(reports=3)
    assert said.startswith(MECH.statement())
    assert "came back to an earlier value" in said
    assert "3 reports with different values" in said
    assert "A lost key, a second device" in said
    delta = MECH.privacy("attribute").compose(3).delta(8.0)
    assert f"(8, {delta:.3g}"[:6] in said
    for bad in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="reports"):
            MECH.statement(reports=bad)


# version 4 ------------------------------------------------------------------------------------------------------------

PLAIN = {"age": vdp.Bounded(18, 90, step=1), "income": vdp.Bounded(0, 120_000)}
EACH = {"age": vdp.noise.Window(1.0), "income": vdp.noise.Window(1.0)}
BASE = vdp.Mechanism(vdp.Schema(PLAIN), noise=EACH)
ELSEWHERE = {
    "a public column more": vdp.Mechanism(vdp.Schema(PLAIN | {"y": vdp.Public()}), noise=EACH),
    "another epsilon of income": vdp.Mechanism(vdp.Schema(PLAIN), noise=EACH | {"income": vdp.noise.Window(1.5)}),
    "another order of blocks": vdp.Mechanism(vdp.Schema(PLAIN), noise=dict(reversed(EACH.items()))),
}
OWN = {
    "another epsilon": vdp.Mechanism(vdp.Schema(PLAIN), noise=EACH | {"age": vdp.noise.Window(1.0 + 1e-9)}),
    "other bounds": vdp.Mechanism(vdp.Schema(PLAIN | {"age": vdp.Bounded(17, 89, step=1)}), noise=EACH),
}


def share_of_equal_ages(mech, **more):
    rng, record = np.random.default_rng(0), {"age": 41, "income": 3e4}
    wanted = record | ({"y": 1} if "y" in mech.schema.columns else {})
    keys = [rng.bytes(32) for _ in range(300)]
    return np.mean(
        [BASE.privatize(record, key=key)["age"] == mech.privatize(wanted, key=key, **more)["age"] for key in keys]
    )


@pytest.mark.parametrize("change", ELSEWHERE)
def test_answer_survives_changes_elsewhere_in_the_mechanism(change):
    assert share_of_equal_ages(ELSEWHERE[change]) == 1.0


@pytest.mark.parametrize("change", OWN)
def test_answer_is_redrawn_when_its_own_law_changes(change):
    assert share_of_equal_ages(OWN[change]) < 0.1


def test_contexts_have_independent_noise():
    assert share_of_equal_ages(BASE, context="clinic") < 0.1
    assert share_of_equal_ages(BASE, context="") == 1.0
    with pytest.raises(ParameterError, match="version 4"):
        BASE.in_version(3).privatize({"age": 41, "income": 3e4}, key=KEY, context="clinic")
    for bad in (None, b"clinic", "e\u0301"):
        with pytest.raises(ParameterError, match="context"):
            BASE.privatize({"age": 41, "income": 3e4}, key=KEY, context=bad)


def test_derived_integers_are_checked():
    for block, changes in enumerate(
        (
            {"threshold": "1", "bits": [16]},
            {"threshold": 5},
            {"levels": 4},
            {"levels": 3.0},
        )
    ):
        data = json.loads(MECH.to_json())
        data["blocks"][block]["derived"].update(changes)
        with pytest.raises(ParameterError, match="derived integers"):
            vdp.Mechanism.from_dict(data)
    data = json.loads(MECH.to_json())
    del data["blocks"][0]["derived"]
    with pytest.raises(ParameterError, match="derived"):
        vdp.Mechanism.from_dict(data)


def test_threshold_above_what_epsilon_allows_is_refused():
    data = json.loads(BASE.to_json())
    derived = data["blocks"][0]["derived"]
    derived["threshold"] = str(int(derived["threshold"]) + 1)
    with pytest.raises(ParameterError, match="derived integers"):
        vdp.Mechanism.from_dict(data)


def test_cells_are_never_null():
    mech = vdp.Mechanism(vdp.Schema({"c": SCHEMA.columns["c"]}), noise={"c": vdp.noise.Window(1.0)})
    assert "null" not in json.dumps(mech.to_dict()["blocks"])
    assert vdp.Mechanism.from_json(mech.to_json()) == mech
    assert mech.in_version(3).to_dict()["blocks"][0]["cells"] is None


def test_repeated_json_names_are_refused():
    with pytest.raises(ParameterError, match="repeats a name"):
        vdp.Mechanism.from_json(BASE.to_json().replace('"lower": 18.0', '"lower": 17.0, "lower": 18.0'))


@pytest.mark.parametrize(
    "change",
    [
        ('"version": 4', '"version": 4.0'),
        ('"lower": 18.0', f'"lower": {"9" * 5000}'),
        ('"step": 1.0', '"step": 1e-320'),
    ],
    ids=["version as a float", "thousands of digits", "a step that vanishes"],
)
def test_json_that_readers_take_differently_is_refused(change):
    with pytest.raises(vdp.errors.VersadpError):
        vdp.Mechanism.from_json(BASE.to_json().replace(*change))


def test_half_a_character_is_refused_without_showing_it():
    with pytest.raises(ParameterError, match="half a character"):
        vdp.Mechanism(vdp.Schema({"c": vdp.Categorical(["a", "\ud800"])}), keep=0.5)
    with pytest.raises(ParameterError, match="context"):
        BASE.privatize({"age": 41, "income": 3e4}, key=KEY, context="\ud800")
    with pytest.raises(vdp.errors.DataError, match="half of a Unicode character") as caught:
        MIXED.privatize(mixed(pid="secret\ud800"), key=KEY)
    assert "secret" not in str(caught.value)


def test_names_and_levels_that_are_not_nfc_are_refused():
    for columns, id_ in (
        ({"e\u0301": vdp.Bounded(0, 1)}, None),
        ({"x": vdp.Bounded(0, 1)}, "e\u0301"),
    ):
        with pytest.raises(ParameterError, match="NFC"):
            vdp.Mechanism(vdp.Schema(columns, id=id_), scale=1.0)
    with pytest.raises(ParameterError, match="NFC"):
        vdp.Mechanism(vdp.Schema({"c": vdp.Categorical(["a", "e\u0301"])}), keep=0.5)
    old = BASE.in_version(3).to_json().replace('"age"', '"e\u0301"')
    assert vdp.Mechanism.from_json(old).version == 3


def test_reserved_fields_are_read_at_their_neutral_value_only():
    data = json.loads(MECH.to_json())
    data["schema"]["rows_per_person"] = 1
    data["schema"]["columns"][0] |= {"spacing": "linear", "effective": None}
    data["schema"]["columns"][2] |= {"merged": None}
    data["schema"]["columns"][4] |= {"lower": None, "upper": None, "levels": None}
    assert vdp.Mechanism.from_dict(data).to_json() == MECH.to_json()
    with pytest.raises(vdp.errors.SchemaError, match="before version 4"):
        vdp.Mechanism.from_dict(MECH.in_version(3).to_dict() | {"schema": data["schema"]})
    for place, change in (
        (0, {"spacing": "log"}),
        (4, {"lower": 0}),
    ):
        data = json.loads(MECH.to_json())
        data["schema"]["columns"][place] |= change
        with pytest.raises(vdp.errors.SchemaError, match=r"newer versadp|no spacing"):
            vdp.Mechanism.from_dict(data)


def test_columns_with_a_spacing_are_refused():
    mech = vdp.calibrate(vdp.Schema({"income": vdp.Bounded(0, 5e5, spacing="log1p")}), epsilon=4)
    with pytest.raises(ParameterError, match="spacing"):
        check_served(mech)


KNOWN_LAW = (  # the window on age, byte by byte: see docs/format.md
    "060000000000000077696e646f77"
    "0100000000000000"
    "0300000000000000616765"
    "0000000000000000"
    "0700000000000000626f756e646564"
    "0000000000003240"
    "0000000000805640"
)


def test_known_answers_of_version_4():
    """As in docs/format.md; not final until clients exist."""
    assert BASE.block_laws[0].hex().startswith(KNOWN_LAW)
    assert len(BASE.block_laws[0]) == len(KNOWN_LAW) // 2 + 8 + 3 * 8
    own = hmac.digest(KEY, text("versadp device 4") + text("") + BASE.block_laws[0], "sha256")
    message = u64(0) + u64(1) + u64(23)  # no id, one place: 41 is 23 steps above 18
    words = hmac.digest(own, u64(0) + message, "sha256")[:16]
    assert block_words(KEY, BASE.block_laws[0], np.array([[23.0]]), 2, context="", name=None) == words
    coin, word = np.frombuffer(words, "<u8").tolist()
    derived = BASE.to_dict()["blocks"][0]["derived"]
    (w,), (n,) = derived["window"], derived["outputs"]
    place = 23 + word * w // 2**64 if coin < int(derived["threshold"]) else word * n // 2**64
    assert BASE.privatize({"age": 41, "income": 3e4}, key=KEY)["age"] == place - (w - 1) / 2 + 18


def test_public_missing_and_negative_levels_have_their_own_bytes():
    column = vdp.Categorical([-1, 1], nullable="public")
    mech = vdp.Mechanism(vdp.Schema({"c": column}), noise={"c": vdp.noise.Response(0.5)})
    assert u64(-1) + u64(1) in mech.block_laws[0]
    given = [block_words(KEY, mech.block_laws[0], np.array([[x]]), 2, context="", name=None) for x in (np.nan, 0.0)]
    assert given[0] != given[1]
    with pytest.raises(ParameterError, match="whole numbers"):
        block_words(KEY, b"", np.array([[0.5]]), 2, context="", name=None)


@pytest.mark.full
def test_released_values_are_the_same_on_a_cpu_without_fused_operations():
    """Before: 506 of 2,000 values differed."""
    code = (
        "import sys, numpy as np, pandas as pd, versadp as vdp\n"
        "mech = vdp.Mechanism(vdp.Schema({'x': vdp.Bounded(0.1, 0.7)}), scale=0.5, exact_rate=0.1)\n"
        "frame = pd.DataFrame({'x': np.linspace(0.1, 0.7, 2000)})\n"
        "out = mech.release(frame, key=bytes(range(32)), shuffle=False).frame\n"
        "sys.stdout.write(out['x'].to_numpy().tobytes().hex())\n"
    )
    here, generic = (
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | cpu, capture_output=True, text=True, check=True
        ).stdout
        for cpu in ({}, {"NUMBA_CPU_NAME": "generic"})
    )
    one, other = (np.frombuffer(bytes.fromhex(each)) for each in (here, generic))
    assert one.size == 2000
    assert (one != other).sum() == 0


# devices and tables follow one rule -----------------------------------------------------------------------------------

MIXED = vdp.Mechanism(
    vdp.Schema({"d": vdp.Dates("2020-01-01", "2020-12-31"), "c": vdp.Categorical(["a", "b"], nullable=True)}, id="pid"),
    noise={"d": vdp.noise.Window(2.0), "c": vdp.noise.Window(2.0)},
)


def mixed(pid="ann", c="a"):
    return {"pid": pid, "d": date(2020, 5, 1), "c": c}


def test_blank_text_is_missing_on_a_device_as_in_a_table():
    assert MIXED.privatize(mixed(c=""), key=KEY) == MIXED.privatize(mixed(c=None), key=KEY)
    strict = vdp.Mechanism(vdp.Schema({"c": vdp.Categorical(["a", "b"])}), keep=0.5)
    with pytest.raises(vdp.errors.DataError, match="missing"):
        strict.privatize({"c": ""}, key=KEY)
    level = vdp.Mechanism(vdp.Schema({"c": vdp.Categorical(["", "b"], nullable=True)}), keep=0.5)
    assert level.privatize({"c": ""}, key=KEY)["c"] in {"", "b", None}


def test_zoned_datetimes_are_refused_on_a_device_and_in_a_table():
    zoned = datetime(2020, 5, 1, tzinfo=UTC)
    with pytest.raises(vdp.errors.DataError, match="without a time zone"):
        MIXED.privatize(mixed() | {"d": zoned}, key=KEY)
    with pytest.raises(vdp.errors.DataError, match="without a time zone"):
        MIXED.release(pa.Table.from_pylist([mixed() | {"d": zoned}]), key=KEY)


def test_clamping_on_a_device_warns():
    with pytest.warns(vdp.errors.ClampedWarning, match="'age' 1") as caught:
        assert BASE.privatize({"age": 17, "income": 0}, key=KEY)
    assert "17" not in str(caught[0].message)


def test_unicode_forms_of_an_id_get_the_same_noise():
    composed, decomposed = "\u00e9", "e\u0301"
    many = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid"), scale=1.0)
    for mech, same in ((many, True), (many.in_version(3), False)):
        device = [mech.privatize({"pid": pid, "x": 0.5}, key=KEY) for pid in (composed, decomposed)]
        tables = [pa.table({"pid": [pid], "x": [0.5]}) for pid in (composed, decomposed)]
        released = [mech.release(table, key=KEY).frame["x"][0].as_py() for table in tables]
        assert (device[0] == device[1]) is same
        assert (released[0] == released[1]) is same
        with pytest.raises(vdp.errors.DataError, match="repeats people in 1 rows"):
            mech.release(pa.table({"pid": [composed, decomposed, "f"], "x": [0.5, 0.5, 0.5]}), key=KEY)
