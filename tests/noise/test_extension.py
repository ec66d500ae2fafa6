"""Extensions: 1 on the box, and derivatives that agree with differences."""

import numpy as np
import pytest

from versadp.errors import ParameterError
from versadp.noise import Box, Clip, Damped, Extension, Zero, as_extension

BOX = Box(np.array([0.0, -1.0, 10.0]), np.array([1.0, 1.0, 30.0]), np.array([0.5, 1.0, 8.0]))
ALL = [Extension(), Zero(), Clip(), Damped(), Damped(0.7)]


@pytest.mark.parametrize("extension", ALL, ids=repr)
def test_nothing_changes_on_the_closed_box(extension):
    x = np.random.default_rng(0).uniform(BOX.lower, BOX.upper, (200, 3))
    x[0], x[1] = BOX.lower, BOX.upper
    assert (extension.phi(x, BOX) == 1).all()
    assert (extension.points(x, BOX) == x).all()


@pytest.mark.parametrize("extension", [Extension(), Damped(), Damped(1.3)], ids=repr)
def test_derivatives_agree_with_differences(extension):
    """Central differences in noise units; error h^2 times a third derivative, jumps at the faces kept away from."""
    rng = np.random.default_rng(1)
    x = BOX.lower + (BOX.upper - BOX.lower) * rng.uniform(-1, 2, (400, 3))
    near = np.minimum(np.abs(x - BOX.lower), np.abs(x - BOX.upper)) / BOX.sigma
    x = x[(near > 1e-3).all(axis=1)]
    phi, gradient, laplacian = extension.derivatives(x, BOX)
    assert phi == pytest.approx(extension.phi(x, BOX))
    h, total = 1e-4, 0.0
    for j in range(3):
        e = np.zeros(3)
        e[j] = h * BOX.sigma[j]
        up, down = extension.phi(x + e, BOX), extension.phi(x - e, BOX)
        assert (up - down) / (2 * h) == pytest.approx(gradient[:, j], abs=1e-6)
        total = total + (up - 2 * phi + down) / h**2
    rim = np.abs(np.sqrt(BOX.distance2(x)) - getattr(extension, "width", 0)) < 1e-2
    assert total[~rim] == pytest.approx(laplacian[~rim], abs=2e-5)


def test_gradient_of_damped_is_continuous_at_the_box_and_at_the_rim():
    width = 2.0
    line = np.array([[0.5, 0.0, 20.0]]) + np.linspace(0, 2, 20_001)[:, None] * np.array([1.0, 0, 0])
    gradient = Damped(width).derivatives(line, BOX)[1][:, 0]
    assert np.abs(np.diff(gradient)).max() < 1e-3


@pytest.mark.parametrize("extension", [Zero(), Clip()], ids=repr)
def test_extensions_without_derivatives_say_so(extension):
    with pytest.raises(ParameterError, match="damped"):
        extension.derivatives(np.zeros((1, 3)), BOX)


def test_names():
    assert isinstance(as_extension("zero"), Zero)
    for bad in ("mirror", None, 3):
        with pytest.raises(ParameterError):
            as_extension(bad)
    for width in (0, -1.0, np.inf, np.nan, "2"):
        with pytest.raises(ParameterError):
            Damped(width)
