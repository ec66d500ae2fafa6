"""The smoothed exponentials behind the corrected check and hinge losses, against adaptive quadrature."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from versadp.losses.corrected_tables import tails
from versadp.losses.smoothing import smoothing_kernel

FUNCTIONS = (
    lambda x, b: np.sign(x) * np.exp(-abs(x) / b),
    lambda x, b: np.exp(-abs(x) / b),
    lambda x, b: (1 + abs(x) / b) * np.exp(-abs(x) / b),
)


def smoothed(function, v, b, bandwidth):
    """Integrate over the kernel, on both sides of the kink."""
    kink = -v / bandwidth
    ends = sorted({float(np.clip(end, -1, 1)) for end in (-1, kink - 40 * b / bandwidth, kink, kink + 40 * b, 1)})

    def integrand(z):
        return function(v + bandwidth * z, b) * smoothing_kernel(np.array([z]))[0][0]

    return sum(quad(integrand, low, high, epsabs=1e-12, epsrel=1e-12, limit=200)[0] for low, high in pairwise(ends))


@pytest.mark.parametrize("b", [0.01, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("bandwidth", [0.5, 1.5])
def test_inside_and_outside_the_reach_of_the_kernel(b, bandwidth):
    v = np.array([-6.0, -1.5, -0.7, -0.2, 0.0, 0.4, 0.5, 1.6, 9.0])
    for found, function in zip(tails(v, b, bandwidth), FUNCTIONS, strict=True):
        expected = [smoothed(function, each, b, bandwidth) for each in v]
        assert found == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("b", [1e-2, 1e-4, 1e-8, 1e-200])
def test_an_exponential_that_is_much_narrower_than_the_kernel(b):
    """It is 2b times the density, up to b² times its curvature, which is 23 at most (twice that with the factor)."""
    v, h = np.linspace(-0.9, 0.9, 7), 1.0
    _, even, slow = tails(v, b, h)
    assert even / (2 * b) == pytest.approx(smoothing_kernel(v)[0], abs=23 * b * b + 1e-13)
    assert slow / (4 * b) == pytest.approx(smoothing_kernel(v)[0], abs=46 * b * b + 1e-13)


def test_without_smoothing_nothing_is_smoothed():
    v = np.array([-3.0, 0.0, 0.5, 700.0])
    for found, function in zip(tails(v, 0.5, 0.0), FUNCTIONS, strict=True):
        assert found == pytest.approx(function(v, 0.5), rel=1e-14)
