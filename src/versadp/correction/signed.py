"""Correction by signed draws: any loss, any extension, an exact rate above 0.

    v(X1)/r + (1 - 1/r) mean over draws of v(X1 + S),   S ~ SL(r I), independent across records

Antithetic pairs +S, -S remove the part of the draws' variance that grows like 1/r as r goes to 0, and W is stratified
over a record's draws; both leave every expectation given X1 as it is. A record far from the box seldom reaches it:
under an extension that is 0 outside it plays roulette, drawn with a known probability and weighted by its inverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction.profiles import Inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.model import Batch, Model, Units
    from versadp.correction.profiles import Profile

    Array = NDArray[np.float64]

NEAR = 3.0  # a record within this many standard deviations of S from the box gets all draws


@dataclass(frozen=True)
class Points:
    """The signed points of a batch."""

    record: NDArray[np.int64]  # whose they are
    rows: Any
    factor: Array  # (members, m): weight times profile
    n: int


@dataclass(frozen=True)
class Signed:
    """Members that share one signed sample.

    Attributes
    ----------
    profiles : tuple of Profile
        One member each.
    clip : bool
        Evaluate the score at the nearest point of the box.
    near, far : int
        Draws (or pairs) of records near the box and far from it.
    paired : bool
        Antithetic pairs.
    second : bool
        False for the naive score, which is not corrected at all.
    """

    model: Model
    units: Units
    profiles: tuple[Profile, ...]
    clip: bool = True
    near: int = 20
    far: int = 10
    paired: bool = True
    second: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The members."""
        return tuple("clip" if self.clip and p.name == "none" else p.name for p in self.profiles)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record, at most on average."""
        each = max(self.model.size, self.model.width) + len(self.profiles) + 2  # a row, factors, response, whose it is
        if not self.second:
            return each
        few = all(isinstance(profile, Inside) for profile in self.profiles)
        return each * (2 if few else 1 + self.near * (2 if self.paired else 1))

    def prepare(self, batch: Batch, rng: np.random.Generator) -> Points:
        """Draw the points of a batch."""
        record, z, weight = self._draw(batch, rng)
        q = self.units.clip_in_place(z) if self.clip else self.units.distance2(z)
        if batch.weight is not None:
            weight *= batch.weight[record]
        factor = np.empty((len(self.profiles), len(z)))
        for k, profile in enumerate(self.profiles):
            np.multiply(profile.value(q), weight, out=factor[k])
        if batch.weight is not None or all(profile.compact for profile in self.profiles):
            used = np.flatnonzero(factor.any(axis=0))
            record, z, factor = record[used], z[used], factor[:, used]
        return Points(record, self.model.rows(z, record, batch), factor, batch.rows)

    def evaluate(self, points: Points, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p) of the G combinations in mix (G, members), and the Hessian of the first."""
        out = np.zeros((points.n, len(mix), self.model.size))
        return out, self.model.add_up(points.rows, theta, mix @ points.factor, points.record, out, hessian=hessian)

    def _draw(self, batch: Batch, rng: np.random.Generator) -> tuple[NDArray[np.int64], Array, Array]:
        """Return (record, point, weight) of X1 and of its second randomisations."""
        n, rate = batch.rows, self.units.exact_rate
        if not self.second:
            return np.arange(n), batch.z.copy(), np.ones(n)
        signs = (1.0, -1.0) if self.paired else (1.0,)
        around = self._around(batch.z, rng)
        total = n + len(signs) * sum(records.size * count for records, count, _ in around)
        record, z, weight = np.empty(total, dtype=np.int64), np.empty((total, self.units.dim)), np.empty(total)
        record[:n], z[:n], weight[:n] = np.arange(n), batch.z, 1 / rate
        at = n
        for records, count, share in around:
            s = stratified(rng, records.size, count, self.units.dim)
            s *= np.sqrt(rate)
            each = (1 - 1 / rate) / (count * len(signs)) / share
            for sign in signs:
                part = slice(at, at + records.size * count)
                block = z[part].reshape(s.shape)
                np.multiply(s, sign, out=block)
                block += batch.z[records, None]
                record[part], weight[part] = np.repeat(records, count), np.repeat(each, count)
                at = part.stop
        return record, z, weight

    def _around(self, z: Array, rng: np.random.Generator) -> list[tuple[NDArray[np.int64], int, Array]]:
        """Return which records get how many draws (or pairs), and with which chance they do."""
        distance = np.sqrt(self.units.distance2(z) / self.units.exact_rate)
        near, far = np.flatnonzero(distance <= NEAR), np.flatnonzero(distance > NEAR)
        chance = np.ones(far.size)
        if all(isinstance(profile, Inside) for profile in self.profiles):
            # the square root of the chance that S reaches the box balances work and variance
            chance = np.exp(-(distance[far] - NEAR) / np.sqrt(2.0))
            drawn = rng.random(far.size) < chance
            far, chance = far[drawn], chance[drawn]
        sets = (near, self.near, np.ones(near.size)), (far, self.far, chance)
        return [(records, count, share) for records, count, share in sets if count]


def stratified(rng: np.random.Generator, n: int, count: int, dim: int) -> Array:
    """Return (n, count, dim) draws of SL(I), W stratified over a record's draws; each is SL on its own.

    In one dimension SL is Laplace, whose size is exponential: then the size itself is stratified.
    """
    if count == 1:
        w = rng.standard_exponential((n, 1))
    else:
        strata = rng.permuted(np.broadcast_to(np.arange(count), (n, count)), axis=1)
        w = -np.log1p(-(strata + rng.random((n, count))) / count)
    if dim == 1:
        return np.asarray(w * np.where(rng.random((n, count)) < 0.5, -1, 1) / np.sqrt(2.0))[..., None]
    s = rng.standard_normal((n, count, dim))
    s *= np.sqrt(w)[..., None]
    return s
