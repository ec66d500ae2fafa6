"""Prices: what one column more, `nullable=True` and bounds that are too wide cost.

Noise is measured in widths of the declared bounds, so bounds are the budget: data that fill half of them pay as if the
noise were twice as large, and a column that fills a small part of them is lost.
"""

from __future__ import annotations

import math
from copy import copy
from typing import TYPE_CHECKING, Any

from versadp.errors import InfeasibleError
from versadp.noise import Window
from versadp.noise.cost import EVEN, LEAST_T
from versadp.noise.window import WindowBlock
from versadp.release.target.calibrate import calibrate
from versadp.release.target.candidate import decoders
from versadp.release.target.usefulness import PER_VARIANCE
from versadp.schema import Bounded, Schema
from versadp.schema.spacing import LINEAR

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from versadp.release.mechanism import Mechanism
    from versadp.schema import Nullable

NARROWEST = 1e-9  # widths: the least standard deviation that is looked at
WIDE = 1e4  # of the larger bound, and of it over the smaller one: four powers of ten, a window in logarithms is one
_GUIDE = "docs/guides/spacing.md"
LOST = 10.0  # times the standard error of raw data: a hundred times the records


def wide_ranges(mechanism: Mechanism) -> list[str]:
    """Return advice about numbers whose declared range spans powers of ten, which noise in logarithms may serve.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> print(*wide_ranges(calibrate(Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5)}), epsilon=4)))
    Declared over several powers of ten: income. If its values are spread over them, declare spacing="log1p", or let
    --fit-bounds --spacing find range and spacing from the records (docs/guides/spacing.md).
    """
    served = {name for block in mechanism.blocks if isinstance(block, WindowBlock) for name in block.columns}
    columns = {name: mechanism.schema.columns[name] for name in mechanism.schema.numeric if name in served}
    wide = [name for name, column in columns.items() if type(column) is Bounded and _is_wide(column)]
    if not wide:
        return []
    its = "its values are" if len(wide) == 1 else "their values are"
    words = f"Declared over several powers of ten: {', '.join(wide)}. If {its} spread over them, declare"
    return [
        f'{words} spacing="log1p", or let\n--fit-bounds --spacing find range and spacing from the records ({_GUIDE}).'
    ]


def _is_wide(column: Bounded) -> bool:
    plain = column.spacing == LINEAR and column.step is None
    return (
        plain and min(abs(column.lower), abs(column.upper)) * WIDE <= max(abs(column.lower), abs(column.upper)) >= WIDE
    )


def cost_of_columns(schema: Schema, target: Mapping[str, Any], *, unit: str) -> list[dict[str, Any]]:
    """Return what the target costs with fewer numeric columns and with one more, each calibrated anew.

    Parameters
    ----------
    schema : Schema
        With at least one number; its categories stay.
    target : mapping
        What `calibrate` takes.
    unit : {"person", "record", "attribute"}

    Returns
    -------
    list of dict
        Multiples of the standard errors of raw data for the first number; None where the target cannot be met.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> schema = Schema({name: Bounded(0, 1) for name in "abc"})
    >>> for row in cost_of_columns(schema, {"epsilon": 8}, unit="record"):
    ...     print(row["numeric columns"], round(row["mean"], 2), round(row["slope"], 2))
    1 1.01 1.02
    2 1.03 1.08
    3 1.08 1.21
    4 1.15 1.39
    """
    dim, first = len(schema.numeric), schema.numeric[0]
    rows: list[dict[str, Any]] = []
    for count in (*sorted({1, min(2, dim), math.ceil(dim / 4), math.ceil(dim / 2), dim}), dim + 1):
        try:
            costs = decoders(calibrate(_with(schema, count), **target, unit=unit), EVEN)[first]
        except InfeasibleError:
            rows.append({"numeric columns": count, "mean": None, "slope": None, "records for a mean": None})
            continue
        figures = {"mean": costs.mean, "slope": costs.slope, "records for a mean": costs.mean**2}
        rows.append({"numeric columns": count} | figures)
    return rows


def cost_of_missing(mechanism: Mechanism) -> list[dict[str, Any]]:
    """Return by how much each column's `nullable=True` multiplies standard errors of means, and of levels' shares.

    Against the same column without it, all others and the windows' epsilon as they are. Of the values that are there,
    with the assumptions of `noise.cost.missing_inflation`.

    Parameters
    ----------
    mechanism : Mechanism
        Of windows; other noise is passed over.

    Returns
    -------
    list of dict
        One row per column: its own mean, and the largest of the other columns'.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> mech = calibrate(Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5, nullable=True)}), epsilon=4)
    >>> for row in cost_of_missing(mech):
    ...     print(row["column"], round(row["its own mean"], 2), round(row["other means"], 2))
    income 1.06 1.03
    """
    out = []
    for block in mechanism.blocks:
        columns = {name: mechanism.schema.columns[name] for name in block.columns}
        hiding = [name for name, column in columns.items() if getattr(column, "nullable", False) is True]
        if not hiding or not isinstance(block.spec, Window):
            continue
        anew = Window(block.spec.epsilon, delta=block.spec.delta)  # both by rule, as `calibrate` has them
        now = anew.on(columns).inflation()
        for name in hiding:
            before = anew.on(columns | {name: declared_anew(columns[name])}).inflation()
            times = {each: math.sqrt(now[each] / before[each]) for each in columns}
            others = [value for each, value in times.items() if each != name]
            out.append({"column": name, "its own mean": times[name], "other means": max(others, default=1.0)})
    return out


def declared_anew(column: Any, nullable: Nullable = False) -> Any:
    """Return a column that says otherwise who may see that a value is missing.

    Examples
    --------
    >>> from versadp import Bounded
    >>> declared_anew(Bounded(0, 1, nullable=True)), declared_anew(Bounded(0, 1), True)
    (Bounded(lower=0.0, upper=1.0), Bounded(lower=0.0, upper=1.0, nullable=True))
    """
    out = copy(column)
    object.__setattr__(out, "nullable", nullable)
    return out


def _with(schema: Schema, count: int) -> Schema:
    """Return the schema with `count` of its numbers, or one more than it has."""
    dropped = set(schema.numeric[count:])
    columns = {name: column for name, column in schema.columns.items() if name not in dropped}
    if count > len(schema.numeric):
        columns["one more" + " " * max(map(len, columns))] = Bounded(0, 1)
    return Schema(columns, id=schema.id, rows_per_person=schema.rows_per_person)


def cost_of_bounds(mechanism: Mechanism, rows: int | None = None) -> list[dict[str, Any]]:
    """Return what bounds twice as wide cost in each number, and how small a spread is too small.

    Parameters
    ----------
    mechanism : Mechanism
    rows : int, optional
        Number of records: a mean is then lost where two standard errors exceed a tenth of the range, and a slope where
        its column's corrected variance is less than two standard errors away from 0. Without it either is lost where
        its standard error is ten times that of raw data.

    Returns
    -------
    list of dict
        Standard deviations are in widths; None where a column is lost even if it fills its bounds.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> mech = calibrate(Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5)}), epsilon=4)
    >>> for name, value in cost_of_bounds(mech, rows=10_000)[0].items():
    ...     print(name, value if isinstance(value, str) else round(value, 3))
    column age
    mean 1.384
    slope 2.047
    mean, bounds twice as wide 2.024
    slope, bounds twice as wide 5.636
    mean lost below a standard deviation of 0.0
    slope lost below a standard deviation of 0.046
    """
    names = list(decoders(mechanism, EVEN))
    out = []
    for name in names:
        even, half = (decoders(mechanism, spread)[name] for spread in (EVEN, EVEN / 2))

        def mean_lost(spread: float, name: str = name) -> float:
            costs = decoders(mechanism, spread)[name]
            return costs.mean / LOST if rows is None else (PER_VARIANCE * costs.first / rows) ** 0.5

        def slope_lost(spread: float, name: str = name) -> float:
            costs = decoders(mechanism, spread)[name]
            return costs.slope / LOST if rows is None else LEAST_T / costs.strength(rows)

        out.append(
            {
                "column": name,
                "mean": even.mean,
                "slope": even.slope,
                "mean, bounds twice as wide": half.mean,
                "slope, bounds twice as wide": half.slope,
                "mean lost below a standard deviation of": _where(mean_lost),
                "slope lost below a standard deviation of": _where(slope_lost),
            }
        )
    return out


def _where(lost: Callable[[float], float]) -> float | None:
    """Return the least spread at which a function that falls is at most 1; None if it is above 1 at the largest."""
    if lost(EVEN) > 1:
        return None
    low, high = NARROWEST, EVEN
    if lost(low) <= 1:
        return 0.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if lost(middle) > 1 else (low, middle)
    return high
