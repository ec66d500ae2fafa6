"""Results as JSON: no pickle, so that a file from elsewhere can be read without trusting it.

Python writes the shortest text that reads back as the same float64, so every number returns as it was.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from versadp.errors import ParameterError
from versadp.formula.terms import Terms

if TYPE_CHECKING:
    from versadp.inference.results import Results

CUSTOM = "custom"
"""Stands in a file for a link that is a function of the user's own."""

_FORMAT = {"format": "versadp results", "version": 1}
_PLAIN = ("names", "outcome", "nobs", "loss", "method", "formula", "header", "effective_n", "weights", "advice")
_KEYS = {*_PLAIN, "params", "cov", "link", "terms"}


def to_dict(results: Results) -> dict[str, Any]:
    """Return results as plain dictionaries, lists and numbers."""
    terms: Terms | None = results.__dict__["_terms"]
    return _FORMAT | {
        "names": list(results.names),
        "outcome": results.outcome,
        "params": results.params.values.tolist() if results.converged else None,
        "cov": results.cov_params().values.tolist() if results.converged else None,
        "nobs": results.nobs,
        "loss": results.loss,
        "method": results.method,
        "formula": results.formula,
        "header": dict(results.header),
        "effective_n": results.effective_n,
        "weights": None if results.weights is None else dict(results.weights),
        "link": results.__dict__["_link_name"],
        "terms": None if terms is None else [list(term) for term in terms.factors],
        "advice": results.advice,
    }


def arguments(data: Any) -> dict[str, Any]:
    """Return the arguments of Results from what `to_dict` wrote."""
    if not isinstance(data, dict) or any(data.get(key) != value for key, value in _FORMAT.items()):
        raise ParameterError("these are not results, or results of a version that this versadp does not know")
    if set(data) != _KEYS | set(_FORMAT):
        raise ParameterError("the results lack entries or have entries of other programs")
    _check(data)
    out = {key: data[key] for key in (*_PLAIN, "params", "cov")}
    out["predict_link"] = data["link"]
    if data["terms"] is not None:
        out["design"] = Terms(tuple(data["names"]), tuple(tuple(term) for term in data["terms"]))
    return out


def _check(data: dict[str, Any]) -> None:
    """Refuse entries of a wrong kind; Results looks at the numbers."""
    nobs, weights, terms = data["nobs"], data["weights"], data["terms"]
    optional = [data[key] for key in ("formula", "advice", "link") if data[key] is not None]
    fine = (
        _texts(data["names"])
        and _texts([data["outcome"], data["loss"], data["method"], *optional])
        and isinstance(nobs, int)
        and not isinstance(nobs, bool)
        and isinstance(data["header"], dict)
        and _texts(list(data["header"].values()))
        and (weights is None or (isinstance(weights, dict) and all(_number(w) for w in weights.values())))
        and (data["effective_n"] is None or _number(data["effective_n"]))
        and (terms is None or (isinstance(terms, list) and all(_texts(term) for term in terms)))
    )
    if not fine:
        raise ParameterError("the results hold entries of a wrong kind")


def _texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def write(path: str | Path, data: dict[str, Any]) -> None:
    """Write a JSON file."""
    try:
        Path(path).write_text(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1), encoding="utf-8")
    except OSError as problem:
        raise ParameterError(f"cannot write {str(path)!r}: {type(problem).__name__}") from None


def read(path: str | Path) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise ParameterError(f"cannot read {str(path)!r}: {type(problem).__name__}") from None
    except (ValueError, RecursionError):
        raise ParameterError(f"{str(path)!r} is not a JSON file") from None
