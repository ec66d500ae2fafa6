"""Solve a problem: approximate its score, combine members, solve, and diagnose what was found.

A score that is linear in the coefficients is solved at once. Any other is approximated (`approximate.py`), and solved
from the start that comes with it. A loss with kinks that has no minimum is tried again, smoothed twice as wide; a
user's loss is tried from where the user starts, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import CustomModel
from versadp.estimation import Fit, Outcome, descend, diagnose, influence_scale
from versadp.estimation.sizes import SAMPLE_ROWS
from versadp.estimation.thresholds import SEEN
from versadp.fitting.approximate import Candidate, Pilot, approximate, check_size, projected
from versadp.fitting.basis import in_basis
from versadp.fitting.coarse import refuse_coarse
from versadp.fitting.line import corrected_line, tamed
from versadp.fitting.projecting import begun
from versadp.fitting.quantile import smoothed_quantile
from versadp.fitting.report import FitReport
from versadp.fitting.scale import scaled
from versadp.fitting.series_start import line_in_closed_form, moves_few
from versadp.fitting.solver import Members, solve_linear, with_controls
from versadp.fitting.totals import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from versadp.correction import Records
    from versadp.estimation import Diagnosis
    from versadp.fitting.problem import Problem
    from versadp.fitting.solver import SolverOptions
    from versadp.inputs import Array
    from versadp.losses.pilot_line import Line

STEP = 0.5  # of a user's loss: width of differences of its score, in standard deviations of an influence times n^-0.2
WIDER = 2.0  # factor of the smoothing of a second attempt: chosen


def estimate(problem: Problem, options: SolverOptions, begin: Array | None = None) -> FitReport:
    """Return the fit of a problem, with its diagnosis.

    Parameters
    ----------
    problem : Problem
    options : SolverOptions
    begin : array (p,), optional
        The user's start.
    """
    sample = problem.sample(min(SAMPLE_ROWS, problem.source.rows), options.seed, options.engine)
    if problem.quantile is not None:
        return _quantile(problem, options, begin, sample)
    members, found, diagnosis = _solved(problem, options, begin, sample)
    fit = diagnosis.complete()
    if options.method != "naive" and found.converged:
        refuse_coarse(members.problem, found, sample)
    said = _said(members)
    notes = ({"correction": said} if said else {}) | words(members.problem, fit, members.family)
    return FitReport(members.problem, fit, sample, diagnosis.diagnostics, notes)


def _said(members: Members) -> str:
    """Return the correction of one member: which of two was taken, or its terms and what they may shift."""
    forms = members.family.forms
    return members.problem.approximation.taken or (forms[0].said if len(forms) == 1 else "")


def _solved(
    problem: Problem, options: SolverOptions, begin: Array | None, sample: Records
) -> tuple[Members, Fit, Diagnosis]:
    """Return members, the fit of the first attempt that finds a minimum, or of the last, and its diagnosis."""
    problem = in_basis(problem, sample)
    if options.is_free and begin is None and (linear := solve_linear(problem, options, sample)) is not None:
        members, found, start = linear
        members, found = with_controls(members, found)
        return members, found, diagnose(found, members.diagnostics(start, None))
    problem, pilot = _with_pilot(problem, options, sample)
    for ladder in (True, False):  # sharp series may hardly bend: then all coefficients are blurred by rule
        for approximated, start in _attempts(problem, options, begin, pilot, ladder=ladder):
            members = Members.of(approximated, options, sample)
            found = members.solve(start)
            if left := members.left_series(found):
                found = Fit.failed(found.theta, Outcome.DIVERGED, found.n)
            if found.converged:
                members, found = with_controls(members, found)
                break
        diagnosis = diagnose(found, members.diagnostics(start, pilot.line))
        if not _known_beside_weak(members, diagnosis.fit, left=left):
            lost = Fit.failed(found.theta, Outcome.INDEFINITE, found.n) if found.converged else found
            diagnosis = diagnose(lost, diagnosis.diagnostics, elsewhere=False)
        if diagnosis.fit.converged or members.problem.blurs is None:
            break
    return members, found, diagnosis


def _known_beside_weak(members: Members, fit: Fit, *, left: bool) -> bool:
    """Tell whether the strong coefficients of an estimate can be told beside its weak ones.

    A weak coefficient may be anything, and a series is near the loss only where the index is known: so it must move
    the index of few records. Without a weak one the estimate is none if its series was `left`.
    """
    if members.problem.expansion is None or fit.strength is None or not np.isfinite(fit.cov).all():
        return True
    weak = np.flatnonzero(fit.strength < SEEN)
    return moves_few(members.problem, members.sample, weak) if weak.size else not left


def _with_pilot(problem: Problem, options: SolverOptions, sample: Records) -> tuple[Problem, Pilot]:
    """Return the problem with its scale and first degrees, and its pilot."""
    problem = begun(problem) if options.is_free else problem
    line = _pilot_line(problem, options, sample)
    problem, line = scaled(problem, line, sample, options.engine, options.seed, method=options.method)
    return problem, Pilot(sample, line)


def _pilot_line(problem: Problem, options: SolverOptions, sample: Records) -> Line | None:
    """Return the corrected line, if the loss starts from one and there is something to correct."""
    model = problem.model
    if isinstance(model, CustomModel) or not model.loss.by_line or not problem.blocks or options.method == "naive":
        return None
    if options.is_free and (line := line_in_closed_form(problem, tamed(problem, sample))) is not None:
        return line
    return corrected_line(problem, sample, options.engine, options.seed, getattr(model.loss, "tau", 0.5))


def _attempts(
    problem: Problem, options: SolverOptions, begin: Array | None, pilot: Pilot, *, ladder: bool
) -> Iterator[Candidate]:
    """Yield approximated problems, each with a start, the best first."""
    if isinstance(problem.model, CustomModel):
        assert begin is not None
        for factor, descending in ((1.0, True), (WIDER, True), (1.0, False)):
            attempt = _differenced(problem, problem.model, pilot.sample, begin, factor, descending=descending)
            yield projected(*attempt, options, pilot)
        return
    for factor in (1.0, WIDER) if problem.model.loss.kinked else (1.0,):
        yield approximate(problem, options, pilot, begin, factor=factor, ladder=ladder)


def _differenced(
    problem: Problem, model: CustomModel, sample: Records, begin: Array, factor: float, *, descending: bool
) -> Candidate:
    """Return a user's loss with steps for differences of its score, and a start from a descent on plain records."""
    theta = descend(model, problem.units, sample, begin) if descending else begin
    # several plain standard errors: wide enough for kinks to be averaged over, narrow enough for curvature
    scale = influence_scale(model, problem.units, sample, theta)
    steps = factor * STEP * problem.source.rows**-0.2 * scale
    return Candidate(replace(problem, model=replace(model, steps=steps)), theta)


def _quantile(problem: Problem, options: SolverOptions, begin: Array | None, sample: Records) -> FitReport:
    """Return a quantile of a column or of a function of records."""
    assert problem.quantile is not None
    if begin is not None:
        check_size(begin, problem)
    smoothed = smoothed_quantile(problem, problem.quantile) if options.is_free and problem.blocks else None
    if smoothed is not None:
        return FitReport(problem, smoothed.fit, sample, notes=smoothed.said)
    return FitReport(problem, Members.of(problem, options, sample).solve_quantile(problem.quantile), sample)
