"""Closed forms where values may be missing: expected scores are those of complete records, and 0 of others, exactly."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.correction import LinearModel, Records, as_terms
from versadp.losses import Poisson, Squared
from versadp.losses.expansion import Expansion
from versadp.noise import Window
from versadp.noise.units import Units
from versadp.noise.window_law import WORDS
from versadp.schema import Bounded
from versadp_tests.outputs import kept_outputs

THETA = np.array([0.4, -0.7, 1.3])
EXPANSIONS = {
    "squared": Squared().expansion(),
    "poisson": Poisson().expansion(),
    "series": Expansion(0.5, 0.1, 0.8, (0.3 + 0.1j, -0.2, 0.05j)),
}


def window(nulls, last=3, wide=2, epsilon=1.5, missing="window"):
    columns = {name: Bounded(-1.0, 1.0 + j, nullable=null) for j, (name, null) in enumerate(nulls.items())}
    return Window(epsilon, cells=last, window=wide, missing=missing).on(columns)


BLOCKS = {
    "joint": (window({"a": True, "b": False, "c": True}, last=2),),
    "shared places": (window({"a": True, "b": False, "c": True}, last=2, wide=3, missing=2),),
    "shared, two blocks": (window({"a": True, "b": True}, missing=1), window({"c": True}, wide=3, missing=1)),
    "shared middle of two": (window({"a": True, "b": False}, wide=3, missing=1), window({"c": False})),
    "two blocks": (window({"a": True, "b": True}), window({"c": True}, wide=3)),
    "some never": (window({"a": True, "b": False}), window({"c": False}, wide=1)),
    "some public": (window({"a": True, "b": "public"}), window({"c": True})),
}


def outcomes(block, record):
    """Return all that a block makes of a record, with probabilities, by the definition of a window."""
    public = np.isnan(record) & np.array([null == "public" for null in block.nulls])
    first = np.where(public, 0.0, record)[:, None].copy()
    block.to_content(first)
    keep = block.kept / WORDS
    gone = np.isnan(record) & ~public
    sizes = zip(block.last, block.window, block.unseen, first[:, 0], gone, strict=True)
    kept = [kept_outputs(m, w, s, None if lost else int(k)) for m, w, s, k, lost in sizes]
    for z in itertools.product(*map(range, block.outputs)):
        inside = all(k in own for k, own in zip(z, kept, strict=True))
        values = np.array(z, dtype=float)[:, None]
        block.to_values(values)
        chance = keep * inside / np.prod(block.window) + (1 - keep) / np.prod(block.outputs)
        yield np.where(public, np.nan, values[:, 0]), chance


def expected(blocks, decoders, record, expansion):
    """Return the expected score and Hessian of one record over all that may be released of it."""
    parts, at = [], 0
    for block in blocks:
        parts.append(list(outcomes(block, record[at : at + len(block.columns)])))
        at += len(block.columns)
    together = list(itertools.product(*parts))
    released = np.array([np.concatenate([values for values, _ in some]) for some in together]).T
    chance = np.array([np.prod([each for _, each in some]) for some in together])
    form, records = setting(decoders, released, chance, expansion)
    seen = form.prepare(records, np.random.default_rng(0))
    score, bend = form.evaluate(seen, THETA, np.ones((1, 1)), hessian=True)
    assert len(score) == len(chance)
    return score.sum(axis=(0, 1)), bend


def setting(blocks, released, chance, expansion):
    bounds = {name: bound for block in blocks for name, bound in zip(block.columns, block.bounds, strict=True)}
    units = Units.plain(bounds, np.array([0.0, 0.3, -0.2]))
    n, model = len(chance), LinearModel(Squared(), np.array([-1, 0, 1]), 2)
    known = np.where(np.isnan(released), 0.0, released)
    records = Records(units.from_columns(list(known)), {}, np.full((n, 1), 1.7), None, chance, released)
    return as_terms(model, units, blocks, expansion), records


def truth(blocks, record, expansion):
    bounds = {name: bound for block in blocks for name, bound in zip(block.columns, block.bounds, strict=True)}
    units = Units.plain(bounds, np.array([0.0, 0.3, -0.2]))
    a, b, y = units.from_columns([record[j : j + 1] for j in range(3)])[0]
    m = np.array([1.7, a, b])
    rate = 1j * expansion.base * np.arange(1, 1 + len(expansion.weights))
    waves = np.array(expansion.weights) * np.exp(rate * (m @ THETA))
    slope = expansion.linear + expansion.quadratic * (m @ THETA) - y + (rate * waves).sum().real
    return m * slope, np.outer(m, m) * (expansion.quadratic + (rate**2 * waves).sum().real)


def records_of(blocks):
    """Return a few records, complete and not."""
    rng = np.random.default_rng(3)
    bounds = [bound for block in blocks for bound in block.bounds]
    last = [m for block in blocks for m in block.last]
    nulls = [null for block in blocks for null in block.nulls]
    for missing in itertools.product(*([False, True] if null else [False] for null in nulls)):
        places = [low + (high - low) * rng.integers(m + 1) / m for (low, high), m in zip(bounds, last, strict=True)]
        yield np.where(missing, np.nan, places)


@pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("expansion", EXPANSIONS.values(), ids=EXPANSIONS)
def test_expected_scores_are_those_of_complete_records(blocks, expansion):
    for record in records_of(blocks):
        score, bend = expected(blocks, blocks, record, expansion)
        if np.isnan(record).any():
            assert np.abs(score).max() < 1e-10
            assert np.abs(bend).max() < 1e-10
        else:
            first, second = truth(blocks, record, expansion)
            assert score == pytest.approx(first, abs=1e-10)
            assert bend == pytest.approx(second, abs=1e-10)


@pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS)
def test_a_wrong_coin_is_rejected(blocks):
    spoilt = tuple(replace(block, coin=int(block.kept * 1.05)) for block in blocks)
    wrong = [
        np.abs(
            expected(blocks, spoilt, record, EXPANSIONS["series"])[0] - truth(blocks, record, EXPANSIONS["series"])[0]
        )
        for record in records_of(blocks)
        if not np.isnan(record).any()
    ]
    assert np.max(wrong) > 1e-3


@pytest.mark.filterwarnings("ignore::versadp.errors.InsecureWarning")  # seeded, so that failures repeat
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_fits_of_many_columns_that_may_be_missing_are_those_of_complete_records(loss):
    """Values are missing by their own size, so that the complete records differ from all of them; 5 standard errors."""
    rng, n = np.random.default_rng(8), 60_000
    x = rng.uniform(-1, 1, (n, 4))
    u = 0.2 + x @ [1.0, -1.0, 0.5, 0.5]
    y = u + 0.5 * rng.normal(size=n) if loss == "squared" else (rng.random(n) < 1 / (1 + np.exp(-u))).astype(float)
    people = pd.DataFrame(x, columns=list("abcd")).assign(y=np.clip(y, -5, 5))
    for name in "abc":
        people.loc[rng.random(n) < 0.2 * (people[name] + people["y"] > 0.5), name] = np.nan
    outcome = vdp.Bounded(-5, 5) if loss == "squared" else vdp.Bounded(0, 1, step=1)
    columns = {name: vdp.Bounded(-1, 1, nullable=name != "d") for name in "abcd"}
    release = vdp.calibrate(vdp.Schema({**columns, "y": outcome}), epsilon=10).release(people, insecure_seed=4)
    found = vdp.fit(release, "y ~ a + b + c + d", loss=loss)
    raw = people.dropna()
    import statsmodels.api as sm

    plain = (sm.OLS if loss == "squared" else sm.Logit)(raw["y"], sm.add_constant(raw[list("abcd")])).fit(disp=0)
    assert found.converged
    assert np.abs((np.asarray(found.params) - plain.params) / np.asarray(found.bse)).max() < 5
    whole = people.fillna(0.0)  # what someone who forgets would do
    naive = (sm.OLS if loss == "squared" else sm.Logit)(whole["y"], sm.add_constant(whole[list("abcd")])).fit(disp=0)
    assert np.abs((np.asarray(found.params) - naive.params) / np.asarray(found.bse)).max() > 5
