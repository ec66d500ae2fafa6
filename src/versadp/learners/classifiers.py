"""Learners of two classes: by probabilities, or by a margin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.learners import noiseless
from versadp.learners.base import Classifier
from versadp.losses import Hinge, Logistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from versadp.inputs import Array
    from versadp.learners.noiseless import Records
    from versadp.release.mechanism import Mechanism


class LogisticRegression(Classifier):
    """Logistic regression of two classes.

        mean of log(1 + e^u) - y u  +  alpha |w|^2 / 2,      u = x'w + b, y 0 or 1

    Parameters
    ----------
    alpha : float
        Ridge penalty; `LogisticRegression(C=1/(n alpha))` of scikit-learn. Without one, classes that a plane separates
        have no estimate: a warning says so, and coefficients are where the solver stopped.
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

    def _loss(self) -> Logistic:
        return Logistic()

    def _plain(self, records: Records) -> tuple[Array, float]:
        return noiseless.logistic(records, self.alpha)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of both classes at records, taken as they are."""
        p = Logistic().mean(self._index(X))
        return np.column_stack([1 - p, p])

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities."""
        u = self._index(X)
        return -np.column_stack([np.logaddexp(0, u), np.logaddexp(0, -u)])


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

    codes = (-1.0, 1.0)

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

    def _loss(self) -> Hinge:
        return Hinge()

    def _plain(self, records: Records) -> tuple[Array, float]:
        return noiseless.hinge(records, self.alpha)
