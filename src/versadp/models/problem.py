"""From a release, a formula and a loss to what estimation works on.

Linear designs are fitted in noise units, `z = (x - centre)/sigma`, where the noise is ZIL(r, I). With an intercept the
centre is the middle of the box, so that estimates do not depend on where a column's zero is. Coefficients and
covariance are mapped back linearly.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import Batch, CustomModel, FormulaModel, LinearModel, RecordModel, Units
from versadp.errors import DataError, ParameterError
from versadp.formula.design import PUBLIC, Design, make_design

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.losses import IndexLoss
    from versadp.release.release import Release

    Array = NDArray[np.float64]
    AnyModel = LinearModel | FormulaModel | RecordModel | CustomModel

DESIGN, RESPONSE = "\0design", "\0response"
KEPT_CELLS = 30_000_000


@dataclass(frozen=True)
class ReleaseSource:
    """A release as batches in noise units; it is read anew in every pass."""

    release: Release
    units: Units
    add: Callable[[dict[str, Array], int], dict[str, Array]]
    weights: Array | None = None
    _kept: list[Batch] = field(default_factory=list, repr=False)

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.release)

    def batches(self) -> Iterable[Batch]:
        """Return the records; a release of moderate size is converted once and kept."""
        width = len(self.release.mechanism.schema.columns)
        if self.rows * width > KEPT_CELLS:
            return self._read()
        if not self._kept:
            self._kept.extend(self._read())
        return self._kept

    def _read(self) -> Iterator[Batch]:
        numeric, at = self.release.mechanism.schema.numeric, 0
        for table in self.release.batches():
            z = self.units.to_noise([_float(table.column(name)) for name in numeric])
            public = {name: _float(table.column(name)) for name in _public_numbers(self.release, table)}
            weight = None if self.weights is None else self.weights[at : at + table.num_rows]
            at += table.num_rows
            yield Batch(z, self.add(public, len(z)), weight)


@dataclass(frozen=True)
class MemorySource:
    """Batches that are in memory."""

    parts: tuple[Batch, ...]

    @property
    def rows(self) -> int:
        """Number of records."""
        return sum(part.rows for part in self.parts)

    def batches(self) -> tuple[Batch, ...]:
        """Return the batches."""
        return self.parts


@dataclass(frozen=True)
class Problem:
    """What estimation works on, and the way back to the user's units."""

    model: AnyModel
    units: Units
    source: ReleaseSource
    names: tuple[str, ...]
    groups: tuple[NDArray[np.int64], ...]
    scale: Array  # theta_user = scale @ theta + shift
    shift: Array
    noisy: bool  # whether the model uses noisy columns at all
    design: Design | None = None

    def to_user(self, theta: Array, cov: Array) -> tuple[Array, Array]:
        """Return coefficients and covariance in the user's units."""
        return self.scale @ theta + self.shift, self.scale @ cov @ self.scale.T

    def to_noise(self, theta: Array) -> Array:
        """Return the user's coefficients in the units of the fit."""
        return np.asarray(np.linalg.solve(self.scale, theta - self.shift), dtype=float)

    def sample(self, rows: int, seed: int) -> Batch:
        """Return a random part of the records, in memory."""
        rng, left, total = np.random.default_rng([seed, 0xFEED]), rows, self.source.rows
        chosen = []
        for batch in self.source.batches():
            take = min(left, int(rng.hypergeometric(batch.rows, max(total - batch.rows, 0), min(left, total))))
            chosen.append(batch.take(np.sort(rng.choice(batch.rows, take, replace=False))))
            left, total = left - take, total - batch.rows
        together = _concatenate(chosen)
        # a part is in random order; all of the records are in their own
        return together if together.rows == self.source.rows else together.take(rng.permutation(together.rows))


def make_problem(release: Release, formula: str | None, loss: Any, weights: Array | None, size: int | None) -> Problem:
    """Return the problem of fitting a loss to a release.

    Parameters
    ----------
    release : Release
    formula : str or None
        None for losses of whole records.
    loss : IndexLoss or RecordLoss
    weights : array (n,), optional
        The analyst's weights.
    size : int, optional
        Number of parameters of a user's loss.
    """
    laplace = release.mechanism.channels.laplace
    if laplace is None:
        raise ParameterError(
            "the release has no noisy numeric column",
            hint="models with categories are to come; Release.augment serves them already",
        )
    if loss.needs_formula == (formula is None):
        raise ParameterError(
            "a loss of an index needs a formula, and a loss of whole records takes none",
            hint='e.g. fit(release, "y ~ age", loss="logistic"), or fit(release, loss=Mean("age"))',
        )
    middle = (np.array(laplace.lower) + np.array(laplace.upper)) / 2
    units = _units(laplace, middle)
    if formula is None:
        return _record_problem(release, loss, units, weights, size)
    design = make_design(formula, release.mechanism.schema)
    return _formula_problem(release, design, loss, units, weights)


def _units(laplace: Any, centre: Array) -> Units:
    box, sigma = laplace.box, laplace.sigma
    bounds = (np.array(laplace.lower), np.array(laplace.upper))
    lower, upper = (box.lower - centre) / sigma, (box.upper - centre) / sigma
    return Units(centre, sigma, lower, upper, laplace.exact_rate, bounds, laplace.step)


def _formula_problem(release: Release, design: Design, loss: IndexLoss, units: Units, weights: Array | None) -> Problem:
    size, columns = len(design.names), np.array(design.columns)
    if design.response >= 0 and not loss.residual:
        raise ParameterError(
            f"a noisy response needs a loss of the residual, and {loss.name} is none",
            hint="use squared, check or huber loss, or a public response",
        )
    if len(release) <= size:
        raise DataError(f"{size} coefficients need more than {len(release)} records")
    if design.linear and "Intercept" not in design.names:
        units = _units(release.mechanism.channels.laplace, np.zeros(units.dim))
    _refuse_text(release, design)
    open_terms = design.terms.take(np.flatnonzero(columns == PUBLIC))
    shape = _response_map(release, design, loss)

    def add(public: dict[str, Array], rows: int) -> dict[str, Array]:
        """Add the public part of the design and the response, once a batch."""
        out = dict(public)
        if design.linear:
            out[DESIGN] = open_terms.matrix(public or {"": np.zeros(rows)})
        if design.response < 0:
            out[RESPONSE] = shape(design.response_at(public))
        return out

    def evaluate(x: Array, record: NDArray[Any], batch: Batch) -> tuple[Array, Array]:
        full = {name: x[:, j] for j, name in enumerate(release.mechanism.schema.numeric)}
        full |= {name: column[record] for name, column in batch.public.items() if name not in (DESIGN, RESPONSE)}
        m, y = design.evaluate(full)
        return _finite(m), y if design.response >= 0 else batch.public[RESPONSE][record]

    source = ReleaseSource(release, units, add, weights)
    if not design.linear:
        model: AnyModel = FormulaModel(loss, size, evaluate, units)
        return Problem(
            model, units, source, design.names, (np.arange(size),), np.eye(size), np.zeros(size), True, design
        )
    return _linear_problem(design, loss, units, source)


def _linear_problem(design: Design, loss: IndexLoss, units: Units, source: ReleaseSource) -> Problem:
    size, columns, response = len(design.names), np.array(design.columns), design.response
    unit, origin = (units.sigma[response], units.centre[response]) if response >= 0 else (1.0, 0.0)
    noisy = np.flatnonzero(columns >= 0)
    scale, shift = unit * np.eye(size), np.zeros(size)
    scale[noisy, noisy] /= units.sigma[columns[noisy]]
    if "Intercept" in design.names:
        constant = design.names.index("Intercept")
        scale[constant, noisy] = -unit * (units.centre / units.sigma)[columns[noisy]]
        shift[constant] = origin
    model = LinearModel(
        loss.in_units(unit), columns, lambda batch: batch.public[DESIGN], lambda batch: batch.public[RESPONSE], response
    )
    public = np.flatnonzero(columns < 0)
    groups = tuple(group for group in (noisy, public) if group.size)
    used = bool(noisy.size) or response >= 0
    return Problem(model, units, source, design.names, groups, scale, shift, used, design)


def _record_problem(release: Release, loss: Any, units: Units, weights: Array | None, size: int | None) -> Problem:
    schema = release.mechanism.schema

    def records(x: Array, record: NDArray[Any], batch: Batch) -> Array:
        columns = {name: x[:, j] for j, name in enumerate(schema.numeric)}
        columns |= {name: column[record] for name, column in batch.public.items()}
        return np.stack([columns[name] for name in schema.columns if name in columns], axis=1)

    source = ReleaseSource(release, units, lambda public, rows: public, weights)  # noqa: ARG005 - one signature
    if loss.base is None:
        if size is None:
            raise ParameterError("a loss of your own needs a start", hint="e.g. start=np.zeros(3)")
        model: AnyModel = CustomModel(loss, size, records, units, width=len(schema.columns))
        return Problem(model, units, source, loss.names(size), (np.arange(size),), np.eye(size), np.zeros(size), True)
    model = RecordModel(loss.base, _function(loss.of, release, records), units)
    return Problem(model, units, source, loss.names(1), (np.arange(1),), np.eye(1), np.zeros(1), True)


def _function(of: Any, release: Release, records: Any) -> Any:
    """Return the function of a record whose mean or quantile is asked for."""
    schema = release.mechanism.schema
    if isinstance(of, str):
        if of not in schema.numeric:
            raise ParameterError(f"{of!r} is no noisy numeric column", hint=f"choose from {', '.join(schema.numeric)}")
        column = schema.numeric.index(of)
        return lambda x, record, batch: np.ascontiguousarray(x[:, column])  # noqa: ARG005 - one signature

    def values(x: Array, record: NDArray[Any], batch: Batch) -> Array:
        out = np.asarray(of(records(x, record, batch)), dtype=float)
        if out.shape != (len(x),):
            raise ParameterError(f"the function must return one number a record, not an array of shape {out.shape}")
        return _finite(out)

    return values


def _response_map(release: Release, design: Design, loss: IndexLoss) -> Callable[[Array], Array]:
    """Return the map of a public response to what the loss needs, fixed by all records and not by a batch."""
    if loss.classes is None or design.response >= 0:
        code = loss.coding()
        return lambda y: code(_finite(y))
    import pyarrow as pa

    seen: set[float] = set()
    for table in release.batches():
        columns = {name: _float(table.column(name)) for name in _public_numbers(release, table)}
        seen |= set(pa.array(_finite(design.response_at(columns))).unique().to_pylist())
    return loss.coding(np.array(sorted(seen)))


def _refuse_text(release: Release, design: Design) -> None:
    first = next(iter(release.batches()), None)
    numbers = [] if first is None else _public_numbers(release, first)
    for name in design.used:
        if first is not None and name in release.mechanism.schema.public and name not in numbers:
            raise ParameterError(f"public column {name!r} holds text", hint="declare numeric dummies (0 and 1) for it")


def _finite(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise ParameterError(
            "a term of the model is not finite somewhere on the domain, or outside where this method looks too",
            hint="'efficient', and 'drcl' with extension 'zero' or 'clip', never leave the domain",
        )
    return values


def _float(column: pa.Array) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=float)


def _public_numbers(release: Release, table: Any) -> list[str]:
    """Return the public columns that hold numbers or true/false."""
    import pyarrow as pa

    def is_number(name: str) -> bool:
        kind = table.schema.field(name).type
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))

    return [name for name in release.mechanism.schema.public if is_number(name)]


def _concatenate(parts: list[Batch]) -> Batch:
    public = {name: np.concatenate([part.public[name] for part in parts]) for name in parts[0].public}
    weights = [part.weight for part in parts if part.weight is not None]
    return Batch(np.concatenate([part.z for part in parts]), public, np.concatenate(weights) if weights else None)


def with_bandwidth(problem: Problem, bandwidth: float, window: float) -> Problem:
    """Return the problem with its kinked loss smoothed by a bandwidth, and its curvature by a window."""
    assert not isinstance(problem.model, CustomModel)  # whose kinks are the user's business
    return replace(problem, model=replace(problem.model, bandwidth=bandwidth, window=window))
