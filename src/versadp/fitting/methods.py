"""Which members a method has, and which losses and extensions it serves.

| method | form | serves |
|---|---|---|
| naive | the score at X1, not corrected | anything; biased, for comparison |
| drcl | signed draws, any extension | any loss, exact rate above 0 |
| sl, sdrcl | Laplacian with plain draws, extension none or damped | smooth losses, linear designs |
| analytic | the expectation exactly, extension none | losses of an index, linear designs |
| likelihood | none: `likelihood.py` assumes the law of the response | squared, logistic, poisson; few columns |
| efficient | `docs/theory/correction.md` | anything above rate 0; at 0 smooth losses, linear or polynomial |

These are for zero-inflated Laplace noise on one block. Beside other blocks "efficient" has members too (`members.py`).
Other noise is undone by the blocks' own points under "efficient" and "drcl"; under "efficient" in closed form where
loss and blocks have one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import (
    Analytic,
    CustomLaplacian,
    CustomModel,
    FormulaModel,
    Laplacian,
    LinearModel,
    Projected,
    Projection,
    RecordModel,
    Separable,
    SignedPoints,
    Stencil,
    Terms,
    argument_of,
    as_separable,
    as_terms,
)
from versadp.errors import ParameterError
from versadp.fitting.members import draw_pace, drawn_extensions, members_of, pair_pace, smooth_fades
from versadp.losses.index_loss import still_says
from versadp.noise.extension import Extension, Zero, as_extension
from versadp.noise.points import How, check_count

if TYPE_CHECKING:
    from versadp.fitting.problem import Problem
    from versadp.losses import IndexLoss

DRAWS = 20  # per record, of methods that are told them: the default of `fit`, chosen
METHODS = ("efficient", "likelihood", "analytic", "drcl", "sdrcl", "sl", "naive")


def forms_of(
    problem: Problem, method: str, extension: str | Extension | None, draws: int, rows: int, *, thrift: int = 1
) -> tuple[Any, ...]:
    """Return the members of a method, or an error that names what works instead.

    `rows` is the number of records that will be fitted: few records get more draws, and pilots get them divided by
    `thrift`.
    """
    if method not in METHODS:
        raise ParameterError(f"there is no method {method!r}", hint=f"choose from {', '.join(METHODS)}")
    model, units = problem.model, problem.units
    if method == "naive" and problem.nullable:
        raise ParameterError(
            f"'naive' does not serve columns that may be missing: {', '.join(problem.nullable)}",
            hint="use method 'efficient' or 'drcl'",
        )
    if method == "naive" or not problem.blocks:  # without a noisy column there is nothing to correct
        return (SignedPoints(model, units, clip=False, second=False),)
    if units.exact_rate is None:
        free = method == "efficient" and extension is None
        found = _of_several(problem, rows, thrift) if free else None
        return found or (by_points(problem, method, extension, draws),)
    if method == "efficient":
        if extension is not None:
            raise ParameterError(
                "'efficient' chooses its extensions itself", hint="use method 'drcl' with an extension"
            )
        return _efficient_forms(problem, units.exact_rate, rows, thrift)
    return (_of_one_block(problem, method, extension, draws),)


def _of_several(problem: Problem, rows: int, thrift: int) -> tuple[Any, ...] | None:
    """Return members for other noise than that of one zero-inflated block; None where it is undone by points alone."""
    members = members_of(problem, rows, thrift, closed_now) if problem.extended else None
    near = None if members else closed_now(problem) or _projected(problem)
    return members or (None if near is None else (near,))


def _of_one_block(problem: Problem, method: str, extension: str | Extension | None, draws: int) -> Any:
    """Return the one member of a method for zero-inflated noise on one block."""
    if method == "drcl":
        return _drawn(problem, "none" if extension is None else extension, draws)
    kind = as_extension("none" if extension is None else extension)
    if kind.code is None:
        raise ParameterError(
            f"{method!r} needs an extension whose derivatives it knows, and {kind.name!r} is none",
            hint="use the extension 'none' or 'damped', or method 'drcl'",
        )
    if method == "analytic":
        return _analytic(problem, kind)
    return _smooth(problem, method, kind, draws)


def is_smooth(problem: Problem) -> bool:
    """Tell whether the Laplacian form serves the problem."""
    return isinstance(problem.model, LinearModel) and problem.model.loss.smooth


def _polynomial(problem: Problem) -> int | None:
    """Return the degree of a design that is a polynomial of the noisy columns, if the score is one too."""
    model = problem.model
    if not isinstance(model, FormulaModel) or not still_says(model.loss, "quadratic", ("value", "derivatives")):
        return None
    return model.design.degree(problem.units.names) if model.loss.quadratic else None


def _need_rate(problem: Problem, what: str) -> None:
    if problem.units.exact_rate == 0:
        raise ParameterError(
            f"{what} needs an exact_rate above 0, and this mechanism has 0",
            hint="squared loss with polynomials of noisy columns, and other smooth losses (logistic, poisson) with "
            "a linear design, can do without; or release with one",
        )


def closed_now(problem: Problem) -> Terms | Separable | None:
    """Return the inverses of powers and waves, if the loss is a sum of them and all blocks have these inverses.

    Squares of functions of a column need no more than that it lies on a lattice.
    """
    if isinstance(problem.model, CustomModel):
        return None
    expansion = problem.expansion or problem.model.loss.expansion()
    if expansion is None:
        return None
    form = as_terms(problem.model, problem.units, problem.blocks, expansion)
    if form is not None:
        return replace(form, blurs=problem.blurs)
    return as_separable(problem.model, problem.units, problem.blocks, expansion)


def is_expanded(loss: IndexLoss) -> bool:
    """Tell whether a loss is fitted as powers and waves of its index, where blocks have their inverses."""
    return loss.expansion() is not None or argument_of(loss) is not None


def _projected(problem: Problem) -> Projected | None:
    """Return the projection on polynomials, if the problem says how far it goes."""
    if problem.degrees is None:
        return None
    return Projected(problem.model, problem.units, Projection(problem.blocks, problem.degrees))


def by_points(problem: Problem, method: str, extension: str | Extension | None, draws: int) -> SignedPoints:
    """Return the blocks' own inverses, multiplied."""
    if method not in {"efficient", "drcl"}:
        raise ParameterError(
            f"method {method!r} is for zero-inflated Laplace noise on one block, and this model touches other noise",
            hint="use method 'efficient' or 'drcl'",
        )
    kind = as_extension("zero" if extension is None else extension)
    check_count(math.prod(block.point_count(How(draws, kind)) for block in problem.blocks))
    for block in problem.blocks:
        own = block.units(np.zeros(len(block.columns)))
        if own is not None and not own.exact_rate:
            raise ParameterError(
                "signed draws need an exact_rate above 0, and this mechanism has 0",
                hint="use a smooth loss with method 'analytic', 'sdrcl' or 'sl', or release with an exact_rate",
            )
    # plain draws, as the paper has them
    return SignedPoints(
        problem.model,
        problem.units,
        (kind,),
        problem.blocks,
        clip=kind.clip,
        near=draws,
        far=draws,
        paired=False,
        draws=draws,
        nullable=problem.nullable,
    )


def _efficient_forms(problem: Problem, rate: float, rows: int, thrift: int) -> tuple[Any, ...]:
    model, units = problem.model, problem.units
    if is_smooth(problem):
        assert isinstance(model, LinearModel)
        pace: Any = partial(pair_pace, rate=rate, dim=units.dim, thrift=thrift)
        smooth = Laplacian(model, units, smooth_fades(), pace=pace, **pace(rows))
        pace = partial(draw_pace, bounds=(8, 20), enough=2e6, share=4, thrift=thrift)
        zero = SignedPoints(model, units, (Zero(),), pace=pace, **pace(rows))
        return (zero, smooth) if rate else (smooth,)
    if rate == 0 and (degree := _polynomial(problem)):
        return (Stencil(model, units, degree),)
    _need_rate(problem, f"{model.loss.name} loss" + ("" if problem.design is None else " with this design"))
    # in one dimension draws are stratified by size, and few suffice
    bounds, enough = ((8, 40), 2e4) if units.dim == 1 else ((4, 100), 1e5)
    pace = partial(draw_pace, bounds=bounds, enough=enough, share=2, thrift=thrift)
    goes_on = getattr(model.loss, "smooth", False)  # others have no update, and spread their draws evenly
    return (SignedPoints(model, units, drawn_extensions(), pace=pace if goes_on else None, **pace(rows)),)


def _drawn(problem: Problem, extension: str | Extension, draws: int) -> SignedPoints:
    _need_rate(problem, "method 'drcl'")
    kind = as_extension(extension)
    return SignedPoints(problem.model, problem.units, (kind,), clip=kind.clip, near=draws, far=draws, paired=False)


def _analytic(problem: Problem, kind: Extension) -> Analytic:
    if not isinstance(problem.model, LinearModel) or not _plain(kind):
        raise ParameterError(
            "'analytic' needs a design that is linear in the noisy columns, and the extension 'none'",
            hint="use method 'efficient' or 'drcl'",
        )
    return Analytic(problem.model, problem.units)


def _smooth(problem: Problem, method: str, kind: Extension, draws: int) -> Any:
    model, second = problem.model, method == "sl"
    if isinstance(model, CustomModel) and model.loss.has_laplacian and _plain(kind):
        return CustomLaplacian(model, problem.units, count=draws, at_second=second)
    if not is_smooth(problem):
        name = "a mean or quantile" if isinstance(model, RecordModel) else f"{model.loss.name} loss with this design"
        raise ParameterError(
            f"{method!r} needs second derivatives in the record, and {name} has none that it could use",
            hint="use method 'efficient' or 'drcl'",
        )
    assert isinstance(model, LinearModel)
    return Laplacian(model, problem.units, (kind,), soft=0.0, count=draws, paired=False, at_second=second)


def _plain(kind: Extension) -> bool:
    """Tell whether an extension leaves everything as it is."""
    return kind.code == Extension().code
