"""A noisy response: what codes it for a loss, and which ones a loss cannot take."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.schema import Bounded

if TYPE_CHECKING:
    from versadp.correction import FormulaModel, Records
    from versadp.formula.design import Design
    from versadp.losses import IndexLoss
    from versadp.noise.units import Units
    from versadp.schema import Schema


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
