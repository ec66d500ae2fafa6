"""Base classes of the learners: the contract of scikit-learn on plain records and on released ones.

    fit(X, y)            X a table by name or an array in the schema's order, y in the same order
    fit(release, "y")    a release or its folder, and the name of a column

Released records are fitted by `versadp.fit` with the formula `response ~ column + C(category) + ...`. Without a
mechanism the learners are scikit-learn's own estimators under one objective (`noiseless.py`).
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from versadp import inputs
from versadp.errors import EstimationError, ParameterError, find_stacklevel
from versadp.estimation.thresholds import STRONG
from versadp.fitting.fit import fit
from versadp.fitting.public_facts import public_levels
from versadp.fitting.source import values_of
from versadp.formula.expression import quote
from versadp.learners import noiseless
from versadp.learners.conversion import Carried, Given, is_released, numbers_at, read_given
from versadp.learners.penalised import Penalty, fit_penalised
from versadp.release.release import Release
from versadp.schema import Categorical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from versadp.formula.terms import Terms
    from versadp.inference import Results
    from versadp.inputs import Array
    from versadp.release.mechanism import Mechanism


@dataclass(eq=False, repr=False, kw_only=True)
class Options:
    """The options that all learners share; documented at `LinearRegression`."""

    fit_intercept: bool = True
    mechanism: Mechanism | None = None
    response: str | None = None
    columns: Sequence[str] | None = None
    method: str = "efficient"
    draws: int = 20
    random_state: int | None = 0


class Learner(Options, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A linear predictor of columns, fitted to plain or to released records."""

    alpha: float
    coef_: Array
    intercept_: Any
    start: Any = None
    _terms: Terms | None = None

    def _loss(self) -> Any:
        """Return the loss that is minimised."""
        raise NotImplementedError

    def _plain(self, records: noiseless.Records) -> tuple[Array, float]:
        """Return coefficients and intercept for records without noise."""
        return noiseless.minimise(records, self._loss(), self.alpha)

    def _penalty(self) -> Penalty:
        return Penalty(inputs.number("alpha", self.alpha, 0, np.inf, open_high=True))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to records.

        Parameters
        ----------
        X : Release, path, table or array
            Released records if `mechanism` is set, or if it is a release: a table is matched by name, an array is in
            the order of the schema. Plain records otherwise.
        y : str or array
            A column of a release; or the response in the order of X.
        sample_weight : array or str, optional
            One weight per record, 0 or more; for a release also the name of a public column.
        """
        penalty = self._penalty()
        if not is_released(X, self.mechanism):
            return self._fit_plain(X, y, sample_weight)
        given = read_given(X, y, self.mechanism, self.response, self.columns)
        how = How(self.method, self.draws, self._seed(), sample_weight, self.start)
        learnt = learn(given, self._left(given), self._loss(), how, intercept=self.fit_intercept, penalty=penalty)
        return self._learnt(learnt, given, named=hasattr(X, "columns") or isinstance(X, Release | str))

    def _seed(self) -> int:
        """Return the seed of the draws, 0 without one, so that fits can be repeated."""
        return 0 if self.random_state is None else inputs.whole("random_state", self.random_state, 0)

    def _learnt(self, learnt: Learnt, given: Given, *, named: bool) -> Self:
        self.n_features_in_ = len(given.features)
        if named:
            self.feature_names_in_ = np.array(given.features, dtype=object)
        self._terms, self._features = learnt.terms, given.features
        self._schema = given.release.mechanism.schema
        self._theta, self.result_ = learnt.theta, learnt.results
        self.coef_names_ = tuple(name for name in learnt.names if name != "Intercept")
        return self._take(*learnt.split())

    def _fit_plain(self, X: Any, y: Any, sample_weight: Any) -> Self:
        if self.response is not None or self.columns is not None:
            raise ParameterError("response and columns are for released records", hint="give a mechanism, or a release")
        x, y = self._checked(X, y)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, x, ensure_non_negative=True)
        self._terms, self.result_ = None, None
        return self._take(*self._plain(noiseless.Records(x, y, weight, bool(self.fit_intercept))))

    def _take(self, coef: Array, intercept: float) -> Self:
        self.coef_, self.intercept_ = coef, intercept
        return self

    def _left(self, given: Given) -> str:
        return quote(given.response)

    def _checked(self, X: Any, y: Any) -> tuple[Array, Array]:
        raise NotImplementedError

    def _index(self, X: Any) -> Array:
        check_is_fitted(self)
        if self._terms is not None:
            return np.asarray(self._terms.matrix(numbers_at(X, self._features, self._schema)) @ self._theta)
        if isinstance(X, Carried):
            np.asarray(X)  # raises, with the reason
        x = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray(x @ np.ravel(self.coef_) + float(np.ravel(self.intercept_)[0]))

    def _corrected(self, X: Any, y: Any, metric: str) -> float:
        from versadp.learners.scoring import corrected_score

        return float(corrected_score(self, X, y, metric=metric))


class Regressor(RegressorMixin, Learner):  # type: ignore[misc] # scikit-learn has no types
    """A learner of a numeric response."""

    _metric: ClassVar[str] = "r2"

    def predict(self, X: Any) -> Array:
        """Return predictions at records, without a correction for noise in them."""
        return np.asarray(self._loss().mean(self._index(X)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R squared: at released records the corrected estimate of that at the true records."""
        if is_released(X, self.mechanism):
            return self._corrected(X, y, self._metric)
        return float(super().score(X, y, sample_weight))

    def _checked(self, X: Any, y: Any) -> tuple[Array, Array]:
        x, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        return x, np.asarray(y, dtype=np.float64)


class Classifier(ClassifierMixin, Learner):  # type: ignore[misc] # scikit-learn has no types
    """A learner of a response of two classes."""

    def decision_function(self, X: Any) -> Array:
        """Return the index, above 0 for the second class."""
        return self._index(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return classes at records, without a correction for noise in them."""
        above = self._index(X) > 0
        return np.asarray(self.classes_[above.astype(int)])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy: at released records the corrected estimate of that at the true records."""
        if is_released(X, self.mechanism):
            return self._corrected(X, y, "accuracy")
        return float(super().score(X, y, sample_weight))

    def _left(self, given: Given) -> str:
        left, self.classes_ = two_classes(given)
        return left

    def _take(self, coef: Array, intercept: float) -> Self:
        self.coef_, self.intercept_ = coef[None], np.array([intercept])
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Array, Array]:
        x, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise ParameterError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}.",
                hint="compare one class with the others",
            )
        if len(self.classes_) < 2:
            raise ParameterError("y has one class only, and a classifier needs two", hint="give records of both")
        return x, np.asarray(self._loss().classes, dtype=np.float64)[codes]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class How(NamedTuple):
    """Options that a learner passes on to `fit`."""

    method: str
    draws: int
    random_state: int
    weights: Any = None
    start: Any = None


class Learnt(NamedTuple):
    """Coefficients by name, their terms, and the results of the fit if there was no penalty."""

    names: tuple[str, ...]
    theta: Array
    terms: Terms
    results: Results | None

    def split(self) -> tuple[Array, float]:
        """Return the coefficients, and the intercept or 0."""
        constant = np.array([name == "Intercept" for name in self.names])
        return self.theta[~constant], float(self.theta[constant].sum())


def learn(given: Given, left: str, loss: Any, how: How, *, intercept: bool, penalty: Penalty) -> Learnt:
    """Return the fit of a loss of an index to the inputs of a learner."""
    right = " + ".join(["1" if intercept else "0", *(_term(given.release, name) for name in given.features)])
    formula = f"{left} ~ {right}"
    seed, options = how.random_state, {"method": how.method, "weights": how.weights}
    if penalty.alpha:
        return Learnt(
            *fit_penalised(given.release, formula, loss, penalty, draws=how.draws, seed=seed, **options), None
        )
    results = fit(given.release, formula, loss=loss, draws=how.draws, start=how.start, random_state=seed, **options)
    return answered(results)


def answered(results: Results) -> Learnt:
    """Return the coefficients of results; raise if there are none, warn if they are weak or hardly known."""
    results.need_estimate()
    theta = results.params.values
    if not np.isfinite(theta).all():
        results.need_estimate(sure=True)
    if not results.converged:
        warnings.warn(
            f"the fit is {results.outcome}: {results.advice or results.outcome.advice}; `result_` has its intervals",
            ConvergenceWarning,
            stacklevel=find_stacklevel(),
        )
    elif hardly := [name for name, t in results.trust.strength.items() if t < STRONG]:
        warnings.warn(
            f"hardly known: {', '.join(hardly)}; `result_` has intervals",
            ConvergenceWarning,
            stacklevel=find_stacklevel(),
        )
    if results.design is None:
        raise EstimationError("this loss has no linear predictor, so there are no predictions", hint="see result_")
    return Learnt(results.names, np.asarray(theta), results.design, results)


def _term(release: Release, name: str) -> str:
    """Return the term of a column in a formula."""
    category = isinstance(release.mechanism.schema.columns[name], Categorical)
    text = quote(name)
    return f"C({text})" if category or public_levels(release, name) is not None else text


def two_classes(given: Given) -> tuple[str, NDArray[Any]]:
    """Return the left side of a formula for a response of two classes, and the classes, the second coded 1."""
    release, name = given.release, given.response
    column = release.mechanism.schema.columns[name]
    if isinstance(column, Categorical):
        return quote(name), _two(column.levels, name)
    if name not in release.mechanism.schema.public:
        return quote(name), np.array([column.lower, column.upper])  # type: ignore[union-attr] # private columns that are not categorical have bounds
    if (levels := public_levels(release, name)) is not None:
        return f"I({quote(name)} == {json.dumps(levels[-1], ensure_ascii=False)})", _two(levels, name)
    seen: set[float] = set()
    kind = release.types.field(name).type.to_pandas_dtype()
    for handle in release.handles():
        seen |= set(np.unique(values_of(release.read(handle, [name]).column(name))).tolist())
    classes = _two(sorted(kind(value) for value in seen), name)
    return quote(name) if seen <= {-1.0, 0.0, 1.0} else f"I({quote(name)} == {max(seen)!r})", classes


def _two(levels: Any, name: str) -> NDArray[Any]:
    if len(levels) != 2:
        raise ParameterError(
            f"Only binary classification is supported, and {name!r} has {len(levels)} classes",
            hint='for a category of several levels use vdp.fit(release, "region ~ age", loss="multinomial")',
        )
    return np.array(list(levels))
