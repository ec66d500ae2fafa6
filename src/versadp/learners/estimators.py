"""The learners: linear, logistic, quantile, Huber and Poisson regression, linear support vectors, any other loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError
from versadp.fitting.fit import fit
from versadp.learners import noiseless
from versadp.learners.conversion import is_released, read_given
from versadp.learners.learner import Classifier, Regressor
from versadp.learners.penalised import Penalty
from versadp.losses import Check, Hinge, Huber, Logistic, Poisson, Squared, as_loss

if TYPE_CHECKING:
    from versadp.inputs import Array
    from versadp.learners.noiseless import Records


@dataclass(eq=False, repr=False)
class LinearRegression(Regressor):
    """Least squares, with an optional ridge, lasso or elastic net penalty.

        mean of (y - x'w - b)^2 / 2  +  alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2)

    Parameters
    ----------
    alpha : float
        Penalty; 0 is none. It is `ElasticNet(alpha, l1_ratio)` of scikit-learn, and `Ridge(n alpha)`.
    l1_ratio : float
        0 is a ridge, 1 a lasso.
    fit_intercept : bool
    mechanism : Mechanism, optional
        The mechanism that released X, and y if `response` is set. None: records without noise.
    response : str, optional
        The column of the mechanism that is y. None: y is public.
    columns : sequence of str, optional
        The released columns that enter the model; all but the response by default.
    method : str
        As for `versadp.fit`.
    draws : int
        As for `versadp.fit`.
    random_state : int
        Seed of the draws.

    Attributes
    ----------
    coef_, intercept_ : array, float
    coef_names_ : tuple of str
        Of released records: the terms of the coefficients, one per level of a category.
    result_ : Results or None
        Results of `versadp.fit`, with standard errors; None without noise, or with a penalty.

    Examples
    --------
    >>> import numpy as np, pandas as pd, versadp as vdp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 20_000)
    >>> people = pd.DataFrame({"x": x, "y": 1 + 2 * x + rng.normal(size=20_000)})
    >>> schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
    >>> release = vdp.Mechanism(schema, scale=0.5, exact_rate=0.1).release(people)
    >>> model = vdp.LinearRegression().fit(release, y="y")
    >>> bool(abs(model.coef_[0] - 2) < 5 * model.result_.bse["x"])
    True
    """

    alpha: float = 0.0
    l1_ratio: float = field(default=0.0, kw_only=True)

    def _loss(self) -> Squared:
        return Squared()

    def _penalty(self) -> Penalty:
        return Penalty(super()._penalty().alpha, inputs.number("l1_ratio", self.l1_ratio, 0, 1))

    def _plain(self, records: Records) -> tuple[Array, float]:
        return noiseless.squared(records, self.alpha, self.l1_ratio)


@dataclass(eq=False, repr=False)
class QuantileRegressor(Regressor):
    """Quantile regression.

        mean of (y - u)(quantile - 1{y < u})  +  alpha |w|_1,      u = x'w + b

    Parameters
    ----------
    quantile : float
    alpha : float
        Penalty, for records without noise only: a corrected loss with kinks is not convex.
    fit_intercept : bool
    mechanism, response, columns, method, draws, random_state
        As for `LinearRegression`.

    Examples
    --------
    >>> import numpy as np, versadp as vdp
    >>> x = np.arange(5.0)[:, None]
    >>> vdp.QuantileRegressor().fit(x, 2 * x[:, 0]).coef_.round(6)
    array([2.])
    """

    quantile: float = 0.5
    alpha: float = 0.0

    def _loss(self) -> Check:
        return Check(self.quantile)

    def _plain(self, records: Records) -> tuple[Array, float]:
        return noiseless.check(records, self.alpha, self._loss().tau)


@dataclass(eq=False, repr=False)
class HuberRegressor(Regressor):
    """Robust regression: squared loss near 0, absolute loss beyond k times the scale of the residuals.

    The scale is estimated with the coefficients (`versadp.losses.Huber`); without noise this is scikit-learn's
    `HuberRegressor` at `epsilon = k/√c`, c = E min(N², k²).

    Parameters
    ----------
    k : float
        The corner, in multiples of the scale. (scikit-learn calls it `epsilon`, which means privacy here.)
    alpha : float
        Ridge penalty, for records without noise only: `mean of s rho(r/s) + s c/2 + alpha |w|^2 / 2`, s the scale.
    fit_intercept : bool
    mechanism, response, columns, method, draws, random_state
        As for `LinearRegression`.

    Examples
    --------
    >>> import numpy as np, versadp as vdp
    >>> x = np.arange(20.0)[:, None]
    >>> y = 2 * x[:, 0] + np.tile([-0.1, 0.1], 10)
    >>> y[19] = 500
    >>> bool(abs(vdp.HuberRegressor().fit(x, y).coef_[0] - 2) < 0.05)
    True
    """

    k: float = 1.345
    alpha: float = 0.0

    def _loss(self) -> Huber:
        return Huber(self.k)


@dataclass(eq=False, repr=False)
class PoissonRegressor(Regressor):
    """Poisson regression of counts with a log link.

        mean of exp(u) - y u  +  alpha |w|^2 / 2,      u = x'w + b

    Parameters
    ----------
    alpha : float
        Ridge penalty.
    fit_intercept : bool
    mechanism, response, columns, method, draws, random_state
        As for `LinearRegression`.

    Examples
    --------
    >>> import numpy as np, versadp as vdp
    >>> x = np.arange(4.0)[:, None]
    >>> vdp.PoissonRegressor().fit(x, [1, 2, 4, 8]).coef_.round(6)
    array([0.693147])
    """

    _metric: ClassVar[str] = "d2_poisson"

    alpha: float = 0.0

    def _loss(self) -> Poisson:
        return Poisson()

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the explained share of the deviance: at released records corrected for their noise."""
        from sklearn.metrics import d2_tweedie_score

        if is_released(X, self.mechanism):
            return self._corrected(X, y, self._metric)
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@dataclass(eq=False, repr=False)
class LogisticRegression(Classifier):
    """Logistic regression of two classes.

        mean of log(1 + e^u) - y u  +  alpha |w|^2 / 2,      u = x'w + b, y 0 or 1

    Parameters
    ----------
    alpha : float
        Ridge penalty; `LogisticRegression(C=1/(n alpha))` of scikit-learn. Without one, classes that a plane separates
        have no finite estimate: a warning says so, and coefficients are those at which the solver stopped.
    fit_intercept : bool
    mechanism, response, columns, method, draws, random_state
        As for `LinearRegression`.

    Attributes
    ----------
    classes_ : array (2,)
    coef_, intercept_ : arrays (1, columns), (1,)

    Examples
    --------
    >>> import numpy as np, pandas as pd, versadp as vdp
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(18, 90, 20_000)
    >>> people = pd.DataFrame({"age": age, "bought": rng.random(20_000) < 1 / (1 + np.exp(-(age - 50) / 15))})
    >>> schema = vdp.Schema({"age": vdp.Bounded(18, 90), "bought": vdp.Public()})
    >>> release = vdp.Mechanism(schema, scale=0.3, exact_rate=0.1).release(people)
    >>> model = vdp.LogisticRegression().fit(release, y="bought")
    >>> bool(abs(model.coef_[0, 0] - 1 / 15) < 5 * model.result_.bse["age"])
    True
    """

    alpha: float = 0.0

    def _loss(self) -> Logistic:
        return Logistic()

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of both classes at records, without a correction for noise in them."""
        p = Logistic().mean(self._index(X))
        return np.column_stack([1 - p, p])

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities."""
        u = self._index(X)
        return -np.column_stack([np.logaddexp(0, u), np.logaddexp(0, -u)])


@dataclass(eq=False, repr=False)
class LinearSVC(Classifier):
    """A linear support vector machine.

        mean of max(0, 1 - y u)  +  alpha |w|^2 / 2,      u = x'w + b, y -1 or 1

    Parameters
    ----------
    alpha : float
        Ridge penalty, for records without noise only: `SVC(kernel="linear", C=1/(n alpha))` of scikit-learn. (Its
        `LinearSVC` penalises the intercept too.) Without one it is a linear programme.
    fit_intercept : bool
    mechanism, response, columns, method, draws, random_state
        As for `LinearRegression`.

    Examples
    --------
    >>> import numpy as np, versadp as vdp
    >>> x = np.array([[-2.0], [-1.0], [0.5], [-0.5], [1.0], [2.0]])
    >>> vdp.LinearSVC().fit(x, [0, 0, 0, 1, 1, 1]).predict([[-3.0], [3.0]])
    array([0, 1])
    """

    alpha: float = 0.0

    def _loss(self) -> Hinge:
        return Hinge()


@dataclass(eq=False, repr=False)
class MEstimator(Regressor):
    """An M-estimator: the minimum of the mean of any loss.

    Parameters
    ----------
    loss : str, loss or callable
        A name or an object of `versadp.losses`, of the index x'w + b and of y, with predictions by the mean function of
        the loss; or a function `loss(x, theta) -> (n,)`, x the columns of X and then y (of released records: the
        numeric columns in the order of the schema), whose only result is `params_`.
    start : array_like, optional
        Starting values; needed for a function.
    alpha : float
        Ridge penalty.
    fit_intercept : bool
    mechanism, response, columns, method, draws, random_state
        As for `LinearRegression`.

    Examples
    --------
    >>> import numpy as np, versadp as vdp
    >>> x = np.arange(5.0)[:, None]
    >>> vdp.MEstimator(vdp.losses.Check(0.5)).fit(x, 2 * x[:, 0]).coef_.round(6)
    array([2.])
    >>> def distance(x, theta):
    ...     return (x[:, 1] - theta[0] * x[:, 0]) ** 2
    >>> vdp.MEstimator(distance, start=[0.0]).fit(x, 2 * x[:, 0]).params_.round(6)
    array([2.])
    """

    loss: Any = "squared"
    start: Any = None
    alpha: float = 0.0

    def _loss(self) -> Any:
        return as_loss(self.loss)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to records, as `LinearRegression.fit` does."""
        if hasattr(self._loss(), "derivatives"):
            return super().fit(X, y, sample_weight)
        if not callable(self.loss) or self.alpha or sample_weight is not None:
            raise ParameterError(
                "a learner takes losses of an index, or a function loss(x, theta) without weights and penalty",
                hint='for other losses use versadp.fit(release, loss=vdp.losses.Mean("age"))',
            )
        return self._fit_own(X, y)

    def _fit_own(self, X: Any, y: Any) -> Self:
        if self.start is None:
            raise ParameterError("a function as a loss needs a start", hint="e.g. start=np.zeros(3)")
        start = np.asarray(self.start, dtype=float)
        if is_released(X, self.mechanism):
            given = read_given(X, y, self.mechanism, self.response)
            self.result_ = fit(
                given.release,
                loss=self.loss,
                start=start,
                method=self.method,
                draws=self.draws,
                random_state=self._seed(),
            )
            self.result_.need_estimate()
            self.params_ = self.result_.params.values
            return self
        x, y = self._checked(X, y)
        self.result_, self.params_ = None, noiseless.own(np.column_stack([x, y]), self.loss, start)
        return self
