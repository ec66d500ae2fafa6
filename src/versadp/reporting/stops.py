"""The stops of the planning page's sliders: which noise, and its epsilons, deltas and numbers of records."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from versadp.noise.block import UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RECORDS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)


@dataclass(frozen=True)
class Way:
    """A way to meet a target, and the stops of its sliders."""

    name: str
    title: str
    words: str
    noise: str
    epsilons: Sequence[float]
    deltas: Sequence[float]
    shuffled: bool = False


WAYS = (
    Way(
        "windows",
        "Windows",
        "Each record shows the truth up to a window, or is drawn at random; pure epsilon, whoever looks at it.",
        "window",
        (0.5, 1, 2, 3, 4, 6, 8, 10, 12),
        (0.0,),
    ),
    Way(
        "shuffled",
        "Windows, shuffled",
        "The same noise in a release whose order tells nothing: epsilon and delta in the ordinary, central sense. With "
        "public columns, records means the smallest group with equal public values.",
        "window",
        (0.25, 0.5, 1, 2, 4),
        (1e-5, 1e-6, 1e-8),
        shuffled=True,
    ),
    Way(
        "laplace",
        "Zero-inflated Laplace",
        "The paper's noise: a few records are released unchanged, which delta pays for, and serve every loss.",
        "zil",
        (1, 2, 4, 8),
        (0.02, 0.05, 0.1, 0.2),
    ),
)


def around(records: int) -> tuple[int, ...]:
    """Return stops of which a number of records is the middle one, where the page opens.

    Examples
    --------
    >>> around(3500)
    (35, 350, 3500, 35000, 350000)
    """
    return tuple(max(2, records * 10**power // 100) for power in range(5))


def stops_of(
    way: Way, records: Sequence[int], units: Sequence[str] = UNITS
) -> Iterator[tuple[str, float, float, int | None]]:
    """Yield unit, epsilon, delta and, where the noise depends on it, number of records of each stop."""
    for epsilon, delta, count in product(way.epsilons, way.deltas, records if way.shuffled else [None]):
        for unit in units:
            yield unit, epsilon, delta, count


def key(way: str, unit: str, epsilon: float, delta: float, count: int | None) -> str:
    """Return what the page calls a stop of its sliders.

    Examples
    --------
    >>> key("shuffled", "record", 0.5, 1e-6, 1000), key("windows", "record", 4, 0.0, None)
    ('shuffled record 0.5 1e-06 1000', 'windows record 4 0 -')
    """
    return f"{way} {unit} {epsilon:g} {delta:g} {'-' if count is None else count}"
