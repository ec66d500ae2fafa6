"""The order in which records leave: sorted by a public hash of what is released of them.

Such an order is a function of the released records as a set: it tells nothing of who stood where before, no key is
needed for it, it is the same after a crash, and anybody can check it. Among records in such an order each is hidden
better than by its own noise (`docs/theory/shuffle.md`); how well depends on how many there are with equal public
values.

The hash of a row runs through its columns in the order of the schema,

    h <- mix(h xor key),    key: the bits of a number as float64 or int64, 64 bits of BLAKE2b of a text,

and rows that share a hash are sorted by their keys, so that nothing is left to where they stood.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versadp.errors import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from versadp.release.mechanism import Mechanism

    Columns = Mapping[str, NDArray[Any] | pa.Array | pa.ChunkedArray]
    Shown = Mapping[Any, pa.Array | pa.ChunkedArray]  # `Table.shown`
    Keys = NDArray[np.uint64]

COMPILED = "versadp.noise.kernel"
PIECE = 2**14  # rows that are hashed at a time, which stay in the cache
MOST_GROUPS = 2**20  # of equal public values that are counted; with more of them, groups of one are assumed
_COUNT = "count_all"
_MISSING = np.uint64(0x6E756C6C6E756C6C)


@dataclass(frozen=True)
class Order:
    """Order of a release: sorted by hash or as given, and the number of records that hide each other.

    Attributes
    ----------
    alike : tuple of int, optional
        Of each batch that was shuffled by itself, how many records the smallest group with equal public values has.
        None if the records were left in the order in which they came.

    Examples
    --------
    >>> Order((412, 90)).among, Order().among
    (90, None)
    """

    alike: tuple[int, ...] | None = None

    @property
    def among(self) -> int | None:
        """Least number of records that each is hidden among; None if the order may tell something."""
        return None if not self.alike else max(min(self.alike), 1)

    def check(self, mechanism: Mechanism) -> None:
        """Refuse a release that has less to hide in than its mechanism was calibrated for."""
        need = None if mechanism.target is None else mechanism.target.shuffled
        if need is None:
            return
        if self.alike is None:
            raise ReleaseError(
                "the mechanism was calibrated for a shuffled release, and this one keeps the order of its rows",
                hint="release with shuffle=True, or calibrate without shuffled=",
            )
        if min(self.alike) < need:
            raise ReleaseError(
                f"the mechanism was calibrated for a shuffle of at least {need:,} records with equal public values, "
                f"and here a group has {min(self.alike):,}",
                hint="calibrate with shuffled= the size of the smallest group; fewer public columns make larger groups",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in a manifest."""
        return {"sorted": False} if self.alike is None else {"sorted": True, "alike": list(self.alike)}

    @classmethod
    def from_dict(cls, data: Any) -> Order:
        """Read what `to_dict` wrote; raise ValueError for anything else."""
        if data == {"sorted": False}:
            return KEPT
        alike = data.get("alike") if isinstance(data, dict) else None
        if not isinstance(alike, list) or not alike or any(type(n) is not int or n < 0 for n in alike):
            raise ValueError("no order of records")
        if data != {"sorted": True, "alike": alike}:
            raise ValueError("no order of records")
        return cls(tuple(alike))


KEPT = Order()


def row_hash(columns: Columns) -> Keys:
    """Return the public hash of each row.

    Examples
    --------
    >>> two = row_hash({"age": np.array([41.5, 30.25]), "region": pa.array(["n", "s"])})
    >>> bool(two[0] == row_hash({"age": np.array([41.5]), "region": pa.array(["n"])})[0])
    True
    """
    hashes: Keys | None = None
    for column in columns.values():
        keys = _keys(column)
        hashes = np.zeros(len(keys), np.uint64) if hashes is None else hashes
        _mix(keys, hashes)
    assert hashes is not None
    return hashes


def _mix(keys: Keys, hashes: Keys) -> None:
    """Mix keys into hashes, by the compiled loop where it is loaded already: to load it takes 100 MB."""
    if COMPILED in sys.modules:
        sys.modules[COMPILED].mix(keys, hashes)
        return
    for start in range(0, len(keys), PIECE):
        h = hashes[start : start + PIECE]
        h ^= keys[start : start + PIECE]
        h *= np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(32)
        h *= np.uint64(0xD6E8FEB86659FD93)
        h ^= h >> np.uint64(32)
        h ^= np.uint64(0x9E3779B97F4A7C15)


def row_order(columns: Columns, hashes: Keys | None = None) -> NDArray[np.int64]:
    """Return where the rows of the sorted table stand in the given one.

    Examples
    --------
    >>> table = {"age": np.array([41.5, 30.25, 77.0]), "region": pa.array(["n", "s", "n"])}
    >>> moved = {name: column.take([2, 0, 1]) for name, column in table.items()}
    >>> [table["age"][row_order(table)].tolist() == moved["age"][row_order(moved)].tolist()]
    [True]
    """
    hashes = row_hash(columns) if hashes is None else hashes
    order = np.argsort(hashes)
    at = hashes[order]
    same = at[1:] == at[:-1]
    if same.any():
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        rows = order[tied]
        order[tied] = rows[np.lexsort([*(_exact(column, rows) for column in columns.values()), at[tied]])]
    return order


def is_sorted(columns: Columns) -> bool:
    """Return True if rows stand in the order of their hashes, which anyone can check of a shuffled release.

    Examples
    --------
    >>> table = {"age": np.array([41.5, 30.25, 77.0])}
    >>> is_sorted({"age": table["age"][row_order(table)]}), is_sorted({"age": table["age"][row_order(table)[::-1]]})
    (True, False)
    """
    hashes = row_hash(columns)
    return bool(np.all(hashes[1:] >= hashes[:-1]))


def in_order(columns: Columns) -> dict[str, NDArray[Any] | pa.Array]:
    """Return columns with their rows sorted."""
    order = row_order(columns)
    places = pa.array(order)
    return {
        name: column.take(order, mode="clip") if isinstance(column, np.ndarray) else column.take(places)
        for name, column in columns.items()
    }


def lots_of(rows: int, most: int) -> int:
    """Return into how many lots of about `most` rows sorted records are cut, each with its share of all hashes.

    Examples
    --------
    >>> lots_of(0, 1000), lots_of(1000, 1000), lots_of(1001, 1000)
    (1, 1, 2)
    """
    return max(-(-rows // most), 1)


def lot_start(number: int, lots: int) -> int:
    """Return the hash with which a lot begins."""
    return number * 2**64 // lots


def count_alike(public: Shown) -> pa.Table | None:
    """Return how often each combination of public values occurs; None if there is no public column."""
    if not public:
        return None
    names = [str(number) for number in range(len(public))]
    return pa.table(list(public.values()), names).group_by(names).aggregate([([], "count_all")])


class Alike:
    """Counts records with equal public values, table by table.

    Examples
    --------
    >>> alike = Alike()
    >>> alike.add([count_alike({"y": pa.array([0, 1])}), count_alike({"y": pa.array([0, 0])})])
    >>> alike.smallest(4)
    1
    """

    def __init__(self) -> None:
        self._total: pa.Table | None = None

    def add(self, counts: Iterable[pa.Table | None]) -> None:
        """Add tables of `count_alike`."""
        for table in counts:
            if table is not None and (self._total is None or self._total.num_rows <= MOST_GROUPS):
                self._total = table if self._total is None else _added(self._total, table)

    def smallest(self, rows: int) -> int:
        """Return the size of the smallest group of records: all of them if there is no public column."""
        if self._total is None or not self._total.num_rows:
            return rows
        if self._total.num_rows > MOST_GROUPS:
            return min(rows, 1)
        return int(pc.min(self._total[_COUNT]).as_py())

    def groups_below(self, least: int) -> pa.Table | None:
        """Return the groups with fewer records, by number of the public column; None if there is no public column.

        Examples
        --------
        >>> alike = Alike()
        >>> alike.add([count_alike({"y": pa.array([0, 1, 1])})])
        >>> alike.groups_below(2).to_pydict()
        {'0': [0]}
        """
        if self._total is None:
            return None
        few = self._total.filter(pc.less(self._total[_COUNT], least))
        return few.select([name for name in few.column_names if name != _COUNT])


def order_of(public: Shown, rows: int) -> Order:
    """Return the order of one table that is sorted."""
    alike = Alike()
    alike.add([count_alike(public)])
    return Order((alike.smallest(rows),))


def _added(total: pa.Table, more: pa.Table) -> pa.Table:
    names = [name for name in total.column_names if name != _COUNT]
    summed = pa.concat_tables([total, more]).group_by(names).aggregate([(_COUNT, "sum")])
    return summed.rename_columns([_COUNT if name == f"{_COUNT}_sum" else name for name in summed.column_names])


def _keys(column: NDArray[Any] | pa.Array | pa.ChunkedArray) -> Keys:
    """Return 64 bits of each value: of numbers all that there is."""
    if isinstance(column, np.ndarray):
        return _bits(column)
    whole = _whole(column)
    if _is_text(whole):
        return _text_keys(whole)
    if pa.types.is_date32(whole.type):
        whole = whole.cast(pa.int32())
    missing = whole.null_count > 0
    filled = whole.fill_null(False if pa.types.is_boolean(whole.type) else 0) if missing else whole
    keys = _bits(filled.to_numpy(zero_copy_only=False))
    return np.where(whole.is_null().to_numpy(zero_copy_only=False), _MISSING, keys) if missing else keys


def _bits(values: NDArray[Any]) -> Keys:
    kind = {"f": np.float64, "u": np.uint64}.get(values.dtype.kind, np.int64)
    return np.ascontiguousarray(values, dtype=kind).view(np.uint64)


def _text_keys(column: pa.Array) -> Keys:
    found = column.dictionary_encode()
    texts = [text.encode() for text in found.dictionary.to_pylist()]
    hashed = [int.from_bytes(blake2b(text, digest_size=8).digest(), "little") for text in texts]
    return np.array([*hashed, int(_MISSING)], np.uint64)[_codes(found)]


def _exact(column: NDArray[Any] | pa.Array | pa.ChunkedArray, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return what sorts some rows of a column for certain: keys of texts may coincide, so texts themselves do."""
    some = column[rows] if isinstance(column, np.ndarray) else _whole(column.take(pa.array(rows)))
    if isinstance(some, np.ndarray) or not _is_text(some):
        return _keys(some)
    found = some.dictionary_encode()
    order = np.argsort(np.array(found.dictionary.to_pylist(), dtype=object), kind="stable")
    rank = np.full(len(order) + 1, len(order))
    rank[order] = np.arange(len(order))
    return np.asarray(rank[_codes(found)])


def _codes(encoded: pa.DictionaryArray) -> NDArray[np.int32]:
    """Return the places of values in the dictionary, and the one after the last for what is missing."""
    return np.asarray(encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False))


def _is_text(column: pa.Array | pa.ChunkedArray) -> bool:
    return bool(pa.types.is_large_string(column.type) or pa.types.is_string(column.type))


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
