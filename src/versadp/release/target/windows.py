"""From a target to windows: one a column for an attribute, one for all columns together for a record.

A window's guarantee is solved for in whole numbers by the block itself (`noise/window_law.py`), so there is nothing to
search: the target's epsilon and delta are those of each window.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from versadp.errors import ParameterError
from versadp.noise import Window
from versadp.release.mechanism import Mechanism

if TYPE_CHECKING:
    from versadp.privacy import Target
    from versadp.schema import Schema


def windows(schema: Schema, goal: Target, unit: str) -> Mechanism:
    """Return the mechanism of windows that meets a pair (epsilon, delta).

    Examples
    --------
    >>> from versadp import Bounded, Schema, privacy
    >>> schema = Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5)})
    >>> mech = windows(schema, privacy.target(8.0, 0.0), "record")
    >>> [block.columns for block in mech.blocks], mech.privacy("record").delta(8.0)
    ([('age', 'income')], 0.0)
    """
    if goal.epsilon is None or goal.delta is None:
        raise ParameterError("windows are calibrated to an epsilon", hint="give epsilon, and delta if there is one")
    spec = Window(goal.epsilon, delta=goal.delta)
    groups = [schema.private] if unit == "record" else [(name,) for name in schema.private]
    return Mechanism(schema, noise=dict.fromkeys(groups, spec), target=replace(goal, unit=unit))
