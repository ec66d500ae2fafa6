"""From a release, a formula and a loss to a problem (`problem.py`): which columns are noisy, and in which units.

A model touches some of the mechanism's blocks, and only their noise is undone. Where it is zero-inflated Laplace noise
on one block, linear designs are fitted in noise units, `z = (x - centre)/sigma`, where the noise is ZIL(r, I);
otherwise in widths. With an intercept the centre is the middle of the box, so that estimates do not depend on where a
column has its zero. Coefficients and covariance are mapped back linearly.

A design is linear in noisy numbers, and in the numbers that stand for the levels of categories, or it is evaluated at
signed points and level by level.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import CustomModel, FormulaModel, MultinomialModel, RecordModel, ShareModel
from versadp.engine import Serial
from versadp.errors import ParameterError
from versadp.estimation import Question
from versadp.fitting.linear_view import check_function, check_response, linear_problem, linear_view
from versadp.fitting.problem import Problem
from versadp.fitting.public_facts import Known, public_columns, public_levels, public_values, response_coding
from versadp.fitting.request import Request, incomplete, nullable_in
from versadp.fitting.source import Reader, public_numbers
from versadp.fitting.totals import with_totals
from versadp.fitting.weight_groups import in_noise_units
from versadp.formula.design import CODED, MIXED, PUBLIC, make_design
from versadp.formula.domain import check_bounds
from versadp.formula.expression import quote
from versadp.noise.subset import SubsetBlock, too_many
from versadp.schema import Categorical
from versadp.schema.spacing import LINEAR, from_even

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.fitting.problem import AnyModel
    from versadp.fitting.source import ReleaseSource
    from versadp.formula.design import Design
    from versadp.noise import Block
    from versadp.noise.units import Units
    from versadp.release.release import Release
    from versadp.schema import Schema

    Array = NDArray[np.float64]

ROUNDING = 1e-9  # of a column's width: what a value may be off by conversions


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
    refused: str = "",
) -> Problem:
    """Return the problem of fitting a loss to a release.

    Parameters are those of `Request`, and

    Parameters
    ----------
    formula : str or None
        None for losses of whole records.
    keeper : Engine or None
        Engine that reads records of moderate size, once, to keep them; None to read them at every pass.
    refused : str
        Why totals cannot be used, whatever the model.
    """
    request = Request(release, loss, weights, size, free, known, extend)
    if loss.needs_formula == (formula is None):
        raise ParameterError(
            "a loss of an index needs a formula, and a loss of whole records takes none",
            hint='e.g. fit(release, "y ~ age", loss="logistic"), or fit(release, loss=Mean("age"))',
        )
    if formula is None and _is_spaced_mean(request):  # whose terms are undone as those of a formula are
        own = request._replace(loss=loss.base)
        problem = replace(_of_formula(own, f"{quote(loss.of)} ~ 1"), names=loss.names(1))
    else:
        problem = _of_records(request) if formula is None else _of_formula(request, formula)
    _refuse_wide(problem)
    if extend and free and problem.units.exact_rate is None:
        problem = replace(problem, extended=can_extend(problem.blocks))
    problem = with_totals(problem, request, refused)
    return problem if keeper is None else replace(problem, source=problem.source.kept(keeper))


def _is_spaced_mean(request: Request) -> bool:
    """Return True for the mean of a number that is worked on in a function of it."""
    loss, columns = request.loss, request.schema.columns
    own = getattr(columns.get(loss.of), "spacing", LINEAR) if isinstance(loss.of, str) else LINEAR
    return own != LINEAR and loss.base is not None and bool(loss.base.quadratic)


def _refuse_wide(problem: Problem) -> None:
    """Refuse a model of more columns than a record gives; least squares say themselves which products they need."""
    series = None if isinstance(problem.model, CustomModel) else problem.model.loss.expansion()
    if series is not None and series.is_quadratic:
        return
    for block in problem.blocks:
        if isinstance(block, SubsetBlock) and not block.complete_rate:
            raise too_many(block, len(block.columns))


def can_extend(blocks: tuple[Block, ...]) -> bool:
    """Return True if several blocks are touched, some of them zero-inflated, and these leave some records unchanged."""
    own = [units for block in blocks if (units := block.units(np.zeros(len(block.columns)))) is not None]
    return len(blocks) > 1 and bool(own) and all(units.exact_rate for units in own)


# losses of whole records --------------------------------------------------------------------------------------------


def _of_records(request: Request) -> Problem:
    if getattr(request.loss, "by_level", False):
        return _shares(request)
    schema, loss = request.schema, request.loss
    _require_numbers(schema)
    public = tuple(public_numbers(request.release))
    order = tuple(name for name in schema.columns if name in schema.numeric or name in public)
    if isinstance(loss.of, str):
        if loss.of not in schema.numeric:
            raise ParameterError(
                f"{loss.of!r} is no noisy numeric column", hint=f"choose from {', '.join(schema.numeric)}"
            )
        public, order = (), (loss.of,)
    blocks = request.touched(set(order) & set(schema.numeric))
    units = request.units(blocks)
    count = loss.size or request.size
    if count is None:
        raise ParameterError("a loss of your own needs a start", hint="e.g. start=np.zeros(3)")
    if loss.base is None:
        model: AnyModel = CustomModel(loss, count, order, units)
    else:
        model = RecordModel(loss.base, loss.of, order, units)
    return replace(
        _as_it_is(model, units, blocks, request.source(Reader(units, public)), loss.names(count)),
        quantile=None if loss.share is None else _quantile(loss, units),
        nullable=nullable_in(blocks, order),
        rounded=request.rounded(blocks),
    )


def _shares(request: Request) -> Problem:
    """Return the problem of the shares of a category's levels."""
    schema, name, loss = request.schema, request.loss.of, request.loss
    if not isinstance(name, str):
        raise ParameterError(
            f"shares are of the levels of one category, not of a {type(name).__name__}", hint='e.g. Share("region")'
        )
    column = schema.columns.get(name)
    if isinstance(column, Categorical):
        found: Any = column.levels
    else:
        found = name in schema.public and public_levels(request.release, name)
    if not found:
        raise ParameterError(f"{name!r} is no category", hint=f"choose from {', '.join(schema.categorical)}")
    levels = (*found, None) if loss.missing else tuple(found)
    blocks = request.touched({name})
    units, private = request.units(blocks), bool(blocks)
    reader = Reader(units, () if private else (name,), levels={name: levels} if private else {})
    model: Any = ShareModel(loss, levels, private, units)  # of which a fit asks no more than of others
    nullable = () if loss.missing else nullable_in(blocks, (name,))
    return replace(
        _as_it_is(model, units, blocks, request.source(reader), loss.labels(levels)),
        nullable=nullable,
    )


def _quantile(loss: Any, units: Units) -> Question:
    """Return which quantile a loss asks for; that of a column is inside its bounds."""
    if not isinstance(loss.of, str):
        return Question(loss.share)
    j = units.names.index(loss.of)
    low, high = (float(end[j]) for end in units.bounds)
    if loss.of in units.spaced:
        low, high = from_even(units.spacing[j], np.array([low, high])).tolist()
        return Question(loss.share, (low, high), ROUNDING * (high - low))
    return Question(loss.share, (low, high), float(units.step[j]))


# formulas -----------------------------------------------------------------------------------------------------------


def _of_formula(request: Request, formula: str) -> Problem:
    schema, loss = request.schema, request.loss
    by_level = getattr(loss, "by_level", False)
    facts = (partial(read, request.release, known=request.known) for read in (public_levels, public_values))
    design = make_design(formula, schema, *facts, by_level=by_level)
    check_bounds((design.left, *(factor for term in design.terms.expressions for factor in term)), schema)
    if not design.private:
        _require_numbers(schema)
    if by_level:
        return _multinomial(request, design)
    request.refuse_few(len(design.names))
    public, touched = public_columns(request.release, design), request.touched(set(design.used))
    coding = None
    if design.response == PUBLIC:
        coding = response_coding(request.release, design, loss, request.known)
    extended = request.free and request.extend and len(touched) > 1 and can_extend(touched)
    view = linear_view(request, design, touched, by_numbers=request.free and not extended)
    if design.response >= 0 and not loss.residual:
        check_response(design, loss, schema, natural=view is not None)
    kept = {name: design.levels[name] for name in design.private}
    if view is not None:
        open_terms = design.terms.take(np.flatnonzero(np.array(design.columns) == PUBLIC))
        reader = Reader(view.units, public, design, open_terms, coding, kept, dict(view.codes))
        problem = linear_problem(request, design, view, request.source(reader))
    else:
        units = request.units(touched)
        source = request.source(Reader(units, public, design, None, coding, kept, {}))
        problem = _general_problem(request, design, (units, touched, source), extended=extended)
    return replace(problem, nullable=incomplete(touched, design), rounded=request.rounded(touched))


def _general_problem(
    request: Request, design: Design, where: tuple[Units, tuple[Block, ...], ReleaseSource], *, extended: bool
) -> Problem:
    """Return the problem of a design that is evaluated at points; in noise units where its score is `extended`."""
    units, blocks, source = where
    size = len(design.names)
    model, scale = FormulaModel(request.loss, design, units), np.eye(size)
    groups: tuple[NDArray[np.int64], ...] = (np.arange(size),)
    if extended:
        scale, groups = in_noise_units(design, blocks)
        model = replace(model, change=scale)
    if design.response in {MIXED, CODED}:
        model = check_function(model, next(iter(source.read(source.handles()[0])))[1])
    return Problem(model, units, blocks, source, design.names, groups, scale, np.zeros(size), design)


def _multinomial(request: Request, design: Design) -> Problem:
    assert design.classes is not None
    public, blocks = public_columns(request.release, design), request.touched(set(design.used))
    units, levels = request.units(blocks), {name: design.levels[name] for name in design.private}
    source = request.source(Reader(units, public, design, levels=levels))
    own = design.levels[design.classes]
    model: Any = MultinomialModel(request.loss, design, request.loss.ordered(own), units)
    names = request.loss.labels(own, design.names)
    request.refuse_few(model.size)
    return replace(_as_it_is(model, units, blocks, source, names), design=design, nullable=incomplete(blocks, design))


def _as_it_is(model: Any, units: Units, blocks: tuple[Block, ...], source: ReleaseSource, names: Any) -> Problem:
    """Return a problem in the user's own coefficients, all of which share weights."""
    size = model.size
    return Problem(model, units, blocks, source, names, (np.arange(size),), np.eye(size), np.zeros(size))


def _require_numbers(schema: Schema) -> None:
    if not schema.numeric:
        raise ParameterError(
            "the release has no noisy numeric column", hint="a category stands in a formula, e.g. y ~ C(region)"
        )
