"""Facts about bounds learnt from private records: the noise, and the share of clipped values.

It stands in a schema beside the bounds (`docs/format.md`), since what they cost is part of every guarantee that the
schema's mechanism states. A person stands once in each of `levels` counts per column, so with D the sum of these over
all columns of a record, or the largest for one attribute,

    rounded Gaussian noise of standard deviation `scale`     mu-GDP, mu = sqrt(2 D)/scale
    two-sided geometric noise, P(k) ~ e^(-|k|/scale)         pure, epsilon = 2 D/scale
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from versadp.errors import SchemaError

GAUSSIAN, GEOMETRIC, EARLIER = "gaussian", "geometric", "earlier"
MOST_LEVELS, MOST_COUNTS, MOST_SCALE = 8, 2**31, 1e12
_FIELDS = {"noise", "scale", "levels", "counts", "share", "coverage", "epsilon", "delta", "unit", "clipped"}


class Clipped(NamedTuple):
    """Estimates of one column from the noisy counts.

    Attributes
    ----------
    below, above : float
        Share of its values beyond the bounds on either side, which are moved to them; may be negative by noise. Of a
        category `above` is the share of the merged levels.
    error : float
        Standard error of either that the noise brings.
    shift : float
        By how much the mean is moved, in the column's own units (days).
    shift_error : float
        Standard error of that, by the noise.
    """

    below: float
    above: float
    error: float
    shift: float
    shift_error: float


@dataclass(frozen=True)
class LearntBounds:
    """Record of how the bounds of a schema were learnt.

    Attributes
    ----------
    noise : {"gaussian", "geometric", "earlier"}
        Of the counts; "earlier" if they were read off an earlier release, which costs nothing more.
    scale : float
        Standard deviation of the Gaussian, or the whole number t of the geometric noise.
    levels : mapping of str to int
        In how many counts a person stands, per column.
    counts : int
        How many noisy counts there are in all.
    share, coverage : float
        As `fit_bounds` took them.
    epsilon, delta : float
        The target of which a share was spent.
    unit : str
        What that target protects.
    clipped : mapping of str to Clipped
    spacing : bool
        Whether the same counts decide on which scale the noise of each number is even (`schema/spacing.py`).
    """

    noise: str
    scale: float
    levels: Mapping[str, int]
    counts: int
    share: float
    coverage: float
    epsilon: float
    delta: float
    unit: str
    clipped: Mapping[str, Clipped] = field(default_factory=dict)
    spacing: bool = False

    def __post_init__(self) -> None:
        wrong = [name for name, held in self._held().items() if not held]
        if wrong:
            raise SchemaError(
                f"what the schema says of learnt bounds is not valid: {', '.join(wrong)}",
                hint="take the schema as fit_bounds made it",
            )
        # by name, as a ledger writes them: the noise of records is keyed by this text
        clipped = {name: Clipped(*map(float, each)) for name, each in sorted(self.clipped.items())}
        object.__setattr__(self, "levels", dict(sorted(self.levels.items())))
        object.__setattr__(self, "clipped", clipped)

    def _held(self) -> dict[str, bool]:
        free, whole = self.noise == EARLIER, self.noise == GEOMETRIC
        known = isinstance(self.levels, Mapping) and isinstance(self.clipped, Mapping)
        levels = known and all(_is_whole(number, 1, MOST_LEVELS) for number in self.levels.values())
        scale = free or (_is_number(self.scale, 1e-3, MOST_SCALE) and (not whole or self.scale % 1 == 0))
        return {
            "noise": self.noise in {GAUSSIAN, GEOMETRIC, EARLIER},
            "scale": scale,
            "levels": levels and bool(self.levels) != free,
            "counts": _is_whole(self.counts, 0, MOST_COUNTS),
            "share": _is_number(self.share, 0, 1),
            "coverage": _is_number(self.coverage, 0, 1),
            "epsilon": _is_number(self.epsilon, 0, math.inf),
            "delta": _is_number(self.delta, 0, 1) and (self.noise != GAUSSIAN or self.delta > 0),
            "unit": self.unit in {"person", "record", "attribute"},
            "clipped": known and all(_is_clipped(each) for each in self.clipped.values()),
            "spacing": isinstance(self.spacing, bool),
        }

    def __hash__(self) -> int:
        return hash((self.noise, self.scale, self.counts, tuple(self.levels.items()), tuple(self.clipped.items())))

    @property
    def is_free(self) -> bool:
        """True if the bounds were learnt without the records that are now to be released."""
        return self.noise == EARLIER

    def sensitivity(self, unit: str) -> int:
        """Return D: in how many counts one record, or one attribute of it, stands."""
        return max(self.levels.values(), default=0) if unit == "attribute" else sum(self.levels.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers."""
        out = asdict(self) | {
            "levels": dict(self.levels),
            "clipped": {name: list(each) for name, each in self.clipped.items()},
        }
        return out if self.spacing else {name: out[name] for name in out if name != "spacing"}

    @classmethod
    def from_dict(cls, data: Any) -> LearntBounds:
        """Read what `to_dict` wrote.

        Examples
        --------
        >>> learnt = LearntBounds("gaussian", 92.0, {"age": 3}, 84, 0.05, 0.99, 1.0, 1e-6, "record")
        >>> LearntBounds.from_dict(learnt.to_dict()) == learnt, learnt.sensitivity("record")
        (True, 3)
        """
        if not isinstance(data, Mapping) or set(data) - {"spacing"} != _FIELDS:
            raise SchemaError(f"learnt bounds have {', '.join(sorted(_FIELDS))}, nothing else")
        return cls(**data)


def _is_number(value: object, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _is_whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_clipped(value: object) -> bool:
    if not isinstance(value, list | tuple) or len(value) != len(Clipped._fields):
        return False
    return all(_is_number(each, -1e300, 1e300) for each in value)
