"""What a provider states of people that nobody has looked at: read from Python or from TOML, and checked.

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

What is left open is filled by rules that the plan states in words. Nothing here is ever read off private data.
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

MOST = 2**20


@dataclass(frozen=True)
class Assumptions:
    """What is stated of made-up people.

    Attributes
    ----------
    marginals : mapping of column to mapping or law
        As `Marginal` takes them.
    correlations : mapping of (column, column) to float
        Of normal scores: of the columns, each brought to a normal law.
    coefficients : mapping of str to float
        Of the model, by name; those left out are 0. None states none.
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
        """Read assumptions from a mapping, or from the path of a TOML file."""
        if given is None:
            return cls()
        if isinstance(given, Assumptions):
            return given
        data = _from_file(given) if isinstance(given, str | Path) else given
        known = [each.name for each in fields(cls)]
        if not isinstance(data, Mapping) or not set(data) <= set(known):
            raise ParameterError("assumptions are not as they should be", hint=f"they have {', '.join(known)}")
        for name in ("marginals", "correlations", "coefficients"):
            if not isinstance(data.get(name, {}), Mapping) and data[name] is not None:
                raise ParameterError(f"{name} must be a mapping")
        pairs = {_pair(names): _correlation(names, r) for names, r in (data.get("correlations") or {}).items()}
        stated = data.get("coefficients")
        coefficients = stated and {
            str(name): inputs.number(
                f"the coefficient of {name!r}", value, -np.inf, np.inf, open_low=True, open_high=True
            )
            for name, value in stated.items()
        }
        spread = data.get("residual")
        if spread is not None:
            spread = inputs.number("residual", spread, 0, np.inf, open_low=True, open_high=True)
        return cls(dict(data.get("marginals") or {}), pairs, coefficients or None, spread)


def _from_file(path: str | Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(inputs.file_bytes(path, MOST).decode("utf-8"))
    except (OSError, ValueError) as problem:
        raise ParameterError(f"cannot read the assumptions in {str(path)!r}: {problem}") from None


def _pair(names: Any) -> tuple[str, str]:
    parts = tuple(part.strip() for part in names.split(",")) if isinstance(names, str) else tuple(names)
    if len(parts) != 2 or parts[0] == parts[1]:
        raise ParameterError("a correlation is of two columns", hint='e.g. {("age", "income"): 0.3}')
    return parts


def _correlation(names: Any, value: Any) -> float:
    return inputs.number(f"the correlation of {names}", value, -1, 1, open_low=True, open_high=True)
