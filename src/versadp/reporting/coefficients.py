"""Widths of intervals of a model's coefficients at every stop of the planning page; on made-up people.

    width of the 95% interval of a coefficient = 2 · 1.96 · se,     se as `plan` has it

in closed form for linear regression through windows, from a fit to made-up people otherwise. Widths are kept for one
record, so that the page divides by √records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import VersadpError
from versadp.planning.assumptions import Assumptions
from versadp.planning.precision import NORMAL, precision
from versadp.planning.simulate import make_people
from versadp.release.target.usefulness import useless
from versadp.reporting.code import quoted
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from versadp.release.mechanism import Mechanism
    from versadp.schema import Schema

    Array = NDArray[np.float64]

RECORDS = 100_000  # of a release whose noise does not depend on their number
MOST = 3  # columns on the right side of a model that nobody chose
PEOPLE = 20_000  # simulated people of a fit: widths are then off by about 2%, and a page of 200 stops takes seconds


class Coefficients:
    """A model on made-up people, and how wide its intervals are under any mechanism.

    Parameters
    ----------
    schema : Schema
    formula : str
    loss : str or loss
    assume : mapping or path, optional
        As in `plan`.

    Examples
    --------
    >>> from versadp import Bounded, Schema, calibrate
    >>> schema = Schema({"age": Bounded(18, 90), "income": Bounded(0, 1e5)})
    >>> model = Coefficients(schema, "income ~ age")
    >>> narrow, wide = (model.widths(calibrate(schema, epsilon=e))["age"] for e in (8, 4))
    >>> 1 < narrow["times"] < wide["times"]
    True
    """

    def __init__(
        self, schema: Schema, formula: str, loss: Any = "squared", assume: Mapping[str, Any] | str | Path | None = None
    ) -> None:
        self.people = make_people(schema, formula, loss, Assumptions.read(assume))
        self.formula, self.names = formula, self.people.design.names
        self._raw = self.people.raw()
        self._known: dict[tuple[Any, ...], Array] = {}

    def widths(self, mechanism: Mechanism, records: int = RECORDS) -> dict[str, dict[str, float | None]]:
        """Return the width from one record, and how many times that of raw data it is; None where nothing is told."""
        key = (*mechanism.blocks, min(records, RECORDS))
        if key not in self._known:
            self._known[key] = self._width(mechanism, records)
        width, alone = self._known[key], 2 * NORMAL * self._raw.bse(1)
        return {
            name: {"width": _digits(width[j]), "times": _digits(width[j] / alone[j])}
            for j, name in enumerate(self.names)
        }

    def _width(self, mechanism: Mechanism, records: int) -> Array:
        """Return the widths from one record; infinite where noise tells no mean, so that no fit is tried."""
        if useless(mechanism, records):
            return np.full(len(self.names), np.inf)
        found = precision(self.people, mechanism, records, self._raw.theta, fits=1, rows=PEOPLE)
        return np.asarray(found.width * np.sqrt(records))

    @property
    def facts(self) -> dict[str, Any]:
        """Facts of the model on the page: formula, loss, coefficients and what is assumed."""
        return {
            "formula": self.formula,
            "loss": self.people.loss.name,
            "assumed": dict(zip(self.names, map(_digits, self._raw.theta.tolist()), strict=True)),
            "notes": list(self.people.notes),
        }


def _digits(value: float) -> float | None:
    return float(f"{value:.5g}") if np.isfinite(value) else None


def some_model(schema: Schema) -> Coefficients | None:
    """Return a model of the first private columns, the first number on the left; None if there is none to be had.

    Examples
    --------
    >>> from versadp import Bounded, Categorical, Schema
    >>> some_model(Schema({"age": Bounded(18, 90), "member": Categorical([False, True])})).formula
    'age ~ C(member)'
    """
    there = {
        name: column
        for name, column in schema.columns.items()
        if isinstance(column, Bounded | Categorical) and not column.nullable and not set(name) & set("`\\")
    }
    left = next((n for n, each in there.items() if isinstance(each, Bounded) and not isinstance(each, Dates)), None)
    others = [name for name in there if name != left]
    numbers = [quoted(name) for name in others if isinstance(there[name], Bounded)]  # whose precision has a closed form
    right = (numbers or [f"C({quoted(name)})" for name in others])[:MOST]
    if left is None or not right:
        return None
    try:
        return Coefficients(schema, f"{quoted(left)} ~ {' + '.join(right)}")
    except VersadpError:  # a model that nobody asked for is no reason to refuse the page
        return None
