"""What results must be before anyone sees them: finite estimates, a covariance that is one, terms that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import EstimationError, ParameterError
from versadp.formula.terms import Terms

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


def check_array(what: str, values: ArrayLike | None, shape: tuple[int, ...]) -> Array:
    """Return finite numbers of the given shape.

    Examples
    --------
    >>> check_array("params", [1, 2], (2,))
    array([1., 2.])
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{what} must be numbers of shape {shape}") from None
    if array.shape != shape:
        raise ParameterError(f"{what} must be numbers of shape {shape}, not {array.shape}")
    if not np.isfinite(array).all():
        raise EstimationError(f"{what} is not finite", hint="such a fit has an outcome of its own, not 'converged'")
    return array


def check_covariance(cov: ArrayLike | None, size: int) -> Array:
    """Return a covariance, made exactly symmetric.

    Examples
    --------
    >>> check_covariance([[1.0, 0.5], [0.5, 2.0]], 2)
    array([[1. , 0.5],
           [0.5, 2. ]])
    """
    array = check_array("the covariance", cov, (size, size))
    if (np.diag(array) < 0).any():
        raise EstimationError("a variance is negative: this is not the covariance of an estimate")
    sd = np.sqrt(np.diag(array))
    # beyond rounding, measured in each pair's own units
    if (np.abs(array - array.T) > 1e-6 * np.outer(sd, sd)).any():
        raise EstimationError("the covariance is not symmetric")
    return (array + array.T) / 2


def read_terms(design: Any, names: tuple[str, ...]) -> Terms | None:
    """Return the terms of a design, whose names must be those of the coefficients."""
    terms = getattr(design, "terms", design)
    if terms is None:
        return None
    if not isinstance(terms, Terms):
        raise ParameterError("a design must be Terms, or have them as `terms`")
    if terms.names != names:
        raise ParameterError("the design and the coefficients have different names")
    return terms
