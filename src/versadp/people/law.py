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
from versadp.people.combined import combined_estimate, has_totals, raked
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
    def placed(cls, codes: NDArray[np.integer]) -> tuple[Counted, NDArray[np.int64]]:
        """Count the codes of records, (records, columns); return the number of each record's joint code as well."""
        sizes = tuple(int(top) + 1 for top in codes.max(axis=0))
        known, place = np.unique(np.ravel_multi_index(tuple(codes.T.astype(np.int64)), sizes), return_inverse=True)
        found = np.stack(np.unravel_index(known, sizes), axis=1).astype(np.int32)
        return cls(np.ascontiguousarray(found), np.bincount(place).astype(float)), place.reshape(-1)

    @classmethod
    def of(cls, codes: NDArray[np.integer]) -> Counted:
        """Count the codes of records, (records, columns)."""
        return cls.placed(codes)[0]

    def weighted(self, counts: Array) -> Counted:
        """Return the codes that have other counts than 0."""
        return Counted(self.codes[counts > 0], counts[counts > 0])

    def halves(self, rng: np.random.Generator) -> tuple[Counted, Counted]:
        """Return two halves of the records, drawn."""
        one = rng.binomial(self.counts.astype(np.int64), 0.5).astype(float)
        return tuple(  # type: ignore[return-value] # two
            Counted(self.codes[own > 0], own[own > 0]) for own in (one, self.counts - one)
        )

    def column(self, j: int) -> Counted:
        """Return the codes of one column."""
        counts = np.bincount(self.codes[:, j], self.counts).astype(float)
        there = np.flatnonzero(counts)
        return Counted(there[:, None].astype(np.int32), counts[there])


@dataclass(frozen=True, eq=False)
class Likeliest:
    """A law by EM, with what it takes to compute it again from other counts.

    Attributes
    ----------
    axes : tuple of Axis
    blocks : tuple of tuples of str
    counted : Counted
    place : array of int (records,)
        The joint code of each record.
    steps : tuple of int
        Of each column's EM, then of the joint one.
    margins : tuple of array
    law : array
        Of the shape of the points.
    """

    axes: tuple[Axis, ...]
    blocks: tuple[tuple[str, ...], ...]
    counted: Counted
    place: NDArray[np.int64]
    steps: tuple[int, ...]
    margins: tuple[Array, ...]
    law: Array

    def again(self, weights: NDArray[np.integer]) -> Array:
        """Return the law of weighted records, by as many steps."""
        counted = self.counted.weighted(np.bincount(self.place, weights, len(self.counted.counts)).astype(float))
        margins = [
            _stepped(make_channel([axis], self.blocks), counted.column(j), even(axis), self.steps[j])
            for j, axis in enumerate(self.axes)
        ]
        return _stepped(make_channel(self.axes, self.blocks), counted, product_law(margins), self.steps[-1])


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
    tilt : Tilt
    likeliest : Likeliest, optional
        None for many columns.
    """

    axes: tuple[Axis, ...]
    points: Points
    features: Features
    targets: Targets
    tilt: Tilt
    likeliest: Likeliest | None = None


def columns_of(release: Release, axes: Sequence[Axis], engine: str | Engine) -> Codes:
    """Return the code of each record in each column, (records, columns)."""
    with at_work(engine) as given:
        runner = given if release.on_disk else local_engine(given)
        return np.concatenate(list(runner.map(partial(_codes, release, tuple(axes)), list(release.handles()))))


def _codes(release: Release, axes: tuple[Axis, ...], handle: Handle) -> Codes:
    table = read_table(release.read(handle), release.mechanism.schema, released=True)
    found: list[Any] = [axis.code((table.private if axis.lattice else table.public)[axis.name]) for axis in axes]
    return np.stack(found, axis=1).astype(np.int32)


def even(axis: Axis) -> Array:
    """Return the same mass at all points of a column."""
    return np.full(axis.size, 1 / axis.size)


def product_law(margins: Sequence[Array]) -> Array:
    """Return the law of independent columns."""
    law = margins[0]
    for margin in margins[1:]:
        law = law[..., None] * margin
    return law


def likeliest(channel: Channel, counted: Counted, start: Array, rng: np.random.Generator) -> tuple[Array, int]:
    """Return a law by EM, stopped by what halves of the records say of each other, and its steps."""
    one, other = counted.halves(rng)
    stops = [_best_stop(channel, own, start, seen) for own, seen in ((one, other), (other, one))]
    steps = max(1, round(FURTHER * sum(stops) / 2))
    return _stepped(channel, counted, start, steps), steps


def _stepped(channel: Channel, counted: Counted, law: Array, steps: int) -> Array:
    for _ in range(steps):
        law, _ = channel.step(law, counted.codes, counted.counts)
    return law


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
    *,
    tell: Callable[[float], None] = lambda _: None,
    repeated: NDArray[np.uint8] | None = None,
) -> Law:
    """Return the law of the people of a release on a lattice that can be held.

    Parameters
    ----------
    release : Release
    axes : sequence of Axis
    rng : Generator
        Draws halves of the records.
    engine : str or Engine
    tell : callable
        Told the share that is done.
    repeated : array of int (records, replicates), optional
        Weights of records under which targets are estimated as well.
    """
    found = likeliest_law(release, axes, rng, engine)
    tell(0.8)
    there = np.flatnonzero(found.law > NOTHING)
    at = np.stack(np.unravel_index(there, found.law.shape), axis=1).astype(np.int32)
    weight = found.law.ravel()[there]
    points = Points(at, weight / weight.sum())
    helped = has_totals(release, [axis.name for axis in axes])
    features = make_features(axes, found.margins, complete=helped)
    if helped:
        points = raked(release, [axis.name for axis in axes], points)
        targets = combined_estimate(release, features, points)
    else:
        targets = estimate(release, features, engine, repeated)
    tilt, weight = tilted(points, features, targets)
    tell(1.0)
    return Law(tuple(axes), Points(at, weight), features, targets, tilt, found)


def likeliest_law(release: Release, axes: Sequence[Axis], rng: np.random.Generator, engine: str | Engine) -> Likeliest:
    """Return the law by EM: each column alone, then all from their product."""
    blocks = tuple(block.columns for block in release.mechanism.blocks)
    counted, place = Counted.placed(columns_of(release, axes, engine))
    alone = [likeliest(make_channel([axis], blocks), counted.column(j), even(axis), rng) for j, axis in enumerate(axes)]
    margins = tuple(margin for margin, _ in alone)
    law, steps = likeliest(make_channel(axes, blocks), counted, product_law(margins), rng)
    return Likeliest(tuple(axes), blocks, counted, place, (*(step for _, step in alone), steps), margins, law)
