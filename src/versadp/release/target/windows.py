"""From a target to windows, in the layout that costs an analyst least (`layouts.py`).

A window's guarantee is solved for in whole numbers by the block itself (`noise/window_law.py`), so without a shuffle
there is nothing to search: the target's epsilon and delta are those of each window, or are shared out between several.
For a shuffled release the windows' own epsilon is as large as the release among so many records allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.errors import InfeasibleError, ParameterError
from versadp.noise import Spec, Subset, Window
from versadp.noise.window import EPSILONS
from versadp.privacy import solve_parameter
from versadp.privacy.curves.contour import rough_bounds
from versadp.release.bounds.law import bounds_privacy, gaussian_mu
from versadp.release.bounds.reapply import on_learnt_bounds
from versadp.release.mechanism import Mechanism
from versadp.release.target.accounting import privacy_of_one
from versadp.release.target.layouts import EACH, JOINT, Given, Layout, layout_cost, layouts
from versadp.release.target.person import PERSON, row_target
from versadp.release.totals.law import TotalsLaw
from versadp.release.totals.nodes import window_beside_totals, window_for_totals
from versadp.schema import Categorical, Dates

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.privacy import PrivacyProfile, Target
    from versadp.schema import Schema

    Shares = dict[tuple[str, ...], float]


ROUGH, FINE = 1e-3, 1e-4  # relative errors of a window's epsilon under a shuffle: to compare layouts, and to take one
COMPARABLE = 1.02  # layouts within so much of the least cost are compared finely
NEAR = 0.1  # layouts' epsilons under one shuffle are about so near to one another, relatively
TINY = 1e-300  # a delta of 0 has no logarithm
CLOSE, STEPS = 0.02, 4  # a delta that is less than the target's by so much, in logs, is taken; the most steps to it


def windows(
    schema: Schema,
    goal: Target,
    unit: str,
    shuffled: int | None = None,
    groups: Any = None,
    *,
    width: float = 1.0,
    totals: float = 0.0,
    columns_per_term: int | None = None,
) -> Mechanism:
    """Return the mechanism of windows that meets a pair (epsilon, delta).

    Windows are `width` times as wide as the rule has them. `totals` is the share of mu² for noisy totals. With
    `columns_per_term` a record may give so many columns.

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
    plan = schema.as_declared()  # what learnt bounds show decides about lattices, and about nothing that is claimed
    if groups is not None:
        made = _made(plan, goal, unit, shuffled, groups, width=width, totals=totals)
    else:
        options: Any = {"width": width, "totals": totals, "columns_per_term": columns_per_term}
        made = best_layout(compare_layouts(plan, goal, unit, shuffled, quick=True, **options))
    return made if plan is schema else on_learnt_bounds(made, schema)


def compare_layouts(
    schema: Schema,
    goal: Target,
    unit: str,
    shuffled: int | None = None,
    *,
    width: float = 1.0,
    quick: bool = False,
    totals: float = 0.0,
    columns_per_term: int | None = None,
) -> list[Layout]:
    """Return what each layout of windows costs at a target, in the order of `layouts`.

    For an attribute every window has all of epsilon, so that one a column is best, and is not compared, unless a
    shuffle hides one joint window better. `quick` leaves out layouts that cannot be the best.

    Examples
    --------
    >>> from versadp import Bounded, Schema, privacy
    >>> schema = Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5)})
    >>> for each in compare_layouts(schema, privacy.target(4.0, 0.0), "record"):
    ...     print(each.name, round(each.cost, 2))
    one joint window 2.41
    one window a column 4.01
    """
    among = shuffled if goal.delta else None  # all others may by chance be unlike: a shuffle adds nothing to pure
    found: list[Layout] = []
    near: float | None = None
    for name, groups in layouts(schema, unit, columns_per_term).items():
        if unit == "attribute" and name != EACH and (name != JOINT or among is None):
            continue
        try:
            if among is None:
                mechanism = _made(schema, goal, unit, shuffled, groups, width=width, totals=totals)
            else:
                make = _maker(schema, goal, unit, shuffled, groups, width=width, totals=totals)
                least = min((each.needed for each in found), default=math.inf)
                if quick and _costs_more(make, goal, near, COMPARABLE * least):
                    continue
                near, mechanism = _roughly(make, goal, near)
        except (InfeasibleError, ParameterError) as refusal:
            found.append(Layout(name, groups, math.inf, refused=str(refusal)))
            continue
        found.append(Layout(name, groups, layout_cost(mechanism), mechanism))
    if among is None:
        return found
    least = min((each.needed for each in found), default=math.inf)

    def exact(each: Layout) -> Layout:
        if each.mechanism is None or each.needed > least * (1 if quick else COMPARABLE):
            return each
        mechanism = _made(schema, goal, unit, shuffled, each.groups, width=width, totals=totals)
        return replace(each, mechanism=mechanism, cost=layout_cost(mechanism))

    return [exact(each) for each in found]


def best_layout(found: list[Layout]) -> Mechanism:
    """Return the mechanism of the layout that costs least; raise what was said of the first if there is none."""
    best = min(found, key=lambda each: each.needed)
    if best.mechanism is None:
        best = next((each for each in found if each.mechanism is not None), found[0])
    if best.mechanism is None:
        message, _, hint = best.refused.partition("\n  hint: ")
        raise InfeasibleError(message, hint=hint or None)
    return best.mechanism


def _maker(
    schema: Schema, goal: Target, unit: str, shuffled: int | None, groups: Any, *, width: float, totals: float = 0.0
) -> Callable[..., Mechanism]:
    """Return the function from an epsilon, and a delta, of its own to the mechanism with these groups of columns."""
    aim = replace(goal, unit=unit, shuffled=shuffled)
    if isinstance(groups, Given):
        return partial(_mechanism, schema, {groups.columns: 1.0}, aim, width=width, given=groups.count)
    return partial(_mechanism, schema, _shares(unit, groups), aim, width=width, totals=totals)


def _made(
    schema: Schema, goal: Target, unit: str, shuffled: int | None, groups: Any, *, width: float, totals: float = 0.0
) -> Mechanism:
    assert goal.epsilon is not None
    assert goal.delta is not None
    make = _maker(schema, goal, unit, shuffled, groups, width=width, totals=totals)
    if shuffled is None or not goal.delta:
        row = row_target(goal, schema.rows_per_person) if unit == PERSON else goal
        assert row.epsilon is not None
        assert row.delta is not None
        spent = bounds_privacy(schema.bounds, "record" if unit == PERSON else unit)
        if spent.pure_epsilon == 0:
            return _settled(make, row.epsilon, row.delta)
        if spent.pure_epsilon < row.epsilon:  # epsilons add
            return _settled(make, (row.epsilon - spent.pure_epsilon) * (1 - 1e-12), row.delta)
        return _beside_gaussian(make, row.epsilon)
    return _among_others(make, goal)


def _beside_gaussian(make: Callable[..., Mechanism], most: float) -> Mechanism:
    """Return pure windows that meet the target together with Gaussian noise, which takes all of delta."""
    aim = make(most).target
    assert aim is not None
    assert aim.unit is not None
    unit = aim.unit
    found = solve_parameter(
        lambda local: make(local).privacy(unit), aim, EPSILONS[0], most, tolerance=FINE, near=0.8 * most, within=ROUGH
    )
    return make(found)


def _settled(make: Callable[..., Mechanism], epsilon: float, delta: float) -> Mechanism:
    """Step down from delta until the profile that will be reported meets the target: its rounding is upward."""
    less, mechanism = 1e-12, make(epsilon, delta)
    aim = mechanism.target
    assert aim is not None
    assert aim.unit is not None
    while aim.room(mechanism.privacy(aim.unit)) < 0 and less < 1:
        mechanism, less = make(epsilon, delta * (1 - less)), 4 * less
    return mechanism


def _costs_more(make: Callable[[float], Mechanism], goal: Target, near: float | None, limit: float) -> bool:
    """Return True if a layout costs more than `limit` even with more epsilon than the shuffle allows it.

    A layout costs less the more epsilon it has, so that an epsilon that misses the target bounds its cost from below.
    """
    most = _range(goal, make)[1]
    if near is None or layout_cost(make(most)) > limit:
        return near is not None
    tried = (near * (1 + NEAR) ** k for k in (1, 3))
    return any(layout_cost(make(each)) > limit and _excess(make, goal, each) > 0 for each in tried if each < most)


def _among_others(make: Callable[[float], Mechanism], goal: Target) -> Mechanism:
    """Return the mechanism with the largest epsilon of its own that meets its target when it is shuffled.

    The search is by quick bounds. The profile that will be reported costs much more where single records outweigh all
    others, and decides: from the quick answer on a few steps along its slope, of which the best that meets the target.
    """
    low, high = _range(goal, make)
    local = _local_epsilon(make, goal, None, FINE)
    slope = max((_excess(make, goal, local) - _excess(make, goal, local * (1 - NEAR))) / (local * NEAR), 1 / local)
    met, missed = 0.0, math.inf
    for _ in range(STEPS):
        excess = _log_excess(_shuffled(make, local), goal)
        met, missed = (max(met, local), missed) if excess <= 0 else (met, min(missed, local))
        if -CLOSE <= excess <= 0 or (excess < 0 and local == high):
            return make(local)
        local = min(max(local - (excess + CLOSE / 2) / slope, low), high)
        if not met < local < missed:
            break
    if met:
        return make(met)
    aim = make(low).target
    assert aim is not None
    most = min(missed, high)
    return make(solve_parameter(partial(_shuffled, make), aim, low, most, tolerance=FINE, near=local, within=ROUGH))


def _roughly(make: Callable[[float], Mechanism], goal: Target, near: float | None) -> tuple[float, Mechanism]:
    """Return the same up to ROUGH, with its epsilon, to compare layouts; start from another layout's."""
    low, _ = _range(goal, make)
    found = _local_epsilon(make, goal, near, ROUGH)
    if found == low and _excess(make, goal, low) > 0:
        return low, _among_others(make, goal)  # which says that there is none
    return found, make(found)


def _shuffled(make: Callable[[float], Mechanism], local: float) -> PrivacyProfile:
    mechanism = make(local)
    aim = mechanism.target
    assert aim is not None
    assert aim.unit is not None
    return privacy_of_one(mechanism, aim.unit, aim.shuffled)


def _range(goal: Target, make: Callable[[float], Mechanism]) -> tuple[float, float]:
    """Return between which epsilons that of the windows lies."""
    assert goal.epsilon is not None
    assert goal.delta is not None
    made = make(max(goal.epsilon, EPSILONS[0]))
    aim = made.target
    assert aim is not None
    assert aim.shuffled is not None
    rows = made.schema.rows_per_person if aim.unit == PERSON else 1
    low = max(goal.epsilon / rows, EPSILONS[0])
    # beyond, the outcome in which nobody is alike has more than delta by itself (`privacy/solving/local.py`)
    most = math.log((2 * aim.shuffled + math.exp(goal.epsilon)) / (1 - goal.delta)) + 1
    return low, min(max(most, low), EPSILONS[1])


def _excess(make: Callable[[float], Mechanism], goal: Target, local: float) -> float:
    """Return `_log_excess` by quick bounds: nearly a line in `local`."""
    with rough_bounds():
        return _log_excess(_shuffled(make, local), goal)


def _log_excess(profile: PrivacyProfile, goal: Target) -> float:
    """Return by how much the log of a profile's delta exceeds the target's."""
    assert goal.epsilon is not None
    assert goal.delta
    return math.log(max(float(profile.delta(goal.epsilon)), TINY) / goal.delta)


def _local_epsilon(make: Callable[[float], Mechanism], goal: Target, near: float | None, tolerance: float) -> float:
    """Return the root of `_excess`, or the nearest end of `_range`; look around `near` first."""
    from scipy.optimize import brentq

    low, high = _range(goal, make)
    excess = cache(partial(_excess, make, goal))
    left, right = (low, high) if near is None else (max(low, near * (1 - NEAR)), min(high, near * (1 + NEAR)))
    if excess(left) > 0:
        left, right = low, left
    if excess(right) < 0:
        left, right = right, high
    if excess(left) >= 0 or excess(right) <= 0:
        return low if excess(left) >= 0 else high
    return float(brentq(excess, left, right, xtol=tolerance * left, rtol=1e-12))


def _mechanism(
    schema: Schema,
    shares: Shares,
    aim: Target,
    epsilon: float,
    delta: float = 0.0,
    *,
    width: float = 1.0,
    totals: float = 0.0,
    given: int | None = None,
) -> Mechanism:
    noise: dict[str | tuple[str, ...], Spec] = {
        names: Window(share * epsilon, delta=share * delta) if given is None else Subset(share * epsilon, given)
        for names, share in shares.items()
    }
    mechanism = Mechanism(schema, noise=noise, target=aim)
    if width == 1 and not totals:
        return mechanism
    for block in mechanism.blocks:
        found = block.spec
        assert isinstance(found, Window | Subset)
        if not isinstance(found.window, Mapping):  # categories have none
            continue
        assert isinstance(found.cells, Mapping)
        points = {name: _times(width, w, schema.columns[name]) for name, w in found.window.items()}
        cells = dict(found.cells)
        if totals:
            share = width * window_beside_totals(len(cells), _combinations(schema, block.columns), found.epsilon)
            for name, m in cells.items():
                wanted = max(1, round(share * m))
                points[name], cells[name] = window_for_totals(wanted, m, schema.columns[name])
        noise[block.columns] = replace(found, window=points, cells=cells)
    return _with_totals(Mechanism(schema, noise=noise, target=aim), totals)


def _combinations(schema: Schema, names: tuple[str, ...]) -> int:
    """Return the number of combinations of levels of the categories among some columns."""
    return math.prod(c.outcomes for name in names if isinstance(c := schema.columns[name], Categorical))


def _with_totals(mechanism: Mechanism, share: float) -> Mechanism:
    """Return a mechanism whose totals spend a share of its target's mu²; as it is where no column can be in them."""
    if not share or not mechanism.totals_features.columns:
        return mechanism
    goal, schema = mechanism.target, mechanism.schema
    assert goal is not None
    assert goal.epsilon is not None
    assert goal.delta is not None
    assert goal.unit is not None
    rows = schema.rows_per_person if goal.unit == PERSON else 1
    unit = "record" if goal.unit == PERSON else goal.unit
    law = TotalsLaw.of(
        mechanism.totals_features, gaussian_mu(goal.epsilon, goal.delta), unit=unit, rows=rows, share=share
    )
    return mechanism.with_totals(law)


def _times(width: float, points: int, column: Any) -> int:
    """Return `width` times a window's points: at least one, and for dates an odd number."""
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
