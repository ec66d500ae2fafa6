"""Attacks on noisy totals: each must gain no more than the share of the budget that is spent on them."""

import numpy as np
import pytest
from scipy.stats import binom, kstest

import versadp as vdp
from versadp.noise import Window
from versadp.release.totals.count import exact_totals
from versadp.release.totals.law import TotalsLaw
from versadp.release.totals.noise import noisy_totals, totals_privacy, whole_scales

SCHEMA = vdp.Schema(
    {
        "x": vdp.Bounded(0, 4, step=1),
        "k": vdp.Bounded(0, 2, step=1, nullable=True),
        "c": vdp.Categorical(["a", "b", "c"]),
    }
)
TRIES = 400
SURE = 1e-7  # chance to accuse right code


def mechanism(mu):
    """Return a mechanism whose totals have so much mu in all, which an attacker notices in few tries."""
    mech = vdp.Mechanism(SCHEMA, noise={SCHEMA.private: Window(1.0)})
    return mech.with_totals(TotalsLaw.of(mech.totals_features, mu / np.sqrt(0.5)))


def key(number):
    return number.to_bytes(2, "little") + bytes(range(30, 60))


def exact(mech, records):
    words = np.zeros((0, len(records)), np.uint64)
    return exact_totals(mech.totals_features, np.array(records, dtype=float).T, words)


ROWS = [(i % 5, i % 3, i % 3) for i in range(20)]
PAIRS = {  # content: the second may be missing, which is behind its lattice
    "record": ((0, 0, 0), (4, 2, 1)),
    "record, missing": ((0, 0, 0), (4, 9, 1)),
    "attribute": ((0, 2, 0), (4, 2, 0)),
}


def attack(mech, pair):
    """Return how often the best test on the sheets says "the second", of each of two neighbours."""
    sums = [exact(mech, [*ROWS, record]) for record in pair]
    towards = (sums[1] - sums[0]) / whole_scales(mech) ** 2  # who knows both tables looks along their difference
    found = [
        np.array([(noisy_totals(mech, each, len(ROWS) + 1, key(k)).values - sums[0]) @ towards for k in range(TRIES)])
        for each in sums
    ]
    at = np.median(np.concatenate(found))
    return tuple(int((each > at).sum()) for each in found)


def contradicted(hits, alarms, profile):
    """Return whether counts of hits and false alarms contradict some (epsilon, delta) of a profile."""
    epsilons = np.linspace(0, 5, 26)
    low = binom.ppf(SURE, TRIES, hits / TRIES) / TRIES
    high = (binom.ppf(1 - SURE, TRIES, alarms / TRIES) + 1) / TRIES
    return bool(np.any(low - np.exp(epsilons) * high > profile.delta(epsilons)))


@pytest.mark.parametrize("name", PAIRS)
def test_the_best_attacker_on_the_totals_stays_inside_their_share(name):
    mech = mechanism(2.0)
    alarms, hits = attack(mech, PAIRS[name])
    unit = name.partition(",")[0]
    assert hits > alarms
    assert not contradicted(hits, alarms, totals_privacy(mech, unit))


def test_half_of_the_noise_is_noticed():
    loud = mechanism(6.0)
    alarms, hits = attack(loud, PAIRS["record"])
    assert contradicted(hits, alarms, totals_privacy(mechanism(2.0), "record"))


def test_noise_follows_its_law_in_every_sheet():
    mech = mechanism(0.05)
    truth = exact(mech, ROWS)
    sigma = whole_scales(mech)
    z = np.array([(noisy_totals(mech, truth, 20, key(k)).values - truth) / sigma for k in range(200)])
    for sheet in "ABC":
        own = z[:, [feature.sheet == sheet for feature in mech.totals_features.all]]
        assert kstest(own.ravel(), "norm").pvalue > 1e-4
        assert kstest(1.3 * own.ravel(), "norm").pvalue < 1e-4
    together = np.corrcoef(z.T)[np.triu_indices(z.shape[1], 1)]
    assert np.abs(together).max() < 6 / np.sqrt(len(z))


def test_no_two_batches_and_no_two_keys_share_noise():
    mech = mechanism(0.05)
    truth = exact(mech, ROWS)
    sheets = [noisy_totals(mech, truth, 20, key(k), batch).values - truth for k in (1, 2) for batch in (0, 1)]
    sheets.append(noisy_totals(mech, truth + np.eye(1, len(truth), dtype=np.int64)[0], 20, key(1)).values - truth)
    sheets.append(noisy_totals(mech, truth, 21, key(1)).values - truth)
    found = np.corrcoef(np.array(sheets) / whole_scales(mech))[np.triu_indices(len(sheets), 1)]
    assert np.abs(found).max() < 6 / np.sqrt(len(truth))
    again = noisy_totals(mech, truth, 20, key(1)).values - truth
    assert (again == sheets[0]).all()


def test_the_claim_counts_what_the_law_says():
    """A mechanism's claim is at least that of its totals alone, of a record, an attribute and with a shuffle."""
    mech, epsilons = mechanism(1.5), np.array([0.0, 1.0, 2.0])
    for unit, mu in (("record", 1.5), ("attribute", mech.totals.mu("attribute"))):
        least = vdp.privacy.gaussian(mu).delta(epsilons)
        assert (mech.privacy(unit).delta(epsilons) >= least).all()
        assert (mech.privacy(unit, shuffled=1000).delta(epsilons) >= least).all()
        assert (mech.privacy(unit).delta(epsilons) > mech.without_totals().privacy(unit).delta(epsilons)).all()
    d, (a, b, c) = 3, mech.totals.scale
    assert mech.totals.mu("attribute") == pytest.approx(np.sqrt(2 / a**2 + 4 * d / b**2 + 2 * (d - 1) / c**2))
    assert mech.totals.mu("record", 3) == pytest.approx(4.5)
