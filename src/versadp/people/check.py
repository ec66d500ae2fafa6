"""Answers of a table of made-up people beside the release's own, corrected.

The law of the table is smooth: it has the one- and two-way associations of the release, and of what three columns do
together as much as the likelihood shows. Both answers come from the same records, so that a distance of more than a
standard error of the release's own answer is no chance: the table smooths that answer away, and the release is to be
asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.display.tables import render
from versadp.errors import ParameterError
from versadp.fitting.fit import fit
from versadp.fitting.public_facts import public_levels
from versadp.fitting.source import values_of
from versadp.formula.design import make_design
from versadp.losses import as_loss
from versadp.release.path.dates import from_dates
from versadp.schema import Dates

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.people.people import People
    from versadp.schema import Column

APART = 1.0  # standard error of the release's answer beyond which the table's is another one
STEPS = 50  # of Newton
DEFINITE = 1e-9  # relative size of a last step


@dataclass(frozen=True)
class Check:
    """A model fitted to a release and to the people made from it.

    Attributes
    ----------
    formula : str
    rows : list of dict
        Of each coefficient: `term`, estimate and standard error from the release, the same from the people (None
        without replicate weights), and how many standard errors of the release they are apart.
    """

    formula: str
    rows: list[dict[str, Any]]

    @property
    def smoothed(self) -> tuple[str, ...]:
        """The coefficients that the table smooths away."""
        return tuple(row["term"] for row in self.rows if abs(row["apart"]) > APART)

    @property
    def verdict(self) -> str:
        """Return in a sentence whether the table can be asked."""
        if not self.smoothed:
            return f"the table answers {self.formula} as the release does"
        return f"the table smooths {', '.join(self.smoothed)} away: fit {self.formula} to the release itself"

    def __str__(self) -> str:
        return f"{render(self.rows)}\n{self.verdict}"


def check(people: People, formula: str, loss: Any = "squared") -> Check:
    """Fit a model to a release and to the people made from it."""
    minimised: Any = as_loss(loss)
    if not minimised.needs_formula or getattr(minimised, "by_level", False):
        raise ParameterError("a table is checked by models of a formula", hint='e.g. people.check("y ~ x")')
    release, schema = people.release, people.release.mechanism.schema
    design = make_design(formula, schema, partial(public_levels, release))
    absent = [name for name in design.used if name not in people.columns]
    if absent:
        raise ParameterError(f"the table has no column {', '.join(absent)}", hint="make people with all columns")
    known = fit(release, formula, loss=loss)
    read = {name: _values(people.columns[name], schema.columns[name]) for name in design.used}
    there = np.ones(len(people), bool)
    for values in read.values():
        there &= np.array([value is not None and value == value for value in values])  # noqa: PLR0124 - NaN
    m, y = design.evaluate({name: values[there] for name, values in read.items()})
    y = minimised.coding(np.unique(y))(y)
    start = np.asarray(known.params.values, float)
    even = np.ones(len(y))
    found = weighted_fit(minimised, m, y, even, start)
    repeated = [weighted_fit(minimised, m, y, weight[there], found) for weight in people.weights.T]
    errors = np.sqrt(((np.array(repeated) - found) ** 2).mean(axis=0)) if repeated else [None] * len(found)
    rows = [
        {
            "term": str(term),
            "release": float(value),
            "std error": float(error),
            "people": float(own),
            "their std error": None if also is None else float(also),
            "apart": float((own - value) / error),
        }
        for term, value, error, own, also in zip(
            known.params.names, start, np.asarray(known.bse.values, float), found, errors, strict=True
        )
    ]
    return Check(formula, rows)


def weighted_fit(loss: Any, m: Array, y: Array, weight: Array, start: Array) -> Array:
    """Return the coefficients of least mean loss of weighted rows, by Newton's steps.

    Examples
    --------
    >>> from versadp.losses import Squared
    >>> m, y = np.column_stack([np.ones(4), [0.0, 0, 1, 1]]), np.array([1.0, 3, 5, 5])
    >>> weighted_fit(Squared(), m, y, np.array([1.0, 0, 1, 1]), np.zeros(2)).round(9)
    array([1., 4.])
    """
    bandwidth, _ = loss.bandwidths(m, y)
    unit = np.sqrt((m**2).mean(axis=0))
    m, theta = m / unit, start * unit
    for _ in range(STEPS):
        first, second = loss.derivatives(m @ theta, y, 2, bandwidth)
        step = np.linalg.lstsq((m * (weight * second)[:, None]).T @ m, m.T @ (weight * first), rcond=None)[0]
        theta = theta - step
        if np.abs(step).max() < DEFINITE * (1 + np.abs(theta).max()):
            break
    return np.asarray(theta / unit)


def _values(column: pa.Array, declared: Column) -> NDArray[Any]:
    """Return a column as a design takes it: numbers, days, labels."""
    return from_dates(column, declared) if isinstance(declared, Dates) else values_of(column)
