"""Bring the estimate of a state up to date with new records: the numeric half of `update`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import Projection
from versadp.correction.index_law import WIDER, index_law
from versadp.correction.series import TOLERABLE, Place, series
from versadp.errors import EstimationError, ParameterError
from versadp.estimation import Family
from versadp.estimation.sizes import SAMPLE_ROWS, STEADY_FROM
from versadp.estimation.update import AGAIN, renewed
from versadp.fitting.basis import with_basis
from versadp.fitting.members import wants_series
from versadp.fitting.methods import forms_of
from versadp.fitting.models import make_problem
from versadp.fitting.projecting import projectable, refuse_large
from versadp.fitting.public_facts import Known
from versadp.fitting.series_start import place_of, serves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from versadp.correction import Records
    from versadp.engine import Engine
    from versadp.estimation.update import Renewed
    from versadp.fitting.problem import Problem
    from versadp.fitting.sample_design import SampleDesign
    from versadp.fitting.update_state import State

MOST_SERIES = 4  # series that are made for one update: an estimate that leaves more intervals has not settled


def update_estimate(state: State, design: SampleDesign, loss: Any, engine: Engine) -> tuple[Problem, Records, Renewed]:
    """Return the problem of the new records, a part of them, and the estimate of old and new records together."""
    problem = _with_basis(_problem(state, design, loss), state)
    sample = problem.sample(min(SAMPLE_ROWS, problem.source.rows), state.seed)
    problem, found = _renewed(state, _with_degrees(problem, state), sample, engine)
    return problem, sample, found


def _problem(state: State, design: SampleDesign, loss: Any) -> Problem:
    """Return the problem of the new records."""
    free = state.extension is None and state.method in {"efficient", "naive"}
    known = Known(state.levels, state.response)
    # states of fits of several blocks were made by one closed form before there were members
    extend = len(state.members) > 1
    problem = make_problem(
        design.release, design.formula, loss, design.weights, None, free=free, known=known, extend=extend
    )
    if problem.names != state.names or not hasattr(problem.model, "loss"):
        raise ParameterError("the state has other coefficients than its formula", hint=AGAIN)
    return problem


def _with_basis(problem: Problem, state: State) -> Problem:
    """Return a problem in the basis of the state."""
    if state.basis is None:
        return problem
    if len(state.basis) != len(getattr(problem.model, "open", problem.names)):
        raise ParameterError("the state's basis is not one of its design", hint=AGAIN)
    return with_basis(problem, state.basis)


def _with_degrees(problem: Problem, state: State) -> Problem:
    """Return a problem with the projection of the state, if old and new records are not too many for it."""
    if state.degrees is None:
        return problem
    off = state.off * float(np.sqrt((state.kept.n + problem.source.rows) / state.kept.n))
    if len(state.degrees) != problem.units.dim or off > TOLERABLE:
        raise EstimationError("with so many records the score needs a finer projection", hint=AGAIN)
    if not projectable(problem):
        raise ParameterError("the state has degrees, and its score is not projected", hint=AGAIN)
    refuse_large(Projection(problem.blocks, state.degrees))
    return problem.approximated(degrees=state.degrees, off=off)


def _renewed(state: State, problem: Problem, sample: Records, engine: Engine) -> tuple[Problem, Renewed]:
    """Return the updated estimate; a series is made again if the estimate leaves the interval that it was made for."""
    free = state.extension is None and state.method == "efficient" and state.degrees is None and wants_series(problem)
    place, theta, law = place_of(problem, sample) if free else None, state.kept.theta, None
    for _ in range(MOST_SERIES):
        if place is not None:
            form, argument, seen = place
            here = index_law(form, seen, theta).wider(WIDER)
            law = here if law is None else law.beside(here)
            rows = state.kept.n + problem.source.rows
            expansion, _ = series(Place(form, seen, state.kept.theta, argument, rows), law)
            problem = problem.approximated(expansion=expansion)
        family = _family(state, problem, engine)
        groups = problem.groups if len(family.names) > 1 else (np.arange(family.size),)
        found = renewed(state.kept, family, groups)
        theta = found.kept.theta
        if serves(problem, sample, theta):
            return problem, found
    raise EstimationError("the new records move the index beyond where its series was made for", hint=AGAIN)


@dataclass(frozen=True)
class _Later:
    """Records that come after others: their draws depend on their places among all."""

    source: Any
    before: int

    @property
    def rows(self) -> int:
        return int(self.source.rows)

    @property
    def travels(self) -> bool:
        return bool(self.source.travels)

    def handles(self) -> Any:
        return self.source.handles()

    def read(self, handle: Any) -> Iterator[tuple[int, Records]]:
        for number, records in self.source.read(handle):
            place = None if records.before is None else self.before + records.before
            yield number, replace(records, before=place)


def _family(state: State, problem: Problem, engine: Engine) -> Family:
    """Return the members of the state over the new records."""
    rows = state.kept.n + problem.source.rows
    forms = forms_of(problem, state.method, state.extension, state.draws, rows)
    forms = tuple(form.only(state.members) for form in forms)  # a state may be older than some members
    family = Family(forms, _Later(problem.source, state.kept.n), problem.model.size, engine, state.seed)
    if family.names != state.members or family.size != len(state.names):
        raise ParameterError("the state has other members than its method", hint=AGAIN)
    unsteady = family.size == 1 or state.loss == "poisson"  # a mean's weights are rehearsed, a count's hang on theta
    if unsteady and len(family.names) > 1 and rows < STEADY_FROM:
        raise EstimationError(
            f"old and new records are {rows:,} together, too few for sums to tell how members are to be weighed",
            hint=f"fit all of them again, which takes a moment; from {STEADY_FROM:,} records on an update is as good",
        )
    return family
