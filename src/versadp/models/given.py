"""What an analyst gives beside a release and a formula: a start, and weights of the records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import DataError, ParameterError
from versadp.models.source import numbers_of, public_numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from versadp.release.release import Release

    Array = NDArray[np.float64]


def vector(name: str, values: ArrayLike) -> Array:
    """Return finite numbers, at least one.

    Examples
    --------
    >>> vector("start", [0, 1])
    array([0., 1.])
    """
    out = np.asarray(values, dtype=float)
    if out.ndim != 1 or not np.isfinite(out).all() or not out.size:
        raise ParameterError(f"{name} must be a vector of finite numbers")
    return out


def record_weights(weights: ArrayLike | str | None, release: Release) -> Array | None:
    """Return a weight for each record, as they are given or from the public column that is named."""
    if weights is None:
        return None
    schema = release.mechanism.schema
    name = weights if isinstance(weights, str) else getattr(weights, "name", None)
    if isinstance(name, str) and name in {*schema.numeric, *schema.categorical}:
        raise ParameterError(
            f"weights by the noisy column {name!r} would bias every answer", hint="weigh records by public columns"
        )
    if isinstance(weights, str):
        if weights not in public_numbers(release):
            raise ParameterError(
                f"there is no public column of numbers {weights!r}", hint="name one, or give a weight for each record"
            )
        read = [numbers_of(release.read(handle, [weights]).column(weights)) for handle in release.handles()]
        weights = np.concatenate(read)
    out = vector("weights", weights)
    if out.size != len(release):
        raise DataError(f"there are {out.size} weights for {len(release)} records")
    if (out < 0).any():
        raise DataError("weights must be 0 or more")
    if not out.any():
        raise DataError("all weights are 0")
    return out
