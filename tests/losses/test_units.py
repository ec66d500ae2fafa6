"""A loss in other units is the same loss: values, derivatives, starts, smoothing, corrections, fits."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import ParameterError
from versadp.losses import Check, Huber, Squared
from versadp.losses.rescaling import InUnits
from versadp_tests.loss_registry import LOSSES, SERVED, Clipped, LogCosh, Steep, Tube, Wide, design, points

UNITS = [0.01, 0.6, 37.0]
RESIDUAL = [loss for loss in LOSSES if loss.residual]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("loss", RESIDUAL, ids=repr)
def test_rescaled_loss_is_proportional(loss, unit):
    """So the same coefficients are least, in any units: the law behind fitting in noise units."""
    u, y = points(loss)
    here = loss.value(u, y)
    some = here > 0.01
    ratio = loss.in_units(unit).value(u / unit, y / unit)[some] / here[some]
    assert ratio == pytest.approx(np.full(ratio.size, ratio[0]), rel=1e-11)


def test_rescaling_law_fails_for_a_fixed_corner():
    u, y = points(Huber())
    ratio = Huber().value(u / 37, y / 37) / Huber().value(u, y)
    assert np.ptp(ratio) > 0.1 * np.mean(ratio)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_wrapper_is_exact_for_any_loss(loss, unit):
    u, y = points(loss)
    other = InUnits(loss, unit)
    assert other.value(u / unit, y / unit) == pytest.approx(loss.value(u, y) / unit**2, rel=1e-9, abs=1e-12 / unit**2)
    found = other.derivatives(u / unit, y / unit, 4, 0.3 / unit)
    for k, each in enumerate(loss.derivatives(u, y, 4, 0.3), start=1):
        assert found[k - 1] == pytest.approx(unit ** (k - 2) * each, rel=1e-7, abs=1e-7 * unit ** (k - 2))
    assert (other.name, other.smooth, other.kinked) == (loss.name, loss.smooth, loss.kinked)
    assert (other.residual, other.classes) == (loss.residual, loss.classes)
    assert other.mean(u / unit) == pytest.approx(loss.mean(u) / unit)
    assert other.link == ("identity" if loss.link == "identity" else None)
    assert len(other.derivatives(u, y, 2)) == 2


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("loss", RESIDUAL, ids=repr)
def test_starts_and_bandwidths_have_units_too(loss, unit):
    m, y = design(loss)
    other = loss.in_units(unit)
    assert unit * other.start(m, y / unit) == pytest.approx(loss.start(m, y), rel=1e-9, abs=1e-9)
    assert unit * np.array(other.bandwidths(m, y / unit, 1.3)) == pytest.approx(loss.bandwidths(m, y, 1.3), rel=1e-9)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("loss", SERVED, ids=repr)
def test_corrected_loss_is_rescaled(loss, unit):
    """All five derivatives of G(u, t)."""
    u, y = points(loss)
    t, width = 0.3, 0.4 if loss.kinked else 0.0
    found = InUnits(loss, unit).corrected(u / unit, y / unit, t / unit**2, 0.2, width / unit)
    here = loss.corrected(u, y, t, 0.2, width)
    for power, a, b in zip((-1, 0, 0, 1, 2), found, here, strict=True):
        assert a == pytest.approx(unit**power * b, rel=1e-9, abs=1e-9 * unit**power)
    few = InUnits(loss, unit).corrected(u / unit, y / unit, t / unit**2, 0.2, width / unit, bent=False)
    assert few[0] == pytest.approx(found[0])
    assert few[1] == pytest.approx(found[1])


@pytest.mark.parametrize("loss", [Squared(), Check(0.3)], ids=repr)
def test_loss_without_a_unit_is_unchanged(loss):
    assert loss.in_units(7.0) is loss


def test_subclasses_stay_themselves():
    class Nearly(Squared):
        pass

    for loss in (Wide(), Clipped(1.1), Steep(0.3), Nearly(), Huber(2.0)):
        other = loss.in_units(4.0)
        assert other.loss is loss
        assert other.in_units(0.25) is loss
        assert other.in_units(2.0) == loss.in_units(8.0)
        assert loss.in_units(1.0) is loss


@pytest.mark.parametrize("unit", [0, -1, np.nan, np.inf, "m"])
def test_bad_units(unit):
    with pytest.raises(ParameterError, match="unit"):
        Huber().in_units(unit)


# fits ----------------------------------------------------------------------------------------------------------------

KEY = bytes(range(7, 39))


def released(unit, rate=0.3, rows=6000):
    """A skewed private response, in hundreds, times a unit: the same noise in each unit."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, rows)
    y = np.clip(100 + 20 * x + rng.exponential(40, x.size), 0, 400)
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Bounded(0, 400)})
    frame = vdp.Mechanism(schema, scale=0.1, exact_rate=rate).release(pd.DataFrame({"x": x, "y": y}), key=KEY).frame
    other = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Bounded(0, 400 * unit)})
    mechanism = vdp.Mechanism(other, scale=0.1, exact_rate=rate)
    return vdp.Release.from_frame(frame.assign(y=frame["y"] * unit), mechanism)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("method", ["efficient", "drcl"])
@pytest.mark.parametrize("kind", [LogCosh, partial(Huber, scale=1.0), Tube], ids=["LogCosh", "Huber", "Tube"])
def test_fitting_in_other_units_and_multiplying_back_gives_the_same(kind, method):
    """The loss's parameter is in units of the response, and goes with it."""
    unit = 64.0
    one = vdp.fit(released(1.0), "y ~ x", loss=kind(15.0), method=method)
    other = vdp.fit(released(unit), "y ~ x", loss=kind(15.0 * unit), method=method)
    assert np.asarray(other.params) / unit == pytest.approx(np.asarray(one.params), rel=1e-6)
    assert np.asarray(other.bse) / unit == pytest.approx(np.asarray(one.bse), rel=1e-5)
    wrong = vdp.fit(released(unit), "y ~ x", loss=kind(4 * 15.0 * unit), method=method)
    assert abs(wrong.params[0] / unit - one.params[0]) > one.bse[0], "a parameter that did not go with it"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Huber, Wide])
def test_a_corner_in_scales_has_no_unit(kind):
    unit = 64.0
    one, other = (vdp.fit(released(each, rows=3000), "y ~ x", loss=kind(1.0)) for each in (1.0, unit))
    assert np.asarray(other.params) / unit == pytest.approx(np.asarray(one.params), rel=1e-6)
    assert np.asarray(other.bse) / unit == pytest.approx(np.asarray(one.bse), rel=1e-5)
    fixed = vdp.fit(released(unit, rows=3000), "y ~ x", loss=Huber(1.0, scale=40.0))
    assert abs(fixed.params[0] / unit - one.params[0]) > one.bse[0], "a scale that is given stays as it is"
