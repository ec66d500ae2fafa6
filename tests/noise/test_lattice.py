"""Functions of one column undone on its lattice: exactly, whatever they are, and with the least variance there is."""

import numpy as np
import pytest

import versadp as vdp
from versadp.noise import Response, Window
from versadp.noise.lattice import Lattice

KEEP = 0.6
LATTICES = [(30, 6, 0, 1), (30, 6, 0, 3), (31, 6, 6, 3), (29, 8, 8, 4), (5, 1, 0, 1), (3, 7, 0, 1), (2, 12, 12, 4)]


def expectation(lattice, psi, x):
    """Return the mean of psi over all outputs of a record; None is one that is missing."""
    m, w = lattice.last, lattice.window
    z = np.arange(m + w + lattice.unseen)
    seen = psi[np.where(z < m + w, z // lattice.merged, lattice.shown)]
    kept = seen[m + w :] if x is None else seen[x : x + w]
    return KEEP * kept.mean(axis=0) + (1 - KEEP) * seen.mean(axis=0)


def kernel(lattice):
    """Return the probability of each output (columns) given each lattice point (rows)."""
    m, w = lattice.last, lattice.window
    out = np.full((m + 1, m + w), (1 - lattice.keep) / (m + w))
    for x in range(m + 1):
        out[x, x : x + w] += lattice.keep / w
    return out


@pytest.mark.parametrize(("last", "window", "unseen", "merged"), LATTICES)
def test_any_function_is_undone_exactly(last, window, unseen, merged):
    lattice, rng = Lattice(1.0, 0.5, last, window, KEEP, unseen, merged), np.random.default_rng(0)
    v, law = rng.normal(size=(lattice.values.size, 2)), rng.random(lattice.drawn.size) + 0.1
    psi, knots = lattice.corrected(v, law), np.minimum(merged * np.arange(lattice.values.size), last)
    for x in range(last + 1):
        straight = [np.interp(x, knots, each) for each in v.T]
        np.testing.assert_allclose(expectation(lattice, psi, x), straight, atol=1e-12)
    if unseen:
        np.testing.assert_allclose(expectation(lattice, psi, None), 0.0, atol=1e-12)
    if window > 1:  # what is added by residue must add up to 0
        psi[: lattice.shown] += np.arange(lattice.shown)[:, None] % (window // merged) == 0
        assert abs(expectation(lattice, psi, 0) - v[0]).max() > 0.01


@pytest.mark.parametrize("step", [False, True])
def test_no_unbiased_function_varies_less(step):
    # the bound g'(A M^-1 A')^-1 g of an expectation, from the law alone
    lattice, rng = Lattice(0.0, 1.0, 24, 5, 0.7), np.random.default_rng(1)
    share = rng.dirichlet(np.full(25, 2.0))
    law, x = share @ kernel(lattice), lattice.values
    v = (x <= 11.0) * 1.0 if step else np.log1p(x)
    psi = lattice.corrected(v[:, None], law)[:, 0]
    found = law @ psi**2 - (law @ psi) ** 2
    centred = v - share @ v
    information = (kernel(lattice) / law) @ kernel(lattice).T
    assert found == pytest.approx(centred @ np.linalg.solve(information, centred), rel=1e-8)
    other = lattice.corrected(v[:, None], np.ones(lattice.shown))[:, 0]  # for another law: unbiased, and it varies more
    assert law @ other == pytest.approx(share @ v)
    assert law @ other**2 - (law @ other) ** 2 > found * (1 + 1e-6)


def test_the_even_law_is_that_of_even_values():
    lattice = Lattice(0.0, 1.0, 9, 4, 0.7)
    np.testing.assert_allclose(lattice.even, np.full(10, 0.1) @ kernel(lattice))


@pytest.mark.parametrize("nullable", [False, True, "public"])
def test_blocks_tell_the_outputs_that_they_released(nullable):
    block = Window(epsilon=1.0, cells=8, window=3).on({"x": vdp.Bounded(2.0, 4.0, nullable=nullable)})
    lattice = block.lattice("x")
    content = np.arange(11.0 + 3 * (nullable is True))[None]
    values = content.copy()
    block.to_values(values)
    np.testing.assert_array_equal(lattice.places(values[0]), np.minimum(content[0], 11))
    assert lattice.drawn.sum() == pytest.approx(1)
    assert lattice.places(np.array([np.nan]))[0] == (11 if nullable is True else -1)


def test_levels_are_a_lattice_without_windows():
    block = Response(keep=0.5).on({"c": vdp.Categorical(["a", "b", "c"])})
    v = np.array([[1.0], [5.0], [2.0]])
    psi = block.lattice("c").corrected(v, np.ones(3))
    np.testing.assert_allclose(psi, block.invert(np.arange(3)).T @ v)


def test_a_block_that_keeps_nothing_has_no_lattice_and_a_fine_one_is_not_small():
    assert not Window(epsilon=1.0, cells=2**20, window=4).on({"x": vdp.Bounded(0, 1)}).lattice("x").is_small
    assert Response(keep=0.0).on({"c": vdp.Categorical(["a", "b"])}).lattice("c") is None


def test_lattice_of_billions_of_points_is_told_from_a_small_one_without_its_values():
    import tracemalloc

    tracemalloc.start()
    fine = Lattice(0.0, 1e-9, 2**31 - 3, 2, keep=0.5)
    assert (fine.is_small, fine.points, fine.shown) == (False, 2**31 - 2, 2**31 - 1)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
    few = Lattice(0.0, 1.0, 10, 4, keep=0.5, merged=2)
    assert (few.is_small, few.points) == (True, few.values.size)
