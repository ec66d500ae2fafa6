"""Usefulness of a release: the records that it takes to tell anything, and the people whom delta gives away.

In widths of a column (1 for a level's share), with `E psi1²` of `noise/cost.py` for values spread evenly over their
domain, the mean of a column is known within a tenth of its range if two standard errors are at most that:

    2 sqrt(E psi1²/n) <= 1/10,     n >= 400 E psi1²

A release is useless if this holds for no column, although it would hold without noise (n >= 400/12 for a number).
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from versadp.errors import DeltaWarning, UselessWarning, find_stacklevel
from versadp.noise.cost import EVEN
from versadp.schema import Categorical

if TYPE_CHECKING:
    from versadp.privacy import Target
    from versadp.release.mechanism import Mechanism

WITHIN = 0.1  # of a column's range
STANDARD_ERRORS = 2.0
PER_VARIANCE = (STANDARD_ERRORS / WITHIN) ** 2  # records per unit of variance, in widths
ADVICE = "fewer columns, tighter bounds, a larger epsilon, or no nullable columns; `versadp plan` shows what each costs"


def records_needed(mechanism: Mechanism) -> float:
    """Return how many records it takes for the mean of the best column to be known within a tenth of its range.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> round(records_needed(Mechanism(Schema({"x": Bounded(0, 1)}), scale=0.5)))
    133
    """
    return min(
        PER_VARIANCE * factor * _variance(mechanism, name)
        for block in mechanism.blocks
        for name, factor in block.inflation().items()
    )


def _variance(mechanism: Mechanism, name: str) -> float:
    """Return the variance of a column spread evenly over its domain, in widths; of a level's share."""
    column = mechanism.schema.columns[name]
    if isinstance(column, Categorical):
        return (1 - 1 / len(column.levels)) / len(column.levels)
    return EVEN**2


def useless(mechanism: Mechanism, records: int) -> str:
    """Return why a release of `records` would tell nothing; empty if it would, or raw data would not either.

    Examples
    --------
    >>> from versadp import Bounded, Schema, calibrate
    >>> useless(calibrate(Schema({"x": Bounded(0, 1)}), epsilon=4), 1000)
    ''
    """
    raw = min(PER_VARIANCE * _variance(mechanism, name) for block in mechanism.blocks for name in block.columns)
    needed = records_needed(mechanism)
    if not raw <= records < needed:
        return ""
    least = f"about {needed:,.0f}" if math.isfinite(needed) and needed < 1e15 else "any number of"
    return (
        f"under this noise {records:,} records tell no mean of any column within a tenth of its range: "
        f"that takes {least} records"
    )


def warn_useless(mechanism: Mechanism, records: int | None) -> None:
    """Warn if a release of `records` would tell nothing."""
    if records is not None and (why := useless(mechanism, records)):
        warnings.warn(f"{why}\n  hint: {ADVICE}", UselessWarning, stacklevel=find_stacklevel())


def warn_delta(goal: Target | None, records: int | None) -> None:
    """Warn if delta is at least one over the number of records: as many people may be given away whole."""
    if goal is None or not goal.delta or records is None or goal.delta * records < 1:
        return
    given = goal.delta * records
    warnings.warn(
        f"delta {goal.delta:g} among {records:,} records allows about {given:,.0f} "
        f"{'person' if round(given) == 1 else 'people'} to be given away entirely\n"
        f"  hint: a delta well below {1 / records:.2g}, such as {0.1 / records:.0e}",
        DeltaWarning,
        stacklevel=find_stacklevel(),
    )
