"""A device that reports for years: what did not change must not be averaged out of its noise."""

from collections import Counter

import numpy as np
import pytest

import versadp as vdp

MONTHS, DEVICES = 36, 60
REGIONS = ["n", "e", "s", "w"]
SCHEMA = vdp.Schema(
    {"age": vdp.Bounded(18, 90), "region": vdp.Categorical(REGIONS), "income": vdp.Bounded(0, 5000, step=1)}
)
EACH = vdp.calibrate(SCHEMA, epsilon=1, unit="attribute")
JOINT = vdp.calibrate(SCHEMA, epsilon=4)


def years(mech):
    """Age and region stay, income drifts: what an attacker sees of every device, month after month."""
    rng = np.random.default_rng(8)
    people = [(float(rng.uniform(18, 90)), str(rng.choice(REGIONS)), rng.bytes(32)) for _ in range(DEVICES)]
    for age, region, key in people:
        months = ({"age": age, "region": region, "income": 1000 + 7 * month} for month in range(MONTHS))
        yield age, region, [mech.privatize(record, key=key) for record in months]


def attacked(mech):
    """Return the errors in age of the first report and of the average, and how often region is right by majority."""
    keep = next(block.keep for block in mech.blocks if "age" in block.columns)
    first, average, right = [], [], []
    for age, region, reports in years(mech):
        decoded = [(report["age"] - 54) / keep + 54 for report in reports]
        first.append(abs(decoded[0] - age))
        average.append(abs(np.mean(decoded) - age))
        right.append(Counter(report["region"] for report in reports).most_common(1)[0][0] == region)
    return np.median(first), np.median(average), np.mean(right)


def test_what_did_not_change_is_not_averaged_out():
    first, average, right = attacked(EACH)
    assert average == pytest.approx(first)
    keep = EACH.blocks[1].keep
    chance = keep + (1 - keep) / 4
    assert abs(right - chance) < 4.5 * np.sqrt(chance * (1 - chance) / DEVICES)


@pytest.mark.parametrize("mech", [EACH.in_version(2), JOINT], ids=["keyed by the whole record", "one block"])
def test_where_noise_is_fresh_it_is_averaged_out_and_paid_for(mech):
    """The control: one changed value redraws a whole block, so that everything in it is released once more."""
    first, average, right = attacked(mech)
    assert average < 0.4 * first
    assert right > 0.9
    single = mech.privacy("attribute")
    assert single.compose(MONTHS).epsilon(1e-6) > 5 * single.epsilon(1e-6)
    assert f"{MONTHS} reports with different values" in mech.statement(reports=MONTHS)
