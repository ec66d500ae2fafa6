"""The coefficient table: estimate, standard error, z, p-value and interval, one row per coefficient.

z = θ / se,    p = 2 (1 - Φ(|z|)),    θ ± Φ⁻¹((1 + level) / 2) se
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from versadp.display.tables import render
from versadp.inference.checks import check_level

if TYPE_CHECKING:
    from versadp.inputs import Array

Row = dict[str, str | float | None]
ENDLESS = (np.inf, -np.inf)


class CoefTable(Sequence[Row]):
    """Rows of a coefficient table: a sequence of dictionaries, and text, HTML, CSV, JSON or pandas.

    Examples
    --------
    >>> params, bse = np.array([1.0, 0.5]), np.array([0.5, 0.25])
    >>> print(coefficient_table(("Intercept", "age"), params, bse, interval(params, bse, 0.95), 0.95))
    coefficient  estimate  std_error  z  p_value    lower  upper
    Intercept           1        0.5  2   0.0455  0.02002   1.98
    age               0.5       0.25  2   0.0455  0.01001   0.99
    """

    def __init__(self, rows: Sequence[Row], level: float) -> None:
        self._rows = tuple(dict(row) for row in rows)
        self.level = level

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        return [dict(row) for row in self._rows[index]] if isinstance(index, slice) else dict(self._rows[index])

    def __len__(self) -> int:
        return len(self._rows)

    def __str__(self) -> str:
        return render(self._rows)

    __repr__ = __str__

    def render(self, style: str = "text") -> str:
        """Return the table as text, JSON or CSV."""
        return render(self.for_json() if style == "json" else self._rows, style)

    def to_csv(self) -> str:
        """Return the table as CSV."""
        return render(self._rows, "csv")

    def to_json(self) -> str:
        """Return the table as JSON."""
        return self.render("json")

    def for_json(self) -> list[Row]:
        """Return the rows in the types of JSON: an infinite end is the text "inf" or "-inf"."""
        return [{key: str(value) if value in ENDLESS else value for key, value in row.items()} for row in self._rows]

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame, indexed by coefficient."""
        import pandas as pd

        return pd.DataFrame(list(self._rows)).set_index("coefficient")

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(key)}</th>" for key in self._rows[0])
        lines = ([escape(_cell(value)) for value in row.values()] for row in self._rows)
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in lines)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def coefficient_table(
    names: Sequence[str], params: Array, bse: Array, bounds: Array, level: float, *, p: Array | None = None
) -> CoefTable:
    """Return the coefficient table; NaN (z of a coefficient without error) becomes an empty cell.

    `bounds` are the intervals, one row per coefficient; their ends may be infinite. `p` are p-values, if they are not
    by the normal distribution.
    """
    z, normal = z_and_p(params, bse)
    p = normal if p is None else p
    keys = ("estimate", "std_error", "z", "p_value", "lower", "upper")
    rows: list[Row] = []
    for name, *numbers in zip(names, params, bse, z, p, *bounds.T, strict=True):
        finite = [float(number) if np.isfinite(number) else None for number in numbers[:-2]]
        rows.append({"coefficient": name} | dict(zip(keys, [*finite, *map(float, numbers[-2:])], strict=True)))
    return CoefTable(rows, level)


def _cell(value: str | float | None) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:.4g}"


def z_and_p(params: Array, bse: Array) -> tuple[Array, Array]:
    """Return z statistics and two-sided p-values of zero coefficients.

    Examples
    --------
    >>> z_and_p(np.array([1.959963984540054]), np.array([1.0]))[1].round(12)
    array([0.05])
    """
    from scipy.special import ndtr

    with np.errstate(divide="ignore", invalid="ignore"):
        z = params / bse
    return z, 2 * ndtr(-np.abs(z))


def interval(centre: Array, error: Array, level: float) -> Array:
    """Return lower and upper ends of normal intervals, one row each.

    Examples
    --------
    >>> interval(np.array([0.0]), np.array([1.0]), 0.95).round(3)
    array([[-1.96,  1.96]])
    """
    from scipy.special import ndtri

    level = check_level(level)
    half = float(ndtri(0.5 + level / 2)) * error
    return np.stack([centre - half, centre + half], axis=-1)
