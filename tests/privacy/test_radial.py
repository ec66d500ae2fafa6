"""The radial law against mpmath, which evaluates the Bessel functions to 40 digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from versadp.errors import ParameterError
from versadp.privacy.curves.radial import bessel_excess, log_density, radial_law

RADII = (1e-3, 0.1, 1.0, 5.0, 30.0)
DIMS = (1, 2, 3, 4, 5, 6, 50, 101)


def exact(d, r):
    """log g, P(R < r) and -d log g / d log r in 40 digits."""
    with mp.workdps(40):
        r, v = mp.mpf(r), mp.mpf(d - 2) / 2
        z = mp.sqrt(2) * r
        k = mp.besselk(v, z)
        log_g = mp.log(2) - mp.mpf(d) / 2 * mp.log(2 * mp.pi) - v * mp.log(r / mp.sqrt(2)) + mp.log(k)
        half = mp.mpf(d) / 2
        cdf = 1 - 2 * (z / 2) ** half * mp.besselk(half, z) / mp.gamma(half)
        return float(log_g), float(mp.log(cdf)), float(z * mp.besselk(v + 1, z) / k)


@pytest.mark.parametrize("d", DIMS)
def test_density_cdf_and_slope_agree_with_mpmath(d):
    law = radial_law(d)
    for r in RADII:
        log_g, log_cdf, slope = exact(d, r)
        x = np.array([np.log(r)])
        assert float(log_density(d, r)) == pytest.approx(log_g, abs=1e-12, rel=1e-13)
        assert law.log_cdf(x)[0] == pytest.approx(log_cdf, abs=1e-12)
        assert law.slope(x)[0] == pytest.approx(slope, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("d", [1000, 9999, 10_000])
def test_high_dimensions_agree_with_the_recurrence_in_40_digits(d):
    """mpmath's own besselk gives up here; the recurrence in the order does not."""
    law = radial_law(d)
    for r in (1e-3, 1.0, 100.0, 700.0):
        with mp.workdps(40):
            z = mp.sqrt(2) * mp.mpf(r)
            v = mp.mpf(1) if d % 2 == 0 else mp.mpf(1) / 2
            ratio = mp.besselk(1, z) / mp.besselk(0, z) if d % 2 == 0 else mp.mpf(1)
            log_k = mp.log(mp.besselk(0, z)) if d % 2 == 0 else mp.log(mp.sqrt(mp.pi / (2 * z))) - z
            log_k += mp.log(ratio) if d % 2 == 0 else 0
            while v < mp.mpf(d - 2) / 2:
                ratio = 2 * v / z + 1 / ratio
                log_k += mp.log(ratio)
                v += 1
            half = mp.mpf(d) / 2
            log_tail = mp.log(2) + half * mp.log(z / 2) + log_k + mp.log(2 * v / z + 1 / ratio) - mp.loggamma(half)
            log_cdf = float(mp.log(1 - mp.exp(log_tail)))
            log_g = mp.log(2) - mp.mpf(d) / 2 * mp.log(2 * mp.pi) - v * mp.log(mp.mpf(r) / mp.sqrt(2)) + log_k
            excess = float(z / ratio)
        assert law.log_cdf(np.array([np.log(r)]))[0] == pytest.approx(log_cdf, rel=1e-12, abs=1e-13)
        assert float(bessel_excess(d, np.log(r))) == pytest.approx(excess, rel=1e-13)
        assert law.slope(np.array([np.log(r)]))[0] == pytest.approx(d - 2 + excess, rel=1e-14)
        assert float(log_density(d, r)) == pytest.approx(float(log_g), rel=1e-14, abs=2e-11)


@pytest.mark.parametrize("d", [2, 3, 7, 400, 10_000])
def test_inverse_undoes_the_density(d):
    law = radial_law(d)
    x = np.linspace(law.low + 0.1, np.log(np.sqrt(60 * d) + 60), 300)
    assert np.allclose(law.inverse(law.neg_log_density(x)), x, rtol=0, atol=1e-12)


def test_pole_and_ends():
    assert float(log_density(1, 0.0)) == pytest.approx(-0.5 * np.log(2))
    assert float(log_density(2, 0.0)) == np.inf
    law = radial_law(2)
    low, high = law.low, law.high
    for edge in (low, high):  # the formulas beyond the table continue it
        left, right = law.neg_log_density(np.array([edge - 1e-9, edge + 1e-9]))
        assert right - left == pytest.approx(2e-9 * law.slope(np.array([edge]))[0], rel=1e-2, abs=1e-7)


@pytest.mark.parametrize("d", [1, 2, 5, 300])
def test_radial_law_fits_simulation(d):
    """Kolmogorov-Smirnov at 1e-6, and the same test must reject a scale that is 5% off."""
    rng = np.random.default_rng(3)
    n = 20_000
    r = np.sqrt(rng.exponential(size=n) * rng.chisquare(d, size=n))
    law = radial_law(d)

    def cdf(v):
        return np.exp(law.log_cdf(np.log(v)))

    assert stats.kstest(r, cdf).pvalue > 1e-6
    assert stats.kstest(1.05 * r, cdf).pvalue < 1e-6


@pytest.mark.parametrize("bad", [0, -1, 2.0, True, "3", None])
def test_bad_dimension(bad):
    with pytest.raises(ParameterError, match="whole number"):
        radial_law(bad)


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_bad_radius(bad):
    with pytest.raises(ParameterError, match="radius"):
        log_density(2, bad)
