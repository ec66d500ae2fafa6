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
SHUFFLED_DELTA, LAPLACE_DELTA, LEAST_DELTA = 1e-6, 0.05, 1e-3
RANGES = {WINDOW: (0.25, 16.0), SHUFFLED: (0.01, 8.0), LAPLACE: (0.25, 32.0)}
CLOSE, MOST = 0.03, 8  # in log epsilon; looks
FAR = 3.0  # a log ratio beyond which all are alike


@dataclass(frozen=True)
class Way:
    """A way to protect people, at any epsilon; or why it is none."""

    name: str
    unit: str
    delta: float = 0.0
    shuffled: int | None = None
    make: Callable[[float], Mechanism] | None = None
    refused: str = ""


@dataclass
class Found:
    """What a way comes to: its mechanism, and the standard errors under it.

    Attributes
    ----------
    epsilon : float, optional
        The least one for what was wanted, rounded up; or the one that was given.
    epsilon_error : float, optional
        Its standard error, from that of the standard errors; None where epsilon was given.
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
    # a small delta drowns everything in it, and its fits take longest
    return [*out, laplace] if noise == "auto" and schema.numeric and delta is not None and delta >= LEAST_DELTA else out


def least_epsilon(way: Way, wanted: Array, look: Callable[[Mechanism], Precision]) -> Found:
    """Return the least epsilon at which a way's standard errors are as wanted.

    Parameters
    ----------
    way : Way
    wanted : array (p,)
        The largest standard error of each coefficient; infinite for those that do not matter.
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
        found.refused = said if ratio < FAR else f"no estimate that is near what is wanted, up to epsilon {high:g}"
        return found
    below = _from_above(found, low, high, wanted, look)
    if found.seen[below] > 0:
        above = min(epsilon for epsilon, excess in found.seen.items() if excess <= 0)
        _search(found, below, above, wanted, look)
    enough = min(epsilon for epsilon, excess in found.seen.items() if excess <= 0)
    return _settled(found, enough, wanted, look)


def _from_above(found: Found, low: float, high: float, wanted: Array, look: Callable[[Mechanism], Precision]) -> float:
    """Return an epsilon that is too small, or the least: stepping down by halves, or to where a line would end.

    Fits at an epsilon that is far too small take long, and tell nothing.
    """
    before, here = high, max(high / 2, low)
    while _excess(found, here, wanted, look) <= 0 and here > low:
        fall = (found.seen[here] - found.seen[before]) / math.log(before / here)
        ahead = here * math.exp(found.seen[here] / fall - CLOSE) if fall > 0 else 0.0
        before, here = here, max(here / 2, low, min(ahead, here * math.exp(-CLOSE)))
    return here


def _search(found: Found, least: float, most: float, wanted: Array, look: Callable[[Mechanism], Precision]) -> None:
    """Close in on the root in log epsilon, by halves and by lines, a little above what a line says is just enough."""
    (low, below), (high, above) = ((math.log(epsilon), found.seen[epsilon]) for epsilon in (least, most))
    for turn in range(MOST):
        if high - low < CLOSE:
            break
        line = turn % 3 and below < FAR and above > -FAR
        middle = low + (high - low) * (below / (below - above) if line else 0.5) + CLOSE / 4
        middle = min(max(middle, low + CLOSE / 2), high - CLOSE / 4)
        excess = _excess(found, math.exp(middle), wanted, look)
        low, below, high, above = (middle, excess, high, above) if excess > 0 else (low, below, middle, excess)


def _excess(found: Found, epsilon: float, wanted: Array, look: Callable[[Mechanism], Precision]) -> float:
    """Return by how much standard errors exceed what is wanted, as a log ratio, at most `FAR`."""
    assert found.way.make is not None
    try:
        se = look(found.way.make(epsilon)).se
    except (InfeasibleError, ParameterError):
        se = np.full(wanted.size, np.inf)
    matters = np.isfinite(wanted)
    excess = float(np.clip(np.log(np.max(se[matters] / wanted[matters])), -FAR, FAR))
    found.seen[epsilon] = excess
    return excess


def _settled(found: Found, epsilon: float, wanted: Array, look: Callable[[Mechanism], Precision]) -> Found:
    """Round epsilon up to three digits, and say what it gives and how far it may be off."""
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
    """Return how steeply log standard errors fall in log epsilon, by the nearest looks that are apart."""
    real = {math.log(e): v for e, v in seen.items() if abs(v) < FAR and abs(math.log(e / epsilon)) > 2 * CLOSE}
    if not real:
        return None
    near = min(real, key=lambda x: abs(x - math.log(epsilon)))
    here = seen.get(epsilon, 0.0)
    slope = abs((here - real[near]) / (math.log(epsilon) - near))
    return slope if slope > 1e-3 else None


def as_dict(found: Found) -> dict[str, Any]:
    """Return what a way comes to as plain numbers and words."""
    out: dict[str, Any] = {"way": found.way.name, "unit": found.way.unit, "delta": found.way.delta}
    out |= {"shuffled": found.way.shuffled, "epsilon": found.epsilon, "epsilon_error": found.epsilon_error}
    return out | ({"refused": found.refused} if found.refused else {})
