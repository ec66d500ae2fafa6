"""Whom a guarantee protects, in one vocabulary: a person, a record (one row), an attribute (one column of a record).

Where a person has one row at the most, person and record are the same, and "record" is the name and the default. Where
a schema allows several (`rows_per_person`), the default is the person: a record's guarantee alone protects nobody.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from versadp.errors import ParameterError
from versadp.noise.block import UNITS
from versadp.schema import Schema

if TYPE_CHECKING:
    from versadp.privacy import Target

PERSON = "person"
ALL_UNITS = (PERSON, *UNITS)


def units_of(schema: Schema) -> tuple[str, ...]:
    """Return the units that differ, the default first.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> columns = {"age": Bounded(18, 90)}
    >>> units_of(Schema(columns)), units_of(Schema(columns, id="pid", rows_per_person=3))
    (('record', 'attribute'), ('person', 'record', 'attribute'))
    """
    return UNITS if schema.rows_per_person == 1 else ALL_UNITS


def unit_of(schema: Schema, unit: str | None) -> str:
    """Return the unit of a guarantee: the default if it is left out, and "record" for a person with one row.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> unit_of(Schema({"age": Bounded(18, 90)}), "person")
    'record'
    """
    if not isinstance(schema, Schema):
        raise ParameterError(
            f"a guarantee is about the columns of a Schema, and this is a {type(schema).__name__}",
            hint='Schema({"age": Bounded(18, 90)}), or Schema.from_toml("schema.toml")',
        )
    units = units_of(schema)
    if unit is None or (unit == PERSON and PERSON not in units):
        return units[0]
    if unit not in units:
        raise ParameterError(f"there is no unit {unit!r}", hint=f"choose from {', '.join(ALL_UNITS)}")
    return unit


def row_target(goal: Target, rows: int) -> Target:
    """Return a target for one row that, if it is met, meets the target of a person with `rows` rows.

    Of a pair, epsilon is shared out equally: ``delta_k(ε) <= delta(ε/k) Σ_i e^(iε/k)`` (`privacy.group`). An advantage
    is divided. A pair (alpha, beta) is a point of one line, that of the pair (epsilon, delta) which meets it halfway.

    Examples
    --------
    >>> from versadp import privacy
    >>> print(row_target(privacy.target(4.0, 0.0), 4), "|", row_target(privacy.target(advantage=0.3), 3))
    epsilon 1, delta 0 | advantage 0.1
    """
    if goal.advantage is not None:
        return replace(goal, advantage=goal.advantage / rows)
    epsilon, delta = goal.epsilon, goal.delta
    if goal.alpha is not None and goal.beta is not None:
        if not goal.alpha < goal.beta:
            raise ParameterError(
                "for people with several rows this alpha and beta are too far from perfect privacy",
                hint="ask for epsilon and delta, or for an advantage",
            )
        epsilon = 0.5 * math.log(goal.beta / goal.alpha)
        delta = max(1 - goal.beta - goal.alpha * math.exp(epsilon), 0.0)
    assert epsilon is not None
    assert delta is not None
    steps = math.expm1(epsilon) / math.expm1(epsilon / rows) if epsilon else rows
    return replace(goal, epsilon=epsilon / rows, delta=delta / steps * (1 - 1e-12), alpha=None, beta=None)
