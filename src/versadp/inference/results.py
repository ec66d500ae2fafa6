"""Results of a fit: estimates, their covariance, and everything that follows from the two.

    √n (θ̂ - θ₀) → N(0, V⁻¹ A V⁻¹)

A fit that did not converge has no estimate: asking for one is an error, and the summary says what to do. A weak fit has
intervals, and estimates of what can be seen at all, but no covariance.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from versadp import inputs
from versadp.errors import EstimationError, ParameterError, near
from versadp.estimation.outcome import Outcome
from versadp.estimation.score_sets import ScoreSet
from versadp.estimation.strength import SEEN
from versadp.inference import storage
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
from versadp.inference.coefficients import CoefTable, coefficient_table, interval, z_and_p
from versadp.inference.constraints import read_constraints
from versadp.inference.effects import comparisons
from versadp.inference.effects import prediction as prediction_asked
from versadp.inference.estimated import Estimated
from versadp.inference.maketables import Published, Publishing
from versadp.inference.named import NamedArray
from versadp.inference.prediction import Link, Prediction, model_matrix, predict, predict_average, predict_classes
from versadp.inference.storage import SavedResults
from versadp.inference.summary import Summary, summarise
from versadp.inference.trust import SpecificationTest, Trust
from versadp.inference.wald import WaldTest, wald

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from versadp.estimation import Curve, LikelihoodSet
    from versadp.formula.terms import Terms
    from versadp.inference.drift import DriftTest, Renewal
    from versadp.inference.effects import Asked as Averages
    from versadp.inference.effects import Further
    from versadp.inputs import Array

ENDS = ("lower", "upper")


@dataclass(frozen=True, eq=False, repr=False)
class Results(Publishing):
    """What a fit found, made by `versadp.fit`.

    Parameters
    ----------
    params : array (p,) or None
        Estimates; None or anything if there is none.
    cov : array (p, p) or None
        Their estimated covariance.
    names : sequence of str
        Names of the coefficients.
    outcome : Outcome
        "converged", or what went wrong; its name will do.
    nobs : int
        Number of records.
    loss, method : str
    formula : str, optional
    header : mapping of str to str, optional
        What the summary says first: mechanism, unit, epsilon, delta, delta floor.
    effective_n : float, optional
        Number of records without noise that would tell as much.
    weights : mapping of str to float, optional
        Weights of the members of a combination.
    predict_link : str or callable, optional
        Monotone function from the linear predictor to the response: "identity", "logistic", "exponential", or one of
        the user's own (such as a loss's `mean`), which cannot be saved.
    design : Terms or object with `terms`, optional
        The right side of the formula, for predictions.
    advice : str, optional
        What to do about an outcome other than "converged".
    trust : Trust, optional
        Strengths of the coefficients, score sets where normal intervals would not hold, the specification test.
    more_sets : callable, optional
        What gives score sets of a fit that is not weak; it is not saved.
    classes : tuple of str, optional
        Of a category that is the response, its levels, the reference first; predictions are their probabilities.
    curves : mapping of str to Curve, optional
        Of coefficients whose intervals are had by inverting a score, and not from a standard error: a quantile's
        corrected distribution function. Their standard error is the interval's half width over its normal quantile.
    profiles : mapping of str to LikelihoodSet or callable, optional
        Of the coefficients of a fit by likelihood: values that the likelihood cannot reject; or what gives them, which
        is asked when intervals are, and before they are saved.
    bias : mapping of str to float, optional
        What was taken off coefficients: the bias that noise leaves in few records, in which score and curvature go
        together. It is a part of a standard error, and not worth a pass over many records.

    offset : str, optional
        What is added to the index with the coefficient 1: predictions need it.
    further : Further, optional
        What gives averages, R² and the naive fit; it knows the release, and is not saved.
    renewal : Renewal, optional
        What brings the fit up to date with new records; `save_state` writes it.

    Examples
    --------
    >>> res = Results([1.0, 0.5], [[0.04, 0.0], [0.0, 0.01]], ("Intercept", "age"), "converged", 1000,
    ...               loss="squared", method="efficient")
    >>> float(res.params["age"]), res.bse["age"].round(2)
    (0.5, np.float64(0.1))
    >>> res.conf_int(0.95)["age"].round(3)
    array([0.304, 0.696])
    >>> print(res.wald_test("age = 0"))
    Wald test: chi-square 25 with 1 degree of freedom, p = 5.733e-07
    """

    params: Estimated = Estimated()  # noqa: RUF009 - what guards the field, and no default
    cov: Estimated = Estimated(sure=True)  # noqa: RUF009 - a descriptor
    names: tuple[str, ...]  # type: ignore[misc] # which takes what guards a field for its default
    outcome: Outcome  # type: ignore[misc] # descriptors are no defaults
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
    further: Further | None = None
    renewal: Renewal | None = None

    def __post_init__(self) -> None:
        names, outcome = tuple(map(str, self.names)), Outcome.read(self.outcome)
        nobs = inputs.whole("nobs", self.nobs, 0)
        if not names or len(set(names)) != len(names):
            raise ParameterError("coefficients need names that differ from each other")
        self._settle(names=names, outcome=outcome, nobs=nobs, loss=str(self.loss), method=str(self.method))
        if self.converged and nobs < len(names):
            raise EstimationError(
                f"there are {nobs} records for {len(names)} coefficients", hint="fit fewer terms, or use more records"
            )
        self._settle(
            trust=Trust.read(self.trust).of(names),
            # what a solver was left with is no estimate and is not kept
            params=self._checked_params(names) if self.answered else None,
            cov=NamedArray(check_covariance(self.cov, len(names)), names) if self.converged else None,
            formula=None if self.formula is None else str(self.formula),
            advice=None if self.advice is None else str(self.advice),
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
        _ = self.link  # which refuses what is no link
        if (self.link.name == "softmax") != bool(self.classes) or len(names) % max(len(self.classes) - 1, 1):
            raise ParameterError("probabilities of classes need a coefficient of each term for each class but one")

    def _checked_params(self, names: tuple[str, ...]) -> NamedArray:
        """Return estimates; of a weak fit those whose curvature can be seen, the others are not numbers."""
        if self.converged:
            return NamedArray(check_array("params", self.params, (len(names),)), names)
        given = np.full(len(names), np.nan) if self.params is None else np.array(self.params, dtype=float)
        seen = [self.trust.strength.get(name, 0.0) >= SEEN for name in names]
        return NamedArray(np.where(seen, check_shape("params", given, (len(names),)), np.nan), names)

    def _settle(self, **values: object) -> None:
        """Put checked values into fields, while the object is made."""
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
    def correction(self) -> str:
        """What undid the noise: the evaluators that were taken and the weights of their members, or the method.

        Examples
        --------
        >>> Results([1.0], [[0.1]], ("x",), "converged", 99, loss="squared", method="efficient",
        ...         weights={"zero": 0.75, "clip": 0.25}).correction
        'efficient: zero 0.75, clip 0.25'
        """
        members = ", ".join(f"{member} {weight:.3g}" for member, weight in (self.weights or {}).items())
        return self.header.get("correction") or (f"{self.method}: {members}" if members else self.method)

    @cached_property
    def link(self) -> Link:
        """How a linear predictor becomes a prediction."""
        return Link.read(self.predict_link)

    def need_estimate(self, *, sure: bool = False) -> None:
        """Raise if there is no estimate (or none with a covariance), with what happened and what to do."""
        if not (self.converged if sure else self.answered):
            raise EstimationError(f"not converged: {self.outcome} ({self.outcome.happened})", hint=self._what_to_do)

    @property
    def _what_to_do(self) -> str:
        return self.advice or self.outcome.advice

    def cov_params(self) -> NamedArray:
        """Return the estimated covariance of the estimates."""
        return self.cov

    @cached_property
    def bse(self) -> NamedArray:
        """Standard errors; those of a weak fit are not numbers, since nothing is normal about it."""
        self.need_estimate()
        errors = np.sqrt(np.diag(self.cov.values)) if self.converged else np.full(len(self.names), np.nan)
        return NamedArray(errors, self.names)

    @property
    def zvalues(self) -> NamedArray:
        """Estimates divided by their standard errors."""
        return NamedArray(z_and_p(self.params.values, self.bse.values)[0], self.names)

    @property
    def tvalues(self) -> NamedArray:
        """The z statistics, under the name that statsmodels gives them."""
        return self.zvalues

    @property
    def pvalues(self) -> NamedArray:
        """Two-sided p-values of zero coefficients, by the normal distribution."""
        return NamedArray(z_and_p(self.params.values, self.bse.values)[1], self.names)

    def conf_int(self, level: float = 0.95, kind: str = "auto", *, alpha: float | None = None) -> NamedArray:
        """Return lower and upper ends of confidence intervals, one row a coefficient.

        Parameters
        ----------
        level : float
        kind : str
            "wald" by standard errors, which a weak fit has not; "score" by what the scores cannot reject, with ends
            that may be infinite; "profile", of fits by likelihood, by what the likelihood cannot reject, likewise.
            "auto" (default) is score sets for a weak fit and where how the objective bends is hardly known, profiles
            where there are any, and Wald otherwise.
        alpha : float, optional
            1 - level, as statsmodels has it, in place of a level.
        """
        if alpha is not None:
            level = 1 - inputs.number("alpha", alpha, 0, 1, open_low=True, open_high=True)
        self.need_estimate(sure=kind == "wald")
        if kind == "score" or (kind == "auto" and (self.trust.sets or not self.converged)):
            sets, level = self._score_sets, check_level(level)
            return NamedArray([sets[name].interval(level) for name in self.names], self.names, ENDS)
        if kind == "profile" or (kind == "auto" and self.likelihood_sets):
            profiles, level = self._need_profiles(), check_level(level)
            return NamedArray([profiles[name].interval(level) for name in self.names], self.names, ENDS)
        if kind not in {"auto", "wald"}:
            known = ("auto", "wald", "score", "profile")
            raise ParameterError(f"there is no kind of interval {kind!r}", hint=near(kind, known))
        ends = interval(self.params.values, self.bse.values, level)
        for name, curve in self.curves.items():
            ends[self.names.index(name)] = curve.interval(level)
        return NamedArray(ends, self.names, ENDS)

    @cached_property
    def _score_sets(self) -> Mapping[str, ScoreSet]:
        """Score sets of all coefficients; the whole line of those that have none."""
        if self.converged and not self.trust.sets and self.more_sets is None:
            raise EstimationError("there are no score sets of this fit", hint="fit again: files have them of weak fits")
        found = self.trust.sets or (self.more_sets() if self.more_sets is not None else {})
        return {name: found.get(name, ScoreSet.nothing()) for name in self.names}

    @cached_property
    def likelihood_sets(self) -> Mapping[str, LikelihoodSet]:
        """Values that the likelihood cannot reject, by coefficient: of fits by likelihood, found when asked for."""
        if not self.converged:
            return {}
        return check_profiles(self.profiles(), self.names) if callable(self.profiles) else self.profiles

    def _need_profiles(self) -> Mapping[str, LikelihoodSet]:
        if not self.likelihood_sets:
            raise EstimationError(
                "there is no likelihood to profile in this fit",
                hint="fit by method 'likelihood'; where that has none, it could not be followed away from its maximum",
            )
        return self.likelihood_sets

    def specification_test(self) -> SpecificationTest:
        """Test whether the members of the combination, which share one mean, do so in these records.

        It notices rows that were selected or weighted by a noisy column, and another mechanism than the one declared.
        """
        if self.trust.test is None:
            raise EstimationError(
                "this fit has one member alone, or contrasts that hang on a few records: nothing to contrast",
                hint="use 'efficient', and more records",
            )
        return self.trust.test

    def coef_table(self, level: float = 0.95) -> CoefTable:
        """Return the coefficient table: rows of coefficient, estimate, std_error, z, p_value, lower, upper."""
        return coefficient_table(self.names, self.params.values, self.bse.values, self.conf_int(level).values, level)

    def wald_test(self, R: ArrayLike | str | Sequence[str], q: ArrayLike = 0.0) -> WaldTest:
        """Test linear constraints R θ = q.

        Parameters
        ----------
        R : array_like, str or list of str
            A matrix with one column a coefficient, a coefficient's name, or constraints in words:
            "age = 0, income = 0", "age = income", "2 * age - income = 1".
        q : array_like
            Right sides.
        """
        matrix, right = read_constraints(R, q, self.names)
        return wald(self.params.values, self.cov.values, matrix, right)

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
        gap = matrix @ self.params.values - right
        error = np.sqrt(np.sum((matrix @ self.cov.values) * matrix, axis=1))
        words = [R] if isinstance(R, str) else [text for text in np.ravel(np.asarray(R)) if isinstance(text, str)]
        names = [part.strip() for text in words for part in text.split(",")]
        if len(names) != len(gap):
            names = [f"constraint {k + 1}" for k in range(len(gap))]
        return coefficient_table(names, gap, error, interval(gap, error, level), level)

    def predict(self, data: Any, interval: float | None = None) -> Array | Prediction:
        """Predict at true records.

        Parameters
        ----------
        data : mapping of columns, pandas, polars or arrow table, or array
            The columns of the formula; an array is a model matrix with one column a coefficient. With an offset its
            columns, too; a model matrix has none, and its rows an offset of 0.
        interval : float, optional
            Level of a confidence band for the expected response (or the quantile), e.g. 0.95.

        Returns
        -------
        array, or Prediction with `estimate`, `lower` and `upper` if a level is given; with a column for each of
        `classes`, the reference first, where the response is a category
        """
        params, cov, link = self.params.values, self.cov.values, self.link.need()
        matrix, aside = model_matrix(data, self.design, len(self.names), self.offset)
        if self.classes:
            return predict_classes(matrix, params, cov, self.classes, interval)
        return predict(matrix, params, cov, link, interval, aside=aside)

    def get_prediction(
        self,
        data: Any = None,
        *,
        average: bool = False,
        at: Mapping[str, Any] | None = None,
        level: float = 0.95,
    ) -> Prediction | CoefTable:
        """Predict at true records with confidence bands, or on average over the people of the release.

        Parameters
        ----------
        data : table, mapping of columns or array, optional
            As for `predict`.
        average : bool
            The average prediction: over the rows of `data`, or without them over the people of the release, with the
            noise in their records undone.
        at : mapping of str to value, optional
            Columns that everybody's are set to, for an average over the release.
        level : float
            Of the bands.

        Returns
        -------
        Prediction; or a table of one row with estimate, standard error and interval
        """
        if not average:
            if data is None or at is not None:
                raise ParameterError(
                    "predictions need records", hint="get_prediction(table), or get_prediction(average=True)"
                )
            found = self.predict(data, check_level(level))
            assert isinstance(found, Prediction)
            return found
        if data is None:
            return self._averages(prediction_asked(at, self._more.columns), level)
        if self.classes or at is not None:
            raise ParameterError("averages over rows are of one number each, as the rows are", hint="leave out `at`")
        params, cov, link = self.params.values, self.cov.values, self.link.need()
        matrix, aside = model_matrix(data, self.design, len(self.names), self.offset)
        value, error = predict_average(matrix, params, cov, link, aside)
        ends = interval(np.array([value]), np.array([error]), level)
        return coefficient_table(["average"], np.array([value]), np.array([error]), ends, level)

    def avg_slopes(self, variables: str | Sequence[str] | None = None, *, level: float = 0.95) -> CoefTable:
        """Return average slopes: by how much the prediction changes with a column, on average over the people.

        The average is over the people of the release with the noise in their records undone, and its standard error is
        that of the estimate and of the average together. Of a category the levels are compared with the first.

        Parameters
        ----------
        variables : str or sequence of str, optional
            Columns of the right side; all by default.
        level : float
            Of the intervals.
        """
        return self._averages(comparisons(variables, self._more.columns, slopes=True), level)

    def avg_comparisons(self, variables: Any = None, *, level: float = 0.95) -> CoefTable:
        """Return average comparisons: what the prediction changes by if a column does, on average over the people.

        Parameters
        ----------
        variables : str, sequence of str or mapping, optional
            Columns of the right side: numbers are moved by 1, levels compared with the first. Or for each column a
            step, `{"age": 10}`, or two values, `{"age": (30, 40), "region": ("n", "e")}`. All columns by default.
        level : float
            Of the intervals.
        """
        return self._averages(comparisons(variables, self._more.columns), level)

    def _averages(self, asked: Averages, level: float) -> CoefTable:
        check_level(level)
        values, cov = self._more.averages(asked.moves, asked.contrast)
        error = np.sqrt(np.maximum(np.diag(cov), 0))
        return coefficient_table(asked.names, values, error, interval(values, error, level), level)

    @property
    def _more(self) -> Further:
        self.need_estimate(sure=True)
        if self.further is None:
            raise EstimationError(
                "these results do not know their release, which this needs",
                hint="fit again: a file of results, and method 'likelihood', have estimates only",
            )
        return self.further

    @cached_property
    def rsquared(self) -> float:
        """The share of the response's variance that the model explains, with the noise undone: of squared loss.

        It is an estimate from noisy moments, and may be a little below 0 or above 1.
        """
        return self._more.rsquared()

    def update(self, new: Any) -> Results:
        """Return the fit brought up to date with new records, without looking at the old ones again.

        Of these, sums of the size of the parameters are kept (`save_state` writes them). `drift_test()` of what comes
        back says whether old and new records have one truth.

        Parameters
        ----------
        new : Release or path
            More records by the same mechanism: a release, or a folder of one. Of a folder that was appended to, the
            parts that were not seen before.

        Examples
        --------
        >>> import versadp as vdp
        >>> release = vdp.example()
        >>> halves = release.frame[:50_000], release.frame[50_000:]
        >>> old, new = (vdp.Release(part, release.mechanism) for part in halves)
        >>> res = vdp.fit(old, "visits ~ age").update(new)
        >>> res.nobs == len(release), res.drift_test().df
        (True, 2)
        """
        return self._renewal.update(new)

    def drift_test(self) -> DriftTest:
        """Return whether the records of the last update have the truth of those before."""
        if self._renewal.drift is None:
            raise EstimationError("this is a first fit: there is nothing that it could have moved from")
        return self._renewal.drift

    def save_state(self, path: str | Path) -> None:
        """Write to a JSON file what a later `versadp.update` needs: sums of the size of the parameters, no record."""
        self._renewal.save(path)

    @property
    def _renewal(self) -> Renewal:
        self.need_estimate(sure=True)
        if self.renewal is None:
            raise EstimationError(
                "these results do not know what an update needs",
                hint="fit again, and save_state; a file of results, and method 'likelihood', have estimates only",
            )
        return self.renewal

    def plot(
        self,
        *,
        level: float = 0.95,
        naive: bool = True,
        intercept: bool = False,
        axes: Any = None,
        apart: bool = False,
        further: Mapping[str, tuple[Array, Array]] | None = None,
    ) -> Any:
        """Draw the coefficients with their intervals; beside them, if they can be had, those of noise not undone.

        Corrected estimates are filled circles and naive ones open squares, so that no colour is needed.

        Parameters
        ----------
        level : float
            Of the intervals.
        naive : bool
            Whether to show what the noisy records would say as they are.
        intercept : bool
            Whether to show the intercept.
        axes : matplotlib Axes, optional
            Where to draw; a new figure by default.
        apart : bool
            Give each coefficient an axis of its own, for those of different sizes; then a figure is returned.
        further : mapping of label to (estimates, ends of intervals), optional
            Estimates from elsewhere to draw beside them, of all coefficients in their order; ends are (p, 2).

        Returns
        -------
        matplotlib Axes
        """
        from versadp.display.pictures import estimates, estimates_apart

        names = [name for name in self.names if intercept or name != "Intercept" or len(self.names) == 1]
        drawn = {"corrected" if self.method != "naive" else "naive": self._drawn(names, level)}
        if naive and self.further is not None and self.method != "naive" and self.further.noisy:
            other = self.further.naive()
            if other.converged:
                drawn["naive"] = other._drawn(names, level)  # noqa: SLF001 - of the same class
        rows = [self.names.index(name) for name in names]
        drawn |= {label: (centre[rows], ends[rows]) for label, (centre, ends) in (further or {}).items()}
        x = f"estimate and {100 * level:g}% interval"
        if apart:
            return estimates_apart(names, drawn, x=x)
        return estimates(names, drawn, x=x, title=self.formula or "", axes=axes)

    def _drawn(self, names: list[str], level: float) -> tuple[Array, Array]:
        rows = [self.names.index(name) for name in names]
        return self.params.values[rows], self.conf_int(level).values[rows]

    @overload
    def summary(self, level: float = 0.95, style: None = None) -> Summary: ...
    @overload
    def summary(self, level: float = 0.95, *, style: str) -> str: ...
    def summary(self, level: float = 0.95, style: str | None = None) -> Summary | str:
        """Return the summary: `print` shows text, a notebook shows HTML.

        Parameters
        ----------
        level : float
            Of the intervals.
        style : {"text", "html", "latex", "markdown"}, optional
            Return it as a string in this style.
        """
        found = summarise(self, self.coef_table(level) if self.answered else None, self._what_to_do)
        return found if style is None else found.render(style)

    def to_maketables(self) -> Published:
        """Return what maketables makes a column of: `ETable([res.to_maketables() for res in fits])`."""
        return Published(self)

    def __repr__(self) -> str:
        return f"<Results: {self.formula or self.loss}, {self.nobs} records, {self.outcome}>"

    def _repr_html_(self) -> str:
        return self.summary(style="html")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries, lists and numbers."""
        return SavedResults.of(self).to_dict()

    @classmethod
    def from_dict(cls, data: Any) -> Results:
        """Read what `to_dict` wrote."""
        return cls(**SavedResults.from_dict(data).arguments())

    def save(self, path: str | Path) -> None:
        """Write the results to a JSON file."""
        storage.write(path, self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Results:
        """Read what `save` wrote; every number comes back as it was."""
        return cls.from_dict(storage.read(path))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Results) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.names, self.outcome, self.nobs, self.loss, self.method, self.formula))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (self.to_dict(), self.link.function))


def _rebuild(data: dict[str, Any], link: Callable[[Array], Array] | None) -> Results:
    """Unpickle with the link itself, which JSON cannot hold."""
    arguments = SavedResults.from_dict(data).arguments()
    return Results(**(arguments if link is None else arguments | {"predict_link": link}))
