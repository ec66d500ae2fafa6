"""From a release, a formula and a loss to what estimation works on.

A model touches some of the mechanism's blocks, and only their noise is undone. Where it is zero-inflated Laplace noise
on one block, linear designs are fitted in noise units, `z = (x - centre)/sigma`, where the noise is ZIL(r, I);
otherwise in widths. With an intercept the centre is the middle of the box, so that estimates do not depend on where a
column has its zero. Coefficients and covariance are mapped back linearly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction import (
    CustomModel,
    FormulaModel,
    LinearModel,
    MultinomialModel,
    RecordModel,
    Records,
    ShareModel,
)
from versadp.correction.model import finite
from versadp.engine import Serial, is_far, nearby
from versadp.errors import DataError, ParameterError
from versadp.estimation import Question
from versadp.fitting.methods import is_expanded
from versadp.fitting.source import Asked, MemorySource, Reader, ReleaseSource, is_number, public_numbers, values_of
from versadp.formula.design import CODED, MIXED, PUBLIC, Design, make_design
from versadp.noise.coded import code
from versadp.noise.units import Units
from versadp.schema import Bounded, Categorical, Dates, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from versadp.correction import Blurs
    from versadp.engine import Engine
    from versadp.formula.design import Part
    from versadp.losses import IndexLoss, Multinomial, Share
    from versadp.losses.expansion import Expansion
    from versadp.noise import Block
    from versadp.release.release import Release
    from versadp.schema import Schema

    Array = NDArray[np.float64]
    Codes = dict[str, tuple[str, tuple[float, ...]]]  # a column of numbers: its category, and a number a level
    AnyModel = LinearModel | FormulaModel | RecordModel | CustomModel

FEW_LEVELS = 300  # combinations of levels that are summed over one by one
APART = 3.0  # times as much noise, from one column to the next, has weights of its own


class Known(NamedTuple):
    """What all records have shown, of which some are looked at: a part may lack a level, or one of two classes.

    Attributes
    ----------
    levels : mapping of str to tuple of str
        Of public columns that hold text.
    response : tuple of float
        Values of a public response of two classes.
    """

    levels: Mapping[str, tuple[str, ...]] = {}
    response: tuple[float, ...] = ()


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
    rounded : mapping of str to float
        Numbers that may lie between the points of their lattice, and how far apart these are.
    taken : str
        Which of two corrections was taken, and what was predicted of the other; nothing where there was one only.
    degrees : tuple of int, optional
        Of the polynomials of each noisy column on which the score is projected.
    off : float
        By how many standard errors that may move coefficients, at most.
    blurs : Blurs, optional
        Of a loss with kinks: the series of each coefficient, and what it may be off by.
    extended : bool
        True where several blocks are touched and one of them is zero-inflated: the score may be extended beyond the
        domain, so that there are members to combine.
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
    rounded: Mapping[str, float] = field(default_factory=dict)
    taken: str = ""
    degrees: tuple[int, ...] | None = None
    off: float = 0.0
    blurs: Blurs | None = None
    extended: bool = False

    def to_user(self, theta: Array, cov: Array) -> tuple[Array, Array]:
        """Return coefficients and covariance in the user's units."""
        return self.scale @ theta + self.shift, self.scale @ cov @ self.scale.T

    def widened(self, cov: Array) -> Array:
        """Return a covariance with what blurring or projecting a loss may be off by: an error like any other."""
        if self.blurs is not None:
            return cov + np.diag(self.blurs.off**2)
        shift = self.off if self.expansion is None else self.expansion.shift
        return cov * (1 + shift**2)

    def to_fit(self, theta: Array) -> Array:
        """Return the user's coefficients in the units of the fit."""
        return np.asarray(np.linalg.solve(self.scale, theta - self.shift), dtype=float)

    def sample(self, rows: int, seed: int, engine: Engine | None = None) -> Records:
        """Return a random part of the records, in memory, in the order in which they are."""
        rng, left, total, asked = np.random.default_rng([seed, 0xFEED]), rows, self.source.rows, []
        for item in self.source.handles():
            chosen = []
            for size in self.source.sizes(item):  # type: ignore[arg-type] # an item of its own
                take = min(left, int(rng.hypergeometric(size, max(total - size, 0), min(left, total))))
                chosen.append(np.sort(rng.choice(size, take, replace=False)))
                left, total = left - take, total - size
            asked.append(Asked(item, chosen))
        if engine is not None and is_far(engine) and self.source.travels:  # and who is far reads them next
            taken = engine.map(self.source.take_and_keep, asked)
        else:
            taken = nearby(engine or Serial()).map(self.source.take, asked)
        return Records.joined([lot for lots in taken for lot in lots])

    def smoothed(self, bandwidth: float, window: float) -> Problem:
        """Return the problem with its kinked loss smoothed by a bandwidth, and its curvature by a window."""
        assert not isinstance(self.model, CustomModel)  # whose kinks are the user's business
        return replace(self, model=replace(self.model, bandwidth=bandwidth, window=window))

    def minimising(self, loss: IndexLoss, tilt: Array | None = None) -> Problem:
        """Return the problem of another loss, with a tilt if its scale is from the data."""
        assert not isinstance(self.model, CustomModel)
        return replace(self, model=replace(self.model, loss=loss, bandwidth=0.0, window=0.0, tilt=tilt))


def make_problem(
    release: Release,
    formula: str | None,
    loss: Any,
    weights: Array | None,
    size: int | None,
    *,
    free: bool = True,
    keeper: Engine | None = Serial(),  # noqa: B008 - which nobody can change
    known: Known = Known(),  # noqa: B008 - which nobody can change
    extend: bool = True,
) -> Problem:
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
    free : bool
        True if the form of the correction is ours to choose.
    keeper : Engine or None
        Who reads records of moderate size, once, to be kept; None if nobody does.
    known : Known
        What records that are not in this release have shown.
    extend : bool
        False for the one closed form of several blocks that states of older fits were made by.
    """
    problem = _made(release, formula, loss, weights, size, free=free, known=known, extend=extend)
    if extend and free and problem.units.exact_rate is None:
        problem = replace(problem, extended=can_extend(problem.blocks))
    return problem if keeper is None else replace(problem, source=problem.source.kept(keeper))


def _made(
    release: Release,
    formula: str | None,
    loss: Any,
    weights: Array | None,
    size: int | None,
    *,
    free: bool,
    known: Known,
    extend: bool,
) -> Problem:
    schema = release.mechanism.schema
    if loss.needs_formula == (formula is None):
        raise ParameterError(
            "a loss of an index needs a formula, and a loss of whole records takes none",
            hint='e.g. fit(release, "y ~ age", loss="logistic"), or fit(release, loss=Mean("age"))',
        )
    by_level = getattr(loss, "by_level", False)
    levels = partial(public_levels, release, known=known)
    if formula is None and by_level:
        return _share_problem(release, loss, weights)
    design = None if formula is None else make_design(formula, schema, levels, by_level=by_level)
    if not schema.numeric and (design is None or not design.private):
        raise ParameterError(
            "the release has no noisy numeric column", hint="a category stands in a formula, e.g. y ~ C(region)"
        )
    if design is None:
        return _record_problem(release, loss, weights, size)
    if by_level:
        return _multinomial_problem(release, design, loss, weights)
    return _formula_problem(release, design, loss, weights, free=free, known=known, extend=extend)


def public_levels(release: Release, name: str, known: Known = Known()) -> list[str] | None:  # noqa: B008 - as above
    """Return the values of a public column that holds text, over all records; None if it holds numbers."""
    if name not in release.mechanism.schema.public or is_number(release.types.field(name).type):
        return None
    seen: set[Any] = set()
    for handle in release.handles():
        seen |= set(release.read(handle, [name]).column(name).unique().to_pylist())
    if None in seen:
        raise DataError(f"public column {name!r} has missing values", hint="give them a level of their own")
    found = sorted(map(str, seen))
    if name not in known.levels:
        return found
    if not set(found) <= set(known.levels[name]):
        raise DataError(
            f"public column {name!r} has a level that the records before had not", hint="fit all records again"
        )
    return list(known.levels[name])


def _nullable(blocks: tuple[Block, ...], used: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for block in blocks for name in block.nullable if name in used)


def _touched(release: Release, used: set[str]) -> tuple[Block, ...]:
    """Return the blocks that a model touches, and of each what matters to it."""
    return tuple(block.part(used) for block in release.mechanism.blocks if used & set(block.columns))


def _units(release: Release, blocks: tuple[Block, ...], codes: Codes | None = None, *, centred: bool = True) -> Units:
    """Return noise units if one block declares them, else widths."""
    columns = release.mechanism.schema.columns
    ends = {name: (min(values), max(values)) for name, (_, values) in (codes or {}).items()}
    bounds = {name: ends.get(name) or _bounds(columns[name]) for block in blocks for name in block.columns}
    plain = Units.plain(bounds)
    centre = plain.middle if centred else np.zeros(plain.dim)
    noise = blocks[0].units(centre) if len(blocks) == 1 else None
    return Units.plain(bounds, centre) if noise is None else noise


def _bounds(column: Any) -> tuple[float, float]:
    """Return the bounds of a number, or of the numbers of levels."""
    return (column.lower, column.upper) if isinstance(column, Bounded) else (0.0, len(column.levels) - 1.0)


def _source(release: Release, reader: Reader, weights: Array | None) -> ReleaseSource:
    columns = release.mechanism.schema.columns
    dates = {name: c for name in reader.units.names if isinstance(c := columns.get(name), Dates)}
    return ReleaseSource(release, replace(reader, raw=reader.units.exact_rate is None, dates=dates), weights)


def _formula_problem(
    release: Release,
    design: Design,
    loss: IndexLoss,
    weights: Array | None,
    *,
    free: bool,
    known: Known,
    extend: bool,
) -> Problem:
    schema, size = release.mechanism.schema, len(design.names)
    if len(release) <= size:
        raise DataError(f"{size} coefficients need more than {len(release)} records", hint="fit fewer terms")
    public, touched = public_columns(release, design), _touched(release, set(design.used))
    nullable = tuple(name for name in _nullable(touched, design.used) if name not in design.with_missing)
    extended = free and extend and len(touched) > 1 and can_extend(touched)
    wanted = free and not extended and _wants_codes(design, loss, schema)
    blocks, codes = _coded(touched, design) if wanted else (touched, None)
    units = _units(release, blocks, codes, centred=not design.linear or "Intercept" in design.names)
    coding = response_coding(release, design, loss, known) if design.response == PUBLIC else None
    # a noisy response moves with the index where the loss is one of their difference, or where it is undone by itself
    natural = (loss.natural or loss.margin) and units.exact_rate is None
    linear = design.linear and (design.response == PUBLIC or loss.residual or natural)
    # otherwise level by level, or point by point
    linear = linear and not (design.private and codes is None)
    linear = linear and not (nullable and free and is_expanded(loss) and not _have_cases(touched))
    if design.response >= 0 and not loss.residual:
        _check_response(design, loss, schema, natural=linear)
    if (design.linear or codes is not None) and not linear:
        blocks, codes, units = touched, None, _units(release, touched)
    open_terms = design.terms.take(np.flatnonzero(np.array(design.columns) == PUBLIC)) if linear else None
    levels = {name: design.levels[name] for name in design.private}
    source = _source(release, Reader(units, public, design, open_terms, coding, levels, codes or {}), weights)
    if linear:
        columns, response = _places(design, units, codes or {}, schema)
        problem = _linear_problem(design, np.array(columns), response, loss, (units, blocks, source))
    else:
        scale = np.eye(size)
        every: tuple[NDArray[np.int64], ...] = (np.arange(size),)
        model = FormulaModel(loss, design, units)
        if extended:
            scale, every = _in_noise_units(design, touched)
            model = replace(model, change=scale)
        if design.response in {MIXED, CODED}:
            model = _check_function(model, next(iter(source.read(source.handles()[0])))[1])
        problem = Problem(model, units, blocks, source, design.names, every, scale, np.zeros(size), design)
    return replace(problem, nullable=nullable, rounded=_rounded(touched, schema))


def _rounded(blocks: tuple[Block, ...], schema: Schema) -> dict[str, float]:
    """Return the numbers of blocks that were rounded to a lattice, though their values may lie anywhere."""
    out = {}
    for block in blocks:
        for name in block.columns:
            column = schema.columns[name]
            if isinstance(column, Bounded) and column.steps is None and (lattice := block.lattice(name)) is not None:
                out[name] = lattice.step
    return out


def can_extend(blocks: tuple[Block, ...]) -> bool:
    """Tell whether several blocks are touched, some of them zero-inflated, and these leave some records unchanged."""
    own = [units for block in blocks if (units := block.units(np.zeros(len(block.columns)))) is not None]
    return len(blocks) > 1 and bool(own) and all(units.exact_rate for units in own)


def _in_noise_units(design: Design, blocks: tuple[Block, ...]) -> tuple[Array, tuple[NDArray[np.int64], ...]]:
    """Return what leads from coefficients of centred columns in noise units to those of a formula, and the groups.

    Coefficients of noisy numbers share weights with those of columns that are about as noisy. All others draw on other
    records and have weights of their own.
    """
    size = len(design.names)
    scale, noise = np.eye(size), np.zeros(size)
    found = [own for block in blocks if (own := block.units(np.zeros(len(block.columns)))) is not None]
    known = {
        name: (middle, unit, 1 / width)
        for own in found
        for name, middle, unit, width in zip(own.names, own.middle, own.unit, own.upper - own.lower, strict=True)
    }
    places = {(split.parts, split.rest): j for j, split in enumerate(design.splits) if split and split.number is None}
    for j, split in enumerate(design.splits):
        if split is None or split.number not in known:
            continue
        middle, unit, noise[j] = known[split.number]
        scale[j, j] = 1 / unit
        if (split.parts, split.rest) in places:
            scale[places[split.parts, split.rest], j] = -middle / unit
    noisy, rest = np.flatnonzero(noise), np.flatnonzero(noise == 0)
    if None in design.splits or not noisy.size:
        return scale, (np.arange(size),)
    return scale, (*_apart(noisy, noise[noisy]), *((rest,) if rest.size else ()))


def _wants_codes(design: Design, loss: IndexLoss, schema: Schema) -> bool:
    """Tell whether categories are better seen as numbers than level by level.

    Without noisy numbers beside them a sum over all levels is exact, where a series would only be near.
    """
    alone = not set(design.used) & set(schema.numeric)
    levels = math.prod(len(design.levels[name]) for name in design.private)
    return is_expanded(loss) and (loss.expansion() is not None or not alone or levels > FEW_LEVELS)


def _have_cases(blocks: tuple[Block, ...]) -> bool:
    """Tell whether complete records can be undone as they are (`noise/complete.py`)."""
    return all(block.cases(np.empty((len(block.columns), 0))) is not None for block in blocks)


def _coded(blocks: tuple[Block, ...], design: Design) -> tuple[tuple[Block, ...], Codes | None]:
    """Return blocks that see their categories as numbers, and these; as they are where that will not do."""
    parts = [
        split.parts[0] for split, kind in zip(design.splits, design.columns, strict=True) if split and kind == CODED
    ]
    parts += [] if design.outcome is None else [design.outcome]
    found: dict[str, list[Part]] = {}
    for part in parts:
        if part.values not in [other.values for other in found.setdefault(part.column, [])]:
            found[part.column].append(part)
    one_each = all(split is not None and len(split.parts) < 2 for split in design.splits)
    constant = any(len(set(part.values)) == 1 for part in parts)
    if not (design.linear and one_each) or constant or set(found) != set(design.private):
        return blocks, None
    codings = {name: tuple(zip(*(part.values for part in own), strict=True)) for name, own in found.items()}
    out = [block.coded(codings) if set(block.columns) & set(found) else block for block in blocks]
    if any(block is None or block.products() is None for block in out):
        return blocks, None
    codes = {code(name, k): (name, part.values) for name, own in found.items() for k, part in enumerate(own)}
    return tuple(out), codes  # type: ignore[arg-type] # what closed forms ask of a block


def _places(design: Design, units: Units, codes: Codes, schema: Schema) -> tuple[tuple[int, ...], int]:
    """Return for each coefficient, and for the response, its noisy column in the units of the fit, or -1."""
    numbers = {(name, values): units.names.index(column) for column, (name, values) in codes.items()}

    def place(kind: int, part: Part | None) -> int:
        if kind == CODED:
            assert part is not None
            return numbers[part.column, part.values]
        return PUBLIC if kind == PUBLIC else units.names.index(schema.numeric[kind])

    splits = zip(design.columns, design.splits, strict=True)
    columns = tuple(
        place(kind, split.parts[0] if split is not None and split.parts else None) for kind, split in splits
    )
    return columns, place(design.response, design.outcome)


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


def _check_function(model: FormulaModel, records: Records) -> FormulaModel:
    """Refuse a function of noisy columns as a response where a loss cannot take its values on the domain.

    What is false or true, or one of two levels, is coded to the two classes of a loss.
    """
    _, y = model.rows(model.units.clip(records.z), np.arange(records.rows), records)
    if model.loss.classes is None:
        model.loss.response(y)
        return model
    low, high = model.loss.classes
    if np.isin(y, (0.0, 1.0)).all():
        return replace(model, coding=(low, high - low))
    if not np.isin(y, model.loss.classes).all():
        raise ParameterError(
            f"{model.loss.name} loss needs a response of {low:g} and {high:g}, "
            f"and {model.design.response_name} has other values",
            hint="compare, as in I(income > 50000) ~ age, or take another loss",
        )
    return model


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
    return _apart(noisy, 1 / (units.upper - units.lower)[columns[noisy]])


def _apart(noisy: NDArray[np.int64], noise: Array) -> list[NDArray[np.int64]]:
    """Return coefficients grouped by noise, the least noisy first."""
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
        rounded=_rounded(blocks, schema),
    )


def _share_problem(release: Release, loss: Share, weights: Array | None) -> Problem:
    schema, name = release.mechanism.schema, loss.of
    column = schema.columns.get(name)
    found = column.levels if isinstance(column, Categorical) else name in schema.public and public_levels(release, name)
    if not found:
        raise ParameterError(f"{name!r} is no category", hint=f"choose from {', '.join(schema.categorical)}")
    levels = (*found, None) if loss.missing else tuple(found)
    blocks = _touched(release, {name})
    units = _units(release, blocks)
    private = bool(blocks)
    reader = Reader(units, () if private else (name,), levels={name: levels} if private else {})
    model: Any = ShareModel(loss, levels, private, units)  # which a fit asks no more of than of others
    same = np.eye(model.size)
    nullable = () if loss.missing else _nullable(blocks, (name,))
    every = (np.arange(model.size),)
    source = _source(release, reader, weights)
    return Problem(
        model, units, blocks, source, loss.labels(levels), every, same, np.zeros(model.size), nullable=nullable
    )


def _multinomial_problem(release: Release, design: Design, loss: Multinomial, weights: Array | None) -> Problem:
    assert design.classes is not None
    public, blocks = public_columns(release, design), _touched(release, set(design.used))
    units, levels = _units(release, blocks), {name: design.levels[name] for name in design.private}
    source = _source(release, Reader(units, public, design, levels=levels), weights)
    own = design.levels[design.classes]
    model: Any = MultinomialModel(loss, design, loss.ordered(own), units)
    names = loss.labels(own, design.names)
    if len(release) <= model.size:
        raise DataError(f"{model.size} coefficients need more than {len(release)} records", hint="fit fewer terms")
    every, same, nowhere = (np.arange(model.size),), np.eye(model.size), np.zeros(model.size)
    nullable = tuple(name for name in _nullable(blocks, design.used) if name not in design.with_missing)
    return Problem(model, units, blocks, source, names, every, same, nowhere, design, nullable=nullable)


def _quantile(loss: Any, units: Units) -> Question:
    """Return which quantile a loss asks for; that of a column is inside its bounds."""
    if not isinstance(loss.of, str):
        return Question(loss.share)
    j = units.names.index(loss.of)
    low, high = (float(end[j]) for end in units.bounds)
    return Question(loss.share, (low, high), float(units.step[j]))


def response_coding(
    release: Release,
    design: Design,
    loss: IndexLoss,
    known: Known = Known(),  # noqa: B008 - as above
) -> Callable[[Array], Array]:
    """Return the map of a public response to what the loss needs, fixed by all records and not by some."""
    if loss.classes is None:
        return loss.coding()
    return loss.coding(np.array(sorted({*response_values(release, design), *known.response})))


def response_values(release: Release, design: Design) -> set[float]:
    """Return the values that a public response has."""
    import pyarrow as pa

    seen: set[float] = set()
    for handle in release.handles():
        table = release.read(handle, list(design.left.columns))
        response = design.response_at({name: values_of(table.column(name)) for name in design.left.columns})
        seen |= set(pa.array(finite(response)).unique().to_pylist())
    return seen


def public_columns(release: Release, design: Design) -> tuple[str, ...]:
    """Return the public columns that a formula uses; they must hold numbers."""
    used = tuple(name for name in design.used if name in release.mechanism.schema.public)
    numbers = public_numbers(release)
    for name in used:
        if name not in numbers and name not in {*design.terms.texts, *design.left.texts, design.classes}:
            raise ParameterError(f"public column {name!r} holds text", hint=f"write C({name}) for its levels")
    return used
