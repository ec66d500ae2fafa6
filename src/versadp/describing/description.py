"""The result of `describe`: table, correlations, histograms, summary and picture of all columns."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.describing.column import draw
from versadp.describing.components import components_of, factors_of
from versadp.describing.layout import MOST_CORRELATED
from versadp.describing.statistics import as_date
from versadp.errors import NoSuchName, near
from versadp.inference.arrays import NamedArray
from versadp.inference.coefficient_table import CoefTable
from versadp.inference.styles import as_style
from versadp.schema import Dates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from versadp.describing.column import ColumnDescription
    from versadp.describing.components import Components
    from versadp.describing.statistics import Statistics
    from versadp.estimation.moment_estimates import Estimate

    Row = dict[str, str | float | None]


class StatisticsTable(CoefTable):
    """Rows `column, statistic, estimate, std_error, lower, upper`: text, HTML, CSV, JSON or pandas."""

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame, indexed by column and statistic."""
        import pandas as pd

        return pd.DataFrame(list(self)).set_index(["column", "statistic"])

    def _repr_html_(self) -> str:
        return as_style("html")("", {}, shown(self), ())


class Description(Mapping[str, "ColumnDescription"]):
    """Descriptions of the columns of a release, corrected for its noise; by name, `description["age"].mean`.

    Attributes
    ----------
    level : float
        Of the intervals.
    records : int
    header : dict of str to str
        Mechanism and guarantee.

    Examples
    --------
    >>> import pandas as pd, versadp as vdp
    >>> mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), scale=0.25, exact_rate=0.2)
    >>> described = vdp.describe(mech.release(pd.DataFrame({"age": [41.0] * 20_000})))
    >>> abs(described["age"].mean.value - 41) < 5 * described["age"].mean.error
    True
    >>> described.table[0]["statistic"], described.correlations.names
    ('mean', ('age',))
    """

    def __init__(self, statistics: Statistics, level: float, header: dict[str, str]) -> None:
        self._statistics = statistics
        self._columns = {name: statistics.describe(name) for name in statistics.layout.columns}
        self.level = level
        self.records = statistics.gathered.rows
        self.header = header
        numbers = statistics.layout.numbers if statistics.layout.correlated else ()
        self._pairs = {pair: statistics.correlation(*pair) for pair in combinations(numbers, 2)}

    def __getitem__(self, name: str) -> ColumnDescription:
        if name not in self._columns:
            raise NoSuchName(f"there is no column {name!r}", hint=near(name, self._columns))
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<Description: {self.records} records, {len(self)} column{'s' * (len(self) != 1)}>"

    @property
    def notes(self) -> tuple[str, ...]:
        """Quantities without an estimate, with the reasons."""
        left_out = (self._no_correlations,) if self._no_correlations else ()
        return (*(note for column in self.values() for note in column.notes), *left_out)

    @property
    def _no_correlations(self) -> str:
        """The reason why there are no correlations, empty if there are."""
        if self._statistics.layout.correlated:
            return ""
        count = len(self._statistics.layout.numbers)
        return f"no correlations of {count:,} numbers: choose at most {MOST_CORRELATED} columns"

    @property
    def table(self) -> StatisticsTable:
        """Statistics of all columns, one per row; empty cells have no estimate."""
        return self._table(often=False)

    @property
    def brief_table(self) -> StatisticsTable:
        """The table with only the most frequent levels of a category with very many."""
        return self._table(often=True)

    def _table(self, *, often: bool) -> StatisticsTable:
        rows = [
            _row(column.name, label, each, column.declared if label not in {"sd", "missing"} else None)
            for column in self.values()
            for label, each in column.rows(often=often)
        ]
        return StatisticsTable(rows, self.level)

    @property
    def correlations(self) -> NamedArray:
        """Correlations of all numbers, NaN without an estimate; empty for too many numbers."""
        names = self._statistics.layout.numbers if self._statistics.layout.correlated else ()
        out = np.eye(len(names))
        for (one, other), each in self._pairs.items():
            i, j = names.index(one), names.index(other)
            out[i, j] = out[j, i] = each.value
        return NamedArray(out, names)

    @property
    def covariance(self) -> NamedArray:
        """The covariance matrix of all numbers, corrected for noise; it need not be positive definite.

        Examples
        --------
        >>> import versadp as vdp
        >>> described = vdp.describe(vdp.example(20_000), columns=["age", "income"])
        >>> bool(90 < described.covariance["age", "age"] < 330)  # years², 206 in truth
        True
        """
        return self._covariances(0)

    @property
    def covariance_errors(self) -> NamedArray:
        """The standard errors of the entries of `covariance`."""
        return self._covariances(1)

    def _covariances(self, which: int) -> NamedArray:
        """Return values (0) or standard errors (1) of all covariances."""
        if self._no_correlations:
            raise NoSuchName(self._no_correlations, hint="describe(release, columns=[...])")
        names = self._statistics.layout.numbers
        out = np.empty((len(names), len(names)))
        for (i, one), (j, other) in combinations_with_replacement(enumerate(names), 2):
            out[i, j] = out[j, i] = self._statistics.covariance(one, other)[which]
        return NamedArray(out, names)

    def principal_components(self, *, of: str = "correlation") -> Components:
        """Return the principal components (PCA) of the numbers, from their corrected correlations or covariances.

        Where the corrected matrix is not positive definite its negative eigenvalues are set to 0, with a warning.

        Parameters
        ----------
        of : {"correlation", "covariance"}
            Columns scaled to variance 1, or as they are.

        Examples
        --------
        >>> import versadp as vdp
        >>> described = vdp.describe(vdp.example(), columns=["age", "income", "visits"])
        >>> described.principal_components().vectors.columns
        ('PC1', 'PC2', 'PC3')
        """
        chosen = inputs.choice("of", of, ("correlation", "covariance"))
        return components_of(self.correlations if chosen == "correlation" else self.covariance)

    def factor_loadings(self, factors: int) -> NamedArray:
        """Return the loadings of common factors by principal axes, unrotated, from the corrected correlations.

        Parameters
        ----------
        factors : int
            How many.
        """
        return factors_of(self.correlations, factors)

    def correlation(self, one: str, other: str) -> Estimate:
        """Return the correlation of two columns with its interval."""
        inputs.names("columns", [one, other])
        found = self._pairs.get((one, other)) or self._pairs.get((other, one))
        if found is None and self._no_correlations:
            raise NoSuchName(self._no_correlations, hint=f"describe(release, columns=[{one!r}, {other!r}])")
        if found is None:
            numbers = self._statistics.layout.numbers
            raise NoSuchName(
                f"there is no correlation of {one!r} and {other!r}, which are not both numbers",
                hint=near(other if one in numbers else one, numbers),
            )
        return found

    @property
    def correlation_table(self) -> StatisticsTable:
        """Correlations with their intervals, one pair per row."""
        rows = [_row(one, f"correlation with {other}", each) for (one, other), each in self._pairs.items()]
        return StatisticsTable(rows, self.level)

    def summary(self, style: str = "text") -> str:
        """Return the tables as text, html, latex or markdown."""
        page = as_style(style)
        facts = self.header | {"records": f"{self.records:,}"}
        parts = [page("Description", facts, shown(self.brief_table), self.notes)]
        if self._pairs:
            parts.append(page("Correlations", {}, shown(self.correlation_table), ()))
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        return self.summary("html")

    def to_dict(self) -> dict[str, Any]:
        """Return the description in the types of JSON."""
        return {
            "header": dict(self.header),
            "records": self.records,
            "level": self.level,
            "table": self.table.for_json(),
            "correlations": self.correlation_table.for_json(),
            "notes": list(self.notes),
        }

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw histograms and shares of levels with intervals, and released ones dashed; write them to `path` if given.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return draw(self, path)


def _row(column: str, label: str, each: Estimate, declared: Any = None) -> Row:
    row: Row = {"column": column, "statistic": label}
    for key, number in zip(("estimate", "std_error", "lower", "upper"), each[:4], strict=True):
        known = bool(np.isfinite(number))
        row[key] = float(number) if known else None
        if known and key != "std_error" and isinstance(declared, Dates):
            row[key] = as_date(number, declared)
    return row


def shown(table: StatisticsTable) -> list[dict[str, str]]:
    """Return rows with short numbers, and ends labelled by their level."""
    labels = {"column": "", "statistic": "statistic", "estimate": "estimate", "std_error": "std error"}
    labels |= {"lower": f"lower {100 * table.level:.4g}%", "upper": f"upper {100 * table.level:.4g}%"}
    return [{label: _cell(row[key]) for key, label in labels.items()} for row in table]


def _cell(value: str | float | None) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:.4g}"
