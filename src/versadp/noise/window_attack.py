"""Attacks on a window: the likelihood ratio of two records, and outputs that a window never gives.

An output is likely under a record if it lies in the record's window, and as likely as any other if it does not, so that
the log likelihood ratio of two records takes three values. Events and labels are what a faulty window might show.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.ranks import keep_or_redraw_ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise.window import WindowBlock

    Array = NDArray[np.float64]

MOST = 64  # labels of a column


def log_ratio(block: WindowBlock, seen: Array, null: Array, other: Array) -> Array:
    """Return the log likelihood ratio of `other` against `null` for released records (columns, rows)."""
    places = block.seen_places(seen)
    step = math.log(block.ratio)
    inside = []
    for record in (null, other):
        first = record[:, None].copy()
        block.to_content(first)
        inside.append(block.holds(places, first).all(axis=0))
    return np.asarray(step * (inside[1].astype(float) - inside[0].astype(float)))


def events(block: WindowBlock, seen: Array) -> dict[str, NDArray[np.bool_]]:
    """Return outputs that are off the lattice, or beyond it."""
    exact = block.exact_places(seen)
    beyond = (exact < -0.5) | (exact > np.array(block.outputs)[:, None] - 0.5)
    return {
        "a value off the lattice": np.asarray((np.abs(exact - np.rint(exact)) > 1e-6).any(axis=0)),
        "a value beyond the lattice": np.asarray(beyond.any(axis=0)),
    }


def labels(block: WindowBlock, seen: Array) -> dict[str, NDArray[np.int64]]:
    """Return where outputs stand: on their lattice, in a window, on even or odd points, between two points."""
    found: dict[str, NDArray[np.int64]] = {}
    exact = block.exact_places(seen)
    offsets = np.rint(MOST * np.nan_to_num(exact - np.rint(exact))).astype(np.int64) % MOST
    found |= {f"the offset of {name} from the lattice": at for name, at in zip(block.columns, offsets, strict=True)}
    for name, z, w, n in zip(block.columns, np.rint(exact), block.window, block.outputs, strict=True):
        place = np.clip(np.nan_to_num(z, nan=n - 1), 0, n - 1).astype(np.int64)
        found[f"the place of {name}"] = place * min(n, MOST) // n
        found[f"the parity of {name}"] = place % 2
        if w > 2:
            found[f"the residue of {name}"] = place % w * min(w, MOST) // w
    return found


def ranks(block: WindowBlock, seen: Array, truth: Array, rng: np.random.Generator) -> dict[str, Array]:
    """Return the ranks of the coin and of each column's place; NaN for what no window gives."""
    content, places = truth.copy(), block.places(seen)
    block.to_content(content)
    again, private = places.copy(), ~np.isnan(block.missing_place)
    block.to_values(again)
    ends = np.add(block.last, block.window)[:, None]
    value = (again == seen) & (places >= 0) & (places < ends) & ~np.isnan(content)
    unknown = np.isnan(seen) & (private | np.isnan(content))
    # what is missing stands for several outputs
    drawn = ends + np.floor(rng.random(places.shape) * np.array(block.unseen)[:, None])
    places = np.where(np.isnan(seen) & private, drawn, places)
    for j, (low, high) in enumerate(block.central):
        if low < high:
            _reorder_missing(places[j], content[j], (low, high), block.outputs[j], block.missing_place[j])
    sizes = np.array(block.window), np.array(block.outputs)
    found = keep_or_redraw_ranks(places, content, *sizes, keep=block.keep, rng=rng)
    found[:, ~(value | unknown).all(axis=0)] = np.nan
    names = [f"whether {' + '.join(block.columns)} is kept", *(f"place of {name}" for name in block.columns)]
    return dict(zip(names, found, strict=True))


def _reorder_missing(places: Array, content: Array, central: tuple[int, int], outputs: int, missing: Array) -> None:
    """Renumber the outputs of records whose value is missing so that those of a kept one are the last, in place."""
    low, high = central
    gone = content == missing
    moved = np.where(places < low, places, np.where(places < high, outputs - high + places, places - (high - low)))
    np.copyto(places, moved, where=gone)
    content[gone] -= high - low
