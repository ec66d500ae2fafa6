"""Analysis of variance by Wald tests: one test per term of a formula, from the estimates and their covariance alone.

With W(S) the Wald statistic of the hypothesis that all coefficients of the terms S are 0, and R(T) the terms that
contain T (`a:b` contains `a`):

    type III    W({T})
    type II     W({T} ∪ R(T)) - W(R(T)),       χ² with as many degrees of freedom as T has coefficients

Type II is the Wald test of those combinations of the coefficients of T and R(T) that are uncorrelated with those of
R(T): each term is tested after all others, but for those that contain it. Type I depends on the order of terms, and
would need a fit for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, overload

from versadp import inputs
from versadp.display.tables import render
from versadp.errors import EstimationError, NoSuchName, ParameterError, near
from versadp.inference.chi_square import FTest, WaldTest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Rows = tuple[int, ...]
    Row = dict[str, str | float]

TYPES = {"2": 2, "II": 2, "3": 3, "III": 3}  # names that R and statsmodels give them
TESTS = ("chi2", "F")
INTERCEPT = "Intercept"


class AnovaTable(Sequence["Row"]):
    """An ANOVA table: one row per term; `print` shows text, a notebook shows HTML. Made by `result.anova()`.

    Examples
    --------
    >>> table = AnovaTable([{"term": "age", "df": 1, "chi2": 4.0, "p_value": 0.0455}], "title")
    >>> print(table)
    title
    term  df  chi2  p_value
    age    1     4   0.0455
    >>> table["age"]["chi2"]
    4.0
    """

    def __init__(self, rows: Sequence[Row], title: str) -> None:
        self._rows, self.title = tuple(dict(row) for row in rows), title

    @overload
    def __getitem__(self, index: int | str) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | str | slice) -> Row | Sequence[Row]:
        """Return a row by its number or its term."""
        if isinstance(index, str):
            terms = [str(row["term"]) for row in self._rows]
            if index not in terms:
                raise NoSuchName(f"the table has no term {index!r}", hint=near(index, terms))
            return dict(self._rows[terms.index(index)])
        return [dict(row) for row in self._rows[index]] if isinstance(index, slice) else dict(self._rows[index])

    def __len__(self) -> int:
        return len(self._rows)

    def __str__(self) -> str:
        return f"{self.title}\n{render(self._rows)}"

    __repr__ = __str__

    def render(self, style: str = "text") -> str:
        """Return the table as text, JSON or CSV."""
        return str(self) if style == "text" else render(self._rows, style)

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame, indexed by term."""
        import pandas as pd

        return pd.DataFrame(list(self._rows)).set_index("term")

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(key)}</th>" for key in self._rows[0])
        lines = [[f"{v:.4g}" if isinstance(v, float) else escape(str(v)) for v in row.values()] for row in self._rows]
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in lines)
        return f"<p>{escape(self.title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def anova_table(
    terms: Mapping[tuple[str, ...], Rows],
    statistic: Callable[[Rows], WaldTest],
    typ: Any,
    test: str,
    df_denom: int,
) -> AnovaTable:
    """Return the ANOVA table of terms.

    Parameters
    ----------
    terms : mapping of factors to numbers of coefficients
        In the order of the formula.
    statistic : callable
        Returns the Wald test that some coefficients are 0.
    typ : {2, 3, "II", "III"}
    test : {"chi2", "F"}
    df_denom : int
        Of F tests.
    """
    kind = TYPES.get(str(typ).upper())
    if kind is None or isinstance(typ, bool | float):
        raise ParameterError(f"there is no ANOVA of type {typ!r}", hint="use typ=2 (default) or typ=3")
    inputs.choice("test", test, TESTS)
    tested = {factors: rows for factors, rows in terms.items() if factors != (INTERCEPT,)}
    if not tested:
        raise EstimationError("an ANOVA needs a term beside the intercept", hint='e.g. "y ~ age + C(region)"')
    rows: list[Row] = []
    for factors, own in tested.items():
        above = tuple(j for other, found in tested.items() if set(factors) < set(other) for j in found)
        found = statistic(own) if kind == 3 or not above else _after(own, above, statistic)
        row: Row = {"term": ":".join(factors), "df": found.df}
        if test == "F":
            as_f = FTest.of(found, df_denom)
            rows.append(row | {"F": as_f.statistic, "p_value": as_f.pvalue})
        else:
            rows.append(row | {"chi2": found.statistic, "p_value": found.pvalue})
    words = {2: "II: each term after all others but those that contain it", 3: "III: each term after all others"}
    return AnovaTable(rows, f"Wald tests of terms, type {words[kind]}")


def _after(own: Rows, above: Rows, statistic: Callable[[Rows], WaldTest]) -> WaldTest:
    """Return the test of a term that others contain: W of all of them less W of those others."""
    return WaldTest.of(max(statistic((*own, *above)).statistic - statistic(above).statistic, 0.0), len(own))
