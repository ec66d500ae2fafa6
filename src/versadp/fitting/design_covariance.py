"""Standard errors by how records were drawn: in clusters, with frequencies, or several per person.

Rows of one person may depend on each other in any way. With k rows per person at the most and scores psi_i of n rows,

    Var Σ_i psi_i  <=  k Σ_i Var psi_i,

since the square of a sum of at most k terms is at most k times the sum of their squares. A score is
psi_i = s(x_i) + e_i, s the score at the true record and e_i the noise, which is independent from row to row. So only
the sampling part needs the factor,

    Var Σ_i psi_i  <=  Σ_i Var psi_i + (k - 1) Σ_i E s(x_i) s(x_i)'.

E s s' is estimated without bias by undoing the noise in s s' at signed points of each record, in a metric in which the
covariance of independent rows is the identity; two standard errors are added, and no direction gets a factor beyond k.
Where there are no such points, or what comes out is negative beyond chance, everything is multiplied by k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import CustomModel, SignedPoints
from versadp.errors import EstimationError, ParameterError
from versadp.estimation import ScoreSet
from versadp.estimation.covariance import Inquiry, Labels, look_at
from versadp.estimation.moments import Family
from versadp.estimation.thresholds import SAFE_SAMPLING
from versadp.fitting.source import MemorySource
from versadp.noise import How

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation import Fit
    from versadp.fitting.report import FitReport
    from versadp.fitting.sample_design import SampleDesign
    from versadp.release.release import Release

    Array = NDArray[np.float64]

ROWS = "rows"  # the cov_type that takes rows for independent, whoever they are of
POINTS = 1  # draws per block of a record: each gives several signed points, and records are many
ALL_POINTS = 4_000_000  # signed points of all records that are looked at: 32 MB per number that each has


def covariance_words(release: Release, cov_type: str, groups: str | None = None) -> str:
    """Return what the summary says of people with several rows; nothing where everybody has one."""
    k = release.mechanism.schema.rows_per_person
    if k == 1:
        return ""
    if groups is not None:
        return f", which is right if nobody has rows in two of them (a person may have {k:,})"
    if cov_type == ROWS:
        return f"rows taken for independent: too small where one person has several (up to {k:,})"
    return f"for up to {k:,} rows per person: {k:,} times that of independent rows, at least as large as it is"


def with_design_covariance(answer: FitReport, design: SampleDesign) -> FitReport:
    """Return a fit with the covariance of clusters, of frequencies, and of people with several rows."""
    found = answer if design.labels is None else _with_labels(answer, design)
    return found if design.rows_per_person == 1 else widened_for_people(found, design)


def widened_for_people(answer: FitReport, design: SampleDesign) -> FitReport:
    """Return a fit with the covariance of people who have several rows each.

    Score sets are widened alike. The specification test takes rows for independent and is left out, and a weak fit has
    no answer.
    """
    fit, k = answer.fit, design.rows_per_person
    if fit.weak:
        raise EstimationError(
            "these records hardly tell how the objective bends, and the intervals that hold then take rows for "
            "independent",
            hint='use more records or fewer coefficients, or cov_type="rows", which ignores that people have several',
        )
    if not fit.converged:
        return answer
    curve = None if fit.curve is None else replace(fit.curve, error=fit.curve.error * k**0.5)
    widened = replace(fit, cov=fit.cov * k, contrasts=None, curve=curve)
    sampling = _sampling_part(answer, design)
    if sampling is None:
        return replace(answer, fit=with_scaled_sets(fit, widened, answer.problem.scale))
    said = f"for up to {k:,} rows per person: its sampling part, estimated by signed points, {k:,} times"
    cov = fit.cov + (k - 1) * sampling
    widened = with_scaled_sets(fit, replace(widened, cov=cov), answer.problem.scale)
    return replace(answer, fit=widened, notes=dict(answer.notes) | {"covariance": said})


@dataclass(frozen=True)
class _Squares:
    """Sums of squares of true scores over records, by signed points, in some metric; a `Summing`."""

    form: SignedPoints
    theta: Array
    metric: Array

    def sums(self, prepared: Any) -> tuple[Any, ...]:
        """Return number of records, sums of their estimated squares, and sums of the squares of these."""
        rows = prepared[0]
        scores = self.form.model.score(rows.rows, self.theta) @ self.metric.T
        each = np.empty((rows.n, *self.metric.shape))
        for i, j in np.ndindex(*self.metric.shape):
            each[:, i, j] = np.bincount(rows.record, rows.factor[0] * scores[:, i] * scores[:, j], rows.n)
        return rows.n, each.sum(axis=0), (each**2).sum(axis=0)


def _sampling_part(answer: FitReport, design: SampleDesign) -> Array | None:
    """Return the sampling part of a covariance, erring on the side of more; None if it cannot be had."""
    fit, problem, diagnostics = answer.fit, answer.problem, answer.diagnostics
    model = problem.model
    if design.weights is not None or not _has_smooth_score(answer) or diagnostics is None or fit.hessian is None:
        return None
    root = np.linalg.cholesky(fit.cov)
    metric = np.linalg.solve(root, np.linalg.inv(fit.hessian)) / np.sqrt(max(fit.n - fit.theta.size, 1))
    blocks, few = problem.blocks, POINTS
    form = SignedPoints(model, problem.units, blocks=blocks, near=few, far=few, draws=few, nullable=problem.nullable)
    each = math.prod(block.point_count(How(POINTS)) for block in problem.blocks)
    some = answer.sample.take(np.arange(0, answer.sample.rows, max(1, -(-answer.sample.rows * each // ALL_POINTS))))
    family = Family((form,), MemorySource((some,)), model.size, diagnostics.family.engine, diagnostics.family.seed)
    rows, total, squares = family.total(_Squares(form, fit.theta, metric))
    share = total / rows  # of the covariance, 1 without any noise
    error = np.sqrt(np.maximum(squares / rows - share**2, 0.0) / rows)
    most = SAFE_SAMPLING * float(np.linalg.norm(error))
    values, vectors = np.linalg.eigh((share + share.T) / 2)
    if not np.isfinite(values).all() or values.min() < -most:
        return None
    return np.asarray(root @ (vectors * np.clip(values + most, 0.0, 1.0)) @ vectors.T @ root.T)


def _has_smooth_score(answer: FitReport) -> bool:
    """Return True if a fit is by one smooth score that signed points of all blocks undo."""
    fit, problem = answer.fit, answer.problem
    if isinstance(problem.model, CustomModel) or not getattr(problem.model.loss, "smooth", False):
        return False
    single = (fit.mix is None or fit.mix.size == 1) and fit.curve is None and problem.blurs is None
    return single and bool(problem.blocks) and problem.has_points and problem.units.exact_rate is None


def refuse_people(release: Release, what: str) -> None:
    """Refuse what knows independent rows only, where a person may have several."""
    k = release.mechanism.schema.rows_per_person
    if k > 1:
        raise ParameterError(
            f"{what} takes rows for independent, and here a person may have up to {k:,}",
            hint="vdp.fit widens its standard errors for that",
        )


def _with_labels(answer: FitReport, design: SampleDesign) -> FitReport:
    """Return a fit with the covariance of clusters, or of records that stand for several each.

    Score sets are scaled alike. The specification test takes records for independent and is left out, and a fit without
    a zero of its scores has no answer.
    """
    fit, diagnostics, problem = answer.fit, answer.diagnostics, answer.problem
    if (fit.weak and fit.hessian is None) or (fit.converged and (diagnostics is None or fit.hessian is None)):
        raise EstimationError(
            "these records hardly tell how the objective bends, and the intervals that hold then take records for "
            "independent",
            hint="leave out cov_type and weight_type, or use more records or fewer coefficients",
        )
    if not (fit.converged or fit.weak):
        return answer
    assert diagnostics is not None
    family = diagnostics.family
    mix = np.ones((1, len(family.names))) if fit.mix is None else fit.mix
    inquiry = Inquiry(family.forms, fit.theta, mix, clusters=design.clusters, counted=design.counted)
    whole = Family((*family.forms, Labels()), problem.source, family.size, family.engine, family.seed)
    cov = look_at(whole, fit, diagnostics.groups, inquiry).cov
    n = round(fit.n * design.weight) if design.counted else fit.n
    found = replace(fit, cov=problem.approximation.widened(cov), contrasts=None, n=n)
    return replace(answer, fit=with_scaled_sets(fit, found, problem.scale))


def with_scaled_sets(before: Fit, found: Fit, coefficients: Array) -> Fit:
    """Return a fit with the score sets of another covariance: Q is divided by the ratio of the variances."""
    old, new = (np.einsum("jp,pq,jq->j", coefficients, each.cov, coefficients) for each in (before, found))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(old > 0, new / old, 1.0)
    sets = (ScoreSet(each.at, each.least / by) for each, by in zip(before.sets, ratio.tolist(), strict=False))
    return replace(found, sets=tuple(sets))
