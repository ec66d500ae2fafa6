"""Signed points that all records share: for scores from more windows than could be written out.

The points of several windows are their combinations, thousands a record. A score s that is smooth in the noisy columns
needs none of them: it is near a polynomial, and polynomials are undone exactly (`correction/projection.py`),

    s(y, f(x))  ≈  its projection,  undone by   Σ_l W_l(z) s(y, f(x_l)),        x_l the same for all records,

for any predictor f. What is left, s less its projection, is the whole of the bias. For every law of records whose
density p has `mean p² <= 4`

    |bias|  <=  2 (mean over x of (s - projection)²)^½,        x even in the domain,

and the least degree is taken for which that is a tenth of the score's standard error. Accuracy, AUC and pinball loss
jump or have kinks where predictions change, and no polynomial is near them: they are refused, with what they would be
off by, unless the columns have so few lattice points that nothing is lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from versadp.correction.projection import Projection
from versadp.errors import DataError, ParameterError
from versadp.noise.points import MAX_POINTS, How
from versadp.noise.terms import can_undo
from versadp.release.augment import SignedSample
from versadp.release.path.table import read_table, released_columns
from versadp.schema import Categorical

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.inputs import Array
    from versadp.noise import Block
    from versadp.release.mechanism import Mechanism
    from versadp.release.release import Release

LADDER = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27)
TESTS = 256
MOST = 2500  # points that all records share
PAIRS = 20_000_000  # of records and points
NEGLIGIBLE = 0.1  # of a standard error
ROUGH = 8  # a degree: where twice as high a one helps little the score is not smooth, and no other will
HINT = "neg_log_loss, neg_brier_score, r2 and squared error are smooth; accuracy, AUC and pinball loss are not"


def shareable(mechanism: Mechanism, used: list[str], draws: int) -> tuple[Block, ...] | None:
    """Return the blocks of some columns where their points are too many, and polynomials of them are undone."""
    blocks = tuple(block for block in mechanism.blocks if set(block.columns) & set(used))
    if math.prod(block.point_count(How(draws)) for block in blocks) <= MAX_POINTS:
        return None
    if any(block.nullable for block in blocks) or not can_undo(blocks):
        return None
    return blocks


@dataclass(frozen=True)
class Shared:
    """Some columns of a release at points that all records share.

    Attributes
    ----------
    projection : Projection
    mechanism : Mechanism
    used : list of str
        The columns that a score looks at.
    """

    projection: Projection
    mechanism: Mechanism
    used: list[str]

    @property
    def names(self) -> list[str]:
        """The noisy columns, in the projection's order."""
        return [name for block in self.projection.blocks for name in block.columns]

    def sample(self, whole: pa.Table) -> SignedSample:
        """Return released records at the points, with weights."""
        n, size = whole.num_rows, self.projection.size
        weight = self.projection.weights(self.released(whole))
        there = np.tile(self.projection.points, (n, 1))
        return SignedSample(self.columns(whole, there, size), weight.ravel(), np.repeat(np.arange(n), size))

    def released(self, whole: pa.Table) -> Array:
        """Return the noisy columns of released records, (columns, n)."""
        table = read_table(whole, self.mechanism.schema, released=True)
        return np.stack([table.private[name] for name in self.names])

    def columns(self, whole: pa.Table, x: Array, times: int) -> dict[str, Any]:
        """Return the used columns at values of the noisy ones (n times, columns); public ones are the records' own."""
        table = read_table(whole, self.mechanism.schema, released=True)
        record = pa.array(np.repeat(np.arange(whole.num_rows), times))
        public = {name: array.take(record) for name, array in table.public.items() if name in self.used}
        private = {name: x[:, c] for c, name in enumerate(self.names)}
        return released_columns(private, public, self.mechanism.schema, self.used)


def chosen(
    blocks: tuple[Block, ...], release: Release, used: list[str], gain: Callable[[dict[str, Any]], Array] | None
) -> Shared:
    """Return points at which a score is told closely enough, or an error that says how far off it would be.

    Parameters
    ----------
    blocks : tuple of Block
    release : Release
    used : list of str
    gain : callable or None
        The score of columns, a number for each row; None for one of pairs of records, which needs every lattice point.
    """
    some = _some(release)
    shifts: dict[int, float] = {}
    for q in LADDER:
        shared = Shared(Projection(blocks, _degrees(blocks, used, release.mechanism, q)), release.mechanism, used)
        if shared.projection.exact:
            return _within(shared, len(release))
        if shared.projection.size > MOST:
            break
        if gain is None:
            continue
        shifts[q] = _shift(shared, some, gain, len(release))
        if shifts[q] < NEGLIGIBLE:
            return _within(shared, len(release))
        if q >= ROUGH and shifts[q] > max(1.0, shifts.get(q // 2, np.inf) / 4):
            break
    told = f": it may be off by {min(shifts.values()):.2g} standard errors" if shifts else ""
    raise ParameterError(
        f"no polynomial of these noisy columns that could be undone is near this score{told}", hint=HINT
    )


def _some(release: Release) -> pa.Table:
    """Return some records: as many as there are tests, over and over if there are fewer."""
    first = pa.Table.from_batches([next(iter(release.batches()))])
    return first.take(pa.array(np.random.default_rng(0).integers(0, first.num_rows, TESTS)))


def _degrees(blocks: tuple[Block, ...], used: list[str], mechanism: Mechanism, q: int) -> tuple[int, ...]:
    """Return a degree for each column: of a category all levels, of a column that is not used none."""
    out = []
    for block in blocks:
        for name in block.columns:
            lattice = block.lattice(name)
            assert lattice is not None
            most = lattice.values.size - 1
            whole = isinstance(mechanism.schema.columns[name], Categorical)
            out.append(0 if name not in used else most if whole else min(q, most))
    return tuple(out)


def _shift(shared: Shared, some: pa.Table, gain: Callable[[dict[str, Any]], Array], rows: int) -> float:
    """Return how far a score may be off, in standard errors."""
    from scipy.stats.qmc import Sobol

    projection, n = shared.projection, some.num_rows
    ends = np.array([lattice.values[[0, -1]] for lattice in projection.lattices]).T
    even = ends[0] + (ends[1] - ends[0]) * Sobol(len(projection.lattices), seed=1).random(n)
    x = np.stack([each.nearest(even[:, c]) for c, each in enumerate(projection.lattices)], axis=1)
    there = np.tile(projection.points, (n, 1))
    values = gain(shared.columns(some, there, projection.size)).reshape(n, -1)
    near = (projection.spots(projection.products(x)) * values).sum(axis=1)
    off = 2 * np.sqrt(np.mean((gain(shared.columns(some, x, 1)) - near) ** 2))
    each = (projection.weights(shared.released(some)) * values).sum(axis=1)
    return float(off / max(each.std() / np.sqrt(rows), np.finfo(float).tiny))


def _within(shared: Shared, rows: int) -> Shared:
    """Return the points; raise if there are too many for the number of records."""
    size = shared.projection.size
    if rows * size > PAIRS:
        raise DataError(
            f"{rows:,} records at {size} points each are more than a score is worked out from",
            hint=f"score a random part of {PAIRS // size:,} records",
        )
    return shared
