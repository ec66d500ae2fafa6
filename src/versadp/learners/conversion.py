"""Conversion of the inputs of scikit-learn, (X, y), to a release: tables, arrays and releases.

    columns of X, by name or by position  +  y  ->  a release by the mechanism on these columns

Public columns may be missing. Private ones must all be there, since the noise of a record depends on all columns of a
block. A private response is a column of the mechanism, and y holds its released values.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from versadp import inputs
from versadp.errors import DataError, ParameterError
from versadp.fitting.source import is_number
from versadp.learners.order_check import refuse_another_order, refuse_response_in
from versadp.release.mechanism import Mechanism
from versadp.release.path.dates import from_dates
from versadp.release.release import Release, load
from versadp.schema import Categorical, Dates, Public, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WHICH = "give a DataFrame, whose columns are matched by name, or say response=, which column y is"


@dataclass(frozen=True, eq=False)
class Carried:
    """Scaled released columns with the mechanism in the same units: the output of `Scaler`.

    It cannot be converted to an array, since other steps of a pipeline would ignore the noise.
    """

    columns: dict[str, Any]
    mechanism: Mechanism
    original: Mechanism

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.columns)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ParameterError(
            "these columns carry noise, which other estimators would ignore",
            hint="let a learner of versadp follow vdp.Scaler; for others see Release.augment",
        )


class Given(NamedTuple):
    """A release, the column that is the response, and the columns that predict it, in the order of X."""

    release: Release
    response: str
    features: tuple[str, ...]


def is_released(X: Any, mechanism: Mechanism | None) -> bool:
    """Return True if there is a mechanism, or X is a release or brings its mechanism."""
    if mechanism is not None and not isinstance(mechanism, Mechanism):
        raise ParameterError(
            "mechanism is not a Mechanism", hint="e.g. rel.mechanism, or None for records without noise"
        )
    return mechanism is not None or isinstance(X, Release | Carried | str | Path)


def read_given(
    X: Any, y: Any, mechanism: Mechanism | None, response: str | None, columns: Sequence[str] | None = None
) -> Given:
    """Return what a learner is fitted to.

    Parameters
    ----------
    X : Release, path, table or array
    y : str, array or None
        The name of a column; or values in the order of X.
    mechanism : Mechanism or None
        The mechanism that released the records; a release has it.
    response : str or None
        The column that is y; None if y is public.
    columns : sequence of str, optional
        The columns of X that enter the model; all by default.
    """
    columns = None if columns is None else inputs.names("columns", columns)
    if isinstance(y, str):
        response, y = y, None
    if isinstance(X, str | Path):
        X = load(X)
    if isinstance(X, Release):
        _same(mechanism, X.mechanism)
        if y is None:
            return _named(X, response, columns)
        if X.order.alike is not None:
            raise DataError(
                "the rows of this release are sorted by a public hash, and y kept elsewhere is in another order",
                hint='name the column: fit(release, y="bought"); make it Public() or private in the schema',
            )
        X, mechanism, trusted = X.to_arrow(), X.mechanism, True
    elif isinstance(X, Carried):
        _same(mechanism, X.original)
        mechanism, trusted = X.mechanism, True
    else:
        assert mechanism is not None
        trusted = False
    made = _joined(X, y, mechanism, response, trusted=trusted)
    return made if columns is None else _named(made.release, made.response, columns)


def _same(told: Mechanism | None, brought: Mechanism) -> None:
    if told is not None and told != brought:
        raise ParameterError(
            "the release was made by another mechanism", hint="leave mechanism= out: a release has its mechanism"
        )


def _named(release: Release, response: str | None, columns: Sequence[str] | None) -> Given:
    known = list(release.mechanism.schema.columns)
    if response is None:
        raise ParameterError(
            "the response is missing: y must name a column of the release", hint='e.g. fit(release, y="bought")'
        )
    for name in (response, *(columns or ())):
        if name not in known:
            raise ParameterError(f"there is no column {name!r}", hint=f"the release has {', '.join(known)}")
    chosen = [name for name in known if name != response] if columns is None else list(columns)
    if not chosen or response in chosen:
        raise ParameterError("a model needs columns beside its response", hint="release some, or name others")
    return Given(release, response, tuple(chosen))


def _joined(X: Any, y: Any, mechanism: Mechanism, response: str | None, *, trusted: bool) -> Given:
    """Return the release of X and y together, on the columns that are there."""
    schema = mechanism.schema
    table = arrow_columns(X, mechanism, response)
    if response is not None and response not in schema.columns:
        raise ParameterError(f"there is no column {response!r}", hint=f"the schema has {', '.join(schema.columns)}")
    if y is None:
        if response is None or response not in table:
            raise DataError("there is no response: y is missing", hint="give y, or name a column of X")
        name, features = response, [each for each in table if each != response]
    else:
        name, features = _response_name(y, table, schema, response), list(table)
        refuse_response_in(X, y, table, schema, name)
        table = table | {name: _values(y, name, len(next(iter(table.values()), ())), schema)}
    if missing := [each for each in schema.private if each not in table]:
        raise DataError(
            f"missing columns: {', '.join(map(repr, missing))}",
            hint="give every private column, since the noise of a record depends on all of them (columns= says which "
            "enter the model); if one of them is y, say so: response=...",
        )
    part = _mechanism_on(table, mechanism, name)
    ordered = pa.table({each: table[each] for each in part.schema.columns})
    release = Release.from_frame(ordered, part, on_grid=not trusted)
    if y is not None and part.schema == schema:
        refuse_another_order(release)
    return Given(release, name, tuple(features))


def _response_name(y: Any, table: Mapping[str, Any], schema: Schema, response: str | None) -> str:
    """Return the column that is y: the one given, the name of y, or the only public column that X lacks."""
    if response is not None:
        return response
    called = getattr(y, "name", None)
    if isinstance(called, str) and called in schema.private:
        raise ParameterError(
            f"y is {called!r}, a private column, whose noise needs a correction", hint=f"say so: response={called!r}"
        )
    if isinstance(called, str) and called in schema.public:
        return called
    left = [name for name in schema.public if name not in table]
    if len(left) == 1:
        return left[0]
    return next(name for name in ("y", "response", "y_") if name not in schema.columns)


def _values(y: Any, name: str, rows: int, schema: Schema) -> pa.Array:
    values = y if isinstance(y, pa.Array | pa.ChunkedArray) else np.asarray(y)
    if getattr(values, "ndim", 1) != 1 or len(values) != rows:
        raise DataError(f"y has not one value for each of {rows} records", hint="give one response")
    return _column(values, schema.columns.get(name))


def _column(values: Any, declared: Any) -> Any:
    """Return a column as arrow; levels and booleans that numpy made floats or objects get their declared type back."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    values = np.asarray(values)
    if isinstance(declared, Categorical) and values.dtype.kind in "fiub":
        kind = type(declared.levels[0])
        if kind is not str and (values == values.astype(np.int64)).all():
            return pa.array(values.astype(np.int64).astype(kind))
    numeric = declared is not None and not isinstance(declared, Public | Categorical | Dates)
    if values.dtype.kind == "O" and numeric:
        with contextlib.suppress(ValueError, TypeError, pa.ArrowException):
            return pa.array(values.astype(float))
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError):  # whose message would show a value
        raise DataError("a column of X or y holds values of several kinds", hint="give a DataFrame") from None


def arrow_columns(X: Any, mechanism: Mechanism, response: str | None) -> dict[str, Any]:
    """Return the columns of X by name; those of an array are in the order of the schema."""
    if isinstance(X, Carried):
        return dict(X.columns)
    schema = mechanism.schema
    if isinstance(X, np.ndarray) or not hasattr(X, "columns"):
        values = np.asarray(X)
        names = places(values.shape[1] if values.ndim == 2 else -1, schema, response)
        return {name: _column(values[:, j], schema.columns[name]) for j, name in enumerate(names)}
    found = table_columns(X)
    if unknown := [str(name) for name in found if name not in schema.columns]:
        raise DataError(
            f"columns that the schema does not know: {', '.join(map(repr, unknown))}",
            hint="drop them: functions of noisy columns made after release cannot be corrected; for functions "
            'use a formula, vdp.fit(release, "y ~ np.log1p(income)")',
        )
    return found


def table_columns(X: Any) -> dict[str, Any]:
    """Return the columns of a pandas, polars or arrow table."""
    import narwhals as nw

    try:
        data = nw.from_native(X, eager_only=True)
    except TypeError:
        raise DataError(f"cannot read records from {type(X).__name__}", hint="give a table, or an array") from None
    return {name: data.get_column(name).to_arrow() for name in data.columns}


def places(width: int, schema: Schema, response: str | None) -> tuple[str, ...]:
    """Return the names of the columns of an array of this width: all but the response, or the private ones."""
    every = tuple(name for name in schema.columns if name != response)
    private = tuple(name for name in every if name in schema.private)
    for names in (every, private):
        if len(names) == width:
            return names
    raise DataError(
        f"an array is in the order of the schema, with {len(private)} columns (all private ones but the response), "
        f"or {len(every)} with the public ones; this has {max(width, 0)}",
        hint=_WHICH,
    )


def _mechanism_on(table: Mapping[str, Any], mechanism: Mechanism, response: str) -> Mechanism:
    """Return the mechanism on the columns that are there."""
    schema = mechanism.schema
    kept = {name: column for name, column in schema.columns.items() if name in table}
    if response not in kept:
        kept[response] = Public()
    if list(kept) == list(schema.columns):
        return mechanism
    return Mechanism(Schema(kept), noise={block.columns: block.spec for block in mechanism.blocks})


def numbers_at(X: Any, features: tuple[str, ...], schema: Schema) -> dict[str, Any]:
    """Return the columns at which a model is evaluated, by name; those of an array are in the order of `features`."""
    if isinstance(X, Release):
        X = X.to_arrow()
    if isinstance(X, Carried):
        found: dict[str, Any] = dict(X.columns)
    elif isinstance(X, np.ndarray) or not hasattr(X, "columns"):
        values = np.asarray(X)
        if values.ndim != 2 or values.shape[1] != len(features):
            raise DataError(f"X needs {len(features)} columns: {', '.join(features)}", hint="or give a table")
        found = {name: _column(values[:, j], schema.columns[name]) for j, name in enumerate(features)}
    else:
        found = table_columns(X)
    return {name: _as_numbers(column, schema.columns.get(name)) for name, column in found.items()}


def _as_numbers(column: Any, declared: Any) -> Any:
    """Return a column as numpy array, dates as days since the first date."""
    if not isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    if isinstance(declared, Dates) and not is_number(column.type):
        return from_dates(column, declared)
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.to_numpy(zero_copy_only=False)
