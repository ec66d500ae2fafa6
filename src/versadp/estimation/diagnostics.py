"""Whether an answer can be trusted: what a solver found is converged, weak, or a failure.

Where every coefficient's curvature stands out from its own sampling error (`strength.py`), a minimum is an estimate and
its sandwich a covariance. Where one does not, all coefficients of the model get score sets (`scoreset.py`): one that is
strong by itself is still wrong where another that it depends on is. A loss with kinks keeps its estimate beside them,
if its curvature can be seen at all. So does one whose curvature depends on the coefficients, if it stands out at some
value within the interval: to call such a fit weak where the estimate happens to lie would select estimates. A solver
that found no minimum has failed for want of curvature if some curvature where it ended cannot be told from none: that
is weak too. Otherwise it failed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.bias import bias
from versadp.estimation.criterion import PASSES, ByPasses, Combined, OutOfBudget, affordable, criterion
from versadp.estimation.descent import Slopes, descend
from versadp.estimation.outcome import Outcome
from versadp.estimation.profile_score import Followed
from versadp.estimation.score_sets import ScoreSet, Space, scanned, score_set
from versadp.estimation.specification import contrast_test
from versadp.estimation.strength import SEEN, STRONG, following, strength

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation.moments import Family, Moments
    from versadp.estimation.newton import Fit

    Array = NDArray[np.float64]
    Groups = tuple[NDArray[np.int64], ...]

PLAIN = 25.0  # strength from which on bias is a small part of a standard error, and not worth a pass
LARGE = 0.5  # standard errors: a bias beyond has terms of higher order, which nobody knows
WITHIN = 2.0  # standard errors: where the truth may lie
REACH = 0.25  # standard deviations of the score, over which curvature is judged where there is no estimate


@dataclass(frozen=True)
class Asked:
    """What is asked of a fit.

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
class Verdict:
    """A fit that was judged, without its score sets: of several attempts only the last needs them.

    Attributes
    ----------
    fit : Fit
        With outcome, strength and bias.
    asked : Asked
    spread : Space, optional
        Around which score sets are looked for if there is no minimum.
    wanted : bool
        True if there are to be score sets.
    """

    fit: Fit
    asked: Asked
    wanted: bool = False
    spread: Space | None = None

    def complete(self) -> Fit:
        """Return the fit with its score sets, if it is to have them, and its specification test."""
        fit, asked = self.fit, self.asked
        if self.spread is not None:
            return replace(fit, sets=_sets(asked, asked.weights(fit), self.spread, seen=False))
        if self.wanted:
            fit = replace(fit, sets=score_sets(fit, asked))
        return fit if fit.hessian is None else replace(fit, contrasts=contrast_test(asked.tested, fit.theta))


def judged(fit: Fit, asked: Asked) -> Verdict:
    """Return what is to be thought of a fit: an estimate, a weak one or a failure; score sets may be had from it."""
    if not fit.converged:
        return _judged_failure(fit, asked)
    return Verdict(fit, asked) if fit.hessian is None else _judged_minimum(fit, asked)


def score_sets(fit: Fit, asked: Asked) -> tuple[ScoreSet, ...]:
    """Return the score sets of a minimum, weak or not."""
    eigenvalue, vectors = np.linalg.eigh(fit.cov)
    space = Space(fit.theta, vectors * np.sqrt(np.maximum(eigenvalue, 1e-12 * eigenvalue[-1])))
    t = np.zeros(1) if fit.strength is None else fit.strength
    seen = bool((t >= SEEN).all())
    if seen and (not asked.bends or (fit.converged and bool((t < STRONG).any()))):
        return _followed_sets(fit, asked, space)
    return _sets(asked, asked.weights(fit), space, seen=seen)


def _followed_sets(fit: Fit, asked: Asked, space: Space) -> tuple[ScoreSet, ...]:
    """Return the score sets of a minimum whose curvature is seen, in few passes."""
    assert fit.hessian is not None
    scores = ByPasses(Combined(asked.family, asked.weights(fit), asked.groups), PASSES)
    profiles = (Followed(scores, fit.hessian, *space.across(each), space.origin) for each in asked.coefficients)
    return tuple(scanned(profile, each, seen=True) for profile, each in zip(profiles, asked.coefficients, strict=True))


def _judged_minimum(fit: Fit, asked: Asked) -> Verdict:
    assert fit.hessian is not None
    errors = np.sqrt(np.maximum(np.einsum("jp,pq,jq->j", asked.coefficients, fit.cov, asked.coefficients), 0.0))
    along = following(fit.hessian, asked.coefficients, errors if asked.bends else 2 * errors)
    mix = asked.weights(fit)
    t = asked.strength(fit.theta, mix[0], along)
    found, weak = replace(fit, strength=t), replace(fit, strength=t, outcome=Outcome.WEAK)
    # where curvature does not vary at all there is nothing to judge
    if asked.scarce or (_best_within(t, fit, asked, mix[0], along) < asked.least).any():
        return Verdict(weak, asked, wanted=True)
    if asked.noisy and asked.bends and (t < PLAIN).any():
        off = bias(Combined(asked.few, mix, asked.groups), fit, asked.family.source.rows)
        if off is None or (np.abs(asked.coefficients @ off) > LARGE * errors).any():
            return Verdict(weak, asked, wanted=True)
        found = replace(found, bias=off)
    return Verdict(found, asked, wanted=bool((t < STRONG).any()))


def _best_within(t: Array, fit: Fit, asked: Asked, mix: Array, along: Array) -> Array:
    """Return the best strength of each coefficient within its interval: of one that is strong already, its own."""
    best = t.copy()
    if not asked.smooth or (t < SEEN).any():
        return best
    for j in np.flatnonzero(t < STRONG):
        for shift in (-WITHIN, WITHIN):
            moved = asked.strength(fit.theta + shift * along[j], mix, along[j : j + 1])
            best[j] = max(best[j], moved[0])
    return best


def _judged_failure(fit: Fit, asked: Asked) -> Verdict:
    asked, mix = replace(asked, family=asked.small), asked.weights(fit)
    try:
        moments = asked.family.moments(asked.start, mix)
    except ParameterError:
        return Verdict(fit, asked)
    space, t = _around(moments, asked, mix)
    if space is None:
        return Verdict(fit, asked)
    lost = np.full_like(fit.theta, np.nan)
    weak = replace(fit, theta=lost, strength=np.full(lost.size, t), outcome=Outcome.WEAK)
    return Verdict(weak, asked, spread=space)


def _around(moments: Moments, asked: Asked, mix: Array) -> tuple[Space | None, float]:
    """Return a space around the start in rough standard errors, if some curvature there cannot be told from none."""
    spread = moments.outer[0, :, 0] - np.outer(moments.score[0], moments.score[0])
    values, vectors = _relative(moments.hessian, spread)
    if values is None:
        return None, np.nan
    t = asked.strength(asked.start, mix[0], REACH * vectors.T)
    if not (np.abs(t) < asked.least).any():
        return None, np.nan
    # curvature, or its error where that is larger
    known = np.maximum(np.abs(values), np.abs(values) / np.maximum(np.abs(t), 1e-6))
    return Space(asked.start, vectors / known / np.sqrt(moments.n)), float(np.abs(t).min())


def _relative(hessian: Array, spread: Array) -> tuple[Array | None, Array]:
    """Return eigenvalues of the Hessian in the metric of the scores' covariance, and vectors: `v'Av = 1`."""
    from scipy.linalg import eigh

    try:
        values, vectors = eigh(hessian, spread)
    except (np.linalg.LinAlgError, ValueError):
        return None, hessian
    return values, vectors


def _sets(asked: Asked, mix: Array, space: Space, *, seen: bool) -> tuple[ScoreSet, ...]:
    p = space.origin.size
    q = criterion(Combined(asked.family, mix, asked.groups), space.origin, space.root.T, affordable(asked.family))

    def residual(w: Array) -> Array | None:
        return q.residual(space.origin + space.root @ w)

    slopes, start = Slopes(), np.zeros(p)
    try:
        _, found = descend(residual, start, residual(start), slopes, enough=0.0)
        centre = Space(space.origin + space.root @ found, space.root)
        return tuple(score_set(q, centre, each, seen=seen, slopes=slopes.values) for each in asked.coefficients)
    except OutOfBudget:
        return (ScoreSet.nothing(),) * p
