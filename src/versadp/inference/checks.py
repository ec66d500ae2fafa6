"""Checks of results when they are made: finite estimates, a valid covariance, terms with matching names."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.errors import EstimationError, ParameterError
from versadp.estimation.distribution import Curve
from versadp.formula.expression import parse_expression
from versadp.formula.terms import Terms
from versadp.likelihood import LikelihoodSet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from versadp.inputs import Array


def check_array(what: str, values: ArrayLike | None, shape: tuple[int, ...]) -> Array:
    """Return a finite array of the given shape.

    Examples
    --------
    >>> check_array("params", [1, 2], (2,))
    array([1., 2.])
    """
    array = check_shape(what, values, shape)
    if not np.isfinite(array).all():
        raise EstimationError(f"{what} is not finite", hint="give the fit another outcome than 'converged'")
    return array


def check_shape(what: str, values: ArrayLike | None, shape: tuple[int, ...]) -> Array:
    """Return an array of the given shape, finite or not.

    Examples
    --------
    >>> check_shape("params", [1, np.nan], (2,))
    array([ 1., nan])
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{what} must be numbers of shape {shape}", hint="give an array of floats") from None
    if array.shape != shape:
        raise ParameterError(f"{what} must be numbers of shape {shape}, not {array.shape}", hint="one per coefficient")
    return array


def check_level(level: Any, name: str = "level") -> float:
    """Return the level of an interval.

    Examples
    --------
    >>> check_level(95)
    Traceback (most recent call last):
    ...
    versadp.errors.ParameterError: level must be a number in (0, 1), not 95
      hint: e.g. 0.95
    """
    return inputs.number(name, level, 0, 1, open_low=True, open_high=True, hint="e.g. 0.95")


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
        raise EstimationError("a variance is negative", hint="give a covariance matrix")
    sd = np.sqrt(np.diag(array))
    # beyond rounding, measured in each pair's own units
    if (np.abs(array - array.T) > 1e-6 * np.outer(sd, sd)).any():
        raise EstimationError("the covariance is not symmetric", hint="give a covariance matrix")
    return (array + array.T) / 2


def check_size(name: str, value: Any) -> float | None:
    """Return a number of records, which need not be an integer, or None.

    Examples
    --------
    >>> check_size("effective_n", 321.5)
    321.5
    """
    return None if value is None else inputs.number(name, value, 0, np.inf, open_high=True, error=EstimationError)


def check_weights(weights: Mapping[str, Any] | None) -> Mapping[str, float] | None:
    """Return a read-only copy of the weights of a combination, which may be negative.

    Examples
    --------
    >>> check_weights({"zero": 1.5, "clip": -0.5})["clip"]
    -0.5
    """
    if weights is None:
        return None
    return MappingProxyType({str(member): _finite(f"the weight of {member!r}", w) for member, w in weights.items()})


def check_bias(bias: Mapping[str, Any], names: tuple[str, ...]) -> Mapping[str, float]:
    """Return the estimated biases of coefficients, which their estimates have been corrected for."""
    if not set(bias) <= set(names):
        raise ParameterError("a bias names an unknown coefficient", hint=f"coefficients: {', '.join(names)}")
    return MappingProxyType({str(name): _finite(f"the bias of {name!r}", off) for name, off in bias.items()})


def check_curves(curves: Mapping[str, Any] | None, names: tuple[str, ...]) -> Mapping[str, Curve]:
    """Return curves by coefficient.

    Examples
    --------
    >>> check_curves({"median": ([0, 1], [-0.5, 0.5], [0.1, 0.1], 0.0)}, ("median",))["median"].estimate
    1.0
    """
    read = {str(name): Curve.read(curve) for name, curve in (curves or {}).items()}
    if not set(read) <= set(names):
        raise ParameterError("a curve names an unknown coefficient", hint=f"coefficients: {', '.join(names)}")
    return MappingProxyType(read)


def check_profiles(profiles: Mapping[str, Any] | None, names: tuple[str, ...]) -> Mapping[str, LikelihoodSet]:
    """Return likelihood sets by coefficient: one per coefficient, or none at all.

    Examples
    --------
    >>> check_profiles({"age": ([0, 2], [-4, 4])}, ("age",))["age"].interval(0.95)
    (0.5100090038649865, 1.4899909961350135)
    """
    read = {str(name): LikelihoodSet.read(each) for name, each in (profiles or {}).items()}
    if read and set(read) != set(names):
        raise ParameterError(
            "likelihood sets must be one per coefficient, or none", hint=f"coefficients: {', '.join(names)}"
        )
    return MappingProxyType(read)


def _finite(name: str, value: Any) -> float:
    return inputs.number(name, value, -np.inf, np.inf, open_low=True, open_high=True, error=EstimationError)


def read_terms(design: Any, names: tuple[str, ...]) -> Terms | None:
    """Return the terms of a design, checked to have the names of the coefficients."""
    terms = getattr(design, "terms", design)
    if terms is None:
        return None
    if not isinstance(terms, Terms):
        raise ParameterError("a design must be Terms, or have them as `terms`", hint="use versadp.inference.Terms")
    if terms.names != names:
        raise ParameterError("the design and the coefficients have different names", hint=f"names: {', '.join(names)}")
    return terms


def check_offset(offset: Any) -> str | None:
    """Return the text of an offset, checked to be an expression, or None."""
    if offset is None:
        return None
    if not isinstance(offset, str):
        raise ParameterError("the offset of results must be text", hint="an expression such as 'np.log(time)'")
    return parse_expression(offset).text
