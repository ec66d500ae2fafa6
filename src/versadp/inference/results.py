"""Results of a fit: estimates, their covariance, and everything that follows from the two.

    √n (θ̂ - θ₀) → N(0, V⁻¹ A V⁻¹)

A fit that did not converge has no estimate: asking for one is an error, and the summary says what to do.
"""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from versadp.errors import EstimationError, ParameterError
from versadp.inference import storage
from versadp.inference.checks import check_array, check_covariance, read_terms
from versadp.inference.coefficients import CoefTable, coefficient_table, interval, z_and_p
from versadp.inference.constraints import read_constraints
from versadp.inference.named import NamedArray
from versadp.inference.prediction import Prediction, model_matrix, predict, read_link
from versadp.inference.summary import Summary, summarise
from versadp.inference.wald import WaldTest, wald

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

CONVERGED = "converged"
_ADVICE = "more records, a larger exact_rate, fewer noisy columns in the model, or another method may give an estimate"


class Results:
    """What a fit found, made by `versadp.fit`.

    Parameters
    ----------
    params : array (p,) or None
        Estimates; None or anything if there is none.
    cov : array (p, p) or None
        Their estimated covariance.
    names : sequence of str
        Names of the coefficients.
    outcome : str
        "converged", or what went wrong.
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
        the user's own, which cannot be saved.
    design : Terms or object with `terms`, optional
        The right side of the formula, for predictions.
    advice : str, optional
        What to do about an outcome other than "converged".

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

    def __init__(
        self,
        params: ArrayLike | None,
        cov: ArrayLike | None,
        names: Sequence[str],
        outcome: str,
        nobs: int,
        *,
        loss: str,
        method: str,
        formula: str | None = None,
        header: Mapping[str, str] | None = None,
        effective_n: float | None = None,
        weights: Mapping[str, float] | None = None,
        predict_link: str | Callable[[Array], Array] | None = None,
        design: Any = None,
        advice: str | None = None,
    ) -> None:
        names = tuple(map(str, names))
        if not names or len(set(names)) != len(names):
            raise ParameterError("coefficients need names that differ from each other")
        known = str(outcome) == CONVERGED
        if known and nobs < len(names):
            raise EstimationError(
                f"there are {nobs} records for {len(names)} coefficients", hint="fit fewer terms, or use more records"
            )
        link_name, link = (predict_link, None) if predict_link == storage.CUSTOM else read_link(predict_link)
        self._set(
            names=names,
            outcome=str(outcome),
            nobs=int(nobs),
            loss=str(loss),
            method=str(method),
            formula=formula,
            advice=advice,
            effective_n=None if effective_n is None else float(check_array("effective_n", effective_n, ())),
            header=MappingProxyType({str(label): str(fact) for label, fact in (header or {}).items()}),
            weights=None
            if weights is None
            else MappingProxyType({str(m): float(check_array("a weight", w, ())) for m, w in weights.items()}),
            # what a solver was left with is no estimate and is not kept
            _params=check_array("params", params, (len(names),)) if known else None,
            _cov=check_covariance(cov, len(names)) if known else None,
            _link=link,
            _link_name=storage.CUSTOM if link is not None and link_name is None else link_name,
            _terms=read_terms(design, names),
        )

    names: tuple[str, ...]
    outcome: str
    nobs: int
    loss: str
    method: str
    formula: str | None
    advice: str | None
    effective_n: float | None
    header: Mapping[str, str]
    weights: Mapping[str, float] | None

    def _set(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Results cannot be changed; {name!r} was to be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Results cannot be changed; {name!r} was to be removed")

    @property
    def converged(self) -> bool:
        """True if there is an estimate."""
        return self.outcome == CONVERGED

    def _need_estimate(self) -> None:
        if not self.converged:
            raise EstimationError(f"not converged: {self.outcome}", hint=self.advice or _ADVICE)

    @cached_property
    def params(self) -> NamedArray:
        """Estimates, by name or number."""
        self._need_estimate()
        return NamedArray(self.__dict__["_params"], self.names)

    def cov_params(self) -> NamedArray:
        """Return the estimated covariance of the estimates."""
        self._need_estimate()
        return NamedArray(self.__dict__["_cov"], self.names)

    @cached_property
    def bse(self) -> NamedArray:
        """Standard errors."""
        return NamedArray(np.sqrt(np.diag(self.cov_params().values)), self.names)

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

    def conf_int(self, level: float = 0.95) -> NamedArray:
        """Return lower and upper ends of confidence intervals, one row a coefficient."""
        return NamedArray(interval(self.params.values, self.bse.values, level), self.names)

    def coef_table(self, level: float = 0.95) -> CoefTable:
        """Return the coefficient table: rows of coefficient, estimate, std_error, z, p_value, lower, upper."""
        return coefficient_table(self.names, self.params.values, self.bse.values, level)

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
        return wald(self.params.values, self.cov_params().values, matrix, right)

    def predict(self, data: Any, interval: float | None = None) -> Array | Prediction:
        """Predict at true records.

        Parameters
        ----------
        data : mapping of columns, pandas, polars or arrow table, or array
            The columns of the formula; an array is a model matrix with one column a coefficient.
        interval : float, optional
            Level of a confidence band for the expected response (or the quantile), e.g. 0.95.

        Returns
        -------
        array, or Prediction with `estimate`, `lower` and `upper` if a level is given
        """
        params, cov = self.params.values, self.cov_params().values
        if self.__dict__["_link"] is None:
            custom = self.__dict__["_link_name"] == storage.CUSTOM
            why = (
                "its link was a function, which a file does not hold" if custom else "its loss has no linear predictor"
            )
            raise ParameterError(f"this fit does not predict: {why}")
        matrix = model_matrix(data, self.__dict__["_terms"], len(self.names))
        return predict(matrix, params, cov, self.__dict__["_link"], interval)

    def summary(self, level: float = 0.95) -> Summary:
        """Return the summary: `print` shows text, a notebook shows HTML."""
        return summarise(self, self.coef_table(level) if self.converged else None, self.advice or _ADVICE)

    def __repr__(self) -> str:
        return f"<Results: {self.formula or self.loss}, {self.nobs} records, {self.outcome}>"

    def _repr_html_(self) -> str:
        return self.summary().to_html()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries, lists and numbers."""
        return storage.to_dict(self)

    @classmethod
    def from_dict(cls, data: Any) -> Results:
        """Read what `to_dict` wrote."""
        return cls(**storage.arguments(data))

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
        return (_rebuild, (self.to_dict(), self.__dict__["_link"]))


def _rebuild(data: dict[str, Any], link: Callable[[Array], Array] | None) -> Results:
    """Unpickle with the link itself, which JSON cannot hold."""
    arguments = storage.arguments(data)
    return Results(**(arguments if link is None else arguments | {"predict_link": link}))
