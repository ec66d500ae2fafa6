"""Powers and waves of an index in closed form: scores are the true ones, exactly, whatever the blocks."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.correction import LinearModel, Records, as_terms
from versadp.losses import Mean, Poisson, Squared
from versadp.losses.expansion import Expansion
from versadp.noise import Window
from versadp.noise.units import Units
from versadp.noise.window_law import WORDS
from versadp.schema import Bounded

THETA = np.array([0.4, -0.7, 1.3])
SQUARED = Squared().expansion()
EXPANSIONS = {
    "squared": SQUARED,
    "poisson": Poisson().expansion(),
    "series": Expansion(0.5, 0.1, 0.8, (0.3 + 0.1j, -0.2, 0.05j)),
    "residual": Expansion(0.5, 0.1, 0.8, (0.3 + 0.1j, -0.2, 0.05j), cross=-0.1, along=-1.0),
    "margin": Expansion(0.0, 0.1, 0.7, (0.3, -0.2), cross=0.9, odd=(0.7, -0.6, 0.8)),
}


def window(names, *, last=3, wide=2, epsilon=1.5):
    return Window(epsilon, cells=last, window=wide).on({name: Bounded(-1.0 - j, 1.0) for j, name in enumerate(names)})


BLOCKS = {
    "joint": (window("abc"),),
    "two blocks": (window("ab"), window("c", last=4, wide=3)),
    "separate": (window("a", wide=1), window("b"), window("c", last=2, wide=4, epsilon=3.0)),
}


def every_output(blocks, record):
    """Return all outputs of a record and their probabilities; blocks have coins of their own."""
    each, at = [], 0
    for block in blocks:
        own = record[at : at + len(block.columns)]
        first = np.rint((own - np.array(block.bounds)[:, 0]) / block.step)
        keep, several = block.kept / WORDS, []
        for z in itertools.product(*map(range, block.outputs)):
            inside = all(f <= k < f + w for f, k, w in zip(first, z, block.window, strict=True))
            chance = keep * inside / np.prod(block.window) + (1 - keep) / np.prod(block.outputs)
            values = np.array(z, dtype=float)[:, None]
            block.to_values(values)
            several.append((values[:, 0], chance))
        each.append(several)
        at += len(block.columns)
    together = list(itertools.product(*each))
    outputs = np.array([np.concatenate([values for values, _ in some]) for some in together]).T
    return outputs, np.array([np.prod([chance for _, chance in some]) for some in together])


def derivatives(expansion, u, y):
    """Return the first two derivatives of an expanded loss, from its formula."""
    first, second = expansion.linear + expansion.quadratic * u + expansion.cross * y, expansion.quadratic
    for weights, at in ((expansion.weights, u + expansion.along * y), (expansion.odd, u)):
        rate = 1j * expansion.base * np.arange(1, 1 + len(weights))
        waves = np.array(weights) * np.exp(rate * at) * (np.exp(0.5j * np.pi * y) if weights is expansion.odd else 1)
        first, second = first + (rate * waves).sum().real, second + (rate**2 * waves).sum().real
    return first, second


def spoilt(block):
    return replace(block, coin=int(block.kept * 1.02))


def scores(blocks, decoders, record, response, expansion=SQUARED):
    """Return expected score and Hessian over all outputs, and the true ones; public are a column of 1.7 and 0.9."""
    bounds = {name: bound for block in blocks for name, bound in zip(block.columns, block.bounds, strict=True)}
    units = Units.plain(bounds, np.array([0.0, 0.3, -0.2]))
    columns = np.array([-1, 0, 1]) if response else np.array([-1, 0, 2])
    model = LinearModel(Squared(), columns, 2 if response else -1)
    outputs, chance = every_output(blocks, record)

    def at(released, weight):
        z, n = units.from_columns(list(released)), len(weight)
        return Records(z, {}, np.full((n, 1), 1.7), np.full(n, 0.9), 0.6 * weight, released)

    form = as_terms(model, units, decoders, expansion)
    seen = form.prepare(at(outputs, chance), np.random.default_rng(0))
    found, bend = form.evaluate(seen, THETA, np.ones((1, 1)), hessian=True)
    one = at(record[:, None], np.ones(1))
    m, y = model.rows(one.z, None, one)
    first, second = derivatives(expansion, m @ THETA, y)
    return found.sum(axis=(0, 1)), 0.6 * first * m[0], bend, 0.6 * second * m.T @ m


@pytest.mark.parametrize("response", [False, True], ids=["public response", "private response"])
@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("loss", EXPANSIONS)
def test_expected_scores_are_the_true_ones(loss, kind, response):
    """All outputs of three records, exact up to rounding; a coin that keeps 2% more is rejected."""
    blocks = BLOCKS[kind]
    low = np.concatenate([np.array(block.bounds)[:, 0] for block in blocks])
    step, last = (np.concatenate([getattr(block, each) for block in blocks]) for each in ("step", "last"))
    for place in ([0, 0, 0], last, [1, 2, 1]):
        record = low + step * place
        found, truth, bend, square = scores(blocks, blocks, record, response, EXPANSIONS[loss])
        assert found == pytest.approx(truth, abs=1e-10)
        assert bend == pytest.approx(square, abs=1e-10)
        wrong, truth, bend, square = scores(blocks, tuple(map(spoilt, blocks)), record, response, EXPANSIONS[loss])
        assert np.abs(wrong - truth).max() > 1e-3
        assert np.abs(bend - square).max() > 1e-3


@pytest.mark.parametrize("response", [False, True], ids=["public response", "private response"])
@pytest.mark.parametrize("kind", BLOCKS)
def test_the_score_of_a_scale_is_undone_too(kind, response):
    """A tilt takes off its corrected value, exactly so in expectation; a coin that keeps 2% more is rejected."""
    blocks, tilt = BLOCKS[kind], np.array([0.7, -0.4, 0.9])
    expansion = replace(EXPANSIONS["residual"], aside=(0.3, 0.8 + 0.5j, -0.6))
    low = np.concatenate([np.array(block.bounds)[:, 0] for block in blocks])
    record = low + np.concatenate([block.step for block in blocks])
    outputs, chance = every_output(blocks, record)
    bounds = {name: bound for block in blocks for name, bound in zip(block.columns, block.bounds, strict=True)}
    units = Units.plain(bounds, np.array([0.0, 0.3, -0.2]))
    columns = np.array([-1, 0, 1]) if response else np.array([-1, 0, 2])
    model = LinearModel(Squared(), columns, 2 if response else -1, tilt=tilt)

    def at(released, weight):
        n = len(weight)
        return Records(units.from_columns(list(released)), {}, np.full((n, 1), 1.7), np.full(n, 0.9), weight, released)

    one = at(record[:, None], np.ones(1))
    m, y = model.rows(one.z, None, one)
    u = float(m[0] @ THETA - y[0])
    rate = 1j * expansion.base * np.arange(1, 3)
    waves = np.array(expansion.aside[1:]) * np.exp(rate * u)
    value, slope = 0.3 + waves.sum().real, (rate * waves).sum().real
    first, second = derivatives(expansion, m @ THETA, y)
    for decoders, right in ((blocks, True), (tuple(map(spoilt, blocks)), False)):
        form = as_terms(model, units, decoders, expansion)
        seen = form.prepare(at(outputs, chance), np.random.default_rng(0))
        found, bend = form.evaluate(seen, THETA, np.ones((1, 1)), hessian=True)
        wrong = np.abs(found.sum(axis=(0, 1)) - (first * m[0] - value * tilt)).max()
        bent = np.abs(bend - (second * m.T @ m - slope * np.outer(tilt, m[0]))).max()
        assert (wrong < 1e-10 and bent < 1e-10) if right else (wrong > 1e-3 and bent > 1e-3)


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("loss", EXPANSIONS)
def test_hessians_are_derivatives_of_scores(loss, kind):
    """For a lot that does not fill the lanes of the compiled loop, with weights and two public columns."""
    blocks, n, rng = BLOCKS[kind], 101, np.random.default_rng(1)
    units = Units.plain(
        {name: bound for block in blocks for name, bound in zip(block.columns, block.bounds, strict=True)}
    )
    units = replace(units, centre=np.array([0.0, 0.3, -0.2]))
    model = LinearModel(Squared(), np.array([-1, 2, 0, -1, 1]), -1)
    released = rng.uniform(-1, 1, (3, n))
    public, y, weight = rng.normal(size=(n, 2)), rng.normal(size=n), rng.uniform(0, 2, n)
    weight[:3] = 0.0
    form = as_terms(model, units, blocks, EXPANSIONS[loss])
    seen = form.prepare(Records(released.T, {}, public, y, weight, released), rng)
    theta, one, h = np.array([0.3, -0.5, 0.8, 0.2, 0.6]), np.ones((1, 1)), 1e-6
    found, bend = form.evaluate(seen, theta, one, hessian=True)
    assert (found[:3] == 0).all()
    again, _ = form.evaluate(seen, theta, one, hessian=False)
    assert again == pytest.approx(found)
    for j, unit in enumerate(np.eye(5)):
        up, down = (form.evaluate(seen, theta + s * h * unit, one, hessian=False)[0].sum(axis=(0, 1)) for s in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(bend[j], abs=1e-6 * np.abs(bend).max())


# fits ----------------------------------------------------------------------------------------------------------------


def released(noise, n=50_000, seed=0):
    rng = np.random.default_rng(seed)
    x = np.clip(rng.normal(0, 0.4, (n, 6)) + rng.normal(0, 0.3, (n, 1)), -1, 1)
    y = 0.5 + x @ [1.0, -1.0, 0.5, 0.0, 0.7, -0.3] + rng.normal(0, 0.4, n)
    people = pd.DataFrame(x, columns=[f"x{j}" for j in range(6)]).assign(
        y=np.clip(y, -4, 5), g=rng.choice(["a", "b"], n)
    )
    columns = {f"x{j}": Bounded(-1, 1) for j in range(6)}
    schema = vdp.Schema({**columns, "y": Bounded(-4, 5), "g": vdp.Categorical(["a", "b"])})
    return people, vdp.Mechanism(schema, noise=noise).release(people, key=bytes(range(32)))


RIGHT = " + ".join(f"x{j}" for j in range(6))
NUMBERS = tuple(f"x{j}" for j in range(6))
NOISE = {
    "columns": {name: Window(epsilon=4.0) for name in (*NUMBERS, "y", "g")},
    "a record": {(*NUMBERS, "y", "g"): Window(epsilon=12.0)},
    "laplace beside": {NUMBERS: Window(epsilon=12.0), "y": vdp.noise.ZeroInflated(0.1, 0.1), "g": Window(epsilon=2.0)},
}


@pytest.mark.parametrize("kind", NOISE)
def test_a_private_response_on_six_columns(kind):
    """Against the fit to the raw records: 5 standard errors for each of seven coefficients."""
    people, release = released(NOISE[kind])
    found = vdp.fit(release, f"y ~ {RIGHT}")
    raw = np.linalg.lstsq(np.column_stack([np.ones(len(people)), people[list(NUMBERS)]]), people["y"], rcond=None)[0]
    assert found.converged
    assert (np.abs(np.asarray(found.params) - raw) < 5 * np.asarray(found.bse)).all()
    assert np.asarray(found.bse).max() < 0.1
    naive = vdp.fit(release, f"y ~ {RIGHT}", method="naive")
    assert (np.abs(np.asarray(naive.params) - raw) > 5 * np.asarray(naive.bse)).any()


def test_means_and_models_without_an_intercept():
    people, release = released(NOISE["a record"])
    mean = vdp.fit(release, loss=Mean("x0"))
    assert abs(np.asarray(mean.params)[0] - people["x0"].mean()) < 5 * np.asarray(mean.bse)[0]
    bare = vdp.fit(release, "y ~ x0 + x1 - 1")
    raw = np.linalg.lstsq(people[["x0", "x1"]].to_numpy(), people["y"], rcond=None)[0]
    assert (np.abs(np.asarray(bare.params) - raw) < 5 * np.asarray(bare.bse)).all()


def test_weights_count():
    _, release = released(NOISE["a record"])
    twice = vdp.fit(release, "y ~ x0", weights=np.full(len(release), 2.0))
    once = vdp.fit(release, "y ~ x0")
    assert np.asarray(twice.params) == pytest.approx(np.asarray(once.params))
    assert np.asarray(twice.bse) == pytest.approx(np.asarray(once.bse))


def test_a_loss_that_is_squared_no_more_goes_by_points():
    class Fourth(Squared):
        def value(self, u, y):
            return (u - y) ** 4

    assert Fourth().expansion() is None
    assert Squared().expansion() is not None


def test_centre_does_not_matter():
    """A column 1000 away from 0 gives the same slope."""
    rng = np.random.default_rng(3)
    x, n = rng.uniform(0, 1, 5000), 5000
    y = x + rng.normal(0, 0.1, n)
    schema, again = (vdp.Schema({"x": Bounded(far, far + 1), "y": vdp.Public()}) for far in (0.0, 1000.0))
    noise = {"x": Window(epsilon=3.0, cells=1024, window=300)}
    near = vdp.Mechanism(schema, noise=noise).release(pd.DataFrame({"x": x, "y": y}), key=bytes(range(32)))
    moved = near.frame.assign(x=near.frame["x"] + 1000)
    far = vdp.Release.from_frame(moved, vdp.Mechanism(again, noise=noise))
    here, there = vdp.fit(near, "y ~ x"), vdp.fit(far, "y ~ x")
    assert here.params["x"] == pytest.approx(there.params["x"], rel=1e-9)
    assert here.bse["x"] == pytest.approx(there.bse["x"], rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize("response", [False, True], ids=["public response", "private response"])
@pytest.mark.parametrize("kind", BLOCKS)
def test_sums_of_powers_are_those_of_scores(kind, response, weighted):
    """Without an array of scores, over more records than are looked at together; also what leads to their zero."""
    blocks, rng, n = BLOCKS[kind], np.random.default_rng(5), 2500
    bounds = {name: bound for block in blocks for name, bound in zip(block.columns, block.bounds, strict=True)}
    units = Units.plain(bounds, np.array([0.0, 0.3, -0.2]))
    columns = np.array([-1, 0, -1, 1]) if response else np.array([-1, 0, -1, 2])
    model = LinearModel(Squared(), columns, 2 if response else -1, coding=(0.3, 1.4) if response else (0.0, 1.0))
    released, public = rng.normal(size=(3, n)), rng.normal(size=(n, 2))
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    form = as_terms(model, units, blocks, replace(SQUARED, linear=0.2))
    seen = form.prepare(Records(released.T, {}, public, rng.normal(size=n), weight, released), rng)
    theta = rng.normal(size=4)
    score, bend = form.weighted_scores(seen, theta, hessian=True)
    count, total, outer, hessian = form.sums(seen, theta, np.ones((1, 1)), hessian=True)
    assert count == n
    assert total[0] == pytest.approx(score.sum(axis=0), rel=1e-11, abs=1e-8)
    assert outer == pytest.approx(score.T @ score, rel=1e-11)
    assert hessian == pytest.approx(bend, rel=1e-11)
    zero = -np.linalg.solve(hessian, form.score_line(seen, np.zeros(4))[0])
    assert form.weighted_scores(seen, zero, hessian=False)[0].sum(axis=0) == pytest.approx(np.zeros(4), abs=1e-8)
