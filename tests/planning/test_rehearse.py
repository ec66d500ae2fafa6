"""A rehearsal says what was seen, and notices a mechanism that is not what it claims."""

import dataclasses

import pytest

import versadp as vdp
from versadp.planning import rehearsal

SCHEMA = vdp.Schema({"age": vdp.Bounded(18, 90), "y": vdp.Bounded(-6, 6)})


@pytest.fixture(scope="module")
def page():
    return vdp.rehearse(SCHEMA, formula="y ~ age", epsilon=6, records=3000, reps=12)


def test_valid_rehearsal_passes(page):
    """Twelve intervals of 95% all miss too often with a chance below 1e-3, and that is a verdict too."""
    assert page.passed
    assert page.outcomes == {"converged": 12}
    row = page.table[1]
    assert abs(row["mean"] - row["truth"]) < 5 * row["se"] / 12**0.5
    assert row["se"] > row["raw se"]
    for part in ("What was assumed", "What is promised", "covered as often", "Audit of one record", "nothing private"):
        assert part in str(page)
    assert "<pre>" in page.to_html()
    assert page.to_dict()["audit"]["passed"]


def test_rehearsal_detects_undercoverage(page):
    missed = [row | {"covered": 6} for row in page.table]
    assert not rehearsal._covers(missed)
    assert rehearsal._covers([row | {"covered": 11} for row in page.table])
    bad = dataclasses.replace(page, covered=False)
    assert not bad.passed
    assert "covered too seldom" in str(bad)


def test_a_failed_audit_fails_the_rehearsal(page):
    bad = dataclasses.replace(page, audit=dataclasses.replace(page.audit, passed=False))
    assert not bad.passed
    assert "the audit failed" in str(bad)
