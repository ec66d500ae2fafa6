"""Rows that vary one thing at a time: covariates, errors, events, dimension, records, exact rate, scale, response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.losses import Check, Huber, Mean, Quantile
from versadp_bench.coverage.covariates import Covariates
from versadp_bench.coverage.populations import Bare, Index, Resampled
from versadp_bench.coverage.regime import Regime, Scaled

if TYPE_CHECKING:
    from numpy.typing import NDArray

_USUAL = Scaled(0.3, 0.05)
_X = "y ~ x0 + x1"
_ENDS = (0, 1, 2, -1)  # of many coefficients a few are judged: intercept, the first two, the last


@dataclass(frozen=True)
class Product:
    """The product of the first two columns; shown by its name, where a function would be shown by its address."""

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return it for each record."""
        return np.asarray(x[:, 0] * x[:, 1])


def _right(dim: int) -> str:
    return "y ~ " + " + ".join(f"x{j}" for j in range(dim))


def _slopes(dim: int, size: float) -> tuple[float, ...]:
    """Return slopes of alternating sign."""
    return tuple(size * (-1) ** j for j in range(dim))


def _two(kind: str, slopes: tuple[float, float] = (1.0, -1.0), response: str = "normal", **more: float) -> Index:
    return Index(Covariates(kind, 2), slopes, response=response, **more)  # type: ignore[arg-type] # by name


def _wide(dim: int, size: float, response: str = "normal") -> Index:
    return Index(Covariates("uniform", dim), _slopes(dim, size), response=response)


_COVARIATES = (
    Regime("uniform", _two("uniform"), 2000, _USUAL, _X),
    Regime("skewed", _two("skewed"), 5000, _USUAL, _X),
    Regime("discrete", _two("discrete", (0.5, -0.5)), 5000, _USUAL, _X),
    Regime("binary", _two("binary"), 5000, _USUAL, _X),
    Regime("piled up", _two("piled"), 5000, _USUAL, _X),
    Regime("correlated 0.9", _two("correlated", (1.0, 0.5)), 10_000, Scaled(0.2, 0.05), _X),
    Regime("heavy tails", _two("tailed", (0.5, -0.5)), 10_000, Scaled(0.1, 0.05), _X),
    Regime("logistic, skewed", _two("skewed", (3.0, -3.0), "event"), 5000, Scaled(0.2, 0.1), _X, "logistic"),
    Regime("logistic, discrete", _two("discrete", (0.5, -0.5), "event"), 5000, _USUAL, _X, "logistic"),
    Regime("logistic, correlated", _two("correlated", (1.0, 0.5), "event"), 10_000, Scaled(0.2, 0.05), _X, "logistic"),
    Regime("median, piled up", _two("piled"), 5000, Scaled(0.3, 0.1), _X, Check()),
    Regime("median, discrete", _two("discrete", (0.5, -0.5)), 5000, Scaled(0.3, 0.1), _X, Check()),
    Regime(
        "heavy tails, quantile 0.95", Bare(Covariates("tailed", 3)), 5000, Scaled(0.3, 0.1), loss=Quantile("x0", 0.95)
    ),
    Regime(
        "product, quantile 0.9", Bare(Covariates("skewed", 2)), 5000, Scaled(0.3, 0.1), loss=Quantile(Product(), 0.9)
    ),
    Regime("piled up, quantile 0.9", Bare(Covariates("piled", 1)), 2000, _USUAL, loss=Quantile("x0", 0.9)),
)
_ERRORS = (
    Regime("heavy errors", _two("uniform", response="student"), 5000, _USUAL, _X),
    Regime("heavy errors, Huber", _two("uniform", response="student"), 5000, Scaled(0.3, 0.1), _X, Huber()),
    Regime("uneven errors", _two("uniform", sigma=1.0, tilt=0.8), 5000, _USUAL, _X),
    Regime("uneven errors, median", _two("uniform", sigma=1.0, tilt=0.8), 5000, Scaled(0.3, 0.1), _X, Check()),
    Regime("uneven errors, check 0.9", _two("skewed", sigma=0.5, tilt=1.0), 10_000, Scaled(0.3, 0.1), _X, Check(0.9)),
    Regime(
        "rare events",
        Index(Covariates("uniform", 2), (1.0, -1.0), -4.0, "event"),
        20_000,
        _USUAL,
        _X,
        "logistic",
    ),
    Regime("rare counts", Index(Covariates("uniform", 2), (0.5, -0.5), -3.0, "count"), 20_000, _USUAL, _X, "poisson"),
    Regime("counts", Index(Covariates("uniform", 2), (0.5, -0.5), 0.5, "count"), 5000, Scaled(0.5, 0.1), _X, "poisson"),
    Regime("sides, hinge", _two("uniform", response="side"), 20_000, Scaled(0.3, 0.1), _X, "hinge"),
    Regime(
        "private response",
        Index(Covariates("uniform", 2), (0.5, 0.5), sigma=0.3, private=(-2.5, 2.5)),
        5000,
        _USUAL,
        _X,
    ),
    Regime(
        "product", Index(Covariates("uniform", 2), (1.0, -1.0, 0.5), also="product"), 10_000, _USUAL, f"{_X} + x0:x1"
    ),
)
_SIZES = (
    Regime("mean, n=300", Bare(Covariates("skewed", 1)), 300, _USUAL, loss=Mean("x0")),
    Regime("median, n=300", Bare(Covariates("uniform", 1)), 300, Scaled(0.3, 0.2), loss=Quantile("x0", 0.5)),
    Regime("dim 1, n=300", _wide(1, 1.0), 300, _USUAL, _right(1)),
    Regime("dim 1, n=300, logistic", _wide(1, 2.0, "event"), 300, Scaled(0.3, 0.1), _right(1), "logistic"),
    Regime("calendar, dim 1", Index(Covariates("calendar", 1), (0.05,)), 1000, _USUAL, "y ~ age"),
    Regime("dim 3, n=1e5", _wide(3, 0.5), 100_000, Scaled(0.5, 0.01), _right(3)),
    Regime("dim 10", _wide(10, 0.5), 20_000, _USUAL, _right(10), counted=_ENDS),
    Regime("dim 10, logistic", _wide(10, 0.5, "event"), 20_000, _USUAL, _right(10), "logistic", counted=_ENDS),
    Regime("dim 10, median", _wide(10, 0.5), 20_000, Scaled(0.3, 0.2), _right(10), Check(), counted=_ENDS),
    Regime("dim 30", _wide(30, 0.3), 20_000, Scaled(0.2, 0.1), _right(30), counted=_ENDS),
    Regime("dim 30, n=1e5", _wide(30, 0.3), 100_000, _USUAL, _right(30), counted=_ENDS, slow=True),
    Regime("2 of 30", Index(Covariates("uniform", 30), (0.5, -0.5)), 20_000, Scaled(0.5, 0.02), _X),
)
_NOISE = (
    Regime("exact rate 0", _two("uniform"), 5000, Scaled(0.3, 0.0), _X),
    Regime("exact rate 0, logistic", _two("uniform", response="event"), 10_000, Scaled(0.3, 0.0), _X, "logistic"),
    Regime("exact rate 0.2, median", _two("uniform"), 2000, Scaled(0.5, 0.2), _X, Check()),
    Regime("exact rate 0.2, logistic", _two("uniform", response="event"), 2000, Scaled(1.0, 0.2), _X, "logistic"),
    Regime("exact rate 0.01, median", _two("uniform"), 20_000, Scaled(0.3, 0.01), _X, Check()),
    Regime("scale 0.1", _two("uniform"), 500, Scaled(0.1, 0.02), _X),
    Regime("scale 1", _two("uniform"), 10_000, Scaled(1.0, 0.02), _X),
    Regime("scale 2, weak", _two("uniform"), 1000, Scaled(2.0, 0.01), _X),
    Regime("scale 5", _two("uniform"), 100_000, Scaled(5.0, 0.02), _X),
    Regime("scale 5, rate 0.2", _two("uniform", response="event"), 5000, Scaled(5.0, 0.2), _X, "logistic"),
)
_RESPONSES = (
    Regime("Huber, piled up", _two("piled", response="student"), 5000, Scaled(0.3, 0.1), _X, Huber()),
    Regime("Huber, discrete", _two("discrete", (0.5, -0.5), "student"), 5000, Scaled(0.3, 0.1), _X, Huber()),
    Regime("log price", Resampled("gems"), 10_000, Scaled(0.15, 0.1), "np.log(price) ~ carat"),
    Regime(
        "private counts",
        Index(Covariates("uniform", 2), (0.5, -0.5), 0.3, "count", private=(0.0, 15.0)),
        10_000,
        Scaled(0.2, 0.1),
        _X,
        "poisson",
    ),
    Regime(
        "private events",
        Index(Covariates("uniform", 2), (1.0, -1.0), 0.3, "event", private=(0.0, 1.0)),
        10_000,
        Scaled(0.2, 0.1),
        _X,
        "logistic",
    ),
    Regime(
        "exact rate 0, square",
        Index(Covariates("uniform", 1), (1.0, -1.0), also="square"),
        10_000,
        Scaled(0.1, 0.0),
        "y ~ x0 + I(x0**2)",
    ),
)
ROWS = (*_COVARIATES, *_ERRORS, *_SIZES, *_NOISE, *_RESPONSES)
