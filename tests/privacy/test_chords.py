"""Chords: finitely many losses that dominate a curve at every order, and hardly exceed it."""

import numpy as np
import pytest

from versadp import privacy
from versadp.privacy.curves.discrete import Discrete
from versadp.privacy.layers.chords import chords
from versadp.privacy.layers.mesh import convolve

CURVES = [(7.76, 100_000), (5.3, 10_000), (2.0, 50), (1.0, 3), (10.0, 10**6)]


@pytest.mark.parametrize(("local", "n"), CURVES)
def test_chords_dominate_at_every_order_and_closely(local, n):
    curve = privacy.shuffled(local, n)
    epsilons = np.linspace(-1.2 * local, 1.2 * local, 1501)
    exact, found = curve.delta(epsilons), chords(curve).delta(epsilons)
    assert np.all(found >= exact * (1 - 1e-12))
    known = exact > 1e-12
    assert np.all(found[known] <= 1.02 * exact[known])


def test_losses_that_lack_a_hundredth_do_not_dominate():
    curve = privacy.shuffled(5.0, 1000)
    whole = chords(curve)
    positive = np.array(whole.losses) > 0
    masses = np.where(positive, 0.99, 1.0) * np.array(whole.masses)
    less = Discrete(whole.losses, tuple(masses.tolist()), "")
    epsilons = np.linspace(0.1, 3, 50)
    assert np.any(less.delta(epsilons) < curve.delta(epsilons))


def test_with_a_gaussian_it_is_what_the_mesh_gives():
    curve, gauss = privacy.shuffled(7.7, 100_000), privacy.gaussian(0.06)
    quick = privacy.compose(chords(curve), gauss).delta(1.0)
    fine = convolve((curve, gauss), points=2**17).delta(1.0)  # both are bounds from above
    assert abs(quick / fine - 1) < 0.01
