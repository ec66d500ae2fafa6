"""What a response may be, given its index: with an error added to it, or drawn from a law that it decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, ndtri, stdtrit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Error(NamedTuple):
    """An error: how it is drawn, where its mean and quantiles are, and whether it is symmetric around 0."""

    draw: Callable[[np.random.Generator, int], Array]
    mean: float
    quantile: Callable[[float], float]
    symmetric: bool


def _normal(rng: np.random.Generator, n: int) -> Array:
    return rng.standard_normal(n)


def _student(rng: np.random.Generator, n: int) -> Array:
    return rng.standard_t(3, n)


def _exponential(rng: np.random.Generator, n: int) -> Array:
    return rng.exponential(size=n)


ERRORS: Mapping[str, Error] = {
    "normal": Error(_normal, 0.0, lambda tau: float(ndtri(tau)), symmetric=True),
    "student": Error(_student, 0.0, lambda tau: float(stdtrit(3, tau)), symmetric=True),
    "exponential": Error(_exponential, 1.0, lambda tau: float(-np.log1p(-tau)), symmetric=False),
}


def _happens(rng: np.random.Generator, u: Array) -> Array:
    return (rng.random(u.size) < expit(u)).astype(float)


def _counts(rng: np.random.Generator, u: Array) -> Array:
    return rng.poisson(np.exp(u)).astype(float)


def _sides(rng: np.random.Generator, u: Array) -> Array:
    return np.where(rng.random(u.size) < expit(2 * u), 1.0, -1.0)


LAWS: Mapping[str, Callable[[np.random.Generator, Array], Array]] = {
    "event": _happens,
    "count": _counts,
    "side": _sides,
}
OWN_LOSS = {"event": "logistic", "count": "poisson"}  # the loss whose minimum is at the coefficients of a law
