"""Tables of several fits, `summary_col` and those of maketables: one column per fit, one row per coefficient.

Both have rows of privacy unit, epsilon and delta. maketables, `ETable([res1, res2])`, reads the attributes of
`Publishing`; it takes an object with `params`, `bse` and `pvalues` for results of statsmodels before it looks for them,
hence `Published`, which has nothing else, for `ETable([res.to_maketables()])`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from versadp.errors import ParameterError
from versadp.inference.estimates import Estimates
from versadp.inference.styles import as_style, columns, html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from versadp.inference.arrays import NamedArray
    from versadp.inference.results import Results

_CALL = 'summary_col([result1, result2], names=["small", "large"])'
_FACTS = {"privacy_unit": "privacy unit", "epsilon": "epsilon", "delta": "delta"}


class Publishing:
    """Attributes that maketables reads of results."""

    @property
    def _told(self) -> Any:
        """The results."""
        return self

    @property
    def __maketables_coef_table__(self) -> Any:
        """The coefficients as a pandas DataFrame with the columns b, se, t, p and intervals."""
        import pandas as pd

        this = self._told
        columns: dict[str, NamedArray] = {"b": this.params, "se": this.bse, "t": this.zvalues, "p": this.pvalues}
        table = {key: np.asarray(values) for key, values in columns.items()}
        for level in (95, 90):
            table[f"ci{level}l"], table[f"ci{level}u"] = np.asarray(this.conf_int(level / 100)).T
        return pd.DataFrame(table, index=pd.Index(list(this.names), name="Coefficient"))

    def __maketables_stat__(self, key: str) -> Any:
        """Return a statistic by its key, None if there is none."""
        this = self._told
        if key in _FACTS:
            return self._told.header.get(_FACTS[key])
        known = {
            "N": this.nobs,
            "loss": this.loss,
            "outcome": str(this.outcome),
            "se_type": this.header.get("covariance", "robust"),
        }
        return known.get(key)

    @property
    def __maketables_depvar__(self) -> str:
        """The response."""
        return (self._told.formula or "").partition("~")[0].strip() or "a loss of whole records"

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        """The keys of the rows below the coefficients."""
        return ["N", "loss", "se_type", *_FACTS]

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        """The labels of the rows below the coefficients."""
        return {"N": "records", "loss": "loss", "se_type": "standard errors", "outcome": "outcome"} | _FACTS

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        """The type of the covariance estimator."""
        clustered = self._told.header.get("covariance", "")
        return (
            {"vcov_type": "CRV1", "clustervar": clustered.rpartition(" ")[2]} if clustered else {"vcov_type": "robust"}
        )


class Published(Publishing):
    """Results with the attributes of maketables only.

    Examples
    --------
    >>> from versadp.inference import Results
    >>> res = Results([0.5], [[0.01]], ("age",), "converged", 1000, loss="squared", method="efficient")
    >>> float(res.to_maketables().__maketables_coef_table__.loc["age", "b"])
    0.5
    """

    def __init__(self, results: Any) -> None:
        self._results = results

    @property
    def _told(self) -> Any:
        return self._results


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
        return as_style(style)("Models side by side", {}, self.rows, self.notes)


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
    """Return a table of several fits, one column per fit.

    Parameters
    ----------
    results : sequence of Results
    names : sequence of str, optional
        Column headings; (1), (2) and so on by default.
    level : float
        Of the intervals of weak fits, which have no standard errors.
    style : {"text", "html", "latex", "markdown"}, optional
        Return it as a string in this style.

    Examples
    --------
    >>> from versadp.inference import Results
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
    fits, heads = _columns(results, names)
    estimates = [{name: _cell(fit, name, level) for name in fit.names} for fit in fits]
    rows = [*_rows(heads, estimates), *_rows(heads, [_footer(fit) for fit in fits])]
    notes = ["standard errors in brackets"]
    if any(fit.answered and not fit.converged for fit in fits):
        notes.append(f"of weak fits {100 * level:g}% intervals, which may be unbounded")
    found = SideBySide(rows, notes)
    return found if style is None else found.render(style)


def _columns(results: Any, names: Sequence[str] | None) -> tuple[list[Results], list[str]]:
    """Return the fits and the headings of their columns, checked."""
    several = results if isinstance(results, list | tuple) else [results]
    fits: list[Any] = list(several)
    if not fits or not all(isinstance(fit, Estimates) for fit in fits):
        raise ParameterError("summary_col needs a list of results of fits", hint=_CALL)
    heads = [f"({k + 1})" for k in range(len(fits))] if names is None else list(map(str, names))
    if len(heads) != len(fits) or len(set(heads)) < len(heads):
        raise ParameterError(f"{len(fits)} fits need as many names that differ from each other", hint=_CALL)
    return fits, heads


def _footer(fit: Results) -> dict[str, str]:
    about = {"records": f"{fit.nobs:,}", "loss": fit.loss, "outcome": str(fit.outcome)}
    return about | {fact: fit.header[fact] for fact in _FACTS.values() if fact in fit.header}


def _rows(heads: list[str], columns: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return columns as rows, one per label in order of appearance; a label that a column lacks is empty."""
    labels = dict.fromkeys(label for column in columns for label in column)
    return [
        {"": label} | {head: column.get(label, "") for head, column in zip(heads, columns, strict=True)}
        for label in labels
    ]


def _cell(fit: Results, name: str, level: float) -> str:
    if not fit.answered:
        return ""
    estimate = float(fit.params[name])
    shown = f"{estimate:.4g} " if np.isfinite(estimate) else ""
    if fit.converged:
        return f"{shown}({fit.bse[name]:.2g})"
    low, high = fit.conf_int(level)[name]
    return f"{shown}[{low:.3g}, {high:.3g}]"
