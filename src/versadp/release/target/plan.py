"""What a provider needs in order to decide: candidates side by side, as facts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from versadp.errors import InfeasibleError
from versadp.noise.block import UNITS
from versadp.release.target.calibrate import calibrate, variance_inflation
from versadp.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from versadp.release.mechanism import Mechanism

EPSILONS = (1.0, 4.0, 8.0)
FALSE_ALARMS = (0.01, 0.05)


def compare(candidates: Mapping[str, Mechanism], rows: int | None = None) -> list[dict[str, Any]]:
    """Return the facts about each candidate as rows of a table, one column a candidate.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> mech = Mechanism(Schema({"age": Bounded(18, 90)}), scale=0.5, exact_rate=0.02)
    >>> compare({"A": mech}, rows=1000)[0]
    {'fact': 'noise in age (standard deviation)', 'A': '±36'}
    """
    facts = {label: dict(_facts(mechanism, rows)) for label, mechanism in candidates.items()}
    names = dict.fromkeys(name for each in facts.values() for name in each)
    return [{"fact": name, **{label: each.get(name, "") for label, each in facts.items()}} for name in names]


def _facts(mechanism: Mechanism, rows: int | None) -> list[tuple[str, str]]:
    facts = [fact for block in mechanism.blocks for fact in block.facts(rows).items()]
    for unit in UNITS:
        profile = mechanism.privacy(unit)
        for epsilon, delta in zip(EPSILONS, profile.delta(list(EPSILONS)), strict=True):
            facts.append((f"{unit}: delta at epsilon {epsilon:g}", f"{delta:.3g}"))
        for alarms, beta in zip(FALSE_ALARMS, profile.beta(list(FALSE_ALARMS)), strict=True):
            words = f"{unit}: at {alarms:.0%} false alarms the best attacker finds at most"
            facts.append((words, f"{100 * (1 - beta):.3g}%"))
    for name, factor in variance_inflation(mechanism).items():
        what = "share of a level" if name in mechanism.schema.categorical else "mean"
        facts.append((f"records needed for the {what} of {name}, times raw", f"{factor:,.3g}"))
    return facts


def cost_of_columns(schema: Schema, target: Mapping[str, Any], *, unit: str) -> list[dict[str, Any]]:
    """Return what the target costs with fewer numeric columns: noise in widths, and records needed.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> schema = Schema({name: Bounded(0, 1) for name in "abc"})
    >>> [row["numeric columns"] for row in cost_of_columns(schema, {"epsilon": 4, "delta": 0.05}, unit="record")]
    [1, 2, 3]
    """
    dim = len(schema.numeric)
    rows: list[dict[str, Any]] = []
    for kept in sorted({1, 2, math.ceil(dim / 4), math.ceil(dim / 2), dim} & set(range(1, dim + 1))):
        dropped = set(schema.numeric[kept:])
        smaller = Schema({name: column for name, column in schema.columns.items() if name not in dropped})
        try:
            mechanism = calibrate(smaller, **target, unit=unit)
        except InfeasibleError:
            rows.append({"numeric columns": kept, "noise (widths)": None, "records needed, times raw": None})
            continue
        first = schema.numeric[0]
        factor = variance_inflation(mechanism)[first]
        rows.append(
            {
                "numeric columns": kept,
                "noise (widths)": round(mechanism.scale[first], 4),
                "records needed, times raw": round(factor, 1),
            }
        )
    return rows
