"""Approximate the score of a problem by functions that its noise can be undone of, and say where the fit starts.

Candidates stand in a list, and each says whether it serves:

| candidate | serves |
|---|---|
| a series of the loss (`series_start.py`), with a blur per coefficient (`blurring.py`) | an index in closed form |
| the score itself: exact terms, a projection (`projecting.py`), or signed points | anything |

Where a loss with kinks has few signed points, or members that extend it beyond the domain, both serve and one criterion
decides: with v the sandwich variance of a coefficient, predicted from a part of the records where the fits begin and
multiplied by `1 + shift²`, the candidate with the least mean of `log v` is taken.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.correction import CustomModel
from versadp.errors import ParameterError
from versadp.estimation import Family, bandwidths
from versadp.estimation import start as plain_fit
from versadp.estimation.combine import simplex_weights, trace_matrix
from versadp.estimation.newton import definite
from versadp.estimation.sizes import PART_ROWS
from versadp.fitting.blurring import blurred
from versadp.fitting.members import wants_series
from versadp.fitting.methods import DRAWS, forms_of
from versadp.fitting.projecting import raised, without_kinks
from versadp.fitting.series_start import expanded
from versadp.fitting.solver import Members
from versadp.fitting.source import MemorySource
from versadp.noise.points import How

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.engine import Engine
    from versadp.fitting.problem import Problem
    from versadp.fitting.solver import SolverOptions
    from versadp.losses.pilot_line import Line

    Array = NDArray[np.float64]

FEW_POINTS = 100  # points of a record that are cheap to write out


class Pilot(NamedTuple):
    """A part of the records, and the corrected line through them if the loss starts from one."""

    sample: Records
    line: Line | None


class Candidate(NamedTuple):
    """A problem whose score is approximated in one way, and where its fit starts."""

    problem: Problem
    theta: Array

    @property
    def name(self) -> str:
        """Name of the way."""
        return "signed points" if self.problem.expansion is None else "series"

    def variances(self, sample: Records, engine: Engine, seed: int) -> Array:
        """Return predicted variances and squared shifts of coefficients; infinite without curvature."""
        expansion = self.problem.expansion
        return _variances(*self, sample, engine, seed) * (1.0 if expansion is None else 1 + expansion.shift**2)


def approximate(
    problem: Problem,
    options: SolverOptions,
    pilot: Pilot,
    begin: Array | None = None,
    *,
    factor: float = 1.0,
    ladder: bool = True,
) -> Candidate:
    """Return the candidate of least predicted variance, with its approximation refined where the fit starts.

    Parameters
    ----------
    problem : Problem
    options : SolverOptions
    pilot : Pilot
    begin : array (p,), optional
        The user's start.
    factor : float
        By which kinks are smoothed more than by rule.
    ladder : bool
        False blurs kinks by rule for all coefficients: the series that a ladder chooses may hardly bend.
    """
    every: list[Candidate] = []
    for candidate in CANDIDATES:
        if (not every or _has_rival(problem)) and (made := candidate(problem, options, pilot, factor)) is not None:
            every.append(made)
    best, theta = _least_varying(every, pilot.sample, options.engine, options.seed)
    best = blurred(best, theta, pilot.sample) if ladder else best
    return projected(best, theta if begin is None else best.to_fit(check_size(begin, best)), options, pilot)


def _series(problem: Problem, options: SolverOptions, pilot: Pilot, factor: float) -> Candidate | None:
    """Return the problem with a series of its loss."""
    if not options.is_free or not wants_series(problem):
        return None
    found = expanded(problem, pilot.sample, options.engine, options.seed, line=pilot.line, factor=factor)
    if found is None or isinstance(problem.model, CustomModel):  # which has no series
        return None
    if problem.extended and problem.model.loss.smooth:  # one member beside others, which are nearer to begin with
        return Candidate(found[0], _as_it_is(problem, options, pilot, factor).theta)
    return Candidate(*found)


def _as_it_is(problem: Problem, options: SolverOptions, pilot: Pilot, factor: float) -> Candidate:  # noqa: ARG001 - as others
    """Return the problem smoothed as its loss says, and a start: by the line, or by the records in the box."""
    model, units = problem.model, problem.units
    assert not isinstance(model, CustomModel)
    if model.begin is not None:
        return Candidate(problem, model.begin)
    if pilot.line is None:
        wide = bandwidths(model, units, pilot.sample, factor=factor)
        return Candidate(problem.smoothed(*wide), plain_fit(model, units, pilot.sample))
    wide = model.loss.bandwidths_on(pilot.line, factor)
    return Candidate(problem.smoothed(*wide), model.loss.start_on(pilot.line))


CANDIDATES = (_series, _as_it_is)


def _has_rival(problem: Problem) -> bool:
    """Tell whether signed points may vary less than a series: of a kinked loss, with few of them or members."""
    assert not isinstance(problem.model, CustomModel)
    return not problem.model.loss.smooth and (problem.extended or few_points(problem))


def few_points(problem: Problem) -> bool:
    """Tell whether a record has so few signed points that they may be the better correction."""
    return math.prod(block.point_count(How()) for block in problem.blocks) <= FEW_POINTS


def _least_varying(every: list[Candidate], sample: Records, engine: Engine, seed: int) -> Candidate:
    """Return the candidate of least predicted variance; of several it says what was predicted of the next."""
    if len(every) == 1:
        return every[0]
    if sample.rows > PART_ROWS:
        rng = np.random.default_rng([seed, 0xC401])
        sample = sample.take(np.sort(rng.choice(sample.rows, PART_ROWS, replace=False)))
    with np.errstate(divide="ignore"):
        errors = [float(np.log(each.variances(sample, engine, seed)).mean() / 2) for each in every]
    order = np.argsort(errors, kind="stable")
    if not np.isfinite(errors[order[0]]):
        return every[0]
    (best, next_best), ratio = (every[k] for k in order[:2]), float(np.exp(errors[order[1]] - errors[order[0]]))
    told = f"would have {ratio:.3g} times the standard error" if math.isfinite(ratio) else "has no curvature"
    return Candidate(best.problem.approximated(taken=f"{best.name}, for {next_best.name} {told}"), best.theta)


def _variances(problem: Problem, theta: Array, sample: Records, engine: Engine, seed: int) -> Array:
    """Return the sandwich variances at a theta; infinite without curvature."""
    forms = forms_of(problem, "efficient", None, DRAWS, sample.rows)
    family = Family(forms, MemorySource((sample,)), problem.model.size, engine, seed)
    mix = np.ones(len(family.names))
    if mix.size > 1:  # members in equal parts but the widest, then by their weights
        mix[-1] = 0.0
        first = family.moments(theta, mix / mix.sum())
        if not definite(first.hessian):
            return np.full(theta.size, np.inf)
        every = family.moments(theta, np.eye(mix.size), hessian=False)
        mix = simplex_weights(trace_matrix(every, first.hessian, np.arange(theta.size)))
    now = family.moments(theta, mix)
    return np.asarray(np.diag(now.covariance())) if definite(now.hessian) else np.full(theta.size, np.inf)


def check_size(begin: Array, problem: Problem) -> Array:
    """Return a user's start, if it has one number per coefficient."""
    if begin.size != len(problem.names):
        raise ParameterError(
            f"start has {begin.size} numbers, but the model has {len(problem.names)} coefficients",
            hint=f"one for each of {', '.join(problem.names)}",
        )
    return begin


def projected(problem: Problem, theta: Array, options: SolverOptions, pilot: Pilot) -> Candidate:
    """Return a problem that is projected with its degrees, and a start: a first answer tells which degrees serve."""
    if problem.degrees is None:
        return Candidate(problem, theta)
    (sample, line), engine, seed = pilot, options.engine, options.seed
    problem = raised(without_kinks(problem, line), theta, sample, engine, seed=seed, line=line)
    first = Members.of(problem, options, sample).solve_single(theta)
    theta = first.theta if first.converged else theta
    return Candidate(raised(problem, theta, sample, engine, seed=seed, line=line), theta)
