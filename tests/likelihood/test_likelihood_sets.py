"""Likelihood sets: against closed forms; ends that there are not, likelihoods that are no numbers far out."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtri

from versadp.errors import ParameterError
from versadp.likelihood.mixture import Sums, maximise
from versadp.likelihood.profile import LikelihoodSet, likelihood_set

ONE = np.ones((1, 1))


def scores_of(value, score):
    """Return sums of a likelihood of one parameter, a law of one point, from its value and its scores by record."""

    def sums(eta, _):
        columns = np.stack([score(eta[0]), np.ones_like(score(eta[0]))], axis=1)
        return Sums(float(value(eta[0])), columns.sum(axis=0), columns.T @ columns, np.array([float(len(columns))]))

    return sums


def counted(y):
    return scores_of(lambda b: (y * b - np.exp(b)).sum(), lambda b: y - np.exp(b))


def test_counts_have_a_root_in_closed_form():
    y = np.repeat([0.0, 1.0, 3.0], [9, 8, 1])  # few, so that the root bends
    n, mean = y.size, y.mean()
    sums = counted(y)
    found = maximise(sums, np.zeros(1), ONE)
    error = float(np.sqrt(found.covariance()[0, 0]))
    ours = likelihood_set(sums, found, 0)

    def root(b):
        return np.sign(b - np.log(mean)) * np.sqrt(2 * n * (mean * (np.log(mean) - b) - mean + np.exp(b)))

    closely = {0.5: 0.02, 0.8: 0.02, 0.9: 0.01, 0.95: 0.01, 0.99: 0.02, 0.999: 0.02, 0.9999: 0.1}  # in standard errors
    for level, close in closely.items():
        z = ndtri(0.5 + level / 2)
        theirs = [brentq(lambda b, to=sign * z: root(b) - to, -12, 6) for sign in (-1, 1)]
        np.testing.assert_allclose(ours.interval(level), theirs, atol=close * error)
        if level >= 0.9:  # by a standard error they would be elsewhere
            assert np.abs(np.log(mean) + z * error * np.array([-1, 1]) - theirs).max() > 5 * close * error
    assert 0.2 < ours.off(np.log(mean), error) < 0.8


def bounded(most, until=np.inf):
    """Return a likelihood that never falls by more than so much, and is no number beyond some value."""
    return scores_of(
        lambda b: -most * np.tanh(b * b / (2 * most)) if abs(b) < until else np.nan,
        lambda b: np.array([1.0, -1.0]) / np.sqrt(2) - b * (abs(b) < until) / 2,
    )


def test_an_end_that_nothing_bounds_is_infinite():
    sums = bounded(2.5)  # of which the root is 2.24 at most
    ours = likelihood_set(sums, maximise(sums, np.full(1, 0.3), ONE), 0)
    assert np.isfinite(ours.interval(0.95)).all()
    assert ours.interval(0.99) == (-np.inf, np.inf)
    assert ours.interval(0.99999) == (-np.inf, np.inf)
    assert ours.off(0.0, 1.0) > 0.05
    shallow = bounded(1.5)
    ours = likelihood_set(shallow, maximise(shallow, np.full(1, 0.3), ONE), 0)
    assert ours.interval(0.95) == (-np.inf, np.inf)
    assert ours.off(0.0, 1.0) == np.inf


def test_where_the_likelihood_is_no_number_nothing_is_rejected():
    sums = bounded(1e6, until=2.8)
    ours = likelihood_set(sums, maximise(sums, np.full(1, 0.3), ONE), 0)
    np.testing.assert_allclose(ours.interval(0.95), [-1.96, 1.96], atol=0.01)
    assert ours.interval(0.999) == (-np.inf, np.inf)
    nowhere = bounded(1e6, until=0.01)
    assert likelihood_set(nowhere, maximise(nowhere, np.zeros(1), ONE), 0) is None


def test_a_likelihood_that_rises_again_far_out_has_no_end_there():
    sums = scores_of(lambda b: -b * b / 2 if b < 5 else -10 + b, lambda b: np.array([1.0, -1.0]) / np.sqrt(2) - b / 2)
    ours = likelihood_set(sums, maximise(sums, np.full(1, 0.3), ONE), 0)
    assert np.isfinite(ours.interval(0.95)).all()  # nobody looked so far: beyond 99.9% a hill is no matter
    score = lambda b: np.array([1.0, -1.0]) / np.sqrt(2) - b / 2  # noqa: E731 - of what bends as a normal law does
    shallow = scores_of(lambda b: -1 + np.exp(-b * b / 2) + (b > 6), score)
    ours = likelihood_set(shallow, maximise(shallow, np.zeros(1), ONE), 0)
    assert ours.interval(0.5)[1] == np.inf


def test_of_two_hills_the_hull_is_taken():
    hills = LikelihoodSet([-4.0, -2.0, 0.0, 2.0, 3.0, 4.0, 6.0], [-4.0, -2.0, 0.0, 3.0, 3.0, 1.5, 5.0])
    low, high = hills.interval(0.95)
    assert np.isclose(low, -1.96, atol=0.1)
    assert 4 < high < 4.7
    assert LikelihoodSet([-4.0, 0.0, 2.0], [-4.0, 0.0, 3.5]).interval(0.95)[1] < 2  # one hill


@pytest.mark.parametrize(
    ("at", "root"),
    [([0.0], [1.0]), ([0, 1], [-1, np.nan]), ([1, 0], [-1, 1]), ([0, 1], [1, 2]), ([0, 1], [-2, -1]), ([0, 1], [0])],
)
def test_what_is_no_set_is_refused(at, root):
    with pytest.raises(ParameterError, match="values that rise"):
        LikelihoodSet(at, root)


def test_sets_are_equal_by_their_numbers():
    one, same = LikelihoodSet([0, 2], [-4, 4]), LikelihoodSet.read(([0, 2], [-4, 4]))
    assert one == same
    assert hash(one) == hash(same)
    assert one != LikelihoodSet([0, 2], [-4, 5])
    assert LikelihoodSet.read(one) is one
