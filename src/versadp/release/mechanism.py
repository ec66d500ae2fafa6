"""A mechanism: a schema, and how much noise each of its blocks gets.

The numeric columns form one block (the paper's mechanism), each category is a block, public columns are the identity.
Blocks have their own coins; accounting composes them, correction multiplies their inverses.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from versadp.errors import InsecureWarning, KeyMaterialError, ParameterError, find_stacklevel
from versadp.noise.laplace import ZeroInflatedLaplace, check_rate
from versadp.noise.response import RandomizedResponse
from versadp.release.path.noised import Channels
from versadp.schema import Bounded, Categorical, Schema

if TYPE_CHECKING:
    from versadp.engine import Engine
    from versadp.privacy import PrivacyProfile
    from versadp.release.release import Release

_FORMAT = {"format": "versadp mechanism", "version": 1}


class Mechanism:
    """Zero-inflated Laplace noise on the numeric columns, randomised response on each category.

    Parameters
    ----------
    schema : Schema
    scale : float or mapping of column to float, optional
        Noise scale relative to each numeric column's width; needed if there are numeric columns.
    exact_rate : float
        Probability in [0, 1) that a record's numeric block is released unchanged. 0 is the symmetric Laplace
        mechanism, which serves smooth losses only.
    keep : float or mapping of column to float, optional
        Probability in [0, 1) that a category is not redrawn; needed if there are categories.

    Examples
    --------
    >>> from versadp import Bounded, Categorical, Schema
    >>> schema = Schema({"age": Bounded(18, 90), "region": Categorical(["n", "s"])})
    >>> mech = Mechanism(schema, scale=0.25, exact_rate=0.2, keep=0.5)
    >>> Mechanism.from_json(mech.to_json()) == mech
    True
    """

    def __init__(
        self,
        schema: Schema,
        scale: float | Mapping[str, float] | None = None,
        exact_rate: float = 0.0,
        keep: float | Mapping[str, float] | None = None,
    ) -> None:
        if not isinstance(schema, Schema):
            raise ParameterError("a mechanism needs a Schema", hint='e.g. Schema({"age": Bounded(18, 90)})')
        if not schema.numeric and not schema.categorical:
            raise ParameterError("every column is public: there is nothing to protect")
        self._schema = schema
        self._scale = _each("scale", scale, schema.numeric)
        self._keep = _each("keep", keep, schema.categorical)
        check_rate("exact_rate", exact_rate)
        self._exact_rate = float(exact_rate)
        _ = self.channels  # their checks are the mechanism's

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._schema

    @property
    def scale(self) -> dict[str, float]:
        """Noise scale of each numeric column, relative to its width."""
        return dict(self._scale)

    @property
    def exact_rate(self) -> float:
        """Probability that a record's numeric block is released unchanged."""
        return self._exact_rate

    @property
    def keep(self) -> dict[str, float]:
        """Probability that each category is not redrawn."""
        return dict(self._keep)

    @cached_property
    def channels(self) -> Channels:
        """The blocks."""
        laplace = None
        if bounded := [column for column in self._schema.columns.values() if isinstance(column, Bounded)]:
            lower, upper = zip(*((column.lower, column.upper) for column in bounded), strict=True)
            laplace = ZeroInflatedLaplace(lower, upper, tuple(self._scale.values()), self._exact_rate)
        responses = tuple(
            RandomizedResponse(len(column.levels), self._keep[name])
            for name, column in self._schema.columns.items()
            if isinstance(column, Categorical)
        )
        return Channels(laplace, responses)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        parts = [f"{len(self._schema.numeric)} numeric, {len(self._schema.categorical)} categorical columns"]
        if self._scale:
            scales = sorted(set(self._scale.values()))
            parts.append("scale=" + (f"{scales[0]:g}" if len(scales) == 1 else f"{scales[0]:g}..{scales[-1]:g}"))
            parts.append(f"exact_rate={self._exact_rate:g}")
        if self._keep:
            parts.append("keep=" + "/".join(f"{keep:g}" for keep in dict.fromkeys(self._keep.values())))
        return f"<Mechanism: {', '.join(parts)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and numbers."""
        return _FORMAT | {
            "schema": self._schema.to_dict(),
            "scale": self._scale,
            "exact_rate": self._exact_rate,
            "keep": self._keep,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Mechanism:
        """Read what `to_dict` wrote."""
        if not isinstance(data, Mapping) or any(data.get(key) != value for key, value in _FORMAT.items()):
            raise ParameterError("this is not a mechanism, or one of a version that this versadp does not know")
        if set(data) != {*_FORMAT, "schema", "scale", "exact_rate", "keep"}:
            raise ParameterError("a mechanism has schema, scale, exact_rate and keep, nothing more")
        return cls(Schema.from_dict(data["schema"]), data["scale"], data["exact_rate"], data["keep"])

    def to_json(self) -> str:
        """Return the mechanism as JSON: the same mechanism gives the same text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Mechanism:
        """Read what `to_json` wrote."""
        try:
            data = json.loads(text)
        except (json.JSONDecodeError, RecursionError, TypeError):
            raise ParameterError("the mechanism is not valid JSON") from None
        return cls.from_dict(data)

    def __reduce__(self) -> tuple[object, ...]:
        return (Mechanism.from_json, (self.to_json(),))

    @cached_property
    def parameters(self) -> bytes:
        """All that the noise depends on, beside key and content: two mechanisms never share noise."""
        grid = [] if self.channels.laplace is None else self.channels.laplace.bits
        return json.dumps([self.to_dict(), grid], ensure_ascii=False).encode()

    def privacy(self, unit: str = "record") -> PrivacyProfile:
        """Return what the mechanism guarantees.

        Parameters
        ----------
        unit : {"record", "attribute"}
            Protect a whole record (all blocks composed), or one attribute of it (the worst block).
        """
        from versadp.release.target.accounting import mechanism_privacy

        return mechanism_privacy(self, unit)

    def to_opendp(self, epsilon: float) -> Any:
        """Return an OpenDP measurement that releases a table, at the (epsilon, delta) that holds for a whole record.

        Needs the extra `versadp[accounting]`. OpenDP trusts a function written in Python ("honest-but-curious").

        Parameters
        ----------
        epsilon : float
            Where delta is read off the exact curve.
        """
        from versadp.privacy import opendp_measurement

        delta = self.privacy("record").delta(epsilon)
        return opendp_measurement(lambda frame: self.release(frame).frame, epsilon=epsilon, delta=delta)

    def statement(self) -> str:
        """Return the guarantee in words."""
        from versadp.release.target.statement import privacy_statement

        return privacy_statement(self)

    def release(
        self,
        frame: Any,
        *,
        key: bytes | None = None,
        insecure_seed: int | None = None,
        engine: str | Engine = "auto",
    ) -> Release:
        """Release a table: add noise to every private column, once.

        Parameters
        ----------
        frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            Every column of the schema, and nothing else; the same kind comes back in `Release.frame`.
        key : bytes, optional
            32 secret random bytes. The same key, mechanism and content give the same bytes again; without a key a
            fresh one is drawn and forgotten.
        insecure_seed : int, optional
            For research only: a small number in place of a key. Whoever guesses it removes the noise; the release is
            stamped as insecure.
        engine : str or Engine
            Where the work runs.

        Warns
        -----
        ClampedWarning
            Values outside the declared bounds were moved to the nearest bound.
        """
        from versadp.engine import as_engine
        from versadp.noise.words import fresh_key, keystream
        from versadp.release.path.noised import noise_table
        from versadp.release.path.table import build_frame, read_table, released_columns, survey, warn_outside
        from versadp.release.release import Release

        if key is not None and insecure_seed is not None:
            raise KeyMaterialError("give a key or an insecure_seed, not both")
        table = read_table(frame, self._schema)
        warn_outside(survey(table, self._schema))
        secret = fresh_key() if key is None else key
        if insecure_seed is not None:
            secret = _seed_key(insecure_seed)
        stream = keystream(secret, self.parameters)
        noised = noise_table(self.channels, table, stream, as_engine(engine))
        columns = released_columns(table, noised, self._schema)
        return Release(build_frame(columns, table.kind), self, insecure=insecure_seed is not None)

    def privatize(self, record: Mapping[str, Any], *, key: bytes) -> dict[str, Any]:
        """Release one record, on the person's own device.

        The same record gives the same answer for ever, so asking again reveals nothing more. The key is the device's
        own and never leaves it.

        Parameters
        ----------
        record : mapping of column to value
        key : bytes
            32 secret random bytes.
        """
        from versadp.release.path.record import privatize

        return privatize(self, record, key)


def _each(what: str, value: Any, columns: tuple[str, ...]) -> dict[str, float]:
    """Return one number a column, from one number for all or a mapping."""
    if not columns and (value is None or value == {} or not isinstance(value, Mapping)):
        return {}
    if value is None:
        raise ParameterError(f"{what} is missing: it is needed for {', '.join(map(repr, columns))}")
    if not isinstance(value, Mapping):
        value = dict.fromkeys(columns, value)
    if set(value) != set(columns):
        wrong = sorted(set(value) ^ set(columns))
        raise ParameterError(f"{what} must name just these columns: {', '.join(columns)}; see {', '.join(wrong)}")
    for name in columns:
        if isinstance(value[name], bool) or not isinstance(value[name], int | float):
            raise ParameterError(f"{what} of column {name!r} must be a number")
    return {name: float(value[name]) for name in columns}


def _seed_key(seed: int) -> bytes:
    from hashlib import sha256

    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ParameterError("insecure_seed must be a whole number")
    warnings.warn(
        "insecure_seed is for research: whoever guesses it removes the noise. The release is stamped as insecure.",
        InsecureWarning,
        stacklevel=find_stacklevel(),
    )
    return sha256(f"versadp insecure seed {seed}".encode()).digest()
