"""Correction by the blocks' own inverses: any loss, any blocks.

    sum over a record's signed points of weight * score(point),    those of several blocks multiplied

It is the general way: it asks nothing of a block but its points. Where the noise is zero-inflated Laplace on one block,
`signed.py` does the same with fewer draws for records far away, and several extensions at once.

Blocks draw for many records at once. So that a record has draws of its own (`streams.py`), those with places are drawn
for slab by slab, each slab as if it were whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp.correction.signed import Rows
from versadp.noise.points import How, Points, product

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.model import Model, Records
    from versadp.noise import Block
    from versadp.noise.units import Units

    Array = NDArray[np.float64]

SLAB = 1024


@dataclass(frozen=True)
class Drawn:
    """One member: the product of the inverses of the blocks that a model touches.

    Points at which one of the `nullable` columns of the model is missing are left out: what is left stands for the
    records in which none is.
    """

    placed: ClassVar[bool] = True
    model: Model
    units: Units
    blocks: tuple[Block, ...]
    how: How
    nullable: tuple[str, ...] = ()
    names: tuple[str, ...] = ("points",)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record, at most."""
        each = max(self.model.size, self.model.width) + 3
        return each * math.prod(block.point_count(self.how) for block in self.blocks)

    def prepare(self, records: Records, rng: np.random.Generator) -> Rows:
        """Write out the points of some records."""
        assert records.released is not None
        if records.before is None:
            record, columns, weight = self._points(records.released, rng)
        else:
            record, columns, weight = self._by_slabs(records.released, records.before, rng)
        if self.nullable:
            complete = ~np.isnan([columns[name] for name in self.nullable]).any(axis=0)
            record, weight = record[complete], weight[complete]
            columns = {name: values[complete] for name, values in columns.items()}
        if records.weight is not None:
            weight = weight * records.weight[record]
        z = self.units.from_columns([columns[name] for name in self.units.names])
        return Rows(record, self.model.rows(z, record, records), weight[None], records.rows)

    def _points(self, released: Array, rng: np.random.Generator) -> Points:
        """Return the points of all blocks, multiplied."""
        by_name = dict(zip(self.units.names, released, strict=True))
        inverses = [
            block.points(np.stack([by_name[name] for name in block.columns]), rng, self.how) for block in self.blocks
        ]
        return product(*inverses)

    def _by_slabs(self, released: Array, before: int, rng: np.random.Generator) -> Points:
        """Return the points of records in their places; what lacks of a slab is filled up, and left out again."""
        key, rows, found = int(rng.integers(2**63)), released.shape[1], []
        for slab in range(before // SLAB, -(-(before + rows) // SLAB)):
            start, stop = max(slab * SLAB - before, 0), min((slab + 1) * SLAB - before, rows)
            lacks = before + start - slab * SLAB
            some = np.pad(released[:, start:stop], ((0, 0), (lacks, SLAB - lacks - (stop - start))), mode="edge")
            record, columns, weight = self._points(some, np.random.default_rng([key, slab]))
            own = (record >= lacks) & (record < lacks + stop - start)
            columns = {name: values[own] for name, values in columns.items()}
            found.append(Points(record[own] - lacks + start, columns, weight[own]))
        names = found[0].columns
        return Points(
            np.concatenate([each.record for each in found]),
            {name: np.concatenate([each.columns[name] for each in found]) for name in names},
            np.concatenate([each.weight for each in found]),
        )

    def evaluate(self, rows: Rows, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p), and the Hessian of the first combination."""
        return rows.scores(self.model, theta, mix, hessian=hessian)
