"""One fit of one request: its problem and its estimate, made again whenever its results are asked for more.

Intermediate results are recomputed on demand, not kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from versadp.correction import CustomModel, RecordModel
from versadp.engine import Serial, is_remote
from versadp.fitting.design_covariance import with_design_covariance
from versadp.fitting.estimate import estimate
from versadp.fitting.models import make_problem
from versadp.fitting.postestimation import PostEstimation
from versadp.fitting.solver import SolverOptions
from versadp.fitting.update import Updater, state_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.engine import Engine
    from versadp.fitting.fit_request import FitRequest
    from versadp.fitting.problem import Problem
    from versadp.fitting.report import FitReport
    from versadp.fitting.sample_design import SampleDesign
    from versadp.fitting.update_state import State
    from versadp.inference import Results


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
    """

    request: FitRequest
    design: SampleDesign
    runner: Engine
    fit: Callable[..., Results]

    def problem(self) -> Problem:
        """Return the problem, whose records are kept in memory unless remote workers read their own partitions."""
        request, design = self.request, self.design
        keeper = None if is_remote(self.runner) and design.release.on_disk else self.runner
        size = None if request.begin is None else request.begin.size
        made = make_problem(
            design.release, design.formula, request.minimised, design.weights, size, free=request.free, keeper=keeper
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
        return state_of(self.request.release, self.design, self.estimate(), self.request.kept())

    def later(self) -> dict[str, Any]:
        """Return what results compute on demand."""
        updater = Updater(self.state, engine=self.request.engine)
        return {"postestimation": PostEstimation(self), "updater": updater}
