"""Births of a year: six columns, prepared as the ministry prepared them.

    mother_age 17..45, parity 1..11, gestation_week 28..42, birth_weight 1400..4500 rounded down to 100 g, month

Values beyond are moved to the nearest bound. Weight stands last: it is what the others are to explain.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import versadp as vdp
from versadp.errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Prepared = dict[str, NDArray[np.int64]]

BOUNDS = {"mother_age": (17, 45), "parity": (1, 11), "gestation_week": (28, 42), "birth_weight": (1400, 4500)}
GRAMS = 100  # to which weights are rounded
NAMES = ("mother_age", "parity", "gestation_week", "is_female", "birth_month", "birth_weight")
RAW = ("mother_age", "parity", "gestation_week", "is_female", "date_of_birth", "birth_weight")
SOURCE = (
    "births of the United States are distributed by the National Bureau of Economic Research (Vital Statistics "
    f"Natality Birth Data); a CSV with the columns {', '.join(RAW)} is read, also compressed"
)


def schema() -> vdp.Schema:
    """Return the schema: whole years, children, weeks, months, and hundreds of grams.

    Examples
    --------
    >>> list(schema().columns)[-1]
    'birth_weight'
    """
    steps = dict.fromkeys(BOUNDS, 1) | {"birth_weight": GRAMS}
    columns: dict[str, Any] = {name: vdp.Bounded(*BOUNDS[name], step=steps[name]) for name in BOUNDS}
    columns |= {"is_female": vdp.Categorical([0, 1]), "birth_month": vdp.Bounded(1, 12, step=1)}
    return vdp.Schema({name: columns[name] for name in NAMES})


def read(path: str | Path | None) -> Prepared:
    """Read a file of births and prepare it."""
    from pyarrow import csv

    if path is None:
        raise ParameterError("the births benchmark needs a file", hint=f"--data FILE; {SOURCE}")
    if not Path(path).is_file():
        raise ParameterError(f"there is no file {str(path)!r}", hint=SOURCE)
    return prepare(csv.read_csv(path))


def prepare(table: pa.Table) -> Prepared:
    """Return the prepared columns of a table of births.

    Examples
    --------
    >>> import datetime
    >>> born = [datetime.date(2019, 10, 15)]
    >>> table = pa.table([[15], [2], [39], [True], born, [3199]], names=list(RAW))
    >>> {name: int(values[0]) for name, values in prepare(table).items()}["birth_weight"]
    3100
    """
    import pyarrow.compute as pc

    absent = [name for name in RAW if name not in table.column_names]
    if absent:
        raise DataError(f"the file has no column {', '.join(absent)}", hint=SOURCE)
    if any(table.column(name).null_count for name in RAW):
        raise DataError("the file has missing values", hint="the benchmark is of complete records")
    months = pc.month(pc.cast(table.column("date_of_birth"), pa.date32()))
    columns = {name: table.column(name) for name in RAW if name != "date_of_birth"} | {"birth_month": months}
    out = {name: np.asarray(columns[name].to_numpy(), np.int64) for name in NAMES}
    for name, (low, high) in BOUNDS.items():
        out[name] = np.clip(out[name], low, high)
    out["birth_weight"] -= out["birth_weight"] % GRAMS
    return out


def arrow(prepared: Prepared) -> pa.Table:
    """Return prepared columns as a table."""
    return pa.table({name: prepared[name] for name in NAMES})
