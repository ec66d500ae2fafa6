"""The law of members across blocks: every member's score has, in expectation, the true score, for any loss.

Zero-inflated noise beside a category, one that may be missing, a window, both, and another zero-inflated block; levels
that are drawn along with second randomisations included. A rate or a coin that is not the mechanism's must fail.
"""

from dataclasses import replace

import numpy as np
import pytest

from versadp import Public, Schema
from versadp.correction import FormulaModel, Records, SignedPoints, as_by_level, as_terms
from versadp.fitting.members import drawn_extensions, smooth_fades
from versadp.formula.design import make_design
from versadp.losses import Check, Hinge, Huber, Logistic, Poisson, Squared
from versadp.noise import Response, Window, ZeroInflated
from versadp.noise.units import Units
from versadp.schema import Bounded, Categorical

N = 12_000
NUMBER, CATEGORY = Bounded(-1, 1), Categorical(["k", "l", "m", "n"])
BLOCKS = {
    "category": ("y ~ a*C(g)", {"a": NUMBER, "g": CATEGORY}),
    "category that may be missing": ("y ~ a + C(g)", {"a": NUMBER, "g": Categorical(["k", "l", "m"], nullable=True)}),
    "window": ("y ~ a + w", {"a": NUMBER, "w": NUMBER}),
    "window and category": ("y ~ a + w + C(g)", {"a": NUMBER, "w": NUMBER, "g": CATEGORY}),
    "two zero-inflated": ("y ~ a + b", {"a": NUMBER, "b": NUMBER}),
    "a function": ("y ~ np.exp(a) + C(g)", {"a": NUMBER, "g": CATEGORY}),
}
NOISE = {
    "a": ZeroInflated(0.5, 0.3),
    "b": ZeroInflated(1.0, 0.5),
    "g": Response(0.6),
    "w": Window(4.0, cells=8, window=3),
}
LOSSES = [Squared(), Logistic(), Check(0.3), Hinge(), Huber(0.8), Poisson()]
BY_LEVEL = [(loss, name) for loss in LOSSES[:2] + LOSSES[5:] for name in list(BLOCKS)[:2]]


def setting(name, loss, spoilt=None):
    """Return a model, the units, and the blocks, of which one may be another than that of the noise."""
    formula, columns = BLOCKS[name]
    design = make_design(formula, Schema({**columns, "y": Public()}))
    blocks = tuple((spoilt or {}).get(each, NOISE[each]).on({each: columns[each]}) for each in columns)
    ends = {each: (-1.0, 1.0) if each != "g" else (0.0, len(columns["g"].levels) - 1.0) for each in columns}
    units = Units.plain(ends)
    model = FormulaModel(loss, design, units, bandwidth=0.4 if loss.kinked else 0.0)
    return model, units, blocks


def drawn(name, loss, n=N, seed=0):
    """Return true columns, released ones and responses of some records."""
    rng, columns = np.random.default_rng([seed, len(name)]), BLOCKS[name][1]
    true, released = [], []
    for each, column in columns.items():
        size = len(column.levels) if each == "g" else 9  # uneven, so that a wrong coin shows
        places = np.minimum(rng.geometric(0.4, n) - 1.0, size - 1)
        values = places if each == "g" else places / 4 - 1
        if each == "g" and column.nullable:
            values[rng.random(n) < 0.2] = np.nan
        block = NOISE[each].on({each: column})
        content = values[None].copy()
        block.to_content(content)
        block.add_noise(content, rng.integers(0, 2**64, (block.words, n), dtype=np.uint64))
        block.to_values(content)
        true.append(values)
        released.append(content[0])
    kinds = {"logistic": rng.integers(0, 2, n), "hinge": rng.choice([-1, 1], n), "poisson": rng.poisson(1.0, n)}
    return np.array(true), np.array(released), kinds.get(loss.name, rng.normal(size=n)).astype(float)


def records(units, columns, y):
    return Records(units.from_columns(list(columns)), {}, None, y, None, columns)


def t_scores(form, model, units, drawn_records):
    true, released, y = drawn_records
    known = ~np.isnan(true).any(axis=0)
    theta = np.linspace(-0.4, 0.5, model.size)
    z = units.from_columns(list(np.where(np.isnan(true), 0.0, true)))
    truth = model.score(model.rows(z, np.arange(len(y)), records(units, true, y)), theta) * known[:, None]
    members, seen = len(form.names), form.prepare(records(units, released, y), np.random.default_rng(1))
    found, _ = form.evaluate(seen, theta, np.eye(members), hessian=False)
    difference = found - truth[:, None]
    return difference.mean(axis=0) / (difference.std(axis=0) / np.sqrt(len(y)))


def by_points(model, units, blocks, name):
    missing = ("g",) if "missing" in name else ()
    return SignedPoints(model, units, drawn_extensions(), blocks, near=2, far=1, draws=1, nullable=missing)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_members_by_points_are_unbiased(loss, name):
    """About 500 scores over all cases at fixed seeds, 5 standard errors each."""
    model, units, blocks = setting(name, loss)
    assert np.abs(t_scores(by_points(model, units, blocks, name), model, units, drawn(name, loss))).max() < 5


@pytest.mark.parametrize(("loss", "name"), BY_LEVEL, ids=lambda c: c if isinstance(c, str) else c.name)
def test_members_by_level_are_unbiased(loss, name):
    model, units, blocks = setting(name, loss)
    form = as_by_level(model, units, blocks, smooth_fades(), count=2)
    assert np.abs(t_scores(form, model, units, drawn(name, loss))).max() < 5


SPOILT = {
    "a rate": ("category", {"a": ZeroInflated(0.5, 0.45)}),
    "a coin": ("category", {"g": Response(0.8)}),
    "the other rate": ("two zero-inflated", {"b": ZeroInflated(1.0, 0.3)}),
    "a window's coin": ("window", {"w": Window(2.0, cells=8, window=3)}),
}


@pytest.mark.parametrize("wrong", SPOILT)
def test_noise_that_is_not_the_mechanisms_is_rejected(wrong):
    name, spoilt = SPOILT[wrong]
    model, units, blocks = setting(name, Squared(), spoilt)
    found = t_scores(by_points(model, units, blocks, name), model, units, drawn(name, Squared(), 4 * N))
    assert (np.abs(found).max(axis=1) > 5).any()


@pytest.mark.parametrize("wrong", ["a rate", "a coin"])
def test_by_level_rejects_it_too(wrong):
    name, spoilt = SPOILT[wrong]
    model, units, blocks = setting(name, Squared(), spoilt)
    form = as_by_level(model, units, blocks, smooth_fades(), count=2)
    assert np.abs(t_scores(form, model, units, drawn(name, Squared(), 4 * N))).max() > 5


@pytest.mark.parametrize("form", ["by level", "by points", "in closed form"])
def test_hessians_of_members_agree_with_differences(form):
    loss, name = Squared(), "category"
    model, units, blocks = setting(name, loss)
    part = {
        "by level": as_by_level(model, units, blocks, smooth_fades(), count=2),
        "by points": by_points(model, units, blocks, name),
        "in closed form": as_terms(model, units, blocks, loss.expansion()),
    }[form]
    _, released, y = drawn(name, loss, 400)
    seen, theta = (
        part.prepare(records(units, released, y), np.random.default_rng(1)),
        np.linspace(-0.4, 0.5, model.size),
    )
    mix = np.full((1, len(part.names)), 0.3)  # as beside members of other forms: they need not sum to 1
    _, hessian = part.evaluate(seen, theta, mix, hessian=True)
    steps = 1e-5 * np.eye(model.size)
    ends = [
        [part.evaluate(seen, theta + s * e, mix, hessian=False)[0].sum(axis=(0, 1)) for e in steps] for s in (1, -1)
    ]
    numeric = (np.array(ends[0]) - np.array(ends[1])) / 2e-5
    np.testing.assert_allclose(hessian, numeric, atol=1e-5 * np.abs(hessian).max())


def test_draws_of_a_record_are_its_own():
    """Records in lots have the points that they have together."""
    name, loss = "window and category", Logistic()
    model, units, blocks = setting(name, loss)
    form = by_points(model, units, blocks, name)
    _, released, y = drawn(name, loss, 3000)
    whole, theta = replace(records(units, released, y), before=0), np.linspace(-0.4, 0.5, model.size)
    lots = [replace(whole.take(np.arange(*ends)), before=ends[0]) for ends in ((0, 1100), (1100, 3000))]

    def scores(some):
        return form.evaluate(form.prepare(some, np.random.default_rng(3)), theta, np.eye(4), hessian=False)[0]

    np.testing.assert_allclose(np.concatenate([scores(lot) for lot in lots]), scores(whole), rtol=1e-9, atol=1e-12)


def test_weights_of_the_strata_of_a_draw_add_up_to_one():
    """Of one category: what the other levels weigh together, the one that is drawn along weighs alone."""
    model, units, blocks = setting("category", Squared())
    form = as_by_level(model, units, blocks, smooth_fades(), count=2)
    _, released, y = drawn("category", Squared(), 300)
    seen = form.prepare(records(units, released, y), np.random.default_rng(1))
    total, draws = np.zeros(300), np.zeros(300)
    for level in seen.levels:
        for places, at in zip(level.places, level.records, strict=True):
            into = draws if places.second else total
            into[at] += places.weight
    np.testing.assert_allclose(total, 1)
    np.testing.assert_allclose(draws, 1)
