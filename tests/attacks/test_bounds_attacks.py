"""Attacks on bounds that are learnt: each must gain no more than the share of the budget that is spent on them."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import versadp as vdp
from versadp.release.bounds.cells import learnable
from versadp.release.bounds.count import people_in_cells
from versadp.release.bounds.law import BoundsRequest, bounds_privacy
from versadp.release.bounds.learn import _noise, learnt_schema, planned
from versadp.release.path.table import read_table

SCHEMA = vdp.Schema({"x": vdp.Bounded(0, 500_000)})
TRIES = 500
SURE = 1e-7  # chance to accuse right code


def key(number):
    return number.to_bytes(2, "little") + bytes(range(30, 60))


def neighbours(name):
    """Return two tables that differ in one person."""
    rng = np.random.default_rng(3)
    edge = float(learnable(SCHEMA)["x"].starts[40])
    values = np.exp(rng.normal(10, 0.7, 300))
    if name == "at the edge of a cell":
        values[0] = edge
        other = np.append(np.nextafter(edge, 0), values[1:])
    elif name == "all in one cell":
        values[:] = 41_000.0
        other = np.append(500_000.0, values[1:])
    else:
        values[0], other = 0.0, np.append(500_000.0, values[1:])
    return pd.DataFrame({"x": values}), pd.DataFrame({"x": other})


@pytest.mark.parametrize("name", ["at the edge of a cell", "all in one cell", "from end to end"])
@pytest.mark.parametrize("target", [{"epsilon": 10.0}, {"epsilon": 10.0, "delta": 1e-3}])
def test_the_best_attacker_on_the_counts_stays_inside_the_share(name, target):
    request = BoundsRequest.of(SCHEMA, target["epsilon"], target.get("delta"), share=0.1)
    plan = planned(SCHEMA, request)
    cells = learnable(plan)
    found = []
    counts = [people_in_cells(read_table(frame, plan), cells) for frame in neighbours(name)]
    exact = [cells["x"].sums(each[:-1]) for each in counts]
    towards = exact[1] - exact[0]  # the attacker knows both tables, and looks along their difference
    for which in (0, 1):
        noise = np.array([_noise(plan, plan.bounds, counts[which], key(k)) @ towards for k in range(TRIES)])
        found.append(noise + exact[which] @ towards)
    at = np.median(np.concatenate(found))
    hits, alarms = (int((each > at).sum()) for each in found[::-1])
    profile = bounds_privacy(plan.bounds, "record")
    epsilons = np.linspace(0, 5, 26)
    # the lower end of the hits and the upper end of the alarms must not contradict any (epsilon, delta)
    low = binom.ppf(SURE, TRIES, hits / TRIES) / TRIES
    high = (binom.ppf(1 - SURE, TRIES, alarms / TRIES) + 1) / TRIES
    assert np.all(low - np.exp(epsilons) * high <= profile.delta(epsilons))
    assert hits > alarms  # there is something to see
    less = [(each - exact[w] @ towards) / 16 + exact[w] @ towards for w, each in enumerate(found)]
    hits, alarms = (int((each > np.median(np.concatenate(less))).sum()) for each in less[::-1])
    low, high = binom.ppf(SURE, TRIES, hits / TRIES) / TRIES, (binom.ppf(1 - SURE, TRIES, alarms / TRIES) + 1) / TRIES
    assert np.any(low - np.exp(epsilons) * high > profile.delta(epsilons))  # a sixteenth of the noise is found out


def test_people_who_differ_inside_a_cell_are_not_told_apart():
    first, other = neighbours("all in one cell")
    other = first.copy()
    other.loc[0, "x"] = 41_001.0
    made = [vdp.fit_bounds(frame, SCHEMA, epsilon=4, key=key(1)) for frame in (first, other)]
    assert made[0] == made[1]


def test_asking_again_with_the_same_key_averages_nothing():
    frame = neighbours("from end to end")[0]
    assert len({vdp.fit_bounds(frame, SCHEMA, epsilon=4, key=key(1)) for _ in range(5)}) == 1


def test_noise_differs_between_counts_shares_and_coverages():
    frame = neighbours("from end to end")[0]
    seen = set()
    for share, coverage in ((0.05, 0.99), (0.06, 0.99), (0.05, 0.98)):
        plan = planned(SCHEMA, BoundsRequest.of(SCHEMA, 4.0, 1e-6, share=share, coverage=coverage))
        counts = people_in_cells(read_table(frame, plan), learnable(plan))
        for change in (0, 1):
            counts[0] += change
            seen.add(tuple((_noise(plan, plan.bounds, counts, key(1)) / plan.bounds.scale).round(1)))
    assert len(seen) == 6


def test_counts_decide_and_nothing_else_of_the_records():
    frame = neighbours("from end to end")[0]
    plan = planned(SCHEMA, BoundsRequest.of(SCHEMA, 4.0, 1e-6))
    counts = people_in_cells(read_table(frame, plan), learnable(plan))
    reordered = people_in_cells(read_table(frame[::-1].reset_index(drop=True), plan), learnable(plan))
    assert learnt_schema(plan, counts, key(1)) == learnt_schema(plan, reordered, key(1))
