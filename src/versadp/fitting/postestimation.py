"""What a fit can be asked afterwards, for which the release is looked at again: nothing is kept until then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import EstimationError
from versadp.estimation import Family
from versadp.estimation.covariance import Inquiry, Labels, look_at
from versadp.fitting.averages import Averaging
from versadp.schema import Bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from versadp.fitting.report import Answer
    from versadp.fitting.sample_design import Study
    from versadp.inference import Results
    from versadp.inference.effects import Move

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Further:
    """More of a fit.

    Attributes
    ----------
    study : Study
    again : callable
        What gives the answer once more.
    refit : callable
        What fits another formula or by another method to the same records, as `fit` does.
    link : str
    method, loss : str
    """

    study: Study
    again: Callable[[], Answer]
    refit: Callable[..., Results]
    link: str
    method: str
    loss: str

    @cached_property
    def answer(self) -> Answer:
        """The fit and its problem, once more."""
        return self.again()

    @cached_property
    def columns(self) -> Mapping[str, float | tuple[Any, ...]]:
        """The columns of the right side: how wide a number is, or the levels of a category."""
        problem, schema = self.answer.problem, self.study.release.mechanism.schema
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
        if self.study.offset is not None:
            raise EstimationError(
                "there are no averages of a fit with an offset", hint="predict at records of your own, with the offset"
            )
        if self.answer.asked is None or not self.answer.fit.converged:
            raise EstimationError("there are no averages of this fit", hint="it needs an estimate and a formula")
        found = Averaging(self.answer, self.link, self.method, self.study.clusters, self.study.counted).averages(
            moves, contrast
        )
        q = contrast.shape[1]
        return found.values, found.cov[:q, :q] * self.study.rows_per_person

    @cached_property
    def noisy(self) -> bool:
        """True if the model has a noisy column whose noise a naive fit can be made with."""
        problem = self.answer.problem
        return bool(problem.blocks) and not problem.nullable

    def naive(self) -> Results:
        """Return the same fit without any correction."""
        return self.refit(method="naive")

    def rsquared(self) -> float:
        """Return `1 - E (y - x'theta)² / var y` at the true records, by `E (y - u)² = E y² - E y u` at the minimum."""
        problem, fit, asked = self.answer.problem, self.answer.fit, self.answer.asked
        if self.loss != "squared" or problem.design is None or asked is None:
            raise EstimationError("R² is a share of squares", hint="squared loss with a formula has it")
        if "Intercept" not in problem.design.names:
            raise EstimationError("R² needs a model with an intercept", hint="leave out - 1 or + 0")
        if problem.nullable or self.method == "naive" or self.study.offset is not None:
            raise EstimationError(
                "R² cannot be had here: of columns that may be missing, of a naive fit and with an offset there is none"
            )
        averaging = Averaging(self.answer, "identity", self.method)
        mix = np.ones((1, len(asked.family.names))) if fit.mix is None else fit.mix[:1]
        score = -asked.family.moments(np.zeros_like(fit.theta), mix, hessian=False).score[0]  # E m y
        unit, _ = averaging.units
        left = problem.design.left.text
        alone = {"cov_type": "robust", "groups": None, "method": "efficient"}
        mean, square = (
            float(self.refit(formula=f"{text} ~ 1", **alone).params[0]) for text in (f"I({left})", f"I(({left}) ** 2)")
        )
        spread = square - mean**2
        if spread <= 0:
            raise EstimationError("the corrected variance of the response is not positive", hint="use more records")
        level = float(averaging.constant @ score) / self.study.weight
        return (float(fit.theta @ score) / self.study.weight - level**2) * unit**2 / spread


def recounted(answer: Answer, study: Study) -> Answer:
    """Return a fit with the covariance of clusters, or of records that stand for several each.

    What is told beside it by taking records for independent (score sets, the specification test) is left out; a weak
    fit has nothing else, and no answer then.
    """
    fit, asked, problem = answer.fit, answer.asked, answer.problem
    if fit.weak or (fit.converged and (fit.sets or asked is None or fit.hessian is None)):
        raise EstimationError(
            "these records hardly tell how the objective bends, and the intervals that hold then take records for "
            "independent",
            hint="leave out cov_type and weight_type, or use more records or fewer coefficients",
        )
    if not fit.converged:
        return answer
    assert asked is not None
    family = asked.family
    mix = np.ones((1, len(family.names))) if fit.mix is None else fit.mix
    inquiry = Inquiry(family.forms, fit.theta, mix, clusters=study.clusters, counted=study.counted)
    whole = Family((*family.forms, Labels()), problem.source, family.size, family.engine, family.seed)
    cov = look_at(whole, fit, asked.groups, inquiry).cov
    n = round(fit.n * study.weight) if study.counted else fit.n
    return replace(answer, fit=replace(fit, cov=problem.widened(cov), contrasts=None, n=n))
