"""The privacy statement: in words that a person understands, first of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.release.target.person import units_of

if TYPE_CHECKING:
    from versadp.privacy import PrivacyProfile
    from versadp.release.mechanism import Mechanism
    from versadp.release.path.order import Order
    from versadp.schema import Schema

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
FALSE_ALARMS = 0.01
_UNIT_WORDS = {
    "person": "a person (all private columns in all rows of one person, {rows} at most, replaced by others)",
    "record": "a whole record (all private columns of one person replaced by others)",
    "attribute": "one attribute (one private column of one person replaced by another value)",
}
_AGAIN = "Each further release of the same people adds to what can be learnt."
_OF_SEVERAL = {  # where a person may have several rows, a record is one of them
    "record": "a whole record (all private columns of one row of a person replaced by others)",
    "attribute": "one attribute (one private column of one row of a person replaced by another value)",
}


def unit_words(schema: Schema) -> dict[str, str]:
    """Return the units of a schema that differ, the default first, in words.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> print(unit_words(Schema({"age": Bounded(18, 90)}, id="pid", rows_per_person=3))["person"])
    a person (all private columns in all rows of one person, 3 at most, replaced by others)
    """
    words = _UNIT_WORDS if schema.rows_per_person == 1 else _UNIT_WORDS | _OF_SEVERAL
    return {unit: words[unit].format(rows=f"{schema.rows_per_person:,}") for unit in units_of(schema)}


def _neighbours_words(schema: Schema) -> list[str]:
    """Return for which data sets the guarantee holds, and what it does not protect."""
    if schema.rows_per_person == 1:
        return [
            "This holds for replacing one record, with the number of records public. Public columns are not protected,",
            f"and neither is anything that they reveal. {_AGAIN}",
        ]
    return [
        f"A person may have up to {schema.rows_per_person:,} rows: targets, budgets and charges are a person's.",
        "How many rows somebody has is not protected: this holds for replacing all rows of one person by as many",
        "others, with the number of rows public. Public columns are not protected, and neither is anything that they",
        f"reveal. {_AGAIN}",
    ]


def privacy_statement(
    mechanism: Mechanism, rows: int | None = None, order: Order | None = None, *, alone: bool = False
) -> str:
    """Return the guarantee of a mechanism in words.

    Parameters
    ----------
    mechanism : Mechanism
    rows : int, optional
        Number of records, to say how many to expect unchanged.
    order : Order, optional
        How the records are ordered, if that is known; if not, a mechanism that was calibrated for a shuffled release
        states the guarantee of such a release, and that a single report has only its own noise.
    alone : bool
        For a single report, as a device sends it: it hides among no others, whatever the mechanism was calibrated for.
    """
    lines = [*_noise_words(mechanism, rows), ""]
    among, promised = None if alone else _among(mechanism, order), mechanism.target and mechanism.target.shuffled
    if order is None and promised and not alone:
        lines += [
            f"Made for releases of at least {promised:,} records with equal public values, in an order that tells",
            "nothing. Smaller ones are refused where a table or file is released, or reports are shuffled. A report",
            "that a device sends has the guarantee against someone who knows which row is whose, and no other.",
            "",
        ]
        among = promised
    for unit, words in unit_words(mechanism.schema).items():
        lines.append(f"Protecting {words}:")
        if among is not None:
            lines.append(f"  Among {_count(among, 'record')} in an order that tells nothing:")
            # whoever sees no order sees no more than who does: what holds for the latter holds here
            lines += _figures_in_words(mechanism.privacy(unit, shuffled=among), mechanism.privacy(unit))
            lines.append("  From someone who knows all the same which row is whose:")
        lines += _figures_in_words(mechanism.privacy(unit))
    lines += ["", *_order_words(order), *_neighbours_words(mechanism.schema)]
    if mechanism.sampler_error:
        error = rounded_up(mechanism.sampler_error)
        lines.append(f"The sampler's distance from ideal noise, at most {error} a record, is included.")
    return "\n".join(lines)


def device_statement(mechanism: Mechanism, reports: int) -> str:
    """Return the guarantee for records that people's devices release, so many times each.

    Parameters
    ----------
    mechanism : Mechanism
    reports : int
        How many reports with different values one person may send.
    """
    reports = inputs.whole("reports", reports, 1)
    lines = [
        privacy_statement(mechanism, alone=True),
        "",
        "On a person's device the same values get the same noise for ever: sending them again reveals nothing more. A",
        "block of columns whose values change gets fresh noise. That it changed, or came back to an earlier value,",
        "shows, and is not protected. A lost key, a second device and a changed law of a column (its epsilon, bounds,",
        "levels or name) draw fresh noise for values that did not change: each of them counts as a further report.",
        f"{_count(reports, 'report').capitalize()} with different values, together:",
    ]
    for unit, words in unit_words(mechanism.schema).items():
        profile = mechanism.privacy(unit).compose(reports)
        lines += [f"Protecting {words}, every time:", *_figures_in_words(profile)]
    return "\n".join(lines)


def privacy_figures(mechanism: Mechanism, rows: int, order: Order) -> dict[str, Any]:
    """Return the guarantee as it stands in a manifest: words, and figures at all units."""
    if mechanism.version == 1:  # it knows of no order
        return {"statement": privacy_statement(mechanism, rows)} | _figures(mechanism, None)
    figures = {"statement": privacy_statement(mechanism, rows, order)} | _figures(mechanism, None)
    among = _among(mechanism, order)
    return figures if among is None else figures | {"shuffled": {"among": among} | _figures(mechanism, among)}


def _figures(mechanism: Mechanism, among: int | None) -> dict[str, Any]:
    profiles = {unit: mechanism.privacy(unit, shuffled=among) for unit in units_of(mechanism.schema)}
    return {
        unit: {
            "delta_floor": float(profile.delta_floor),
            "epsilon_delta": [[epsilon, float(profile.delta(epsilon))] for epsilon in EPSILONS],
        }
        for unit, profile in profiles.items()
    }


def _figures_in_words(*hold: PrivacyProfile) -> list[str]:
    """Return the figures of profiles that all hold."""
    deltas = {epsilon: min(float(profile.delta(epsilon)) for profile in hold) for epsilon in EPSILONS}
    pairs = ", ".join(f"({epsilon:g}, {rounded_up(delta)})" for epsilon, delta in deltas.items())
    found = rounded_up(100 * (1 - max(float(profile.beta(FALSE_ALARMS)) for profile in hold)))
    floor = rounded_up(min(profile.delta_floor for profile in hold))
    attack = f"An attacker who may raise {FALSE_ALARMS:.0%} false alarms tells two versions apart in at most"
    return [
        f"  {attack} {found}% of cases.",
        f"  (epsilon, delta) for every pair of: {pairs}; delta is never below {floor}.",
    ]


def _among(mechanism: Mechanism, order: Order | None) -> int | None:
    """Return among how many records each hides, where that is worth a word."""
    promised = None if mechanism.target is None else mechanism.target.shuffled
    among = promised if order is None else order.among
    alone = mechanism.privacy("record")
    return among if among is not None and mechanism.privacy("record", shuffled=among) != alone else None


def _order_words(order: Order | None) -> list[str]:
    if order is None:
        return []
    if order.alike is None:
        return [
            "The records are in the order in which they came. All of this assumes that a record's place there does not",
            "depend on anybody's private values.",
        ]
    return [
        "The records are sorted by a public hash of what is released of them, so that their order tells nothing. The",
        f"smallest group with equal public values has {_count(min(order.alike), 'record')}.",
    ]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _noise_words(mechanism: Mechanism, rows: int | None) -> list[str]:
    lines = [sentence for block in mechanism.blocks for sentence in block.sentences(rows)]
    where = [f"where {name} is missing" for name in mechanism.schema.public_patterns]
    if public := [*mechanism.schema.public, *where]:
        lines.append(f"Public, released as they are: {', '.join(public)}.")
    return lines


def rounded_up(value: float) -> str:
    """Show three digits, rounded up: a statement never promises more than holds (a millionth of it aside).

    Examples
    --------
    >>> rounded_up(0.12341)
    '0.124'
    """
    from decimal import ROUND_CEILING, Context, Decimal

    shown = Context(prec=3, rounding=ROUND_CEILING).create_decimal(Decimal(value * (1 - 1e-6)))
    return f"{float(shown):g}"
