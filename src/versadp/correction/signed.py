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
    """The signed points of a batch, sorted by record."""

    sums: Any  # sparse (n, m): adds up a record's points
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
        if not self.second:
            return self.model.size
        few = all(isinstance(profile, Inside) for profile in self.profiles)
        return self.model.size * (2 if few else 1 + self.near * (2 if self.paired else 1))

    def prepare(self, batch: Batch, rng: np.random.Generator) -> Points:
        """Draw the points of a batch."""
        record, z, weight = self._draw(batch, rng)
        q = self.units.distance2(z)
        if batch.weight is not None:
            weight = weight * batch.weight[record]
        factor = np.array([profile.value(q) * weight for profile in self.profiles])
        used = factor.any(axis=0)
        order = np.flatnonzero(used)[np.argsort(record[used], kind="stable")]
        record, z, factor = record[order], z[order], factor[:, order]
        z = self.units.clip(z) if self.clip else z
        return Points(_sums(record, batch.rows), self.model.rows(z, record, batch), factor, batch.rows)

    def evaluate(self, points: Points, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p) of the G combinations in mix (G, members), and the Hessian of the first."""
        weight, total = mix @ points.factor, np.zeros((self.model.size, self.model.size))
        if hessian:
            psi, total = self.model.score_and_hessian(points.rows, theta, weight[0])
        else:
            psi = self.model.score(points.rows, theta)
        out = np.empty((points.n, len(mix), self.model.size))
        for g in range(len(mix)):
            out[:, g] = points.sums @ (psi * weight[g, :, None])
        return out, total

    def _draw(self, batch: Batch, rng: np.random.Generator) -> tuple[NDArray[np.int64], Array, Array]:
        """Return (record, point, weight) of X1 and of its second randomisations."""
        every = np.arange(batch.rows)
        if not self.second:
            return every, batch.z, np.ones(batch.rows)
        rate = self.units.exact_rate
        distance = np.sqrt(self.units.distance2(batch.z) / rate)
        near, far = np.flatnonzero(distance <= NEAR), np.flatnonzero(distance > NEAR)
        chance = np.ones(far.size)
        if all(isinstance(profile, Inside) for profile in self.profiles):
            # the square root of the chance that S reaches the box balances work and variance
            chance = np.exp(-(distance[far] - NEAR) / np.sqrt(2.0))
            drawn = rng.random(far.size) < chance
            far, chance = far[drawn], chance[drawn]
        parts = [(every, batch.z, np.full(batch.rows, 1 / rate))]
        for records, count, share in ((near, self.near, np.ones(near.size)), (far, self.far, chance)):
            if records.size and count:
                parts += self._around(batch.z, records, count, share, rng)
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))  # type: ignore[return-value] # three columns

    def _around(
        self, z: Array, records: NDArray[np.int64], count: int, share: Array, rng: np.random.Generator
    ) -> list[tuple[NDArray[np.int64], Array, Array]]:
        """Return `count` draws, or pairs of draws, around each of some records."""
        rate = self.units.exact_rate
        s = stratified(rng, records.size, count, z.shape[1]) * np.sqrt(rate)
        signs = (1.0, -1.0) if self.paired else (1.0,)
        weight = np.repeat((1 - 1 / rate) / (count * len(signs)) / share, count)
        owner = np.repeat(records, count)
        return [(owner, (z[records, None] + sign * s).reshape(-1, z.shape[1]), weight) for sign in signs]


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


def _sums(record: NDArray[np.int64], n: int) -> Any:
    from scipy.sparse import csr_matrix

    starts = np.searchsorted(record, np.arange(n + 1))
    return csr_matrix((np.ones(record.size), np.arange(record.size), starts), shape=(n, record.size))
