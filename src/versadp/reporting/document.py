"""A document in sections, written as HTML and as Markdown; whatever it says is text, and escaped in both.

Markdown has no way to say "this is text" but to escape what has a meaning in it: `markdown_text` does that to each
text, ours and the publisher's alike, and puts it into one line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from versadp.reporting.page import Page, render

# what begins a link, code, emphasis, a table's cell, HTML, mathematics or a mention, wherever it stands
_SPECIAL = re.compile(r"[\\`*_\[\]{}#|~$@]")
_STARTS = re.compile(r"^([-+=]|\d+[.)](?=\s|$))")  # what makes a list or a heading where a line begins
_ADDRESS = re.compile(r"(?i)(://|\b(?:www|mailto|xmpp)(?=[.:]))")  # what some readers make links of


@dataclass(frozen=True)
class Section:
    """A heading, with paragraphs, a list and a table below it, each of which may be empty."""

    title: str
    paragraphs: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    rows: tuple[dict[str, str], ...] = ()
    caption: str = ""


@dataclass(frozen=True)
class Card:
    """A figure that stands out: what it is, the figure, and what it means."""

    term: str
    value: str
    meaning: str


@dataclass(frozen=True)
class Document:
    """A document: `html` and `markdown` return it as text.

    Examples
    --------
    >>> document = Document("Births", "A <b>title</b>", (), (Section("One", ("Text",)),), alarm="")
    >>> print(document.markdown())
    # Births
    <BLANKLINE>
    A &lt;b&gt;title&lt;/b&gt;
    <BLANKLINE>
    ## One
    <BLANKLINE>
    Text
    <BLANKLINE>
    """

    title: str
    lead: str
    cards: tuple[Card, ...]
    sections: tuple[Section, ...]
    alarm: str
    compact: bool = False

    def html(self) -> Page:
        """Return it as a page."""
        return render("document.html", document=self)

    def markdown(self) -> str:
        """Return it as Markdown (GitHub's, for the tables)."""
        blocks = [f"# {markdown_text(self.title)}"]
        blocks += [f"**{markdown_text(self.alarm)}**"] if self.alarm else []
        blocks += [markdown_text(self.lead)] if self.lead else []
        blocks += ["\n".join(map(_card, self.cards))] if self.cards else []
        for section in self.sections:
            blocks.append(f"## {markdown_text(section.title)}")
            blocks += map(markdown_text, section.paragraphs)
            blocks += ["\n".join(f"- {markdown_text(item)}" for item in section.items)] if section.items else []
            blocks += [_table(section.rows, section.caption)] if section.rows else []
        return "\n\n".join(blocks) + "\n"


def markdown_text(text: str) -> str:
    r"""Return a text as Markdown that shows it and nothing else, in one line.

    Examples
    --------
    >>> print(markdown_text("1. [a](javascript:b) <script> &amp; | x_1"))
    1\. \[a\](javascript:b) &lt;script&gt; &amp;amp; \| x\_1
    """
    line = " ".join(text.split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = _SPECIAL.sub(r"\\\g<0>", line)
    line = _ADDRESS.sub(lambda found: found[0].replace(":", r"\:") if ":" in found[0] else f"{found[0]}&#8203;", line)
    return _STARTS.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", line)


def _card(card: Card) -> str:
    figure = f"{card.value} ({card.meaning})" if card.meaning else card.value
    return f"- **{markdown_text(card.term)}:** {markdown_text(figure)}"


def _table(rows: tuple[dict[str, str], ...], caption: str) -> str:
    names = [markdown_text(name) for name in rows[0]]
    lines = [f"{markdown_text(caption)}:", "", _row(names), _row(["---"] * len(names))]
    return "\n".join([*lines, *(_row([markdown_text(cell) for cell in row.values()]) for row in rows)])


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
