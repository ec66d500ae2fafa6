"""How far kinks are blurred, coefficient by coefficient: what is judged of it, against raw records."""

import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.correction import Blurs, argument_of
from versadp.correction.series import Place, series
from versadp.engine import as_engine
from versadp.errors import InsecureWarning
from versadp.fitting.blurring import _blind_beyond, _judged, blurred, chosen
from versadp.fitting.models import make_problem
from versadp.fitting.series_start import closed_form, expanded
from versadp.losses import Check, Huber
from versadp.losses.expansion import Expansion
from versadp.noise import Window

TRUTH = np.array([0.0, 1.0, 1.0])


def released(n, seed=0, *, sharp):
    """Release two columns and a public response; `sharp`: errors are skewed, with a scale that falls to a ninth."""
    rng = np.random.default_rng([3, seed])
    x = rng.uniform(-1, 1, (n, 2))
    errors = (rng.gamma(2.0, 1.0, n) - 1.6783469900166605) if sharp else 0.8 * rng.standard_normal(n)
    y = x.sum(axis=1) + ((0.5 + 0.4 * x[:, 0]) if sharp else 1.0) * errors
    schema = vdp.Schema({"x0": vdp.Bounded(-1, 1), "x1": vdp.Bounded(-1, 1), "y": vdp.Public()})
    mechanism = vdp.Mechanism(schema, noise={"x0": Window(4.0), "x1": Window(4.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureWarning)
        release = mechanism.release(pa.table({"x0": x[:, 0], "x1": x[:, 1], "y": y}), insecure_seed=seed)
    return release, x, y


def made(release, loss=None):
    """Return the problem of a median with its series by rule, a start, and the records."""
    problem = make_problem(release, "y ~ x0 + x1", loss or Check(0.5), None, None, free=True)
    sample = problem.sample(problem.source.rows, 0)
    found = expanded(problem, sample, as_engine("serial"), 0)
    assert found is not None
    return *found, sample


def ladder(problem, theta, sample):
    form = closed_form(problem)
    seen = form.prepare(sample, np.random.default_rng(0))
    place = Place(form, seen, theta, argument_of(problem.model.loss), problem.source.rows)
    blurs = problem.expansion.blur * np.sqrt([0.5, 1.0, 2.0, 4.0])
    members = [replace(form, expansion=series(replace(place, blur=b), most=np.inf)[0]) for b in blurs]
    bend = members[1].weighted_scores(seen, theta, hessian=True)[1] / len(seen.m)
    return members, seen, (bend + bend.T) / 2


def test_a_series_is_blind_beyond_the_height_of_its_bump():
    """Of a series that is a step up to some frequency T and nothing beyond, that is T."""
    period, count = 20.0, 30
    base = 2 * np.pi / period
    tau = base * np.arange(1, count + 1)
    assert _blind_beyond(Expansion(base=base, weights=tuple(-2 / period / tau**2))) == pytest.approx(tau[-1])


@pytest.mark.full
def test_what_a_blur_may_shift_is_what_it_shifts():
    """Series at raw records show what they shift; the records that were released tell where, and about how much.

    With errors that are sharp along x0 the widest blur shifts x0 by more than a standard error, the other slope by
    less; with normal errors it shifts nothing. Both are judged from 60,000 released records, within a factor of four.
    """
    for sharp in (True, False):
        release, x, y = released(60_000, sharp=sharp)
        problem, theta, sample = made(release)
        theta = problem.to_fit(TRUTH)
        members, seen, curvature = ladder(problem, theta, sample)
        variance, off = _judged(members, seen, theta, np.linalg.inv(curvature))
        error = np.sqrt(variance[2] / len(x))
        raw = np.column_stack([np.ones(len(x)), x])
        shifted = np.linalg.solve(curvature, problem.scale.T @ (raw.T @ missed(members[2], raw @ TRUTH - y)) / len(x))
        if sharp:
            assert abs(shifted[1]) > error[1]
            assert abs(shifted[2]) < 0.7 * error[2]
            assert 0.25 < np.sqrt(off[2, 1]) / abs(shifted[1]) < 4
        else:
            assert (np.abs(shifted) < 0.7 * error).all()
            assert (np.sqrt(off[2]) < 2.5 * error).all()
        assert np.sqrt(off[2, 2]) < 2.5 * error[2]


def missed(member, v):
    """What a series' derivative is off by at raw residuals."""
    own = member.expansion
    tau = own.base * np.arange(1, len(own.weights) + 1)
    waves = (1j * tau * np.array(own.weights) * np.exp(1j * np.outer(v, tau))).sum(axis=1).real
    return own.linear + own.quadratic * v + waves - ((v > 0) - 0.5)


def test_each_coefficient_has_the_series_that_serves_it():
    sharp, wide = Expansion(blur=1.0), Expansion(blur=2.0)
    curvature = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = chosen([sharp, wide], np.array([[4.0, 4.0], [1.0, 1.0]]), np.array([[0.0, 0.0], [1.0, 9.0]]), curvature)
    assert [each.blur for each in found.expansions] == [1.0, 2.0]
    assert np.allclose(sum(found.shares), np.eye(2))
    inverse, scores = np.linalg.inv(curvature), np.array([[0.3, -2.0], [0.7, 5.0]])
    together = inverse @ sum(share @ score for share, score in zip(found.shares, scores, strict=True))
    assert np.allclose(together, [(inverse @ scores[1])[0], (inverse @ scores[0])[1]])
    alone = chosen([sharp, wide], np.ones((2, 2)), np.array([[0.0, 0.0], [1.0, 1.0]]), curvature)
    assert [each.blur for each in alone.expansions] == [1.0]


@pytest.mark.full
def test_scores_of_one_series_twice_are_its_own():
    release, *_ = released(5_000, sharp=False)
    problem, theta, sample = made(release)
    form, half = closed_form(problem), np.diag([1.0, 0.0, 0.0])
    seen = form.prepare(sample, np.random.default_rng(0))
    one = replace(form, expansion=problem.expansion)
    both = replace(form, blurs=Blurs((problem.expansion,) * 2, (half, np.eye(3) - half), np.zeros(3)))
    for mine, whole in zip(
        both.weighted_scores(seen, theta, hessian=True), one.weighted_scores(seen, theta, hessian=True), strict=True
    ):
        assert np.allclose(mine, whole)


@pytest.mark.full
def test_smooth_errors_are_blurred_more_than_sharp_ones_and_errors_say_so():
    """By rule a blur is a part of the scale; beside it, skewed errors of x0 are told from normal ones."""
    release, *_ = released(60_000, sharp=True)
    problem, theta, sample = made(release)
    found = blurred(problem, theta, sample)
    assert found.blurs.off[1] > 2 * found.blurs.off[2]
    result = vdp.fit(release, "y ~ x0 + x1", loss="check")
    assert "kinks smoothed over" in str(result.summary())
    release, *_ = released(60_000, sharp=False)
    problem, theta, sample = made(release)
    assert max(each.blur for each in blurred(problem, theta, sample).blurs.expansions) > 1.2 * problem.expansion.blur


def test_losses_without_kinks_and_other_arguments_are_left_alone():
    release, *_ = released(5_000, sharp=False)
    problem, theta, sample = made(release, Huber(scale=1.0))
    assert blurred(problem, theta, sample) is problem


@pytest.mark.slow
@pytest.mark.parametrize("sharp", [True, False])
def test_intervals_of_medians_cover(sharp):
    """60 releases; fewer than 44 that cover have a chance of 5e-7 if 93% do, each of six."""
    covered = np.zeros(3)
    for seed in range(60):
        release, *_ = released(50_000, seed, sharp=sharp)
        ends = np.asarray(vdp.fit(release, "y ~ x0 + x1", loss="check").conf_int())
        covered += (ends[:, 0] < TRUTH) & (ends[:, 1] > TRUTH)
    assert (covered >= 44).all()
