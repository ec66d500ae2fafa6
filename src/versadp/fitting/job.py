"""One fit of one request, and what its results compute later: both are made again whenever they are asked for.

Intermediate results are recomputed on demand, not kept: the release is read again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import CustomModel, RecordModel
from versadp.engine import Serial, is_remote
from versadp.errors import EstimationError
from versadp.fitting.averages import Averaging
from versadp.fitting.design_covariance import with_design_covariance
from versadp.fitting.estimate import estimate
from versadp.fitting.models import make_problem
from versadp.fitting.solver import SolverOptions
from versadp.fitting.totals import refused_by
from versadp.fitting.update import Updater, state_of
from versadp.release.totals.wording import has_totals, warn_alone
from versadp.schema import Bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.fitting.fit_request import FitRequest
    from versadp.fitting.problem import Problem
    from versadp.fitting.report import FitReport
    from versadp.fitting.sample_design import SampleDesign
    from versadp.fitting.update_state import State
    from versadp.inference import Results
    from versadp.inference.effects import Move

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Job:
    """A request with its sample design.

    Attributes
    ----------
    request : FitRequest
    design : SampleDesign
    runner : Engine
    fit : callable
        `vdp.fit`, for further fits to the same records.
    refused : str
        Why totals are not used, whatever the model.
    """

    request: FitRequest
    design: SampleDesign
    runner: Engine
    fit: Callable[..., Results]
    refused: str = ""

    @property
    def alone(self) -> Job:
        """The same fit by the records alone."""
        return replace(self, refused="they calibrate coefficients, and this answer needs more")

    def problem(self) -> Problem:
        """Return the problem, whose records are kept in memory unless remote workers read their own partitions."""
        request, design = self.request, self.design
        keeper = None if is_remote(self.runner) and design.release.on_disk else self.runner
        size = None if request.begin is None else request.begin.size
        made = make_problem(
            design.release,
            design.formula,
            request.minimised,
            design.weights,
            size,
            free=request.free,
            keeper=keeper,
            refused=self.refused or refused_by(request.release, design),
        )
        return made if design.labels is None else replace(made, source=made.source.labelled(design.labels))

    def estimate(self) -> FitReport:
        """Return the fit, with the covariance of its sample design."""
        request, problem = self.request, self.problem()
        # functions of a user need not be safe on threads
        own = isinstance(problem.model, CustomModel | RecordModel)
        engine = Serial() if own and request.engine == "auto" else self.runner
        options = SolverOptions(request.method, request.extension, request.draws, request.seed, engine)
        return with_design_covariance(estimate(problem, options, request.begin), self.design)

    def refit(self, **changed: Any) -> Results:
        """Return another fit to the same records."""
        return self.fit(self.request.release, **(self.request.options() | changed))

    def state(self) -> State:
        """Return what an update of this fit starts from."""
        if has_totals(self.request.release):
            raise EstimationError(
                "a fit to a release with totals cannot be updated: totals of old and new people differ",
                hint="fit all records anew, or those without totals",
            )
        return state_of(self.request.release, self.design, self.estimate(), self.request.kept())

    def later(self) -> dict[str, Any]:
        """Return what results compute on demand."""
        updater = Updater(self.state, engine=self.request.engine)
        return {"postestimation": PostEstimation(self), "updater": updater}


@dataclass(frozen=True, eq=False)
class PostEstimation:
    """Post-estimation quantities of a fit, computed lazily."""

    job: Job

    @cached_property
    def answer(self) -> FitReport:
        """The fit and its problem, computed again: by the records alone, of which averages are."""
        return self.job.alone.estimate() if has_totals(self.job.request.release) else self.job.estimate()

    @property
    def design(self) -> SampleDesign:
        """The sample design of the fit."""
        return self.job.design

    @cached_property
    def columns(self) -> Mapping[str, float | tuple[Any, ...]]:
        """The columns of the right side: the width of a number, or the levels of a category."""
        problem, schema = self.answer.problem, self.design.release.mechanism.schema
        design = problem.design
        if design is None:
            return {}
        out: dict[str, float | tuple[Any, ...]] = {}
        for name in design.terms.columns:
            column = schema.columns[name]
            if name in design.levels:
                out[name] = tuple(level for level in design.levels[name] if level is not None)
            elif isinstance(column, Bounded):
                out[name] = column.upper - column.lower
            elif name in self.answer.sample.public:
                out[name] = float(np.std(self.answer.sample.public[name])) or 1.0
            else:  # dates, as days
                at = problem.units.names.index(name)
                out[name] = float((problem.units.bounds[1] - problem.units.bounds[0])[at])
        return out

    def averages(self, moves: Sequence[Mapping[str, Move]], contrast: Array) -> tuple[Array, Array]:
        """Return contrasts of averages of predictions with columns moved, and their covariance."""
        if self.design.offset is not None:
            raise EstimationError(
                "there are no averages of a fit with an offset", hint="predict at records of your own, with the offset"
            )
        if self.answer.diagnostics is None or not self.answer.fit.converged:
            raise EstimationError("there are no averages of this fit", hint="it needs an estimate and a formula")
        warn_alone(self.job.request.release, "averages, and the coefficients in them, are by the records alone")
        averaging = self._averaging(str(getattr(self.job.request.minimised, "link", None)))
        found = averaging.averages(moves, contrast)
        q = contrast.shape[1]
        return found.values, found.cov[:q, :q] * self.design.rows_per_person

    def _averaging(self, link: str) -> Averaging:
        return Averaging(self.answer, link, self.job.request.method, self.design.clusters, self.design.counted)

    @cached_property
    def noisy(self) -> bool:
        """True if the model has a noisy column whose noise a naive fit can be made with."""
        problem = self.answer.problem
        return bool(problem.blocks) and not problem.nullable

    def naive(self) -> Results:
        """Return the same fit without any correction."""
        return self.job.refit(method="naive")

    def rsquared(self) -> float:
        """Return `1 - E (y - x'theta)² / var y` at the true records, by `E (y - u)² = E y² - E y u` at the minimum."""
        problem, fit, diagnostics = self.answer.problem, self.answer.fit, self.answer.diagnostics
        if self.job.request.minimised.name != "squared" or problem.design is None or diagnostics is None:
            raise EstimationError("R² is a share of squares", hint="squared loss with a formula has it")
        if "Intercept" not in problem.design.names:
            raise EstimationError("R² needs a model with an intercept", hint="leave out - 1 or + 0")
        if problem.nullable or self.job.request.method == "naive" or self.design.offset is not None:
            raise EstimationError(
                "R² cannot be had here: of columns that may be missing, of a naive fit and with an offset there is none"
            )
        warn_alone(self.job.request.release, "R² is by the records alone")
        averaging = self._averaging("identity")
        mix = np.ones((1, len(diagnostics.family.names))) if fit.mix is None else fit.mix[:1]
        score = -diagnostics.family.moments(np.zeros_like(fit.theta), mix, hessian=False).score[0]  # E m y
        unit, _ = averaging.units
        left = problem.design.left.text
        alone = {"cov_type": "robust", "groups": None, "method": "efficient"}
        mean, square = (
            float(self.job.refit(formula=f"{text} ~ 1", **alone).params[0])
            for text in (f"I({left})", f"I(({left}) ** 2)")
        )
        spread = square - mean**2
        if spread <= 0:
            raise EstimationError("the corrected variance of the response is not positive", hint="use more records")
        level = float(averaging.constant @ score) / self.design.weight
        return (float(fit.theta @ score) / self.design.weight - level**2) * unit**2 / spread
