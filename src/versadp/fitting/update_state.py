"""State of a fit for later updates: its model, and sums of the size of the parameters; no record.

It is a JSON file from an untrusted source: every entry is checked for what it is, numbers for being finite,
matrices for being what sums of squares are. What it says of the model is read by the parsers that an analyst's own
words go through.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError
from versadp.estimation import Fit, Outcome
from versadp.estimation.thresholds import STRENGTH_WITHOUT_BIAS
from versadp.estimation.update import Kept
from versadp.inference import saved_results as storage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from versadp.estimation.update import Renewed
    from versadp.fitting.counted_records import Fingerprint

    Array = NDArray[np.float64]

_FORMAT = {"format": "versadp state", "version": 1}  # raised when a file that is written could not be read before
_TEXTS = ("formula", "loss", "method", "mechanism")
_OPTIONAL = ("extension", "weights", "offset", "subset")
_KEPT = ("theta", "score", "hessian", "spread")
_HINT = "give the file that result.save_state or versadp fit --state wrote"
MOST_PARAMETERS = 2000  # of a state: chosen; products of scores of so many take 32 MB per pair of members
MOST_DRAWS = 1000  # per record; memory and time of an update grow with it (1e4: 3.4 GB for a small part)
LARGE = 1e150  # largest number in a state: squares of larger ones overflow


@dataclass(frozen=True)
class State:
    """The state that an update starts from.

    Attributes
    ----------
    formula, loss, method, extension, draws, seed, weights, offset, subset
        As they were given to `fit`.
    mechanism : str
        Digest of the mechanism that all records went through.
    names, members : tuple of str
        Of the coefficients, and of what the method combines.
    levels, response
        What public columns have shown (`Known`).
    basis : array or None
        In which the numbers are, of the design's columns.
    degrees, off
        Of a projection (`projecting.py`).
    kept : Kept
    bias, strength : array (p,) or None
        The first times the number of records, which it falls with.
    seen : tuple of str
        Digests of released parts that are in it.
    updates : int
    edition : int, optional
        Of its folder that the records are from; None of tables, and in states that did not say it yet.
    counted : tuple of Fingerprint
        Of all records of the fit, and of each update; none in states that did not say it yet.
    """

    formula: str
    loss: str
    method: str
    mechanism: str
    extension: str | None
    weights: str | None
    offset: str | None
    subset: str | None
    draws: int
    seed: int
    names: tuple[str, ...]
    members: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]
    response: tuple[float, ...]
    basis: Array | None
    degrees: tuple[int, ...] | None
    off: float
    kept: Kept
    bias: Array | None
    strength: Array | None
    seen: tuple[str, ...]
    updates: int = 0
    edition: int | None = None
    counted: tuple[Fingerprint, ...] = ()

    def after(self, found: Renewed, off: float, *, seen: tuple[str, ...], counted: Fingerprint) -> State:
        """Return the state of old and new records together.

        Parameters
        ----------
        found : Renewed
        off : float
            Bound on the shift by the projection, in standard errors.
        seen : tuple of str
            Digests of the parts of the new records.
        counted : Fingerprint
            Of the new records.
        """
        strength = None if self.strength is None else self.strength * np.sqrt(found.kept.n / self.kept.n)
        # a bias that a fit would not estimate either
        small = strength is not None and bool((strength >= STRENGTH_WITHOUT_BIAS).all())
        return replace(
            self,
            kept=found.kept,
            off=off,
            bias=None if small else self.bias,
            strength=strength,
            seen=(*self.seen, *seen),
            updates=self.updates + 1,
            counted=(*self.counted, counted),
        )

    def fit(self, found: Renewed) -> Fit:
        """Return the fit of all records of the state, which an update found."""
        n = found.kept.n
        weights = dict(zip(self.members, found.mix[0].tolist(), strict=True)) if len(self.members) > 1 else {}
        return Fit(
            found.kept.theta,
            found.cov * (1 + self.off**2),
            Outcome.CONVERGED,
            n,
            weights,
            found.mix,
            found.hessian,
            strength=self.strength,
            bias=None if self.bias is None else self.bias / n,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers."""
        out: dict[str, Any] = dict(_FORMAT)
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Kept):
                value = {"n": value.n} | {name: getattr(value, name).tolist() for name in _KEPT}
            elif isinstance(value, np.ndarray):
                value = value.tolist()
            elif isinstance(value, tuple):
                value = [list(item) if isinstance(item, tuple) else item for item in value]
            elif each.name == "levels":
                value = {name: list(levels) for name, levels in value.items()}
            out[each.name] = value
        return out

    @classmethod
    def from_dict(cls, data: Any) -> State:
        """Read what `to_dict` wrote, and refuse anything else."""
        data = _entries(data, {each.name for each in fields(cls)})
        names, members = _texts("names", data["names"]), _texts("members", data["members"])
        p, seen = len(names), _texts("seen", data["seen"])
        if not 0 < p <= MOST_PARAMETERS or len(set(names)) != p or not members:
            raise ParameterError("the state needs coefficients and members", hint=_HINT)
        if inputs.whole("draws", data["draws"], 1) > MOST_DRAWS:
            raise ParameterError(f"the state asks for more than {MOST_DRAWS:,} draws per record", hint=_HINT)
        if not all(re.fullmatch("[0-9a-f]{64}", digest) for digest in (*seen, data["mechanism"])):
            raise ParameterError("the state's digests are none", hint=_HINT)
        optional: Mapping[str, Callable[[Any], Any]] = {
            "basis": partial(_square, "basis", most=p),
            "degrees": _degrees,
            "bias": partial(_numbers, "bias", shape=(p,)),
            "strength": partial(_numbers, "strength", shape=(p,)),
            "edition": lambda edition: inputs.whole("edition", edition, 1),
        }
        found: dict[str, Any] = {k: None if data[k] is None else read(data[k]) for k, read in optional.items()}
        return cls(
            **_known(data),
            **found,
            draws=inputs.whole("draws", data["draws"], 1),
            seed=inputs.whole("seed", data["seed"], 0),
            names=names,
            members=members,
            levels=_levels(data["levels"]),
            response=tuple(_numbers("response", data["response"], None).tolist()),
            off=inputs.number("off", data["off"], 0, 10),
            kept=_kept(data["kept"], p, len(members)),
            seen=seen,
            updates=inputs.whole("updates", data["updates"], 0),
            counted=_fingerprints(data["counted"]),
        )

    def save(self, path: str | Path) -> None:
        """Write it to a JSON file, in place of one that is there, in one step."""
        from versadp.release import atomic_write

        if self.draws > MOST_DRAWS:
            raise ParameterError(
                f"a state has at most {MOST_DRAWS:,} draws per record", hint="fit with fewer draws to continue later"
            )
        text = json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)
        try:
            atomic_write.replace(Path(path), text.encode(), mode=0o666)
        except (OSError, TypeError) as problem:
            raise ParameterError(
                f"cannot write {str(path)!r}: {type(problem).__name__}", hint="is there such a folder?"
            ) from None

    @classmethod
    def load(cls, path: str | Path) -> State:
        """Read what `save` wrote."""
        return cls.from_dict(storage.read(path))


def _entries(data: Any, names: set[str]) -> dict[str, Any]:
    """Return the entries of a state of this version, which are all that it has."""
    if not isinstance(data, dict) or any(data.get(key) != value for key, value in _FORMAT.items()):
        raise ParameterError("this is no state of a fit, or one of a version that is not known here", hint=_HINT)
    # states once counted lots, and did not say their edition
    found: dict[str, Any] = {"edition": None, "counted": []} | {k: v for k, v in data.items() if k != "lots"}
    if set(found) != names | set(_FORMAT):
        raise ParameterError("the state lacks entries or has entries of other programs", hint=_HINT)
    return found


def _known(data: dict[str, Any]) -> dict[str, Any]:
    """Return the texts, some of which may be missing."""
    given = {name: data[name] for name in (*_TEXTS, *_OPTIONAL)}
    return {name: None if text is None and name in _OPTIONAL else _text(name, text) for name, text in given.items()}


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"{name!r} of the state must be text", hint=_HINT)
    return value


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ParameterError(f"{name!r} of the state must be a list", hint=_HINT)
    return tuple(_text(name, each) for each in value)


def _fingerprints(value: Any) -> tuple[Fingerprint, ...]:
    if not isinstance(value, list) or not all(isinstance(each, list) and len(each) == 2 for each in value):
        raise ParameterError("'counted' of the state must be pairs of numbers", hint=_HINT)
    pairs = [tuple(inputs.whole("counted", number, 0) for number in each) for each in value]
    return tuple((rows, hashes) for rows, hashes in pairs)


def _levels(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ParameterError("'levels' of the state must have names and values", hint=_HINT)
    return {_text("levels", name): _texts("levels", levels) for name, levels in value.items()}


def _degrees(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(each) is int and 0 <= each <= 100 for each in value):
        raise ParameterError("'degrees' of the state must be small whole numbers", hint=_HINT)
    return tuple(value)


def _numbers(name: str, value: Any, shape: tuple[int, ...] | None) -> Array:
    """Return finite numbers of a shape; None for a list of any length."""
    if not isinstance(value, list):
        raise ParameterError(f"{name!r} of the state must be a list", hint=_HINT)
    found = inputs.array(f"{name!r} of the state", value or np.zeros(0), -LARGE, LARGE, hint=_HINT)
    if found.shape != shape if shape is not None else found.ndim != 1:
        raise ParameterError(f"{name!r} of the state has another shape than its coefficients ask for", hint=_HINT)
    return found


def _square(name: str, value: Any, most: int) -> Array:
    """Return a matrix with an inverse, at most so large."""
    size = len(value) if isinstance(value, list) else 0
    found = _numbers(name, value, (size, size))
    if not 0 < size <= most or np.linalg.matrix_rank(found) < size:
        raise ParameterError(f"{name!r} of the state is no basis", hint=_HINT)
    return found


def _kept(value: Any, p: int, members: int) -> Kept:
    if not isinstance(value, dict) or set(value) != {"n", *_KEPT}:
        raise ParameterError("the state's sums are not whole", hint=_HINT)
    n = inputs.whole("the state's number of records", value["n"], p + 1)
    shapes = {"theta": (p,), "score": (members, p), "hessian": (members, p, p), "spread": (members, p, members, p)}
    sums = {name: _numbers(name, value[name], shape) for name, shape in shapes.items()}
    flat = sums["spread"].reshape(members * p, members * p)
    for each in (*sums["hessian"], flat):
        if not np.allclose(each, each.T, rtol=1e-9, atol=1e-9 * max(float(np.abs(each).max()), 1e-300)):
            raise ParameterError("the state's sums are not symmetric", hint=_HINT)
    size = np.sqrt(np.maximum(np.diag(flat), 0.0))
    if np.linalg.eigvalsh(flat / np.outer(size + (size == 0), size + (size == 0)))[0] < -1e-6:
        raise ParameterError("the state's sums are none of squares", hint=_HINT)
    return Kept(n=n, **sums)
