"""One record, noised on the person's own device."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import DataError, ParameterError
from versadp.inputs import is_encodable
from versadp.noise.mac import Texts
from versadp.noise.words import check_key, keystream
from versadp.release.path.columns import EXACT_INTEGER, reads_blank_as_missing
from versadp.release.path.dates import date_of, day_of
from versadp.release.path.device_words import block_words, check_context
from versadp.release.path.table import warn_outside
from versadp.schema import Bounded, Categorical, Dates, Public

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.release.mechanism import Mechanism
    from versadp.schema import Column, Schema


def privatize(mechanism: Mechanism, record: Mapping[str, Any], key: bytes, context: str = "") -> dict[str, Any]:
    """Return the released record; see `Mechanism.privatize`."""
    content, out = noised_content(mechanism, record, key, context)
    schema, layout = mechanism.schema, mechanism.layout
    layout.to_values(content)
    for c, value in zip(layout.columns, content[:, 0].tolist(), strict=True):
        out[c] = _released(value, schema.columns[c])
    return {c: out[c] for c in schema.columns}


def noised_content(
    mechanism: Mechanism, record: Mapping[str, Any], key: bytes, context: str = ""
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return a record's whole numbers with noise, one per private column of the layout, and its public values."""
    if check_context(context) and mechanism.version < 4:
        raise ParameterError("a context needs a mechanism of version 4", hint="mech.in_version(4), which redraws noise")
    if mechanism.totals is not None:
        raise ParameterError(
            "a device knows its own record, and the mechanism promises totals of all people",
            hint="vdp.calibrate(..., totals=False), or mech.without_totals()",
        )
    schema, layout = mechanism.schema, mechanism.layout
    if schema.rows_per_person > 1:
        raise ParameterError(
            "a device releases one row per person: equal rows would get the same noise",
            hint="a schema without rows_per_person; what several reports cost is in mech.statement(reports=...)",
        )
    if not isinstance(record, Mapping):
        raise DataError("a record has names and values", hint='e.g. privatize({"age": 41}, key=key)')
    given = {c: value for c, value in record.items() if c not in schema.omitted}
    name = None if schema.id is None else _name(given.pop(schema.id, None), schema.id)
    _check_names(given.keys(), schema.columns.keys())
    private: dict[str, NDArray[Any]] = {}
    out: dict[str, Any] = {}
    for c, column in schema.columns.items():
        if c in schema.private:
            private[c] = np.array([_private(given[c], c, column)])
        else:
            out[c] = _public(given[c], c)

    warn_outside(_outside(private, schema))
    content = layout.content(private)
    layout.move(content, _words(mechanism, content, name, check_key(key), context))
    return content, out


def _name(value: Any, column: str) -> str:
    """Return the person's id as text: without one, everybody with the same record would get the same noise."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise DataError(
            f"the id column {column!r} is missing, or is neither text nor a whole number",
            hint="give it; for a device with a key of its own a schema without an id will do",
        )
    if not is_encodable(str(value)):
        raise DataError(f"the id column {column!r} holds half of a Unicode character", hint="mend the id")
    return str(value)


def _outside(private: dict[str, NDArray[Any]], schema: Schema) -> dict[str, int]:
    """Return the columns whose value lies outside its bounds."""
    bounded = ((name, column) for name, column in schema.columns.items() if isinstance(column, Bounded))
    return {name: 1 for name, c in bounded if private[name][0] < c.lower or private[name][0] > c.upper}


def _words(
    mechanism: Mechanism, content: NDArray[np.float64], name: str | None, key: bytes, context: str
) -> NDArray[np.uint64]:
    """Return the record's words: those of a block depend on what stands in that block, and on nothing else in it."""
    layout, parameters = mechanism.layout, mechanism.parameters
    if mechanism.version >= 4:
        name = None if name is None else unicodedata.normalize("NFC", name)
        blocks = zip(mechanism.block_laws, layout.places, strict=True)
        made = (
            block_words(key, law, content[at], block.words, context=context, name=name)
            for law, (block, at, _) in blocks
        )
        return np.frombuffer(b"".join(made), "<u8").astype(np.uint64)[:, None]
    names = None if name is None else Texts.of([name.encode()])
    if mechanism.version < 3:
        return keystream(key, parameters).records(content, names, layout.words)
    stream = keystream(key, parameters + b"\0by block")
    return stream.blocks([content[at] for _, at, _ in layout.places], names, [b.words for b, _, _ in layout.places])


def _check_names(found: Any, wanted: Any) -> None:
    missing = [c for c in wanted if c not in found]
    extra = [str(c) for c in found if c not in wanted]
    if missing or extra:
        raise DataError(
            f"the record must have just the schema's columns; missing: {missing or 'none'}, unknown: {extra or 'none'}",
            hint="one value for each column that is declared",
        )


def _private(value: Any, name: str, column: Column) -> float:
    """Return a private value as a number; NaN for what is missing."""
    assert not isinstance(column, Public)
    if _is_missing(value) or (isinstance(value, str) and value == "" and reads_blank_as_missing(column)):
        if not column.nullable:
            raise DataError(f"column {name!r} is missing", hint="declare that it may be: nullable=True")
        return math.nan
    if isinstance(column, Dates):
        return day_of(value, name, column)
    return _number(value, name, column) if isinstance(column, Bounded) else float(_code(value, name, column))


def _is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, or what pandas has in their place."""
    return type(value).__name__ in {"NoneType", "NAType", "NaTType"} or (
        isinstance(value, float | np.floating) and bool(np.isnan(value))
    )


def _released(value: float, column: Column) -> Any:
    if math.isnan(value):
        return None
    if isinstance(column, Categorical):
        return column.levels[int(value)]
    return date_of(value, column) if isinstance(column, Dates) else value


def _number(value: Any, name: str, column: Bounded) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise DataError(f"column {name!r} needs a number, not {type(value).__name__}")
    most = max(float(EXACT_INTEGER), abs(column.lower), abs(column.upper))
    if not -most <= value <= most:
        raise DataError(f"column {name!r} is missing, not finite or beyond 2^53 in size")
    return float(value)


def _code(value: Any, name: str, column: Categorical) -> int:
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) is not type(column.levels[0]) or value not in column.levels:
        raise DataError(f"column {name!r} is none of its levels", hint="declare every level in the schema")
    return column.levels.index(value)


def _public(value: Any, name: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, bool | int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
        raise DataError(f"column {name!r} needs a finite number, true/false or text")
    return value
