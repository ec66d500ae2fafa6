"""The smoothed exponentials behind the corrected check and hinge losses, against adaptive quadrature."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from versadp.correction.analytic import _tails
from versadp.losses.base import kernel

FUNCTIONS = (
    lambda x, b: np.sign(x) * (1 - np.exp(-abs(x) / b)),
    lambda x, b: np.exp(-abs(x) / b),
    lambda x, b: (1 + abs(x) / b) * np.exp(-abs(x) / b),
)


def smoothed(function, v, b, bandwidth):
    """Integrate over the kernel, on both sides of the kink."""
    ends = sorted({-1.0, float(np.clip(-v / bandwidth, -1, 1)), 1.0})

    def integrand(z):
        return function(v + bandwidth * z, b) * kernel(np.array([z]))[0][0]

    return sum(quad(integrand, low, high, epsabs=1e-12, epsrel=1e-12, limit=200)[0] for low, high in pairwise(ends))


@pytest.mark.parametrize("b", [0.3, 2.0, 40.0])
@pytest.mark.parametrize("bandwidth", [0.5, 1.5])
def test_inside_and_outside_the_reach_of_the_kernel(b, bandwidth):
    v = np.array([-6.0, -1.5, -0.7, -0.2, 0.0, 0.4, 0.5, 1.6, 9.0])
    for found, function in zip(_tails(v, b, bandwidth), FUNCTIONS, strict=True):
        expected = [smoothed(function, each, b, bandwidth) for each in v]
        assert found == pytest.approx(expected, abs=1e-11)


def test_outside_nothing_overflows_and_without_smoothing_nothing_is_smoothed():
    v = np.array([-3.0, 0.0, 0.5, 700.0])
    for tails in (_tails(v, 1e-3, 0.4), _tails(v, 0.5, 0.0)):
        assert all(np.isfinite(tail).all() for tail in tails)
    for found, function in zip(_tails(v, 0.5, 0.0), FUNCTIONS, strict=True):
        assert found == pytest.approx(function(v, 0.5), rel=1e-14)
