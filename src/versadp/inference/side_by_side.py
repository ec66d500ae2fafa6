"""Several fits side by side: a column each, a row a coefficient, and below it on what and at which privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from versadp.errors import ParameterError, near
from versadp.inference.results import Results
from versadp.inference.styles import columns, html, latex, markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

_CALL = 'summary_col([result1, result2], names=["small", "large"])'
_FACTS = ("privacy unit", "epsilon", "delta")


class SideBySide:
    """A table of several fits; `print` shows text, a notebook shows HTML. Made by `summary_col`."""

    def __init__(self, rows: Sequence[dict[str, str]], notes: Sequence[str]) -> None:
        self.rows, self.notes = tuple(rows), tuple(notes)

    def __str__(self) -> str:
        return "\n\n".join([columns(self.rows), "\n".join(self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html("", {}, self.rows, self.notes).replace("<h4></h4><table></table>", "")

    def render(self, style: str) -> str:
        """Return the table as text, html, latex or markdown."""
        if style == "text":
            return str(self)
        if style == "html":
            return self._repr_html_()
        if style == "latex":
            return latex("Models side by side", {}, self.rows, self.notes)
        if style == "markdown":
            return markdown("Models side by side", {}, self.rows, self.notes)
        raise ParameterError(f"there is no style {style!r}", hint=near(style, ("text", "html", "latex", "markdown")))


@overload
def summary_col(
    results: Sequence[Results], names: Sequence[str] | None = None, *, level: float = 0.95
) -> SideBySide: ...
@overload
def summary_col(
    results: Sequence[Results], names: Sequence[str] | None = None, *, level: float = 0.95, style: str
) -> str: ...
def summary_col(
    results: Sequence[Results], names: Sequence[str] | None = None, *, level: float = 0.95, style: str | None = None
) -> SideBySide | str:
    """Return several fits side by side.

    Parameters
    ----------
    results : sequence of Results
    names : sequence of str, optional
        Of the columns; (1), (2) and so on by default.
    level : float
        Of the intervals of weak fits, which have no standard errors.
    style : {"text", "html", "latex", "markdown"}, optional
        Return it as a string in this style.

    Examples
    --------
    >>> one = Results([1.0, 0.5], [[0.04, 0.0], [0.0, 0.01]], ("Intercept", "age"), "converged", 1000,
    ...               loss="squared", method="efficient", header={"privacy unit": "record", "epsilon": "4"})
    >>> two = Results([1.1], [[0.04]], ("Intercept",), "converged", 1000, loss="squared", method="efficient")
    >>> print(summary_col([one, two]))
                        (1)        (2)
    Intercept       1 (0.2)  1.1 (0.2)
    age           0.5 (0.1)
    records           1,000      1,000
    loss            squared    squared
    outcome       converged  converged
    privacy unit     record
    epsilon               4
    <BLANKLINE>
    standard errors in brackets
    """
    fits = [results] if isinstance(results, Results) else list(results)
    if not fits or not all(isinstance(fit, Results) for fit in fits):
        raise ParameterError("give a list of results of fits", hint=_CALL)
    heads = [f"({k + 1})" for k in range(len(fits))] if names is None else list(map(str, names))
    if len(heads) != len(fits) or len(set(heads)) < len(heads):
        raise ParameterError(f"{len(fits)} fits need as many names that differ from each other", hint=_CALL)
    rows = [
        {"": name} | {head: _cell(fit, name, level) for head, fit in zip(heads, fits, strict=True)}
        for name in dict.fromkeys(name for fit in fits for name in fit.names)
    ]
    about = [
        {"records": f"{fit.nobs:,}", "loss": fit.loss, "outcome": str(fit.outcome)}
        | {fact: fit.header[fact] for fact in _FACTS if fact in fit.header}
        for fit in fits
    ]
    labels = dict.fromkeys(label for facts in about for label in facts)
    rows += [
        {"": label} | {head: facts.get(label, "") for head, facts in zip(heads, about, strict=True)} for label in labels
    ]
    notes = ["standard errors in brackets"]
    if any(fit.answered and not fit.converged for fit in fits):
        notes.append(f"of weak fits {100 * level:g}% intervals, which may have no end")
    found = SideBySide(rows, notes)
    return found if style is None else found.render(style)


def _cell(fit: Results, name: str, level: float) -> str:
    if name not in fit.names or not fit.answered:
        return ""
    estimate = float(fit.params[name])
    shown = f"{estimate:.4g} " if np.isfinite(estimate) else ""
    if fit.converged:
        return f"{shown}({fit.bse[name]:.2g})"
    low, high = fit.conf_int(level)[name]
    return f"{shown}[{low:.3g}, {high:.3g}]"
