"""Saved results as JSON, not pickle, so that a file from an untrusted source can be read.

Python writes the shortest text that reads back as the same float64, so that numbers do not change. Version 2 added
curves, for intervals by inversion, version 3 diagnostics, version 4 the levels of categories, version 5 the classes of
a response, version 6 the estimated bias, version 7 an offset, version 8 profiles of a likelihood, version 9 the
covariance of a weak fit, null for weak coefficients; results without these are written in the earlier version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError
from versadp.estimation.outcome import Outcome
from versadp.formula.terms import Terms
from versadp.inference.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.inference.results import Results

    Reader = Callable[[str, Any], Any]

# bytes of a file that is read: chosen; results of 1000 coefficients, whose covariance is most of it, take 20 MB
MAX_RESULTS = 64 * 2**20
_VERSION = 9  # of the format; `_SINCE` says what each version added
_FORMAT = {"format": "versadp results", "version": _VERSION}
_SINCE: dict[str, tuple[int, Any]] = {  # version that added an entry, and its value in files of earlier versions
    "curves": (2, {}),
    "trust": (3, Trust().as_numbers()),
    "levels": (4, {}),
    "classes": (5, []),
    "bias": (6, {}),
    "offset": (7, None),
    "profiles": (8, {}),
}
_LATEST = 8  # version of an entry that was added last


@dataclass(frozen=True)
class SavedResults:
    """The entries of a file of version 9; types are checked here, values by `Results`.

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
    cov: tuple[tuple[float | None, ...], ...] | None
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
        """Return the entries for results."""
        terms = results.design
        params = results.params.tolist() if results.answered else None
        return cls(
            names=results.names,
            outcome=results.outcome,
            params=None if params is None else tuple(map(_known, params)),
            cov=tuple(tuple(map(_known, row)) for row in results.cov.tolist()) if results.has_covariance else None,
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
        version = _LATEST
        if self.cov is not None and self.outcome is Outcome.WEAK:
            return _FORMAT | entries
        while version > 1:  # the oldest version that has all entries
            entry, nothing = next((name, empty) for name, (since, empty) in _SINCE.items() if since == version)
            if entries[entry] != nothing:
                break
            del entries[entry]
            version -= 1
        return _FORMAT | {"version": version} | entries

    @classmethod
    def from_dict(cls, data: Any) -> SavedResults:
        """Return the entries read from the output of `to_dict`, of this or an earlier version."""
        if isinstance(data, dict) and data.get("version") in range(1, _VERSION):
            new = {name: empty for name, (since, empty) in _SINCE.items() if since > data["version"]}
            if set(new) & set(data):
                raise ParameterError(f"results of version {data['version']} have no {' and '.join(new)}")
            data = data | new | {"version": _VERSION}
        if not isinstance(data, dict) or any(data.get(key) != value for key, value in _FORMAT.items()):
            raise ParameterError(
                "these are not results, or results of a later version of versadp",
                hint="Results.load reads what result.save wrote; a release folder is opened by vdp.load",
            )
        if set(data) != {each.name for each in fields(cls)} | set(_FORMAT):
            raise ParameterError("the results lack entries or have unknown ones", hint="read what result.save wrote")
        return cls(**{name: read(name, data[name]) for name, read in _READ.items()})

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `Results`."""
        out = {
            each.name: getattr(self, each.name) for each in fields(self) if each.name not in {"link", "terms", "levels"}
        }
        terms = None if self.terms is None else Terms(self.names, self.terms, self.levels)
        return out | {"predict_link": self.link, "design": terms}


def _known(number: float) -> float | None:
    return None if np.isnan(number) else number


def _plain(value: Any) -> Any:
    """Return a copy of a value in the types of JSON."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, Trust):
        return value.as_numbers()
    return str(value) if isinstance(value, Outcome) else value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"{name!r} of the results must be text")
    return value


def _number(name: str, value: Any) -> float:
    return inputs.number(f"{name!r} of the results", value, -np.inf, np.inf, open_low=True, open_high=True)


def _level(name: str, value: Any) -> str | int | None:
    """Return a level of a category: text, an integer, true or false, or None for missing."""
    if value is not None and not isinstance(value, str | int):
        raise ParameterError(f"{name!r} of the results must be text, whole numbers, true or false")
    return value


def _maybe(read: Reader) -> Reader:
    return lambda name, value: None if value is None else read(name, value)


def _list(read: Reader, size: int | None = None) -> Reader:
    def reader(name: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or size not in {None, len(value)}:
            raise ParameterError(f"{name!r} of the results must be a list" + (f" of {size}" if size else ""))
        return tuple(read(name, each) for each in value)

    return reader


def _mapping(read: Reader) -> Reader:
    def reader(name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ParameterError(f"{name!r} of the results must have names and values")
        return {_text(name, key): read(name, each) for key, each in value.items()}

    return reader


def _curve(name: str, value: Any) -> tuple[Any, ...]:
    """Return values, scores and errors of a curve, and its rounding."""
    *arrays, rounding = _list(lambda _, each: each, size=4)(name, value)
    return (*(_list(_number)(name, each) for each in arrays), _number(name, rounding))


_READ: dict[str, Reader] = {  # of each entry
    "names": _list(_text),
    "outcome": lambda _, value: Outcome.read(value),
    "params": _maybe(_list(_maybe(_number))),
    "cov": _maybe(_list(_list(_maybe(_number)))),
    "nobs": lambda name, value: inputs.whole(name, value, 0),
    "loss": _text,
    "method": _text,
    "formula": _maybe(_text),
    "header": _mapping(_text),
    "effective_n": _maybe(_number),
    "weights": _maybe(_mapping(_number)),
    "link": _maybe(_text),
    "terms": _maybe(_list(_list(_text))),
    "advice": _maybe(_text),
    "curves": _mapping(_curve),
    "trust": lambda _, value: Trust.read(value),
    "levels": _mapping(_list(_level)),
    "classes": _list(_text),
    "bias": _mapping(_number),
    "offset": _maybe(_text),
    "profiles": _mapping(_list(_list(_number), size=2)),  # values and roots
}


def write(path: str | Path, data: dict[str, Any]) -> None:
    """Write data to a JSON file."""
    try:
        Path(path).write_text(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1), encoding="utf-8")
    except (OSError, TypeError) as problem:
        raise ParameterError(
            f"cannot write {str(path)!r}: {type(problem).__name__}", hint="check that the folder exists"
        ) from None


def read(path: str | Path) -> Any:
    """Return the data of a JSON file."""
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
