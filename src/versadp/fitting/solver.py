"""Members of a problem's correction over its records, and the zero of their combined score.

A solver needs of a problem: the forms of its method (`methods.py`), its records, the coefficients that share weights,
the units of its noise, and the covariance with what an approximation may be off by (`Approximation.widened`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import Calibrated, CustomModel, Records, Streams
from versadp.estimation import (
    Diagnostics,
    Family,
    Fit,
    Question,
    efficient,
    invert,
    last_steps,
    solve,
    zero_of_line,
)
from versadp.estimation.sizes import (
    FEW_ROWS,
    JUDGED_NUMBERS,
    PART_ROWS,
    REHEARSE_BELOW,
    REHEARSED_ROWS,
    SAMPLE_ROWS,
    STEADY_FROM,
)
from versadp.estimation.thresholds import RECORDS_BEYOND_QUANTILE
from versadp.fitting.members import PILOT_THRIFT
from versadp.fitting.methods import closed_now, forms_of
from versadp.fitting.series_start import serves
from versadp.fitting.source import MemorySource
from versadp.fitting.totals import calibrated, controlled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.fitting.problem import Problem
    from versadp.fitting.source import ReleaseSource
    from versadp.losses.pilot_line import Line
    from versadp.noise.extension import Extension
    from versadp.noise.units import Units

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class SolverOptions:
    """Options of a solver: method, extension, draws per record, seed of the draws, and engine."""

    method: str
    extension: str | Extension | None
    draws: int
    seed: int
    engine: Engine

    @property
    def is_free(self) -> bool:
        """True if the form of the correction is ours to choose."""
        return self.method == "efficient" and self.extension is None


@dataclass(frozen=True)
class Members:
    """Members of a problem's correction, over all records and over few.

    Attributes
    ----------
    problem : Problem
    options : SolverOptions
    sample : Records
        All records, or a random part.
    family : Family
        Over all records.
    small : Family
        The same with fewer draws, or over the random part: for pilots and weights.
    """

    problem: Problem
    options: SolverOptions
    sample: Records
    family: Family
    small: Family

    @classmethod
    def of(cls, problem: Problem, options: SolverOptions, sample: Records) -> Members:
        """Return the members of the method."""
        rows = problem.source.rows
        family = small = _family(problem, options, problem.source, rows)
        if rows > SAMPLE_ROWS:
            small = _family(problem, options, MemorySource((sample,)), SAMPLE_ROWS)
        elif options.method == "efficient":
            few = _family(problem, options, problem.source, rows, thrift=PILOT_THRIFT)
            if _points(few) < _points(family):
                small = few
        return cls(problem, options, sample, family, small)

    @property
    def are_several(self) -> bool:
        """True if there is something to combine."""
        return len(self.family.names) > 1

    def solve(self, theta: Array) -> Fit:
        """Return the fit from a start: members combined, or the zero of the score of one."""
        problem, rows = self.problem, self.family.source.rows
        if self.options.method == "efficient" and self.are_several:
            steady = self.family.size == 1 and problem.units.exact_rate is not None
            again = self._rehearsal() if steady and rows < STEADY_FROM else None
            return efficient(self.family, self.small, theta, problem.groups, rehearsal=again)
        found = self.solve_single(theta)
        return replace(found, cov=problem.approximation.widened(found.cov))

    def left_series(self, found: Fit) -> bool:
        """Tell whether an estimate lies where the series of the loss is no longer near it."""
        return found.converged and not self.are_several and not serves(self.problem, self.sample, found.theta)

    def solve_single(self, theta: Array) -> Fit:
        """Solve one member's equation: of many records on a random part first, then a step or two on all."""
        family, small = self.family, self.small
        first = solve(small, theta, np.ones(1), tolerance=0.01 if small is family else 0.1)
        if not first.converged:
            return Fit.failed(first.theta, first.outcome, family.source.rows)
        if small is not family:
            return last_steps(family, first.theta, np.ones((1, 1)), (np.arange(theta.size),))
        moments = first.moments
        return Fit(first.theta, moments.covariance(), first.outcome, moments.n, hessian=moments.hessian)

    def diagnostics(self, theta: Array, line: Line | None) -> Diagnostics:
        """Return what a fit that started at `theta`, with a pilot line, is diagnosed by."""
        problem, family, model = self.problem, self.family, self.problem.model
        # a series bends everywhere, whatever it is the series of
        bends = not isinstance(model, CustomModel) and (problem.expansion is not None or not model.loss.kinked)
        return Diagnostics(
            family,
            self._few(),
            self.small if family.source.rows > SAMPLE_ROWS else family,
            self.small,
            problem.scale,
            problem.groups if self.are_several else (np.arange(theta.size),),
            theta,
            bends,
            scarce=_is_scarce(getattr(model.loss, "tau", None), line),
            noisy=self.options.method == "efficient" and bool(problem.blocks),
            noise=self.options.method != "naive" and bool(problem.blocks),
        )

    def solve_quantile(self, question: Question) -> Fit:
        """Return a quantile by inverting the corrected distribution function."""
        if self.options.method == "naive":  # noisy values lie anywhere
            question = Question(question.tau)
        few = self.family.source.rows <= REHEARSE_BELOW and self.problem.units.exact_rate is not None
        rehearsal = self._rehearsal() if self.are_several and few else None
        return invert(self.family, self.small, question, rehearsal=rehearsal)

    def _few(self) -> Family:
        """Return the family over a random part of the records, if they are many."""
        rows, seed = int(np.clip(JUDGED_NUMBERS / self.family.size, FEW_ROWS, PART_ROWS)), self.options.seed
        if self.family.source.rows <= rows:
            return self.family
        some = np.random.default_rng([seed, 0x1D9E]).choice(self.sample.rows, rows, replace=False)
        family = self.small if isinstance(self.family.forms[0], Calibrated) else self.family
        return replace(family, source=MemorySource((self.sample.take(np.sort(some)),)))

    def _rehearsal(self) -> Family:
        """Return the family over records released again; with few draws each, for its covariance alone is used."""
        source = MemorySource((rehearse(self.sample, self.problem.units, self.options.seed),))
        return _family(self.problem, self.options, source, REHEARSE_BELOW)


def solve_linear(problem: Problem, options: SolverOptions, sample: Records) -> tuple[Members, Fit, Array] | None:
    """Return members, fit and start of a score that is linear in the coefficients; None without one, or a minimum.

    It needs no start, and no look at a part of the records.
    """
    if isinstance(problem.model, CustomModel) or problem.units.exact_rate is not None or not problem.blocks:
        return None
    if problem.extended:  # of several members none is solved by itself
        return None
    form, powers = closed_now(problem), problem.model.loss.expansion()
    if form is None or powers is None or not powers.is_quadratic:
        return None
    family = Family(calibrated((form,), problem), problem.source, problem.model.size, options.engine, options.seed)
    theta = zero_of_line(family)
    if theta is None:
        return None
    found = last_steps(family, theta, np.ones((1, 1)), (np.arange(family.size),))
    return (Members(problem, options, sample, family, family), found, theta) if found.converged else None


def with_controls(members: Members, found: Fit) -> tuple[Members, Fit]:
    """Return members whose standard errors know of totals, and the fit that they lead to; the same without totals."""
    problem, totals, options = members.problem, members.problem.totals, members.options
    if isinstance(totals, str) or not found.converged or not isinstance(members.family.forms[0], Calibrated):
        return members, found
    controls = totals.controls(problem.model, found, options.seed)
    weights, groups = np.ones((1, 1)), (np.arange(found.theta.size),)
    alone = members.family.moments(found.theta, weights, hessian=False)
    controls = replace(controls, alone=alone.outer[0, :, 0] - np.outer(alone.score[0], alone.score[0]))
    few = problem.source.rows > SAMPLE_ROWS
    part = replace(members.family, source=MemorySource((members.sample,))) if few else members.family
    small = controlled(part, controls)
    family = small
    if few:
        seen = small.moments(found.theta, weights, hessian=False)
        spread = seen.outer[0, :, 0] - np.outer(seen.score[0], seen.score[0])
        family = replace(members.family, forms=(replace(members.family.forms[0], spread=spread, told=controls),))
    again = last_steps(family, found.theta, weights, groups)
    if not again.converged:
        return members, found
    again = replace(again, cov=problem.approximation.widened(again.cov))
    return replace(members, family=family, small=small), again


def _family(
    problem: Problem, options: SolverOptions, source: ReleaseSource | MemorySource, rows: int, *, thrift: int = 1
) -> Family:
    """Return the members of a method over some records, with as many draws as `rows` records get."""
    forms = forms_of(problem, options.method, options.extension, options.draws, rows, thrift=thrift)
    return Family(calibrated(forms, problem), source, problem.model.size, options.engine, options.seed)


def _points(family: Family) -> int:
    return sum(form.points for form in family.forms)


def _is_scarce(tau: float | None, line: Line | None) -> bool:
    """Return True if so few records lie beyond a quantile that its estimate is not normal, by what the line knows."""
    if line is None or tau is None:
        return False
    return line.records * min(tau, 1 - tau) < RECORDS_BEYOND_QUANTILE * line.theta.size


def rehearse(sample: Records, units: Units, seed: int) -> Records:
    """Return records of a sample that are in the box, or nearest to it, with noise of the mechanism's law.

    The covariance of members over a few hundred records is noisy, because a few records in the box count for much, and
    weights that follow this noise cost efficiency: 5% of the variance of a mean at 500 records. How members vary is
    mostly the mechanism's doing, and the mechanism is known. So the released records in the box stand in for true ones
    and get noise again, and their covariance is pooled with that of the data. Weights decide how precise an estimate
    is, never what it estimates, so that the stand-ins need not be true records.

    Examples
    --------
    >>> from versadp.noise import ZeroInflatedBlock
    >>> units = ZeroInflatedBlock(("x",), (-0.5,), (0.5,), (1.0,), 0.1).units(np.zeros(1))
    >>> again = rehearse(Records(np.array([[0.2], [3.0]])), units, seed=0)
    >>> again.rows, bool(np.isclose(again.z, 0.2).mean() > 0.05)
    (2000, True)
    """
    rng = np.random.default_rng([seed, 0xEC40])
    distance = units.distance2(sample.z)
    inside = np.flatnonzero(distance <= distance.min())
    again = sample.take(rng.choice(inside, REHEARSED_ROWS))
    noise = Streams.of(again, rng).laplace(np.arange(REHEARSED_ROWS), 1, units.dim)[:, 0]
    assert units.exact_rate is not None
    noise[rng.random(REHEARSED_ROWS) < units.exact_rate] = 0.0
    return replace(again, scaled=again.z + noise)
