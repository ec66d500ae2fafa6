"""Corrected scores at points that all records share, for several wide windows with too many signed points.

The signed points of several windows are all their combinations, thousands per record. A score s that is smooth in the
noisy columns is near a polynomial, and polynomials are corrected without bias (`correction/projection.py`),

    s(y, f(x))  ≈  its projection,  corrected   Σ_l W_l(z) s(y, f(x_l)),        x_l the same for all records,

for any predictor f. The bias is that of the projection. For every law of records whose density p has `mean p² <= 4`

    |bias|  <=  2 (mean over x of (s - projection)²)^½,        x uniform on the domain,

and the least degree is used for which that is a tenth of the standard error of the score. Accuracy, AUC and pinball
loss jump or have kinks where predictions change, and no polynomial is near them: they are refused, with the bound on
their bias, unless the columns have so few lattice points that the projection is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from versadp.correction.projection import Projection
from versadp.correction.series import NEGLIGIBLE
from versadp.errors import DataError, ParameterError
from versadp.noise.points import MAX_POINTS, How
from versadp.noise.terms import can_undo
from versadp.release.augment import SignedSample
from versadp.release.path.table import read_table, released_columns
from versadp.schema import Categorical
from versadp.schema.spacing import LINEAR, from_even, to_even

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.inputs import Array
    from versadp.noise import Block
    from versadp.release.mechanism import Mechanism
    from versadp.release.release import Release

# degrees per column that are tried, in steps of at most a quarter: the cost of a degree is its square for two columns
DEGREES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27)
TEST_RECORDS = 256  # at which the bias is bounded: a root mean square over so many is off by about 5%
MOST_POINTS = 2500  # that all records share: 50 per column for two columns; a record then takes 20 kB
MOST_EVALUATIONS = 20_000_000  # records times points of one score: 640 MB of predictions and weights
# degree from which doubling must divide the bias by 4 or the score is refused as not smooth: by approximation theory a
# jump gains a factor of 1.4 and a kink 2.8, an analytic function far more
DEGREE_OF_DOUBT = 8
HINT = "use neg_log_loss, neg_brier_score, r2 or squared error, which are smooth; accuracy, AUC, pinball loss are not"


def shareable(mechanism: Mechanism, used: list[str], draws: int) -> tuple[Block, ...] | None:
    """Return the blocks of some columns if they have too many signed points and can correct polynomials, else None."""
    blocks = tuple(block.even for block in mechanism.blocks if set(block.columns) & set(used))
    if math.prod(block.point_count(How(draws)) for block in blocks) <= MAX_POINTS:
        return None
    if any(block.nullable for block in blocks) or not can_undo(blocks):
        return None
    return blocks


@dataclass(frozen=True)
class Shared:
    """Columns of a release at points that all records share.

    Attributes
    ----------
    projection : Projection
    mechanism : Mechanism
    used : list of str
        The columns that the score uses.
    """

    projection: Projection
    mechanism: Mechanism
    used: list[str]

    @property
    def names(self) -> list[str]:
        """The noisy columns, in the projection's order."""
        return [name for block in self.projection.blocks for name in block.columns]

    def sample(self, whole: pa.Table) -> SignedSample:
        """Return every released record at all points, with weights."""
        n, size = whole.num_rows, self.projection.size
        weight = self.projection.weights(self.released(whole))
        there = np.tile(self.projection.points, (n, 1))
        return SignedSample(self.columns(whole, there, size), weight.ravel(), np.repeat(np.arange(n), size))

    def released(self, whole: pa.Table) -> Array:
        """Return the noisy columns of released records, on the scales of their lattices, (columns, n)."""
        table = read_table(whole, self.mechanism.released_schema, released=True)
        return np.stack([to_even(self._spacing(name), table.private[name]) for name in self.names])

    def _spacing(self, name: str) -> str:
        return str(getattr(self.mechanism.schema.columns[name], "spacing", LINEAR))

    def columns(self, whole: pa.Table, x: Array, times: int) -> dict[str, Any]:
        """Return the used columns: noisy ones at the values x (n times, columns), public ones those of the records."""
        table = read_table(whole, self.mechanism.released_schema, released=True)
        record = pa.array(np.repeat(np.arange(whole.num_rows), times))
        public = {name: array.take(record) for name, array in table.public.items() if name in self.used}
        private = {name: from_even(self._spacing(name), x[:, c]) for c, name in enumerate(self.names)}
        return released_columns(private, public, self.mechanism.released_schema, self.used)


def chosen(
    blocks: tuple[Block, ...], release: Release, used: list[str], gain: Callable[[dict[str, Any]], Array] | None
) -> Shared:
    """Return the points at which the bias of a score is negligible; raise with the bound on its bias if there are none.

    Parameters
    ----------
    blocks : tuple of Block
    release : Release
    used : list of str
    gain : callable or None
        The score of columns, one number per row; None for one of pairs of records, which needs every lattice point.
    """
    some = _some(release)
    shifts: dict[int, float] = {}
    for q in DEGREES:
        shared = Shared(Projection(blocks, _degrees(blocks, used, release.mechanism, q)), release.mechanism, used)
        if shared.projection.exact:
            return _within(shared, len(release))
        if shared.projection.size > MOST_POINTS:
            break
        if gain is None:
            continue
        shifts[q] = _shift(shared, some, gain, len(release))
        if shifts[q] < NEGLIGIBLE:
            return _within(shared, len(release))
        if q >= DEGREE_OF_DOUBT and shifts[q] > max(1.0, shifts.get(q // 2, np.inf) / 4):
            break
    bound = f": its bias may be {min(shifts.values()):.2g} standard errors" if shifts else ""
    raise ParameterError(f"no polynomial of these noisy columns approximates this score{bound}", hint=HINT)


def _some(release: Release) -> pa.Table:
    """Return `TEST_RECORDS` records drawn with replacement from the first batch."""
    first = pa.Table.from_batches([next(iter(release.batches()))])
    return first.take(pa.array(np.random.default_rng(0).integers(0, first.num_rows, TEST_RECORDS)))


def _degrees(blocks: tuple[Block, ...], used: list[str], mechanism: Mechanism, q: int) -> tuple[int, ...]:
    """Return the degree of each column: its number of levels for a category, 0 for a column that is not used."""
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
    """Return the bound on the bias of a score, in standard errors."""
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
    """Return the points; raise if records times points are too many."""
    size = shared.projection.size
    if rows * size > MOST_EVALUATIONS:
        raise DataError(
            f"{rows:,} records at {size} points each are more than {MOST_EVALUATIONS:,} evaluations",
            hint=f"score a random sample of {MOST_EVALUATIONS // size:,} records",
        )
    return shared
