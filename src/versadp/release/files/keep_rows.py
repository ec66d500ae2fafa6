"""A source with a limited number of rows per person: the key chooses which (`release/path/rows.py`).

The source is read twice: once to draw for every row, and then without the rows that are left out. What was drawn stands
in the state folder if it is too much for memory, and tells nothing without the key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from versadp.errors import KeyMaterialError
from versadp.release.files.sources import BATCH_ROWS
from versadp.release.ledger.people import Counted
from versadp.release.ledger.row_store import Pile
from versadp.release.path.rows import Lottery, left_out, warn_left_out
from versadp.release.path.table import read_ids

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from versadp.release.files.sources import Source
    from versadp.release.mechanism import Mechanism
    from versadp.release.path.rows import Numbers


@dataclass
class KeptRows:
    """At most `keep` rows of each person of a source."""

    source: Source
    mechanism: Mechanism
    keep: int
    key: bytes = field(repr=False)
    folder: Path
    rows: int | None = None
    _told: bool = field(default=False, init=False)

    def __reduce__(self) -> tuple[object, ...]:
        raise KeyMaterialError("a choice of rows holds secrets and cannot be pickled", hint="work on this machine")

    @property
    def columns(self) -> pa.Schema:
        """Columns of every batch."""
        return self.source.columns

    def batches(self, rows: int = BATCH_ROWS) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield the rows that are kept, in the order of the source."""
        out = self._left_out(rows)
        for batch, share, people, draws in self._drawn(rows):
            stays = np.ones(batch.num_rows, np.bool_)
            for which, found in out.matches(people):
                stays[which] &= found[:, 1] != draws[which]
            yield (batch if stays.all() else batch.filter(pa.array(stays))), share

    def _left_out(self, rows: int) -> Pile:
        """Return people and draws of the rows that are left out."""
        drawn, out = Pile(2, self.folder), Pile(2, self.folder)
        for _, _, people, draws in self._drawn(rows):
            drawn.add(np.column_stack([people, draws]))
        for some in drawn.pieces():  # which hold all rows of a person together
            out.add(some[left_out(some[:, 0], some[:, 1], self.keep)])
        if not self._told:
            warn_left_out(len(out))
            self._told = True
        return out

    def _drawn(self, rows: int) -> Iterator[tuple[pa.RecordBatch, float, Numbers, Numbers]]:
        lottery, places = Lottery(self.key, self.mechanism.parameters), Counted(self.folder)
        for batch, share in self.source.batches(rows):
            names = self.mechanism.layout.names(read_ids(pa.Table.from_batches([batch]), self.mechanism.schema))
            people, draws = lottery.draw(names, places.see)
            yield batch, share, people, draws
