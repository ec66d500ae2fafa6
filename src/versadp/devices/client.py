"""Report of one record, made in Python on the person's own device: lattice places, and never floats.

    {"format": "versadp report", "version": 1, "mechanism": fingerprint, "round": text, "id": hexadecimal,
     "values": {column: place}}

A place is the number of an output: a window's z (from 0 on; from `last + window` on it is missing), a category's level
(the last one is missing where that is private). A publicly missing value is null; a public column has its value.

This is the arithmetic of a client and nothing more: whoever calls it keeps the key, counts the reports and answers a
round once. `clients/typescript` does that for browsers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from versadp.devices.fingerprint import check_served, fingerprint, report_id
from versadp.errors import DataError, ParameterError
from versadp.release.path.record import noised_content
from versadp.schema import Dates

if TYPE_CHECKING:
    from versadp.release.mechanism import Mechanism
    from versadp.schema import Schema

FORMAT, VERSION = "versadp report", 1
_ROUND = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def check_round(round: object) -> str:  # noqa: A002 - the word of the report format
    """Return the name of a round, if it can be one: up to 64 letters, digits, dots, - and _.

    Examples
    --------
    >>> check_round("2026-11")
    '2026-11'
    """
    if not isinstance(round, str) or not _ROUND.fullmatch(round):
        raise ParameterError("a round is named by up to 64 letters, digits, dots, - and _", hint='e.g. "2026-11"')
    return round


def make_report(
    mechanism: Mechanism,
    record: Mapping[str, Any],
    *,
    key: bytes,
    round: str,  # noqa: A002 - the word of the report format
    context: str = "",
) -> dict[str, Any]:
    """Return the report of one record, as it goes on the wire.

    Parameters
    ----------
    mechanism : Mechanism
        Of version 4, with windows and randomised response only.
    record : mapping of column to value
        As for `Mechanism.privatize`; dates may also be text like "2026-11-30".
    key : bytes
        The device's own 32 secret random bytes.
    round : str
        Name of the round.
    context : str
        Name of the collector.

    Warns
    -----
    ClampedWarning
        Values outside the declared bounds were moved to the nearest bound.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema, noise
    >>> mech = Mechanism(Schema({"age": Bounded(18, 90, step=1)}), noise={"age": noise.Window(epsilon=2)})
    >>> key = bytes(range(32))  # a real one comes from versadp.fresh_key()
    >>> make_report(mech, {"age": 41}, key=key, round="2026-11")["values"]
    {'age': 2}
    """
    check_served(mechanism)
    check_round(round)
    name = fingerprint(mechanism, context)
    content, values = noised_content(mechanism, _dated(record, mechanism.schema), key, context)
    for column, place in zip(mechanism.layout.columns, content[:, 0].tolist(), strict=True):
        values[column] = None if math.isnan(place) else int(place)
    ordered = {column: values[column] for column in mechanism.schema.columns}
    head = {"format": FORMAT, "version": VERSION, "mechanism": name, "round": round}
    return head | {"id": report_id(key, name, round), "values": ordered}


def _dated(record: Any, schema: Schema) -> Any:
    """Return the record with dates in place of text in columns of dates."""
    if not isinstance(record, Mapping):
        return record
    return {name: _day(value, name, schema) for name, value in record.items()}


def _day(value: Any, name: str, schema: Schema) -> Any:
    if not isinstance(value, str) or not isinstance(schema.columns.get(name), Dates):
        return value
    try:
        return date.fromisoformat(value if _DAY.fullmatch(value) and value.isascii() else "")
    except ValueError:
        raise DataError(f"column {name!r} needs a date like 2026-11-30") from None
