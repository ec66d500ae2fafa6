"""Test that values could be outputs of zero-inflated Laplace noise.

A column that was scaled, rounded or clamped after release no longer carries the noise that the correction assumes.
Released values lie on a fine grid; scaling moves them to another grid, which shows even in a few values. A researcher's
own noise lies on no grid at all; then mean and variance must fit: noise alone has variance `(1 - r) sigma^2`, and
bounded values add at most `width^2 / 4`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import DataError
from versadp.noise.selection_check import HONEST_REFUSED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise.zero_inflated import ZeroInflatedBlock

    Array = NDArray[np.float64]

HINT = (
    "undo what was done to the column after release; if the noise is your own and you know better, "
    "use Release.from_frame(..., on_grid=False)"
)


def refuse_changed(block: ZeroInflatedBlock, released: Array, *, strict: bool) -> None:
    """Raise if a column of (dim, rows) cannot be the block's output."""
    off = block.off_grid(released)
    for j, (name, values) in enumerate(zip(block.columns, released, strict=True)):
        if off[j] and (strict or _on_some_grid(values) or not _spread_fits(values, block, j)):
            raise DataError(
                f"column {name!r} has {off[j]} of {values.size} values off the release grid: changed after release",
                hint=HINT,
            )
        if _clamped(values, block, j):
            raise DataError(f"column {name!r} was clamped to its bounds after release", hint=HINT)


def _on_some_grid(values: Array) -> bool:
    """Tell whether the gaps between values have a common divisor, by Euclid's algorithm with a tolerance."""
    gaps = np.diff(np.unique(values[:1000]))
    if gaps.size < 2:
        return False
    tolerance = 1e-8 * gaps.sum()
    # small gaps first: rounding errors grow with the quotients
    divisor, *others = np.sort(gaps)[:20]
    for gap in others:
        larger, smaller = gap, divisor
        while smaller > tolerance:
            rest = larger % smaller
            larger, smaller = smaller, min(rest, smaller - rest)  # a remainder just below the divisor is none
        divisor = larger
    return bool(divisor > 10 * tolerance)


def _spread_fits(values: Array, block: ZeroInflatedBlock, j: int) -> bool:
    """Tell whether mean and variance lie where the mechanism can put them, give or take five standard errors."""
    n = values.size
    if n < 2:
        return True
    width, noise = float(block.width[j]), (1 - block.exact_rate) * float(block.sigma[j]) ** 2
    mean_slack = 5 * np.sqrt((width**2 / 4 + noise) / n)
    # the fourth moment of Laplace noise is 6 sigma^4, that of bounded values at most width^4 / 16
    variance_slack = 5 * np.sqrt((6 * block.sigma[j] ** 4 + width**4 / 16 + 6 * width**2 * noise / 4) / n)
    mean, variance = values.mean(), values.var(ddof=1)
    return bool(
        block.lower[j] - mean_slack <= mean <= block.upper[j] + mean_slack
        and noise - variance_slack <= variance <= noise + width**2 / 4 + variance_slack
    )


def _clamped(values: Array, block: ZeroInflatedBlock, j: int) -> bool:
    """Tell whether no value lies outside although noise must have carried some there (chance below 1e-9)."""
    if ((values < block.lower[j]) | (values > block.upper[j])).any():
        return False
    # least likely for a record in the middle of its bounds
    leaves = (1 - block.exact_rate) * np.exp(-np.sqrt(0.5) / block.scale[j])
    return bool(values.size * np.log1p(-leaves) < np.log(HONEST_REFUSED))
