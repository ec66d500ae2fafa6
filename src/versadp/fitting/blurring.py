"""Blur of a loss with kinks, coefficient by coefficient: as wide as its curvature does not change.

A series is blind beyond some frequency T (`correction/series.py`), and what it misses of the score, as a function of a
shift t of the line, is made of waves beyond T. So with B_j(t) what a blur adds to the score of coefficient j,

    |B_j|  is about  |B_j'|/T,        B_j'(t) = what it adds to E m_j f(t | x), the curvature along the constant:

a wave over its slope is one over its frequency. Scores vary too much for B to be seen in them. Curvatures tell: the
difference of two blurs, in the score, has a slope that varies far less than it does itself. A wave has its slope at two
places a quarter of a wave apart with squares that add up to its height, whatever its phase. So of a ladder of blurs √2
apart, with D the difference between a blur and the next of the slopes over the quarters before and after the line,

    off_j² = MORE Σ_± (V^-1 D_±)_j² / T²,       and off_j no less than half that of a sharper blur.

What the next has more is what this one has where bias doubles from one to the next; MORE is for bias that grows by 1.8.
What sampling adds to the squares is left in them. For each coefficient the blur is taken that has the least variance +
off², and that is its variance.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import Blurs, CustomModel, argument_of
from versadp.correction.argument import Residual
from versadp.correction.series import Place, ladder
from versadp.fitting.series_start import closed_form
from versadp.losses.pilot_line import lift_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from versadp.correction import Records, Terms
    from versadp.correction.layers import Layers
    from versadp.fitting.problem import Problem
    from versadp.losses.expansion import Expansion

    Array = NDArray[np.float64]

LADDER = tuple(2 ** (step / 2) for step in (-1, 0, 1, 2))  # of the blur by rule; the last is for comparison only
RULE = 1  # its place
MORE = 1.5  # factor of off²: bias that grows by 1.8 from a blur to the next
GUARD = 0.25  # share of a sharper blur's off² that a wider one has at least


def blurred(problem: Problem, theta: Array, sample: Records) -> Problem:
    """Return a problem whose kinks are blurred as far as serves each coefficient; others as they are.

    Parameters
    ----------
    problem : Problem
        With a series of its loss.
    theta : array (p,)
        Where its fit begins.
    sample : Records
        All records, or a random part.
    """
    expansion, model = problem.expansion, problem.model
    if expansion is None or not expansion.blur or isinstance(model, CustomModel) or not model.loss.kinked:
        return problem
    form, argument = closed_form(problem), argument_of(model.loss)
    if form is None or not isinstance(argument, Residual):
        return problem
    seen = form.prepare(sample, np.random.default_rng(0))
    place = Place(form, seen, theta, argument, problem.source.rows)
    found = ladder(place, [step * expansion.blur for step in LADDER])
    members = [replace(form, expansion=each) for each in found]
    bend = members[RULE].weighted_scores(seen, theta, hessian=True)[1] / len(seen.m)
    curvature = (bend + bend.T) / 2
    if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature)[0] <= 0:
        return problem
    variance, off = _judged(members, seen, theta, np.asarray(np.linalg.inv(curvature)))
    blurs = chosen(found[:-1], variance / problem.source.rows, off, curvature)
    return problem.approximated(expansion=blurs.expansions[0], blurs=blurs)


def _judged(members: Sequence[Terms], seen: Layers, theta: Array, inverse: Array) -> tuple[Array, Array]:
    """Return the variance of one record's influence, and the squares of what a blur may shift, of all but the last."""
    height = np.array([_blind_beyond(member.expansion) for member in members])
    quarter = np.pi / 2 / height[RULE]
    lift = lift_of(seen.m)
    if lift is None:  # the line cannot be moved by 1, but nearly so
        share = np.ones(len(seen.m)) if seen.weight is None else seen.weight
        lift = np.asarray(np.linalg.solve(seen.squares, share @ seen.m))
    before, variance, square = None, np.empty(0), np.zeros((len(members) - 1, theta.size))
    for step in (-1, 0, 1):
        at = theta + step * quarter * lift
        scores = members[0].member_scores(tuple(member.expansion for member in members), seen, at)
        now = np.stack([score @ inverse for score in scores])
        if before is not None:
            slope = np.diff(now - before, axis=0) / quarter
            square += slope.mean(axis=1) ** 2
        variance, before = (now[:-1].var(axis=1) if step == 0 else variance), now
    off = MORE * square / height[:-1, None] ** 2
    for sharper, wider in pairwise(off):
        np.maximum(wider, GUARD * sharper, out=wider)
    return variance, off


def _blind_beyond(expansion: Expansion) -> float:
    """Return the frequency beyond which a series knows nothing: π times the height of its second derivative."""
    tau = complex(expansion.base).real * np.arange(1.0, len(expansion.weights) + 1)
    return float(np.pi * (tau**2 @ np.abs(expansion.weights)))


def chosen(expansions: Sequence[Expansion], variance: Array, off: Array, curvature: Array) -> Blurs:
    """Return for each coefficient the series with the least variance and square of what it may be off by.

    Parameters
    ----------
    expansions : sequence of Expansion
        The sharpest first.
    variance, off : array (members, p)
        Of coefficients, and the square of what blurring may shift them by.
    curvature : array (p, p)

    Examples
    --------
    >>> from versadp.losses.expansion import Expansion
    >>> sharp, wide = Expansion(blur=1.0), Expansion(blur=2.0)
    >>> variance, off = np.array([[4.0, 4.0], [1.0, 1.0]]), np.array([[0.0, 0.0], [1.0, 9.0]])
    >>> found = chosen([sharp, wide], variance, off, np.eye(2))
    >>> [each.blur for each in found.expansions], found.off.tolist()
    ([1.0, 2.0], [1.0, 0.0])
    """
    best, size = (variance + off).argmin(axis=0), len(curvature)
    used = np.unique(best)
    inverse = np.linalg.inv(curvature)
    shares = tuple(np.eye(size) if used.size == 1 else (curvature * (best == k)) @ inverse for k in used)
    return Blurs(tuple(expansions[k] for k in used), shares, np.sqrt(off[best, np.arange(size)]))
