"""Linear designs and noisy responses.

A design is linear in the noisy columns, and in the numbers that stand for the levels of categories, or it is evaluated
at signed points. A noisy response is coded for its loss, or refused.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction import LinearModel, by_pairs
from versadp.errors import ParameterError
from versadp.fitting.methods import is_expanded
from versadp.fitting.problem import Problem
from versadp.fitting.request import incomplete
from versadp.fitting.weight_groups import by_noise
from versadp.formula.design import CODED, PUBLIC
from versadp.noise.cases import Coded, code, whole
from versadp.schema import Bounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import FormulaModel, Records
    from versadp.fitting.request import Codes, Request
    from versadp.fitting.source import ReleaseSource
    from versadp.formula.design import Design, Part
    from versadp.losses import IndexLoss
    from versadp.noise import Block
    from versadp.noise.units import Units
    from versadp.schema import Schema


FEW_LEVELS = 300  # combinations of levels that are summed over one by one; each costs what a model without them costs


class View(NamedTuple):
    """A design as a linear one: its blocks, the numbers that stand for levels, and the units of all columns."""

    blocks: tuple[Block, ...]
    codes: Codes
    units: Units


def linear_view(request: Request, design: Design, touched: tuple[Block, ...], *, by_numbers: bool) -> View | None:
    """Return the view in which a design is linear in all noisy columns; None if it has none.

    `by_numbers` allows numbers to stand for the levels of categories.
    """
    loss = request.loss
    blocks, codes = touched, None
    if by_numbers and _prefers_codes(design, loss, request.schema):
        blocks, codes = _coded(touched, design, loss)
    if not design.linear or (design.private and codes is None):
        return None
    units = request.units(blocks, codes, centred="Intercept" in design.names)
    if design.response != PUBLIC and not _takes_noisy_response(loss, units):
        return None
    # complete records of some blocks are undone at points only
    closed = by_pairs(loss, touched) or all(whole(block) is not None for block in touched)
    if request.free and incomplete(touched, design) and is_expanded(loss) and not closed:
        return None
    return View(blocks, codes or {}, units)


def _takes_noisy_response(loss: Any, units: Units) -> bool:
    """Return True if a loss is one of the difference of response and index, or undoes a response by itself."""
    return bool(loss.residual or ((loss.natural or loss.margin) and units.exact_rate is None))


def _prefers_codes(design: Design, loss: Any, schema: Schema) -> bool:
    """Return True if categories are better seen as numbers than level by level.

    Without noisy numbers beside them a sum over all levels is exact, where a series would only be near.
    """
    alone = not set(design.used) & set(schema.numeric)
    levels = math.prod(len(design.levels[name]) for name in design.private)
    return is_expanded(loss) and (loss.expansion() is not None or not alone or levels > FEW_LEVELS)


def _coded(blocks: tuple[Block, ...], design: Design, loss: Any) -> tuple[tuple[Block, ...], Codes | None]:
    """Return blocks that see their categories as numbers, and these; the same blocks and None where that fails."""
    found = _codings(design)
    if found is None:
        return blocks, None
    codings = {name: tuple(zip(*values, strict=True)) for name, values in found.items()}
    own = [{name: codings[name] for name in block.columns if name in found} for block in blocks]
    out = [Coded(block, chosen) if chosen else block for block, chosen in zip(blocks, own, strict=True)]
    if not by_pairs(loss, blocks) and not _have_closed_forms(blocks, out):
        return blocks, None
    codes = {code(name, k): (name, values) for name, own in found.items() for k, values in enumerate(own)}
    return tuple(out), codes  # type: ignore[arg-type] # it has what closed forms ask of a block


def _have_closed_forms(blocks: tuple[Block, ...], out: list[Block | Coded]) -> bool:
    """Return True if all blocks have, and no block with missing values sees its categories as numbers."""
    if any(isinstance(seen, Coded) and block.nullable for block, seen in zip(blocks, out, strict=True)):
        return False
    return all(whole(block) is not None for block in out)


def _codings(design: Design) -> dict[str, list[tuple[float, ...]]] | None:
    """Return the numbers per level that stand for each category; None where terms are not one of them each."""
    one_each = all(split is not None and len(split.parts) < 2 for split in design.splits)
    if not (design.linear and one_each):
        return None
    splits = zip(design.splits, design.columns, strict=True)
    parts = [split.parts[0] for split, kind in splits if split and kind == CODED]
    parts += [] if design.outcome is None else [design.outcome]
    found: dict[str, list[tuple[float, ...]]] = {}
    for part in parts:
        if part.values not in found.setdefault(part.column, []):
            found[part.column].append(part.values)
    constant = any(len(set(part.values)) == 1 for part in parts)
    return None if constant or set(found) != set(design.private) else found


def linear_problem(request: Request, design: Design, view: View, source: ReleaseSource) -> Problem:
    """Return the problem of a linear design: in the units of its noisy columns, and of a noisy response."""
    units, loss, size = view.units, request.loss, len(design.names)
    columns, response = _places(design, view, request.schema)
    unit, origin, coding = 1.0, 0.0, (0.0, 1.0)
    if response >= 0 and loss.residual:
        unit, origin = float(units.unit[response]), float(units.centre[response])
        loss = loss.in_units(unit)
    elif response >= 0:
        coding = noisy_coding(loss, units, response)
    noisy, rest = np.flatnonzero(columns >= 0), np.flatnonzero(columns < 0)
    scale, shift = unit * np.eye(size), np.zeros(size)
    scale[noisy, noisy] /= units.unit[columns[noisy]]
    if "Intercept" in design.names:
        constant = design.names.index("Intercept")
        scale[constant, noisy] = -unit * (units.centre / units.unit)[columns[noisy]]
        shift[constant] = origin
    groups = (*by_noise(noisy, columns, units), *((rest,) if rest.size else ()))
    model = LinearModel(loss, columns, response, coding=coding)
    return Problem(model, units, view.blocks, source, design.names, groups, scale, shift, design)


def _places(design: Design, view: View, schema: Schema) -> tuple[NDArray[np.int64], int]:
    """Return for each coefficient, and for the response, its noisy column in the units of the fit, or -1."""
    names = view.units.names
    numbers = {(name, values): names.index(column) for column, (name, values) in view.codes.items()}

    def place(kind: int, part: Part | None) -> int:
        if kind == CODED:
            assert part is not None
            return numbers[part.column, part.values]
        return PUBLIC if kind == PUBLIC else names.index(schema.numeric[kind])

    parts = [split.parts[0] if split is not None and split.parts else None for split in design.splits]
    columns = [place(kind, part) for kind, part in zip(design.columns, parts, strict=True)]
    return np.array(columns), place(design.response, design.outcome)


def noisy_coding(loss: IndexLoss, units: Units, response: int) -> tuple[float, float]:
    """Return what codes a noisy response, from the units of the fit to what the loss needs."""
    origin, unit = float(units.centre[response]), float(units.unit[response])
    if loss.classes is None:
        return origin, unit
    low, high = (float(end[response]) for end in units.bounds)
    (first, second), width = loss.classes, high - low
    return first + (second - first) * (origin - low) / width, (second - first) * unit / width


def check_response(design: Design, loss: IndexLoss, schema: Schema, *, natural: bool) -> None:
    """Refuse a noisy column as a response where a loss cannot take its bounds.

    Corrected scores are evaluated at values between them that nobody has, which does no harm; but what the two classes
    are cannot be read off noisy values. Where the loss is linear in it (`natural`) any two values are coded to them.
    """
    column = schema.columns[schema.numeric[design.response]]
    assert isinstance(column, Bounded)
    bounds = column.even_bounds
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


def check_function(model: FormulaModel, records: Records) -> FormulaModel:
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
