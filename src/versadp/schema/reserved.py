"""Fields of a schema that are reserved for later versions: read at their neutral value only, and never written.

An absent field has its neutral value. `docs/format.md` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from versadp.errors import SchemaError

COLUMNS: dict[str, dict[str, Any]] = {
    "public": {"lower": None, "upper": None, "levels": None},
}
SINCE_4 = {"effective", "merged", "spacing"}  # fields of columns that came with version 4


def without_reserved(data: Any) -> Any:
    """Return a schema's dictionary without reserved fields; raise if one is not at its neutral value.

    Examples
    --------
    >>> without_reserved({"columns": [{"name": "x", "type": "public", "levels": None}]})
    {'columns': [{'name': 'x', 'type': 'public'}]}
    """
    if not isinstance(data, Mapping):
        return data
    out = dict(data)
    columns = data.get("columns")
    if isinstance(columns, Mapping):
        out["columns"] = {name: _column(name, entry) for name, entry in columns.items()}
    elif isinstance(columns, list):
        names = [entry.get("name") if isinstance(entry, Mapping) else None for entry in columns]
        out["columns"] = [_column(name, entry) for name, entry in zip(names, columns, strict=True)]
    return out


def refuse_reserved(data: Any) -> None:
    """Raise if a schema of a mechanism of version 1 to 3 has fields that came with version 4."""
    columns = data.get("columns") if isinstance(data, Mapping) else None
    entries = columns.values() if isinstance(columns, Mapping) else columns if isinstance(columns, list) else ()
    newer = any(isinstance(entry, Mapping) and SINCE_4 & set(entry) for entry in entries)
    if newer or without_reserved(data) != data or {"rows_per_person", "bounds"} & set(data):
        raise SchemaError(
            "a schema of a mechanism before version 4 has no reserved fields, no rows_per_person and no learnt bounds",
            hint="leave them out",
        )


def _column(name: Any, entry: Any) -> Any:
    fields = COLUMNS.get(entry.get("type"), {}) if _is_column(entry) else {}
    if not fields:
        return entry
    _check(f"column {name!r}", entry, fields)
    return {key: value for key, value in entry.items() if key not in fields}


def _is_column(entry: Any) -> bool:
    return isinstance(entry, Mapping) and isinstance(entry.get("type"), str)


def _check(what: str, entry: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    for name, neutral in fields.items():
        value = entry.get(name, neutral)
        if type(value) is not type(neutral) or value != neutral:
            raise SchemaError(
                f"{what} has a {name!r} that needs a newer versadp", hint="install a newer versadp to read this schema"
            )
