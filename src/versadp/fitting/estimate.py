"""Solve a problem: approximate its score, combine members, solve, and diagnose what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp.estimation import diagnose
from versadp.estimation.sizes import SAMPLE_ROWS
from versadp.fitting.attempts import attempts, check_size, prepare
from versadp.fitting.coarse import refuse_coarse
from versadp.fitting.quantile import smoothed_quantile
from versadp.fitting.report import FitReport
from versadp.fitting.solver import Members, solve_linear

if TYPE_CHECKING:
    from versadp.correction import Records
    from versadp.estimation import Diagnosis, Fit
    from versadp.fitting.problem import Problem
    from versadp.fitting.solver import SolverOptions
    from versadp.inputs import Array


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
    return FitReport(members.problem, fit, sample, diagnosis.diagnostics, {"correction": said} if said else {})


def _said(members: Members) -> str:
    """Return the correction of one member: which of two was taken, or its terms and what they may shift."""
    forms = members.family.forms
    return members.problem.approximation.taken or (getattr(forms[0], "said", "") if len(forms) == 1 else "")


def _solved(
    problem: Problem, options: SolverOptions, begin: Array | None, sample: Records
) -> tuple[Members, Fit, Diagnosis]:
    """Return members, the fit of the first attempt that finds a minimum, or of the last, and its diagnosis."""
    problem, pilot = prepare(problem, options, sample)
    if options.is_free and begin is None and (linear := solve_linear(problem, options, sample)) is not None:
        members, found, start = linear
        return members, found, diagnose(found, members.diagnostics(start, None))
    for ladder in (True, False):  # sharp series may hardly bend: then all coefficients are blurred by rule
        for approximated, start in attempts(problem, options, begin, pilot, ladder=ladder):
            members = Members.of(approximated, options, sample)
            found = members.solve(start)
            if found.converged:
                break
        diagnosis = diagnose(found, members.diagnostics(start, pilot.line))
        if diagnosis.fit.converged or members.problem.blurs is None:
            break
    return members, found, diagnosis


def _quantile(problem: Problem, options: SolverOptions, begin: Array | None, sample: Records) -> FitReport:
    """Return a quantile of a column or of a function of records."""
    assert problem.quantile is not None
    if begin is not None:
        check_size(begin, problem)
    smoothed = smoothed_quantile(problem, problem.quantile) if options.is_free and problem.blocks else None
    if smoothed is not None:
        return FitReport(problem, smoothed.fit, sample, notes=smoothed.said)
    return FitReport(problem, Members.of(problem, options, sample).solve_quantile(problem.quantile), sample)
