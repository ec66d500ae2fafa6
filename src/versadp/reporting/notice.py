"""A notice to the people in a release, in plain words: what was published, and what this means for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp.reporting.document import Document, Section
from versadp.reporting.facts import named
from versadp.reporting.label import SEEDED

if TYPE_CHECKING:
    from versadp.reporting.facts import Facts


def notice(facts: Facts) -> Document:
    """Return the notice.

    Examples
    --------
    >>> import versadp as vdp
    >>> from versadp.reporting.facts import Facts
    >>> [section.title for section in notice(Facts(vdp.example(2000))).sections][:2]
    ['What was published', 'What this means for you']
    """
    title = facts.metadata.title or "A private release"
    lead = f"Information for the people whose records are in this release: {facts.said('covers')}."
    sections = (
        Section("What was published", _published(facts)),
        Section("What this means for you", _means(facts)),
        Section("What is not hidden", items=_open(facts)),
        Section("Who is responsible, and where to ask", items=_responsible(facts)),
    )
    return Document(title, lead, (), sections, SEEDED if facts.release.insecure else "")


def _published(facts: Facts) -> tuple[str, ...]:
    return (
        (
            f"A table of {facts.rows:,} rows, one for each record, without names and identifiers. Before it was "
            f"published, the values of {named(facts.schema.private)} were changed at random in every row, so that a "
            "row does not show what is true of anybody. The random changes follow a known rule, so that statistics "
            "about all people together can still be computed."
        ),
        f"Purpose: {facts.said('purpose')}",
    )


def _means(facts: Facts) -> tuple[str, ...]:
    record, local, attribute = (
        facts.figure("record"),
        facts.figure("record", "local"),
        facts.figure("attribute", "local"),
    )
    out = [
        (
            "Think of somebody who knows everything about everybody else, has two guesses about you, and may be "
            f"wrong about one in a hundred others. With this release they recognise at most {record.found(0.01):g} "
            "in a hundred people like you; without it, by guessing, one in a hundred."
        ),
    ]
    if record.attacker == "shuffled":
        out.append(f"If they also know which row is yours, it is at most {local.found(0.01):g} in a hundred.")
    out.append(
        "If they know which row is yours and everything about you but one answer, and that answer is one of two "
        f"that are equally likely, they guess it right in at most {attribute.guessed:g} of a hundred cases; by "
        "tossing a coin in 50."
    )
    if local.given_away:
        out.append(
            f"In about {local.given_away:g}% of the rows, chosen by chance, values are published unchanged. Nobody "
            "chose who they are, but such a row can sometimes be recognised: assume that yours may be one of them."
        )
    else:
        out.append("Whatever your row shows, it could have come from any other record: you can always deny it.")
    out.append(
        "These figures are upper limits. They hold for everybody, however unusual, as long as the random numbers "
        "behind the changes stay secret."
    )
    return tuple(out)


def _open(facts: Facts) -> tuple[str, ...]:
    public = [f"{named(facts.schema.public)}: published as it is."] if facts.schema.public else []
    public += [f"Whether {name} is missing." for name in facts.schema.public_patterns]
    before = facts.metadata.earlier
    if facts.editions > 1:
        public.append(f"There are {facts.editions} editions of this release; the figures above count all of them.")
    if before:
        public.append(
            f"{before} release{'s' * (before != 1)} about these people {'were' if before > 1 else 'was'} made before "
            "this one. Who is in several of them can be learnt more about than these figures say."
        )
    return (
        *public,
        f"That the table has {facts.rows:,} rows, and that you are in it, if somebody knows it from elsewhere.",
        (
            "What is true of many people at once: that is what the release is for. It may apply to you too, whether "
            "you are in it or not."
        ),
        "Further releases would add to what can be learnt.",
    )


def _responsible(facts: Facts) -> tuple[str, ...]:
    return (
        f"Responsible: {facts.said('curator')}",
        f"Contact: {facts.said('contact')}",
        f"Why this level of protection: {facts.said('rationale')}",
        f"Date: {facts.said('date')}",
    )
