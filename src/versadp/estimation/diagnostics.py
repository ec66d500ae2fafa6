"""Diagnose a fit: what a solver found is converged, weak, or a failure.

Where every coefficient's curvature stands out from its own sampling error (`diagnostic_statistics.py`), a minimum is an
estimate and its sandwich a covariance. Where one does not, all coefficients of the model get score sets
(`score_sets.py`): one that is strong by itself is still wrong where another that it depends on is. A loss with kinks
keeps its estimate beside them, if its curvature can be seen at all. So does one whose curvature depends on the
coefficients, if it stands out at some value within the interval: to call such a fit weak where the estimate happens to
lie would select estimates. A solver that found no minimum has failed for want of curvature if some curvature where it
ended cannot be told from none: that is weak too. Otherwise it failed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.criterion import PASSES, ByPasses, Combined, Followed, OutOfBudget, affordable, criterion
from versadp.estimation.descent import Slopes, descend
from versadp.estimation.diagnostic_statistics import bias, contrast_test, following, strength
from versadp.estimation.outcome import Outcome
from versadp.estimation.score_sets import ScoreSet, Space, scanned, score_set
from versadp.estimation.thresholds import (
    CURVATURE_REACH,
    LARGEST_BIAS,
    PLAUSIBLE_RANGE,
    SEEN,
    STRENGTH_WITHOUT_BIAS,
    STRONG,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation.moments import Family, Moments
    from versadp.estimation.newton import Fit

    Array = NDArray[np.float64]
    Groups = tuple[NDArray[np.int64], ...]

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
    smooth : bool
        True for a loss whose curvature varies smoothly with the coefficients.
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
    smooth: bool = False

    @property
    def least(self) -> float:
        """The strength below which a coefficient is weak."""
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
    wanted : bool
        True if there are to be score sets.
    """

    fit: Fit
    diagnostics: Diagnostics
    wanted: bool = False
    spread: Space | None = None

    def complete(self) -> Fit:
        """Return the fit with its score sets, if it is to have them, and its specification test."""
        fit, diagnostics = self.fit, self.diagnostics
        if self.spread is not None:
            return replace(fit, sets=_sets(diagnostics, diagnostics.weights(fit), self.spread, seen=False))
        if self.wanted:
            fit = replace(fit, sets=score_sets(fit, diagnostics))
        return fit if fit.hessian is None else replace(fit, contrasts=contrast_test(diagnostics.tested, fit.theta))


def diagnose(fit: Fit, diagnostics: Diagnostics) -> Diagnosis:
    """Return the diagnosis of a fit: an estimate, a weak one or a failure, without its score sets."""
    if not fit.converged:
        return _failure(fit, diagnostics)
    return Diagnosis(fit, diagnostics) if fit.hessian is None else _minimum(fit, diagnostics)


def score_sets(fit: Fit, diagnostics: Diagnostics) -> tuple[ScoreSet, ...]:
    """Return the score sets of a minimum, weak or not."""
    eigenvalue, vectors = np.linalg.eigh(fit.cov)
    space = Space(fit.theta, vectors * np.sqrt(np.maximum(eigenvalue, 1e-12 * eigenvalue[-1])))
    t = np.zeros(1) if fit.strength is None else fit.strength
    seen = bool((t >= SEEN).all())
    if seen and (not diagnostics.bends or (fit.converged and bool((t < STRONG).any()))):
        return _followed_sets(fit, diagnostics, space)
    return _sets(diagnostics, diagnostics.weights(fit), space, seen=seen)


def _followed_sets(fit: Fit, diagnostics: Diagnostics, space: Space) -> tuple[ScoreSet, ...]:
    """Return the score sets of a minimum whose curvature is seen, in few passes."""
    assert fit.hessian is not None
    scores = ByPasses(Combined(diagnostics.family, diagnostics.weights(fit), diagnostics.groups), PASSES)
    profiles = (Followed(scores, fit.hessian, *space.across(each), space.origin) for each in diagnostics.coefficients)
    return tuple(
        scanned(profile, each, seen=True) for profile, each in zip(profiles, diagnostics.coefficients, strict=True)
    )


def _minimum(fit: Fit, diagnostics: Diagnostics) -> Diagnosis:
    assert fit.hessian is not None
    errors = np.sqrt(
        np.maximum(np.einsum("jp,pq,jq->j", diagnostics.coefficients, fit.cov, diagnostics.coefficients), 0.0)
    )
    along = following(fit.hessian, diagnostics.coefficients, errors if diagnostics.bends else 2 * errors)
    mix = diagnostics.weights(fit)
    t = diagnostics.strength(fit.theta, mix[0], along)
    found, weak = replace(fit, strength=t), replace(fit, strength=t, outcome=Outcome.WEAK)
    # where curvature does not vary at all there is nothing to judge
    if diagnostics.scarce or (_best_within(t, fit, diagnostics, mix[0], along) < diagnostics.least).any():
        return Diagnosis(weak, diagnostics, wanted=True)
    if diagnostics.noisy and diagnostics.bends and (t < STRENGTH_WITHOUT_BIAS).any():
        off = bias(Combined(diagnostics.few, mix, diagnostics.groups), fit, diagnostics.family.source.rows)
        if off is None or (np.abs(diagnostics.coefficients @ off) > LARGEST_BIAS * errors).any():
            return Diagnosis(weak, diagnostics, wanted=True)
        found = replace(found, bias=off)
    return Diagnosis(found, diagnostics, wanted=bool((t < STRONG).any()))


def _best_within(t: Array, fit: Fit, diagnostics: Diagnostics, mix: Array, along: Array) -> Array:
    """Return the best strength of each coefficient within its interval: of one that is strong already, its own."""
    best = t.copy()
    if not diagnostics.smooth or (t < SEEN).any():
        return best
    for j in np.flatnonzero(t < STRONG):
        for shift in (-PLAUSIBLE_RANGE, PLAUSIBLE_RANGE):
            moved = diagnostics.strength(fit.theta + shift * along[j], mix, along[j : j + 1])
            best[j] = max(best[j], moved[0])
    return best


def _failure(fit: Fit, diagnostics: Diagnostics) -> Diagnosis:
    diagnostics, mix = replace(diagnostics, family=diagnostics.small), diagnostics.weights(fit)
    try:
        moments = diagnostics.family.moments(diagnostics.start, mix)
    except ParameterError:
        return Diagnosis(fit, diagnostics)
    space, t = _around(moments, diagnostics, mix)
    if space is None:
        return Diagnosis(fit, diagnostics)
    lost = np.full_like(fit.theta, np.nan)
    weak = replace(fit, theta=lost, strength=np.full(lost.size, t), outcome=Outcome.WEAK)
    return Diagnosis(weak, diagnostics, spread=space)


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


def _sets(diagnostics: Diagnostics, mix: Array, space: Space, *, seen: bool) -> tuple[ScoreSet, ...]:
    p = space.origin.size
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
        return tuple(score_set(q, centre, each, seen=seen, slopes=slopes.values) for each in diagnostics.coefficients)
    except OutOfBudget:
        return (ScoreSet.nothing(),) * p


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
