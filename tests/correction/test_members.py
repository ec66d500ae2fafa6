"""Several series at once: scores of members that share a pass are those of each by itself, whatever the blocks."""

import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.correction import waves
from versadp.errors import InsecureWarning
from versadp.fitting.models import make_problem
from versadp.fitting.series_start import closed_form
from versadp.losses import Check
from versadp.losses.expansion import Expansion
from versadp.noise import Window
from versadp.noise.closed import turning

ROWS = 700  # more than twice what the compiled loop works on at once, and no multiple of it
COLUMNS = {"a": vdp.Bounded(-1, 1), "b": vdp.Bounded(0, 10), "v": vdp.Bounded(-4, 4), "w": vdp.Public()}
NOISE = {
    "joint": {("a", "b", "v"): Window(8.0)},
    "separate": {"a": Window(5.0), "b": Window(5.0), "v": Window(4.0)},
    "two in one": {("a", "v"): Window(6.0), "b": Window(5.0)},
    "public response": {("a", "b"): Window(6.0)},
}


def prepared(noise, weights=None):
    rng = np.random.default_rng(7)
    a, b, w = rng.uniform(-1, 1, ROWS), rng.uniform(0, 10, ROWS), rng.normal(size=ROWS)
    v = np.clip(a + 0.1 * b + 0.3 * w + rng.normal(size=ROWS), -4, 4)
    columns = COLUMNS | ({"v": vdp.Public()} if noise == "public response" else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureWarning)
        mechanism = vdp.Mechanism(vdp.Schema(columns), noise=NOISE[noise])
        release = mechanism.release(pa.table({"a": a, "b": b, "v": v, "w": w}), insecure_seed=1)
    problem = make_problem(release, "v ~ a + b + w", Check(0.5), weights, None, free=True)
    form = closed_form(problem)
    seen = form.prepare(problem.sample(ROWS, 0), np.random.default_rng(0))
    return form, seen


def several():
    """Series of different lengths, with responses held at different places."""
    rng = np.random.default_rng(8)
    out = []
    for count, blur in ((3, 0.2), (9, 0.3), (5, 0.5)):
        weights = tuple((rng.normal(size=count) + 1j * rng.normal(size=count)) / np.arange(1, count + 1) ** 2)
        held = (-1 - blur, 1 + blur)
        out.append(Expansion(0.2, 0.1, 0.4, weights, (-5.0, 5.0), -0.1, -1.0, blur=blur, held=held))
    return tuple(out)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noise", NOISE)
def test_members_together_have_the_scores_of_each(noise, weighted):
    form, seen = prepared(noise, np.linspace(0.5, 2, ROWS) if weighted else None)
    theta, expansions = np.array([0.1, 0.6, 0.3, -0.2]), several()
    together = form.member_scores(expansions, seen, theta)
    for own, expansion in zip(together, expansions, strict=True):
        alone, _ = replace(form, expansion=expansion).weighted_scores(seen, theta, hessian=False)
        assert np.abs(own - alone).max() < 1e-12 * np.abs(alone).max()


def test_members_that_turn_differently_are_had_one_by_one(monkeypatch):
    form, seen = prepared("joint")
    monkeypatch.setattr(waves, "add_members", None)
    one, other = several()[:2]
    found = form.member_scores((one, replace(other, base=0.5)), seen, np.full(4, 0.2))
    alone, _ = replace(form, expansion=replace(other, base=0.5)).weighted_scores(seen, np.full(4, 0.2), hessian=False)
    assert (found[1] == alone).all()
    assert form.member_scores((), seen, np.full(4, 0.2)) == []


@pytest.mark.parametrize("tau", [0.3 * np.arange(1.0, 65), np.array([0.3, 0.9, 1.0]), np.array([2.0]), np.empty(0)])
def test_waves_by_recurrence_are_waves(tau):
    phase = np.linspace(-20, 20, 101)
    assert np.abs(turning(phase, tau) - np.exp(1j * np.outer(phase, tau))).max(initial=0.0) < 1e-12
