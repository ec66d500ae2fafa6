"""Diagnose a fit: what a solver found is converged, weak, or a failure.

Weakness belongs to a coefficient: one whose curvature cannot be told from none (`SEEN`) has no estimate, and makes the
fit weak; the others keep estimates, standard errors and intervals. Every coefficient of a release with noise has a
score set (`profile_scores.py`): nothing that depends on an estimate decides which kind of interval is given. Scores
that bend are followed pass by pass (`score_sets.py`) for coefficients below `FOLLOWED`.

A solver that found no minimum has failed for want of curvature if some curvature where it started cannot be told from
none: that is weak too. Linear scores have a zero all the same; of others the least criterion is taken for it.
Otherwise the fit failed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.combine import group_step, step_size
from versadp.estimation.criterion import PASSES, ByPasses, Combined, Followed, OutOfBudget, affordable, criterion
from versadp.estimation.descent import Slopes, descend
from versadp.estimation.diagnostic_statistics import bias, contrast_test, strength
from versadp.estimation.outcome import Outcome
from versadp.estimation.profile_scores import Expansion, profile_scores
from versadp.estimation.score_sets import ScoreSet, Space, quantile, scanned, score_set
from versadp.estimation.thresholds import (
    CURVATURE_REACH,
    FOLLOWED,
    LARGEST_BIAS,
    LEVELS,
    SEEN,
    STRENGTH_WITHOUT_BIAS,
    STRONG,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation.moments import Family, Moments
    from versadp.estimation.newton import Fit
    from versadp.estimation.profile_scores import ProfileScores

    Array = NDArray[np.float64]
    Groups = tuple[NDArray[np.int64], ...]

LINEAR = 1e-6  # standard errors that a Newton step may leave, and relative change of a Hessian: rounding
DIFFERENCE_STEP = 1e-3  # along the least curvature: t does not depend on its length where scores are smooth


@dataclass(frozen=True)
class Diagnostics:
    """Records, members and thresholds by which a fit is diagnosed.

    Attributes
    ----------
    family : Family
    few, tested : Family
        The same, or a random part of the records, on which curvature is judged and members are contrasted.
    small : Family
        The same with fewer draws: where there is no minimum, precision would be wasted.
    coefficients : array (p, p)
        The coefficients, a row each, of those that are fitted.
    groups : tuple of index arrays
        Coefficients that share weights.
    start : array (p,)
        Where the solver started.
    bends : bool
        False for a loss that may have kinks: what bends there is what smooths it, and differs from record to record
        too much to be held to the same measure.
    scarce : bool
        True where hardly any record tells of a quantile: then a fit is weak, however it bends.
    noisy : bool
        True where there is noise whose bias of second order is to be taken off.
    noise : bool
        True where there is noise that is undone: intervals are score sets then.
    """

    family: Family
    few: Family
    tested: Family
    small: Family
    coefficients: Array
    groups: Groups
    start: Array
    bends: bool = True
    scarce: bool = False
    noisy: bool = False
    noise: bool = True

    @property
    def least(self) -> float:
        """The strength below which want of curvature explains that there is no minimum."""
        return STRONG if self.bends else SEEN

    def strength(self, theta: Array, weights: Array, along: Array) -> Array:
        """Return t of the curvature along directions."""
        return strength(self.few, theta, weights, along, self.family.source.rows)

    def weights(self, fit: Fit) -> Array:
        """Return the combination of members of each group: the fit's, or all members alike but the widest."""
        if fit.mix is not None:
            return np.atleast_2d(fit.mix)
        members = len(self.family.names)
        equal = np.append(np.ones(members - 1), 0.0) / (members - 1) if members > 1 else np.ones(1)
        return np.tile(equal, (len(self.groups), 1))


@dataclass(frozen=True)
class Diagnosis:
    """A fit with its outcome, without its score sets: of several attempts only the last needs them.

    Attributes
    ----------
    fit : Fit
        With outcome, strength and bias.
    diagnostics : Diagnostics
    spread : Space, optional
        Around which score sets are looked for if there is no minimum.
    profiles : ProfileScores, optional
        Of which score sets are made, if there are to be any.
    """

    fit: Fit
    diagnostics: Diagnostics
    profiles: ProfileScores | None = None
    spread: Space | None = None

    def complete(self) -> Fit:
        """Return the fit with its score sets, if it is to have them, and its specification test."""
        fit, diagnostics = self.fit, self.diagnostics
        if self.spread is not None and self.profiles is None:
            every = np.arange(len(diagnostics.coefficients))
            return replace(fit, sets=_sets(diagnostics, diagnostics.weights(fit), self.spread, every, seen=False))
        if self.profiles is not None:
            fit = replace(fit, sets=score_sets(fit, diagnostics, self.profiles, self.spread))
        if diagnostics.scarce and fit.weak:  # neither an estimate's error nor its curvature is known then
            fit = replace(fit, cov=np.full_like(fit.cov, np.nan))
        return fit if fit.hessian is None else replace(fit, contrasts=contrast_test(diagnostics.tested, fit.theta))


def diagnose(fit: Fit, diagnostics: Diagnostics, *, elsewhere: bool = True) -> Diagnosis:
    """Return the diagnosis of a fit: an estimate, a weak one or a failure, without its score sets.

    Where the solver failed an estimate is looked for `elsewhere`.
    """
    if not fit.converged:
        return _failure(fit, diagnostics, elsewhere=elsewhere)
    return Diagnosis(fit, diagnostics) if fit.hessian is None else _minimum(fit, diagnostics)


def score_sets(
    fit: Fit, diagnostics: Diagnostics, profiles: ProfileScores | None = None, spread: Space | None = None
) -> tuple[ScoreSet, ...]:
    """Return the score sets of a minimum: in closed form, but by passes for weak coefficients of scores that bend."""
    if profiles is None:
        profiles = _profiles(fit, diagnostics)
    found = list(profiles.sets(standard_errors(fit, diagnostics)))
    t = np.zeros(len(found)) if fit.strength is None else fit.strength
    rest = np.flatnonzero(~(profiles.affine | (t >= FOLLOWED)))
    if rest.size:
        by_passes = _sets_by_passes(fit, diagnostics, rest, spread, seen=bool((t >= SEEN).all()))
        for k, each in zip(rest, by_passes, strict=True):
            found[k] = each
    return tuple(found)


def standard_errors(fit: Fit, diagnostics: Diagnostics) -> Array:
    """Return the standard errors of the coefficients."""
    c = diagnostics.coefficients
    return np.asarray(np.sqrt(np.maximum(np.einsum("jp,pq,jq->j", c, fit.cov, c), 0.0)))


def _profiles(fit: Fit, diagnostics: Diagnostics, mean: Array | None = None) -> ProfileScores:
    assert fit.hessian is not None
    scores = Combined(diagnostics.few, diagnostics.weights(fit), diagnostics.groups)
    at, rows = Expansion(fit.theta, fit.hessian), diagnostics.family.source.rows
    return profile_scores(scores, at, diagnostics.coefficients, standard_errors(fit, diagnostics), rows, mean=mean)


def _sets_by_passes(
    fit: Fit, diagnostics: Diagnostics, which: NDArray[np.intp], spread: Space | None, *, seen: bool
) -> tuple[ScoreSet, ...]:
    """Return score sets of some coefficients, looked for pass by pass."""
    eigenvalue, vectors = np.linalg.eigh(fit.cov)
    space = spread or Space(fit.theta, vectors * np.sqrt(np.maximum(eigenvalue, 1e-12 * eigenvalue[-1])))
    if not seen:
        return _sets(diagnostics, diagnostics.weights(fit), space, which, seen=False)
    assert fit.hessian is not None
    scores = ByPasses(Combined(diagnostics.family, diagnostics.weights(fit), diagnostics.groups), PASSES)
    some = diagnostics.coefficients[which]
    profiles = (Followed(scores, fit.hessian, *space.across(each), space.origin) for each in some)
    return tuple(scanned(profile, each, seen=True) for profile, each in zip(profiles, some, strict=True))


def _minimum(fit: Fit, diagnostics: Diagnostics) -> Diagnosis:
    """Return the diagnosis of a zero of the scores: weak where a coefficient's curvature cannot be told from none."""
    profiles = _profiles(fit, diagnostics)
    t, errors = profiles.strength, standard_errors(fit, diagnostics)
    if (~profiles.affine & (t < 0)).any():  # within its own interval it bends downwards: no minimum
        return _failure(replace(fit, outcome=Outcome.INDEFINITE, mix=None), diagnostics)
    outcome = Outcome.WEAK if diagnostics.scarce or (t < SEEN).any() else Outcome.CONVERGED
    found = replace(fit, strength=t, outcome=outcome)
    if diagnostics.noisy and diagnostics.bends and (t < STRENGTH_WITHOUT_BIAS).any():
        off = bias(Combined(diagnostics.few, diagnostics.weights(fit), diagnostics.groups), fit, profiles.rows)
        found = replace(found, bias=None if off is None else _no_more(off, diagnostics.coefficients, errors))
    return Diagnosis(found, diagnostics, profiles if diagnostics.noise or found.weak else None)


def _no_more(off: Array, coefficients: Array, errors: Array) -> Array:
    """Return a bias, of each coefficient no more than terms of second order can tell."""
    most = LARGEST_BIAS * errors
    return np.asarray(np.linalg.solve(coefficients, np.clip(coefficients @ off, -most, most)))


def _failure(fit: Fit, diagnostics: Diagnostics, *, elsewhere: bool = True) -> Diagnosis:
    """Return the diagnosis of a solver without a minimum: weak if it failed for want of curvature."""
    diagnostics = replace(diagnostics, family=diagnostics.small)
    mix = diagnostics.weights(fit)
    try:
        if elsewhere and (zero := _zero_of_line(fit, diagnostics, mix)) is not None:
            return _minimum(zero, diagnostics)
        moments = diagnostics.family.moments(diagnostics.start, mix)
    except (ParameterError, np.linalg.LinAlgError):
        return Diagnosis(fit, diagnostics)
    space, t = _around(moments, diagnostics, mix)
    if space is None:
        return Diagnosis(fit, diagnostics)
    if elsewhere and (near := _nearest(fit, diagnostics, mix, space)) is not None:
        return near
    lost = np.full_like(fit.theta, np.nan)
    weak = replace(fit, theta=lost, strength=np.full(lost.size, t), outcome=Outcome.WEAK)
    return Diagnosis(weak, diagnostics, spread=space)


def _nearest(fit: Fit, diagnostics: Diagnostics, mix: Array, space: Space) -> Diagnosis | None:
    """Return the diagnosis of a weak fit at the least criterion; None if that does not tell known from weak clearly.

    There the scores must be zero up to their error, nothing may bend downwards, and each coefficient must be strong, or
    weak: elsewhere the least criterion may be an artefact of the correction far from the truth.
    """
    family, groups = diagnostics.family, diagnostics.groups
    scores = Combined(family, mix, groups)
    q = criterion(scores, space.origin, space.root.T, affordable(family))

    def residual(w: Array) -> Array | None:
        return q.residual(space.origin + space.root @ w)

    start = np.zeros(space.origin.size)
    try:
        least, found = descend(residual, start, residual(start), Slopes(), enough=0.0)
        theta = space.origin + space.root @ found
        moments = family.moments(theta, mix)
        cov = group_step(moments, groups).cov
    except (ParameterError, OutOfBudget, np.linalg.LinAlgError):
        return None
    near = replace(fit, theta=theta, cov=cov, hessian=moments.hessian, n=moments.n, mix=mix, outcome=Outcome.WEAK)
    profiles = _profiles(near, diagnostics, moments.score.ravel()[scores.place])
    t = profiles.strength
    unclear = (t < -SEEN) | ((t >= SEEN) & (t < STRONG))
    if least > quantile(LEVELS[0]) or unclear.any() or not (t >= STRONG).any():
        return None
    return Diagnosis(replace(near, strength=profiles.strength), diagnostics, profiles, Space(theta, space.root))


def _zero_of_line(fit: Fit, diagnostics: Diagnostics, mix: Array) -> Fit | None:
    """Return the zero of scores that are linear in the coefficients, minimum or not; None of others.

    Where one coefficient's curvature is lost in noise, those of others need not be: their score sets hold.
    """
    family, groups = diagnostics.family, diagnostics.groups
    first = family.moments(diagnostics.start, mix)
    step = group_step(first, groups)
    there = family.moments(diagnostics.start + step.move, mix)
    left = group_step(there, groups)
    if (
        step_size(left.move, left.cov, groups) > LINEAR
        or np.abs(there.hessian - first.hessian).max() > LINEAR * np.abs(first.hessian).max()
    ):
        return None
    theta = diagnostics.start + step.move
    return replace(fit, theta=theta, cov=left.cov, hessian=there.hessian, n=there.n, mix=mix)


def _around(moments: Moments, diagnostics: Diagnostics, mix: Array) -> tuple[Space | None, float]:
    """Return a space around the start in rough standard errors, if some curvature there cannot be told from none."""
    spread = moments.outer[0, :, 0] - np.outer(moments.score[0], moments.score[0])
    values, vectors = _relative(moments.hessian, spread)
    if values is None:
        return None, np.nan
    t = diagnostics.strength(diagnostics.start, mix[0], CURVATURE_REACH * vectors.T)
    if not (np.abs(t) < diagnostics.least).any():
        return None, np.nan
    # curvature, or its error where that is larger
    known = np.maximum(np.abs(values), np.abs(values) / np.maximum(np.abs(t), 1e-6))
    return Space(diagnostics.start, vectors / known / np.sqrt(moments.n)), float(np.abs(t).min())


def _relative(hessian: Array, spread: Array) -> tuple[Array | None, Array]:
    """Return eigenvalues of the Hessian in the metric of the scores' covariance, and vectors: `v'Av = 1`."""
    from scipy.linalg import eigh

    try:
        values, vectors = eigh(hessian, spread)
    except (np.linalg.LinAlgError, ValueError):
        return None, hessian
    return values, vectors


def _sets(
    diagnostics: Diagnostics, mix: Array, space: Space, which: NDArray[np.intp], *, seen: bool
) -> tuple[ScoreSet, ...]:
    p, some = space.origin.size, diagnostics.coefficients[which]
    q = criterion(
        Combined(diagnostics.family, mix, diagnostics.groups),
        space.origin,
        space.root.T,
        affordable(diagnostics.family),
    )

    def residual(w: Array) -> Array | None:
        return q.residual(space.origin + space.root @ w)

    slopes, start = Slopes(), np.zeros(p)
    try:
        _, found = descend(residual, start, residual(start), slopes, enough=0.0)
        centre = Space(space.origin + space.root @ found, space.root)
        return tuple(score_set(q, centre, each, seen=seen, slopes=slopes.values) for each in some)
    except OutOfBudget:
        return (ScoreSet.nothing(),) * len(some)


def sample_size_needed(diagnostics: Diagnostics, rows: int) -> float | None:
    """Return the sample size at which the curvature becomes significant; None where members are combined.

    The strength t in the direction that bends least grows as √n. Where curvature is lost in noise its mean is not
    known, but hardly more than a standard error above what was found: t + 1 in place of t, and that size or more; it
    is infinite where even that is negative.
    """
    family, theta = diagnostics.few, diagnostics.start
    if len(family.names) > 1:
        return None
    hessian = family.moments(theta, np.ones(1)).hessian
    if not np.isfinite(hessian).all():
        return np.inf
    least = np.linalg.eigh(hessian)[1][:, 0]
    t = float(diagnostics.strength(theta, np.ones(1), DIFFERENCE_STEP * least[None])[0])
    return rows * (STRONG / (t + 1)) ** 2 if t > -1 else np.inf
