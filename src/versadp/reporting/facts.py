"""Figures of a dossier, computed from a release's mechanism and manifest; no record is read.

Two attackers: one who knows which row is whose (`local`), and one who does not (`shuffled`, if the rows are in an
order that tells nothing). Two units: a whole record, and one attribute of it. Every figure is rounded toward less
privacy, and counts in all editions of the folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from versadp.release.folder.metadata import SAID
from versadp.release.target.person import units_of
from versadp.release.target.statement import rounded_up
from versadp.reporting.guarantee import DELTA, NONE, local_privacy, pair_at, scientific

if TYPE_CHECKING:
    from versadp.privacy import PrivacyProfile
    from versadp.release.folder.metadata import Metadata
    from versadp.release.release import Release
    from versadp.schema import Schema

FALSE_ALARMS = (0.001, 0.01, 0.05, 0.1)
MOST_NAMES = 12  # columns that a sentence names
NOT_STATED = "not stated"


@dataclass(frozen=True)
class Figure:
    """One guarantee: of a unit, against an attacker.

    Attributes
    ----------
    unit, attacker : str
        "record" or "attribute"; "shuffled" or "local".
    profiles : tuple of PrivacyProfile
        All of these hold: whoever sees no order sees no more than who does.
    delta : float
        At which epsilon is told.
    """

    unit: str
    attacker: str
    profiles: tuple[PrivacyProfile, ...]
    delta: float

    @cached_property
    def pair(self) -> tuple[float, float] | None:
        """(epsilon, delta), or None if nothing can be promised."""
        pure = [each.pure_epsilon for each in self.profiles if not each.delta_floor]
        if self.attacker == "local" and pure and min(pure) < float("inf"):
            return float(rounded_up(min(pure))), 0.0
        pairs = [found for each in self.profiles if (found := pair_at(each, self.delta)) is not None]
        return min(pairs, key=lambda pair: (pair[1], pair[0])) if pairs else None

    def found(self, alarms: float) -> float:
        """Return the most that an attacker finds of the people looked for at a rate of false alarms, in percent."""
        return _percent(1 - max(float(each.beta(alarms)) for each in self.profiles))

    @cached_property
    def guessed(self) -> float:
        """Largest share of right guesses, in percent, of an attacker between two equally likely versions."""
        return _percent((1 + min(each.advantage() for each in self.profiles)) / 2)

    @cached_property
    def given_away(self) -> float:
        """The share of records that is given away for certain, in percent."""
        share = min(each.exact_share for each in self.profiles)
        return 0.0 if share <= NONE else _percent(share)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, for machines."""
        epsilon, delta = self.pair or (None, None)
        return {
            "unit": self.unit,
            "attacker": self.attacker,
            "epsilon": epsilon,
            "delta": delta,
            "delta_floor": float(rounded_up(min(each.delta_floor for each in self.profiles))),
            "found_percent": {f"{100 * alarms:g}": self.found(alarms) for alarms in FALSE_ALARMS},
            "guessed_percent": self.guessed,
            "given_away_percent": self.given_away,
        }


@dataclass(frozen=True)
class Facts:
    """Facts about a release that need no records.

    Examples
    --------
    >>> import versadp as vdp
    >>> facts = Facts(vdp.example(2000))
    >>> [(figure.unit, figure.attacker) for figure in facts.figures]
    [('record', 'shuffled'), ('record', 'local'), ('attribute', 'shuffled'), ('attribute', 'local')]
    >>> facts.figures[0].found(0.01) < facts.figures[1].found(0.01)
    True
    """

    release: Release

    @property
    def metadata(self) -> Metadata:
        """Metadata that the publisher stated."""
        return self.release.metadata

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.release.mechanism.schema

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.release)

    @property
    def shuffled(self) -> bool:
        """True if the rows are in an order that tells nothing."""
        return self.release.order.alike is not None

    @cached_property
    def smallest(self) -> int | None:
        """Size of the smallest group with equal public values, if it is known."""
        if self.release.order.alike:
            return min(self.release.order.alike)
        return None if self.schema.public or self.schema.public_patterns else self.rows

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """All guarantees, that of the release for a whole record first."""
        target = self.release.mechanism.target
        delta = DELTA if target is None or target.epsilon is None or not target.delta else target.delta
        out = []
        for unit in units_of(self.schema):
            local, whole = local_privacy(self.release, unit), self.release.privacy(unit)
            if whole != local:
                out.append(Figure(unit, "shuffled", (whole, local), delta))
            out.append(Figure(unit, "local", (local,), delta))
        return tuple(out)

    def figure(self, unit: str, attacker: str | None = None) -> Figure:
        """Return a figure: that of the release, or against one attacker."""
        return next(each for each in self.figures if each.unit == unit and attacker in {None, each.attacker})

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of metadata that the publisher did not state."""
        names = (*SAID, "date", "software")
        return tuple(name for name in names if getattr(self.metadata, name) is None)

    @property
    def editions(self) -> int:
        """Number of editions in its folder."""
        return len({self.release.edition, *(edition.number for edition in self.release.other_editions)})

    @property
    def earlier(self) -> str:
        """Number of releases of the same population before this one; manifests of older versions do not say."""
        return NOT_STATED if self.metadata.software is None else f"{self.metadata.earlier}"

    def said(self, name: str) -> str:
        """Return what the publisher says of something, or that it is not stated."""
        return getattr(self.metadata, name) or NOT_STATED

    @property
    def person(self) -> str:
        """Whom a record stands for, as far as the schema says."""
        if self.schema.id is not None:
            return "one person: the file had one record per person, told by an id that is not released"
        return "one row: whoever stands in several rows is protected row by row"


def named(names: tuple[str, ...] | list[str]) -> str:
    """Return some names in a sentence, as many as it can bear.

    Examples
    --------
    >>> named(["age", "income"])
    'age, income'
    """
    shown = ", ".join(names[:MOST_NAMES])
    return shown + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")


def shown_pair(figure: Figure) -> str:
    """Return (epsilon, delta) in words.

    Examples
    --------
    >>> from versadp.privacy import approx_dp
    >>> shown_pair(Figure("record", "local", (approx_dp(1.0, 0.01),), 0.05))
    'epsilon 0.944, delta 0.05'
    """
    if figure.pair is None:
        return f"none: delta is never below {rounded_up(min(each.delta_floor for each in figure.profiles))}"
    epsilon, delta = figure.pair
    return f"epsilon {epsilon:g}, " + (f"delta {scientific(delta)}" if delta else "delta 0 (pure)")


def _percent(share: float) -> float:
    return min(float(rounded_up(100 * share)), 100.0)
