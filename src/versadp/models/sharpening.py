"""Whether densities are as smooth as a loss with kinks was blurred: if not, it is blurred less.

A series of a loss with kinks takes the density of its argument, given the columns, to be as smooth as a normal one with
a standard deviation of `blur` (`correction/series.py`). The rule for it knows the scale of all residuals; where that
changes with the columns some densities are sharper than any rule would guess. What is blurred away of them is missing
in the curvature first. So with V(b) the corrected curvature of the series for a blur b, and a_j as in `strength.py`,

    z_j = mean / (sd / √n)   of   a_j' [V_i(b) - V_i(1.5 b)] a_j

is looked at: where some |z_j| is above 2.5, b is taken a fifth less, as long as windows have left what that needs. And
where it was, densities are no smoother than can be seen: b is taken a fifth less once more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import argument_of
from versadp.correction.series import Place, series
from versadp.errors import ParameterError
from versadp.estimation.strength import following
from versadp.models.expanding import closed_form

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Expanded, Records
    from versadp.models.problem import Problem

    Array = NDArray[np.float64]

WIDER, SHARPER = 1.5, 0.8
TELLING = 2.5
LOTS = 40  # of records, whose mean curvatures are held against each other
TURNS = 6


def sharpened(problem: Problem, theta: Array, sample: Records) -> Problem:
    """Return a problem whose series is blurred no more than the densities that it meets are.

    Parameters
    ----------
    problem : Problem
        With a series of its loss.
    theta : array (p,)
        Where its fit begins.
    sample : Records
        All records, or a random part.
    """
    form, expansion = closed_form(problem), problem.expansion
    if form is None or expansion is None or not expansion.blur:
        return problem
    argument = argument_of(form.model.loss)
    assert argument is not None
    place = Place(form, form.prepare(sample, np.random.default_rng(0)), theta, argument, problem.source.rows)
    now = replace(form, expansion=expansion)
    for _ in range(TURNS):
        blur, before = now.expansion.blur, now.expansion is not expansion
        try:
            wide, sharper = (
                replace(form, expansion=series(replace(place, blur=f * blur))[0]) for f in (WIDER, SHARPER)
            )
        except ParameterError:  # so much, or so little, is none of the loss
            break
        sharp = _apart(now, wide, sample, theta)
        # a series is blurred more than it was asked to be where windows have erased the rest
        if sharper.expansion.blur >= blur or not (sharp or before):
            break
        now = sharper
        if not sharp:
            break
    return replace(problem, expansion=now.expansion)


def _apart(one: Expanded, other: Expanded, sample: Records, theta: Array) -> bool:
    """Tell whether the curvatures of two series differ by more than they vary."""
    order = np.random.default_rng(0).permutation(sample.rows)
    lots = [sample.take(np.sort(some)) for some in np.array_split(order, min(LOTS, sample.rows))]
    bends = np.array([[_curvature(form, lot, theta) for form in (one, other)] for lot in lots])
    mean = bends[:, 0].mean(axis=0)
    if np.linalg.eigvalsh(mean)[0] <= 0:
        return False
    along = following(mean, np.eye(theta.size), np.ones(theta.size))
    each = np.einsum("jp,lpq,jq->lj", along, bends[:, 0] - bends[:, 1], along)
    return bool((np.abs(each.mean(axis=0)) > TELLING * each.std(axis=0, ddof=1) / np.sqrt(len(lots))).any())


def _curvature(form: Expanded, records: Records, theta: Array) -> Array:
    seen = form.prepare(records, np.random.default_rng(0))
    return np.asarray(form.weighted_scores(seen, theta, hessian=True)[1] / seen.total)
