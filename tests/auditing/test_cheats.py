"""What a claim about the worst pair of records does not notice, and the audit does: `versadp_tests/cheats.py`.

An audit of `ROWS` people at the default confidence finds each of these. The slow tests measure how often, and how often
honest noise is accused; `docs/theory/audit.md` has the figures.
"""

from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import beta, binom

import versadp as vdp
from versadp.auditing import through_files
from versadp.auditing.law import law_holds, surprise
from versadp.auditing.neighbours import all_pairs
from versadp.auditing.records import without_target
from versadp.noise.words import Keystream
from versadp_tests.cheats import CHEATS, HONEST, ZIL, grouped, honest

ROWS = 40_000
CERTAIN = 1 - 1e-7


@pytest.mark.parametrize("name", CHEATS)
def test_the_law_tells_a_cheat(name):
    """As `audit` calls it: half of the error that is allowed is the law's."""
    mech, path = CHEATS[name]
    verdict = law_holds(mech, path, ROWS, 5e-4, np.random.default_rng())
    assert not verdict.holds, verdict


@pytest.mark.parametrize("name", HONEST)
def test_honest_noise_follows_its_law(name):
    """A negative control for each of the above, at an error that never comes."""
    mech = HONEST[name]
    verdict = law_holds(mech, honest(mech), ROWS, 1e-7, np.random.default_rng())
    assert verdict.holds, verdict


@pytest.mark.parametrize("unit", ["record", "attribute"])
def test_an_audit_fails_for_its_law_alone(unit):
    """Half of the noise in the column that has most of it: no pair contradicts the claim, at either unit."""
    mech, path = CHEATS["one column's scale x 0.5"]
    result = vdp.audit(mech, n=10_000, unit=unit, path=path)
    assert not result.passed
    assert result.law is False
    assert result.epsilon_found <= result.epsilon_claimed
    assert result.excess <= 0
    assert "DEPARTS" in str(result)


def test_pairs_in_the_interior_and_off_the_grid_tell_by_themselves():
    """An attacker needs no law for these: the event that gives records away is named."""
    for name, words in (("raw offsets, Laplace", "grid"), ("interior without noise", "likelihood ratio")):
        mech, path = CHEATS[name]
        result = vdp.audit(mech, n=10_000, path=path)
        assert result.epsilon_found > result.epsilon_claimed, name
        assert words in result.event
        assert result.pair != "opposite corners"


def test_events_just_above_the_floor_tell_by_themselves():
    """Too many unchanged records: what is left of delta above its floor is less than what is too many."""
    mech = vdp.Mechanism(vdp.Schema({"a": vdp.Bounded(0, 1), "b": vdp.Bounded(0, 1)}), scale=2.0, exact_rate=0.05)
    more = vdp.Mechanism(mech.schema, scale=2.0, exact_rate=0.06)
    result = vdp.audit(mech, n=100_000, path=honest(more))
    assert result.epsilon_found > result.epsilon_claimed
    assert mech.privacy().delta_floor < result.delta < 0.06


def test_pairs_differ_in_every_attribute_in_turn_off_every_grid():
    for mech in HONEST.values():
        for unit in ("record", "attribute"):
            pairs = all_pairs(mech, unit)
            moved = {name for pair in pairs for name in pair.null if pair.null[name] != pair.other[name]}
            assert moved == set(mech.schema.private)
    steps = ZIL.blocks[0].step[0]
    inside = [pair.null["x0"] for pair in all_pairs(ZIL, "record") if -1 < pair.null["x0"] < 1]
    assert any((value + 1) / steps % 1 for value in inside)


def test_a_path_that_sorts_or_loses_rows_is_refused():
    with pytest.raises(vdp.errors.ParameterError, match="sorted"):
        vdp.audit(ZIL, n=2000, path=lambda table: ZIL.release(table).frame)
    with pytest.raises(vdp.errors.ParameterError, match="1,999 of 2,000"):
        vdp.audit(ZIL, n=2000, path=lambda table: honest(ZIL)(table).slice(1))


def test_noise_that_was_calibrated_for_a_shuffle_is_audited_by_itself():
    schema = vdp.Schema({"x": vdp.Bounded(0, 1), "y": vdp.Public()})
    mech = vdp.calibrate(schema, epsilon=1, delta=1e-6, shuffled=100_000)
    assert vdp.audit(mech, n=2000, confidence=CERTAIN).passed
    assert without_target(mech) == mech  # the same words for the same key


def test_a_path_that_changes_public_columns_fails():
    def path(table):
        out = honest(ZIL)(table)
        return out.set_column(out.column_names.index("y"), "y", out["y"].combine_chunks().take(np.arange(ROWS)[::-1]))

    verdict = law_holds(ZIL, path, ROWS, 1e-7, np.random.default_rng())
    assert "public" in verdict.oddest


@pytest.mark.parametrize("name", ["zil", "keyed"])
def test_the_path_through_files_follows_the_law(name, monkeypatch, tmp_path):
    """Slabs and appended people have noise of their own; no ledger or memory of this user is touched."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    verdict = law_holds(HONEST[name], through_files(HONEST[name]), ROWS, 1e-7, np.random.default_rng())
    assert verdict.holds, verdict
    assert not list(tmp_path.iterdir())


def test_the_path_through_files_is_told_when_it_cheats():
    """Pairs of people are keyed together, in the release and in what is appended."""
    keyed = HONEST["keyed"]
    with patch.object(Keystream, "records", grouped(lambda i: i // 2)):
        verdict = law_holds(keyed, through_files(keyed), ROWS, 5e-4, np.random.default_rng())
    assert not verdict.holds, verdict


# the statistic -------------------------------------------------------------------------------------------------------


def test_surprise_is_a_p_value():
    """Of counts that are multinomial: at most x with probability x, up to five standard errors of 1000 tables."""
    rng = np.random.default_rng(1)
    for shape in ((1, 256), (16, 16)):
        tables = rng.multinomial(20_000 // shape[0], np.full(shape[1], 1 / shape[1]), (1000, shape[0]))
        found = np.array([surprise(table) for table in tables])
        for x in (0.5, 0.1, 0.01):
            assert np.mean(found <= x) <= x + 5 * np.sqrt(x * (1 - x) / 1000)
        assert np.mean(found <= 0.5) > 0.1  # and it is not idle


def test_ranks_are_even_for_noise_of_another_making():
    """An oracle beside the release path: numpy draws `sqrt(W) N`, rounds it, and keeps some records."""
    rng, n = np.random.default_rng(2), 200_000
    block = ZIL.blocks[0]
    truth = rng.uniform(-1, 1, (3, n))
    content = truth.copy()
    block.to_content(content)

    def seen(scale, exact):
        noise = np.sqrt(rng.exponential(size=n)) * rng.standard_normal((3, n)) * block.sigma_steps[:, None] * scale
        out = content + np.rint(noise) * (rng.random(n) >= exact)
        block.to_values(out)
        return out

    def smallest(values):
        ranks = block.ranks(values, truth, rng).values()
        return min(surprise(np.bincount((rank * 1024).astype(int), minlength=1024)[None]) for rank in ranks)

    assert smallest(seen(1.0, 0.05)) > 1e-6
    assert smallest(seen(0.97, 0.05)) < 1e-6
    assert smallest(seen(1.0, 0.055)) < 1e-6


# how often -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", CHEATS)
def test_power(name):
    """At least 90% are found at 99% confidence: 44 of 44 show it (0.9^44 = 0.97%)."""
    mech, path = CHEATS[name]
    found = [not law_holds(mech, path, ROWS, 5e-4, np.random.default_rng()).holds for _ in range(44)]
    assert beta.ppf(0.01, sum(found), 1 + len(found) - sum(found)) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_false_alarms(name):
    """The law's corrected p-value is at most x with probability x: 300 honest audits, at 1e-6."""
    mech = HONEST[name]
    found = np.array([law_holds(mech, honest(mech), 10_000, 0.5, np.random.default_rng()).p_value for _ in range(300)])
    for x in (0.2, 0.05, 0.001):
        assert np.sum(found <= x) <= binom.isf(1e-6, found.size, x)
    assert np.sum(found <= 0.5) > 0  # the bound is not idle


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("unit", ["record", "attribute"])
def test_false_alarms_of_whole_audits(name, unit):
    """At 90% confidence no more than a tenth of 60 honest audits fails, at 1e-6."""
    failed = [not vdp.audit(HONEST[name], n=4000, unit=unit, confidence=0.9).passed for _ in range(60)]
    assert sum(failed) <= binom.isf(1e-6, 60, 0.1)
