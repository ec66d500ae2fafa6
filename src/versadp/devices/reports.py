"""A report on the wire: one JSON object per line, taken apart strictly.

    {"format": "versadp report", "version": 1, "mechanism": fingerprint, "round": text, "id": 64 hexadecimal digits,
     "values": {column: place in the lattice of outputs, null where publicly missing; public columns as they are}}

Whoever sends lines may be hostile. A line that repeats a name, holds NaN, nests too deep, is not UTF-8 or has other
fields is sorted out with a reason and stops nothing else. Reasons name no value of a report.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from versadp.devices.client import FORMAT, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

LINE_BYTES = 2**16  # longest line that is read as a report; one of 20 columns has about 1 kB
LEAST_BYTES = 200  # fewer than any report has; a body of short lines costs no time then
TAKEN, REPEATED, LATE = "taken", "repeated", "after close"
TOO_LONG, NO_JSON, NO_REPORT = "too long", "not JSON", "not a report"
OTHER_MECHANISM, OTHER_ROUND, OTHER_COLUMNS = "another mechanism", "another round", "other columns"
IMPOSSIBLE, OTHER_KIND = "never given by the noise", "public value of another kind"
SAME_ID = "another report under the same id"
SMALL_GROUP = "in a small public group"
REASONS = (
    TAKEN,
    REPEATED,
    SAME_ID,
    SMALL_GROUP,
    TOO_LONG,
    NO_JSON,
    NO_REPORT,
    OTHER_MECHANISM,
    OTHER_ROUND,
    OTHER_COLUMNS,
    IMPOSSIBLE,
    OTHER_KIND,
    LATE,
)
_FIELDS = {"format", "version", "mechanism", "round", "id", "values"}
_ID = re.compile(r"[0-9a-f]{64}")


class Expected(NamedTuple):
    """Values that every report of a collection must have.

    Attributes
    ----------
    mechanism : str
        The mechanism's fingerprint.
    round : str
    columns : tuple of str
        Names of all released columns.
    """

    mechanism: str
    round: str
    columns: tuple[str, ...]


class Parsed(NamedTuple):
    """Reports that are well formed, column by column.

    Attributes
    ----------
    ids : list of str
    columns : dict of str to list
        Values as JSON gave them; they are still to be checked.
    counts : Counter
        How many lines were sorted out, by reason.
    """

    ids: list[str]
    columns: dict[str, list[Any]]
    counts: Counter[str]


def parse_reports(lines: Iterable[bytes], expected: Expected) -> Parsed:
    """Return the reports among lines whose form, mechanism and round are the expected ones.

    Examples
    --------
    >>> head = b'{"format": "versadp report", "version": 1, "mechanism": "%s", "round": "1", ' % (b"a" * 64)
    >>> line = head + b'"id": "%s", "values": {"x": 3}}' % (b"0" * 64)
    >>> parsed = parse_reports([line, line + b"]", b"{}"], Expected("a" * 64, "1", ("x",)))
    >>> parsed.columns, dict(parsed.counts)
    ({'x': [3]}, {'not JSON': 1, 'not a report': 1})
    """
    ids: list[str] = []
    rows: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    names = set(expected.columns)
    for line in lines:
        found = _report(line, expected, names)
        if isinstance(found, str):
            counts[found] += 1
        else:
            ids.append(found["id"])
            rows.append(found["values"])
    return Parsed(ids, {name: [row[name] for row in rows] for name in expected.columns}, counts)


def _report(line: bytes, expected: Expected, names: set[str]) -> dict[str, Any] | str:
    """Return the report that a line holds, or why it holds none."""
    if len(line) > LINE_BYTES:
        return TOO_LONG
    if len(line) < LEAST_BYTES:
        return NO_REPORT
    try:
        report = _decode(str(line, "utf-8"))
    except (ValueError, RecursionError):  # among them text that is no UTF-8 and numbers of thousands of digits
        return NO_JSON
    why = _refused(report, expected, names)
    return report if why is None else why


def _refused(report: Any, expected: Expected, names: set[str]) -> str | None:
    """Return why a value of JSON is no report of this collection, if it is none."""
    if type(report) is not dict or report.keys() != _FIELDS or report["format"] != FORMAT:
        return NO_REPORT
    version, own_id, values = report["version"], report["id"], report["values"]
    if type(version) is not int or version != VERSION or type(own_id) is not str or not _ID.fullmatch(own_id):
        return NO_REPORT
    if report["mechanism"] != expected.mechanism:
        return OTHER_MECHANISM
    if report["round"] != expected.round:
        return OTHER_ROUND
    return OTHER_COLUMNS if type(values) is not dict or values.keys() != names else None


def whole_lines(data: bytes) -> list[bytes]:
    r"""Return the lines of a text that are not empty.

    Examples
    --------
    >>> whole_lines(b"one\r\n\ntwo")
    [b'one', b'two']
    """
    return [line for each in data.split(b"\n") if (line := each.strip(b"\r \t"))]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON whose names are all different."""
    out = dict(pairs)
    if len(out) < len(pairs):
        raise ValueError("a name twice")
    return out


def _refuse(text: str) -> Any:  # noqa: ARG001 - of the decoder: NaN, Infinity
    raise ValueError("not finite")


_decode = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_refuse).decode
