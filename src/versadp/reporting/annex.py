"""An annex in the words of data protection law: singling out, linkability, inference, each with our figure.

The three are those of Opinion 05/2014 of the Article 29 Working Party, on recital 26 of the GDPR. Whether a release is
anonymous is for the reader to judge; the annex has what the judgement needs and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp.release.bounds.wording import bounds_words
from versadp.release.target.statement import rounded_up
from versadp.reporting.document import Document, Section
from versadp.reporting.facts import FALSE_ALARMS, named, shown_pair
from versadp.reporting.label import SEEDED, group_words, not_protected, trusted
from versadp.reporting.noise import declared
from versadp.schema import Categorical

if TYPE_CHECKING:
    from versadp.reporting.facts import Facts

MOST_ROWS = 500  # columns in a table
_COLUMNS = {"shuffled": "does not know which row is whose", "local": "knows which row is whose"}


def annex(facts: Facts) -> Document:
    """Return the annex.

    Examples
    --------
    >>> import versadp as vdp
    >>> from versadp.reporting.facts import Facts
    >>> [section.title for section in annex(Facts(vdp.example(2000))).sections][:3]
    ['Singling out', 'Linkability', 'Inference']
    """
    title = f"Annex on data protection: {facts.metadata.title or 'a private release'}"
    lead = (
        f"{facts.rows:,} records, released by {facts.metadata.curator or 'a publisher who is not stated'}. Figures "
        "follow from the law of the noise, and are rounded toward less protection; this page is no legal advice."
    )
    sections = (
        _singling_out(facts),
        _linkability(facts),
        _inference(facts),
        _small_groups(facts),
        _clipping(facts),
        Section("What is not protected", items=(*not_protected(facts), *_earlier(facts))),
        Section("Who must be trusted, and what is assumed", (*trusted(facts), *assumed(facts))),
    )
    return Document(title, lead, (), sections, SEEDED if facts.release.insecure else "")


def _singling_out(facts: Facts) -> Section:
    given = facts.figure("record", "local").given_away
    unchanged = (
        f"About {given:g}% of the records are released unchanged, by chance, and may be recognised: these must be "
        "taken to be singled out."
        if given
        else "No record is given away for certain: whatever a row shows could have come from any other record."
    )
    return Section(
        "Singling out",
        (
            (
                "Can somebody tell that a row belongs to a certain person? Each row stands for one record, and its "
                "private columns have noise. The attacker here knows every other record, and everything about the "
                "person who is looked for, and asks whether that person's record or another one is behind the release."
            ),
            f"Guarantee for a whole record: {shown_pair(facts.figure('record'))}.",
            unchanged,
        ),
        rows=_attacks(facts, "record"),
        caption="Share of the people looked for that are found, at most (whole record)",
    )


def _linkability(facts: Facts) -> Section:
    public = (
        f"Public columns ({named(facts.schema.public)}) link as they always do: who has the same public values "
        "elsewhere is found by them. Noise does not help there."
        if facts.schema.public
        else "There are no public columns by which rows could be linked."
    )
    return Section(
        "Linkability",
        (
            (
                "Can rows about one person, here and in another data set, be linked? Identifiers are not released. "
                "Linking by private columns is the attack above: the other data set is what the attacker knows, so "
                "the same figures bound it."
            ),
            public,
        ),
    )


def _inference(facts: Facts) -> Section:
    return Section(
        "Inference",
        (
            (
                "Can the value of one attribute be deduced? The attacker here knows everything but one private "
                "column of one person, and is to tell two values of it apart."
            ),
            f"Guarantee for one attribute: {shown_pair(facts.figure('attribute'))}.",
            *(
                f"If two values are equally likely beforehand, an attacker who {_COLUMNS[figure.attacker]} names the "
                f"right one in at most {figure.guessed:g}% of cases; by guessing 50%."
                for figure in facts.figures
                if figure.unit == "attribute"
            ),
            (
                "What follows from statistics about all people, and would follow without this person's record too, "
                "is not counted as inference about that person."
            ),
        ),
        rows=_attacks(facts, "attribute"),
        caption="Share of the people looked for that are found, at most (one attribute)",
    )


def _attacks(facts: Facts, unit: str) -> tuple[dict[str, str], ...]:
    figures = [figure for figure in facts.figures if figure.unit == unit]
    return tuple(
        {"false alarms": f"{100 * alarms:g}%", "by guessing": f"{100 * alarms:g}%"}
        | {f"an attacker who {_COLUMNS[figure.attacker]}": f"{figure.found(alarms):g}%" for figure in figures}
        for alarms in FALSE_ALARMS
    )


def _small_groups(facts: Facts) -> Section:
    if facts.smallest is None:
        told = "The rows are in the order in which they came, and the manifest does not say how many share their "
        "public values."
    else:
        told = f"The smallest group of records with equal public values: {group_words(facts)}. This number is public."
    alone = (
        "A record whose public values nobody shares is told from all others by them; its private columns still have "
        "their noise."
        if facts.schema.public
        else "No public columns divide the records."
    )
    batches = facts.release.order.alike or ()
    items = tuple(f"Batch {number}: {alike:,}" for number, alike in enumerate(batches, 1)) if len(batches) > 1 else ()
    return Section("Small groups", (told, alone), items)


def _clipping(facts: Facts) -> Section:
    columns = facts.schema.columns
    rows = tuple(
        {"column": name, "declared": declared(columns[name]), "what lies outside": _outside(columns[name])}
        for name in facts.schema.private[:MOST_ROWS]
    )
    return Section(
        "Clipping",
        _clipping_words(facts),
        rows=rows,
        caption="Private columns, and what was done with values outside their declaration",
    )


def _clipping_words(facts: Facts) -> tuple[str, ...]:
    """Return whence bounds and levels come, and what is known of values outside them."""
    exact = "How many values lay outside is not published; the publisher was told."
    if learnt := bounds_words(facts.schema):
        return (*(line.strip() for line in learnt), f"These figures come from noisy counts. {exact}")
    return (f"Bounds and levels were declared beforehand. {exact}",)


def _outside(column: object) -> str:
    return "refused" if isinstance(column, Categorical) else "moved to the nearest bound"


def _earlier(facts: Facts) -> list[str]:
    out = []
    if facts.editions > 1:
        which = (
            f"This is edition {facts.release.edition} of {facts.editions} editions of the same people in one folder."
        )
        out.append(f"{which} The figures count all editions.")
    return [
        *out,
        (
            f"Releases of this population before this one, as its ledger knew: {facts.earlier}. The figures above do "
            "not count them; releases under another population, by others, or from memory are not known to it."
        ),
    ]


def assumed(facts: Facts) -> list[str]:
    """Return what the figures assume of the world."""
    error = facts.release.mechanism.sampler_error
    out = [
        (
            "AES-256 behaves as a random function, and the key is secret. Nothing is promised against who reads the "
            "publisher's memory or state folder, or times the release on the same machine."
        ),
    ]
    return (
        [*out, f"The sampler's distance from ideal noise, at most {rounded_up(error)} per record, is counted in."]
        if error
        else out
    )
