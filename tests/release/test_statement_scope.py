"""A statement says what holds for the thing at hand: a mechanism, a device's own report, a release."""

import pandas as pd

import versadp as vdp

MECH = vdp.calibrate(vdp.Schema({"age": vdp.Bounded(18, 90)}), epsilon=1, delta=1e-6, shuffled=10_000)


def test_a_device_states_no_guarantee_of_a_shuffle():
    said = MECH.statement(reports=1)
    assert "Among" not in said
    assert "refused" not in said
    assert "(1, 1e-06)" not in said
    assert f"{MECH.privacy().delta(1.0):.2f}"[:4] in said  # of one report: 0.95...


def test_a_mechanism_says_where_smaller_releases_are_refused_and_what_a_report_has():
    said = MECH.statement()
    assert "Smaller ones are refused where a table or file is released, or reports are shuffled." in said
    assert "Among 10,000 records" in said
    assert "A report\nthat a device sends has the guarantee against someone who knows which row is whose" in said


def test_reports_that_are_not_shuffled_state_the_guarantee_of_one_report():
    reports = pd.DataFrame([MECH.privatize({"age": 40}, key=bytes(range(k, k + 32))) for k in range(20)])
    said = vdp.Release.from_frame(reports, MECH).statement()
    assert "Among" not in said
    assert "refused" not in said
