"""The privacy statement: in words that a person understands, first of all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.release.bounds.wording import bounds_words
from versadp.release.path.order import KEPT
from versadp.release.target.person import units_of
from versadp.release.totals.wording import totals_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from versadp.privacy import PrivacyProfile
    from versadp.release.folder.editions import Edition
    from versadp.release.mechanism import Mechanism
    from versadp.release.path.order import Order
    from versadp.schema import Schema

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
FALSE_ALARMS = 0.01
SINCE = 4  # version of mechanisms whose statements have a figure per batch
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
    mechanism: Mechanism,
    rows: int | None = None,
    order: Order | None = None,
    *,
    alone: bool = False,
    others: Sequence[Edition] = (),
    edition: int = 1,
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
    others : sequence of Edition
        Other editions of the same folder, which hold the same people.
    edition : int
        Number of this edition.
    """
    lines = [*_noise_words(mechanism, rows), *totals_words(mechanism), ""]
    among, promised = None if alone else _among(mechanism, order), mechanism.target and mechanism.target.shuffled
    if order is None and promised and not alone:
        lines += [
            f"Made for releases of at least {promised:,} records with equal public values, in an order that tells",
            "nothing. Smaller ones are refused where a table or file is released, or reports are shuffled. A report",
            "that a device sends has the guarantee against someone who knows which row is whose, and no other.",
            "",
        ]
        if mechanism.totals is not None:
            lines[-2:] = ["that a device sends cannot be made by it: the same noise without totals serves devices.", ""]
        among = promised
    for unit, words in unit_words(mechanism.schema).items():
        lines.append(f"Protecting {words}:")
        if among is not None:
            lines.append(f"  Among {_count(among, 'record')} in an order that tells nothing:")
            # whoever sees no order sees no more than who does: what holds for the latter holds here
            lines += _figures_in_words(mechanism.privacy(unit, shuffled=among), mechanism.privacy(unit))
            lines += _hidden_in_words(mechanism, order, others, edition, unit)
            lines.append("  From someone who knows all the same which row is whose:")
        lines += _figures_in_words(mechanism.privacy(unit))
        if others:
            lines.append(f"  Somebody who is in {_versions(edition, others)}, by all of them together:")
            rows_known = [replace(each, order=KEPT) for each in others] if among is not None else others
            lines += _figures_in_words(_together(mechanism, order if among is None else KEPT, rows_known, unit))
    lines += ["", *_order_words(order, mechanism)]
    if others:
        rest = _count(len({edition, *(each.number for each in others)}) - 1, "other")
        lines.append(f"This is edition {edition}: the folder has {rest} of the same people, with noise of their own.")
    lines += [*bounds_words(mechanism.schema), *_neighbours_words(mechanism.schema)]
    if mechanism.sampler_error:
        error = rounded_up(mechanism.sampler_error)
        lines.append(f"The sampler's distance from ideal noise, at most {error} a record, is included.")
    return "\n".join(lines)


def device_statement(mechanism: Mechanism, reports: int) -> str:
    """Return the guarantee for records that people's devices release, each `reports` times.

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


def privacy_figures(mechanism: Mechanism, rows: int, order: Order, earlier: Sequence[Edition] = ()) -> dict[str, Any]:
    """Return the guarantee as it stands in a manifest: words, and figures at all units."""
    alone = _figures({unit: mechanism.privacy(unit) for unit in units_of(mechanism.schema)})
    if mechanism.version == 1:  # it knows of no order
        return {"statement": privacy_statement(mechanism, rows)} | alone
    figures = {"statement": privacy_statement(mechanism, rows, order, others=earlier, edition=len(earlier) + 1)} | alone
    among = _among(mechanism, order)
    if among is not None:
        hidden = {unit: mechanism.privacy(unit, shuffled=among) for unit in units_of(mechanism.schema)}
        figures |= {"shuffled": {"among": among} | _figures(hidden)}
    if earlier:
        together = {unit: _together(mechanism, order, earlier, unit) for unit in units_of(mechanism.schema)}
        figures |= {"editions": {"count": len(earlier) + 1} | _figures(together)}
    return figures


def _hidden_in_words(
    mechanism: Mechanism, order: Order | None, others: Sequence[Edition], edition: int, unit: str
) -> list[str]:
    """Return what all editions tell together those who do not know which row is whose."""
    if not others:
        return []
    return [
        f"  The same of somebody who is in {_versions(edition, others)}, by all of them together:",
        *_figures_in_words(_together(mechanism, order, others, unit)),
    ]


def _together(mechanism: Mechanism, order: Order | None, others: Sequence[Edition], unit: str) -> PrivacyProfile:
    """Return the composed guarantee of all editions, for a person in all of them."""
    from versadp.release.folder.editions import composed

    return composed(mechanism.privacy(unit, shuffled=None if order is None else order.among), others, unit)


def _versions(edition: int, others: Sequence[Edition]) -> str:
    """Return in how many editions somebody may be, and in how many versions if these are more."""
    editions, versions = len({edition, *(each.number for each in others)}), 1 + sum(each.versions for each in others)
    return f"all {editions} editions" + (f", in {versions} versions" if versions > editions else "")


def _figures(profiles: Mapping[str, PrivacyProfile]) -> dict[str, Any]:
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


def _order_words(order: Order | None, mechanism: Mechanism) -> list[str]:
    if order is None:
        return []
    if order.alike is None:
        return [
            "The records are in the order in which they came. All of this assumes that a record's place there does not",
            "depend on anybody's private values.",
        ]
    told = "The records are sorted by a public hash of what is released of them, so that their order tells nothing. "
    if len(order.alike) == 1:
        return [told + "The", f"smallest group with equal public values has {_count(order.alike[0], 'record')}."]
    figures = [_pairs(mechanism.privacy(shuffled=max(alike, 1))) for alike in order.alike]
    differ = len(set(figures)) > 1 and mechanism.version >= SINCE  # older releases keep their words
    return [
        told + "Each",
        "batch was sorted by itself. Its smallest group with equal public values has",
        *(
            f"  batch {number}: {_count(alike, 'record')}" + (f"; {_protected(mechanism)}: {pairs}" if differ else "")
            for number, (alike, pairs) in enumerate(zip(order.alike, figures, strict=True), 1)
        ),
    ]


def guarantee_line(mechanism: Mechanism, order: Order, others: Sequence[Edition] = ()) -> str:
    """Return the guarantee for a whole record, or for a person who may have several, in one line.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema, noise
    >>> from versadp.release.path.order import Order
    >>> mech = Mechanism(Schema({"age": Bounded(18, 90)}), noise={"age": noise.Window(epsilon=1)})
    >>> guarantee_line(mech, Order((1000,)))[:40]
    'a whole record, among 1,000 alike: (0.5,'
    """
    hides = _among(mechanism, order)
    among = "" if hides is None else f", among {hides:,} alike"
    if others:
        among += f", by all {len(others) + 1} editions"
    unit = units_of(mechanism.schema)[0]
    return f"{_protected(mechanism)}{among}: {_pairs(_together(mechanism, order, others, unit))}"


def _protected(mechanism: Mechanism) -> str:
    """Return in short whom the first guarantee of a mechanism is about."""
    return "a whole record" if mechanism.schema.rows_per_person == 1 else "a person"


def is_weaker(mechanism: Mechanism, before: Order, alike: int) -> bool:
    """Return whether a batch guarantees less than its release was made for, or without a target than it states.

    Parameters
    ----------
    mechanism : Mechanism
    before : Order
        Of the release without the batch.
    alike : int
        How many records the batch's smallest group with equal public values has.
    """
    target, among = mechanism.target, before.among
    if target is not None:  # what was made for no shuffle holds in any order
        return target.shuffled is not None and alike < target.shuffled
    if among is None or alike >= among:
        return False
    units = units_of(mechanism.schema)
    less, more = (
        [float(mechanism.privacy(unit, shuffled=max(n, 1)).delta(e)) for unit in units for e in EPSILONS]
        for n in (among, alike)
    )
    return any(b > a for a, b in zip(less, more, strict=True))


def _pairs(profile: PrivacyProfile) -> str:
    return ", ".join(f"({epsilon:g}, {rounded_up(float(profile.delta(epsilon)))})" for epsilon in EPSILONS)


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
