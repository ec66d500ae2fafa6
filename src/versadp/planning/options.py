"""Ways to protect people, and the least epsilon at which each gives a wanted precision.

    windows, pure                epsilon for a record (one window for all columns) or an attribute (one a column)
    windows, shuffled            (epsilon, delta) in the ordinary, central sense, among the records of the release
    zero-inflated Laplace        (epsilon, delta), with a delta that pays for records that are released unchanged

Standard errors fall as epsilon grows, so that the least epsilon is a root of `max log(se/wanted)` in log epsilon. The
same made-up people and the same words of noise are used at every epsilon: what is compared differs in epsilon alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import InfeasibleError, ParameterError
from versadp.release.target.calibrate import NOISES, calibrate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.planning.precision import Precision
    from versadp.release.mechanism import Mechanism
    from versadp.schema import Schema

    Array = NDArray[np.float64]

WINDOW, SHUFFLED, LAPLACE = "windows", "windows, shuffled", "zero-inflated Laplace"
# delta of a shuffled release and of Laplace noise by default (docstring of `plan`), and that from which Laplace noise
# is considered: with less its fits take longest and have no estimate
SHUFFLED_DELTA, LAPLACE_DELTA, LEAST_DELTA = 1e-6, 0.05, 1e-3
# range of epsilon that is searched, by option: from strong privacy to noise that is small relative to the columns
RANGES = {WINDOW: (0.25, 16.0), SHUFFLED: (0.01, 8.0), LAPLACE: (0.25, 32.0)}
EPSILON_TOLERANCE = 0.03  # width of the final bracket in log epsilon: results are rounded up to three digits
MOST_STEPS = 8  # of the root search: each evaluation simulates a fit; halving alone reaches 2^-8 of the range
LOG_RATIO_CAP = 3.0  # cap of log(se / wanted): 20 times too large, where fits fail and the ratio is meaningless


@dataclass(frozen=True)
class Way:
    """A kind of mechanism for any epsilon, or the reason why it is not possible."""

    name: str
    unit: str
    delta: float = 0.0
    shuffled: int | None = None
    make: Callable[[float], Mechanism] | None = None
    refused: str = ""


@dataclass
class Found:
    """The mechanism of a way, and the standard errors under it.

    Attributes
    ----------
    epsilon : float, optional
        The least epsilon for the wanted standard errors, rounded up; or the given one.
    epsilon_error : float, optional
        Its standard error, due to that of the standard errors; None if epsilon was given.
    """

    way: Way
    epsilon: float | None = None
    mechanism: Mechanism | None = None
    precision: Precision | None = None
    epsilon_error: float | None = None
    refused: str = ""
    seen: dict[float, float] = field(default_factory=dict)


def ways(
    schema: Schema, *, unit: str, delta: float | None, shuffled: int | None, records: int, noise: str = "auto"
) -> list[Way]:
    """Return the ways to protect a schema's people.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> schema = Schema({"age": Bounded(18, 90)})
    >>> [(way.name, way.delta) for way in ways(schema, unit="record", delta=None, shuffled=None, records=10_000)]
    [('windows', 0.0), ('windows, shuffled', 1e-06)]
    """
    if noise not in NOISES:
        raise ParameterError(f"there is no noise {noise!r}", hint=f"choose from {', '.join(NOISES)}")
    of = partial(calibrate, schema, unit=unit)
    out = [Way(WINDOW, unit, make=lambda e: of(epsilon=e, noise="window"))]
    small = SHUFFLED_DELTA if delta is None else delta
    among = shuffled
    if among is None and not schema.public and not schema.public_patterns:
        among = records
    if among is None:
        why = "public columns split the records into groups of equal values; shuffled= says how small they may be"
        out.append(Way(SHUFFLED, unit, small, refused=why))
    else:
        out.append(
            Way(SHUFFLED, unit, small, among, lambda e: of(epsilon=e, delta=small, shuffled=among, noise="window"))
        )
    large = LAPLACE_DELTA if delta is None else delta
    laplace = Way(LAPLACE, unit, large, make=lambda e: of(epsilon=e, delta=large, noise="zil"))
    if noise == "zil":
        return [laplace]
    # at a small delta Laplace noise hides everything, and its fits take longest
    return [*out, laplace] if noise == "auto" and schema.numeric and delta is not None and delta >= LEAST_DELTA else out


def least_epsilon(way: Way, wanted: Array, look: Callable[[Mechanism], Precision]) -> Found:
    """Return the least epsilon of a way at which its standard errors are at most those wanted.

    Parameters
    ----------
    way : Way
    wanted : array (p,)
        The largest allowed standard error of each coefficient; infinite for others.
    look : callable
        From a mechanism to its precision.
    """
    found = Found(way, refused=way.refused)
    if way.make is None:
        return found
    low, high = RANGES[way.name]
    if _excess(found, high, wanted, look) > 0:
        ratio = found.seen[high]
        said = f"at epsilon {high:g} standard errors are {math.exp(ratio):.3g} times what is wanted"
        found.refused = (
            said if ratio < LOG_RATIO_CAP else f"no estimate that is near what is wanted, up to epsilon {high:g}"
        )
        return found
    below = _from_above(found, low, high, wanted, look)
    if found.seen[below] > 0:
        above = min(epsilon for epsilon, excess in found.seen.items() if excess <= 0)
        _search(found, below, above, wanted, look)
    enough = min(epsilon for epsilon, excess in found.seen.items() if excess <= 0)
    return _settled(found, enough, wanted, look)


def _from_above(found: Found, low: float, high: float, wanted: Array, look: Callable[[Mechanism], Precision]) -> float:
    """Return an epsilon that is too small, or the least of the range, by halving or by linear extrapolation.

    Fits at an epsilon that is far too small take long and usually fail.
    """
    before, here = high, max(high / 2, low)
    while _excess(found, here, wanted, look) <= 0 and here > low:
        fall = (found.seen[here] - found.seen[before]) / math.log(before / here)
        ahead = here * math.exp(found.seen[here] / fall - EPSILON_TOLERANCE) if fall > 0 else 0.0
        before, here = here, max(here / 2, low, min(ahead, here * math.exp(-EPSILON_TOLERANCE)))
    return here


def _search(found: Found, least: float, most: float, wanted: Array, look: Callable[[Mechanism], Precision]) -> None:
    """Narrow the bracket of the root in log epsilon, by bisection and by linear interpolation plus a margin."""
    (low, below), (high, above) = ((math.log(epsilon), found.seen[epsilon]) for epsilon in (least, most))
    for turn in range(MOST_STEPS):
        if high - low < EPSILON_TOLERANCE:
            break
        line = turn % 3 and below < LOG_RATIO_CAP and above > -LOG_RATIO_CAP
        middle = low + (high - low) * (below / (below - above) if line else 0.5) + EPSILON_TOLERANCE / 4
        middle = min(max(middle, low + EPSILON_TOLERANCE / 2), high - EPSILON_TOLERANCE / 4)
        excess = _excess(found, math.exp(middle), wanted, look)
        low, below, high, above = (middle, excess, high, above) if excess > 0 else (low, below, middle, excess)


def _excess(found: Found, epsilon: float, wanted: Array, look: Callable[[Mechanism], Precision]) -> float:
    """Return the log of the largest ratio of standard errors to those wanted, at most `LOG_RATIO_CAP`."""
    assert found.way.make is not None
    try:
        se = look(found.way.make(epsilon)).se
    except (InfeasibleError, ParameterError):
        se = np.full(wanted.size, np.inf)
    matters = np.isfinite(wanted)
    excess = float(np.clip(np.log(np.max(se[matters] / wanted[matters])), -LOG_RATIO_CAP, LOG_RATIO_CAP))
    found.seen[epsilon] = excess
    return excess


def _settled(found: Found, epsilon: float, wanted: Array, look: Callable[[Mechanism], Precision]) -> Found:
    """Return the result at epsilon rounded up to three digits, with its standard error."""
    digits = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    found.epsilon = round(math.ceil(epsilon / digits - 1e-9) * digits, 12)
    assert found.way.make is not None
    found.mechanism = found.way.make(found.epsilon)
    found.precision = look(found.mechanism)
    matters = np.flatnonzero(np.isfinite(wanted))
    binding = int(matters[np.argmax(found.precision.se[matters] / wanted[matters])])
    slope = _slope(found.seen, epsilon)
    if slope and np.isfinite(found.precision.error[binding]):
        found.epsilon_error = float(found.epsilon * found.precision.error[binding] / slope)
    return found


def _slope(seen: dict[float, float], epsilon: float) -> float | None:
    """Return the slope of log standard errors in log epsilon, by the nearest evaluation that is not too close."""
    real = {
        math.log(e): v
        for e, v in seen.items()
        if abs(v) < LOG_RATIO_CAP and abs(math.log(e / epsilon)) > 2 * EPSILON_TOLERANCE
    }
    if not real:
        return None
    near = min(real, key=lambda x: abs(x - math.log(epsilon)))
    here = seen.get(epsilon, 0.0)
    slope = abs((here - real[near]) / (math.log(epsilon) - near))
    return slope if slope > 1e-3 else None


def as_dict(found: Found) -> dict[str, Any]:
    """Return a result as plain numbers and words."""
    out: dict[str, Any] = {"way": found.way.name, "unit": found.way.unit, "delta": found.way.delta}
    out |= {"shuffled": found.way.shuffled, "epsilon": found.epsilon, "epsilon_error": found.epsilon_error}
    return out | ({"refused": found.refused} if found.refused else {})
