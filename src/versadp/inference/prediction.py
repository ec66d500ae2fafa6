"""Predictions with confidence bands: g(x'θ), and g at the ends of x'θ ± z sqrt(x'Vx).

The band is for the expected response, or the quantile, at x; it is not a prediction interval for a new response. Its
ends are mapped through the link g, which is monotone, so that they keep their coverage and stay in its range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import ParameterError
from versadp.formula.terms import Terms
from versadp.inference.coefficient_table import interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.inputs import Array

    Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Prediction:
    """Predictions with the ends of their confidence bands, one per row.

    Attributes
    ----------
    estimate, lower, upper : arrays
        One column per class for a categorical response.
    level : float
    classes : tuple of str
    std_error : array or None
        By the delta method; None for classes.
    """

    estimate: Array
    lower: Array
    upper: Array
    level: float
    classes: tuple[str, ...] = ()
    std_error: Array | None = None

    def summary_frame(self) -> Any:
        """Return a pandas DataFrame with the names of statsmodels: mean, mean_se, mean_ci_lower, mean_ci_upper."""
        import pandas as pd

        if self.classes:
            raise ParameterError("there is no single mean of several classes", hint="use to_pandas()")
        ends = {"mean_ci_lower": self.lower, "mean_ci_upper": self.upper}
        return pd.DataFrame({"mean": self.estimate, "mean_se": self.std_error} | ends)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame, with three columns per class for a categorical response."""
        import pandas as pd

        each = {"estimate": self.estimate, "lower": self.lower, "upper": self.upper}
        if not self.classes:
            return pd.DataFrame(each)
        columns = {(c, what): values[:, k] for k, c in enumerate(self.classes) for what, values in each.items()}
        return pd.DataFrame(columns)


def identity(u: Array) -> Array:
    """Return u: the link of squared, check and Huber losses."""
    return u


def logistic(u: Array) -> Array:
    """Return 1 / (1 + exp(-u)), a probability."""
    from scipy.special import expit

    return np.asarray(expit(u), dtype=np.float64)


def exponential(u: Array) -> Array:
    """Return exp(u), a rate; infinite where it overflows."""
    with np.errstate(over="ignore"):
        return np.exp(u)


def side(u: Array) -> Array:
    """Return the class, 1 above 0 and -1 below: the link of hinge loss."""
    return np.where(u > 0, 1.0, -1.0)


def softmax(u: Array) -> Array:
    """Return the probabilities of a reference and of other classes from the indices u of the latter."""
    from scipy import special

    return np.asarray(special.softmax(np.column_stack([np.zeros(len(u)), u]), axis=1))


CUSTOM = "custom"
"""The name in saved results of a link that is a user-defined function."""

LINKS: dict[str, Function] = {
    "identity": identity,
    "logistic": logistic,
    "exponential": exponential,
    "side": side,
    "softmax": softmax,
}


@dataclass(frozen=True)
class Link:
    """The link from a linear predictor to a prediction.

    Attributes
    ----------
    name : str or None
        Its name in saved results; "custom" for a user-defined function, None if there are no predictions.
    function : callable or None
        None also for a user-defined function, which saved results do not contain.

    Examples
    --------
    >>> Link.read("logistic").function(np.array([0.0]))
    array([0.5])
    >>> Link.read(np.tanh).name
    'custom'
    """

    name: str | None
    function: Function | None

    @classmethod
    def read(cls, link: str | Function | None) -> Link:
        """Return a link from its name, from a function, or from None."""
        if link is None:
            return cls(None, None)
        if isinstance(link, str):
            if link == CUSTOM:  # read from a file
                return cls(CUSTOM, None)
            if link not in LINKS:
                known = ", ".join(LINKS)
                raise ParameterError(f"there is no link {link!r}", hint=f"choose from {known}, or give a function")
            return cls(link, LINKS[link])
        if not callable(link):
            raise ParameterError("a link is a name or a function", hint=f"choose from {', '.join(LINKS)}")
        return cls(next((name for name, known in LINKS.items() if known is link), CUSTOM), link)

    def need(self) -> Function:
        """Return the function, or raise with the reason why there is none."""
        if self.function is not None:
            return self.function
        if self.name == CUSTOM:
            raise ParameterError("the link of these results was a function, which is not saved", hint="fit again")
        raise ParameterError("a loss without a linear predictor has no predictions", hint="fit a formula")


def predict(
    matrix: Array, params: Array, cov: Array, link: Function, level: float | None, *, aside: Array | float = 0.0
) -> Array | Prediction:
    """Return predictions at the rows of a model matrix, with bands if a level is given.

    `aside` is added to the index.

    Examples
    --------
    >>> predict(np.array([[1.0, 2.0]]), np.array([0.5, 1.0]), np.eye(2), identity, None)
    array([2.5])
    """
    unknown, params, cov = without_weak(matrix, params, cov)
    centre = np.where(unknown, np.nan, matrix @ params + aside)
    if level is None:
        return link(centre)
    error = np.sqrt(np.maximum(np.sum((matrix @ cov) * matrix, axis=1), 0))
    ends = interval(centre, error, level)
    low, high = link(ends[:, 0]), link(ends[:, 1])
    slope = _slope(link, centre, error)
    return Prediction(link(centre), np.minimum(low, high), np.maximum(low, high), level, std_error=slope * error)


def without_weak(matrix: Array, params: Array, cov: Array) -> tuple[NDArray[np.bool_], Array, Array]:
    """Return which rows need a coefficient without an estimate, and estimates and covariance with 0 for those.

    Examples
    --------
    >>> cov = np.array([[1.0, np.nan], [np.nan, np.nan]])
    >>> without_weak(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, np.nan]), cov)[0]
    array([False,  True])
    """
    weak = np.isnan(params) | np.isnan(np.diag(cov))
    unknown = (matrix[:, weak] != 0).any(axis=1)
    return unknown, np.where(weak, 0.0, params), np.where(weak[:, None] | weak, 0.0, cov)


def predict_average(
    matrix: Array, params: Array, cov: Array, link: Function, aside: Array | float = 0.0
) -> tuple[float, float]:
    """Return the average prediction over the rows of a model matrix, and its standard error by the delta method.

    Examples
    --------
    >>> value, error = predict_average(np.array([[1.0, 2.0], [1.0, 4.0]]), np.array([0.5, 1.0]), np.eye(2), identity)
    >>> value, round(error, 6)
    (3.5, 3.162278)
    """
    centre = matrix @ params + aside
    error = np.sqrt(np.maximum(np.sum((matrix @ cov) * matrix, axis=1), 0))
    gradient = (_slope(link, centre, error)[:, None] * matrix).mean(axis=0)
    return float(link(centre).mean()), float(np.sqrt(gradient @ cov @ gradient))


def _slope(link: Function, centre: Array, error: Array) -> Array:
    """Return the slope of a link, by a difference that is small relative to the standard errors."""
    small = 1e-4 * np.maximum(error, 1e-4)
    with np.errstate(invalid="ignore"):
        return np.asarray((link(centre + small) - link(centre - small)) / (2 * small))


def predict_classes(
    matrix: Array, params: Array, cov: Array, classes: tuple[str, ...], level: float | None
) -> Array | Prediction:
    """Return the probability of each class (rows, classes), the first the reference, with bands if a level is given.

    A band is by the delta method on the scale of `log(p/(1-p))`, so that it stays between 0 and 1.

    Parameters
    ----------
    matrix : array (rows, (classes - 1) p)
        The design, repeated for each class except the reference.

    Examples
    --------
    >>> one = np.ones((1, 2))
    >>> predict_classes(one, np.array([0.0, np.log(2)]), np.eye(2), ("a", "b", "c"), None)
    array([[0.25, 0.25, 0.5 ]])
    """
    others = len(classes) - 1
    design = matrix.reshape(len(matrix), others, -1)
    p = softmax(np.einsum("nkj,kj->nk", design, params.reshape(others, -1)))
    if level is None:
        return p
    logit, spread = np.empty_like(p), np.empty_like(p)
    for c in range(len(classes)):
        slope = (np.arange(1, len(classes)) == c) - p[:, 1:]
        moved = (slope / (1 - p[:, [c]]))[:, :, None] * design
        moved = moved.reshape(len(matrix), -1)
        logit[:, c] = np.log(p[:, c]) - np.log1p(-p[:, c])
        spread[:, c] = np.sqrt(np.maximum(np.sum((moved @ cov) * moved, axis=1), 0))
    low, high = (logistic(end) for end in np.moveaxis(interval(logit, spread, level), -1, 0))
    return Prediction(p, low, high, level, classes)


def model_matrix(data: Any, terms: Terms | None, size: int, offset: str | None = None) -> tuple[Array, Array | float]:
    """Return the model matrix and the offset at a mapping of columns or a table; a matrix is returned as it is."""
    if isinstance(data, np.ndarray):
        matrix = np.atleast_2d(data)
        if matrix.ndim != 2 or matrix.shape[1] != size or matrix.dtype.kind not in "fiub":
            raise ParameterError(
                f"a model matrix has {size} columns of numbers, one per coefficient",
                hint="or give a table with the columns of the formula",
            )
        return matrix.astype(np.float64), 0.0
    if terms is None:
        raise ParameterError("this fit has no formula", hint="give the model matrix as a numpy array")
    columns = _columns(data)
    if offset is None:
        return terms.matrix(columns), 0.0
    added = Terms(("offset",), ((offset,),)).matrix(columns)[:, 0]
    return terms.matrix(columns), added


def _columns(data: Any) -> Mapping[str, Any]:
    if isinstance(data, Mapping):
        return data
    import narwhals as nw

    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise ParameterError(
            f"cannot predict at {type(data).__name__}", hint="give a table, or a dictionary of columns"
        ) from None
    return {name: frame.get_column(name).to_numpy() for name in frame.columns}
