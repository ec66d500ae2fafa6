"""How an attacker tells two records apart that were released with zero-inflated Laplace noise.

The score is the log likelihood ratio of the noise's own law: by Neyman and Pearson nothing separates the two better.
Events that no density knows of are tried beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise.zero_inflated import ZeroInflatedBlock

    Array = NDArray[np.float64]

CERTAIN = 1e6  # the score of an exact hit: beyond every density ratio


def log_ratio(block: ZeroInflatedBlock, seen: Array, null: Array, other: Array) -> Array:
    """Return the log likelihood ratio of `other` against `null` for released records (dim, rows)."""
    from versadp.privacy.curves.radial import log_density

    # within half a step of a record the density is that of the cell, not of the pole
    near = 0.5 / float(block.sigma_steps.max())
    radius = [np.linalg.norm((seen - end[:, None]) / block.sigma[:, None], axis=0) for end in (null, other)]
    logs = [log_density(block.dim, np.maximum(r, near)) for r in radius]
    total = np.asarray(logs[1] - logs[0])
    if block.exact_rate and (null != other).any():
        for end, score in ((other, CERTAIN), (null, -CERTAIN)):
            total[(np.abs(seen - end[:, None]) <= block.step[:, None] / 2).all(axis=0)] = score
    return total


def events(block: ZeroInflatedBlock, seen: Array, null: Array, other: Array) -> dict[str, NDArray[np.bool_]]:
    """Return values off the grid, low bits, and values that hit a record."""
    steps = (seen - np.array(block.lower)[:, None]) / block.step[:, None]
    bits = seen[0] * 2.0**53
    found = {
        "a value off the release grid": (steps != np.rint(steps)).any(axis=0),
        "low bits: y * 2^53 is no whole number": bits != np.rint(bits),
    }
    for end, word in ((null, "first"), (other, "second")):
        found[f"some value just that of the {word} record"] = (seen == end[:, None]).any(axis=0)
        found[f"all values just those of the {word} record"] = (seen == end[:, None]).all(axis=0)
    return found
