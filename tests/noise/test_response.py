"""Randomised response: shares, inverse, words."""

import numpy as np
import pytest
from scipy.stats import chi2

from versadp.errors import ParameterError
from versadp.noise import ResponseBlock
from versadp.noise.words import fresh_key, keystream


def respond(block, true, rows=200_000):
    codes = np.full(rows, float(true))
    stream = keystream(fresh_key(), b"p")
    words = np.concatenate([stream.slab(b, np.zeros((1, 8000)), 2) for b in range(rows // 8000)], axis=1)
    block.add_noise(codes[None], np.ascontiguousarray(words))
    return codes.astype(int)


def statistic(codes, levels, keep, true):
    expected = np.full(levels, (1 - keep) / levels)
    expected[true] += keep
    counts = np.bincount(codes, minlength=levels)
    return ((counts - codes.size * expected) ** 2 / (codes.size * expected)).sum()


@pytest.mark.parametrize(("levels", "keep"), [(2, 0.5), (7, 0.2), (300, 0.05), (3, 0.0)])
def test_shares(levels, keep):
    codes = respond(ResponseBlock(("c",), levels, keep), true=1)
    limit = chi2.ppf(1 - 1e-6, levels - 1)
    assert statistic(codes, levels, keep, 1) < limit
    assert statistic(codes, levels, keep + 0.03, 1) > limit


@pytest.mark.parametrize(("levels", "keep"), [(2, 0.5), (7, 0.2)])
def test_inverse_is_exact(levels, keep):
    """Sum over outputs of P(output | true) times weights is the indicator of the true level: pure algebra."""
    block = ResponseBlock(("c",), levels, keep)
    forward = keep * np.eye(levels) + (1 - keep) / levels
    inverse = block.invert(np.arange(levels))
    assert forward @ inverse.T == pytest.approx(np.eye(levels))


def test_draw_uses_the_whole_word():
    codes = np.zeros(4)
    words = np.array([[2**64 - 1] * 4, [0, 2**64 - 1, 2**63, 2**63 - 1]], np.uint64)
    ResponseBlock(("c",), 10, 0.5).add_noise(codes[None], words)
    assert codes.tolist() == [0, 9, 5, 4]


def test_always_redrawn_cannot_be_inverted():
    with pytest.raises(ParameterError, match="keep"):
        ResponseBlock(("c",), 2, 0.0).invert(np.array([0]))


@pytest.mark.parametrize(("levels", "keep"), [(1, 0.5), (True, 0.5), (2.0, 0.5), (2, 1.0), (2, -0.1), (2, np.nan)])
def test_bad_input(levels, keep):
    with pytest.raises(ParameterError):
        ResponseBlock(("c",), levels, keep)
