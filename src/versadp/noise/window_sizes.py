"""Sizes of a window on numbers: cells of their lattices, points of their windows, and places of missing values.

Each is what the spec says, or by rule: a lattice has the column's step, or is fine; the width of windows and the share
of missing values are those of `window_design.py`.
"""

from __future__ import annotations

import math
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.errors import ParameterError
from versadp.noise.scale import FEWEST_POINTS, MOST_BY_RULE
from versadp.noise.window_design import Size, best_share, best_window
from versadp.schema import Bounded, Dates
from versadp.schema.spacing import LINEAR

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from versadp.noise.window import Window

    Sizes = dict[str, int]

WHOLE_WINDOW = "window"  # a missing value has as many outputs as a window has
FINE = 2**12  # lattice points in the window of a number without a step


def window_sizes(
    spec: Window,
    numbers: Mapping[str, Bounded],
    combinations: int,
    epsilon: float,
    delta: float,
    *,
    size: Size | None = None,
) -> tuple[Sizes, Sizes, Sizes]:
    """Return cells, window and places of a missing value of each number; the last where missingness is private.

    Parameters
    ----------
    spec : Window
    numbers : mapping of str to Bounded
    combinations : int
        Of the levels of the block's categories.
    epsilon, delta : float
        The spec's, checked.
    size : Size, optional
        What the rule for widths is told; by default these columns together.

    Examples
    --------
    >>> from versadp.noise import Window
    >>> window_sizes(Window(4, cells=72), {"age": Bounded(18, 90, nullable=True)}, 1, 4.0, 0.0)
    ({'age': 72}, {'age': 16}, {'age': 16})
    """
    cells, window = (_whole(what, value, numbers) for what, value in (("cells", spec.cells), ("window", spec.window)))
    hiding = [name for name, column in numbers.items() if column.nullable is True]
    size = size or Size(len(numbers), len(hiding), combinations)
    if numbers and (cells is None or window is None):
        c = best_window(size, epsilon, delta, shared=spec.missing != WHOLE_WINDOW)
        fine = max(1, round(FINE / c))
        spaced = min(max(fine, FEWEST_POINTS), MOST_BY_RULE)
        rule = {name: fine if column.spacing == LINEAR else spaced for name, column in numbers.items()}
        cells = cells or {name: column.steps or rule[name] for name, column in numbers.items()}
        window = window or {name: _points(c * cells[name], column) for name, column in numbers.items()}
    cells, window = cells or {}, window or {}
    for name, column in numbers.items():
        if isinstance(column, Dates):
            _refuse_beyond(name, column, (window[name] - 1) / 2 * column.width / cells[name])
    share = partial(best_share, size, epsilon, delta)
    return cells, window, _missing_places(spec.missing, hiding, cells, window, share)


def _refuse_beyond(name: str, column: Dates, reach: float) -> None:
    """Refuse dates that a window would carry out of the calendar."""
    first = column.first.toordinal()
    if first - reach < 1 or first + column.upper + reach > date.max.toordinal():
        raise ParameterError(
            f"the window of {name!r} reaches beyond the years 1 to 9999", hint="a narrower window, or nearer bounds"
        )


def _points(wanted: float, column: Bounded) -> int:
    """Return how many lattice points a window has; an odd number for dates, whose window has a day in its middle."""
    return max(1, 2 * round((wanted - 1) / 2) + 1 if isinstance(column, Dates) else round(wanted))


def _missing_places(
    given: Any,
    hiding: Collection[str],
    cells: Mapping[str, int],
    window: Mapping[str, int],
    rule: Callable[[float], float],
) -> dict[str, int]:
    """Return how many outputs show a missing value of each number in `hiding`.

    As few as its rule says, in the middle of the outputs of numbers: their number is even or odd as that of cells is,
    unless it is the window's.
    """
    if isinstance(given, str) and given != WHOLE_WINDOW:
        raise ParameterError(f"missing is not {given!r}", hint=f"a whole number per column, or {WHOLE_WINDOW!r}")
    if given == WHOLE_WINDOW or not (hiding or hasattr(given, "keys")):
        return {name: window[name] for name in hiding}
    places = _whole("missing", given, hiding)
    if places is not None:
        _refuse_uneven(places, cells, window)
        return places
    width = math.exp(math.fsum(math.log(window[name] / cells[name]) for name in window) / len(window))
    wanted = {name: max(1, round(rule(width) * window[name])) for name in hiding}
    return {name: min(s + (s + cells[name]) % 2, window[name]) for name, s in wanted.items()}


def _refuse_uneven(places: Mapping[str, int], cells: Mapping[str, int], window: Mapping[str, int]) -> None:
    """Refuse places of missing values that cannot lie in the middle of the outputs of numbers."""
    for name, s in places.items():
        if s > window[name] or (s < window[name] and (s + cells[name]) % 2):
            raise ParameterError(
                f"a missing value of {name!r} cannot have {s} places",
                hint=f"{window[name]}, or fewer that are {'odd' if cells[name] % 2 else 'even'} as its cells are",
            )


def _whole(what: str, value: Any, numbers: Collection[str]) -> dict[str, int] | None:
    """Return one whole number per column, from one for all or a mapping."""
    if value is None:
        return None
    given = value if hasattr(value, "keys") else dict.fromkeys(numbers, value)
    if set(given) != set(numbers):
        raise ParameterError(
            f"{what} must name just the numbers of the block: {', '.join(numbers) or 'there are none'}"
        )
    return {name: inputs.whole(f"{what} of {name!r}", given[name], 1) for name in numbers}
