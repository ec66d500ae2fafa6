"""E corrected score = score of the true record, over all outputs of small blocks: categories in every role.

Every possible output of a record is a record of its own here, weighted by its probability, so that the sum of corrected
scores is their expectation, without any draw. A block's formula across two coins must fail.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from versadp import Public, Schema
from versadp.correction import FormulaModel, MultinomialModel, Records, ShareModel, SignedPoints, as_terms
from versadp.formula.design import make_design
from versadp.losses import Check, Hinge, Huber, Logistic, Multinomial, Poisson, Share, Squared
from versadp.losses.expansion import Expansion
from versadp.noise import Response, Window
from versadp.noise.units import Units
from versadp.schema import Bounded, Categorical
from versadp_tests.outputs import kept_outputs

SERIES = Expansion(0.5, 0.1, 0.8, (0.3 + 0.1j, 0.05j))
LEVELS = ("a", "b", "c")


def columns(nullable=False):
    return {
        "g": Categorical(list(LEVELS), nullable=nullable),
        "x": Bounded(-1, 3, nullable=nullable),
        "h": Categorical([0, 1]),
    }


PARTITIONS = {
    "one coin": (("g", "x", "h"),),
    "numbers apart": (("g", "h"), ("x",)),
    "each its own": (("g",), ("x",), ("h",)),
}


def blocks_of(partition, nullable=False):
    def make(names):
        if names in {("g", "x", "h"), ("x",)}:
            spec = Window(2.5, cells=4, window=3, missing=2 if nullable else None)
        else:
            spec = Response(0.6) if names == ("g",) else Window(2.0)
        return spec.on({name: columns(nullable)[name] for name in names})

    return tuple(make(names) for names in PARTITIONS[partition])


def outputs(block, record):
    """Return all that a block may release, (columns, outputs), and the probability of each given a record."""
    if hasattr(block, "window"):
        places = np.indices(block.outputs, dtype=float).reshape(len(block.columns), -1)
        first = np.array([record[name] for name in block.columns])[:, None]
        block.to_content(first)
        gone = [np.isnan(record[name]) for name in block.columns]
        sizes = zip(block.last, block.window, block.unseen, first[:, 0], gone, strict=True)
        kept = [kept_outputs(m, w, s, None if lost else int(k)) for m, w, s, k, lost in sizes]
        inside = np.array([np.isin(z, list(own)) for z, own in zip(places, kept, strict=True)]).all(axis=0)
    else:
        places = np.arange(block.levels, dtype=float)[None]
        code = block.levels - 1.0 if np.isnan(record[block.column]) else record[block.column]
        inside = places[0] == code
    chance = block.keep * inside / inside.sum() + (1 - block.keep) / places.shape[1]
    block.to_values(places)
    return places, chance


def all_records(blocks, record, units):
    """Return every released record as a record, weighted by its probability."""
    each = [outputs(block, record) for block in blocks]
    combined = list(product(*(range(len(chance)) for _, chance in each)))
    released = np.array(
        [np.concatenate([places[:, k] for (places, _), k in zip(each, at, strict=True)]) for at in combined]
    ).T
    chance = np.array([np.prod([p[k] for (_, p), k in zip(each, at, strict=True)]) for at in combined])
    known = np.where(np.isnan(released), 0.0, released)
    return released, known, chance


def model_of(formula, loss, blocks, nullable=False):
    schema = Schema({**columns(nullable), "city": Public(), "w": Public(), "y": Public()})
    cities = {"city": ("k", "l")}
    design = make_design(formula, schema, cities.get)
    ends = {"g": (0.0, 2.0), "x": (-1.0, 3.0), "h": (0.0, 1.0)}
    used = [replace_part(block, design.used) for block in blocks if set(block.columns) & set(design.used)]
    units = Units.plain({name: ends[name] for block in used for name in block.columns})
    return FormulaModel(loss, design, units), units, tuple(used)


def replace_part(block, used):
    return block.part(set(used))


PUBLIC = {"city": "l", "w": 0.7, "y": 0.9}


def expected(form, blocks, record, units, *, response=True):
    """Return the expected corrected score and Hessian of a record."""
    released, known, chance = all_records(blocks, record, units)
    n = len(chance)
    public = {
        name: np.full(n, value, dtype=object if isinstance(value, str) else float) for name, value in PUBLIC.items()
    }
    z = units.from_columns(list(known))
    y = np.full(n, PUBLIC["y"]) if response else None
    records = Records(z, public, None, y, chance, released)
    seen = form.prepare(records, np.random.default_rng(0))
    size = form.model.size
    theta = np.linspace(-0.6, 0.8, size)
    score, bend = form.evaluate(seen, theta, np.ones((1, 1)), hessian=True)
    return score.sum(axis=(0, 1)), bend, theta


def truth(form, record, units, derivatives, theta):
    """Return the score and the Hessian of the record itself."""
    slope, bend = derivatives
    model = form.model
    z = units.from_columns([np.array([record[name]]) for name in units.names])
    public = {
        name: np.array([value], dtype=object if isinstance(value, str) else float) for name, value in PUBLIC.items()
    }
    response = np.array([PUBLIC["y"]]) if model.design.response == -1 else None
    m, y = model.rows(z, np.zeros(1, int), Records(z, public, None, response))
    u = m @ theta
    return (m * slope(u, y)[:, None])[0], m.T @ m * bend(u, y)


def derivatives(expansion):
    rate = 1j * expansion.base * np.arange(1, 1 + len(expansion.weights))

    def waves(u, power):
        return np.array([(np.array(expansion.weights) * rate**power * np.exp(rate * v)).sum().real for v in u])

    return (
        lambda u, y: expansion.linear + expansion.quadratic * u - y + waves(u, 1),
        lambda u, _: expansion.quadratic + waves(u, 2),
    )


FORMULAS = (
    "y ~ C(g)*x",
    "y ~ C(g, contr.sum):x + C(h) - 1",
    "y ~ C(g):C(h) + x",
    "y ~ C(city)*x + C(g)*w",
    'I(g == "b") ~ C(h)*x',
    "x ~ C(g)*C(h)",
)
RECORDS = ({"g": 0.0, "x": -1.0, "h": 1.0}, {"g": 2.0, "x": 1.0, "h": 0.0})


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize(
    "expansion", [Squared().expansion(), Poisson().expansion(), SERIES], ids=["u²", "e^u", "waves"]
)
def test_interactions_are_undone_exactly(partition, formula, expansion):
    model, units, blocks = model_of(formula, Squared(), blocks_of(partition))
    form = as_terms(model, units, blocks, expansion)
    if not form.strata:
        pytest.skip("no number")
    for record in RECORDS:
        score, bend, theta = expected(form, blocks, record, units, response=model.design.response == -1)
        first, second = truth(form, record, units, derivatives(expansion), theta)
        assert score == pytest.approx(first, abs=1e-11)
        assert bend == pytest.approx(second, abs=1e-11)


@pytest.mark.parametrize("formula", FORMULAS[:3])
def test_one_coin_for_two_is_rejected(formula):
    """Blocks with coins of their own, undone as if one coin were thrown for both."""
    expansion = Squared().expansion()
    joint = blocks_of("one coin")
    apart = tuple(joint[0].part({name}) for name in ("g", "x", "h"))
    model, units, _ = model_of(formula, Squared(), joint)
    wrong = as_terms(model, units, (joint[0].part(model.design.used),), expansion)
    theirs = [block for block in apart if block.columns[0] in model.design.used]
    score, _, theta = expected(wrong, theirs, RECORDS[1], units)
    first, _ = truth(wrong, RECORDS[1], units, derivatives(expansion), theta)
    assert np.abs(score - first).max() > 1e-3


MISSING = ({"g": np.nan, "x": 1.0, "h": 1.0}, {"g": 1.0, "x": np.nan, "h": 1.0}, {"g": 1.0, "x": 3.0, "h": 0.0})


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("expansion", [Squared().expansion(), SERIES], ids=["u²", "waves"])
@pytest.mark.parametrize("formula", ["y ~ C(g)*x", "y ~ C(g, missing=True)*x", "y ~ x"])
def test_missing_values(partition, formula, expansion):
    """A record with something missing counts nothing, unless missing is a level; a complete one is itself."""
    model, units, blocks = model_of(formula, Squared(), blocks_of(partition, nullable=True), nullable=True)
    form = as_terms(model, units, blocks, expansion)
    for record in MISSING:
        score, bend, theta = expected(form, blocks, record, units)
        lost = np.isnan(record["x"]) or (np.isnan(record["g"]) and formula == "y ~ C(g)*x")
        if lost:
            first, second = np.zeros_like(theta), np.zeros((theta.size, theta.size))
        else:
            first, second = truth(form, record, units, derivatives(expansion), theta)
        assert score == pytest.approx(first, abs=1e-11)
        assert bend == pytest.approx(second, abs=1e-11)


@pytest.mark.parametrize("loss", [Check(0.3), Hinge(), Huber(1.0), Logistic(), Squared()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("formula", ["y ~ C(g)*C(h)", "y ~ C(g, contr.helmert) + w:C(h)", "h ~ C(g)"])
@pytest.mark.parametrize("partition", ["one coin", "each its own"])
def test_points_over_levels(loss, formula, partition):
    """Categories cost a point a level, nothing is drawn, and any loss is undone exactly; with a coin off by 2% not."""
    model, units, blocks = model_of(formula, loss, blocks_of(partition))
    model = replace(model, bandwidth=0.3 if loss.kinked else 0.0)
    for keep in (1.0, 1.02):
        wrong = tuple(_spoilt(block, keep) for block in blocks)
        form = SignedPoints(model, units, blocks=wrong, draws=3)
        errors = []
        for record in RECORDS:
            score, _, theta = expected(form, blocks, record, units, response=model.design.response == -1)
            both = [lambda u, y, k=k: loss.derivatives(u, y, 2, model.bandwidth)[k] for k in range(2)]
            first, _ = truth(form, record, units, both, theta)
            errors.append(np.abs(score - first).max())
        assert (max(errors) < 1e-11) == (keep == 1.0)


def _spoilt(block, keep):
    return (
        replace(block, coin=int(block.kept * keep))
        if hasattr(block, "coin")
        else replace(block, keep=block.keep * keep)
    )


@pytest.mark.parametrize("partition", ["one coin", "each its own"])
def test_multinomial_scores(partition):
    """A private response of three levels, with a public and a private covariate."""
    blocks = blocks_of(partition)
    schema = Schema({**columns(), "w": Public()})
    design = make_design("g ~ w + C(h)", schema, by_level=True)
    used = tuple(block.part({"g", "h"}) for block in blocks if set(block.columns) & {"g", "h"})
    units = Units.plain({name: {"g": (0.0, 2.0), "h": (0.0, 1.0)}[name] for block in used for name in block.columns})
    model = MultinomialModel(Multinomial("b"), design, ("b", "a", "c"), units)
    form = SignedPoints(model, units, blocks=used, draws=3)
    for g, h in product(range(3), range(2)):
        record = {"g": float(g), "h": float(h)}
        score, bend, theta = expected(form, used, record, units)
        m = np.array([1.0, PUBLIC["w"], h])
        u = np.append(0.0, theta.reshape(2, 3) @ m)
        p = np.exp(u) / np.exp(u).sum()
        seen = np.array([LEVELS[g] == "a", LEVELS[g] == "c"])
        assert score == pytest.approx(np.outer(p[1:] - seen, m).ravel(), abs=1e-11)
        assert bend == pytest.approx(np.kron(np.diag(p[1:]) - np.outer(p[1:], p[1:]), np.outer(m, m)), abs=1e-11)


@pytest.mark.parametrize("missing", [False, True])
def test_shares(missing):
    block = Window(2.0).on({"g": Categorical(list(LEVELS), nullable=True)})
    units = Units.plain({"g": (0.0, 2.0)})
    levels = (*LEVELS, None) if missing else LEVELS
    model = ShareModel(Share("g", missing), levels, True, units)
    form = SignedPoints(model, units, blocks=(block,), draws=3, nullable=() if missing else ("g",))
    for code in (0.0, 2.0, np.nan):
        score, _, theta = expected(form, (block,), {"g": code}, units)
        own = [np.isnan(code) if level is None else LEVELS.index(level) == code for level in levels]
        assert score == pytest.approx((theta - own) * (missing or not np.isnan(code)), abs=1e-11)
