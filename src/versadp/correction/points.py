"""Correction by signed points: any loss, any blocks, several members at once.

    score  <-  sum over a record's points of weight * extension(q) * score(point)

Points are those of all blocks a model touches, multiplied: every level of a category, outputs of a window, and of
zero-inflated Laplace noise on some columns (in units in which it is ZIL(r, I))

    v(X1)/r + (1 - 1/r) mean over draws of v(X1 + S),   S ~ SL(r I), independent across records

Members are extensions of the score outside the domain, where no true record lies: factors of q, the squared distance of
a point to the domains of all zero-inflated blocks together. One set of points serves them all, whatever the blocks.

Antithetic pairs +S, -S remove the part of the draws' variance that grows like 1/r as r goes to 0, and W is stratified
over a record's draws; both leave every expectation given X1 as it is. A record far from the box seldom reaches it:
under an extension that is 0 outside it is drawn with a known probability and weighted by its inverse (roulette).

Blocks other than zero-inflated ones draw for many records at once. So that a record has draws of its own
(`random.py`), those with places are drawn for slab by slab, each slab as if it were whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from versadp.correction.form import Form
from versadp.correction.random import Streams, paces
from versadp.noise.extension import Box, Extension
from versadp.noise.points import How, Points, pairs, product

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.correction.model import Model
    from versadp.correction.records import Records
    from versadp.noise import Block
    from versadp.noise.units import Units

    Array = NDArray[np.float64]
    Numbers = NDArray[np.int64]
    Pace = Callable[[int], dict[str, int]]

NEAR = 3.0  # standard deviations of S: a record within this distance of the box gets all draws
GOLDEN = (math.sqrt(5) - 1) / 2  # multiples of it spread evenly between 0 and 1
TURNS = 1024  # more than any block has draws
SLAB = 1024  # records that blocks without streams of words draw for at once


@dataclass(frozen=True)
class Rows:
    """Rows of a model at signed points, which do not depend on its parameters, and their factors."""

    record: Numbers  # whose they are
    rows: Any
    factor: Array  # (members, m): weight times extension
    n: int

    def scores(self, model: Model, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p) of the G combinations in mix (G, members), and the Hessian of the first."""
        out = np.zeros((self.n, len(mix), model.size))
        return out, model.add_up(self.rows, theta, mix @ self.factor, self.record, out, hessian=hessian)


class Cloud(NamedTuple):
    """Points of some blocks: whose they are, where (in the units of the fit), weights, and squared distances.

    `turn` is the number of the draw, the same for an antithetic pair; negative where nothing is drawn.
    """

    record: Numbers
    z: Array  # (m, columns)
    weight: Array
    q: Array
    turn: Numbers

    def take(self, index: NDArray[Any]) -> Cloud:
        """Return some of the points."""
        return Cloud(*(each[index] for each in self))

    def times(self, other: Cloud) -> Cloud:
        """Return every combination of points of the same record: weights multiply, squared distances add up."""
        if (np.diff(other.record) < 0).any():
            other = other.take(np.argsort(other.record, kind="stable"))
        return self.beside(other, *pairs(self.record, other.record))

    def beside(self, other: Cloud, mine: Numbers, yours: Numbers) -> Cloud:
        """Return pairs of points, by their places."""
        left, right = self.take(mine), other.take(yours)
        z = np.concatenate([left.z, right.z], axis=1)
        turn = np.maximum(left.turn, 0) + TURNS * np.maximum(right.turn, 0)
        turn[(left.turn < 0) & (right.turn < 0)] = -1
        return Cloud(left.record, z, left.weight * right.weight, left.q + right.q, turn)

    def times_some(self, levels: Cloud, share: Array) -> Cloud:
        """Return as `times` does, but beside a draw two levels alone: the heaviest, and one of the others at random.

        One of the others is drawn by the size of its weight and weighted by the inverse of its chance. `share` is one
        number between 0 and 1 per record; it moves on from turn to turn, which spreads draws over the levels.
        """
        drawn = self.turn >= 0
        whole = self.take(~drawn).times(levels)
        left, some = self.take(drawn), Some.of(levels.record, levels.weight, share)
        other, weight = some.drawn(left.record, left.turn)
        top = left.beside(levels, np.arange(len(left.record)), some.first[left.record] + some.top[left.record])
        rest = left.beside(levels, np.arange(len(left.record)), some.first[left.record] + other)
        rest = rest._replace(weight=left.weight * weight)
        return Cloud(*(np.concatenate(each) for each in zip(whole, top, rest.take(weight != 0), strict=True)))


class Some(NamedTuple):
    """The heaviest level of each record, and a draw of one of the others."""

    first: Numbers
    top: Numbers
    weight: Array  # (records, levels)
    rising: Array  # (records, levels): sums of the sizes of the others' weights
    share: Array

    @classmethod
    def of(cls, record: Numbers, weight: Array, share: Array) -> Some:
        """Return this for levels of records, which ascend."""
        first = np.searchsorted(record, np.arange(share.size))
        every = np.zeros((share.size, int(np.bincount(record, minlength=1).max(initial=1))))
        every[record, np.arange(record.size) - first[record]] = weight
        return cls.of_all(every, share, first)

    @classmethod
    def of_all(cls, weight: Array, share: Array, first: Numbers | None = None) -> Some:
        """Return this for all weights (records, levels)."""
        size = np.abs(weight)
        top = size.argmax(axis=1)
        size[np.arange(len(size)), top] = 0.0
        return cls(np.zeros(len(size), np.int64) if first is None else first, top, weight, size.cumsum(axis=1), share)

    def drawn(self, record: Numbers, turn: Numbers) -> tuple[Numbers, Array]:
        """Return a level for each of some draws, and its weight over its chance."""
        total = self.rising[record, -1]
        at = (self.share[record] + turn * GOLDEN) % 1.0 * total
        level = np.minimum((self.rising[record] <= at[:, None]).sum(axis=1), self.rising.shape[1] - 1)
        return level, np.sign(self.weight[record, level]) * total


class Domain(NamedTuple):
    """Columns under zero-inflated noise of one block: where they stand in the units of the fit, and noise units."""

    at: Numbers
    units: Units


@dataclass(frozen=True)
class SignedPoints(Form):
    """Members that share one set of signed points.

    Attributes
    ----------
    blocks : tuple of Block
        That the model touches; not needed where the units of the fit are those of one zero-inflated block.
    extensions : tuple of Extension
        One member each; one that is not radial stands alone.
    clip : bool
        Evaluate the score at the nearest point of the box.
    near, far : int
        Draws (or pairs) of records near the box and far from it.
    paired : bool
        Antithetic pairs.
    second : bool
        False for the naive score, which is not corrected at all.
    draws : int
        Draws of other blocks that have more outputs than are written out.
    nullable : tuple of str
        Columns that may be missing: points at which one is are left out, and the others stand for complete records.
    pace : callable, optional
        What `near` and `far` are for records of which so many came so far, these included.
    """

    evaluator: ClassVar[str] = "signed points"
    placed: ClassVar[bool] = True
    model: Model
    units: Units
    extensions: tuple[Extension, ...] = (Extension(),)
    blocks: tuple[Block, ...] = ()
    clip: bool = True
    near: int = 20
    far: int = 10
    paired: bool = True
    second: bool = True
    draws: int = 20
    nullable: tuple[str, ...] = ()
    pace: Pace | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The members."""
        if self.second and not self.domains:
            return ("points",)
        return tuple("clip" if self.clip and each.name == "none" else each.name for each in self.extensions)

    def only(self, members: tuple[str, ...]) -> SignedPoints:
        """Return the form with those extensions alone whose members are among some."""
        if not self.domains:
            return self
        kept = tuple(each for name, each in zip(self.names, self.extensions, strict=True) if name in members)
        return replace(self, extensions=kept or self.extensions)

    @property
    def said(self) -> str:
        """The correction in words, if there is one member."""
        return "signed points" if self.second and len(self.names) == 1 else ""

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        """The zero-inflated blocks; of one in whose noise units is fitted, these."""
        if self.units.exact_rate is not None:
            return (Domain(np.arange(self.units.dim), self.units),)
        found = []
        for block in self.blocks:
            at = np.array([self.units.names.index(name) for name in block.columns], dtype=np.int64)
            own = block.units(self.units.middle[at])
            found += [] if own is None else [Domain(at, own)]
        return tuple(found)

    @cached_property
    def others(self) -> tuple[Block, ...]:
        """The blocks that are neither zero-inflated nor levels."""
        return tuple(block for block in self._open if block not in self.levels)

    @cached_property
    def levels(self) -> tuple[Block, ...]:
        """The blocks beside zero-inflated ones all of whose points are written out, with nothing drawn: categories."""
        if not self.domains:
            return ()
        return tuple(block for block in self._open if block.point_count(How(1)) == block.point_count(How(2)))

    @cached_property
    def _open(self) -> tuple[Block, ...]:
        if self.units.exact_rate is not None:
            return ()
        inside = {self.units.names[j] for domain in self.domains for j in domain.at}
        return tuple(block for block in self.blocks if not inside & set(block.columns))

    @property
    def thinned(self) -> bool:
        """True if draws stand beside two of a record's levels only."""
        return self.paired and self._count(self.levels) > 2

    def _count(self, blocks: tuple[Block, ...]) -> int:
        return math.prod(block.point_count(How(self.draws)) for block in blocks)

    @property
    def inside(self) -> bool:
        """True if nothing counts outside the box."""
        return all(extension.inside for extension in self.extensions)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record, at most on average."""
        # a row, factors, response, whose it is
        each = max(self.model.size, self.model.width) + len(self.extensions) + 2
        if not self.second:
            return each
        drawn = 2 if self.inside else 1 + self.near * (2 if self.paired else 1)
        whole, levels = drawn ** len(self.domains), self._count(self.levels)
        written = 2 * (whole - 1) + levels if self.thinned else whole * levels
        return int(each * written * self._count(self.others))

    def prepare(self, records: Records, rng: np.random.Generator) -> Rows:
        """Write out the points of some records."""
        cloud = self._cloud(records, rng)
        if self.nullable:
            at = [self.units.names.index(name) for name in self.nullable]
            cloud = cloud.take(np.flatnonzero(~np.isnan(cloud.z[:, at]).any(axis=1)))
        record, z, weight, q, _ = cloud
        if records.weight is not None:
            weight = weight * records.weight[record]
        factor = np.empty((len(self.extensions), len(z)))
        for k, extension in enumerate(self.extensions):
            factor[k] = np.multiply(extension.value(q), weight) if extension.radial and self.domains else weight
        if self.domains and (records.weight is not None or all(extension.compact for extension in self.extensions)):
            used = np.flatnonzero(factor.any(axis=0))
            record, z, factor = record[used], z[used], factor[:, used]
        return Rows(record, self.model.rows(z, record, records), factor, records.rows)

    def evaluate(self, rows: Rows, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p) of the G combinations in mix (G, members), and the Hessian of the first."""
        return rows.scores(self.model, theta, mix, hessian=hessian)

    def _cloud(self, records: Records, rng: np.random.Generator) -> Cloud:
        """Return the points of all blocks."""
        if not self.second:
            every = np.arange(records.rows)
            return Cloud(every, records.z.copy(), np.ones(every.size), self.units.distance2(records.z), every)
        whole, places = None, [domain.at for domain in self.domains]
        for domain in self.domains:
            cloud = self._drawn(records, domain, rng)
            whole = cloud if whole is None else whole.times(cloud)
        for blocks in (self.levels, self.others):
            if not blocks:
                continue
            cloud, at = self._of_others(blocks, records, rng)
            places.append(at)
            if whole is None:
                whole = cloud
            elif blocks is self.levels and self.thinned:
                whole = whole.times_some(cloud, Streams.of(records, rng).uniform(np.arange(records.rows)))
            else:
                whole = whole.times(cloud)
        assert whole is not None
        order = np.concatenate(places)
        if (order == np.arange(order.size)).all():
            return whole
        return whole._replace(z=np.ascontiguousarray(whole.z[:, np.argsort(order)]))

    def _drawn(self, records: Records, domain: Domain, rng: np.random.Generator) -> Cloud:
        """Return X1 and its second randomisations in the columns of a zero-inflated block."""
        own = domain.units
        x1 = records.z
        if own is not self.units:
            assert records.released is not None
            x1 = own.from_columns(list(records.released[domain.at]))
        record, z, weight, turn = self._draw(records, own, x1, rng)
        if not all(extension.radial for extension in self.extensions):
            (extension,) = self.extensions  # in the columns' own units, as in `Release.augment`
            ends = (own.lower * own.unit + own.centre, own.upper * own.unit + own.centre)
            x, box = own.to_columns(z), Box(*ends, own.unit)
            z, weight = (extension.points(x, box) - own.centre) / own.unit, extension.phi(x, box) * weight
            q = np.zeros(len(z))
        else:
            q = own.clip_in_place(z) if self.clip else own.distance2(z)
        cloud = Cloud(record, z, weight, q, turn)
        if own is self.units:
            return cloud
        if all(extension.compact for extension in self.extensions):  # other blocks multiply what is left
            cloud = cloud.take(np.flatnonzero(np.any([each.value(q) for each in self.extensions], axis=0)))
        x = own.to_columns(cloud.z)
        return cloud._replace(z=(x - self.units.centre[domain.at]) / self.units.unit[domain.at])

    def _draw(
        self, records: Records, own: Units, x1: Array, rng: np.random.Generator
    ) -> tuple[Numbers, Array, Array, Numbers]:
        """Return (record, point, weight, turn) of X1 and of its second randomisations, in noise units."""
        n, rate = records.rows, own.exact_rate
        assert rate
        signs = (1.0, -1.0) if self.paired else (1.0,)
        streams = Streams.of(records, rng)
        around = self._around(records, np.sqrt(own.distance2(x1) / rate), streams)
        total = n + len(signs) * sum(numbers.size * count for numbers, count, _ in around)
        record, z, weight = np.empty(total, dtype=np.int64), np.empty((total, own.dim)), np.empty(total)
        record[:n], z[:n], weight[:n], turn = np.arange(n), x1, 1 / rate, np.full(total, -1)
        at = n
        for numbers, count, share in around:
            s = streams.laplace(numbers, count, own.dim)
            s *= np.sqrt(rate)
            each = (1 - 1 / rate) / (count * len(signs)) / share
            for sign in signs:
                some = slice(at, at + numbers.size * count)
                moved = z[some].reshape(s.shape)
                np.multiply(s, sign, out=moved)
                moved += x1[numbers, None]
                record[some], weight[some] = np.repeat(numbers, count), np.repeat(each, count)
                turn[some] = np.tile(np.arange(count), numbers.size)
                at = some.stop
        return record, z, weight, turn

    def _around(self, records: Records, distance: Array, streams: Streams) -> list[tuple[Numbers, int, Array]]:
        """Return which records get how many draws (or pairs), and with which chance they do."""
        sets: list[tuple[Numbers, int, Array]] = []
        for own, now in paces(self, records):
            away = distance[own]
            near, far = own.start + np.flatnonzero(away <= NEAR), own.start + np.flatnonzero(away > NEAR)
            chance = np.ones(far.size)
            if self.inside:
                # the square root of the chance that S reaches the box balances work and variance
                chance = np.exp(-(distance[far] - NEAR) / np.sqrt(2.0))
                drawn = streams.uniform(far) < chance
                far, chance = far[drawn], chance[drawn]
            sets += [(near, now.near, np.ones(near.size)), (far, now.far, chance)]
        return [(numbers, count, share) for numbers, count, share in sets if count]

    def _of_others(
        self, blocks: tuple[Block, ...], records: Records, rng: np.random.Generator
    ) -> tuple[Cloud, Numbers]:
        """Return the points of blocks that are not zero-inflated, multiplied, and the places of their columns."""
        assert records.released is not None
        if records.before is None or blocks is self.levels:
            found = self._points(blocks, records.released, rng)
        else:
            found = self._by_slabs(blocks, records.released, records.before, rng)
        names = [name for block in blocks for name in block.columns]
        at = np.array([self.units.names.index(name) for name in names], dtype=np.int64)
        z = (np.stack([found.columns[name] for name in names], axis=1) - self.units.centre[at]) / self.units.unit[at]
        return Cloud(found.record, z, found.weight, np.zeros(len(z)), np.full(len(z), -1)), at

    def _points(self, blocks: tuple[Block, ...], released: Array, rng: np.random.Generator) -> Points:
        by_name, how = dict(zip(self.units.names, released, strict=True)), How(self.draws)
        inverses = [block.points(np.stack([by_name[name] for name in block.columns]), rng, how) for block in blocks]
        return product(*inverses)

    def _by_slabs(self, blocks: tuple[Block, ...], released: Array, before: int, rng: np.random.Generator) -> Points:
        """Return the points of records in their places; a slab that is not whole is filled up, and cut again."""
        key, rows, found = int(rng.integers(2**63)), released.shape[1], []
        for slab in range(before // SLAB, -(-(before + rows) // SLAB)):
            start, stop = max(slab * SLAB - before, 0), min((slab + 1) * SLAB - before, rows)
            lacks = before + start - slab * SLAB
            some = np.pad(released[:, start:stop], ((0, 0), (lacks, SLAB - lacks - (stop - start))), mode="edge")
            record, columns, weight = self._points(blocks, some, np.random.default_rng([key, slab]))
            own = (record >= lacks) & (record < lacks + stop - start)
            columns = {name: values[own] for name, values in columns.items()}
            found.append(Points(record[own] - lacks + start, columns, weight[own]))
        names = found[0].columns
        return Points(
            np.concatenate([each.record for each in found]),
            {name: np.concatenate([each.columns[name] for each in found]) for name in names},
            np.concatenate([each.weight for each in found]),
        )
