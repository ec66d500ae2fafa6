"""From a target to windows, in the layout that costs an analyst least (`layouts.py`).

A window's guarantee is solved for in whole numbers by the block itself (`noise/window_law.py`), so without a shuffle
there is nothing to search: the target's epsilon and delta are those of each window, or are shared out between several.
For a shuffled release the windows' own epsilon is as large as the release among so many records allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.errors import InfeasibleError, ParameterError
from versadp.noise import Spec, Window
from versadp.noise.window import EPSILONS
from versadp.privacy import solve_parameter
from versadp.release.mechanism import Mechanism
from versadp.release.target.layouts import EACH, JOINT, Layout, layout_cost, layouts
from versadp.schema import Dates

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.privacy import PrivacyProfile, Target
    from versadp.schema import Schema

    Shares = dict[tuple[str, ...], float]


def windows(
    schema: Schema, goal: Target, unit: str, shuffled: int | None = None, groups: Any = None, *, width: float = 1.0
) -> Mechanism:
    """Return the mechanism of windows that meets a pair (epsilon, delta).

    Windows are `width` times as wide as the rule has them.

    Examples
    --------
    >>> from versadp import Bounded, Schema, privacy
    >>> schema = Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5)})
    >>> mech = windows(schema, privacy.target(8.0, 0.0), "record")
    >>> [block.columns for block in mech.blocks], mech.privacy("record").delta(8.0)
    ([('age', 'income')], 0.0)
    >>> mech = windows(schema, privacy.target(1.0, 1e-6), "record", shuffled=100_000)
    >>> mech.privacy("record", shuffled=100_000).delta(1.0) <= 1e-6, round(mech.blocks[0].epsilon, 1)
    (True, 7.8)
    """
    if goal.epsilon is None or goal.delta is None:
        raise ParameterError("windows are calibrated to an epsilon", hint="give epsilon, and delta if there is one")
    if groups is not None:
        return _made(schema, goal, unit, shuffled, groups, width=width)
    return best_layout(compare_layouts(schema, goal, unit, shuffled, width=width))


def compare_layouts(
    schema: Schema, goal: Target, unit: str, shuffled: int | None = None, *, width: float = 1.0
) -> list[Layout]:
    """Return what each layout of windows costs at a target, in the order of `layouts`.

    For an attribute every window has all of epsilon, so that one a column is best, and is not compared, unless a
    shuffle hides one joint window better.

    Examples
    --------
    >>> from versadp import Bounded, Schema, privacy
    >>> schema = Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5)})
    >>> for each in compare_layouts(schema, privacy.target(4.0, 0.0), "record"):
    ...     print(each.name, round(each.cost, 2))
    one joint window 1.75
    one window a column 3.63
    """
    found = []
    for name, groups in layouts(schema, unit).items():
        if unit == "attribute" and name != EACH and (name != JOINT or shuffled is None or not goal.delta):
            continue
        try:
            mechanism = _made(schema, goal, unit, shuffled, groups, width=width)
        except (InfeasibleError, ParameterError) as refusal:
            found.append(Layout(name, groups, math.inf, refused=str(refusal)))
            continue
        found.append(Layout(name, groups, layout_cost(mechanism), mechanism))
    return found


def best_layout(found: list[Layout]) -> Mechanism:
    """Return the mechanism of the layout that costs least; raise what was said of the first if there is none."""
    best = min(found, key=lambda each: each.cost)
    if best.mechanism is None:
        best = next((each for each in found if each.mechanism is not None), found[0])
    if best.mechanism is None:
        message, _, hint = best.refused.partition("\n  hint: ")
        raise InfeasibleError(message, hint=hint or None)
    return best.mechanism


def _made(schema: Schema, goal: Target, unit: str, shuffled: int | None, groups: Any, *, width: float) -> Mechanism:
    assert goal.epsilon is not None
    assert goal.delta is not None
    aim = replace(goal, unit=unit, shuffled=shuffled)
    make = partial(_mechanism, schema, _shares(unit, groups), aim, width=width)
    if shuffled is None or not goal.delta:  # all others may by chance be unlike: a shuffle adds nothing to pure
        return _settled(make, goal.epsilon, goal.delta)
    return _among_others(make, goal.epsilon, goal.delta)


def _settled(make: Callable[..., Mechanism], epsilon: float, delta: float) -> Mechanism:
    """Step down from delta until the profile that will be reported meets the target: its rounding is upward."""
    less, mechanism = 1e-12, make(epsilon, delta)
    aim = mechanism.target
    assert aim is not None
    assert aim.unit is not None
    while aim.room(mechanism.privacy(aim.unit)) < 0 and less < 1:
        mechanism, less = make(epsilon, delta * (1 - less)), 4 * less
    return mechanism


def _among_others(make: Callable[[float], Mechanism], epsilon: float, delta: float) -> Mechanism:
    """Return the mechanism with the largest epsilon of its own that meets its target when it is shuffled."""
    aim = make(epsilon).target
    assert aim is not None
    unit, shuffled = aim.unit, aim.shuffled
    assert unit is not None
    assert shuffled is not None

    def profile_of(local: float) -> PrivacyProfile:
        return make(local).privacy(unit, shuffled=shuffled)

    # beyond, the outcome in which nobody is alike has more than delta by itself (`privacy/solving/local.py`)
    most = math.log((2 * shuffled + math.exp(epsilon)) / (1 - delta)) + 1
    low = max(epsilon, EPSILONS[0])
    return make(solve_parameter(profile_of, aim, low, min(max(most, low), EPSILONS[1]), tolerance=1e-6))


def _mechanism(
    schema: Schema, shares: Shares, aim: Target, epsilon: float, delta: float = 0.0, *, width: float = 1.0
) -> Mechanism:
    noise: dict[str | tuple[str, ...], Spec] = {
        names: Window(share * epsilon, delta=share * delta) for names, share in shares.items()
    }
    mechanism = Mechanism(schema, noise=noise, target=aim)
    if width == 1:
        return mechanism
    for block in mechanism.blocks:
        found = block.spec
        assert isinstance(found, Window)
        if not isinstance(found.window, Mapping):  # categories have none
            continue
        points = {name: _times(width, w, schema.columns[name]) for name, w in found.window.items()}
        noise[block.columns] = replace(found, window=points)
    return Mechanism(schema, noise=noise, target=aim)


def _times(width: float, points: int, column: Any) -> int:
    """Return so many times a window's points: at least one, and for dates an odd number."""
    return max(1, 2 * round((width * points - 1) / 2) + 1 if isinstance(column, Dates) else round(width * points))


def _shares(unit: str, groups: Any) -> Shares:
    """Return the groups of columns that get a window each, with their share of epsilon: all of it for an attribute."""
    if unit == "attribute" and isinstance(groups, Mapping):
        raise ParameterError(
            "weights share out the epsilon of a record; of an attribute every window has all of it",
            hint="give a list of groups, or unit='record'",
        )
    given = groups.items() if isinstance(groups, Mapping) else [(names, 1.0) for names in _listed(groups)]
    weights = {
        (names,) if isinstance(names, str) else _listed(names): inputs.number("a weight", value, 0, 1e9, open_low=True)
        for names, value in given
    }
    whole = 1.0 if unit == "attribute" else sum(weights.values())
    return {names: value / whole for names, value in weights.items()}


def _listed(given: Any) -> tuple[Any, ...]:
    if not isinstance(given, list | tuple):
        raise ParameterError(
            "groups must be a list of columns and lists of columns", hint="e.g. groups=[('age', 'income'), 'region']"
        )
    return tuple(given)
