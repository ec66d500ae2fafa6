"""Mechanisms that meet one target in different ways, each with what it shows, protects, serves and costs, as numbers.

Costs are multiples of the standard errors of raw data (`noise/cost.py` has the formulas and what they assume).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from versadp.errors import InfeasibleError, ParameterError
from versadp.release.target.calibrate import calibrate
from versadp.release.target.layouts import EACH, JOINT
from versadp.release.target.person import units_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from versadp.noise.cost import Decoders
    from versadp.privacy import PrivacyProfile
    from versadp.release.mechanism import Mechanism
    from versadp.release.target.layouts import Layout
    from versadp.schema import Schema

FALSE_ALARMS = 0.01
LAPLACE = "zero-inflated Laplace"


@dataclass(frozen=True)
class Candidate:
    """One way to meet a target, or why there is none.

    Attributes
    ----------
    name : str
    mechanism : Mechanism, optional
    refused : str
        Why there is no mechanism of this kind.
    """

    name: str
    mechanism: Mechanism | None
    refused: str = ""

    def costs(self) -> dict[str, dict[str, float | None]]:
        """Return by how much the noise multiplies standard errors: of mean, slope and median, or of a level's share."""
        out: dict[str, dict[str, float | None]] = {}
        if self.mechanism is None:
            return out
        for block in self.mechanism.blocks:
            decoders, medians = block.decoders(), block.median_costs()
            for name, factor in block.inflation().items():
                categorical = name in self.mechanism.schema.categorical
                out[name] = {"share" if categorical else "mean": factor**0.5}
                out[name] |= {"slope": decoders[name].slope} if name in decoders else {}
                out[name] |= {"median": medians[name]} if name in medians else {}
        return out

    def to_dict(self, delta: float, shuffled: int | None = None) -> dict[str, Any]:
        """Return everything about it as plain numbers and words.

        Parameters
        ----------
        delta : float
            Where epsilon is read off.
        shuffled : int, optional
            Among how many records a shuffled release hides each.
        """
        if self.mechanism is None:
            return {"name": self.name, "refused": self.refused}
        blocks = self.mechanism.blocks
        units = units_of(self.mechanism.schema)
        ways = {"local": None} | ({} if shuffled is None else {"shuffled": shuffled})
        return {
            "name": self.name,
            "noise": [{"columns": list(block.columns), **block.figures()} for block in blocks],
            "privacy": {
                way: {unit: _figures(self.mechanism.privacy(unit, shuffled=n), delta) for unit in units}
                for way, n in ways.items()
            },
            "serves": {", ".join(block.columns): block.serves() for block in blocks},
            "costs": self.costs(),
        }


def _figures(profile: PrivacyProfile, delta: float) -> dict[str, float | None]:
    """Return epsilon at a delta, None if there is none, and what the best attacker finds."""
    try:
        epsilon: float | None = float(profile.epsilon(delta))
    except ParameterError:
        epsilon = None
    found = 1 - float(profile.beta(FALSE_ALARMS))
    return {"epsilon": epsilon, "delta": delta, "false alarms": FALSE_ALARMS, "found": found}


def candidates(
    schema: Schema,
    goal: Mapping[str, Any],
    *,
    unit: str | None = None,
    shuffled: int | None = None,
    exact_rate: float | None = None,
    chosen: Layout | None = None,
) -> list[Candidate]:
    """Return windows, one a column, jointly and as `calibrate` lays them out, and the paper's noise.

    Parameters
    ----------
    schema : Schema
    goal : mapping
        The target, as `calibrate` takes it.
    unit : {"person", "record", "attribute"}, optional
    shuffled : int, optional
        For a shuffled release of at least so many records.
    exact_rate : float, optional
        Of the paper's noise.
    chosen : Layout, optional
        The layout that `calibrate` takes, shown as well if it is another one.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> schema = Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5)})
    >>> for candidate in candidates(schema, {"epsilon": 8.0}):
    ...     print(candidate.name, {name: round(cost["mean"], 2) for name, cost in candidate.costs().items()})
    one window a column {'age': 1.16, 'income': 1.16}
    one joint window {'age': 1.03, 'income': 1.03}
    zero-inflated Laplace {}
    """
    window = partial(calibrate, schema, **goal, unit=unit, noise="window", shuffled=shuffled)
    makers: dict[str, Callable[[], Mechanism]] = {EACH: partial(window, groups=list(schema.private))}
    if len(schema.private) > 1:
        makers[JOINT] = partial(window, groups=[schema.private])
    if chosen is not None and chosen.name not in makers:
        makers[chosen.name] = partial(window, groups=chosen.groups)
    makers[LAPLACE] = partial(calibrate, schema, **goal, unit=unit, noise="zil", exact_rate=exact_rate)
    return [_try(name, make) for name, make in makers.items()]


def _try(name: str, make: Callable[[], Mechanism]) -> Candidate:
    try:
        return Candidate(name, make())
    except (InfeasibleError, ParameterError) as refusal:
        return Candidate(name, None, str(refusal).splitlines()[0])


def decoders(mechanism: Mechanism, spread: float) -> dict[str, Decoders]:
    """Return the decoders of all numbers, for a standard deviation in widths."""
    return {name: each for block in mechanism.blocks for name, each in block.decoders(spread).items()}
