"""Groups of coefficients that share the weights of a combination: those of columns that are about as noisy.

With one weight for all coefficients precise ones pay for noisy ones where scales differ (docs/theory/correction.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.formula.design import Design
    from versadp.noise import Block
    from versadp.noise.units import Units

    Array = NDArray[np.float64]

APART = 3.0  # ratio of noise from one column to the next from which on weights differ; chosen (docs/theory/trust.md)


def by_noise(noisy: NDArray[np.int64], columns: NDArray[np.int64], units: Units) -> list[NDArray[np.int64]]:
    """Return the coefficients of noisy columns, grouped by how noisy these are: one weight would make some pay.

    The least noisy are first: by their weights curvature is known best.
    """
    return _apart(noisy, 1 / (units.upper - units.lower)[columns[noisy]])


def _apart(noisy: NDArray[np.int64], noise: Array) -> list[NDArray[np.int64]]:
    """Return coefficients grouped by noise, the least noisy first."""
    order = np.argsort(noise, kind="stable")
    cuts = np.flatnonzero(np.diff(np.log(noise[order])) > np.log(APART)) + 1
    return [np.sort(noisy[group]) for group in np.split(order, cuts) if group.size]


def in_noise_units(design: Design, blocks: tuple[Block, ...]) -> tuple[Array, tuple[NDArray[np.int64], ...]]:
    """Return what leads from coefficients of centred columns in noise units to those of a formula, and the groups.

    Coefficients of noisy numbers share weights with those of columns that are about as noisy. All others draw on other
    records and have weights of their own.
    """
    size = len(design.names)
    scale, noise = np.eye(size), np.zeros(size)
    found = [own for block in blocks if (own := block.units(np.zeros(len(block.columns)))) is not None]
    known = {
        name: (middle, unit, 1 / width)
        for own in found
        for name, middle, unit, width in zip(own.names, own.middle, own.unit, own.upper - own.lower, strict=True)
    }
    places = {(split.parts, split.rest): j for j, split in enumerate(design.splits) if split and split.number is None}
    for j, split in enumerate(design.splits):
        if split is None or split.number not in known:
            continue
        middle, unit, noise[j] = known[split.number]
        scale[j, j] = 1 / unit
        if (split.parts, split.rest) in places:
            scale[places[split.parts, split.rest], j] = -middle / unit
    noisy, rest = np.flatnonzero(noise), np.flatnonzero(noise == 0)
    if None in design.splits or not noisy.size:
        return scale, (np.arange(size),)
    return scale, (*_apart(noisy, noise[noisy]), *((rest,) if rest.size else ()))
