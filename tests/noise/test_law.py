"""How likely a block's outputs are: against enumeration, against quadrature, and against what is released."""

import itertools

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import k0

from versadp.errors import ParameterError
from versadp.noise import Response, Window, ZeroInflated
from versadp.noise.block import Block
from versadp.schema import Bounded, Categorical

AGE, REGION = Bounded(0, 6, step=1), Categorical(["n", "e", "s"])


def outputs(block):
    """Return every output of a window as it is released, (columns, outputs)."""
    content = np.array(list(itertools.product(*map(range, block.outputs))), dtype=float).T.copy()
    block.to_values(content)
    return content


def enumerated(block, x):
    """Return P(output | x) of a window by its two steps: a place in every window, or any output."""
    chance = {}
    kept = list(itertools.product(*(range(int(v), int(v) + w) for v, w in zip(x, block.window, strict=True))))
    drawn = list(itertools.product(*map(range, block.outputs)))
    for places, mass in ((kept, block.keep), (drawn, 1 - block.keep)):
        for place in places:
            chance[place] = chance.get(place, 0.0) + mass / len(places)
    return np.array([chance[place] for place in drawn])


@pytest.mark.parametrize(
    "columns",
    [{"age": AGE}, {"region": REGION}, {"age": AGE, "region": REGION}, {"age": AGE, "old": Bounded(0, 3, step=1)}],
)
def test_law_of_a_window_is_what_it_does(columns):
    block = Window(epsilon=2.0, window=3 if "old" in columns else None).on(columns)
    ends = [block.cells(name, column, 64) for name, column in columns.items()]
    points = list(itertools.product(*(range(each.shape[1]) for each in ends)))
    low, high = (np.array([[ends[j][k, p[j]] for p in points] for j in range(len(ends))]) for k in (0, 1))
    law = block.law(tuple(columns), outputs(block), low, high)
    assert law.shape == (np.prod(block.outputs), len(points))
    for column, x in zip(law.T, points, strict=True):
        np.testing.assert_allclose(column, enumerated(block, x), rtol=1e-12)
    assert np.isclose(law.max() / law.min(), np.exp(2.0), rtol=1e-9)  # and it is the guarantee


def test_law_of_a_wide_cell_is_the_mean_of_its_points():
    block = Window(epsilon=2.0, window=4).on({"age": AGE})
    every = block.law(("age",), outputs(block), *block.cells("age", AGE, 64)[:, None])
    wide = block.cells("age", AGE, 3)
    count = np.rint(wide[1] - wide[0]).astype(int)
    assert count.sum() == 7
    coarse = block.law(("age",), outputs(block), *wide[:, None])
    starts = np.cumsum(count) - count
    np.testing.assert_allclose(coarse, np.add.reduceat(every, starts, axis=1) / count, rtol=1e-12)


def test_law_of_part_of_a_window_is_the_marginal():
    block = Window(epsilon=2.0).on({"age": AGE, "region": REGION})
    seen = outputs(block)
    ends = block.cells("age", AGE, 64)
    alone = block.law(("age",), np.unique(seen[0])[None], *ends[:, None])
    low, high = (np.stack([ends[k], np.full(7, -0.5 + k)]) for k in (0, 1))  # whatever the region
    both = block.law(("age", "region"), seen, low, high)
    np.testing.assert_allclose(alone, both.reshape(*map(len, (alone, range(3))), -1).sum(axis=1), rtol=1e-12)


def test_law_of_randomised_response():
    block = Response(keep=0.4).on({"region": REGION})
    law = block.law(("region",), np.arange(3.0)[None], *block.cells("region", REGION, 64)[:, None])
    np.testing.assert_allclose(law, 0.4 * np.eye(3) + 0.2)


def test_law_of_laplace_noise_adds_up_and_is_its_density():
    column = Bounded(-1, 1)
    block = ZeroInflated(scale=0.5, exact_rate=0.1).on({"x": column})
    ends = block.cells("x", column, 20)
    reach = int(9 / block.step[0])
    law = block.law(("x",), np.arange(-reach, reach + 1.0)[None] * block.step, *ends[:, None, [0, 9]])
    # beyond 8 noise scales is less than 2e-5 of the mass; a cell a tenth of a scale wide is off by its square / 12
    np.testing.assert_allclose(law.sum(axis=0), 1.0, atol=1e-3)
    b = 1 / np.sqrt(2)
    for z in (-1.5, 0.0, 0.31, 2.0):
        got = block.law(("x",), np.array([[z]]), *ends[:, None])[0] / block.step[0]
        for s in (0, 9, 13):
            low, high = ends[:, s]
            mean = quad(lambda x, z=z: np.exp(-abs(z - x) / b) / (2 * b), low, high, points=[z])[0] / (high - low)
            assert np.isclose(got[s], 0.9 * mean + 0.1 * (low <= z < high) / (high - low), rtol=0.005)


def test_law_of_two_columns_near_the_pole():
    columns = {"x": Bounded(-1, 1), "y": Bounded(-2, 2)}
    block = ZeroInflated(scale=0.5, exact_rate=0.0).on(columns)
    h = 0.1  # cells a tenth of a scale wide, around 0
    half = np.array([[h / 2], [h]])
    for z in ((0.0, 0.0), (0.03, 0.0), (0.1, 0.1), (0.5, 1.0)):
        seen = np.array(z)[:, None]
        got = block.law(("x", "y"), seen, -half, half)[0, 0] / np.prod(block.step)

        def density(v, u, z=z):  # K_0(sqrt(2) r)/pi of the noise, per unit of x and y
            return k0(np.sqrt(2) * np.hypot(z[0] - u, (z[1] - v) / 2) + 1e-12) / np.pi / 2

        mean = dblquad(density, -h / 2, h / 2, -h, h, epsabs=1e-6)[0] / (2 * h * h)
        near = max(np.abs(z)) < 0.05  # inside its own cell the radius is what it is on average
        assert abs(got / mean - 1) < (0.12 if near else 0.02), (z, got, mean)


def test_values_that_are_known_to_be_few_are_points():
    block = ZeroInflated(scale=0.5, exact_rate=0.1).on({"x": Bounded(0, 1)})
    low, high = block.cells("x", Bounded(0, 1, step=1), 64)
    np.testing.assert_allclose((low + high) / 2, [0, 1])
    law = block.law(("x",), np.array([[0.0, 0.5]]), low[None], high[None])
    assert law[0, 0] > 0.1 > 1e3 * law[0, 1]  # unchanged
    assert np.isclose(law[1, 0], law[1, 1])


def test_law_fits_what_is_released():
    import pyarrow as pa

    import versadp as vdp

    column = Bounded(0, 4, step=1)
    mech = vdp.Mechanism(vdp.Schema({"x": column}), noise={"x": Window(epsilon=1.0)})
    n, block = 40_000, mech.blocks[0]
    with pytest.warns(vdp.errors.InsecureWarning):
        seen = mech.release(pa.table({"x": np.full(n, 3.0)}), insecure_seed=1).to_arrow()["x"].to_numpy()
    law = block.law(("x",), outputs(block), *block.cells("x", column, 64)[:, None])[:, 3]
    shares = np.array([(seen == z).mean() for z in outputs(block)[0]])
    assert (np.abs(shares - law) < 5 * np.sqrt(law / n)).all()
    assert not (np.abs(shares - np.roll(law, 1)) < 5 * np.sqrt(law / n)).all()  # a neighbour's law does not


def test_a_block_that_says_nothing_is_refused():
    block = Response(keep=0.4).on({"region": REGION})
    assert Block.cells(block, "region", REGION, 3) is None
    with pytest.raises(ParameterError, match="how likely"):
        Block.law(block, ("region",), np.zeros((1, 1)), np.zeros((1, 1)), np.ones((1, 1)))
