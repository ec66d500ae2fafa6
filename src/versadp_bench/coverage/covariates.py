"""Columns that a population may have: their bounds, and how they are drawn. Values never leave the bounds.

| kind | one column |
|---|---|
| uniform | even between -1 and 1 |
| skewed | exponential with mean 0.15, cut at 1 |
| discrete | whole numbers 1 to 5, mostly high |
| binary | 0, or 1 in three of ten cases |
| piled | normal, 27% of it cut off at 0 and 8% at 1 |
| correlated | normal in ±3, each two correlated by 0.9 |
| tailed | Student's t with three degrees of freedom, in ±10 |
| narrow | the first normal with an sd of 4% of its width, the others uniform on ±1 |
| twins | normal in ±1, sd 0.3, each two correlated by 0.95 |
| calendar | ages 18 to 90 and years 2000 to 2020, whole |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Draw = Callable[[np.random.Generator, int, int], Array]

CORRELATION = 0.9
_SHARES = (0.02, 0.05, 0.13, 0.35, 0.45)


class Kind(NamedTuple):
    """Bounds of a column, a function of (rng, n, dim) that draws all columns, and quantiles by a formula if any."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    draw: Draw
    quantile: Callable[[float], float] | None = None


def _uniform(rng: np.random.Generator, n: int, dim: int) -> Array:
    return rng.uniform(-1, 1, (n, dim))


def _skewed(rng: np.random.Generator, n: int, dim: int) -> Array:
    return np.minimum(rng.exponential(0.15, (n, dim)), 1.0)


def _discrete(rng: np.random.Generator, n: int, dim: int) -> Array:
    return np.asarray(rng.choice(np.arange(1.0, 6.0), (n, dim), p=_SHARES))


def _binary(rng: np.random.Generator, n: int, dim: int) -> Array:
    return (rng.random((n, dim)) < 0.3).astype(float)


def _piled(rng: np.random.Generator, n: int, dim: int) -> Array:
    return np.clip(rng.normal(0.3, 0.5, (n, dim)), 0.0, 1.0)


def _correlated(rng: np.random.Generator, n: int, dim: int) -> Array:
    common, own = rng.standard_normal((n, 1)), rng.standard_normal((n, dim))
    return np.asarray(np.clip(CORRELATION**0.5 * common + (1 - CORRELATION) ** 0.5 * own, -3.0, 3.0))


def _tailed(rng: np.random.Generator, n: int, dim: int) -> Array:
    return np.clip(rng.standard_t(3, (n, dim)), -10.0, 10.0)


def _narrow(rng: np.random.Generator, n: int, dim: int) -> Array:
    first = np.clip(rng.normal(0, 0.08, (n, 1)), -1.0, 1.0)
    return np.append(first, rng.uniform(-1, 1, (n, dim - 1)), axis=1)


def _twins(rng: np.random.Generator, n: int, dim: int) -> Array:
    common, own = rng.standard_normal((n, 1)), rng.standard_normal((n, dim))
    return np.asarray(np.clip(0.3 * (0.95**0.5 * common + 0.05**0.5 * own), -1.0, 1.0))


def _calendar(rng: np.random.Generator, n: int, dim: int) -> Array:
    columns = (rng.integers(18, 91, n), rng.integers(2000, 2021, n))
    return np.stack(columns[:dim], axis=1).astype(float)


KINDS: dict[str, Kind] = {
    "uniform": Kind((-1.0,), (1.0,), _uniform, lambda tau: 2 * tau - 1),
    "skewed": Kind((0.0,), (1.0,), _skewed, lambda tau: min(1.0, float(-0.15 * np.log1p(-tau)))),
    "discrete": Kind((1.0,), (5.0,), _discrete),
    "binary": Kind((0.0,), (1.0,), _binary),
    "piled": Kind((0.0,), (1.0,), _piled, lambda tau: float(np.clip(0.3 + 0.5 * ndtri(tau), 0, 1))),
    "correlated": Kind((-3.0,), (3.0,), _correlated),
    "tailed": Kind((-10.0,), (10.0,), _tailed, lambda tau: float(np.clip(stdtrit(3, tau), -10, 10))),
    "narrow": Kind((-1.0,), (1.0,), _narrow),
    "twins": Kind((-1.0,), (1.0,), _twins),
    "calendar": Kind((18.0, 2000.0), (90.0, 2020.0), _calendar),
}
_NAMES = {"calendar": ("age", "year")}


@dataclass(frozen=True)
class Covariates:
    """Some columns of one kind.

    Examples
    --------
    >>> two = Covariates("skewed", 2)
    >>> two.names, two.bounds
    (('x0', 'x1'), ((0.0, 1.0), (0.0, 1.0)))
    >>> two.draw(np.random.default_rng(0), 5).shape
    (5, 2)
    """

    kind: str
    dim: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return _NAMES.get(self.kind, tuple(f"x{j}" for j in range(self.dim)))[: self.dim]

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper bound of each column."""
        kind = KINDS[self.kind]
        every = list(zip(kind.lower, kind.upper, strict=True))
        return tuple(every[j % len(every)] for j in range(self.dim))

    def quantile(self, tau: float) -> float | None:
        """Return a column's quantile, where there is a formula."""
        formula = KINDS[self.kind].quantile
        return None if formula is None else formula(tau)

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """Draw n records, (n, dim)."""
        return KINDS[self.kind].draw(rng, n, self.dim)
