"""The privacy label: what a release promises, on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp.reporting.document import Card, Document, Section
from versadp.reporting.facts import NOT_STATED, named, shown_pair

if TYPE_CHECKING:
    from versadp.reporting.facts import Facts, Figure

SEEDED = "Not private: the noise of this release came from a seed, and whoever guesses it removes the noise."
_ATTACKERS = {"shuffled": "if nobody tells which row is whose", "local": "even if it is known which row is whose"}
MOST_SHOWN = 300  # characters of a text on one page


def label(facts: Facts) -> Document:
    """Return the label of a release.

    Examples
    --------
    >>> import versadp as vdp
    >>> from versadp.reporting.facts import Facts
    >>> label(Facts(vdp.example(2000))).cards[0].term
    'Guarantee for a whole record, if nobody tells which row is whose'
    """
    figures = [facts.figure("record"), facts.figure("attribute")]
    figures += [facts.figure("record", "local")] if facts.figure("record").attacker == "shuffled" else []
    cards = (*map(guarantee_card, figures), *_other_cards(facts))
    said = tuple(f"{name}: {short(facts.said(key))}" for name, key in _SAID.items())
    protected = f"Protected is the content of {named(facts.schema.private)}, of {facts.person}."
    return Document(
        facts.metadata.title or "A private release",
        f"Privacy label of {facts.rows:,} records with noise on each, released by "
        f"{facts.metadata.curator or NOT_STATED}.",
        cards,
        (
            Section("Protected, and not", (protected, " ".join(not_protected(facts)))),
            Section("Who must be trusted", trusted(facts)),
            Section("About the release", items=said),
        ),
        SEEDED if facts.release.insecure else "",
        compact=True,
    )


_SAID = {
    "Responsible": "curator",
    "Contact": "contact",
    "Purpose": "purpose",
    "Covers": "covers",
    "Why this level": "rationale",
    "Date": "date",
    "Software": "software",
}


def guarantee_card(figure: Figure) -> Card:
    """Return a guarantee as a card."""
    what = "a whole record" if figure.unit == "record" else "one attribute"
    found = f"finds at most {figure.found(0.01):g}% of people, wrongly accusing 1% of others; guessing finds 1%"
    return Card(
        f"Guarantee for {what}, {_ATTACKERS[figure.attacker]}", shown_pair(figure), f"the best attacker {found}"
    )


def _other_cards(facts: Facts) -> list[Card]:
    given = facts.figure("record", "local").given_away
    share, why = (f"about {given:g}%", "at random; they may be recognised") if given else ("none", "all can be denied")
    cards = [
        Card("Records given away for certain", share, why),
        Card("Smallest group with equal public values", group_words(facts), "the larger, the better"),
        Card("Releases of these people before", facts.earlier, "that the publisher's ledger knew of"),
    ]
    if facts.editions > 1:
        number = f"{facts.release.edition} of {facts.editions}"
        cards.append(Card("Edition", number, "the figures count all editions of this folder"))
    return cards


def group_words(facts: Facts) -> str:
    """Return how large the smallest group with equal public values is."""
    return "not known" if facts.smallest is None else f"{facts.smallest:,} record{'s' * (facts.smallest != 1)}"


def short(text: str) -> str:
    """Return a text in one line, cut if it is long.

    Examples
    --------
    >>> len(short("word " * 400))
    300
    """
    line = " ".join(text.split())
    return line if len(line) <= MOST_SHOWN else f"{line[: MOST_SHOWN - 1]}…"


def not_protected(facts: Facts) -> list[str]:
    """Return sentences about what is not protected."""
    open_ = [*facts.schema.public, *(f"where {name} is missing" for name in facts.schema.public_patterns)]
    out = [f"Public, released as it is, and not protected: {named(open_)}."] if open_ else []
    return [
        *out,
        (
            f"Not protected either: that the release has {facts.rows:,} records, that somebody is among them, and "
            "what is true of the people as a whole."
        ),
        "Each further release of the same people adds to what can be learnt.",
    ]


def trusted(facts: Facts) -> tuple[str, ...]:
    """Return who must be trusted for which figure."""
    learnt = ", other than as is stated" if facts.schema.bounds is not None else ""
    local = (
        "For every figure: whoever held the records when noise was added, to have added it as stated, to keep the "
        "records and the key of the noise secret, and to have declared bounds and levels without looking at the "
        f"data{learnt}."
    )
    if not facts.shuffled:
        return (local, "The rows are in the order in which they came: a row's place must not depend on private values.")
    if facts.figure("record").attacker == "local":
        return (local,)
    order = (
        "For the figures of somebody who does not know which row is whose: also that nobody who saw the records, or "
        "reports arrive, tells which row is whose."
    )
    return (local, order)
