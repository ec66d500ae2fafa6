"""Results of a fit: estimates, intervals and tests, predictions, average effects, updates, summaries and files."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from versadp.errors import EstimationError, ParameterError
from versadp.inference.checks import check_level
from versadp.inference.coefficient_table import CoefTable, coefficient_table, interval
from versadp.inference.effects import comparisons
from versadp.inference.effects import prediction as prediction_asked
from versadp.inference.factor_tests import FactorTests
from versadp.inference.fit_tables import Published, Publishing
from versadp.inference.prediction import Prediction, model_matrix, predict, predict_average, predict_classes
from versadp.inference.saved_results import SavedResults, read, write
from versadp.inference.summary import Summary, summarise
from versadp.inference.unavailable import unavailable_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from versadp.inference.chi_square import DriftTest
    from versadp.inference.effects import AveragesRequest as Averages
    from versadp.inputs import Array


class Results(Publishing, FactorTests):
    """Results of a fit, made by `versadp.fit`.

    Parameters
    ----------
    params : array (p,) or None
        Estimates; ignored if there is none.
    cov : array (p, p) or None
        Their estimated covariance.
    names : sequence of str
        Names of the coefficients.
    outcome : Outcome
        "converged", "weak" or the reason of a failure; also by name.
    nobs : int
        Number of records.
    loss, method : str
    formula : str, optional
    header : mapping of str to str, optional
        The first lines of the summary: mechanism, unit, epsilon, delta, delta floor.
    effective_n : float, optional
        Effective sample size: number of records without noise with the same precision.
    weights : mapping of str to float, optional
        Weights of the members of a combination.
    predict_link : str or callable, optional
        Monotone function from the linear predictor to the response: "identity", "logistic", "exponential", or a
        user-defined one (such as the `mean` of a loss), which is not saved.
    design : Terms or object with `terms`, optional
        The right side of the formula, for predictions.
    advice : str, optional
        What to do about an outcome other than "converged".
    trust : Trust, optional
        Diagnostics: strengths of the coefficients, score sets of weak fits, the specification test.
    more_sets : callable, optional
        Computes the score sets of a fit that is not weak; not saved.
    classes : tuple of str, optional
        Levels of a categorical response, the reference first; predictions are their probabilities.
    curves : mapping of str to Curve, optional
        Corrected distribution functions of quantiles, whose intervals are by inversion. Their standard error is half
        the width of the interval over its normal quantile.
    profiles : mapping of str to LikelihoodSet or callable, optional
        Of a fit by likelihood: values that the likelihood cannot reject, by coefficient; or a function that computes
        them, called for intervals and before saving.
    bias : mapping of str to float, optional
        Estimated small-sample bias that coefficients have been corrected for, from the correlation of score and
        curvature.
    offset : str, optional
        Term that is added to the index with the coefficient 1; predictions need it.
    postestimation : PostEstimation, optional
        Computes averages, R² and the naive fit from the release; not saved.
    updater : Updater, optional
        Updates the fit by new records; written by `save_state`.

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

    def predict(self, data: Any, interval: float | None = None) -> Array | Prediction:
        """Return predictions at true records.

        Parameters
        ----------
        data : mapping of columns, pandas, polars or arrow table, or array
            The columns of the formula and of an offset; an array is a model matrix with one column per coefficient, and
            an offset of 0.
        interval : float, optional
            Level of a confidence band for the expected response (or the quantile), e.g. 0.95.

        Returns
        -------
        array, or Prediction with `estimate`, `lower` and `upper` if a level is given; for a categorical response with
        one column for each of `classes`, the reference first
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
        """Return predictions with confidence bands, at true records or on average over the people of the release.

        Parameters
        ----------
        data : table, mapping of columns or array, optional
            As for `predict`.
        average : bool
            Average over the rows of `data`, or without them over the people of the release, corrected for the noise in
            their records.
        at : mapping of str to value, optional
            Values to which columns are set for all people, for an average over the release.
        level : float
            Of the bands.

        Returns
        -------
        Prediction; or a table of one row with estimate, standard error and interval
        """
        if not average:
            if data is None or at is not None:
                hint = "use get_prediction(table), or get_prediction(average=True)"
                raise ParameterError("predictions need records", hint=hint)
            found = self.predict(data, check_level(level))
            assert isinstance(found, Prediction)
            return found
        if data is None:
            return self._averages(prediction_asked(at, self._more.columns), level)
        if self.classes or at is not None:
            raise ParameterError("averages over given rows have no `at`, and no classes", hint="leave out `at`")
        params, cov, link = self.params.values, self.cov.values, self.link.need()
        matrix, aside = model_matrix(data, self.design, len(self.names), self.offset)
        value, error = predict_average(matrix, params, cov, link, aside)
        ends = interval(np.array([value]), np.array([error]), level)
        return coefficient_table(["average"], np.array([value]), np.array([error]), ends, level)

    def avg_slopes(self, variables: str | Sequence[str] | None = None, *, level: float = 0.95) -> CoefTable:
        """Return average slopes: the derivative of the prediction in a column, on average over the people.

        The average is over the people of the release, corrected for the noise in their records; its standard error is
        that of the coefficients and of the average together. Levels of a category are compared with the first.

        Parameters
        ----------
        variables : str or sequence of str, optional
            Columns of the right side; all by default.
        level : float
            Of the intervals.
        """
        return self._averages(comparisons(variables, self._more.columns, slopes=True), level)

    def avg_comparisons(self, variables: Any = None, *, level: float = 0.95) -> CoefTable:
        """Return average comparisons: the change of the prediction with that of a column, on average over the people.

        Parameters
        ----------
        variables : str, sequence of str or mapping, optional
            Columns of the right side: numbers change by 1, levels are compared with the first. Or one step per column,
            `{"age": 10}`, or two values, `{"age": (30, 40), "region": ("n", "e")}`. All columns by default.
        level : float
            Of the intervals.
        """
        return self._averages(comparisons(variables, self._more.columns), level)

    def _averages(self, asked: Averages, level: float) -> CoefTable:
        check_level(level)
        values, cov = self._more.averages(asked.moves, asked.contrast)
        error = np.sqrt(np.maximum(np.diag(cov), 0))
        return coefficient_table(asked.names, values, error, interval(values, error, level), level)

    @cached_property
    def rsquared(self) -> float:
        """The share of the variance of the response that the model explains, corrected for noise: of squared loss.

        It is an estimate from corrected moments, and may be a little below 0 or above 1.
        """
        return self._more.rsquared()

    def update(self, new: Any) -> Results:
        """Return the fit updated by new records, without reading the old ones again.

        Sums of the size of the parameters stand for the old records (`save_state` writes them). `drift_test()` of the
        updated fit tests whether old and new records have the same coefficients.

        Parameters
        ----------
        new : Release or path
            More records by the same mechanism: a release or its folder; of a folder that was appended to, the parts
            that were not read before.

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
        return self._need_updater.update(new)

    def drift_test(self) -> DriftTest:
        """Return the test that the records of the last update have the same coefficients as those before."""
        if self._need_updater.drift is None:
            raise EstimationError("a first fit has no drift test", hint="update the fit with new records")
        return self._need_updater.drift

    def save_state(self, path: str | Path) -> None:
        """Write a JSON file for `versadp.update`: sums of the size of the parameters, no record."""
        self._need_updater.save(path)

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
        """Draw the coefficients with their intervals, and those of a naive fit if there is one.

        Corrected estimates are filled circles and naive ones open squares, so that no colour is needed.

        Parameters
        ----------
        level : float
            Of the intervals.
        naive : bool
            Whether to show the fit without a correction for noise.
        intercept : bool
            Whether to show the intercept.
        axes : matplotlib Axes, optional
        apart : bool
            Give each coefficient its own axis, for coefficients of different sizes, and return a figure.
        further : mapping of label to (estimates, ends of intervals), optional
            Other estimates of all coefficients, in their order; ends are (p, 2).

        Returns
        -------
        matplotlib Axes
        """
        from versadp.display.pictures import estimates, estimates_apart

        names = [name for name in self.names if intercept or name != "Intercept" or len(self.names) == 1]
        rows = [self.names.index(name) for name in names]
        fits = {"naive" if self.method == "naive" else "corrected": self}
        if naive and (other := self._naive()) is not None:
            fits["naive"] = other
        drawn = {label: (fit.params.values, fit.conf_int(level).values) for label, fit in fits.items()}
        drawn = {label: (centre[rows], ends[rows]) for label, (centre, ends) in (drawn | dict(further or {})).items()}
        x = f"estimate and {100 * level:g}% interval"
        if apart:
            return estimates_apart(names, drawn, x=x)
        return estimates(names, drawn, x=x, title=self.formula or "", axes=axes)

    def _naive(self) -> Results | None:
        """Return the fit without a correction for noise; None if there is none, or no noise."""
        if self.method == "naive" or self.postestimation is None or not self.postestimation.noisy:
            return None
        found = self.postestimation.naive()
        return found if found.converged else None

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
        found = summarise(self, self.coef_table(level) if self.answered else None, self.remedy)
        return found if style is None else found.render(style)

    def to_maketables(self) -> Published:
        """Return an object for tables of maketables: `ETable([res.to_maketables() for res in fits])`."""
        return Published(self)

    def __repr__(self) -> str:
        return f"<Results: {self.formula or self.loss}, {self.nobs} records, {self.outcome}>"

    def _repr_html_(self) -> str:
        return self.summary(style="html")

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain dictionaries, lists and numbers."""
        return SavedResults.of(self).to_dict()

    @classmethod
    def from_dict(cls, data: Any) -> Results:
        """Return results from the output of `to_dict`."""
        return cls(**SavedResults.from_dict(data).arguments())

    def save(self, path: str | Path) -> None:
        """Write the results to a JSON file."""
        write(path, self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Results:
        """Return the results that `save` wrote, with identical numbers."""
        return cls.from_dict(read(path))

    def __getattr__(self, name: str) -> Any:
        """Refuse what other libraries give and a release cannot, with the reason."""
        raise unavailable_result(name) or AttributeError(f"results have no {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Results) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.names, self.outcome, self.nobs, self.loss, self.method, self.formula))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (self.to_dict(), self.link.function))


def _rebuild(data: dict[str, Any], link: Callable[[Array], Array] | None) -> Results:
    """Return unpickled results, with the link function, which JSON cannot hold."""
    arguments = SavedResults.from_dict(data).arguments()
    return Results(**(arguments if link is None else arguments | {"predict_link": link}))
