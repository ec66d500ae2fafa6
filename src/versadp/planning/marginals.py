"""Marginal distributions: from statements about a column to its quantile function Q; values are Q(U), U uniform.

    nothing              uniform over the bounds of a number, or the levels of a category
    mean and sd          the beta law on the bounds with these moments; a normal law without bounds
    quantiles            linear between those stated, with exponential tails through the outer two
    a law                an object with `ppf`, such as a frozen distribution of scipy.stats
    shares of levels     levels without a share divide the rest equally

Values are clipped to the bounds and rounded to the steps of a column, as in a release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from versadp import inputs
from versadp.errors import ParameterError
from versadp.schema import Bounded, Categorical, Public
from versadp.schema.spacing import LINEAR, from_even

Array = NDArray[np.float64]
Quantiles = Callable[[Array], NDArray[Any]]

TABLE_POINTS = 4001  # of a tabulated beta quantile function on 16 sd: linear interpolation is off by 1e-6 of the width
_FACTS = {"mean", "sd", "quantiles", "missing"}
_EXAMPLE = "e.g. {'mean': 45, 'sd': 12}, or {'quantiles': {0.1: 8e3, 0.5: 3e4, 0.9: 9e4}}"


class Marginal:
    """The distribution of one column, and its share of missing values.

    Parameters
    ----------
    name : str
    column : Column
    stated : mapping, law with `ppf`, or None

    Examples
    --------
    >>> age = Marginal("age", Bounded(18, 90), {"mean": 40, "sd": 12})
    >>> values = age.at((np.arange(100_000) + 0.5) / 100_000)
    >>> round(float(values.mean()), 2), round(float(values.std()), 2)
    (40.0, 12.0)
    >>> print(age)
    mean 40, sd 12
    """

    def __init__(self, name: str, column: Any, stated: Any = None) -> None:
        self.name, self.column, self.stated = name, column, stated
        self.missing = 0.0
        self.levels: tuple[Any, ...] | None = None
        if isinstance(stated, Mapping) and "missing" in stated:
            self.missing = inputs.number(f"the missing share of {name!r}", stated["missing"], 0, 1, open_high=True)
            if self.missing and not getattr(column, "nullable", True):
                raise ParameterError(f"{name!r} cannot be missing by its schema", hint="declare it nullable=True")
            stated = {fact: value for fact, value in stated.items() if fact != "missing"} or None
        if isinstance(column, Categorical) or (isinstance(column, Public) and _is_shares(stated)):
            self._at = self._of_levels(column, stated)
        else:
            self._at = self._of_number(column, stated)

    @property
    def is_stated(self) -> bool:
        """True if the provider stated anything about it."""
        return self.stated is not None

    def at(self, u: Array) -> NDArray[Any]:
        """Return the quantiles at levels u: numbers in the units of the column, or levels of a category."""
        return self._at(u)

    def __str__(self) -> str:
        stated = self.stated
        if stated is None:
            return "even over its levels" if self.levels else "even over its bounds"
        if not isinstance(stated, Mapping):
            return "a law of its own"
        parts = [
            f"{fact} " + (_pairs(value) if isinstance(value, Mapping) else f"{value:g}")
            for fact, value in stated.items()
        ]
        return ", ".join(parts)

    def _of_levels(self, column: Any, stated: Any) -> Quantiles:
        shares = {} if stated is None else stated
        if not isinstance(shares, Mapping):
            raise ParameterError(f"shares of {self.name!r} must be a mapping", hint="e.g. {'north': 0.4, 'south': 0.6}")
        levels = column.levels if isinstance(column, Categorical) else tuple(shares)
        by_text = {str(level): level for level in levels}  # levels in files are text
        given = {by_text.get(str(level), level): share for level, share in shares.items()}
        if unknown := [level for level in given if level not in levels]:
            raise ParameterError(
                f"{self.name!r} has no level {unknown[0]!r}", hint=f"its levels: {', '.join(map(str, levels))}"
            )
        known = {
            level: inputs.number(f"the share of a level of {self.name!r}", value, 0, 1)
            for level, value in given.items()
        }
        left, rest = 1 - sum(known.values()), len(levels) - len(known)
        if left < -1e-9 or (not rest and left > 1e-6):
            raise ParameterError(
                f"the shares of {self.name!r} must add up to 1", hint="leave one level out for the rest"
            )
        self.levels = tuple(levels)
        ends = np.cumsum([known.get(level, max(left, 0.0) / max(rest, 1)) for level in levels])
        values = np.array(levels, dtype=object if isinstance(levels[0], str) else None)
        return lambda u: values[np.minimum(np.searchsorted(ends, u, side="right"), len(levels) - 1)]

    def _of_number(self, column: Any, stated: Any) -> Quantiles:
        low, high = (column.lower, column.upper) if isinstance(column, Bounded) else (-np.inf, np.inf)
        spacing = getattr(column, "spacing", LINEAR)
        if stated is None and spacing != LINEAR:  # even on the scale of its lattice, as a linear one is in its values
            first, last = column.even_bounds
            return lambda u: np.clip(from_even(spacing, first + (last - first) * np.asarray(u)), low, high)
        law = self._law(low, high, stated)
        step = column.step if isinstance(column, Bounded) else None

        def at(u: Array) -> Array:
            x = np.clip(np.asarray(law(u), dtype=float), low, high)
            return np.asarray(x if step is None else low + np.rint((x - low) / step) * step)

        return at

    def _law(self, low: float, high: float, stated: Any) -> Quantiles:
        if stated is None:
            if not np.isfinite(low):
                return np.zeros_like  # a public column that is not in the model
            return lambda u: low + (high - low) * u
        if callable(getattr(stated, "ppf", None)):
            return stated.ppf  # type: ignore[no-any-return] # checked above
        if not isinstance(stated, Mapping) or not set(stated) <= _FACTS:
            raise ParameterError(f"unknown statement about {self.name!r}", hint=_EXAMPLE)
        if "quantiles" in stated:
            if len(stated) > 1:
                raise ParameterError(
                    f"quantiles and moments of {self.name!r} are both stated", hint="state one of the two"
                )
            return _through(self.name, stated["quantiles"])
        return self._by_moments(low, high, stated)

    def _by_moments(self, low: float, high: float, stated: Mapping[str, Any]) -> Quantiles:
        if "sd" not in stated or ("mean" not in stated and not np.isfinite(low)):
            raise ParameterError(f"{self.name!r} needs mean and sd", hint=_EXAMPLE)
        sd = inputs.number(f"the sd of {self.name!r}", stated["sd"], 0, np.inf, open_low=True, open_high=True)
        if not np.isfinite(low):
            from scipy.special import ndtri

            mean = inputs.number(f"the mean of {self.name!r}", stated["mean"], -np.inf, np.inf)
            return lambda u: mean + sd * ndtri(u)
        from scipy.special import betaincinv

        mean = inputs.number(
            f"the mean of {self.name!r}", stated.get("mean", (low + high) / 2), low, high, open_low=True, open_high=True
        )
        m, v = (mean - low) / (high - low), (sd / (high - low)) ** 2
        both = m * (1 - m) / v - 1
        if both <= 0:
            most = (high - low) * np.sqrt(m * (1 - m))
            said = f"with a mean of {mean:g} between its bounds {self.name!r} has an sd below {most:g}"
            raise ParameterError(said, hint="state a smaller sd")
        from scipy.special import ndtr

        at = ndtr(np.linspace(-8, 8, TABLE_POINTS))  # betaincinv takes a second for 1e5 values
        table = low + (high - low) * betaincinv(m * both, (1 - m) * both, at)
        return lambda u: np.interp(u, at, table)


def _is_shares(stated: Any) -> bool:
    return isinstance(stated, Mapping) and bool(stated) and not set(stated) & _FACTS


def _pairs(stated: Mapping[Any, Any]) -> str:
    return ", ".join(f"{float(share):g}: {value:g}" for share, value in stated.items())


def _through(name: str, stated: Any) -> Quantiles:
    """Return the quantile function through stated points, with exponential tails.

    Examples
    --------
    >>> law = _through("income", {0.5: 10.0, 0.75: 20.0})
    >>> law(np.array([0.5, 0.625, 0.875]))  # each halving of the tail adds the same amount
    array([10., 15., 30.])
    """
    if not isinstance(stated, Mapping) or len(stated) < 2:
        raise ParameterError(f"state at least two quantiles of {name!r}", hint=_EXAMPLE)
    pairs = sorted(
        (inputs.number("a share", float(p), 0, 1, open_low=True, open_high=True), float(q)) for p, q in stated.items()
    )
    p, q = (np.array(each) for each in zip(*pairs, strict=True))
    if (np.diff(q) < 0).any() or not np.isfinite(q).all():
        raise ParameterError(f"quantiles of {name!r} must increase with their shares", hint=_EXAMPLE)
    above = (q[-1] - q[-2]) / np.log((1 - p[-2]) / (1 - p[-1]))
    below = (q[1] - q[0]) / np.log(p[1] / p[0])

    def law(u: Array) -> Array:
        x = np.interp(u, p, q)
        x = np.where(u > p[-1], q[-1] + above * np.log((1 - p[-1]) / np.maximum(1 - u, 1e-12)), x)
        return np.asarray(np.where(u < p[0], q[0] - below * np.log(p[0] / np.maximum(u, 1e-12)), x))

    return law
