"""Least squares of functions of columns: corrected products are the true ones, exactly, whatever the blocks."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.correction import FormulaModel, Records, as_separable
from versadp.formula.design import make_design
from versadp.losses import Squared
from versadp.losses.expansion import Expansion
from versadp.noise import Response, Window
from versadp.noise.units import Units
from versadp.schema import Bounded, Categorical, Public, Schema

FORMULA = "y ~ np.log(a) + I(b ** 2):C(c) + a:b + p:np.sqrt(a) + p"
A, B, LEVELS = Bounded(1, 4, step=1), Bounded(-1, 1), Categorical(["u", "v", "w"])
THETA = np.array([0.4, -0.7, 1.3, 0.2, 0.9, -0.5, 0.3, 0.8])
BLOCKS = {
    "joint": (Window(2.0, cells={"a": 3, "b": 2}, window=2).on({"a": A, "b": B, "c": LEVELS}),),
    "two": (Window(2.0, cells=3, window=2).on({"a": A}), Window(1.0, cells=2, window=3).on({"b": B, "c": LEVELS})),
    "three": (
        Window(2.0, cells=3, window=2).on({"a": A}),
        Window(2.0, cells=2, window=1).on({"b": B}),
        Response(keep=0.4).on({"c": LEVELS}),
    ),
}


def every_output(block, record):
    """Return all released values of a block and their probabilities."""
    values, lattices = [], [block.lattice(name) for name in block.columns]
    for place in itertools.product(*(range(each.shown) for each in lattices)):
        first = [round((record[name] - o.low) / o.step) for name, o in zip(block.columns, lattices, strict=True)]
        inside = all(f <= k < f + o.window for f, k, o in zip(first, place, lattices, strict=True))
        keep = lattices[0].keep
        chance = keep * inside / np.prod([o.window for o in lattices])
        chance += (1 - keep) / np.prod([o.shown for o in lattices])
        at = np.array(place, dtype=float)[:, None]
        block.to_values(at)
        values.append((at[:, 0], chance))
    return values


def made(blocks, formula=FORMULA, schema=None):
    schema = schema or Schema({"a": A, "b": B, "c": LEVELS, "p": Public(), "y": Public()})
    bounds = {"a": (1.0, 4.0), "b": (-1.0, 1.0), "c": (0.0, 2.0)}
    units = Units.plain({name: bounds[name] for block in blocks for name in block.columns})
    model = FormulaModel(Squared(), make_design(formula, schema), units)
    return as_separable(model, units, blocks, Squared().expansion())


def records(blocks, outputs, form, p=0.6, y=1.7):
    n = outputs.shape[1]
    z = form.units.from_columns(list(outputs))
    return Records(z, {"p": np.full(n, p)}, None, np.full(n, y), None, outputs)


@pytest.mark.parametrize("kind", list(BLOCKS))
def test_scores_are_those_of_the_true_record(kind):
    blocks = BLOCKS[kind]
    form = made(blocks)
    for a, b, c in [(1.0, -1.0, 0), (3.0, 0.0, 2), (4.0, 1.0, 1)]:
        record = {"a": a, "b": b, "c": float(c)}
        together = list(itertools.product(*(every_output(block, record) for block in blocks)))
        outputs = np.array([np.concatenate([values for values, _ in some]) for some in together]).T
        chance = np.array([np.prod([each for _, each in some]) for some in together])
        seen = form.prepare(records(blocks, outputs, form), np.random.default_rng(0))
        score, _ = form.evaluate(seen, THETA, np.ones((1, 1)), hessian=True)
        m = form.model.design.matrix({"a": [a], "b": [b], "c": ["uvw"[c]], "p": [0.6]})[0]
        np.testing.assert_allclose(chance @ score[:, 0], m * (m @ THETA - 1.7), atol=1e-10)
        np.testing.assert_allclose((chance @ seen.squares), [m[j] * m[k] for j, k in form.pairs], atol=1e-10)
        if kind == "two":  # coins of two blocks are not one
            wrong = replace(blocks[1], coin=blocks[0].kept)
            other = replace(form, blocks=(blocks[0], wrong))
            bad, _ = other.evaluate(
                other.prepare(records(blocks, outputs, form), None), THETA, np.ones((1, 1)), hessian=True
            )
            assert np.abs(chance @ bad[:, 0] - m * (m @ THETA - 1.7)).max() > 0.1


def test_the_hessian_is_the_derivative_of_the_score_in_any_basis():
    blocks, rng = BLOCKS["joint"], np.random.default_rng(3)
    form = made(blocks)
    form = replace(form, model=replace(form.model, basis=rng.normal(size=(8, 8))))
    outputs = np.array([values for values, _ in every_output(blocks[0], {"a": 1.0, "b": 0.0, "c": 0.0})]).T
    seen = form.prepare(records(blocks, outputs, form), rng)
    score, bend = form.evaluate(seen, THETA, np.ones((1, 1)), hessian=True)
    step = rng.normal(size=8)
    moved, _ = form.evaluate(seen, THETA + step, np.ones((1, 1)), hessian=True)
    np.testing.assert_allclose((moved - score)[:, 0].sum(axis=0), bend @ step, atol=1e-8)


def test_what_is_of_two_columns_at_once_or_no_square_is_left_to_others():
    blocks = BLOCKS["two"]
    assert made(blocks, "y ~ np.log(a + b) + C(c)") is None
    assert made(blocks, "y ~ np.log(a * p) + b + C(c)") is None
    form = made(blocks)
    assert as_separable(form.model, form.units, blocks, Expansion(1.0, 0.0, 0.5, (1.0,))) is None


@pytest.fixture(scope="module")
def people():
    rng, n = np.random.default_rng(5), 20_000
    age = np.clip(rng.normal(45, 12, n), 18, 90)
    income = np.clip(rng.gamma(4, 12, n) + age / 4, 5, 120)
    region = rng.choice(list("nes"), n)
    y = 1 + 2 * np.log(age) + 0.3 * (region == "n") * np.log(age) + rng.normal(0, 0.5, n)
    age[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"age": age, "income": income, "region": region, "y": y})


@pytest.mark.parametrize("unit", ["attribute", "record"])
@pytest.mark.parametrize("formula", ["y ~ np.log(age) * C(region)", "np.log(income) ~ np.log(age)"])
def test_fits_find_what_the_raw_records_say(people, unit, formula):
    import statsmodels.formula.api as smf

    schema = vdp.Schema(
        {
            "age": vdp.Bounded(18, 90, nullable=True),
            "income": vdp.Bounded(5, 120),
            "region": vdp.Categorical(list("nes")),
            "y": vdp.Public(),
        }
    )
    release = vdp.calibrate(schema, epsilon=4 if unit == "attribute" else 9, unit=unit).release(people)
    found = vdp.fit(release, formula, engine="serial")
    raw = smf.ols(formula, people.assign(region=pd.Categorical(people.region, list("nes")))).fit()
    assert found.converged
    # the names of both are written alike up to the order of factors
    names = {"Intercept": "Intercept"} | {":".join(sorted(name.split(":"))): name for name in raw.params.index}
    order = [names[":".join(sorted(name.split(":")))] for name in found.names]
    away = (np.asarray(found.params) - raw.params[order].to_numpy()) / np.asarray(found.bse)
    assert np.abs(away).max() < 5.2  # eight normal ones, less than once in a hundred thousand runs
    # noise costs something, and not everything: signed points cost ten times as much
    assert (np.asarray(found.bse) > raw.bse[order].to_numpy()).all()
    assert (np.asarray(found.bse) < 12 * raw.bse[order].to_numpy()).all()
