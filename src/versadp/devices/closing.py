"""From the intake to an ordinary release folder: each report once, sorted by the public hash, in bounded memory.

Of reports under one id that differ the one with the smallest digest is kept, so that the release does not depend on the
order of arrival. Places become released values by the blocks themselves; rows then go the way of every large release,
sorted runs and lots (`release/files/sorting.py`), and have the bytes that `Release.from_frame(...).save` would write.

Memory: 1 byte per report, about 100 bytes per report of one share of all ids at a time, and one run and one part.
"""

from __future__ import annotations

import secrets
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from versadp.devices.reports import REPEATED, SAME_ID, SMALL_GROUP
from versadp.devices.row_checks import id_numbers, row_keys
from versadp.errors import DataError, ReleaseError
from versadp.noise.selection_check import GROUPS, HONEST_REFUSED, fewest_chance
from versadp.release.atomic_write import settle, sync_folder
from versadp.release.checkpoints import reached
from versadp.release.files.sorting import Lot, give_back, read_runs, run_name, write_lot, write_run
from versadp.release.folder import folder as folders
from versadp.release.folder.manifest import Manifest
from versadp.release.folder.part_file import PartFile
from versadp.release.folder.parts import part_rows, released_table
from versadp.release.path.order import Alike, Order, count_alike, lots_of
from versadp.release.path.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from versadp.noise import Block
    from versadp.release.folder.metadata import Metadata
    from versadp.release.mechanism import Mechanism
    from versadp.schema import Schema

    Rows = Callable[[], Iterable[pa.RecordBatch]]

RUN_ROWS = 2**16  # rows of a sorted run
SHARE_ROWS = 2**18  # reports whose ids are compared at a time


class Gathered(NamedTuple):
    """All reports of a round as sorted runs.

    Attributes
    ----------
    runs : list of PartFile
    smallest : int
        Reports in the smallest group with equal public values.
    counts : Counter
        Reports that were left out, by reason.
    """

    runs: list[PartFile]
    smallest: int
    counts: Counter[str]

    @property
    def rows(self) -> int:
        """Reports in the release."""
        return sum(run.rows for run in self.runs)


def gather(rows: Rows, total: int, mechanism: Mechanism, place: Path, *, least: int = 1) -> Gathered:
    """Write all reports as sorted runs into a folder, each once; refuse columns that show no noise.

    Parameters
    ----------
    rows : callable
        Returns all batches that were taken, the same each time.
    total : int
        How many rows they have.
    mechanism : Mechanism
    place : Path
        A new folder.
    least : int
        Groups with equal public values that have fewer reports are left out.
    """
    keep, counts = kept_rows(rows, total)
    small = _small_groups(rows, keep, mechanism, least)
    alike, seen, runs = Alike(), [SeenOutputs(block) for block in mechanism.blocks], list[PartFile]()
    for chunk in _chunks(rows, keep):
        table, noised = to_table(chunk, mechanism, seen)
        if small is not None:
            table, noised = _without(small, table, noised, mechanism.schema)
            counts[SMALL_GROUP] += chunk.num_rows - table.rows
        alike.add([count_alike(table.shown(mechanism.schema))])
        released = released_table(table, noised, mechanism.released_schema)
        path = place / run_name(len(runs))
        contents = write_run(path, [released[name] for name in released.column_names])
        runs.append(PartFile(path.name, table.rows, *contents))
        reached("run written")
    for each in seen:
        each.refuse_unnoised()
    rows_kept = sum(run.rows for run in runs)
    return Gathered(runs, alike.smallest(rows_kept), counts)


def _small_groups(rows: Rows, keep: NDArray[np.bool_], mechanism: Mechanism, least: int) -> pa.Table | None:
    """Return the groups with equal public values that have fewer reports, if there are any."""
    if least <= 1:
        return None
    alike = Alike()
    for chunk in _chunks(rows, keep):
        alike.add([count_alike(to_table(chunk, mechanism)[0].shown(mechanism.schema))])
    small = alike.groups_below(least)
    return small if small is not None and small.num_rows else None


def _without(
    small: pa.Table, table: Table, noised: dict[str, NDArray[np.float64]], schema: Schema
) -> tuple[Table, dict[str, NDArray[np.float64]]]:
    """Return a table without its rows in some groups."""
    shown = pa.table(list(table.shown(schema).values()), small.column_names)
    numbered = shown.append_column("row", pa.array(np.arange(table.rows)))
    at = np.sort(numbered.join(small, small.column_names, join_type="left anti")["row"].to_numpy())
    private = {name: values[at] for name, values in noised.items()}
    public = {name: column.take(pa.array(at)) for name, column in table.public.items()}
    return Table("arrow", len(at), private, public, None), private


def kept_rows(rows: Rows, total: int) -> tuple[NDArray[np.bool_], Counter[str]]:
    """Return which rows are released, one per id, and how many are not, by reason.

    Examples
    --------
    >>> ids = pa.array([b"a" * 32, b"b" * 32, b"a" * 32, b"a" * 32], pa.binary(32))
    >>> batch = pa.record_batch({"id": ids, "0": pa.array([1, 1, 1, 2], pa.int32())})
    >>> keep, counts = kept_rows(lambda: [batch], 4)
    >>> int(keep.sum()), counts.total()
    (2, 2)
    """
    keep, counts = np.ones(total, np.bool_), Counter[str]()
    shares = -(-total // SHARE_ROWS)
    factors = np.frombuffer(secrets.token_bytes(32), np.uint64)  # nobody can send ids that all fall into one share
    for share in range(shares):
        at, ids = _ids_of_share(rows, share, shares, factors)
        if len(at) < 2:
            continue
        order = np.lexsort(ids.T)
        same = (ids[order[1:]] == ids[order[:-1]]).all(axis=1)
        several = np.append(same, False) | np.append(False, same)
        rivals = np.sort(at[order[several]])
        if len(rivals):
            _choose(rows, rivals, keep, counts)
    return keep, counts


def _ids_of_share(
    rows: Rows, share: int, shares: int, factors: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the rows whose id falls into a share of all ids, by a linear hash, and these ids."""
    places, found, first = list[Any](), list[Any](), 0
    for batch in rows():
        ids = id_numbers(batch)
        high = (ids * factors).sum(axis=1) >> np.uint64(32)
        at = np.flatnonzero((high * np.uint64(shares)) >> np.uint64(32) == share)
        places.append(first + at)
        found.append(ids[at])
        first += len(ids)
    return np.concatenate(places), np.concatenate(found)


def _choose(rows: Rows, rivals: NDArray[np.int64], keep: NDArray[np.bool_], counts: Counter[str]) -> None:
    """Keep one of the rows under each id: that with the smallest digest, and of equal ones the first."""
    ids, keys, first = list[Any](), list[Any](), 0
    for batch in rows():
        start, stop = np.searchsorted(rivals, [first, first + batch.num_rows])
        if stop > start:
            some = batch.take(pa.array(rivals[start:stop] - first))
            ids.append(id_numbers(some))
            keys.append(row_keys(some))
        first += batch.num_rows
    both = np.concatenate([np.concatenate(ids), np.concatenate(keys)], axis=1)
    order = np.lexsort(both.T[::-1])  # stable: of equal reports the first comes first
    sorted_rows = both[order]
    again = np.append(False, (sorted_rows[1:, :-2] == sorted_rows[:-1, :-2]).all(axis=1))
    equal = np.append(False, (sorted_rows[1:] == sorted_rows[:-1]).all(axis=1))
    keep[rivals[order[again]]] = False
    for reason, left in ((REPEATED, again & equal), (SAME_ID, again & ~equal)):
        if left.any():
            counts[reason] += int(left.sum())


def _chunks(rows: Rows, keep: NDArray[np.bool_]) -> Iterator[pa.Table]:
    """Yield tables of at most `RUN_ROWS` kept rows, at least one table."""
    held, count, first = list[pa.RecordBatch](), 0, 0
    for batch in rows():
        mask = keep[first : first + batch.num_rows]
        first += batch.num_rows
        some = batch if mask.all() else batch.filter(pa.array(mask))
        if held and count + some.num_rows > RUN_ROWS:
            yield pa.Table.from_batches(held)
            held, count = [], 0
        held.append(some)
        count += some.num_rows
    if held:
        yield pa.Table.from_batches(held)


def to_table(
    rows: pa.Table, mechanism: Mechanism, seen: Iterable[SeenOutputs] = ()
) -> tuple[Table, dict[str, NDArray[np.float64]]]:
    """Return taken rows as a table of public columns, and private columns as the values that blocks release."""
    schema, at = mechanism.schema, {name: number for number, name in enumerate(mechanism.schema.columns, 1)}
    private: dict[str, NDArray[np.float64]] = {}
    for block in mechanism.blocks:
        places = np.stack([_floats(rows.column(at[name])) for name in block.columns])
        for each in seen:
            if each.block is block:
                each.add(places)
        block.to_values(places)
        private |= dict(zip(block.columns, places, strict=True))
    public = {name: _fresh(rows.column(at[name])) for name in schema.public}
    return Table("arrow", rows.num_rows, private, public, None), private


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return places as floats, NaN where a value is publicly missing."""
    return np.asarray(column.cast(pa.float64()).combine_chunks().to_numpy(zero_copy_only=False), np.float64)


def _fresh(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


class SeenOutputs:
    """Counts of groups of a block's outputs: noise gives each of them now and then, whatever the true value is.

    Parameters
    ----------
    block : Block
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        derived = block.derived()
        outputs = derived.get("outputs") or [derived["levels"]]
        shown = (
            [m + w for m, w in zip(derived["last"], derived["window"], strict=True)] if "last" in derived else outputs
        )
        self._shown, self._hidden = shown, [n - m for n, m in zip(outputs, shown, strict=True)]
        self._counts = [np.zeros(min(GROUPS, n) + 1) for n in shown]  # the last is of missing values

    def add(self, places: NDArray[np.float64]) -> None:
        """Count places, (columns, rows); NaN is publicly missing."""
        for total, row, n in zip(self._counts, places, self._shown, strict=True):
            known = row[~np.isnan(row)].astype(np.int64)
            group = np.minimum(known, n) * (len(total) - 1) // n
            total += np.bincount(group, minlength=len(total))  # noqa: PLW2901 - in place

    def refuse_unnoised(self) -> None:
        """Raise if outputs are rarer than the noise allows, whatever the true values are."""
        keep = self.block.figures()["kept" if "kept" in self.block.figures() else "keep"]
        for name, count, n, hidden in zip(self.block.columns, self._counts, self._shown, self._hidden, strict=True):
            groups = len(count) - 1
            sizes = np.append(np.diff(-(-np.arange(groups + 1) * n // groups)), hidden).astype(float)
            told = sizes > 0
            chance = fewest_chance(count[told], sizes[told] / sizes.sum(), keep, int(count.sum()))
            if len(self._shown) * chance < HONEST_REFUSED:
                raise DataError(
                    f"column {name!r} shows no noise: places that its noise gives to anybody are too rare",
                    hint="reports were made without the noise, selected, or forged in great number: nothing was "
                    "released; find the client that sends them, and collect the round anew",
                )


def write_release(
    gathered: Gathered, mechanism: Mechanism, scratch: Path, place: Path, *, order: Order, metadata: Metadata
) -> None:
    """Make a release folder of sorted runs; it appears whole, at `place`."""
    made = scratch / "release"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    lots = lots_of(gathered.rows, part_rows(mechanism.schema, folders.PART_ROWS))
    runs, parts = read_runs(scratch, gathered.runs), list[PartFile]()
    give_back()
    for number in range(lots):
        lot = write_lot(Lot(number, lots, runs, made, 0, mechanism.schema))
        assert lot.scratch is not None
        settle(lot.scratch, lot.path)
        parts.append(lot.file)
    if sum(part.rows for part in parts) != gathered.rows:
        raise ReleaseError("rows were lost while they were sorted", hint="close the round again")
    Manifest.of(mechanism, parts, order=order, metadata=metadata).write(made)
    sync_folder(made)
    reached("before publication")
    made.rename(place)
    sync_folder(place.parent)
    reached("after publication")
