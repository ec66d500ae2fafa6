"""From a release, a formula and a loss to what estimation works on.

A model touches some of the mechanism's blocks, and only their noise is undone. Where it is zero-inflated Laplace noise
on one block, linear designs are fitted in noise units, `z = (x - centre)/sigma`, where the noise is ZIL(r, I);
otherwise in widths. With an intercept the centre is the middle of the box, so that estimates do not depend on where a
column has its zero. Coefficients and covariance are mapped back linearly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import CustomModel, FormulaModel, LinearModel, RecordModel, Records
from versadp.correction.model import finite
from versadp.errors import DataError, ParameterError
from versadp.estimation import Question
from versadp.formula.design import PUBLIC, Design, make_design
from versadp.models.source import MemorySource, Reader, ReleaseSource, numbers_of, public_numbers
from versadp.noise.units import Units
from versadp.schema import Bounded

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.losses import IndexLoss
    from versadp.noise import Block
    from versadp.release.release import Release

    Array = NDArray[np.float64]
    AnyModel = LinearModel | FormulaModel | RecordModel | CustomModel

APART = 3.0  # times as much noise, from one column to the next, has weights of its own


@dataclass(frozen=True)
class Problem:
    """What estimation works on, and the way back to the user's units.

    Attributes
    ----------
    blocks : tuple of Block
        The blocks that the model touches.
    groups : tuple of index arrays
        Coefficients that share weights.
    scale, shift : array
        `theta_user = scale @ theta + shift`.
    quantile : Question, optional
        The quantile of a function of a record that is asked for, if it is that.
    """

    model: AnyModel
    units: Units
    blocks: tuple[Block, ...]
    source: ReleaseSource | MemorySource
    names: tuple[str, ...]
    groups: tuple[NDArray[np.int64], ...]
    scale: Array
    shift: Array
    design: Design | None = None
    quantile: Question | None = None

    def to_user(self, theta: Array, cov: Array) -> tuple[Array, Array]:
        """Return coefficients and covariance in the user's units."""
        return self.scale @ theta + self.shift, self.scale @ cov @ self.scale.T

    def to_fit(self, theta: Array) -> Array:
        """Return the user's coefficients in the units of the fit."""
        return np.asarray(np.linalg.solve(self.scale, theta - self.shift), dtype=float)

    def sample(self, rows: int, seed: int) -> Records:
        """Return a random part of the records, in memory."""
        rng, left, total = np.random.default_rng([seed, 0xFEED]), rows, self.source.rows
        chosen = []
        for item in self.source.handles():
            for _, lot in self.source.read(item):  # type: ignore[arg-type] # an item of its own
                take = min(left, int(rng.hypergeometric(lot.rows, max(total - lot.rows, 0), min(left, total))))
                chosen.append(lot.take(np.sort(rng.choice(lot.rows, take, replace=False))))
                left, total = left - take, total - lot.rows
        together = Records.joined(chosen)
        # a part is in random order; all of the records are in their own
        return together if together.rows == self.source.rows else together.take(rng.permutation(together.rows))

    def smoothed(self, bandwidth: float, window: float) -> Problem:
        """Return the problem with its kinked loss smoothed by a bandwidth, and its curvature by a window."""
        assert not isinstance(self.model, CustomModel)  # whose kinks are the user's business
        return replace(self, model=replace(self.model, bandwidth=bandwidth, window=window))


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
    if not release.mechanism.schema.numeric:
        raise ParameterError(
            "the release has no noisy numeric column",
            hint="models with categories are to come; Release.augment serves them already",
        )
    if loss.needs_formula == (formula is None):
        raise ParameterError(
            "a loss of an index needs a formula, and a loss of whole records takes none",
            hint='e.g. fit(release, "y ~ age", loss="logistic"), or fit(release, loss=Mean("age"))',
        )
    if formula is None:
        return _record_problem(release, loss, weights, size)
    return _formula_problem(release, make_design(formula, release.mechanism.schema), loss, weights)


def _touched(release: Release, used: set[str]) -> tuple[Block, ...]:
    return tuple(block for block in release.mechanism.blocks if used & set(block.columns))


def _units(release: Release, blocks: tuple[Block, ...], *, centred: bool = True) -> Units:
    """Return noise units if one block declares them, else widths."""
    columns = release.mechanism.schema.columns
    bounds = {name: _bounds(columns[name]) for block in blocks for name in block.columns}
    plain = Units.plain(bounds)
    centre = plain.middle if centred else np.zeros(plain.dim)
    noise = blocks[0].units(centre) if len(blocks) == 1 else None
    return Units.plain(bounds, centre) if noise is None else noise


def _bounds(column: Any) -> tuple[float, float]:
    """Return the bounds of a number, or of the numbers of levels."""
    return (column.lower, column.upper) if isinstance(column, Bounded) else (0.0, len(column.levels) - 1.0)


def _source(release: Release, reader: Reader, weights: Array | None) -> ReleaseSource | MemorySource:
    return ReleaseSource(release, replace(reader, raw=reader.units.exact_rate is None), weights).kept()


def _formula_problem(release: Release, design: Design, loss: IndexLoss, weights: Array | None) -> Problem:
    schema, size = release.mechanism.schema, len(design.names)
    if design.response >= 0 and not loss.residual:
        raise ParameterError(
            f"a noisy response needs a loss of the residual, and {loss.name} is none",
            hint="use squared, check or huber loss, or a public response",
        )
    if len(release) <= size:
        raise DataError(f"{size} coefficients need more than {len(release)} records")
    public = _public_columns(release, design)
    blocks = _touched(release, set(design.used))
    units = _units(release, blocks, centred=not design.linear or "Intercept" in design.names)
    coding = _coding(release, design, loss) if design.response < 0 else None
    open_terms = design.terms.take(np.flatnonzero(np.array(design.columns) == PUBLIC)) if design.linear else None
    source = _source(release, Reader(units, public, design, open_terms, coding), weights)
    if design.linear:
        columns = tuple(PUBLIC if c < 0 else units.names.index(schema.numeric[c]) for c in design.columns)
        response = -1 if design.response < 0 else units.names.index(schema.numeric[design.response])
        return _linear_problem(design, np.array(columns), response, loss, (units, blocks, source))
    every = (np.arange(size),)
    model = FormulaModel(loss, design, units)
    return Problem(model, units, blocks, source, design.names, every, np.eye(size), np.zeros(size), design)


def _linear_problem(
    design: Design,
    columns: NDArray[np.int64],
    response: int,
    loss: IndexLoss,
    where: tuple[Units, tuple[Block, ...], ReleaseSource | MemorySource],
) -> Problem:
    units, blocks, source = where
    size = len(design.names)
    unit, origin = (float(units.unit[response]), float(units.centre[response])) if response >= 0 else (1.0, 0.0)
    if response >= 0:
        loss = loss.in_units(unit)
    noisy = np.flatnonzero(columns >= 0)
    scale, shift = unit * np.eye(size), np.zeros(size)
    scale[noisy, noisy] /= units.unit[columns[noisy]]
    if "Intercept" in design.names:
        constant = design.names.index("Intercept")
        scale[constant, noisy] = -unit * (units.centre / units.unit)[columns[noisy]]
        shift[constant] = origin
    groups = (*_by_noise(noisy, columns, units), *(() if (columns >= 0).all() else (np.flatnonzero(columns < 0),)))
    model = LinearModel(loss, columns, response)
    return Problem(model, units, blocks, source, design.names, groups, scale, shift, design)


def _by_noise(noisy: NDArray[np.int64], columns: NDArray[np.int64], units: Units) -> list[NDArray[np.int64]]:
    """Return the coefficients of noisy columns, grouped by how noisy these are: one weight would make some pay.

    The least noisy are first: by their weights curvature is known best.
    """
    noise = 1 / (units.upper - units.lower)[columns[noisy]]
    order = np.argsort(noise, kind="stable")
    cuts = np.flatnonzero(np.diff(np.log(noise[order])) > np.log(APART)) + 1
    return [np.sort(noisy[group]) for group in np.split(order, cuts) if group.size]


def _record_problem(release: Release, loss: Any, weights: Array | None, size: int | None) -> Problem:
    schema = release.mechanism.schema
    public = tuple(public_numbers(release))
    order = tuple(name for name in schema.columns if name in schema.numeric or name in public)
    if isinstance(loss.of, str):
        if loss.of not in schema.numeric:
            raise ParameterError(
                f"{loss.of!r} is no noisy numeric column", hint=f"choose from {', '.join(schema.numeric)}"
            )
        public, order = (), (loss.of,)
    blocks = _touched(release, set(order) & set(schema.numeric))
    units = _units(release, blocks)
    source = _source(release, Reader(units, public), weights)
    count = loss.size or size
    if count is None:
        raise ParameterError("a loss of your own needs a start", hint="e.g. start=np.zeros(3)")
    if loss.base is None:
        model: AnyModel = CustomModel(loss, count, order, units)
    else:
        model = RecordModel(loss.base, loss.of, order, units)
    every = (np.arange(count),)
    asked = None if loss.share is None else _quantile(loss, units)
    names, same, nowhere = loss.names(count), np.eye(count), np.zeros(count)
    return Problem(model, units, blocks, source, names, every, same, nowhere, quantile=asked)


def _quantile(loss: Any, units: Units) -> Question:
    """Return which quantile a loss asks for; that of a column is inside its bounds."""
    if not isinstance(loss.of, str):
        return Question(loss.share)
    j = units.names.index(loss.of)
    low, high = (float(end[j]) for end in units.bounds)
    return Question(loss.share, (low, high), float(units.step[j]))


def _coding(release: Release, design: Design, loss: IndexLoss) -> Callable[[Array], Array]:
    """Return the map of a public response to what the loss needs, fixed by all records and not by some."""
    if loss.classes is None:
        return loss.coding()
    import pyarrow as pa

    seen: set[float] = set()
    for handle in release.handles():
        table = release.read(handle, list(design.left.columns))
        response = design.response_at({name: numbers_of(table.column(name)) for name in design.left.columns})
        seen |= set(pa.array(finite(response)).unique().to_pylist())
    return loss.coding(np.array(sorted(seen)))


def _public_columns(release: Release, design: Design) -> tuple[str, ...]:
    """Return the public columns that a formula uses; they must hold numbers."""
    used = tuple(name for name in design.used if name in release.mechanism.schema.public)
    numbers = public_numbers(release)
    for name in used:
        if name not in numbers:
            raise ParameterError(f"public column {name!r} holds text", hint="declare numeric dummies (0 and 1) for it")
    return used
