"""Learners of numbers: means, quantiles, robust means, rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.learners import noiseless
from versadp.learners.base import Regressor
from versadp.learners.inputs import is_released
from versadp.learners.penalised import Penalty
from versadp.losses import Check, Huber, Poisson, Squared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from versadp.inputs import Array
    from versadp.learners.noiseless import Records
    from versadp.release.mechanism import Mechanism


class LinearRegression(Regressor):
    """Least squares, with ridge, lasso or elastic net if wanted.

        mean of (y - x'w - b)^2 / 2  +  alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2)

    Parameters
    ----------
    alpha : float
        Penalty; 0 is none. It is `ElasticNet(alpha, l1_ratio)` of scikit-learn, and `Ridge(n alpha)`.
    l1_ratio : float
        0 is a ridge, 1 a lasso.
    fit_intercept : bool
    mechanism : Mechanism, optional
        What made the noise in X, and in y if `response` says so. None is the plain estimator.
    response : str, optional
        The column of the mechanism that y is. None: y is public.
    columns : sequence of str, optional
        The released columns that enter the model; all but the response by default.
    method : str
        As for `versadp.fit`.
    draws : int
        As for `versadp.fit`.
    random_state : int
        Of the draws.

    Attributes
    ----------
    coef_, intercept_ : array, float
    coef_names_ : tuple of str
        Of released records: what the coefficients are of, levels of categories one by one.
    result_ : Results or None
        What `versadp.fit` found, with standard errors; None without noise, or with a penalty.

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

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        mechanism: Mechanism | None = None,
        response: str | None = None,
        columns: Sequence[str] | None = None,
        method: str = "efficient",
        draws: int = 20,
        random_state: int | None = 0,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.mechanism = mechanism
        self.response = response
        self.columns = columns
        self.method = method
        self.draws = draws
        self.random_state = random_state

    def _loss(self) -> Squared:
        return Squared()

    def _penalty(self) -> Penalty:
        return Penalty(super()._penalty().alpha, inputs.number("l1_ratio", self.l1_ratio, 0, 1))

    def _plain(self, records: Records) -> tuple[Array, float]:
        return noiseless.squared(records, self.alpha, self.l1_ratio)


class QuantileRegressor(Regressor):
    """Quantile regression.

        mean of (y - u)(quantile - 1{y < u})  +  alpha |w|_1,      u = x'w + b

    Parameters
    ----------
    quantile : float
    alpha : float
        Penalty, for records without noise only: a corrected loss with kinks has no lasso that could be trusted.
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

    def __init__(
        self,
        quantile: float = 0.5,
        alpha: float = 0.0,
        *,
        fit_intercept: bool = True,
        mechanism: Mechanism | None = None,
        response: str | None = None,
        columns: Sequence[str] | None = None,
        method: str = "efficient",
        draws: int = 20,
        random_state: int | None = 0,
    ) -> None:
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.mechanism = mechanism
        self.response = response
        self.columns = columns
        self.method = method
        self.draws = draws
        self.random_state = random_state

    def _loss(self) -> Check:
        return Check(self.quantile)

    def _plain(self, records: Records) -> tuple[Array, float]:
        return noiseless.check(records, self.alpha, self._loss().tau)


class HuberRegressor(Regressor):
    """Robust regression: squared loss near 0, absolute loss beyond k scales of the residuals.

    The scale is estimated with the coefficients (`versadp.losses.Huber`); without noise this is scikit-learn's
    `HuberRegressor` at `epsilon = k/√c`, c = E min(N², k²).

    Parameters
    ----------
    k : float
        The corner, in scales of the residuals. (scikit-learn's name for it would be read as privacy here.)
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

    def __init__(
        self,
        k: float = 1.345,
        alpha: float = 0.0,
        *,
        fit_intercept: bool = True,
        mechanism: Mechanism | None = None,
        response: str | None = None,
        columns: Sequence[str] | None = None,
        method: str = "efficient",
        draws: int = 20,
        random_state: int | None = 0,
    ) -> None:
        self.k = k
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.mechanism = mechanism
        self.response = response
        self.columns = columns
        self.method = method
        self.draws = draws
        self.random_state = random_state

    def _loss(self) -> Huber:
        return Huber(self.k)

    def _plain(self, records: Records) -> tuple[Array, float]:
        return noiseless.huber(records, self.alpha, self._loss().k)


class PoissonRegressor(Regressor):
    """Poisson regression of counts, the log of whose mean is linear.

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

    _metric = "d2_poisson"

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        fit_intercept: bool = True,
        mechanism: Mechanism | None = None,
        response: str | None = None,
        columns: Sequence[str] | None = None,
        method: str = "efficient",
        draws: int = 20,
        random_state: int | None = 0,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.mechanism = mechanism
        self.response = response
        self.columns = columns
        self.method = method
        self.draws = draws
        self.random_state = random_state

    def _loss(self) -> Poisson:
        return Poisson()

    def _plain(self, records: Records) -> tuple[Array, float]:
        return noiseless.poisson(records, self.alpha)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of deviance explained; of a learner of released records that of the true ones."""
        from sklearn.metrics import d2_tweedie_score

        if is_released(X, self.mechanism):
            return self._corrected(X, y, self._metric)
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
