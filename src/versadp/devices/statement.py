"""Guarantees of collected reports in words: against whom which figure holds, and what forged reports can do.

**Forged reports.** A mean is estimated by the average of `c + (y - c)/κ`, y what was released, κ the probability to be
kept, c the middle of the bounds (`Block.products`). A report that no device made says whatever its sender likes, at
most half a window outside the bounds. So a share f of such reports moves a mean that lies in the middle by up to

    f (1/2 + (w - 1)/(2 m)) / κ       widths,        w points in the window, m cells between the bounds,

and the share of one of L levels by up to ``f (1 - 1/L) / κ``. An honest person at the bound moves it by f/2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp.errors import NoSuchName
from versadp.release.folder.metadata import MAX_TEXT
from versadp.release.target.statement import rounded_up
from versadp.schema import Bounded, Dates

if TYPE_CHECKING:
    from versadp.devices.collection import Settings
    from versadp.release.mechanism import Mechanism

DELTA = 1e-6  # at which figures are printed that are not pure
FORGED = 0.01  # share of forged reports that the statement speaks of
MOST_COLUMNS = 12  # of which the statement says what forged reports do
FURTHER = (2, 12)  # different reports of which the statement says what they cost together


def honest_reports(smallest: int, honest: int | None) -> int:
    """Return how many reports of the smallest group are assumed to be honest: half of them unless it is said.

    Examples
    --------
    >>> honest_reports(9_581, None), honest_reports(9_581, 8_000), honest_reports(100, 8_000)
    (4790, 8000, 100)
    """
    return max(min(smallest, smallest // 2 if honest is None else honest), 1)


def forged_shift(mechanism: Mechanism, column: str, share: float = FORGED) -> float:
    """Return how far forged reports move a mean that lies in the middle, in widths; or the share of a level.

    Parameters
    ----------
    mechanism : Mechanism
        With windows or randomised response.
    column : str
        A private column.
    share : float
        Share of reports that are forged.

    Examples
    --------
    >>> from versadp import Bounded, Categorical, Mechanism, Schema, noise
    >>> schema = Schema({"x": Bounded(0, 1), "g": Categorical([f"l{i}" for i in range(20)])})
    >>> mech = Mechanism(schema, noise={"x": noise.Window(epsilon=1), "g": noise.Window(epsilon=1)})
    >>> round(forged_shift(mech, "x"), 3), round(forged_shift(mech, "g"), 2)
    (0.021, 0.12)
    """
    for block in mechanism.blocks:
        if column in block.columns:
            derived, keep = block.derived(), int(block.derived()["threshold"]) / 2**64
            declared = mechanism.schema.columns[column]
            if isinstance(declared, Bounded):
                at = block.columns.index(column)
                reach = (derived["window"][at] - 1) / (2 * derived["last"][at])
                return share * (0.5 + reach) / keep if keep else float("inf")
            levels = getattr(declared, "outcomes", 2)
            return share * (1 - 1 / levels) / keep if keep else float("inf")
    raise NoSuchName(f"the mechanism has no private column {column!r}", hint="give one of its private columns")


def collected_statement(settings: Settings, smallest: int, taken: int) -> str:
    """Return what a round of reports guarantees against whom.

    Parameters
    ----------
    settings : Settings
    smallest : int
        Reports in the smallest group with equal public values.
    taken : int
        Reports in all.
    """
    head = f"Round {settings.round!r}: {taken:,} reports, each with noise that was added on a person's own device."
    return "\n\n".join([head, _local(settings), _shuffled(settings, smallest), _forged(settings.mechanism)])


def _local(settings: Settings) -> str:
    """Return what holds against the collector, the network, and over several rounds against everybody."""
    profile = settings.mechanism.privacy()
    several = "; ".join(f"{count} together {_epsilon(profile.compose(count))}" for count in FURTHER)
    said = (
        "1. Against the collector, the network, whoever sees a report arrive, and from the second round on against "
        f"everybody: the noise of the device alone. One report has {_epsilon(profile)}, for a whole record. "
        f"Different reports of one person add up: {several}. A device repeats an unchanged answer with the same noise, "
        "so that its reports can be linked: no shuffle is claimed over several rounds."
    )
    if settings.rounds == 1:
        return said
    together = _epsilon(profile.compose(settings.rounds))
    return f"{said} These people reported in {settings.rounds} rounds, this one included: up to {together} together."


def _shuffled(settings: Settings, smallest: int) -> str:
    """Return what holds against a reader of the first round's release alone."""
    if settings.rounds > 1:
        return "2. Nothing more is claimed for readers of this release: its people reported in an earlier round too."
    honest = honest_reports(smallest, settings.honest)
    profile = settings.mechanism.privacy(shuffled=honest)
    chosen = "half of it, as nothing else was said" if settings.honest is None else "as --honest says"
    return (
        f"2. Against a reader of the first round's release and of nothing else: {_epsilon(profile)}, if at least "
        f"H = {honest:,} reports of the smallest group with equal public values, which has {smallest:,}, are honest "
        f"and unknown to the reader ({chosen}). Whoever forged or knows the others can subtract them. H is an "
        "assumption, not a count."
    )


def _forged(mechanism: Mechanism) -> str:
    """Return how far forged reports move what is estimated."""
    said = []
    for name in [name for name in mechanism.schema.columns if name in mechanism.schema.private][:MOST_COLUMNS]:
        shift, column = forged_shift(mechanism, name), mechanism.schema.columns[name]
        if isinstance(column, Bounded):
            unit = " days" if isinstance(column, Dates) else ""
            said.append(
                f"the mean of {name} by {rounded_up(shift)} of its width ({rounded_up(shift * column.width)}{unit})"
            )
        else:
            said.append(f"the share of a level of {name} by {rounded_up(shift)}")
    left = len(mechanism.schema.private) - len(said)
    more = [f"{left} further columns likewise"] if left else []
    return (
        f"3. Nobody can tell a forged report from an honest one. If {FORGED:.0%} of the reports are forged, they move, "
        f"at most: {', '.join([*said, *more])} (means that lie in the middle); twice as many move them twice as far."
    )


def shortened(statement: str) -> str:
    """Return a statement at the length that metadata take.

    Examples
    --------
    >>> shortened("short"), len(shortened("word " * 10_000)) <= MAX_TEXT
    ('short', True)
    """
    return statement if len(statement) <= MAX_TEXT else statement[: MAX_TEXT - 4].rsplit(" ", 1)[0] + " ..."


def _epsilon(profile: object) -> str:
    """Return the epsilon of a profile in words: pure, or at a small delta."""
    pure = float(profile.epsilon(0)) if profile.delta_floor == 0 else float("inf")  # type: ignore[attr-defined]
    approximate = float(profile.epsilon(DELTA))  # type: ignore[attr-defined]
    if approximate >= 0.99 * pure:
        return f"epsilon {rounded_up(pure)}"
    return f"epsilon {rounded_up(approximate)} at delta {DELTA:g}"
