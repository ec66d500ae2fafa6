"""Descriptions of releases with totals."""

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
def test_intervals_hold_and_are_shorter_with_totals(layout):
    groups = [tuple(SCHEMA.columns)] if layout == "joint" else [("x",), ("z", "y")]
    mech = vdp.Mechanism(SCHEMA, noise={names: Window(4.9) for names in groups})
    scores, gains = [], []
    for turn in range(6):
        content = people(np.random.default_rng([1, turn]), 3000)
        release = released(mech, content, np.random.default_rng([2, turn]), law=law_of(mech, 0.5))
        with_totals, alone = vdp.describe(release), vdp.describe(vdp.Release(release.frame, mech))
        assert "used for means" in with_totals.header["totals"]
        assert "totals" not in alone.header
        known = np.isfinite(content["z"])
        truth = {
            ("x", "mean"): content["x"].mean(),
            ("x", "sd"): content["x"].std(),
            ("z", "mean"): content["z"][known].mean(),
            ("y", "shares"): content["y"].mean(),
        }
        for (name, what), true in truth.items():
            found, before = (getattr(each[name], what) for each in (with_totals, alone))
            if what == "shares":
                found, before = found[1], before[1]
            scores.append((found.value - true) / found.error)
            gains.append(found.error / before.error)
        correlation = with_totals.correlations
        j, k = correlation.names.index("x"), correlation.names.index("z")
        true = np.corrcoef(content["x"][known], content["z"][known])[0, 1]
        assert abs(np.asarray(correlation)[j, k] - true) < 0.2
        low, high = with_totals["x"].quantiles[0.5].low, with_totals["x"].quantiles[0.5].high
        assert low <= np.median(content["x"]) <= high
    # errors are those of the people of the release, which have no sampling error: scores are below 1
    assert np.abs(scores).max() < 4
    assert np.std(scores) < 1.2
    assert np.mean(gains) < (0.8 if layout == "joint" else 0.95)
