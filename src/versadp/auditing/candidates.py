"""Events that an attacker could look for, as seen under two records: some foreseen, some learnt.

Whatever the first half of the releases suggests is tested on the second half, so no choice among events can raise a
false alarm. Events are

- thresholds of the log likelihood ratio of the mechanism's own law;
- what blocks know that their noise never does (`Block.events`);
- sets of labels (`Block.labels`: the place of an output, its residue, its parity): those that the first half shows more
  often under one record than under the other. A law that depends on the record in a way that no formula knows of, such
  as noise that keeps the residue of what it hides, shows there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.auditing.neighbours import Pair, events, labels, scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.auditing.neighbours import Releases
    from versadp.release.mechanism import Mechanism

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

SHARES = np.geomspace(1e-4, 0.5, 40)
RATIOS = (1.0, 1.5, 3.0, 10.0, 100.0)  # of frequencies, from which on a label belongs to a set


class Bits(NamedTuple):
    """An event, as it was seen in the releases of either record."""

    null: Flags
    other: Flags


def candidates(mechanism: Mechanism, pair: Pair, releases: Releases) -> tuple[dict[str, Bits], tuple[Array, Array]]:
    """Return events by name, and the log likelihood ratios of all releases of the two records."""
    ratio = scores(mechanism, pair, releases.null), scores(mechanism, pair, releases.other)
    found = _thresholds(*ratio)
    seen = [events(mechanism, pair, each) for each in releases]
    for name in seen[0]:
        found[name] = Bits(seen[0][name], seen[1][name])
    for name, (null, other) in labels(mechanism, releases).items():
        found |= {f"{name}, {how}": bits for how, bits in _learnt(null, other).items()}
    return found | {f"not: {name}": Bits(~bits.null, ~bits.other) for name, bits in found.items()}, ratio


def _thresholds(null: Array, other: Array) -> dict[str, Bits]:
    half = null.size // 2
    pooled = np.concatenate([null[:half], other[:half]])
    places = np.unique(np.quantile(pooled, np.concatenate([SHARES, 1 - SHARES]), method="lower"))
    return {f"likelihood ratio above e^{t:.3g}": Bits(null > t, other > t) for t in places}


def _learnt(null: NDArray[np.int64], other: NDArray[np.int64]) -> dict[str, Bits]:
    """Return sets of labels that the first half of one record's releases shows more often than the other's."""
    half, most = null.size // 2, int(max(null.max(), other.max())) + 1
    first, second = (np.bincount(each[:half], minlength=most) + 0.5 for each in (null, other))
    found = {}
    for word, ratio in (("second", second / first), ("first", first / second)):
        for least in RATIOS:
            chosen = ratio > least
            if chosen.any() and not chosen.all():
                found[f"{least:g} times as often of the {word} record"] = Bits(chosen[null], chosen[other])
    return found
