"""Output styles of summaries (title, facts, table, notes): text, HTML, LaTeX and Markdown."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from versadp import inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Facts = Mapping[str, str]
    Rows = Sequence[Mapping[str, str]]
    Style = Callable[[str, Facts, Rows | None, Sequence[str]], str]


def as_style(name: str) -> Style:
    """Return a style by its name.

    Examples
    --------
    >>> print(as_style("markdown")("y ~ x", {"records": "100"}, [{"": "x", "estimate": "2"}], ()))
    **y ~ x**
    <BLANKLINE>
    records: 100
    <BLANKLINE>
    |  | estimate |
    | :--- | ---: |
    | x | 2 |
    """
    return STYLES[inputs.choice("style", name, STYLES)]


def text(title: str, facts: Facts, rows: Rows | None, notes: Sequence[str]) -> str:
    """Return plain text: labels flush left, numbers flush right."""
    width = max(map(len, facts), default=0)
    lines = [f"{label.ljust(width)}  {fact}" for label, fact in facts.items()]
    parts = ["\n".join([title, "=" * len(title), *lines])]
    if rows:
        parts.append(columns(rows))
    return "\n\n".join([*parts, *(("\n".join(notes),) if notes else ())])


def columns(rows: Rows) -> str:
    """Return a table of short texts, the first column flush left, the others flush right."""
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(c.rjust(w) if j else c.ljust(w) for j, (c, w) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in lines
    )


def html(title: str, facts: Facts, rows: Rows | None, notes: Sequence[str]) -> str:
    """Return HTML; all text in it is escaped."""
    left = 'style="text-align:left"'
    head = "".join(
        f"<tr><th {left}>{escape(label)}</th><td {left}>{escape(fact)}</td></tr>" for label, fact in facts.items()
    )
    parts = [f"<h4>{escape(title)}</h4>", f"<table>{head}</table>"]
    if rows:
        names = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row.values()) + "</tr>" for row in rows)
        parts.append(f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>")
    parts.extend(f"<p>{escape(note)}</p>" for note in notes)
    return "<div>" + "".join(parts) + "</div>"


_SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
}


def _latex(cell: str) -> str:
    return "".join(_SPECIAL.get(c, c) for c in cell)


def latex(title: str, facts: Facts, rows: Rows | None, notes: Sequence[str]) -> str:
    """Return a LaTeX table, with the rules of the package booktabs."""
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{_latex(title)}}}"]
    if rows:
        lines += [rf"\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}", r"\toprule"]
        lines += [" & ".join(map(_latex, rows[0])) + r" \\", r"\midrule"]
        lines += [" & ".join(map(_latex, row.values())) + r" \\" for row in rows]
        lines += [r"\bottomrule", r"\end{tabular}"]
    below = [*(f"{label}: {fact}" for label, fact in facts.items()), *notes]
    lines += [r"\par\smallskip\footnotesize " + r"\\ ".join(map(_latex, below))] if below else []
    return "\n".join([*lines, r"\end{table}"])


def _markdown(cell: str) -> str:
    return re.sub(r"([\\|*_`<\[\]])", r"\\\1", cell)


def markdown(title: str, facts: Facts, rows: Rows | None, notes: Sequence[str]) -> str:
    """Return Markdown, with a table in GitHub's syntax."""
    parts = [f"**{_markdown(title)}**", "  \n".join(_markdown(f"{label}: {fact}") for label, fact in facts.items())]
    if rows:
        ruler = "| " + " | ".join([":---", *["---:"] * (len(rows[0]) - 1)]) + " |"
        lines = ["| " + " | ".join(map(_markdown, line)) + " |" for line in (rows[0], *(row.values() for row in rows))]
        parts.append("\n".join([lines[0], ruler, *lines[1:]]))
    return "\n\n".join([part for part in parts if part] + [_markdown(note) for note in notes])


STYLES: dict[str, Style] = {"text": text, "html": html, "latex": latex, "markdown": markdown}
