"""A fit to all outputs of all people, each as often as it is likely, is the fit to the people themselves.

    estimate from every output z of every person x, with weight P(z | x)  =  estimate from the people

since the mean corrected score over a person's outputs is the person's own score, at any coefficients. One registry of
blocks, losses and designs, by public names alone; nothing is drawn. Losses with kinks are smoothed by an amount that
follows the number of records, so that their law is of scores (`test_functions.py`).
"""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize

import versadp as vdp
from versadp.noise import Response, Window
from versadp_tests.outputs import every_output

COPIES = 30  # of the table of all outputs: a fit to few records would be weak
CLOSE = 0.05  # standard errors: approximations of a loss, and what an estimate is corrected by for its bias
LEVELS = ("u", "v", "w")
PEOPLE = [dict(zip("ac", pair, strict=True)) for pair in itertools.product(range(4), range(3))]
LOST = [{"a": None, "c": c} for c in range(3)] + [{"a": a, "c": None} for a in range(4)]
BLOCKS = {
    "joint": {("a", "c"): Window(3.0, window={"a": 2})},
    "separate": {"a": Window(2.0, window=2), "c": Window(2.0)},
    "response": {"a": Window(2.0, window=3), "c": Response(0.5)},
    "joint, missing": {("a", "c"): Window(4.0, window={"a": 2})},
    "separate, missing": {"a": Window(3.0, window=2), "c": Window(3.0)},
}
LOSSES = {  # value of a record
    "squared": lambda u, y: (u - y) ** 2,
    "logistic": lambda u, y: np.logaddexp(0, u) - y * u,
    "poisson": lambda u, y: np.exp(u) - y * u,
}
DESIGNS = {
    "y ~ a": lambda a, _: [1, a],
    "y ~ a + C(c)": lambda a, c: [1, a, c == 1, c == 2],
    "y ~ a * C(c)": lambda a, c: [1, a, c == 1, c == 2, a * (c == 1), a * (c == 2)],
    "y ~ np.log(a) + C(c)": lambda a, c: [1, np.log(a), c == 1, c == 2],
    "y ~ a + I(a ** 2)": lambda a, _: [1, a, a**2],
}


def responses(loss):
    """Return the responses of a person, all as likely: their mean follows the index."""
    return {"squared": (-0.3, 0.9), "logistic": (0, 0, 1), "poisson": (0, 1, 3)}[loss]


def mean_weight(loss, a, c, y):
    """Return how often a person has a response, so that it depends on the columns."""
    return 1 + (0.25 * a - 0.3 * c) * (y > responses(loss)[0]) + 0.5 * c


def known(people, design):
    """Return the people whose columns of a design are not missing, with 0 for what is."""
    needed = "ac" if "C(c)" in design else "a"
    return [{k: v or 0 for k, v in p.items()} for p in people if all(p[name] is not None for name in needed)]


def of_people(loss, design, people):
    """Return the coefficients of the people themselves."""
    rows = [(p["a"], p["c"], y) for p in known(people, design) for y in responses(loss)]
    m = np.array([np.array(DESIGNS[design](1.0 + a, c), float) for a, c, _ in rows])
    y, weight = np.array([(y, mean_weight(loss, a, c, y)) for a, c, y in rows], float).T
    scale = np.abs(m).max(axis=0)
    return minimize(lambda t: weight @ LOSSES[loss](m / scale @ t, y), np.zeros(len(scale)), tol=1e-14).x / scale


def people_of(made):
    """Return the people, among them those with a missing value where there may be one."""
    return PEOPLE + (LOST if made.schema.columns["a"].nullable else [])


def mechanism(blocks):
    null = "missing" in blocks
    a, c = vdp.Bounded(1, 4, step=1, nullable=null), vdp.Categorical(LEVELS, nullable=null)
    return vdp.Mechanism(vdp.Schema({"a": a, "c": c, "y": vdp.Public()}), noise=BLOCKS[blocks])


def outputs(block, person):
    """Return the outputs of one block with their probabilities, from the law alone."""
    if isinstance(block.spec, Response):
        return [({"c": v}, block.spec.keep * (v == person["c"]) + (1 - block.spec.keep) / 3) for v in range(3)]
    places, chance = every_output(block, person)
    return [(dict(zip(block.columns, z, strict=True)), p) for z, p in zip(places.T, chance, strict=True)]


def of_outputs(loss, design, made, claimed=None):
    """Return the fit to all outputs of a mechanism, or as if another one had made them."""
    rows = []
    for person, y in itertools.product(people_of(made), responses(loss)):
        often = mean_weight(loss, person["a"] or 0, person["c"] or 0, y)
        for several in itertools.product(*(outputs(block, person) for block in made.blocks)):
            row = dict(pair for values, _ in several for pair in values.items())
            rows.append((row["a"], row["c"], y, often * np.prod([chance for _, chance in several])))
    a, c, y, weight = (np.tile(column, COPIES) for column in np.array(rows, float).T)
    levels = np.array([*LEVELS, None])[np.where(np.isfinite(c), c, 3).astype(int)]
    table = pa.table({"a": pa.array(a, mask=~np.isfinite(a)), "c": levels, "y": y})
    release = vdp.Release.from_frame(table, claimed or made, on_grid=False)
    return vdp.fit(release, design, loss=loss, weights=weight / weight.mean(), engine="serial")


def away(found, loss, design, made):
    """Return how far an estimate is from that of the people, in standard errors."""
    truth = of_people(loss, design, people_of(made))
    return np.abs((np.asarray(found.params) - truth) / np.asarray(found.bse)).max()


@pytest.mark.thinned(4)
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_a_fit_to_all_outputs_is_the_fit_to_the_people(blocks, loss, design):
    made = mechanism(blocks)
    found = of_outputs(loss, design, made)
    assert found.converged
    assert away(found, loss, design, made) < CLOSE


@pytest.mark.parametrize("loss", LOSSES)
def test_a_mechanism_that_did_not_make_the_outputs_is_found_out(loss):
    """With a tenth more noise claimed than there is."""
    made, design = mechanism("separate"), "y ~ a + C(c)"
    claimed = vdp.Mechanism(made.schema, noise={"a": Window(1.8, window=2), "c": Window(1.8)})
    assert away(of_outputs(loss, design, made, claimed), loss, design, made) > 4 * CLOSE
