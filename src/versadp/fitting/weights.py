"""Validate starting values and weights of the records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import DataError, ParameterError, near
from versadp.estimation.sizes import PART_ROWS
from versadp.fitting.source import numbers_of, public_numbers
from versadp.release.path.dates import from_dates
from versadp.schema import Dates

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from versadp.release.release import Release

    Array = NDArray[np.float64]

FEWEST = 200  # among which chance does not put weights in order
ORDERED = 0.02  # of how much weights differ: less from one record to the next, by a column, is a function of it


def vector(name: str, values: ArrayLike) -> Array:
    """Return finite numbers, at least one.

    Examples
    --------
    >>> vector("start", [0, 1])
    array([0., 1.])
    """
    try:
        out = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be a vector of finite numbers", hint=f"e.g. {name}=[0.0, 1.0]") from None
    if out.ndim != 1 or not np.isfinite(out).all() or not out.size:
        raise ParameterError(f"{name} must be a vector of finite numbers", hint=f"e.g. {name}=[0.0, 1.0]")
    return out


def record_weights(weights: ArrayLike | str | None, release: Release) -> Array | None:
    """Return one weight per record, as they are given or from the public column that is named."""
    if weights is None:
        return None
    schema = release.mechanism.schema
    name = weights if isinstance(weights, str) else getattr(weights, "name", None)
    if isinstance(name, str) and name in {*schema.numeric, *schema.categorical}:
        raise _by_noise(name)
    if isinstance(weights, str):
        if weights not in public_numbers(release):
            raise ParameterError(
                f"there is no public column of numbers {weights!r}",
                hint=f"{near(weights, public_numbers(release))}; or give a weight for each record",
            )
        read = [numbers_of(release.read(handle, [weights]).column(weights)) for handle in release.handles()]
        weights = np.concatenate(read)
    out = vector("weights", weights)
    if out.size != len(release):
        raise DataError(
            f"there are {out.size} weights for {len(release)} records",
            hint="one for each record, in the order of the release, which is not that of the input",
        )
    if (out < 0).any():
        raise DataError("weights must be 0 or more", hint="a weight says for how many a record stands")
    if not out.any():
        raise DataError("all weights are 0", hint="give those records a weight that shall count")
    for noisy in schema.numeric:
        some = _released(release, noisy)
        if follows(out[: some.size], some):
            raise _by_noise(noisy)
    return out


def _by_noise(name: str) -> ParameterError:
    return ParameterError(
        f"weights by the noisy column {name!r} would bias every answer", hint="weigh records by public columns"
    )


def _released(release: Release, name: str) -> Array:
    """Return the first values of a column as they were released, dates as days."""
    dated, read = release.mechanism.schema.columns[name], [np.empty(0)]
    for handle in release.handles():
        column = release.read(handle, [name]).column(name).slice(0, PART_ROWS)
        read.append(from_dates(column, dated) if isinstance(dated, Dates) else numbers_of(column))
        if sum(each.size for each in read) >= PART_ROWS:
            break
    return np.concatenate(read)


def follows(weights: Array, column: Array) -> bool:
    """Return True if weights are a function of a column with few jumps: sorted by it, they hardly change.

    Weights by anything else are shuffled by the noise. Where many records share a value nothing can be said.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noisy = rng.normal(size=1000)
    >>> follows(np.where(noisy > 0, 3.0, 1.0), noisy), follows(np.abs(noisy), noisy)
    (True, True)
    >>> follows(np.where(noisy + 0.3 * rng.normal(size=1000) > 0, 3.0, 1.0), noisy)
    False
    """
    known = np.isfinite(column)
    weights, column = weights[known], column[known]
    if weights.size < FEWEST or np.ptp(weights) == 0 or np.unique(column).size < weights.size / 2:
        return False
    steps = np.abs(np.diff(weights[np.argsort(column, kind="stable")])).mean()
    ranks = np.arange(1, weights.size + 1)
    apart = 2 * float(((2 * ranks - weights.size - 1) * np.sort(weights)).sum()) / (weights.size * (weights.size - 1))
    return bool(steps < ORDERED * apart)
