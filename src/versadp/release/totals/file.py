"""The file of a batch's totals in a release folder: JSON, one total per line, for people and programs alike.

Whoever reads it trusts nothing: its size and digest stand in the manifest, the number of totals follows from the
mechanism, and of the file only the whole numbers are used; the readable figures must agree with them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.release.atomic_write import create
from versadp.release.folder.part_file import MAX_TOTALS, PartFile, spoilt, totals_name
from versadp.release.totals.sheet import Totals

if TYPE_CHECKING:
    from versadp.release.folder.storage import Storage
    from versadp.release.mechanism import Mechanism

FORMAT, VERSION = "versadp totals", 1
_LARGEST = 2**62
_CLOSE = 1e-9  # relative: readable figures are written with all digits
_LINE = ("sheet", "columns", "levels", "value", "total", "standard_error")


def write_totals(folder: Path, number: int, totals: Totals) -> PartFile:
    """Write the totals of a batch into a folder, in place of what may be there, and return what is to be said of it."""
    path = folder / totals_name(number)
    path.unlink(missing_ok=True)
    create(path, _text(totals), mode=0o666)
    return PartFile.of(path, totals.rows)


def _text(totals: Totals) -> bytes:
    """Return the text of a file: the same totals give the same bytes."""
    table = totals.table().to_pydict()
    columns = [table["sheet"], table["columns"], table["levels"], totals.values.tolist()]
    lines = zip(*columns, table["total"], table["standard_error"], strict=True)
    head = json.dumps({"format": FORMAT, "version": VERSION, "rows": totals.rows, "columns": list(_LINE)})
    body = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    return f'{head[:-1]}, "totals": [\n{body}\n]}}\n'.encode()


def read_totals(storage: Storage, part: PartFile, mechanism: Mechanism) -> Totals:
    """Read the totals of a batch, and refuse a file that is not what the manifest and the mechanism say."""
    found = storage.opened(part)
    if isinstance(found, Path):
        text = inputs.file_bytes(found, MAX_TOTALS)
    else:
        with found:
            text = found.read()
    try:
        data = inputs.json_value(text)
    except ValueError:
        raise spoilt(f"{part.name} is not valid JSON of finite numbers") from None
    law, size = mechanism.totals, mechanism.totals_features.size
    assert law is not None
    lines = _lines(data, part, size)
    totals = Totals(mechanism, law, part.rows, np.array([line[3] for line in lines], np.int64))
    total, sd = totals.scaled
    told = np.array([line[4:] for line in lines], dtype=np.float64)
    if not np.allclose(told, np.stack([total, sd], axis=1), rtol=_CLOSE, atol=0):
        raise spoilt(f"{part.name} has figures that are not those of its whole numbers")
    return totals


def _lines(data: Any, part: PartFile, size: int) -> list[list[Any]]:
    """Return the lines of a file if they are as they must be."""
    head = {"format": FORMAT, "version": VERSION, "rows": part.rows, "columns": list(_LINE)}
    if not isinstance(data, dict) or {name: data[name] for name in data if name != "totals"} != head:
        raise spoilt(f"{part.name} is not a file of totals that this versadp knows")
    lines = data.get("totals")
    if not isinstance(lines, list) or len(lines) != size:
        raise spoilt(f"{part.name} has another number of totals than the mechanism")
    if not all(isinstance(line, list) and len(line) == len(_LINE) and _is_line(*line[3:]) for line in lines):
        raise spoilt(f"{part.name} has totals that are not whole numbers, or figures that are no numbers")
    return lines


def _is_line(value: Any, total: Any, error: Any) -> bool:
    whole = type(value) is int and -_LARGEST < value < _LARGEST
    return whole and all(type(each) in {int, float} for each in (total, error))
