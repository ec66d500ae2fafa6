"""Records on people's devices: noise that stays as long as values do, what a change shows, and what it costs."""

import json

import numpy as np
import pytest

import versadp as vdp
from versadp.errors import ParameterError
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
    old = vdp.Mechanism.from_json(json.dumps(MECH.to_dict() | {"version": 2}))
    assert old.version == 2
    assert json.loads(old.to_json())["version"] == 2
    named = {"x": 0.1144561767578125, "z": 6.0, "c": "b", "d": "b", "y": 1}
    assert old.privatize(RECORD | {"pid": "ann"}, key=KEY) == named


def test_the_words_of_version_3_stay():
    """Written down when it began: a change here needs another version."""
    assert MECH.privatize(RECORD | {"pid": "ann"}, key=KEY) == {"x": 0.25, "z": 10.0, "c": "a", "d": "b", "y": 1}
    assert ALONE.privatize(RECORD, key=KEY) == {"x": 1.8401336669921875, "z": 8.0, "c": "c", "d": "b", "y": 1}


def test_tables_have_the_same_noise_since():
    assert MECH.version == 3
    assert MECH.in_version(2).parameters == MECH.parameters


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
    text = MECH.statement(reports=3)
    assert text.startswith(MECH.statement())
    assert "came back to an earlier value" in text
    assert "3 reports with different values" in text
    delta = MECH.privacy("attribute").compose(3).delta(8.0)
    assert f"(8, {delta:.3g}"[:6] in text
    for bad in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="reports"):
            MECH.statement(reports=bad)
