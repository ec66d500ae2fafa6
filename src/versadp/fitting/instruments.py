"""`fit(release, "y ~ x + w | z + w")`: instrumental variables by two-stage least squares, from second moments.

Left of | stand the regressors, right of it all instruments, exogenous regressors among them, as in R's ivreg. One
design holds all of them; its corrected second moments are all that is needed (`estimation/instruments.py`).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from versadp.errors import ParameterError, WeakInstrumentsWarning, find_stacklevel
from versadp.estimation import Outcome
from versadp.estimation.instruments import Instruments
from versadp.estimation.thresholds import FIRST_STAGE_F
from versadp.fitting.job import Job
from versadp.fitting.public_facts import public_levels, public_values
from versadp.fitting.second_moments import joint_moments
from versadp.formula.design import make_design
from versadp.formula.parsing import parse_formula, split_at
from versadp.inference import Results
from versadp.inference.chi_square import ChiSquareTest
from versadp.inference.summary import guarantee
from versadp.inference.trust import Trust

if TYPE_CHECKING:
    from versadp.engine import Engine
    from versadp.estimation import ScoreSet
    from versadp.estimation.instruments import TwoStage
    from versadp.fitting.fit_request import FitRequest
    from versadp.fitting.sample_design import SampleDesign
    from versadp.formula.design import Design
    from versadp.formula.terms import Terms
    from versadp.release.release import Release

EXAMPLE = 'e.g. "wage ~ school + age | distance + age": all instruments, age among them, stand right of |'


class Sides(NamedTuple):
    """The regressors, the instruments, and a formula with all of them."""

    regressors: str
    instruments: str
    joint: str


def has_instruments(formula: object) -> bool:
    """Return True if a formula has a | outside brackets.

    Examples
    --------
    >>> has_instruments("y ~ x | z"), has_instruments("y ~ I((a > 1) | (b > 1))")
    (True, False)
    """
    return isinstance(formula, str) and len(split_at(formula, "|")) > 1


def read_sides(formula: str) -> Sides:
    """Return the three formulas of one with instruments.

    Examples
    --------
    >>> read_sides("y ~ x + w | z + w").joint
    'y ~ x + w + z'
    """
    left, *rest = split_at(formula, "~")
    parts = split_at(rest[0], "|") if len(rest) == 1 else []
    if len(parts) != 2 or not all(part.strip() for part in (left, *parts)):
        raise ParameterError("a formula with instruments has regressors, one | and instruments", hint=EXAMPLE)
    own, other = (f"{left.strip()} ~ {part.strip()}" for part in parts)
    (_, regressors), (_, instruments) = parse_formula(own), parse_formula(other)
    more = [term for term in instruments if term not in regressors]
    if () in more or (() in regressors and () not in instruments):
        raise ParameterError("regressors and instruments have an intercept, or neither has one", hint=EXAMPLE)
    return Sides(own, other, " + ".join([own, *(":".join(term) for term in more)]))


def fit_instruments(request: FitRequest, engine: Engine, make: Any, fit: Any) -> Results:
    """Fit a linear model with instruments.

    Parameters
    ----------
    request : FitRequest
    engine : Engine
    make : callable
        Returns the sample design of a formula.
    fit : callable
        `vdp.fit`, which a job keeps.
    """
    assert request.formula is not None
    sides = read_sides(request.formula)
    if request.method == "likelihood" or request.begin is not None:
        raise ParameterError("a fit with instruments has no likelihood and no start", hint="leave out method and start")
    design = make(formula=sides.joint)
    if design.offset is not None:
        raise ParameterError("a fit with instruments takes no offset", hint="subtract it: I(y - offset) ~ x | z")
    job = Job(replace(request, formula=sides.joint), design, engine, fit)
    regressors = _design(design.release, sides.regressors)
    x, z = regressors.names, _design(design.release, sides.instruments).names
    problem, moments = joint_moments(job)
    known = dict(zip(problem.names, range(len(problem.names)), strict=True))
    if not {*x, *z} <= set(known):
        raise ParameterError("levels of a category are coded differently on both sides of |", hint=EXAMPLE)
    if len(z) < len(x):
        raise ParameterError(
            f"{len(x)} coefficients need as many instruments, and there are {len(z)}",
            hint=f"{EXAMPLE}; exogenous regressors are their own instruments",
        )
    model = Instruments(moments, [known[name] for name in x], [known[name] for name in z])
    return _results(request, design, model, regressors.terms, z)


def _design(release: Release, formula: str) -> Design:
    """Return the design of a formula."""
    facts = (partial(public_levels, release), partial(public_values, release))
    return make_design(formula, release.mechanism.schema, *facts)


def _results(
    request: FitRequest, design: SampleDesign, model: Instruments, terms: Terms, z: tuple[str, ...]
) -> Results:
    """Return two-stage least squares as the user sees it."""
    found, x, own = model.solve(), terms.names, request.method
    endogenous = [name for name in x if name not in z]
    facts = {"instruments": ", ".join(name for name in z if name not in x) or "none: all regressors are exogenous"}
    if endogenous:
        stages = zip(endogenous, found.first, strict=True)
        facts["first stage"] = ", ".join(f"F {stage.f:.4g} ({name})" for name, stage in stages)
    if found.over is not None:
        facts["instruments agree"] = f"p = {ChiSquareTest.of(*found.over).pvalue:.3g}"
    weak = any(stage.f < FIRST_STAGE_F for stage in found.first)
    if weak:
        warnings.warn(
            f"weak instruments: first stage {facts['first stage']}, below {FIRST_STAGE_F:g}; estimates are not normal, "
            "and intervals are those of Anderson and Rubin, which may be unbounded",
            WeakInstrumentsWarning,
            stacklevel=find_stacklevel(),
        )
    sets = partial(_sets, model, found, x)
    return Results(
        found.theta,
        found.cov,
        x,
        Outcome.CONVERGED,
        model.moments.n,
        loss="squared",
        method="two-stage least squares" + (f", {own}" if own != "efficient" else ""),
        formula=request.formula,
        header=guarantee(design.release) | design.notes | facts,
        predict_link="identity",
        design=terms,
        trust=Trust(sets=sets() if weak else {}),
        more_sets=None if weak else sets,
    )


def _sets(model: Instruments, found: TwoStage, names: tuple[str, ...]) -> dict[str, ScoreSet]:
    """Return the sets of Anderson and Rubin by coefficient."""
    return dict(zip(names, model.sets(found), strict=True))
