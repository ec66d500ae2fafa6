"""Extensions: 1 on the box, and derivatives that agree with differences."""

import numpy as np
import pytest

from versadp.correction.point_kernel import factor_at
from versadp.errors import ParameterError
from versadp.noise import Box, Clip, Damped, Extension, Fade, Zero, as_extension

BOX = Box(np.array([0.0, -1.0, 10.0]), np.array([1.0, 1.0, 30.0]), np.array([0.5, 1.0, 8.0]))
ALL = [Extension(), Zero(), Clip(), Damped(), Damped(0.7), Fade(0.3), Fade(1.0, 0.1)]


@pytest.mark.parametrize("extension", ALL, ids=repr)
def test_nothing_changes_on_the_closed_box(extension):
    x = np.random.default_rng(0).uniform(BOX.lower, BOX.upper, (200, 3))
    x[0], x[1] = BOX.lower, BOX.upper
    assert (extension.phi(x, BOX) == 1).all()
    assert (extension.points(x, BOX) == x).all()


FADES = [Damped(), Damped(0.7), Fade(0.5, 0.1), Fade(1.5, 0.3)]


@pytest.mark.parametrize("extension", [Extension(), *FADES], ids=repr)
def test_derivatives_of_compiled_loops_agree_with_differences(extension):
    """Central differences in q of the factor; error h^2 times a third derivative, away from the rim."""
    kind, length, rounding = extension.code
    h, rim = 1e-4, getattr(extension, "width", 0) ** 2
    for q in np.linspace(0.25, 9, 200):  # higher derivatives of fades grow without bound at the box
        if abs(q - rim) < 1e-2:
            continue
        down, here, up = extension.value(np.array([q - h, q, q + h]))
        value, first, second = factor_at(q, np.sqrt(q + rounding**2), kind, length, rounding)
        assert value == pytest.approx(here)
        assert first == pytest.approx((up - down) / (2 * h), abs=1e-5)
        assert second == pytest.approx((up - 2 * here + down) / h**2, abs=1e-4)


def test_a_factor_of_ones_own_has_no_code_of_another():
    class Mine(Damped):
        def value(self, q):
            return np.exp(-q)

    class Half(Zero):
        def value(self, q):
            return np.exp(-q)

    class Moved(Extension):
        def points(self, x, box):
            return np.minimum(x, box.upper)

    assert Damped().code is not None
    assert Mine().code is None
    assert Moved().code is None
    assert not Moved().radial
    assert Zero().inside
    assert not Half().inside


@pytest.mark.parametrize("extension", [Zero(), Clip(), Fade(0.5)], ids=repr)
def test_extensions_without_derivatives_say_so(extension):
    assert extension.code is None


def test_names():
    assert isinstance(as_extension("zero"), Zero)
    for bad in ("mirror", None, 3):
        with pytest.raises(ParameterError):
            as_extension(bad)
    for width in (0, -1.0, np.inf, np.nan, "2"):
        with pytest.raises(ParameterError):
            Damped(width)
