"""Any loss as a learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from versadp.errors import ParameterError
from versadp.fitting.fit import fit
from versadp.learners import noiseless
from versadp.learners.base import Regressor
from versadp.learners.inputs import is_released, read_given
from versadp.losses import Check, Hinge, Huber, Logistic, Poisson, Squared, as_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from versadp.inputs import Array
    from versadp.learners.noiseless import Records
    from versadp.release.mechanism import Mechanism


class MEstimator(Regressor):
    """The minimum of the mean of any loss.

    Parameters
    ----------
    loss : str, loss or callable
        A name or an object of `versadp.losses`, of the index x'w + b and of y, where `predict` gives the loss's mean;
        or `loss(x, theta) -> (n,)` of your own, x the columns of X and then y (of released records: the numbers in the
        order of the schema), where `params_` is all that there is.
    start : array_like, optional
        Where to start; needed for a function of your own.
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

    def __init__(
        self,
        loss: Any = "squared",
        start: Any = None,
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
        self.loss = loss
        self.start = start
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.mechanism = mechanism
        self.response = response
        self.columns = columns
        self.method = method
        self.draws = draws
        self.random_state = random_state

    def _loss(self) -> Any:
        return as_loss(self.loss)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to records, as `LinearRegression.fit` does."""
        if hasattr(self._loss(), "derivatives"):
            return super().fit(X, y, sample_weight)
        if not callable(self.loss) or self.alpha or sample_weight is not None:
            raise ParameterError(
                "a learner takes losses of an index, or loss(x, theta), that without weights and penalty",
                hint='for others use versadp.fit(release, loss=vdp.losses.Mean("age"))',
            )
        return self._fit_own(X, y)

    def _fit_own(self, X: Any, y: Any) -> Self:
        if self.start is None:
            raise ParameterError("a loss of your own needs a start", hint="e.g. start=np.zeros(3)")
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

    def _plain(self, records: Records) -> tuple[Array, float]:
        loss, kind = self._loss(), type(self._loss())
        if kind is Squared:
            return noiseless.squared(records, self.alpha, 0.0)
        if kind is Logistic or kind is Hinge:
            coded = records._replace(y=loss.response(records.y))
            return noiseless.logistic(coded, self.alpha) if kind is Logistic else noiseless.hinge(coded, self.alpha)
        if kind is Poisson:
            return noiseless.poisson(records, self.alpha)
        if kind is Huber and loss.unscaled:
            return noiseless.huber(records, self.alpha, loss.k)
        if kind is Check:
            if self.alpha:
                raise ParameterError("check loss has no ridge here", hint="use QuantileRegressor(alpha=), a lasso")
            return noiseless.check(records, 0.0, loss.tau)
        if loss.kinked or loss.unscaled:
            raise ParameterError(
                f"{loss.name} loss has kinks or waits for a scale: without noise it has no solver here",
                hint="vdp.losses.Check and Hinge are solved exactly; or minimise a smooth loss",
            )
        return noiseless.smooth(records._replace(y=loss.response(records.y)), self.alpha, loss)
