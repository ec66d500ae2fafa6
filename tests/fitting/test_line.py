"""Quantile regression by a corrected line: what it knows of the residuals, and fits that failed without it."""

import importlib
import warnings

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.engine import Serial
from versadp.errors import InsecureWarning
from versadp.estimation.start import nearest_rows
from versadp.fitting.line import corrected_line
from versadp.fitting.models import make_problem
from versadp.losses import Check
from versadp.losses.pilot_line import Line
from versadp.losses.smoothing import of_line
from versadp_bench.coverage.regimes.hard import ROWS

HARD = {regime.name: regime for regime in ROWS}
fitting = importlib.import_module("versadp.fitting.estimate")


def released(regime, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureWarning)
        people = regime.people.draw(np.random.default_rng(seed), regime.n)
        return regime.mechanism().release(pa.table(people), insecure_seed=seed)


def line_of(regime, seed, loss):
    problem = make_problem(released(regime, seed), regime.formula, loss, None, None)
    sample = problem.sample(problem.source.rows, 0)
    return problem, sample, corrected_line(problem, sample, Serial(), 0, loss.tau)


def test_a_corrected_line_knows_the_residuals():
    """Normal errors of sd 0.3, beside slopes whose noise is eight times as wide: that is all that records show."""
    problem, sample, line = line_of(HARD["check 0.9, steep"], 1, Check(0.5))
    assert problem.to_user(line.theta, np.eye(3))[0] == pytest.approx([1.0, 5.0, -5.0], abs=0.6)
    assert line.scale() == pytest.approx(0.3, rel=0.4)
    assert line.deviation() == pytest.approx(0.3, rel=0.4)
    assert (np.diff(line.share) >= 0).all()
    plain = Line.plain(*nearest_rows(problem.model, problem.units, sample))
    assert plain.scale() > 1.0, "records themselves show the noise"


def test_scales_are_smaller_where_a_density_ends():
    """Exponential errors: around the quantile 0.1 they lie denser than in the middle."""
    y = np.random.default_rng(0).exponential(size=50_000)
    line = Line.plain(np.ones((50_000, 1)), y)
    exact = (np.log(0.95 / 0.9)) / (1.6449 - 1.2816)  # from Q(0.05) to Q(0.1), in normal distances
    assert line.scale(0.1) == pytest.approx(exact, rel=0.1)
    lower = np.log(0.75 / 0.5) / 0.6745  # from Q(0.25) to Q(0.5), where they lie denser than from there to Q(0.75)
    assert line.scale(0.5) == pytest.approx(lower, rel=0.1)
    assert of_line(line, tau=0.1)[0] < 0.5 * of_line(line, tau=0.5)[0]
    normal = Line.plain(np.ones((50_000, 1)), np.random.default_rng(1).normal(0, 2, 50_000))
    for tau in (0.1, 0.5, 0.9):
        assert normal.scale(tau) == pytest.approx(2, rel=0.1)
    assert normal.times(3.0).scale() == pytest.approx(3 * normal.scale())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["check 0.9, steep", "check 0.9, private response"])
def test_fits_that_failed_without_a_line(name, monkeypatch):
    """52 and 44 of 60 fits had no estimate without it."""
    regime = HARD[name]
    release = released(regime, 0)
    found = vdp.fit(release, regime.formula, loss=regime.loss)
    assert found.answered  # the steep one is weak, for want of records beyond the quantile
    assert np.abs(np.asarray(found.params) - regime.truth()).max() < 1.0
    monkeypatch.setattr(fitting, "corrected_line", lambda *_: None)
    assert not vdp.fit(release, regime.formula, loss=regime.loss).converged


def test_a_start_of_ones_own_is_kept():
    class Own(Check):
        def start(self, m, y):
            return super().start(m, y)

    assert Check(0.3).by_line
    assert not Own(0.3).by_line
    assert not vdp.losses.Squared().by_line
