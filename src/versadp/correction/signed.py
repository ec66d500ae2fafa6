"""Correction by signed draws: any loss, any extension, an exact rate above 0.

    v(X1)/r + (1 - 1/r) mean over draws of v(X1 + S),   S ~ SL(r I), independent across records

Antithetic pairs +S, -S remove the part of the draws' variance that grows like 1/r as r goes to 0, and W is stratified
over a record's draws; both leave every expectation given X1 as it is. A record far from the box seldom reaches it:
under an extension that is 0 outside it plays roulette, drawn with a known probability and weighted by its inverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from versadp.correction.streams import Streams, paces
from versadp.noise.extension import Box

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.correction.model import Model, Records
    from versadp.noise.extension import Extension
    from versadp.noise.units import Units

    Array = NDArray[np.float64]
    Pace = Callable[[int], dict[str, int]]

NEAR = 3.0  # a record within this many standard deviations of S from the box gets all draws


@dataclass(frozen=True)
class Rows:
    """What signed points come to in a model: rows that do not depend on its parameters, and their factors."""

    record: NDArray[np.int64]  # whose they are
    rows: Any
    factor: Array  # (members, m): weight times extension
    n: int

    def scores(self, model: Model, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p) of the G combinations in mix (G, members), and the Hessian of the first."""
        out = np.zeros((self.n, len(mix), model.size))
        return out, model.add_up(self.rows, theta, mix @ self.factor, self.record, out, hessian=hessian)


@dataclass(frozen=True)
class Signed:
    """Members that share one signed sample.

    Attributes
    ----------
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
    pace : callable, optional
        What `near` and `far` are for records of which so many came so far, these included.
    """

    placed: ClassVar[bool] = True
    model: Model
    units: Units
    extensions: tuple[Extension, ...]
    clip: bool = True
    near: int = 20
    far: int = 10
    paired: bool = True
    second: bool = True
    pace: Pace | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The members."""
        return tuple("clip" if self.clip and each.name == "none" else each.name for each in self.extensions)

    @property
    def inside(self) -> bool:
        """Whether nothing counts outside the box."""
        return all(extension.inside for extension in self.extensions)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record, at most on average."""
        # a row, factors, response, whose it is
        each = max(self.model.size, self.model.width) + len(self.extensions) + 2
        if not self.second:
            return each
        return each * (2 if self.inside else 1 + self.near * (2 if self.paired else 1))

    def prepare(self, records: Records, rng: np.random.Generator) -> Rows:
        """Draw the points of some records."""
        record, z, weight = self._draw(records, rng)
        if records.weight is not None:
            weight *= records.weight[record]
        z, factor = self._extended(z, weight)
        if records.weight is not None or all(extension.compact for extension in self.extensions):
            used = np.flatnonzero(factor.any(axis=0))
            record, z, factor = record[used], z[used], factor[:, used]
        return Rows(record, self.model.rows(z, record, records), factor, records.rows)

    def evaluate(self, rows: Rows, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p) of the G combinations in mix (G, members), and the Hessian of the first."""
        return rows.scores(self.model, theta, mix, hessian=hessian)

    def _extended(self, z: Array, weight: Array) -> tuple[Array, Array]:
        """Return where the score is evaluated, and weights times factors, (members, m)."""
        if not all(extension.radial for extension in self.extensions):
            (own,) = self.extensions  # in the columns' own units, as in `Release.augment`
            units = self.units
            ends = (units.lower * units.unit + units.centre, units.upper * units.unit + units.centre)
            x, box = units.to_columns(z), Box(*ends, units.unit)
            return (own.points(x, box) - units.centre) / units.unit, (own.phi(x, box) * weight)[None]
        q = self.units.clip_in_place(z) if self.clip else self.units.distance2(z)
        factor = np.empty((len(self.extensions), len(z)))
        for k, extension in enumerate(self.extensions):
            np.multiply(extension.value(q), weight, out=factor[k])
        return z, factor

    def _draw(self, records: Records, rng: np.random.Generator) -> tuple[NDArray[np.int64], Array, Array]:
        """Return (record, point, weight) of X1 and of its second randomisations."""
        n, rate = records.rows, self.units.exact_rate
        if not self.second:
            return np.arange(n), records.z.copy(), np.ones(n)
        assert rate
        signs = (1.0, -1.0) if self.paired else (1.0,)
        streams = Streams.of(records, rng)
        around = self._around(records, rate, streams)
        total = n + len(signs) * sum(numbers.size * count for numbers, count, _ in around)
        record, z, weight = np.empty(total, dtype=np.int64), np.empty((total, self.units.dim)), np.empty(total)
        record[:n], z[:n], weight[:n] = np.arange(n), records.z, 1 / rate
        at = n
        for numbers, count, share in around:
            s = streams.laplace(numbers, count, self.units.dim)
            s *= np.sqrt(rate)
            each = (1 - 1 / rate) / (count * len(signs)) / share
            for sign in signs:
                some = slice(at, at + numbers.size * count)
                moved = z[some].reshape(s.shape)
                np.multiply(s, sign, out=moved)
                moved += records.z[numbers, None]
                record[some], weight[some] = np.repeat(numbers, count), np.repeat(each, count)
                at = some.stop
        return record, z, weight

    def _around(self, records: Records, rate: float, streams: Streams) -> list[tuple[NDArray[np.int64], int, Array]]:
        """Return which records get how many draws (or pairs), and with which chance they do."""
        distance = np.sqrt(self.units.distance2(records.z) / rate)
        sets: list[tuple[NDArray[np.int64], int, Array]] = []
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
