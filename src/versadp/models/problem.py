"""From a release, a formula and a loss to what estimation works on.

A model touches some of the mechanism's blocks, and only their noise is undone. Where it is zero-inflated Laplace noise
on one block, linear designs are fitted in noise units, `z = (x - centre)/sigma`, where the noise is ZIL(r, I);
otherwise in widths. With an intercept the centre is the middle of the box, so that estimates do not depend on where a
column has its zero. Coefficients and covariance are mapped back linearly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import CustomModel, FormulaModel, LinearModel, RecordModel, Records
from versadp.correction.model import finite
from versadp.errors import DataError, ParameterError
from versadp.estimation import Question
from versadp.formula.design import MIXED, PUBLIC, Design, make_design
from versadp.models.source import MemorySource, Reader, ReleaseSource, is_number, numbers_of, public_numbers
from versadp.noise.coded import indicator
from versadp.noise.units import Units
from versadp.schema import Bounded, Categorical, Dates, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from versadp.losses import IndexLoss
    from versadp.losses.expansion import Expansion
    from versadp.noise import Block
    from versadp.release.release import Release
    from versadp.schema import Schema

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
    nullable : tuple of str
        Columns of the model whose values may be missing: it is fitted to the records in which none is.
    expansion : Expansion, optional
        The loss as a series, where its index lies.
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
    nullable: tuple[str, ...] = ()
    expansion: Expansion | None = None

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

    def minimising(self, loss: IndexLoss, tilt: Array | None = None) -> Problem:
        """Return the problem of another loss, with a tilt if its scale is from the data."""
        assert not isinstance(self.model, CustomModel)
        return replace(self, model=replace(self.model, loss=loss, bandwidth=0.0, window=0.0, tilt=tilt))


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
    schema = release.mechanism.schema
    if loss.needs_formula == (formula is None):
        raise ParameterError(
            "a loss of an index needs a formula, and a loss of whole records takes none",
            hint='e.g. fit(release, "y ~ age", loss="logistic"), or fit(release, loss=Mean("age"))',
        )
    design = None if formula is None else make_design(formula, schema, partial(_public_levels, release))
    if not schema.numeric and (design is None or not design.coded):
        raise ParameterError(
            "the release has no noisy numeric column", hint="a category stands in a formula, e.g. y ~ C(region)"
        )
    if design is None:
        return _record_problem(release, loss, weights, size)
    return _formula_problem(release, design, loss, weights)


def _public_levels(release: Release, name: str) -> list[str] | None:
    """Return the values of a public column that holds text, over all records; None if it holds numbers."""
    if name not in release.mechanism.schema.public or is_number(release.types.field(name).type):
        return None
    seen: set[Any] = set()
    for handle in release.handles():
        seen |= set(release.read(handle, [name]).column(name).unique().to_pylist())
    if None in seen:
        raise DataError(f"public column {name!r} has missing values", hint="give them a level of their own")
    return sorted(map(str, seen))


def _nullable(blocks: tuple[Block, ...], used: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for block in blocks for name in block.nullable if name in used)


def _touched(release: Release, used: set[str]) -> tuple[Block, ...]:
    """Return the blocks that a model touches, and of each what matters to it."""
    return tuple(block.part(used) for block in release.mechanism.blocks if used & set(block.columns))


def _units(release: Release, blocks: tuple[Block, ...], *, centred: bool = True) -> Units:
    """Return noise units if one block declares them, else widths."""
    columns = release.mechanism.schema.columns
    bounds = {name: _bounds(columns.get(name)) for block in blocks for name in block.columns}
    plain = Units.plain(bounds)
    centre = plain.middle if centred else np.zeros(plain.dim)
    noise = blocks[0].units(centre) if len(blocks) == 1 else None
    return Units.plain(bounds, centre) if noise is None else noise


def _bounds(column: Any) -> tuple[float, float]:
    """Return the bounds of a number, of the numbers of levels, or of an indicator."""
    if column is None:
        return 0.0, 1.0
    return (column.lower, column.upper) if isinstance(column, Bounded) else (0.0, len(column.levels) - 1.0)


def _source(release: Release, reader: Reader, weights: Array | None) -> ReleaseSource | MemorySource:
    columns = release.mechanism.schema.columns
    dates = {name: c for name in reader.units.names if isinstance(c := columns.get(name), Dates)}
    return ReleaseSource(release, replace(reader, raw=reader.units.exact_rate is None, dates=dates), weights).kept()


def _formula_problem(release: Release, design: Design, loss: IndexLoss, weights: Array | None) -> Problem:
    schema, size = release.mechanism.schema, len(design.names)
    if len(release) <= size:
        raise DataError(f"{size} coefficients need more than {len(release)} records")
    public = _public_columns(release, design)
    blocks = _coded(_touched(release, set(design.used)), design, schema)
    units = _units(release, blocks, centred=not design.linear or "Intercept" in design.names)
    coding = _coding(release, design, loss) if design.response == PUBLIC else None
    # a noisy response moves with the index where the loss is one of their difference, or where it is undone by itself
    natural = (loss.natural or loss.margin) and units.exact_rate is None
    linear = design.linear and (design.response == PUBLIC or loss.residual or natural)
    if design.response >= 0 and not loss.residual:
        _check_response(design, loss, schema, natural=linear)
    if design.linear and not linear:
        units = _units(release, blocks)
    open_terms = design.terms.take(np.flatnonzero(np.array(design.columns) == PUBLIC)) if linear else None
    source = _source(release, Reader(units, public, design, open_terms, coding, _levels(design, schema)), weights)
    if linear:
        columns = _places(design, units, schema)
        response = -1 if design.response < 0 else units.names.index(schema.numeric[design.response])
        problem = _linear_problem(design, np.array(columns), response, loss, (units, blocks, source))
    else:
        every, model = (np.arange(size),), FormulaModel(loss, design, units)
        if design.response == MIXED:
            _check_function(model, next(iter(source.read(source.handles()[0])))[1])  # type: ignore[arg-type] # an item of its own
        problem = Problem(model, units, blocks, source, design.names, every, np.eye(size), np.zeros(size), design)
    return replace(problem, nullable=_nullable(blocks, design.used))


def _coded(blocks: tuple[Block, ...], design: Design, schema: Schema) -> tuple[Block, ...]:
    """Return blocks with indicators in place of the categories that a design has."""
    levels: dict[str, tuple[int, ...]] = {}
    for one in design.indicators:
        if one is not None:
            levels[one.column] = (*levels.get(one.column, ()), one.level)
    if levels and not design.linear:
        raise ParameterError(
            "private categories beside functions of noisy columns are to come", hint="noisy columns as they are"
        )
    out = [block.coded(levels) if set(block.columns) & set(schema.categorical) else block for block in blocks]
    if None in out:
        raise ParameterError("the noise of a category of this model has no inverse by its levels")
    return tuple(out)  # type: ignore[arg-type] # what closed forms ask of a block


def _levels(design: Design, schema: Schema) -> dict[str, tuple[str, Any]]:
    """Return the category and the level of each indicator."""
    out: dict[str, tuple[str, Any]] = {}
    for one in design.indicators:
        if one is not None:
            column = schema.columns[one.column]
            assert isinstance(column, Categorical)
            out[indicator(one.column, one.level)] = one.column, column.levels[one.level]
    return out


def _places(design: Design, units: Units, schema: Schema) -> tuple[int, ...]:
    """Return for each coefficient its noisy column in the units of the fit, or -1."""
    out = []
    for place, one in zip(design.columns, design.indicators, strict=True):
        name = None if place == PUBLIC else schema.numeric[place] if one is None else indicator(one.column, one.level)
        out.append(PUBLIC if name is None else units.names.index(name))
    return tuple(out)


def _noisy_coding(loss: IndexLoss, units: Units, response: int) -> tuple[float, float]:
    """Return what codes a noisy response, from the units of the fit to what the loss needs."""
    origin, unit = float(units.centre[response]), float(units.unit[response])
    if loss.classes is None:
        return origin, unit
    low, high = (float(end[response]) for end in units.bounds)
    (first, second), width = loss.classes, high - low
    return first + (second - first) * (origin - low) / width, (second - first) * unit / width


def _check_response(design: Design, loss: IndexLoss, schema: Schema, *, natural: bool) -> None:
    """Refuse a noisy column as a response where a loss cannot take its bounds.

    Corrected scores are evaluated at values between them that nobody has, which does no harm; but what the two classes
    are cannot be read off noisy values. Where the loss is linear in it (`natural`) any two values are coded to them.
    """
    if design.coded and not natural:
        raise ParameterError(
            f"{loss.name} loss of a noisy response beside private categories needs windows on both",
            hint="take a public response, or squared loss",
        )
    column = schema.columns[schema.numeric[design.response]]
    assert isinstance(column, Bounded)
    bounds = column.lower, column.upper
    if loss.classes is not None and natural:
        if column.steps != 1:
            raise ParameterError(
                f"{loss.name} loss needs a response of two values", hint="declare it so: Bounded(0, 1, step=1)"
            )
        return
    if loss.classes is None:
        loss.response(np.array(bounds))
    elif bounds != loss.classes:
        low, high = loss.classes
        raise ParameterError(
            f"{loss.name} loss needs a noisy response with bounds {low:g} and {high:g}, its two classes, "
            f"and {design.response_name} has others",
            hint=f"release it as Bounded({low:g}, {high:g}), or take a public response",
        )


def _check_function(model: FormulaModel, records: Records) -> None:
    """Refuse a function of noisy columns as a response where a loss cannot take its values on the domain."""
    _, y = model.rows(model.units.clip(records.z), np.arange(records.rows), records)
    if model.loss.classes is None:
        model.loss.response(y)
    elif not np.isin(y, model.loss.classes).all():
        low, high = model.loss.classes
        raise ParameterError(
            f"{model.loss.name} loss needs a response of {low:g} and {high:g}, "
            f"and {model.design.response_name} has other values",
            hint="compare, as in I(income > 50000) ~ age, or take another loss",
        )


def _linear_problem(
    design: Design,
    columns: NDArray[np.int64],
    response: int,
    loss: IndexLoss,
    where: tuple[Units, tuple[Block, ...], ReleaseSource | MemorySource],
) -> Problem:
    units, blocks, source = where
    size = len(design.names)
    unit, origin, coding = 1.0, 0.0, (0.0, 1.0)
    if response >= 0 and loss.residual:
        unit, origin = float(units.unit[response]), float(units.centre[response])
        loss = loss.in_units(unit)
    elif response >= 0:
        coding = _noisy_coding(loss, units, response)
    noisy = np.flatnonzero(columns >= 0)
    scale, shift = unit * np.eye(size), np.zeros(size)
    scale[noisy, noisy] /= units.unit[columns[noisy]]
    if "Intercept" in design.names:
        constant = design.names.index("Intercept")
        scale[constant, noisy] = -unit * (units.centre / units.unit)[columns[noisy]]
        shift[constant] = origin
    groups = (*_by_noise(noisy, columns, units), *(() if (columns >= 0).all() else (np.flatnonzero(columns < 0),)))
    model = LinearModel(loss, columns, response, coding=coding)
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
    return Problem(
        model,
        units,
        blocks,
        source,
        names,
        every,
        same,
        nowhere,
        quantile=asked,
        nullable=_nullable(blocks, order),
    )


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
        if name not in numbers and name not in design.terms.texts:
            raise ParameterError(f"public column {name!r} holds text", hint=f"write C({name}) for its levels")
    return used
