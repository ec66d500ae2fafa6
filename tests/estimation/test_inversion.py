"""Quantiles by inversion: against sums written out, order statistics of raw records, and coverage where it was lost."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom, norm

import versadp as vdp
from versadp.correction.points import Rows
from versadp.errors import InsecureWarning
from versadp.estimation.distribution import Steps
from versadp.losses import Quantile
from versadp_bench.coverage.regimes.hard import ROWS
from versadp_bench.coverage.replication import Job, by_versadp, work

HARD = {regime.name: regime for regime in ROWS}


def released(columns, scale=0.5, exact_rate=0.1, seed=0, **bounds):
    schema = vdp.Schema({name: vdp.Bounded(*bounds.get(name, (0, 1))) for name in columns})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureWarning)
        return vdp.Mechanism(schema, scale=scale, exact_rate=exact_rate).release(
            pa.table(columns), insecure_seed=seed, shuffle=False
        )


def test_sums_against_sums_written_out():
    rng = np.random.default_rng(0)
    n, m = 30, 400
    rows = Rows(rng.integers(0, n, m), (np.ones((m, 1)), rng.integers(0, 20, m) / 20), rng.normal(size=(3, m)), n)
    grid, mix = np.linspace(0, 1, 13), rng.normal(size=(2, 3))
    count, score, outer = Steps(grid, 0.3, mix).sums([rows])
    each = np.zeros((n, grid.size, 2))
    for record, value, factor in zip(rows.record, rows.rows[1], rows.factor.T, strict=True):
        each[record] += ((value <= grid) - 0.3)[:, None] * (mix @ factor)
    assert count == n
    assert score == pytest.approx(each.sum(axis=0))
    assert outer == pytest.approx(np.einsum("nta,ntb->tab", each, each))


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.97])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_without_a_correction_it_is_the_order_statistics(tau, level):
    release = released({"x": np.random.default_rng(1).beta(2, 5, 700)})
    found = vdp.fit(release, loss=Quantile("x", tau), method="naive")
    values = np.sort(np.asarray(release.frame["x"]))
    share = np.arange(1, 701) / 700
    error = np.sqrt(share * (1 - share) / 699)
    inside = np.flatnonzero(np.abs(share - tau) <= norm.ppf(0.5 + level / 2) * error)
    tolerance = np.ptp(values) * 0.01  # cells are finer around estimate and ends
    assert found.params[0] == pytest.approx(np.quantile(values, tau, method="inverted_cdf"), abs=tolerance)
    low, high = found.conf_int(level)[0]
    assert low == pytest.approx(values[inside[0]], abs=tolerance)
    assert high == pytest.approx(values[min(inside[-1] + 1, 699)], abs=tolerance)
    half = np.ptp(found.conf_int(0.95)[0]) / 2
    assert found.bse[0] == pytest.approx(half / norm.ppf(0.975))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", ["income, quantile 0.1", "waits, quantile 0.1", "price, quantile 0.1"])
def test_coverage_that_was_lost(name):
    """Smoothed scores covered in 12, 26 and 17 of 100 samples; right code in 4 of 10 or fewer once in 10^5."""
    regime, reps, enough = HARD[name], 10, 4
    assert binom.cdf(enough, reps, 0.95) < 1e-5
    truth = float(regime.truth()[0])
    column = regime.people.schema.columns[regime.loss.of]
    answers = [work(Job(regime, rep, 11, by_versadp)) for rep in range(reps)]
    covered = [answer["interval"][0][0] <= truth <= answer["interval"][0][1] for answer in answers]
    assert sum(covered) > enough
    for answer in answers:
        ((low, high),), (estimate,) = answer["interval"], answer["estimate"]
        assert column.lower <= low <= estimate <= high <= column.upper

    def naive(regime, release, options):
        return vdp.fit(release, loss=regime.loss, method="naive", **options)

    low, high = work(Job(regime, 0, 11, naive))["interval"][0]
    assert not low <= truth <= high


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in HARD if "quantile" in name])
def test_coverage_at_full_size(name):
    regime, reps = HARD[name], 200
    truth = float(regime.truth()[0])
    ends = [work(Job(regime, rep, 12, by_versadp))["interval"][0] for rep in range(reps)]
    covered = sum(low <= truth <= high for low, high in ends)
    assert binom.cdf(covered, reps, 0.93) > 1e-5
    assert binom.sf(covered - 1, reps, 0.99) > 1e-5


def test_a_discrete_column():
    rng = np.random.default_rng(3)
    values = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], 6000, p=[0.1, 0.1, 0.5, 0.1, 0.2])
    release = released({"x": values, "w": rng.random(6000)}, x=(1, 5))
    for tau, truth in [(0.05, 1.0), (0.5, 3.0), (0.9, 5.0)]:
        found = vdp.fit(release, loss=Quantile("x", tau))
        low, high = found.conf_int(0.999)[0]
        assert low <= truth <= high
    # a median inside an atom of half the records is known to a thousandth
    assert np.ptp(vdp.fit(release, loss=Quantile("x", 0.5)).conf_int()[0]) < 0.01


def test_an_atom_between_the_steps_of_the_release():
    values = np.random.default_rng(0).choice([0.0, 1 / 3, 1.0], 5000, p=[0.2, 0.6, 0.2])
    found = vdp.fit(released({"x": values}), loss=Quantile("x", 0.5))
    low, high = found.conf_int()[0]
    assert low <= 1 / 3 <= high
    assert high - low < 0.01


def test_units_move_with_the_column():
    release = released({"x": np.random.default_rng(4).beta(2, 2, 3000)})
    one = vdp.fit(release, loss=Quantile("x", 0.3))
    other = vdp.fit(release, loss=Quantile(lambda x: 60 + 40 * x[:, 0], 0.3))
    assert 60 + 40 * one.params[0] == pytest.approx(other.params[0], abs=0.05)
    assert 60 + 40 * one.conf_int()[0] == pytest.approx(other.conf_int()[0], abs=0.05)


def test_functions_and_weights():
    rng = np.random.default_rng(5)
    a, b = rng.random(8000), rng.random(8000)
    release = released({"a": a, "b": b}, exact_rate=0.3)
    truth = np.quantile(a * b, 0.6)
    found = vdp.fit(release, loss=Quantile(lambda x: x[:, 0] * x[:, 1], 0.6))
    assert abs(found.params[0] - truth) < 5 * found.bse[0]
    heavy = np.where(a < 0.5, 2.0, 1.0)
    again = vdp.fit(release, loss=Quantile("a", 0.5), weights=heavy)
    assert abs(again.params[0] - 0.375) < 5 * again.bse[0], "two thirds of the weight lie below 0.5"
    twice = vdp.fit(release, loss=Quantile("a", 0.5), weights=2 * heavy)
    assert twice.conf_int()[0] == pytest.approx(again.conf_int()[0])
    plain = vdp.fit(release, loss=Quantile("a", 0.5))
    assert abs(plain.params[0] - 0.375) > 5 * again.bse[0], "weights matter"
