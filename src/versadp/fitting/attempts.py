"""Attempts at a fit: approximations of the score that can be undone, each with a start.

A score is taken as it is, as a series (`approximate.py`, `blurring.py`), as a projection (`projecting.py`), or smoothed
for signed points. A loss with kinks that has no minimum is tried again, smoothed twice as wide; a user's loss is tried
from where the user starts, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from versadp.correction import CustomModel
from versadp.errors import ParameterError
from versadp.estimation import bandwidths, descend, influence_scale
from versadp.estimation import start as plain_fit
from versadp.fitting.approximate import expanded, few_points, less_varying, line_in_closed_form
from versadp.fitting.basis import in_basis
from versadp.fitting.blurring import blurred
from versadp.fitting.line import corrected_line, tamed
from versadp.fitting.members import wants_series
from versadp.fitting.projecting import begun, raised, without_kinks
from versadp.fitting.scale import scaled
from versadp.fitting.solver import Members

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.fitting.problem import Problem
    from versadp.fitting.solver import SolverOptions
    from versadp.losses.pilot_line import Line

    Array = NDArray[np.float64]

STEP = 0.5  # of a user's loss: width of differences of its score, in standard deviations of an influence times n^-0.2
WIDER = 2.0  # factor of the smoothing of a second attempt: chosen


class Pilot(NamedTuple):
    """A part of the records, and the corrected line through them if the loss starts from one."""

    sample: Records
    line: Line | None


def prepare(problem: Problem, options: SolverOptions, sample: Records) -> tuple[Problem, Pilot]:
    """Return the problem in a basis and with a scale that serve its fit, and its pilot."""
    problem = in_basis(problem, sample)
    problem = begun(problem) if options.is_free else problem
    line = _pilot_line(problem, options, sample)
    problem, line = scaled(problem, line, sample, options.engine, options.seed, method=options.method)
    return problem, Pilot(sample, line)


def attempts(
    problem: Problem, options: SolverOptions, begin: Array | None, pilot: Pilot, *, ladder: bool
) -> Iterator[tuple[Problem, Array]]:
    """Yield approximated problems, each with a start, the best first.

    Parameters
    ----------
    problem : Problem
    options : SolverOptions
    begin : array (p,), optional
        The user's start.
    pilot : Pilot
    ladder : bool
        False blurs kinks by rule for all coefficients: the series that a ladder chooses may hardly bend.
    """
    if isinstance(problem.model, CustomModel):
        assert begin is not None
        for factor, descending in ((1.0, True), (WIDER, True), (1.0, False)):
            attempt = _differenced(problem, problem.model, pilot.sample, begin, factor, descending=descending)
            yield _projected(*attempt, options, pilot)
        return
    for factor in (1.0, WIDER) if problem.model.loss.kinked else (1.0,):
        found, theta = _approximated(problem, options, pilot, factor)
        found = blurred(found, theta, pilot.sample) if ladder else found
        theta = theta if begin is None else found.to_fit(check_size(begin, found))
        yield _projected(found, theta, options, pilot)


def check_size(begin: Array, problem: Problem) -> Array:
    """Return a user's start, if it has one number per coefficient."""
    if begin.size != len(problem.names):
        raise ParameterError(
            f"start has {begin.size} numbers, but the model has {len(problem.names)} coefficients",
            hint=f"one for each of {', '.join(problem.names)}",
        )
    return begin


def _pilot_line(problem: Problem, options: SolverOptions, sample: Records) -> Line | None:
    """Return the corrected line, if the loss starts from one and there is something to correct."""
    model = problem.model
    if isinstance(model, CustomModel) or not model.loss.by_line or not problem.blocks or options.method == "naive":
        return None
    if options.is_free and (line := line_in_closed_form(problem, tamed(problem, sample))) is not None:
        return line
    return corrected_line(problem, sample, options.engine, options.seed, getattr(model.loss, "tau", 0.5))


def _differenced(
    problem: Problem, model: CustomModel, sample: Records, begin: Array, factor: float, *, descending: bool
) -> tuple[Problem, Array]:
    """Return a user's loss with steps for differences of its score, and a start from a descent on plain records."""
    theta = descend(model, problem.units, sample, begin) if descending else begin
    # several plain standard errors: wide enough for kinks to be averaged over, narrow enough for curvature
    scale = influence_scale(model, problem.units, sample, theta)
    steps = factor * STEP * problem.source.rows**-0.2 * scale
    return replace(problem, model=replace(model, steps=steps)), theta


def _approximated(problem: Problem, options: SolverOptions, pilot: Pilot, factor: float) -> tuple[Problem, Array]:
    """Return the problem with the terms that are near its score, or smoothed for signed points, and a start."""
    sample, line = pilot
    closed = None
    if options.is_free and wants_series(problem):
        closed = expanded(problem, sample, options.engine, options.seed, line=line, factor=factor)
    if closed is None:
        return _smoothed(problem, pilot, factor)
    assert not isinstance(problem.model, CustomModel)  # which has no series
    smooth = problem.model.loss.smooth
    if problem.extended and smooth:  # one member beside others, which are nearer to begin with
        return closed[0], _smoothed(problem, pilot, factor)[1]
    if not smooth and (problem.extended or few_points(problem)):
        points = _smoothed(problem, pilot, factor)
        return less_varying(closed, points, sample, options.engine, options.seed)
    return closed


def _smoothed(problem: Problem, pilot: Pilot, factor: float) -> tuple[Problem, Array]:
    """Return a problem smoothed as its loss says, and a start: by the line, or by the records in the box."""
    model, units = problem.model, problem.units
    assert not isinstance(model, CustomModel)
    if model.begin is not None:
        return problem, model.begin
    if pilot.line is None:
        wide = bandwidths(model, units, pilot.sample, factor=factor)
        return problem.smoothed(*wide), plain_fit(model, units, pilot.sample)
    return problem.smoothed(*model.loss.bandwidths_on(pilot.line, factor)), model.loss.start_on(pilot.line)


def _projected(problem: Problem, theta: Array, options: SolverOptions, pilot: Pilot) -> tuple[Problem, Array]:
    """Return a problem that is projected with its degrees, and a start: a first answer tells which degrees serve."""
    if problem.degrees is None:
        return problem, theta
    (sample, line), engine, seed = pilot, options.engine, options.seed
    problem = raised(without_kinks(problem, line), theta, sample, engine, seed=seed, line=line)
    first = Members.of(problem, options, sample).solve_single(theta)
    theta = first.theta if first.converged else theta
    return raised(problem, theta, sample, engine, seed=seed, line=line), theta
