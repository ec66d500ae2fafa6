"""Draws that belong to a record's place: their law, their independence, and that lots do not matter to them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import versadp as vdp
from versadp.correction import Records, Streams
from versadp.correction.random import FIRST, paces
from versadp.estimation.moments import draw, evaluated
from versadp.fitting.methods import forms_of
from versadp.fitting.models import make_problem

ROWS = 30_000
ALPHA = 1e-4  # of each test of a law: some dozens of them, with seeds that nobody chose


def streams(key=11, first=0):
    return Streams(np.uint64(key), first)


@pytest.mark.parametrize(("count", "dim"), [(1, 1), (5, 1), (1, 2), (6, 3)])
def test_every_draw_is_symmetric_laplace(count, dim):
    """Each column is Laplace of variance 1, whatever the stratum; the radius tells that columns share one W."""
    draws = streams().laplace(np.arange(ROWS), count, dim)
    laplace = stats.laplace(scale=np.sqrt(0.5))
    for j in {0, count - 1}:
        for k in range(dim):
            assert stats.kstest(draws[:, j, k], laplace.cdf).pvalue > ALPHA
            assert stats.kstest(1.1 * draws[:, j, k], laplace.cdf).pvalue < ALPHA  # a wrong scale is seen
        if dim > 1:
            rng = np.random.default_rng(0)
            normal = rng.standard_normal((200_000, dim)) * np.sqrt(rng.standard_exponential((200_000, 1)))
            apart = rng.laplace(0, np.sqrt(0.5), (200_000, dim))  # columns with a W each
            size = np.linalg.norm(draws[:, j], axis=1)
            assert stats.ks_2samp(size, np.linalg.norm(normal, axis=1)).pvalue > ALPHA
            assert stats.ks_2samp(size, np.linalg.norm(apart, axis=1)).pvalue < ALPHA


def test_sizes_are_stratified():
    """Of a record's sizes just one lies in each fifth of their law; which draw has it is left to chance."""
    fifths = np.floor(-5 * np.expm1(-np.abs(streams().laplace(np.arange(ROWS), 5, 1)[..., 0]) * np.sqrt(2)))
    assert np.array_equal(np.sort(fifths, axis=1), np.broadcast_to(np.arange(5), fifths.shape))
    places = [stats.chisquare(np.bincount(fifths[:, j].astype(int), minlength=5)).pvalue for j in range(5)]
    assert min(places) > ALPHA


def test_records_keys_and_kinds_of_draws_have_nothing_in_common():
    numbers = np.arange(ROWS)
    one = streams().laplace(numbers, 2, 2)
    others = {
        "the next record": streams(first=1).laplace(numbers, 2, 2)[:, 0, 0],
        "a record far away": streams(first=2**40).laplace(numbers, 2, 2)[:, 0, 0],
        "another key": streams(12).laplace(numbers, 2, 2)[:, 0, 0],
        "the coin": streams().uniform(numbers),
        "another column": one[:, 0, 1],
        "the coin of the next record": streams(first=1).uniform(numbers),
    }
    ranks = stats.rankdata(one[:, 0, 0])
    for name, other in others.items():
        assert stats.pearsonr(ranks, stats.rankdata(other)).pvalue > ALPHA, name
        assert stats.pearsonr(np.abs(ranks - ROWS / 2), np.abs(other)).pvalue > ALPHA or name == "another column", name
    assert stats.kstest(streams().uniform(numbers), "uniform").pvalue > ALPHA


def test_a_pace_is_a_matter_of_place():
    @dataclass(frozen=True)
    class Paced:
        pace: Callable[[int], dict[str, int]]
        near: int = 7

    form = Paced(lambda rows: {"near": 10**6 // rows})

    def near(before, rows):
        records = Records(np.zeros((rows, 1)), before=before)
        out = np.zeros(rows, dtype=int)
        for own, now in paces(form, records):
            assert not out[own].any()
            out[own] = now.near
        return out

    whole = near(0, 9000)
    assert np.array_equal(whole, np.concatenate([near(0, 10), near(10, 2990), near(3000, 6000)]))
    assert (np.diff(whole) <= 0).all()
    assert whole[0] == whole[FIRST - 1] > whole[FIRST] == whole[2 * FIRST - 1] > whole[2 * FIRST]
    assert (near(None, 50) == 7).all()  # no place, no pace


SCHEMA = vdp.Schema({"x": vdp.Bounded(-1, 1), "c": vdp.Categorical(["a", "b", "c"]), "y": vdp.Public()})
MECHANISM = vdp.Mechanism(SCHEMA, scale=0.4, exact_rate=0.1, keep=0.6)
LACKING = vdp.calibrate(vdp.Schema({"x": vdp.Bounded(-1, 1, nullable=True), "y": vdp.Public()}), epsilon=4)
CASES = [
    ("y ~ x", "squared", "efficient"),
    ("y ~ x", "check", "efficient"),
    ("y ~ x", "squared", "drcl"),
    ("y ~ x", "logistic", "sdrcl"),
    ("y ~ x", "logistic", "sl"),
    ("y ~ np.exp(x) + C(c)", "squared", "efficient"),
    ("y ~ np.exp(x)", "squared", "efficient"),
    ("y ~ x + 1", "squared", "drcl"),  # from windows, and a tenth of x is missing
]


@pytest.mark.parametrize(("formula", "loss", "method"), CASES)
def test_how_records_are_cut_does_not_matter(formula, loss, method):
    """Scores of all records, in one lot and in three; but equal records in two places are not drawn for alike."""
    rng = np.random.default_rng(5)
    rows = 3000
    table = {"x": rng.uniform(-1, 1, rows), "c": rng.choice(["a", "b", "c"], rows), "y": rng.integers(0, 2, rows)}
    frame, mechanism = pd.DataFrame(table), MECHANISM
    if formula == "y ~ x + 1":
        frame, mechanism = frame[["x", "y"]].assign(x=frame["x"].where(rng.random(rows) > 0.1)), LACKING
    release = mechanism.release(frame, shuffle=False, key=bytes(range(32)))
    problem = make_problem(release, formula, vdp.losses.as_loss(loss), None, None)
    ((_, records),) = problem.source.read(problem.source.handles()[0])
    forms = forms_of(problem, method, None, 4, rows)
    theta = np.linspace(0.2, 0.6, problem.model.size)
    mix = np.eye(sum(len(form.names) for form in forms))

    def scores(*cuts):
        found = []
        for number, (start, stop) in enumerate(zip((0, *cuts), (*cuts, rows), strict=True)):
            lot = replace(records.take(np.arange(start, stop)), before=start)
            found.append(evaluated(forms, draw(forms, 3, number, lot), theta, mix, hessian=False)[0])
        return np.concatenate(found)

    whole = scores()
    assert scores(700, 1100) == pytest.approx(whole, rel=1e-9, abs=1e-12)
    twice = replace(records.take(np.arange(700)), before=1024)  # as far into another slab
    again = evaluated(forms, draw(forms, 3, 0, twice), theta, mix, hessian=False)[0]
    assert (np.abs(again - whole[:700]) > 1e-6).any(axis=(1, 2)).mean() > 0.5
