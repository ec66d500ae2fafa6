"""The least criterion over the other coefficients: against scipy's least squares, and how many passes it takes."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from versadp.estimation.descent import FLAT, STEPS, Slopes, descend


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, eta):
        self.calls += 1
        return self.function(eta)


def curved(seed, p=4):
    """A whitened score of p - 1 coefficients that bends by some percent over a standard error."""
    rng = np.random.default_rng(seed)
    level, slopes = rng.normal(size=p), np.eye(p)[:, 1:] + 0.3 * rng.normal(size=(p, p - 1))
    bends = 0.02 * rng.normal(size=(p, p - 1, p - 1))
    return lambda eta: level + slopes @ eta + np.einsum("pjk,j,k->p", bends, eta, eta)


def found_from(function, slopes, start=None):
    start = np.zeros(3) if start is None else start
    return descend(function, start, function(start), slopes, enough=0.0)


@pytest.mark.parametrize("seed", range(12))
def test_the_least_value_is_that_of_least_squares(seed):
    function = curved(seed)
    least, at = found_from(function, Slopes())
    expected = 2 * least_squares(function, np.zeros(3)).cost
    assert least == pytest.approx(expected, abs=2 * FLAT)
    assert least == pytest.approx(float(function(at) @ function(at)))


def test_a_descent_costs_a_pass_per_step():
    """From slopes of a neighbour 2.2 passes are enough on average; 3.1 with slopes that no step corrects."""
    calls = []
    for seed in range(12):
        function, slopes = Counted(curved(seed)), Slopes()
        _, at = found_from(function, slopes)
        before = function.calls
        moved = Counted(lambda eta, inner=function: inner(eta) + 0.3)
        found_from(moved, slopes, at)
        assert before <= STEPS + 3
        calls.append(moved.calls)
    assert np.mean(calls) < 2.7


def test_slopes_that_misled_are_taken_again():
    function = curved(1)
    wrong = np.zeros((4, 3))
    wrong[:, 0] = 1e-9  # that nothing leads anywhere
    least, _ = found_from(function, Slopes(wrong))
    assert least == pytest.approx(2 * least_squares(function, np.zeros(3)).cost, abs=2 * FLAT)


def test_what_is_small_enough_is_not_made_smaller():
    function = Counted(curved(2))
    start = np.zeros(3)
    here = function(start)
    least, at = descend(function, start, here, Slopes(), enough=float(here @ here))
    assert (least, at.tolist(), function.calls) == (float(here @ here), [0.0] * 3, 1)


def test_where_there_is_no_score_nothing_is_rejected():
    assert descend(lambda _: None, np.zeros(2), None, Slopes(), enough=0.0)[0] == 0.0
    walled = Counted(lambda eta: None if np.abs(eta).max() > 0.05 else np.array([5.0, 1.0, 1.0]) + 0 * eta.sum())
    least, at = descend(walled, np.zeros(2), walled(np.zeros(2)), Slopes(), enough=0.0)
    assert (least, at.tolist()) == (27.0, [0.0, 0.0])
