"""Results as JSON: no pickle, so that a file from elsewhere can be read without trusting it.

Python writes the shortest text that reads back as the same float64, so every number returns as it was. Version 2 has
curves, for intervals by inversion, version 3 what an answer can be trusted for, version 4 the levels of categories,
version 5 the classes of a response, version 6 the bias that was taken off, version 7 an offset, version 8 profiles of a
likelihood; results without are written as the versions before have them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError
from versadp.estimation.outcome import Outcome
from versadp.formula.terms import Terms
from versadp.inference.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.inference.results import Results

    Value = TypeVar("Value")

MAX_RESULTS = 64 * 2**20
_VERSION = 8
_FORMAT = {"format": "versadp results", "version": _VERSION}
_SINCE: dict[str, tuple[int, Any]] = {  # version and what is meant without
    "curves": (2, {}),
    "trust": (3, Trust().as_numbers()),
    "levels": (4, {}),
    "classes": (5, []),
    "bias": (6, {}),
    "offset": (7, None),
    "profiles": (8, {}),
}


@dataclass(frozen=True)
class SavedResults:
    """What a file of version 8 holds of results; numbers are checked for being numbers, and by `Results` for sense.

    Examples
    --------
    >>> from versadp.inference import Results
    >>> res = Results([0.5], [[0.01]], ("age",), "converged", 1000, loss="squared", method="efficient")
    >>> saved = SavedResults.of(res)
    >>> saved.cov, saved.link
    (((0.01,),), None)
    >>> SavedResults.from_dict(saved.to_dict()) == saved
    True
    """

    names: tuple[str, ...]
    outcome: Outcome
    params: tuple[float | None, ...] | None
    cov: tuple[tuple[float, ...], ...] | None
    nobs: int
    loss: str
    method: str
    formula: str | None
    header: Mapping[str, str]
    effective_n: float | None
    weights: Mapping[str, float] | None
    link: str | None
    terms: tuple[tuple[str, ...], ...] | None
    advice: str | None
    curves: Mapping[str, tuple[Any, ...]]
    trust: Trust
    levels: Mapping[str, tuple[Any, ...]]
    classes: tuple[str, ...]
    bias: Mapping[str, float]
    offset: str | None
    profiles: Mapping[str, tuple[Any, ...]]

    @classmethod
    def of(cls, results: Results) -> SavedResults:
        """Return what is saved of results."""
        known, terms = results.converged, results.design
        params = results.params.tolist() if results.answered else None
        return cls(
            names=results.names,
            outcome=results.outcome,
            params=None if params is None else tuple(None if np.isnan(each) else each for each in params),
            cov=tuple(map(tuple, results.cov.tolist())) if known else None,
            nobs=results.nobs,
            loss=results.loss,
            method=results.method,
            formula=results.formula,
            header=results.header,
            effective_n=results.effective_n,
            weights=results.weights,
            link=results.link.name,
            terms=None if terms is None else terms.factors,
            advice=results.advice,
            curves={name: curve.as_numbers() for name, curve in results.curves.items()},
            trust=results.trust,
            levels={} if terms is None else {name: tuple(each) for name, each in terms.levels.items()},
            classes=results.classes,
            bias=results.bias,
            offset=results.offset,
            profiles={name: each.as_numbers() for name, each in results.likelihood_sets.items()},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers."""
        entries = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}
        version = _VERSION
        while version > 1:  # as old a version as holds it all
            entry, nothing = next((name, empty) for name, (since, empty) in _SINCE.items() if since == version)
            if entries[entry] != nothing:
                break
            del entries[entry]
            version -= 1
        return _FORMAT | {"version": version} | entries

    @classmethod
    def from_dict(cls, data: Any) -> SavedResults:
        """Read what `to_dict` wrote, entry by entry; or what versions before wrote."""
        if isinstance(data, dict) and data.get("version") in range(1, _VERSION):
            new = {name: empty for name, (since, empty) in _SINCE.items() if since > data["version"]}
            if set(new) & set(data):
                raise ParameterError(f"results of version {data['version']} have no {' and '.join(new)}")
            data = data | new | {"version": _VERSION}
        if not isinstance(data, dict) or any(data.get(key) != value for key, value in _FORMAT.items()):
            raise ParameterError(
                "these are not results, or results of a version that this versadp does not know",
                hint="Results.load reads what result.save wrote; a release folder is opened by vdp.load",
            )
        if set(data) != {each.name for each in fields(cls)} | set(_FORMAT):
            raise ParameterError("the results lack entries or have entries of other programs")
        return cls(
            names=_texts("names", data["names"]),
            outcome=Outcome.read(data["outcome"]),
            params=_optional(_estimates, "params", data["params"]),
            cov=_optional(_table, "cov", data["cov"]),
            nobs=inputs.whole("nobs", data["nobs"], 0),
            loss=_text("loss", data["loss"]),
            method=_text("method", data["method"]),
            formula=_optional(_text, "formula", data["formula"]),
            header={_text("header", k): _text("header", v) for k, v in _entries("header", data["header"])},
            effective_n=_optional(_number, "effective_n", data["effective_n"]),
            weights=_optional(_weights, "weights", data["weights"]),
            link=_optional(_text, "link", data["link"]),
            terms=_optional(_factors, "terms", data["terms"]),
            advice=_optional(_text, "advice", data["advice"]),
            curves={_text("curves", name): _curve(curve) for name, curve in _entries("curves", data["curves"])},
            trust=Trust.read(data["trust"]),
            levels={_text("levels", name): _levels(levels) for name, levels in _entries("levels", data["levels"])},
            classes=_texts("classes", data["classes"]),
            bias=_weights("bias", data["bias"]),
            offset=_optional(_text, "offset", data["offset"]),
            profiles={_text("profiles", k): _profile(each) for k, each in _entries("profiles", data["profiles"])},
        )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `Results`."""
        out = {
            each.name: getattr(self, each.name) for each in fields(self) if each.name not in {"link", "terms", "levels"}
        }
        terms = None if self.terms is None else Terms(self.names, self.terms, self.levels)
        return out | {"predict_link": self.link, "design": terms}


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it, which can be changed without changing the one it came from."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, Trust):
        return value.as_numbers()
    return str(value) if isinstance(value, Outcome) else value


def _optional(read: Callable[[str, Any], Value], name: str, value: Any) -> Value | None:
    return None if value is None else read(name, value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"{name!r} of the results must be text")
    return value


def _number(name: str, value: Any) -> float:
    return inputs.number(f"{name!r} of the results", value, -np.inf, np.inf, open_low=True, open_high=True)


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ParameterError(f"{name!r} of the results must be a list")
    return value


def _entries(name: str, value: Any) -> list[tuple[Any, Any]]:
    if not isinstance(value, dict):
        raise ParameterError(f"{name!r} of the results must have names and values")
    return list(value.items())


def _texts(name: str, value: Any) -> tuple[str, ...]:
    return tuple(_text(name, each) for each in _list(name, value))


def _factors(name: str, value: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(_texts(name, term) for term in _list(name, value))


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    return tuple(_number(name, each) for each in _list(name, value))


def _estimates(name: str, value: Any) -> tuple[float | None, ...]:
    """Return estimates; None where a weak fit has none."""
    return tuple(_optional(_number, name, each) for each in _list(name, value))


def _table(name: str, value: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(_numbers(name, row) for row in _list(name, value))


def _levels(value: Any) -> tuple[Any, ...]:
    """Return the levels of a category: text, whole numbers, true and false, or nothing for what is missing."""
    levels = _list("levels", value)
    if not all(level is None or isinstance(level, str | int) for level in levels):
        raise ParameterError("levels of the results must be text, whole numbers, true or false")
    return tuple(levels)


def _weights(name: str, value: Any) -> dict[str, float]:
    return {_text(name, member): _number(name, weight) for member, weight in _entries(name, value)}


def _curve(value: Any) -> tuple[Any, ...]:
    if len(_list("curves", value)) != 4:
        raise ParameterError("a curve of the results must have values, scores, errors and a rounding")
    return (*(_numbers("curves", each) for each in value[:3]), _number("curves", value[3]))


def _profile(value: Any) -> tuple[Any, ...]:
    if len(_list("profiles", value)) != 2:
        raise ParameterError("a profile of the results must have values and roots")
    return tuple(_numbers("profiles", each) for each in value)


def write(path: str | Path, data: dict[str, Any]) -> None:
    """Write a JSON file."""
    try:
        Path(path).write_text(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1), encoding="utf-8")
    except (OSError, TypeError) as problem:
        raise ParameterError(
            f"cannot write {str(path)!r}: {type(problem).__name__}", hint="is there such a folder?"
        ) from None


def read(path: str | Path) -> Any:
    """Read a JSON file."""
    try:
        return inputs.json_value(inputs.file_bytes(path, MAX_RESULTS))
    except (OSError, TypeError) as problem:
        raise ParameterError(
            f"cannot read {str(path)!r}: {type(problem).__name__}", hint="give the file that result.save wrote"
        ) from None
    except ValueError:
        raise ParameterError(
            f"{str(path)!r} is not a JSON file of finite numbers", hint="give the file that result.save wrote"
        ) from None
