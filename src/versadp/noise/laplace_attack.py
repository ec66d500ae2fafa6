"""Attacks that distinguish two records released with zero-inflated Laplace noise.

The score is the log likelihood ratio of the noise's own law: by Neyman and Pearson nothing separates the two better.
Events that no density knows of are tried beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.ranks import laplace_ranks

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


def labels(block: ZeroInflatedBlock, seen: Array) -> dict[str, NDArray[np.int64]]:
    """Return how far each value is from the grid, in 64ths of a step: nothing, if no raw offset survives."""
    steps = (seen - np.array(block.lower)[:, None]) / block.step[:, None]
    offset = np.rint(64 * (steps - np.rint(steps))).astype(np.int64) % 64
    return {f"the offset of {name} from the grid": at for name, at in zip(block.columns, offset, strict=True)}


def ranks(block: ZeroInflatedBlock, seen: Array, truth: Array, rng: np.random.Generator) -> dict[str, Array]:
    """Return the ranks of the noise's radius and direction; NaN where a value is not on the grid, to the last bit."""
    places, content = np.rint((seen - np.array(block.lower)[:, None]) / block.step[:, None]), truth.copy()
    again = places.copy()
    block.to_values(again)
    block.to_content(content)
    found = laplace_ranks(places - content, block.sigma_steps, block.exact_rate, rng)
    fused = places.copy()
    block.to_fused_values(fused)  # what versions 1 to 3 release
    found[:, ((again != seen) & (fused != seen)).any(axis=0)] = np.nan
    names = [f"size of the noise in {', '.join(block.columns)}", *(f"direction of {name}" for name in block.columns)]
    return dict(zip(names, found, strict=True))
