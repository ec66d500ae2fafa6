"""Vectors of values and of whole reports.

Values lie on bounds, on half steps (ties go to even), one unit in the last place from both, beyond the bounds, on leap
days and at both ends of the calendar; what is missing is null.
"""

from __future__ import annotations

import math
import random
import warnings
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.devices.client import make_report
from versadp.devices.vectors_laws import CONTEXTS, ROUNDS, mechanisms
from versadp.errors import ClampedWarning
from versadp.noise import Window
from versadp.release.mechanism import Mechanism
from versadp.schema import Bounded, Categorical, Dates, Schema

if TYPE_CHECKING:
    from versadp.schema import Column

REPORTS = 100


def contents() -> list[dict[str, Any]]:
    """Return values of single columns with their places before noise.

    Examples
    --------
    >>> contents()[0]["values"][0]
    [18.0, '0', False]
    """
    columns: dict[str, Column] = {
        "whole years": Bounded(18, 90, step=1),
        "tenths": Bounded(0.1, 0.7, step=0.1),
        "fine": Bounded(0, 120_000),
        "around zero": Bounded(-1, 1, step=0.5),
        "narrow": Bounded(1e-5, 3.3e-5),
        "wide": Bounded(-1e22, 1e17),
        "may be missing": Bounded(0, 3, step=1, nullable=True),
        "publicly missing": Bounded(0, 3, step=1, nullable="public"),
        "leap years": Dates("2019-12-31", "2024-03-01", nullable="public"),
        "all years": Dates("0300-01-01", "0300-12-31"),
        "late": Dates("9000-01-01", "9000-12-31"),
        "text": Categorical(["a", "b", "é"], nullable=True),
        "blank is a level": Categorical(["", "b"], nullable=True),
        "whole": Categorical([3, -1, 2**53 - 1], nullable="public"),
        "truth": Categorical([False, True]),
    }
    found = []
    for name, column in columns.items():
        mechanism = Mechanism(Schema({"x": column}), noise={"x": Window(2.0)})
        values = [[_plain(value), *_place(mechanism, value)] for value in _values(column)]
        found.append({"name": name, "mechanism": mechanism.to_json(), "values": values})
    return found


def _values(column: Column) -> list[Any]:
    missing = [None] * bool(getattr(column, "nullable", False))
    if isinstance(column, Categorical):
        blank = [""] * (bool(missing) and isinstance(column.levels[0], str))
        return [*column.levels, *missing, *blank]
    if isinstance(column, Dates):
        days = [date(1, 1, 1), date(9999, 12, 31), date(2020, 2, 29), date(2000, 2, 29), date(1900, 3, 1)]
        near = [
            column.first + timedelta(days=day) for day in (-1, 0, 1, 59, 60, int(column.upper), int(column.upper) + 1)
        ]
        return [*near, *days, *missing]
    assert isinstance(column, Bounded)
    lower, upper = column.lower, column.upper
    step = column.step or (upper - lower) / 64
    halves = [lower + (k + 0.5) * step for k in range(4)]
    close = [math.nextafter(x, to) for x in (lower, upper, *halves[:2]) for to in (-math.inf, math.inf)]
    beyond = [lower - step, upper + step, max(-(2.0**53), lower - 1e9 * step), min(2.0**53, upper + 1e9 * step)]
    rest = [-0.0, 0.0, 5e-324, *(lower + share * (upper - lower) for share in (0.1, 1 / 3, 0.7))]
    limit = max(2.0**53, abs(lower), abs(upper))  # values beyond are refused
    return [x for x in [lower, upper, *halves, *close, *beyond, *rest] if abs(x) <= limit] + missing


def _place(mechanism: Mechanism, value: Any) -> tuple[str | None, bool]:
    """Return the place of a value before noise, and whether it was clamped."""
    column = mechanism.schema.columns["x"]
    seen = value
    if isinstance(column, Categorical):
        seen = math.nan if value is None or value not in column.levels else float(column.levels.index(value))
    elif isinstance(column, Dates):
        seen = math.nan if value is None else float((value - column.first).days)
    seen = math.nan if seen is None else seen
    content = float(mechanism.layout.content({"x": np.array([seen])})[0, 0])
    clamped = isinstance(column, Bounded) and (seen < column.lower or seen > column.upper)
    return (None if math.isnan(content) else str(int(content))), clamped


def records() -> list[dict[str, Any]]:
    """Return whole records with their reports, over all mechanisms.

    Examples
    --------
    >>> sorted(records()[0])
    ['clamped', 'context', 'key', 'mechanism', 'record', 'report']
    """
    rng = random.Random(8)  # noqa: S311 - cases, and no noise
    all_ = list(mechanisms().values())
    keys = [rng.randbytes(32) for _ in range(5)]
    return [
        record_case(rng, number % len(all_), all_[number % len(all_)], keys[number % 5]) for number in range(REPORTS)
    ]


def record_case(rng: random.Random, number: int, mechanism: Mechanism, key: bytes) -> dict[str, Any]:
    """Return a record drawn at random, and its report.

    Examples
    --------
    >>> mech = mechanisms()["one number"]
    >>> record_case(random.Random(0), 0, mech, bytes(range(32)))["report"]["version"]
    1
    """
    record = {name: _draw(rng, column) for name, column in mechanism.schema.columns.items()}
    record |= dict.fromkeys(mechanism.schema.omitted, "never read")
    context, name = rng.choice(CONTEXTS), rng.choice(ROUNDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClampedWarning)
        report = make_report(mechanism, record, key=key, round=name, context=context)
    plain = {column: _plain(value) for column, value in record.items()}
    clamped = [c for c, column in mechanism.schema.columns.items() if _is_outside(record[c], column)]
    return {
        "mechanism": number,
        "key": key.hex(),
        "context": context,
        "record": plain,
        "clamped": clamped,
        "report": report,
    }


def _is_outside(value: Any, column: Column) -> bool:
    if value is None or not isinstance(column, Bounded):
        return False
    number = float((value - column.first).days) if isinstance(column, Dates) else value
    return bool(number < column.lower or number > column.upper)


def _draw(rng: random.Random, column: Column) -> Any:
    if getattr(column, "nullable", False) and rng.random() < 0.2:
        return None
    if isinstance(column, Categorical):
        return rng.choice(list(column.levels))
    if isinstance(column, Dates):
        return column.first + timedelta(days=rng.randint(-30, int(column.upper) + 30))
    if isinstance(column, Bounded):
        return _draw_number(rng, column)
    return rng.choice([rng.random(), rng.randint(0, 5), "tëxt", True, -0.5, 1e21])


def _draw_number(rng: random.Random, column: Bounded) -> float:
    step = column.step or (column.upper - column.lower) / 64
    limit = max(2.0**53, abs(column.lower), abs(column.upper))
    drawn = [
        rng.choice([column.lower, column.upper]),
        column.lower + (rng.randint(0, 40) + 0.5) * step,
        column.lower - step * rng.random() * 10,
        column.upper + step * rng.random() * 10,
        column.lower + (column.upper - column.lower) * rng.random(),
    ]
    return min(max(rng.choice(drawn), -limit), limit)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value
