"""Estimates of a fit with their covariance, intervals and tests.

    √n (θ̂ - θ₀) → N(0, V⁻¹ A V⁻¹)

A fit that did not converge has no estimate: asking for one is an error with the advice of its outcome. A weak fit has
intervals of all coefficients; those whose curvature cannot be told from none have no estimate and no standard error
(NaN), the others have both.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.errors import EstimationError, ParameterError
from versadp.estimation import Outcome, ScoreSet
from versadp.estimation.thresholds import SEEN
from versadp.inference.arrays import Estimated, NamedArray
from versadp.inference.checks import (
    check_array,
    check_bias,
    check_covariance,
    check_curves,
    check_level,
    check_offset,
    check_profiles,
    check_shape,
    check_size,
    check_weights,
    read_terms,
)
from versadp.inference.coefficient_table import CoefTable, coefficient_table, interval, z_and_p
from versadp.inference.prediction import Link
from versadp.inference.trust import Trust
from versadp.inference.wald import read_constraints, wald

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from versadp.estimation import Curve
    from versadp.formula.terms import Terms
    from versadp.inference.chi_square import SpecificationTest, WaldTest
    from versadp.inference.effects import PostEstimation, Updater
    from versadp.inputs import Array
    from versadp.likelihood import LikelihoodSet

ENDS = ("lower", "upper")
KINDS = ("auto", "wald", "score", "profile")


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """Estimates, their covariance, intervals and tests; the base class of `Results`, which documents the fields."""

    params: Estimated = Estimated()  # noqa: RUF009 - a descriptor, not a default
    cov: Estimated = Estimated(sure=True)  # noqa: RUF009 - a descriptor, not a default
    names: tuple[str, ...]  # type: ignore[misc] # mypy takes the descriptors above for defaults
    outcome: Outcome  # type: ignore[misc] # as above
    nobs: int  # type: ignore[misc] # as above
    _: KW_ONLY
    loss: str
    method: str
    formula: str | None = None
    header: Mapping[str, str] = field(default_factory=dict)
    effective_n: float | None = None
    weights: Mapping[str, float] | None = None
    predict_link: str | Callable[[Array], Array] | None = None
    design: Terms | None = None
    advice: str | None = None
    curves: Mapping[str, Curve] = field(default_factory=dict)
    profiles: Mapping[str, LikelihoodSet] | Callable[[], Mapping[str, LikelihoodSet]] = field(default_factory=dict)
    trust: Trust = field(default_factory=Trust)
    classes: tuple[str, ...] = ()
    bias: Mapping[str, float] = field(default_factory=dict)
    offset: str | None = None
    more_sets: Callable[[], Mapping[str, ScoreSet]] | None = None
    postestimation: PostEstimation | None = None
    updater: Updater | None = None

    def __post_init__(self) -> None:
        names = tuple(map(str, self.names))
        if not names or len(set(names)) != len(names):
            raise ParameterError("names of coefficients are missing or repeated", hint="give each its own name")
        nobs = inputs.whole("nobs", self.nobs, 0)
        self._settle(names=names, outcome=Outcome.read(self.outcome), nobs=nobs, loss=str(self.loss))
        if self.converged and nobs < len(names):
            raise EstimationError(
                f"there are {nobs} records for {len(names)} coefficients", hint="fit fewer terms, or use more records"
            )
        self._settle(
            method=str(self.method),
            trust=Trust.read(self.trust).of(names),
            # the last iterate of a failed fit is not an estimate, and is not kept
            params=self._checked_params(names) if self.answered else None,
            cov=self._checked_cov(names),
            formula=_text(self.formula),
            advice=_text(self.advice),
            header=MappingProxyType({str(label): str(fact) for label, fact in (self.header or {}).items()}),
            effective_n=check_size("effective_n", self.effective_n),
            weights=check_weights(self.weights),
            design=read_terms(self.design, names),
            curves=check_curves(self.curves if self.converged else {}, names),
            profiles=self.profiles if callable(self.profiles) else check_profiles(self.profiles, names),
            classes=tuple(map(str, self.classes)),
            bias=check_bias(self.bias, names),
            offset=check_offset(self.offset),
        )
        if (self.link.name == "softmax") != bool(self.classes) or len(names) % max(len(self.classes) - 1, 1):
            raise ParameterError(
                "classes and coefficients do not match", hint="one coefficient per term and class except the reference"
            )

    def _checked_params(self, names: tuple[str, ...]) -> NamedArray:
        """Return the estimates; NaN for coefficients of a weak fit whose curvature is not significant."""
        if self.converged:
            return NamedArray(check_array("params", self.params, (len(names),)), names)
        given = np.full(len(names), np.nan) if self.params is None else np.array(self.params, dtype=float)
        return NamedArray(np.where(self._seen(names), check_shape("params", given, (len(names),)), np.nan), names)

    def _checked_cov(self, names: tuple[str, ...]) -> NamedArray | None:
        """Return the covariance; of a weak fit NaN for coefficients without an estimate, or None if all are."""
        if self.converged:
            return NamedArray(check_covariance(self.cov, len(names)), names)
        if not (self.answered and self.has_covariance):
            return None
        given = check_shape("the covariance", self.cov, (len(names), len(names)))
        seen = self._seen(names) & np.isfinite(np.diag(given))
        if not seen.any():
            return None
        known = np.full_like(given, np.nan)
        known[np.ix_(seen, seen)] = check_covariance(given[np.ix_(seen, seen)], int(seen.sum()))
        return NamedArray(known, names)

    def _seen(self, names: tuple[str, ...]) -> NDArray[np.bool_]:
        """Return True for each coefficient whose curvature can be told from none."""
        return np.array([self.trust.strength.get(name, 0.0) >= SEEN for name in names])

    def _settle(self, **values: object) -> None:
        """Set fields to checked values, during `__init__`."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def converged(self) -> bool:
        """True if there is an estimate with standard errors."""
        return self.outcome is Outcome.CONVERGED

    @property
    def answered(self) -> bool:
        """True if there are intervals: converged, or weak."""
        return self.converged or self.outcome is Outcome.WEAK

    @property
    def has_covariance(self) -> bool:
        """True if the covariance of some coefficients is known: of a weak fit that of those with an estimate."""
        return self.__dict__["_cov"] is not None

    @property
    def correction(self) -> str:
        """The correction for noise: the evaluators used and the weights of their members, or the method.

        Examples
        --------
        >>> from versadp.inference import Results
        >>> Results([1.0], [[0.1]], ("x",), "converged", 99, loss="squared", method="efficient",
        ...         weights={"zero": 0.75, "clip": 0.25}).correction
        'efficient: zero 0.75, clip 0.25'
        """
        members = ", ".join(f"{member} {weight:.3g}" for member, weight in (self.weights or {}).items())
        return self.header.get("correction") or (f"{self.method}: {members}" if members else self.method)

    @cached_property
    def link(self) -> Link:
        """The link from the linear predictor to predictions."""
        return Link.read(self.predict_link)

    def need_estimate(self, *, sure: bool = False) -> None:
        """Raise if there is no estimate (of all coefficients if `sure`), with what happened and what to do."""
        if not (self.converged if sure else self.answered):
            raise EstimationError(f"not converged: {self.outcome} ({self.outcome.happened})", hint=self.remedy)

    @property
    def remedy(self) -> str:
        """The advice for an outcome other than "converged"."""
        return self.advice or self.outcome.advice

    @property
    def _more(self) -> PostEstimation:
        self.need_estimate(sure=True)
        if self.postestimation is None:
            raise EstimationError(
                "these results have no access to their release, which this needs",
                hint="fit again: a file of results, and method 'likelihood', have estimates only",
            )
        return self.postestimation

    @property
    def _need_updater(self) -> Updater:
        self.need_estimate(sure=True)
        if self.updater is None:
            raise EstimationError(
                "these results cannot be updated",
                hint="fit again, and use save_state; a file of results, and method 'likelihood', have estimates only",
            )
        return self.updater

    def cov_params(self) -> NamedArray:
        """Return the estimated covariance of the estimates."""
        return self.cov

    @cached_property
    def bse(self) -> NamedArray:
        """Standard errors; NaN for weak coefficients, whose estimates are not approximately normal."""
        self.need_estimate()
        known = self.converged or self.has_covariance
        errors = np.sqrt(np.diag(self.cov.values)) if known else np.full(len(self.names), np.nan)
        return NamedArray(errors, self.names)

    @property
    def zvalues(self) -> NamedArray:
        """Estimates divided by their standard errors."""
        return NamedArray(z_and_p(self.params.values, self.bse.values)[0], self.names)

    @property
    def tvalues(self) -> NamedArray:
        """The z statistics, under their name in statsmodels."""
        return self.zvalues

    @property
    def pvalues(self) -> NamedArray:
        """Two-sided p-values of the hypotheses that coefficients are 0.

        By the same criterion as the intervals, so that 0 lies outside the 95% interval if and only if p < 0.05: by the
        score where intervals are score sets, else by the normal distribution.
        """
        p = z_and_p(self.params.values, self.bse.values)[1]
        if self._kind == "score":
            sets = self._score_sets
            p = np.array([sets[name].pvalue(0.0) for name in self.names])
        return NamedArray(p, self.names)

    def conf_int(self, level: float = 0.95, kind: str = "auto", *, alpha: float | None = None) -> NamedArray:
        """Return lower and upper ends of confidence intervals, one row per coefficient.

        Parameters
        ----------
        level : float
        kind : str
            "wald" by standard errors, which weak coefficients do not have; "score" for values that the scores cannot
            reject, with ends that may be infinite; "profile", of fits by likelihood, for values that the likelihood
            cannot reject, likewise. "auto" (default) is score sets wherever noise was undone, which become Wald
            intervals as the curvature becomes known, profiles of fits by likelihood, and Wald otherwise.
        alpha : float, optional
            1 - level, as in statsmodels, in place of a level.
        """
        if alpha is not None:
            level = 1 - inputs.number("alpha", alpha, 0, 1, open_low=True, open_high=True)
        self.need_estimate()
        inputs.choice("kind of interval", kind, KINDS)
        if kind == "auto":
            kind = self._kind
        if kind == "wald" and not self.converged:
            self.need_estimate(sure=np.isnan(self.bse.values).all())
        if kind != "wald":
            sets: Mapping[str, Any] = self._score_sets if kind == "score" else self._need_profiles()
            level = check_level(level)
            return NamedArray([sets[name].interval(level) for name in self.names], self.names, ENDS)
        ends = interval(self.params.values, self.bse.values, level)
        for name, curve in self.curves.items():
            ends[self.names.index(name)] = curve.interval(level)
        return NamedArray(ends, self.names, ENDS)

    @property
    def _kind(self) -> str:
        """The kind of intervals by default."""
        if self.trust.sets or not self.converged:
            return "score"
        return "profile" if self.likelihood_sets else "wald"

    @cached_property
    def _score_sets(self) -> Mapping[str, ScoreSet]:
        """Score sets of all coefficients; the real line for those without one."""
        if self.converged and not self.trust.sets and self.more_sets is None:
            raise EstimationError(
                "there are no score sets of this fit", hint="fit again: files have those of weak fits"
            )
        found = self.trust.sets or (self.more_sets() if self.more_sets is not None else {})
        return {name: found.get(name, ScoreSet.nothing()) for name in self.names}

    @cached_property
    def likelihood_sets(self) -> Mapping[str, LikelihoodSet]:
        """Values that the likelihood cannot reject, by coefficient: of fits by likelihood, computed when needed."""
        if not self.converged:
            return {}
        return check_profiles(self.profiles(), self.names) if callable(self.profiles) else self.profiles

    def _need_profiles(self) -> Mapping[str, LikelihoodSet]:
        if not self.likelihood_sets:
            raise EstimationError(
                "there is no likelihood to profile in this fit",
                hint="fit by method 'likelihood'; if such a fit has none, its likelihood could not be profiled",
            )
        return self.likelihood_sets

    def specification_test(self) -> SpecificationTest:
        """Return the test that all members of the combination have the same mean in these records.

        It detects rows that were selected or weighted by a noisy column, and another mechanism than the one declared.
        """
        if self.trust.test is None:
            raise EstimationError(
                "this fit has only one member, or contrasts that depend on a few records: nothing to contrast",
                hint="use method 'efficient', and more records",
            )
        return self.trust.test

    def coef_table(self, level: float = 0.95) -> CoefTable:
        """Return the coefficient table: rows of coefficient, estimate, std_error, z, p_value, lower, upper."""
        ends = self.conf_int(level).values
        p = self.pvalues.values if self._kind == "score" else None
        return coefficient_table(self.names, self.params.values, self.bse.values, ends, level, p=p)

    def wald_test(self, R: ArrayLike | str | Sequence[str], q: ArrayLike = 0.0) -> WaldTest:
        """Return the Wald test of linear constraints R θ = q.

        Parameters
        ----------
        R : array_like, str or list of str
            A matrix with one column per coefficient, a coefficient's name, or constraints in words:
            "age = 0, income = 0", "age = income", "2 * age - income = 1".
        q : array_like
            Right sides.
        """
        matrix, right = read_constraints(R, q, self.names)
        return wald(*self._known(matrix), matrix, right)

    def _known(self, matrix: Array) -> tuple[Array, Array]:
        """Return estimates and covariance for linear combinations, 0 for weak coefficients that have no part in any."""
        params, cov = self.params.values, self.cov.values
        weak = np.isnan(np.diag(cov))
        part = np.abs(matrix).sum(axis=0) > 0
        if (weak & part).any():
            named = ", ".join(np.array(self.names)[weak & part])
            raise EstimationError(f"no test of weak coefficients: {named}", hint="read their intervals")
        return np.where(weak, 0.0, params), np.where(weak[:, None] | weak, 0.0, cov)

    def t_test(self, R: ArrayLike | str | Sequence[str], q: ArrayLike = 0.0, level: float = 0.95) -> CoefTable:
        """Return estimate, standard error, z, p-value and interval of linear combinations R θ - q, one row each.

        Parameters
        ----------
        R : array_like, str or list of str
            As for `wald_test`: "age = 0", "age = income", "2 * age - income = 1".
        q : array_like
            Right sides.
        level : float
            Of the intervals.
        """
        matrix, right = read_constraints(R, q, self.names)
        params, cov = self._known(matrix)
        gap = matrix @ params - right
        error = np.sqrt(np.sum((matrix @ cov) * matrix, axis=1))
        words = [R] if isinstance(R, str) else [text for text in np.ravel(np.asarray(R)) if isinstance(text, str)]
        names = [part.strip() for text in words for part in text.split(",")]
        if len(names) != len(gap):
            names = [f"constraint {k + 1}" for k in range(len(gap))]
        return coefficient_table(names, gap, error, interval(gap, error, level), level)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
