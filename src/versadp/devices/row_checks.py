"""Check reports column by column: places that the noise can give, and public values of the declared kind.

A block with n outputs gives the places 0 to n - 1 and nothing else, so that a place is checked by two comparisons of a
whole column. What is accepted becomes one Arrow batch: ids, places as int32, public values in
their own type. No check can tell a forged report that is possible from an honest one; `statement.py` says what that
costs.
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from versadp.devices.reports import IMPOSSIBLE, OTHER_KIND
from versadp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from versadp.devices.reports import Parsed
    from versadp.release.mechanism import Mechanism

    Keys = NDArray[np.uint64]

ID_BYTES = 32
TEXT_CHARACTERS = 200  # of a public text without levels
EXACT = 2**53  # largest size of a whole-number level: beyond it not every client reads it exactly
MISSING = -1  # place of a publicly missing value
WRONG = -2
KINDS = ("number", "text", "truth")
_TYPES = {"number": pa.float64(), "text": pa.large_string(), "truth": pa.bool_()}


@dataclass(frozen=True)
class PublicKind:
    """Values that a public column of reports may hold.

    Attributes
    ----------
    kind : {"number", "text", "truth", "levels"}
    levels : tuple
        All text, all whole numbers or all truth values, for the kind "levels".

    Examples
    --------
    >>> PublicKind.of("bought", [0, 1]), PublicKind.of("note", "text").to_json()
    (PublicKind(kind='levels', levels=(0, 1)), 'text')
    """

    kind: str
    levels: tuple[Any, ...] = ()

    @classmethod
    def of(cls, name: str, given: object) -> PublicKind:
        """Return the kind that a user names: "number", "text", "truth", or a list of levels."""
        if isinstance(given, PublicKind):
            return given
        if isinstance(given, str) and given in KINDS:
            return cls(given)
        levels = tuple(given) if isinstance(given, list | tuple) else ()
        kinds = {type(level) for level in levels}
        if not levels or len(kinds) != 1 or not kinds <= {str, int, bool} or len(set(levels)) < len(levels):
            raise ParameterError(
                f"the public column {name!r} needs a kind of its values: {', '.join(KINDS)}, or a list of levels",
                hint=f"e.g. public={{{name!r}: [0, 1]}} (--public '{name}=0|1'); levels keep groups large",
            )
        if kinds == {int} and any(abs(level) > EXACT for level in levels):
            raise ParameterError(f"levels of {name!r} are beyond 2^53 in size", hint="write them as text")
        return cls("levels", levels)

    def to_json(self) -> Any:
        """Return what stands in the settings of a collection."""
        return list(self.levels) if self.levels else self.kind

    @property
    def type(self) -> pa.DataType:
        """The Arrow type of its values."""
        if not self.levels:
            return _TYPES[self.kind]
        return {str: pa.large_string(), int: pa.int64(), bool: pa.bool_()}[type(self.levels[0])]

    def read(self, column: list[Any]) -> tuple[pa.Array, NDArray[np.bool_]]:
        """Return values as an Arrow array, and which of them are of this kind.

        Examples
        --------
        >>> values, fits = PublicKind("number").read([1, True, 2.5, "3", 10**400])
        >>> values.to_pylist(), fits.tolist()
        ([1.0, 0.0, 2.5, 0.0, 0.0], [True, False, True, False, False])
        """
        if self.kind == "levels":
            at = {level: place for place, level in enumerate(self.levels)}
            kind = type(self.levels[0])
            places = np.array([at.get(v, WRONG) if type(v) is kind else WRONG for v in column], np.int64)
            fits = places >= 0
            values = pa.array(self.levels, self.type).take(pa.array(np.maximum(places, 0)))
            return values, fits
        if self.kind == "number":
            numbers = np.array([_number(v) for v in column], np.float64) + 0.0  # no -0.0
            fits = ~np.isnan(numbers)
            numbers[~fits] = 0.0
            return pa.array(numbers), fits
        if self.kind == "truth":
            fits = np.array([type(v) is bool for v in column], np.bool_)
            truth = np.array([v is True for v in column], np.bool_)
            return pa.array(truth), fits
        fits = np.array([_is_text(v) for v in column], np.bool_)
        texts = [v if fit else "" for v, fit in zip(column, fits.tolist(), strict=True)]
        return pa.array(texts, self.type), fits


class Place(NamedTuple):
    """One private column of reports: its outputs are 0 to `outputs - 1`, or it may be publicly missing."""

    outputs: int
    may_be_missing: bool

    def read(self, column: list[Any]) -> NDArray[np.int64]:
        """Return places, `MISSING` for null where that may be, `WRONG` for everything that the noise never gives.

        Examples
        --------
        >>> Place(4, True).read([0, 3, 4, None, True, 1.0, "1", -1, 10**30]).tolist()
        [0, 3, -2, -1, -2, -2, -2, -2, -2]
        """
        n, null = self.outputs, MISSING if self.may_be_missing else WRONG
        if set(map(type, column)) <= {int}:
            try:
                places = np.array(column, np.int64)
            except OverflowError:
                pass
            else:
                places[(places < 0) | (places >= n)] = WRONG
                return places
        checked = [v if type(v) is int and 0 <= v < n else null if v is None else WRONG for v in column]
        return np.array(checked, np.int64)


@dataclass(frozen=True)
class RowChecks:
    """The released columns of a mechanism, as reports give them, in the order of the schema.

    Examples
    --------
    >>> from collections import Counter
    >>> from versadp import Bounded, Mechanism, Schema, noise
    >>> from versadp.devices.reports import Parsed
    >>> mech = Mechanism(Schema({"age": Bounded(18, 90)}), noise={"age": noise.Window(2, cells=8, window=3)})
    >>> parsed = Parsed(["00" * 32, "11" * 32], {"age": [10, 11]}, Counter())
    >>> checked = RowChecks.of(mech, {}).check(parsed)
    >>> checked.column(1).to_pylist(), dict(parsed.counts)
    ([10], {'never given by the noise': 1})
    """

    columns: Mapping[str, Place | PublicKind]

    @classmethod
    def of(cls, mechanism: Mechanism, public: Mapping[str, Any]) -> RowChecks:
        """Return the checks of a mechanism whose public columns have these kinds."""
        schema = mechanism.schema
        if unknown := [name for name in public if name not in schema.public]:
            raise ParameterError(
                f"the mechanism has no public column {unknown[0]!r}",
                hint=f"public columns are: {', '.join(schema.public) or 'none'}",
            )
        outputs = {
            name: count
            for block in mechanism.blocks
            for name, count in zip(block.columns, _outputs(block.derived()), strict=True)
        }
        columns: dict[str, Place | PublicKind] = {}
        for name, column in schema.columns.items():
            if name in outputs:
                columns[name] = Place(outputs[name], getattr(column, "nullable", False) == "public")
            else:
                columns[name] = PublicKind.of(name, public.get(name))
        return cls(columns)

    @property
    def types(self) -> pa.Schema:
        """The Arrow schema of accepted rows; columns are named by number, so that no name is special."""
        kinds = [pa.int32() if isinstance(each, Place) else each.type for each in self.columns.values()]
        fields = [pa.field(str(number), kind) for number, kind in enumerate(kinds)]
        return pa.schema([pa.field("id", pa.binary(ID_BYTES)), *fields])

    def check(self, parsed: Parsed) -> pa.RecordBatch:
        """Return the rows whose values are possible; others are added to the counts of `parsed`."""
        count = len(parsed.ids)
        possible, fitting = np.ones(count, np.bool_), np.ones(count, np.bool_)
        arrays: list[pa.Array | NDArray[Any]] = []
        for name, each in self.columns.items():
            if isinstance(each, Place):
                places = each.read(parsed.columns[name])
                possible &= places != WRONG
                arrays.append(places)
            else:
                values, fits = each.read(parsed.columns[name])
                fitting &= fits
                arrays.append(values)
        good = possible & fitting
        for reason, wrong in ((IMPOSSIBLE, ~possible), (OTHER_KIND, possible & ~fitting)):
            if wrong.any():
                parsed.counts[reason] += int(wrong.sum())
        ids = np.frombuffer(bytes.fromhex("".join(parsed.ids)), np.uint8).reshape(count, ID_BYTES)
        at = np.flatnonzero(good)
        return pa.record_batch([_binary(ids[at]), *(_taken(array, at) for array in arrays)], schema=self.types)


def _outputs(derived: Mapping[str, Any]) -> Sequence[int]:
    """Return how many outputs each column of a block has, from the integers that its law gives."""
    return derived["outputs"] if "outputs" in derived else [derived["levels"]]


def _taken(array: pa.Array | NDArray[Any], at: NDArray[np.int64]) -> pa.Array:
    """Return some rows of a column as Arrow has them, missing places as nulls."""
    if isinstance(array, np.ndarray):
        some = array[at].astype(np.int32)
        missing = some == MISSING
        return pa.array(some, mask=missing) if missing.any() else pa.array(some)
    return array.take(pa.array(at))


def _binary(rows: NDArray[np.uint8]) -> pa.Array:
    data = pa.py_buffer(np.ascontiguousarray(rows).tobytes())
    return pa.Array.from_buffers(pa.binary(ID_BYTES), len(rows), [None, data])


def row_keys(rows: pa.RecordBatch) -> Keys:
    """Return 128 bits of BLAKE2b of each row, its id and all values, (rows, 2): equal for equal reports alone.

    Examples
    --------
    >>> ids = pa.array([b"0" * 32, b"1" * 32, b"0" * 32], pa.binary(32))
    >>> keys = row_keys(pa.record_batch({"id": ids, "0": pa.array([5, 5, 5], pa.int32())}))
    >>> bool((keys[0] == keys[2]).all()), bool((keys[0] == keys[1]).any())
    (True, False)
    """
    columns = [id_numbers(rows), *(_bits(column)[:, None] for column in rows.columns[1:])]
    data, width = np.concatenate(columns, axis=1).tobytes(), ID_BYTES + 8 * (len(columns) - 1)
    each = [blake2b(data[i : i + width], digest_size=16).digest() for i in range(0, len(data), width)]
    return np.frombuffer(b"".join(each), np.uint64).reshape(-1, 2)


def id_numbers(rows: pa.RecordBatch) -> Keys:
    """Return the ids of rows as four numbers each, (rows, 4)."""
    column, words = rows.column(0), ID_BYTES // 8
    numbers = np.frombuffer(column.buffers()[1], np.uint64)[words * column.offset :]
    return numbers[: words * len(column)].reshape(-1, words)


def _bits(column: pa.Array) -> Keys:
    """Return 64 bits that tell values of a column apart."""
    if pa.types.is_large_string(column.type):
        found = column.dictionary_encode()
        hashed = [blake2b(text.encode(), digest_size=8).digest() for text in found.dictionary.to_pylist()]
        return np.asarray(np.frombuffer(b"".join(hashed), np.uint64)[found.indices.to_numpy()])
    if pa.types.is_floating(column.type):
        return np.asarray(column.to_numpy().view(np.uint64))
    filled = column.fill_null(MISSING) if column.null_count else column
    return np.asarray(filled.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64))


def _number(value: object) -> float:
    """Return a public number as a double, as all clients have it; NaN for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return math.nan
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return math.nan
    return number if math.isfinite(number) else math.nan


def _is_text(value: object) -> bool:
    if type(value) is not str or len(value) > TEXT_CHARACTERS or not unicodedata.is_normalized("NFC", value):
        return False
    return not any("\ud800" <= c <= "\udfff" or c < " " for c in value)  # half a character, or a control
