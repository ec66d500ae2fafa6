"""From batches of any size to parts of a fixed one: bytes do not depend on how a file happens to be read."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from versadp.errors import DataError, KeyMaterialError, SpentError
from versadp.release.ledger.digests import TAGGED, people_rows
from versadp.release.ledger.people import Distinct, Several
from versadp.release.path.columns import refuse_repeats
from versadp.release.path.rows import SHIFT
from versadp.release.path.table import read_table, survey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.release.ledger.exposure import Exposure
    from versadp.release.mechanism import Mechanism

    Rows = NDArray[np.uint64]

VERSION, FIRST = TAGGED, TAGGED + 1  # columns of a piece's people that the ledger does not keep


@dataclass(frozen=True)
class Piece:
    """The input of one part; `share` says how much is read by then.

    With an id `people` has one row a record: who it is of, its digest, which version it is, and which of equal rows of
    this person (`VERSION`), and whether it is the person's first row, for which they are charged (`FIRST`).
    """

    number: int
    table: pa.Table
    people: Rows | None
    share: float


Screened = tuple["pa.Table | pa.RecordBatch", "Rows | None", float]


def pieces(batches: Iterable[Screened], rows: int, columns: pa.Schema, *, empty: bool) -> Iterator[Piece]:
    """Yield pieces of just `rows` records, the last perhaps shorter; with `empty` at least one."""
    held: list[Screened] = []
    number, count, share = 0, 0, 0.0
    for table, people, share in batches:
        at = 0
        while count + table.num_rows - at >= rows:
            take = rows - count
            held.append((table.slice(at, take), None if people is None else people[at : at + take], share))
            yield _join(number, held, columns, share)
            held, number, count, at = [], number + 1, 0, at + take
        if at < table.num_rows:
            held.append((table.slice(at), None if people is None else people[at:], share))
            count += table.num_rows - at
    if held or (empty and number == 0):
        yield _join(number, held, columns, 1.0)


def _join(number: int, held: list[Screened], columns: pa.Schema, share: float) -> Piece:
    batches = [
        batch for table, _, _ in held for batch in (table.to_batches() if isinstance(table, pa.Table) else [table])
    ]
    rows = [people for _, people, _ in held if people is not None]
    people = np.concatenate(rows) if rows else None
    return Piece(number, pa.Table.from_batches(batches, schema=columns), people, share)


@dataclass
class Screen:
    """Looks up everybody before they are noised; for tables with an id.

    Whoever is in this release already with the same record is left out: they would get the same noise. Whoever was
    released before otherwise is refused. If `again` says so everybody is charged instead, and gets noise of its own for
    this version of their record, also if it did not change: who is left out would be seen not to have changed.
    """

    mechanism: Mechanism
    key: bytes = field(repr=False)
    release: str
    charge: tuple[int, int]
    before: Exposure
    budget: tuple[int, int] | None
    again: str
    number: int = 0
    skipped: int = 0
    charged: int = 0

    def __reduce__(self) -> tuple[object, ...]:
        raise KeyMaterialError(
            "a screen holds secrets and cannot be pickled", hint="use the engine 'local' or 'serial'"
        )

    def __call__(self, batches: Iterable[tuple[pa.RecordBatch, float]], engine: Engine) -> Iterator[Screened]:
        """Yield the people to be released, with their rows for the ledger; raise at the end if some cannot be."""
        column = self.mechanism.schema.id
        assert column is not None
        most, known_before = self.mechanism.schema.rows_per_person, self.before.known(column)
        now, several = Distinct(self.before.folder), Several(most, self.before.folder)
        refused = spent = 0
        for batch, rows, share in engine.map(self._with_rows, batches):
            found = known_before.find(rows)
            fresh = ~found.same | (self.again == "charge")
            known = found.known & fresh
            over = np.zeros(len(rows), np.bool_)
            if self.budget is not None:
                total = self.before.of(column, found) + np.array(self.charge, np.uint64)
                over = fresh & np.any(total > np.array(self.budget, np.uint64), axis=1)
            first = number = np.zeros(len(rows), np.uint64)
            if most == 1:
                first = number + np.uint64(1)
                now.see(rows[:, 0])
            else:
                first, number = several.see(rows)
            refused += int(known.sum()) if self.again == "refuse" else 0
            spent += int((over & (first > 0)).sum())
            if refused or spent or now.noticed or several.beyond:
                continue  # to the end, for the whole count; nothing more is released
            self.skipped += int((~fresh).sum())
            self.charged += int(known.sum())
            version = np.where(found.known, np.uint64(self.number), np.uint64(0)) | (number << SHIFT)
            people = np.column_stack([rows[:, :TAGGED], version, first])
            yield (batch, people, share) if fresh.all() else (batch.filter(pa.array(fresh)), people[fresh], share)
        refuse_repeats(several.beyond + now.repeats(), column, most)
        _refuse(refused, spent)

    def _with_rows(self, read: tuple[pa.RecordBatch, float]) -> tuple[pa.RecordBatch, Rows, float]:
        batch, share = read
        return batch, self.rows(batch), share

    def rows(self, batch: pa.RecordBatch) -> Rows:
        """Return who some records are of, and their digests."""
        schema = self.mechanism.schema
        with looked_at(batch.num_rows):
            table = read_table(pa.Table.from_batches([batch]), schema)
        survey(table, schema)
        several = schema.rows_per_person > 1
        return people_rows(self.key, self.release, table, self.mechanism.layout, several=several)


@contextmanager
def looked_at(rows: int) -> Iterator[None]:
    """Let an error say among how many records its count is: reading stops there."""
    try:
        yield
    except DataError as problem:
        if not any(letter.isdigit() for letter in problem.message):
            raise
        raise DataError(
            f"{problem.message}, among {rows:,} records looked at; more may follow",
            hint=problem.hint,
        ) from None


def _refuse(refused: int, spent: int) -> None:
    if spent:
        raise SpentError(f"{spent} people have no budget left for this release", hint="leave them out")
    if refused:
        raise SpentError(
            f"{refused} people were released before, with another record or in another release",
            hint="leave them out, or release them again at a cost to them: again='charge' (--again charge)",
        )


def unscreened(batches: Iterable[tuple[pa.RecordBatch, float]]) -> Iterator[Screened]:
    """Yield all records: without an id there are no people to look up."""
    for batch, share in batches:
        yield batch, None, share


def telling(batches: Iterable[Screened], tell: Callable[[float], None] | None) -> Iterator[Screened]:
    """Say how much has been read."""
    for table, people, share in batches:
        yield table, people, share
        if tell is not None:
            tell(share)
