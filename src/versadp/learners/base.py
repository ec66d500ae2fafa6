"""What all learners share: the contract of scikit-learn on plain records and on released ones.

    fit(X, y)            X a table by name or an array in the schema's order, y in the same order
    fit(release, "y")    a release or its folder, and the name of a column

Without a mechanism they are scikit-learn's own estimators under one objective (`plain.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from versadp import inputs
from versadp.errors import ParameterError
from versadp.formula.expression import quote
from versadp.learners.inputs import Carried, Given, is_released, numbers_at, read_given
from versadp.learners.learning import How, Learnt, learn, two_classes
from versadp.learners.noiseless import Records
from versadp.learners.penalised import Penalty
from versadp.release.release import Release

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.formula.terms import Terms
    from versadp.inputs import Array


class Learner(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A linear index of columns, fitted to plain or to released records."""

    alpha: float
    fit_intercept: bool
    mechanism: Any
    response: str | None
    columns: Any
    method: str
    draws: int
    random_state: int | None
    coef_: Array
    intercept_: Any
    start: Any = None
    _terms: Terms | None = None

    def _loss(self) -> Any:
        """Return the loss that is minimised."""
        raise NotImplementedError

    def _plain(self, records: Records) -> tuple[Array, float]:
        """Return coefficients and intercept for records without noise."""
        raise NotImplementedError

    def _penalty(self) -> Penalty:
        return Penalty(inputs.number("alpha", self.alpha, 0, np.inf, open_high=True))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to records.

        Parameters
        ----------
        X : Release, path, table or array
            Released records if there is a mechanism, or if it is a release: a table is matched by name, an array is in
            the order of the schema. Plain records otherwise.
        y : str or array
            A column of a release; or the response in the order of X.
        sample_weight : array or str, optional
            Of each record, 0 or more; of a release also the public column that holds them.
        """
        penalty = self._penalty()
        if not is_released(X, self.mechanism):
            return self._fit_plain(X, y, sample_weight)
        given = read_given(X, y, self.mechanism, self.response, self.columns)
        how = How(self.method, self.draws, self._seed(), sample_weight, self.start)
        learnt = learn(given, self._left(given), self._loss(), how, intercept=self.fit_intercept, penalty=penalty)
        return self._learnt(learnt, given, named=hasattr(X, "columns") or isinstance(X, Release | str))

    def _seed(self) -> int:
        """Return the seed of the draws: one that is 0 is the same as none, so that fits can be repeated."""
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
        return self._take(*self._plain(Records(x, y, weight, bool(self.fit_intercept))))

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
            np.asarray(X)  # which says why not
        x = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray(x @ np.ravel(self.coef_) + float(np.ravel(self.intercept_)[0]))

    def _corrected(self, X: Any, y: Any, metric: str) -> float:
        from versadp.learners.scoring import corrected_score

        return float(corrected_score(self, X, y, metric=metric))


class Regressor(RegressorMixin, Learner):  # type: ignore[misc] # scikit-learn has no types
    """A learner of numbers."""

    _metric = "r2"

    def predict(self, X: Any) -> Array:
        """Return predictions at records, taken as they are."""
        return np.asarray(self._loss().mean(self._index(X)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R squared; of a learner of released records that of the true ones, corrected, X being released."""
        if is_released(X, self.mechanism):
            return self._corrected(X, y, self._metric)
        return float(super().score(X, y, sample_weight))

    def _checked(self, X: Any, y: Any) -> tuple[Array, Array]:
        x, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        return x, np.asarray(y, dtype=np.float64)


class Classifier(ClassifierMixin, Learner):  # type: ignore[misc] # scikit-learn has no types
    """A learner of two classes."""

    codes: tuple[float, float] = (0.0, 1.0)

    def decision_function(self, X: Any) -> Array:
        """Return the index: above 0 for the second class."""
        return self._index(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return classes at records, taken as they are."""
        above = self._index(X) > 0
        return np.asarray(self.classes_[above.astype(int)])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy; of a learner of released records that on the true ones, corrected, X being released."""
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
            raise ParameterError("y has one class only: nothing tells classes apart", hint="give records of both")
        return x, np.asarray(self.codes, dtype=np.float64)[codes]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
