"""The law of people behind a release: likelihood first, then the release's own unbiased estimates.

1  EM for each column alone
2  EM on the joint lattice from their product, stopped before it follows noise: each half of the records says at which
   step of the other half's it is likeliest, and all records go √2 times as far, since errors fall with the root of n
3  a tilt to unbiased estimates of features (`tilt.py`), since a stopped EM shrinks every association
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.engine import at_work, local_engine
from versadp.people.features import make_features
from versadp.people.likelihood import Channel, make_channel
from versadp.people.targets import estimate
from versadp.people.tilt import Points, tilted
from versadp.release.path.table import read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.inputs import Array
    from versadp.people.axes import Axis
    from versadp.people.features import Features
    from versadp.people.targets import Targets
    from versadp.people.tilt import Tilt
    from versadp.release.folder.folder import Handle
    from versadp.release.release import Release

    Codes = NDArray[np.int32]

FURTHER = 2**0.5  # steps of all records for one of a half: within 6% of the best of a grid on three laws
PATIENCE = 3  # steps of a half without gain after which the best is taken to be behind
MOST_STEPS = 100  # of a half
NOTHING = 1e-12  # mass of a point that is left out: of 1e7 of them 1e-5 in all


@dataclass(frozen=True, eq=False)
class Counted:
    """Joint codes that occur, each once, and how many records show them."""

    codes: Codes
    counts: Array

    @classmethod
    def of(cls, codes: NDArray[np.integer], counts: Array | None = None) -> Counted:
        """Count the codes of records, (records, columns)."""
        sizes = tuple(int(top) + 1 for top in codes.max(axis=0))
        known, place = np.unique(np.ravel_multi_index(tuple(codes.T.astype(np.int64)), sizes), return_inverse=True)
        found = np.stack(np.unravel_index(known, sizes), axis=1).astype(np.int32)
        return cls(np.ascontiguousarray(found), np.bincount(place, counts).astype(float))

    def halves(self, rng: np.random.Generator) -> tuple[Counted, Counted]:
        """Return two halves of the records, drawn."""
        one = rng.binomial(self.counts.astype(np.int64), 0.5).astype(float)
        return tuple(  # type: ignore[return-value] # two
            Counted(self.codes[own > 0], own[own > 0]) for own in (one, self.counts - one)
        )

    def column(self, j: int) -> Counted:
        """Return the codes of one column."""
        return Counted.of(self.codes[:, j : j + 1], self.counts)


@dataclass(frozen=True, eq=False)
class Law:
    """A law of people.

    Attributes
    ----------
    axes : tuple of Axis
    points : Points
        What has mass, tilted.
    features : Features
    targets : Targets
    steps : int
        Of the joint EM.
    """

    axes: tuple[Axis, ...]
    points: Points
    features: Features
    targets: Targets
    steps: int
    tilt: Tilt


def columns_of(release: Release, axes: Sequence[Axis], engine: str | Engine) -> Codes:
    """Return the code of each record in each column, (records, columns)."""
    with at_work(engine) as given:
        runner = given if release.on_disk else local_engine(given)
        return np.concatenate(list(runner.map(partial(_codes, release, tuple(axes)), list(release.handles()))))


def _codes(release: Release, axes: tuple[Axis, ...], handle: Handle) -> Codes:
    table = read_table(release.read(handle), release.mechanism.schema, released=True)
    found: list[Any] = [axis.code((table.private if axis.lattice else table.public)[axis.name]) for axis in axes]
    return np.stack(found, axis=1).astype(np.int32)


def margins_of(
    axes: Sequence[Axis], blocks: Sequence[tuple[str, ...]], counted: Sequence[Counted], rng: np.random.Generator
) -> list[Array]:
    """Return the law of each column alone."""
    return [
        likeliest(make_channel([axis], blocks), own, np.full(axis.size, 1 / axis.size), rng)[0]
        for axis, own in zip(axes, counted, strict=True)
    ]


def likeliest(channel: Channel, counted: Counted, start: Array, rng: np.random.Generator) -> tuple[Array, int]:
    """Return a law by EM, stopped by what halves of the records say of each other, and its steps."""
    one, other = counted.halves(rng)
    stops = [_best_stop(channel, own, start, seen) for own, seen in ((one, other), (other, one))]
    steps = max(1, round(FURTHER * sum(stops) / 2))
    law = start
    for _ in range(steps):
        law, _ = channel.step(law, counted.codes, counted.counts)
    return law, steps


def _best_stop(channel: Channel, own: Counted, law: Array, seen: Counted) -> int:
    """Return the step of some records' EM at which others are likeliest."""
    best, at = -np.inf, 0
    for step in range(MOST_STEPS + 1):
        value = float(seen.counts @ np.log(channel.likelihood(law, seen.codes)))
        if value > best:
            best, at = value, step
        elif step - at >= PATIENCE:
            break
        law, _ = channel.step(law, own.codes, own.counts)
    return at


def estimate_law(
    release: Release,
    axes: Sequence[Axis],
    rng: np.random.Generator,
    engine: str | Engine = "auto",
    tell: Callable[[float], None] = lambda _: None,
) -> Law:
    """Return the law of the people of a release on a lattice that can be held."""
    blocks = [block.columns for block in release.mechanism.blocks]
    counted = Counted.of(columns_of(release, axes, engine))
    tell(0.1)
    margins = margins_of(axes, blocks, [counted.column(j) for j in range(len(axes))], rng)
    law = margins[0]
    for margin in margins[1:]:
        law = law[..., None] * margin
    law, steps = likeliest(make_channel(axes, blocks), counted, law, rng)
    tell(0.7)
    there = np.flatnonzero(law > NOTHING)
    at = np.stack(np.unravel_index(there, law.shape), axis=1).astype(np.int32)
    weight = law.ravel()[there]
    points = Points(at, weight / weight.sum())
    features = make_features(axes, margins)
    targets = estimate(release, features, engine)
    tilt, weight = tilted(points, features, targets)
    tell(1.0)
    return Law(tuple(axes), Points(at, weight), features, targets, steps, tilt)
