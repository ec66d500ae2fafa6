"""Intervals by inversion: against looking at every value, with atoms, dents and ends of the range."""

import numpy as np
import pytest
from scipy.stats import norm

from versadp.errors import ParameterError
from versadp.estimation import Curve


def wavy(seed, size=400):
    rng = np.random.default_rng(seed)
    at = np.sort(rng.uniform(0, 1, size))
    return Curve(at, at - 0.4 + 0.05 * np.cumsum(rng.normal(size=size)) / size**0.5, rng.uniform(0.02, 0.04, size))


def nearest_rising(curve):
    """By another library."""
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression().fit_transform(curve.at, curve.score, sample_weight=np.gradient(curve.at))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_all_that_a_rising_curve_does_not_reject(seed, level):
    curve, z = wavy(seed), norm.ppf(0.5 + level / 2)
    rising = nearest_rising(curve)
    inside = [t for t, s, e in zip(curve.at, rising, curve.error, strict=True) if abs(s) <= z * e]
    low, high = curve.interval(level)
    assert low <= min(inside)
    assert high >= max(inside)
    # to the next node, and no further
    assert (curve.at[curve.at > low] <= min(inside)).sum() <= 1
    assert (curve.at[curve.at < high] >= max(inside)).sum() <= 1


def test_a_dent_far_away_does_not_stretch_an_interval():
    at = np.linspace(0, 1, 201)
    score = np.minimum(5 * (at - 0.3), 0.25)
    dented = Curve(at, np.where(np.abs(at - 0.9) < 0.01, 0.15, score), np.full(201, 0.1))
    plain = Curve(at, score, np.full(201, 0.1))
    assert dented.interval(0.95) == plain.interval(0.95)
    hull = at[np.abs(dented.score) <= 0.196]
    assert hull.max() > 0.89, "the hull of all values that are not rejected one by one"


@pytest.mark.parametrize("seed", range(10))
def test_the_estimate_is_where_the_nearest_rising_curve_crosses(seed):
    curve = wavy(seed)
    crossing = curve.at[np.flatnonzero(nearest_rising(curve) >= 0)[0]]
    assert curve.estimate == pytest.approx(crossing, abs=0.02)
    low, high = curve.interval(0.01)
    assert low <= curve.estimate <= high


def test_a_jump_over_zero_is_inside():
    at = np.linspace(0, 1, 11)
    curve = Curve(at, np.where(at < 0.45, -0.3, 0.3), np.full(11, 0.001))
    assert curve.estimate == 0.5
    assert curve.interval(0.95) == (0.4, 0.5)
    wider = Curve(curve.at, curve.score, curve.error, rounding=0.02)
    assert wider.interval(0.95) == pytest.approx((0.38, 0.52))


def test_nothing_leaves_the_range():
    at = np.linspace(2, 3, 50)
    for score in (np.full(50, 0.1), np.full(50, -0.1), 0.001 * (at - 2.5)):
        for error in (0.0, 0.01, 1.0):
            curve = Curve(at, score, np.full(50, error), rounding=0.5)
            low, high = curve.interval(0.99)
            assert 2 <= low <= curve.estimate <= high <= 3
    vague = Curve(at, 0.001 * (at - 2.5), np.ones(50))
    assert vague.interval(0.95) == (2, 3)


def test_finer_values_are_new_and_where_it_matters():
    curve = wavy(0, 60)
    more = curve.finer()
    assert not np.isin(more, curve.at).any()
    z = 4.0
    inside = np.abs(curve.score) <= z * curve.error
    low, high = curve.at[inside][[0, -1]] + np.array([-0.1, 0.1])
    assert ((more > low) & (more < high)).all()
    assert curve.joined(Curve(more, more, more)).at.size == curve.at.size + more.size
    assert curve.told().interval(0.99) == curve.interval(0.99)


@pytest.mark.parametrize(
    "fields", [([1, 0], [0, 0], [1, 1]), ([0, 1], [0, np.nan], [1, 1]), ([0, 1], [0, 0], [1, -1]), ([], [], [])]
)
def test_what_is_no_curve(fields):
    with pytest.raises(ParameterError):
        Curve(*map(np.array, fields))
