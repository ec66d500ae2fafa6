"""Dates as days since the first one that a schema declares, and back.

Noise adds whole days to whole days, so a released date is a date again; it may lie outside the declared bounds.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from versadp.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.schema import Dates

    Array = NDArray[np.float64]

_EPOCH = date(1970, 1, 1)


def from_dates(dates: pa.Array | pa.ChunkedArray, column: Dates) -> Array:
    """Return dates, or timestamps without a time zone, as days since the first; what is missing as NaN.

    Examples
    --------
    >>> from versadp import Dates
    >>> from_dates(pa.array([date(2020, 3, 1), None]), Dates("2020-02-01", "2020-12-31"))
    array([29., nan])
    """
    days = dates.cast(pa.date32()).cast(pa.int32()).cast(pa.float64())
    return np.asarray(days.to_numpy(zero_copy_only=False) - (column.first - _EPOCH).days)


def to_dates(days: Array, column: Dates) -> pa.Array:
    """Return days since the first date as dates, NaN as null.

    Examples
    --------
    >>> from versadp import Dates
    >>> to_dates(np.array([29.0, np.nan]), Dates("2020-02-01", "2020-12-31")).to_pylist()
    [datetime.date(2020, 3, 1), None]
    """
    missing = np.isnan(days)
    since = np.where(missing, 0.0, days + (column.first - _EPOCH).days).astype(np.int32)
    return pa.array(since, mask=missing).cast(pa.date32())


def day_of(value: Any, name: str, column: Dates) -> float:
    """Return one date as days since the first."""
    if isinstance(value, datetime):
        if value.tzinfo is not None:  # one instant has two dates in two zones; tables refuse it too
            raise DataError(
                f"column {name!r} needs dates, or times without a time zone",
                hint="convert it to the date that is meant",
            )
        value = value.date()
    if not isinstance(value, date):
        raise DataError(f"column {name!r} needs a date, not {type(value).__name__}")
    return float((value - column.first).days)


def date_of(day: float, column: Dates) -> date:
    """Return the date of a day."""
    return column.first + timedelta(days=round(day))
