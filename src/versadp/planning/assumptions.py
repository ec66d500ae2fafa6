"""Assumptions about a population, stated by the provider in Python or TOML, and checked.

    residual = 2.0                                   # spread of the response around the model
    [marginals.age]                                  # of any column, the response too
    mean = 41
    sd = 12
    [marginals.income.quantiles]
    "0.1" = 8_000
    "0.5" = 30_000
    "0.9" = 90_000
    [marginals.region]                               # shares of levels
    north = 0.4
    [correlations]                                   # of normal scores
    "age, income" = 0.3
    [coefficients]
    age = 0.02

Missing assumptions are filled by rules that the plan states in words. Nothing here is computed from private data.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError

MOST_BYTES = 2**20  # of a TOML file of assumptions: chosen; a column takes some 100 bytes


@dataclass(frozen=True)
class Assumptions:
    """Assumptions about simulated people.

    Attributes
    ----------
    marginals : mapping of column to mapping or law
        Statements about columns, as for `Marginal`.
    correlations : mapping of (column, column) to float
        Correlations of the normal scores of the columns.
    coefficients : mapping of str to float
        Coefficients of the model by name, 0 if left out; None if none are stated.
    residual : float, optional
        Standard deviation of the response around the model.

    Examples
    --------
    >>> read = Assumptions.read({"correlations": {"age, income": 0.3}, "residual": 2})
    >>> read.correlations, read.residual
    ({('age', 'income'): 0.3}, 2.0)
    """

    marginals: Mapping[str, Any] = field(default_factory=dict)
    correlations: Mapping[tuple[str, str], float] = field(default_factory=dict)
    coefficients: Mapping[str, float] | None = None
    residual: float | None = None

    @classmethod
    def read(cls, given: Assumptions | Mapping[str, Any] | str | Path | None) -> Assumptions:
        """Return assumptions from a mapping, or from the path of a TOML file."""
        if given is None:
            return cls()
        if isinstance(given, Assumptions):
            return given
        data = _checked(_from_file(given) if isinstance(given, str | Path) else given)
        pairs = {_pair(names): _correlation(names, r) for names, r in (data.get("correlations") or {}).items()}
        spread = data.get("residual")
        return cls(
            dict(data.get("marginals") or {}),
            pairs,
            _coefficients(data.get("coefficients") or {}) or None,
            None if spread is None else inputs.number("residual", spread, 0, np.inf, open_low=True, open_high=True),
        )


def _checked(data: Any) -> Mapping[str, Any]:
    """Return assumptions whose entries are known and are mappings where they must be."""
    known = [each.name for each in fields(Assumptions)]
    if not isinstance(data, Mapping) or not set(data) <= set(known):
        raise ParameterError("assumptions have unknown entries", hint=f"choose from {', '.join(known)}")
    for name in ("marginals", "correlations", "coefficients"):
        if not isinstance(data.get(name, {}), Mapping) and data[name] is not None:
            raise ParameterError(f"{name} must be a mapping", hint="see docs/guides/planning.md")
    return data


def _coefficients(stated: Mapping[str, Any]) -> dict[str, float]:
    """Return finite coefficients by name."""
    return {
        str(name): inputs.number(f"the coefficient of {name!r}", value, -np.inf, np.inf, open_low=True, open_high=True)
        for name, value in stated.items()
    }


def _from_file(path: str | Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(inputs.file_bytes(path, MOST_BYTES).decode("utf-8"))
    except (OSError, ValueError) as problem:
        raise ParameterError(
            f"cannot read the assumptions in {str(path)!r}: {problem}", hint="give a TOML file"
        ) from None


def _pair(names: Any) -> tuple[str, str]:
    parts = tuple(part.strip() for part in names.split(",")) if isinstance(names, str) else tuple(names)
    if len(parts) != 2 or parts[0] == parts[1]:
        raise ParameterError("a correlation is of two columns", hint='e.g. {("age", "income"): 0.3}')
    return parts


def _correlation(names: Any, value: Any) -> float:
    return inputs.number(f"the correlation of {names}", value, -1, 1, open_low=True, open_high=True)
