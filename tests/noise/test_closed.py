"""Inverses in closed form: exact on small lattices, by enumeration of every output; a wrong coin is rejected."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

from versadp.errors import ParameterError
from versadp.noise import ResponseBlock, Window, ZeroInflatedBlock, ZeroInflatedSymmetricLaplace
from versadp.noise.cases import Coded, whole
from versadp.noise.closed import sinc, spread_ratio
from versadp.noise.lattice import Lattice
from versadp.noise.window_law import WORDS
from versadp.schema import Bounded, Categorical
from versadp_tests.strangers import LotteryBlock

COLUMNS = {"a": Bounded(-1, 3), "b": Bounded(0, 1), "c": Bounded(5, 8)}
JOINT = Window(epsilon=2.0, cells={"a": 4, "b": 1, "c": 3}, window={"a": 3, "b": 1, "c": 4}).on(COLUMNS)
SINGLE = Window(epsilon=1.0, cells=6, window=2).on({"d": Bounded(-1, 1)})
RATES = np.array([[0.3, -1.1, 0.4], [1.4, 0.1, -0.9], [0.0, 0.0, 0.0], [-0.2j, 0.5j, 0.3j], [1e-3, 1e-4, 0.5 + 0.1j]])


def spoilt(block, factor=1.02):
    """The same block, corrected for a coin that keeps a little more than it does."""
    return replace(block, coin=int(block.kept * factor))


def lattice(block):
    """Return every record of a block, (columns, records)."""
    places = [
        low + step * np.arange(m + 1) for (low, _), step, m in zip(block.bounds, block.step, block.last, strict=True)
    ]
    return np.array(list(itertools.product(*places))).T


def law(block, record):
    """Return every output of a record, (columns, outputs), and its probability: by the definition of a window."""
    places = [np.arange(n) for n in block.outputs]
    first = np.rint((record - np.array(block.bounds)[:, 0]) / block.step)
    outputs = np.array(list(itertools.product(*places)), dtype=float).T
    offset = outputs.T - first
    inside = ((offset >= 0) & (offset < np.array(block.window))).all(axis=1)
    keep = block.kept / WORDS
    chance = keep * inside / np.prod(block.window) + (1 - keep) / np.prod(block.outputs)
    block.to_values(outputs)
    return outputs, chance


def expected_products(block, decoder, record):
    outputs, chance = law(block, record)
    centre, weight, shift = whole(decoder).products()
    e = outputs - centre[:, None]
    return weight * e @ chance + centre, weight * (e * chance) @ e.T + shift, centre


@pytest.mark.parametrize("block", [JOINT, SINGLE, JOINT.part({"a", "c"})], ids=["joint", "single", "part"])
def test_products_are_undone_exactly(block):
    for record in lattice(block).T:
        first, second, centre = expected_products(block, block, record)
        assert first == pytest.approx(record, abs=1e-12)
        assert second == pytest.approx(np.outer(record - centre, record - centre), abs=1e-12)


def test_a_wrong_coin_is_rejected():
    for block in (JOINT, SINGLE):
        record = lattice(block)[:, -1]
        first, second, centre = expected_products(block, spoilt(block), record)
        assert np.abs(first - record).max() > 1e-3
        assert np.abs(second - np.outer(record - centre, record - centre)).max() > 1e-3


def expected_waves(block, decoder, record, t):
    outputs, chance = law(block, record)
    centre = whole(decoder).products().centre
    gain, level = whole(decoder).waves(t)
    return (gain.value[:, None] * np.exp(1j * t @ (outputs - centre[:, None])) + level.value[:, None]) @ chance, centre


@pytest.mark.parametrize("block", [JOINT, JOINT.part({"a", "b"}), SINGLE], ids=["joint", "part", "single"])
def test_waves_are_undone_exactly(block):
    t = RATES[:, : len(block.columns)]
    for record in lattice(block).T:
        found, centre = expected_waves(block, block, record, t)
        assert found == pytest.approx(np.exp(1j * t @ (record - centre)), abs=1e-12)
    found, centre = expected_waves(block, spoilt(block), record, t)
    assert np.abs(found - np.exp(1j * t @ (record - centre))).max() > 1e-3


@pytest.mark.parametrize(
    "block",
    [JOINT, SINGLE, ZeroInflatedBlock(("a", "b", "c"), (0.0,) * 3, (1.0,) * 3, (0.3, 0.5, 0.2), 0.1)],
    ids=["joint", "single", "laplace"],
)
def test_derivatives_of_waves(block):
    """Against differences: first ones of values, second ones of first ones."""
    size, h = len(block.columns), 1e-6
    t = RATES[:, :size]
    for k in range(2):
        here = whole(block).waves(t)[k]
        for j in range(size):
            up, down = (whole(block).waves(t + sign * h * np.eye(size)[j])[k] for sign in (1, -1))
            assert (up.value - down.value) / (2 * h) == pytest.approx(here.first[:, j], abs=1e-7)
            assert (up.first - down.first) / (2 * h) == pytest.approx(here.second[:, :, j], abs=1e-7)


def test_products_are_the_derivatives_of_waves_at_0():
    for block in (JOINT, SINGLE, ZeroInflatedBlock(("a", "b"), (0.0, 1.0), (1.0, 3.0), (0.3, 0.5), 0.1)):
        gain, level = whole(block).waves(np.zeros((1, len(block.columns)), complex))
        _, weight, shift = whole(block).products()
        assert gain.value + level.value == pytest.approx(1)
        assert gain.value == pytest.approx(weight)
        assert -(gain.second + level.second)[0] == pytest.approx(shift, abs=1e-12)
        assert np.abs(gain.first + level.first).max() < 1e-12


def test_laplace_noise_is_undone():
    """By simulation, 5 standard errors; an exact rate that is off by 0.1 is rejected."""
    n, sigma = 200_000, np.array([0.5, 0.8])
    x = np.array([0.2, 0.9])
    z = x + ZeroInflatedSymmetricLaplace(0.2, np.diag(sigma**2)).rvs(n, np.random.default_rng(0))
    t = np.array([[0.7, -1.2], [0.4j, 0.1j]])
    for rate, holds in ((0.2, True), (0.3, False)):
        block = ZeroInflatedBlock(("a", "b"), (0.0, 0.0), (1.0, 1.0), tuple(sigma), rate)
        centre, weight, shift = whole(block).products()
        e = z - centre
        square = weight * e[:, 0] ** 2 + shift[0, 0] - (x - centre)[0] ** 2
        gain, level = whole(block).waves(t)
        wave = (gain.value * np.exp(1j * e @ t.T) + level.value - np.exp(1j * t @ (x - centre))).real
        worst = max(abs(error.mean()) / (error.std() / np.sqrt(n)) for error in (square, *wave.T))
        assert (worst < 5) == holds


def test_exponentials_without_variance_are_refused():
    block = ZeroInflatedBlock(("a",), (0.0,), (1.0,), (1.0,), 0.2)
    with pytest.raises(ParameterError, match="no finite variance"):
        whole(block).waves(np.array([[1.0j]]))


def test_sinc_on_both_sides_of_its_series():
    """The power series below 1 and the formula above it meet; second derivatives by differences."""
    y = np.array([0.999999, 1.000001, 0.3 + 0.2j, 1e-9, 3.0 + 1.0j])
    value, first, second = sinc(y)
    assert value == pytest.approx(np.sin(y) / y, rel=1e-14)
    h = 1e-5
    assert (sinc(y + h)[0] - sinc(y - h)[0]) / (2 * h) == pytest.approx(first, abs=1e-9)
    assert (sinc(y + h)[1] - sinc(y - h)[1]) / (2 * h) == pytest.approx(second, abs=1e-9)
    assert spread_ratio(y, np.ones(1), np.ones(1))[0] == pytest.approx(1)


def test_what_keeps_nothing_has_no_inverse():
    assert whole(spoilt(SINGLE, 0)) is None


def test_a_part_keeps_the_coin_of_the_whole():
    whole = Window(epsilon=3.0).on({"x": Bounded(0, 1), "g": Categorical(["a", "b"])})
    part = whole.part({"x", "elsewhere"})
    assert part.columns == ("x",)
    assert part.keep == whole.keep
    assert part.window == whole.window[:1]
    assert whole.part({"x", "g"}) is whole


# categories as indicators --------------------------------------------------------------------------------------------

MIXED = Window(epsilon=2.5, cells=4, window=3).on(
    {"g": Categorical(["n", "e", "s"]), "x": Bounded(-1, 3), "h": Categorical([0, 1])}
)
INDICATORS = ((0, 0), (1, 0), (0, 1))  # of the second and the third level
CODED = Coded(MIXED, {"g": INDICATORS, "h": ((0,), (1,))})


def indicators(values):
    """Return x and the indicators of two levels of g and of one of h, from outputs or records (columns, n)."""
    g, x, h = values
    return np.array([x, g == 1, g == 2, h == 1], dtype=float)


def test_indicators_are_undone_exactly():
    """Products and waves of a number and two categories of one block, over all records and outputs."""
    assert CODED.columns == ("x", "g[0]", "g[1]", "h[0]")
    t = np.array([[0.3, 0.7, -0.4, 1.1], [0.0, 0.0, 0.0, 0.0], [-0.2j, 0.5j, 0.3j, -0.4j]])
    wrong = replace(CODED, block=spoilt(CODED.block))
    for decoder, holds in ((CODED, True), (wrong, False)):
        centre, weight, shift = whole(decoder).products()
        gain, level = whole(decoder).waves(t)
        errors = []
        for record in lattice(MIXED).T:
            outputs, chance = law(MIXED, record)
            e, truth = indicators(outputs) - centre[:, None], indicators(record) - centre
            errors.append(np.abs(weight * e @ chance - truth).max())
            errors.append(np.abs(weight * (e * chance) @ e.T + shift - np.outer(truth, truth)).max())
            waves = (gain.value[:, None] * np.exp(1j * t @ e) + level.value[:, None]) @ chance
            errors.append(np.abs(waves - np.exp(1j * t @ truth)).max())
        assert (max(errors) < 1e-12) == holds


def test_derivatives_of_indicators():
    t, h = np.array([[0.3, 0.7, -0.4, 1.1], [-0.2j, 0.5j, 0.3j, -0.4j]]), 1e-6
    for k in range(2):
        here = whole(CODED).waves(t)[k]
        for j, unit in enumerate(np.eye(4)):
            up, down = (whole(CODED).waves(t + sign * h * unit)[k] for sign in (1, -1))
            assert (up.value - down.value) / (2 * h) == pytest.approx(here.first[:, j], abs=1e-7)
            assert (up.first - down.first) / (2 * h) == pytest.approx(here.second[:, :, j], abs=1e-7)


def test_randomised_response_is_a_window_of_one():
    block = Coded(ResponseBlock(("g",), levels=3, keep=MIXED.keep), {"g": INDICATORS})
    same = Coded(MIXED.part({"g"}), {"g": INDICATORS})
    assert block.columns == same.columns
    assert whole(block).products().shift == pytest.approx(whole(same).products().shift)
    t = np.array([[0.3, -0.8]])
    assert whole(block).waves(t).level.value == pytest.approx(whole(same).waves(t).level.value)


@dataclass(frozen=True)
class Tickets(LotteryBlock):
    """A stranger that says where its column has its lattice, and no more."""

    def lattice(self, column):
        assert column == self.columns[0]
        return Lattice(self.lower, self.step, self.tickets - 1, 1, self.keep)


@pytest.mark.parametrize("off", [0.0, 0.02])
def test_a_block_of_ones_own_needs_a_lattice_for_all_closed_forms(off):
    block, t = Tickets(("v",), -1.0, 3.0, 5, 0.4), np.array([[0.3], [1.7]])
    values, found = np.linspace(-1, 3, 5), whole(replace(block, keep=0.4 + off))
    (centre,), weight, shift = found.products()
    gain, level = found.waves(t)
    for k, x in enumerate(values):
        chance = 0.6 / 5 + 0.4 * (np.arange(5) == k)
        square = chance @ (weight * (values - centre) ** 2) + shift[0, 0] - (x - centre) ** 2
        wave = (gain.value[:, None] * np.exp(1j * t * (values - centre)) + level.value[:, None]) @ chance
        wrong = np.abs(wave - np.exp(1j * t[:, 0] * (x - centre))).max()
        assert (max(abs(square), wrong) < 1e-12) == (not off)


def test_a_block_with_inverses_of_former_days_is_refused():
    with pytest.raises(ParameterError, match="waves, which blocks no longer have"):
        type("Old", (LotteryBlock,), {"waves": None})
