"""The epsilon of a window is never below the logarithm of its exact ratio."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import versadp as vdp
from versadp.noise.window_law import kept_words, worst_ratio
from versadp.privacy import keep_or_redraw
from versadp.privacy.curves.discrete import log_up


def covers(epsilon, ratio):
    """Whether e^epsilon is at least the ratio, with sixty digits."""
    with localcontext() as context:
        context.prec = 60
        return Decimal(epsilon).exp() * ratio.denominator >= Decimal(ratio.numerator)


def test_epsilon_of_a_window_is_rounded_up():
    rng = np.random.default_rng(0)
    for asked in np.logspace(-4, 1, 500):
        window, outputs = (int(rng.integers(1, 50)),), (int(rng.integers(60, 5000)),)
        kept = kept_words(window, outputs, float(asked))
        ratio = worst_ratio(window, outputs, kept)
        claimed = keep_or_redraw(kept / 2**64, window[0] / outputs[0], ratio).pure_epsilon
        assert covers(claimed, ratio)
        assert not covers(claimed * (1 - 1e-14), ratio)


@pytest.mark.parametrize("excess", [Fraction(1, 3**40), Fraction(1, 10**6 + 3), Fraction(999, 1000), Fraction(7, 3)])
def test_logarithm_of_a_ratio_is_rounded_up(excess):
    assert covers(log_up(1 + excess), 1 + excess)


def test_smallest_epsilon_is_met():
    mechanism = vdp.calibrate(vdp.Schema({"age": vdp.Bounded(18, 90)}), epsilon=1e-4)
    assert mechanism.privacy("record").pure_epsilon <= 1e-4
    assert mechanism.privacy("record").delta(1e-4) == 0
    assert covers(mechanism.blocks[0].blanket().epsilon, mechanism.blocks[0].ratio)
