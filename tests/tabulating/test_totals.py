"""Tables of releases with totals."""

import numpy as np
import pytest

import versadp as vdp
from versadp.noise import Window
from versadp_tests.totals import law_of, released, schema_of

SCHEMA = schema_of({"x": 8, "z": 6, "y": 2}, nullable=("z",))


def people(rng, rows):
    x = np.clip(np.rint(3.5 + 1.5 * rng.standard_normal(rows)), 0, 7)
    z = np.clip(np.rint(2.5 + 0.4 * (x - 3.5) + rng.standard_normal(rows)), 0, 5)
    z[rng.random(rows) < 0.1] = np.nan
    return {"x": x, "z": z, "y": (rng.random(rows) < 0.3).astype(float)}


@pytest.mark.parametrize("layout", ["joint", "apart"])
def test_cells_are_more_precise_and_their_errors_hold(layout):
    groups = [tuple(SCHEMA.columns)] if layout == "joint" else [("x",), ("z", "y")]
    mech = vdp.Mechanism(SCHEMA, noise={names: Window(4.9) for names in groups})
    bins = {"x": [0, 3, 5, 7], "z": [0, 3, 5]}
    scores, gains = [], []
    for turn in range(5):
        content = people(np.random.default_rng([3, turn]), 3000)
        release = released(mech, content, np.random.default_rng([4, turn]), law=law_of(mech, 0.5))
        with_totals = vdp.table(release, "x", "z", bins=bins)
        alone = vdp.table(vdp.Release(release.frame, mech), "x", "z", bins=bins)
        assert with_totals.header["totals"] == "used"
        assert "totals" not in alone.header
        for label, low, high in (("[0, 3)", 0, 3), ("[3, 5)", 3, 5), ("[5, 7]", 5, 8)):
            for beside, first, last in (("[0, 3)", 0, 3), ("[3, 5]", 3, 6)):
                found, before = (each.cell(label, beside).count for each in (with_totals, alone))
                x, z = content["x"], content["z"]
                true = ((x >= low) & (x < high) & (z >= first) & (z < last)).sum()
                scores.append((found.value - true) / found.error)
                gains.append(found.error / before.error)
                assert found.low <= found.value <= found.high
    assert np.abs(scores).max() < 4
    assert np.std(scores) < 1.2
    assert np.mean(gains) < (0.8 if layout == "joint" else 1.0)


def test_a_table_says_why_totals_are_not_used():
    rng = np.random.default_rng(5)
    mech = vdp.Mechanism(SCHEMA, noise={tuple(SCHEMA.columns): Window(4.9)})
    release = released(mech, people(rng, 1000), rng, law=law_of(mech, 0.5))
    bins = {"x": [0, 3, 7], "z": [0, 3, 5]}
    assert "more than two columns" in vdp.table(release, "x", "z", "y", bins=bins).header["totals"]
    assert "means in cells" in vdp.table(release, "y", values="x").header["totals"]


def test_edges_between_nodes_are_left_to_the_records():
    """What undoes the noise in a sharp edge varies far more than in the nodes beside it: errors would be too small."""
    schema = schema_of({"age": 81, "y": 2})
    mech = vdp.Mechanism(schema, noise={("age", "y"): Window(4.9, window={"age": 40})})
    rng = np.random.default_rng(6)
    content = {"age": rng.integers(0, 81, 2000).astype(float), "y": rng.integers(0, 2, 2000).astype(float)}
    release = released(mech, content, rng, law=law_of(mech, 0.5))
    assert "not used: edges" in vdp.table(release, "age", "y", bins={"age": [0, 31, 80]}).header["totals"]
    assert vdp.table(release, "y").header["totals"] == "used"
