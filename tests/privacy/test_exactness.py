"""The exact curve against integrals that share nothing with it, and on the safe side of them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from versadp.privacy import symmetric_laplace
from versadp.privacy.curves.angular import mills, mills_table
from versadp.privacy.curves.exact import curve
from versadp.privacy.curves.interpolant import curve_table
from versadp_tests.privacy_reference import delta as reference

POINTS = [
    (d, c, float(f * np.sqrt(2) * c))
    for d in (2, 3, 5, 9, 17, 60, 200, 1000, 10_000)
    for c in (1e-3, 0.05, 0.5, 3.0, 20.0)
    for f in (0.1, 0.7, 1.3, 3.0)
    if not (d <= 5 and c >= 3 and f > 1)  # the reference cannot get so close to the pole
    and not (d >= 60 and c >= 20 and f > 1)  # nor resolve so sharp an edge
]


def check(d, c, e):
    expected = reference(d, c, e)
    found = symmetric_laplace(d, c).delta(e)
    noise = 1e-12 if d < 100 else 1e-9  # of the reference: log g is of the size of d
    assert found >= expected * (1 - noise), "reported better than it is"
    assert found - expected <= 1e-9
    if expected > 1e-12:
        assert found / expected - 1 <= 1e-6


@pytest.mark.parametrize(("d", "c", "e"), POINTS[::4])
def test_two_dimensional_integral(d, c, e):
    check(d, c, e)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "c", "e"), POINTS)
def test_two_dimensional_integral_everywhere(d, c, e):
    check(d, c, e)


@pytest.mark.parametrize(
    ("c", "e"),
    [pytest.param(*p, marks=pytest.mark.slow) for p in ((0.5, 0.8), (1e-3, 2e-3), (1.357, 4.0), (8.0, 12.0))],
)
def test_dim_3_with_mpmath(c, e):
    """At d = 3, g(r) is proportional to exp(-√2 r)/r, and (1 - e^(ε-L))₊ integrates with 20 digits."""
    with mp.workdps(20):
        c, e = mp.mpf(c), mp.mpf(e)

        def loss(r, t):
            r0 = mp.sqrt(r * r + c * c + 2 * c * r * t)
            return mp.sqrt(2) * (r0 - r) + mp.log(r0 / r)

        def exit_radius(t):
            if loss(mp.mpf(40), t) > e:
                return mp.mpf(40)
            low, high = mp.mpf("1e-9"), mp.mpf(40)
            for _ in range(90):
                middle = mp.sqrt(low * high)
                low, high = (middle, high) if loss(middle, t) > e else (low, middle)
            return low

        first, last = exit_radius(mp.mpf(-1)), exit_radius(mp.mpf(1))

        def inner(r):  # cos is uniform on [-1, 1]
            if r <= first:
                edge = mp.mpf(-1)
            else:
                low, high = mp.mpf(-1), mp.mpf(1)
                for _ in range(70):
                    middle = (low + high) / 2
                    low, high = (low, middle) if loss(r, middle) > e else (middle, high)
                edge = high
            gain = mp.quad(lambda t: -mp.expm1(e - loss(r, t)), [edge, 1], maxdegree=5) / 2
            return 2 * r * mp.exp(-mp.sqrt(2) * r) * gain  # f_R at d = 3

        stops = [mp.mpf(0), first / 4, first, *[first * (last / first) ** (mp.mpf(i) / 4) for i in range(1, 5)]]
        expected = float(mp.quad(inner, stops, maxdegree=4))
    found = symmetric_laplace(3, float(c)).delta(float(e))
    assert found == pytest.approx(expected, rel=2e-8)


@pytest.mark.parametrize(("d", "c", "e"), [(6, 0.5, 0.3), (6, 0.5, 0.8), (2, 0.5, 0.8), (50, 1.0, 2.0)])
def test_simulation(d, c, e):
    """Within five standard errors of simulation, which must reject a shift that is 3% off."""
    from scipy.special import kve

    rng = np.random.default_rng(11)
    n = 200_000
    q = np.sqrt(rng.exponential(size=(n, 1))) * rng.normal(size=(n, d))
    q[:, 0] += c

    def log_g(x):
        r = np.sqrt(2 * (x * x).sum(axis=1))
        return (2 - d) / 2 * np.log(r) + np.log(kve(abs(2 - d) / 2, r)) - r

    shifted = q.copy()
    shifted[:, 0] -= c
    gain = np.maximum(-np.expm1(np.minimum(e - log_g(shifted) + log_g(q), 0.0)), 0.0)
    error = gain.std() / np.sqrt(n)
    assert abs(gain.mean() - symmetric_laplace(d, c).delta(e)) < 5 * error
    assert abs(gain.mean() - symmetric_laplace(d, 1.06 * c).delta(e)) > 5 * error


def test_the_whole_range_converges():
    """Every dim and shift reaches its accuracy by its own estimate."""
    for d in (2, 3, 8, 9, 40, 1000, 10_000):
        for c in (1e-6, 1e-3, 0.5, 50.0, 1e3):
            eps = np.sqrt(2) * c * np.array([1e-6, 0.1, 0.999, 1.0, 1.001, 2.0, 30.0])
            delta, error, alarms = curve(d, c, eps)
            assert np.all(error <= 1e-9)
            assert np.all(error[delta > 1e-12] <= 1e-6 * delta[delta > 1e-12])
            assert np.all(np.diff(delta) <= error[1:] + error[:-1])
            assert np.all((alarms >= 0) & (alarms <= 0.5))


@pytest.mark.parametrize("d", [2, 3, 7, 19, 20, 101, 10_000])
def test_mills_ratio(d):
    a = mp.mpf(d - 1) / 2
    constant = mp.gamma(mp.mpf(d) / 2) / mp.gamma(a) / mp.sqrt(mp.pi) / (2 * a)
    cosines = np.concatenate([[0.05, 0.3, 0.7, 0.95, 1.0], np.array([0.1, 1.0, 4.0]) / np.sqrt(10 * d)])
    expected = [float(constant * mp.hyp2f1(0.5, a, a + 1, 1 - mp.mpf(float(t)) ** 2)) for t in cosines]
    assert np.allclose(mills(d, cosines), expected, rtol=1e-12)
    assert np.allclose(mills_table(d)(cosines), expected, rtol=1e-12)


@pytest.mark.parametrize(("d", "c"), [(2, 0.5), (6, 1e-3), (1000, 2.0)])
def test_interpolant_is_above_the_curve_and_close(d, c):
    eps = np.random.default_rng(0).uniform(0.001 * c, 6 * c, 300)
    exact, error, _ = curve(d, c, eps)
    found, _ = curve_table(d, c)(eps)
    assert np.all(found >= exact)
    assert np.all(found - exact <= 5e-9 * exact + error)


def test_result_does_not_depend_on_its_neighbours():
    p = symmetric_laplace(6, 0.5)
    eps = np.linspace(0.1, 3, 50)
    assert np.all(p.delta(eps) == [p.delta(e) for e in eps])


def test_outside_the_range_the_limit_is_used_and_noted():
    for dim, shift in ((10_001, 0.5), (6, 1e-7), (6, 2e3)):
        p = symmetric_laplace(dim, shift)
        assert "limit" in p.notes[0]
        assert "note:" in str(p)
    assert not symmetric_laplace(6, 0.5).notes
