"""Which members there are where several blocks are touched and one of them is zero-inflated.

| noise beside the zero-inflated block, loss | members |
|---|---|
| categories; smooth loss, linear in numbers by level | `zero` and `clip` by points, fades by level |
| categories; any other loss | `zero`, fades and `clip` by points |
| windows, further zero-inflated blocks; smooth loss | the same, and the closed form without an extension |
| the same; a loss with kinks | by points, or a series: what is predicted to vary less (`approximate.py`) |

Points of all blocks multiply, so that there are fewer draws where more blocks have them. Beside categories alone there
are as many as without, for levels are drawn along (`correction/points.py`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import CustomModel, SignedPoints, as_by_level
from versadp.noise.extension import Extension, Fade, Zero
from versadp.noise.points import How

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from versadp.fitting.problem import Problem
    from versadp.noise import Block
    from versadp.noise.units import Units

FADES = (0.15, 0.5, 1.5)  # of the Laplacian, in noise units (docs/theory/correction.md)
DRAWN_FADES = (0.3, 1.0)  # of signed points
# of signed points beside Laplacians by level: clipped ones take standard errors down by 1 to 5%
POINTS_BY_LEVEL = (Zero(), Extension())
ROUNDING = 0.1  # of the Laplacian's fades on the border of the box
DRAWS = 2  # of a window, whose points are multiplied by those of zero-inflated noise
PILOT_THRIFT = 5  # factor by which pilots take fewer draws than the last step: chosen
WRITTEN = 1e6  # points of all records together, where blocks multiply
FEW, MANY = 10.0, 120.0  # of a record, at least and at most
MOST = 400  # points of a record: beyond, a closed form alone is quicker and varies less


def smooth_fades() -> tuple[Extension, ...]:
    """Return the extensions of the Laplacian."""
    return (*(Fade(length, ROUNDING) for length in FADES), Extension())


def drawn_extensions() -> tuple[Extension, ...]:
    """Return the extensions of signed points."""
    return (Zero(), *(Fade(length) for length in DRAWN_FADES), Extension())


def pair_pace(rows: int, *, rate: float, dim: int, thrift: int) -> dict[str, int]:
    """Return the number of draws of the Laplacian per record, after `rows` records, and whether they are pairs."""
    count = int(max(1, np.clip(1e4 / rows * (1 + 20 * rate), 1, 10) / thrift))
    return {"count": count, "paired": rows <= 200_000 or rate > 0.05 or dim == 1}


def draw_pace(rows: int, *, bounds: tuple[int, int], enough: float, share: int, thrift: int) -> dict[str, int]:
    """Return the number of signed draws per record, after `rows` records: near the box, and a share of it far."""
    near = int(max(4, np.clip(enough / rows, *bounds) / thrift))
    return {"near": near, "far": max(4 // share, near // share)}


def shared_pace(rows: int, *, blocks: int, others: int, thrift: int) -> dict[str, int]:
    """Return the same where the points of zero-inflated blocks multiply, and those of others with them.

    Examples
    --------
    >>> [shared_pace(rows, blocks=2, others=1, thrift=1)["near"] for rows in (2_000, 20_000, 200_000)]
    [4, 3, 1]
    """
    written = float(np.clip(WRITTEN / rows, FEW, MANY)) / others
    near = int(max(1.0, (written ** (1 / blocks) - 1) / 2 / thrift))
    return {"near": near, "far": max(1, near // 2)}


def noise_units(problem: Problem) -> dict[Block, Units]:
    """Return the zero-inflated blocks that a problem touches, with their noise units."""
    found = {block: block.units(np.zeros(len(block.columns))) for block in problem.blocks}
    return {block: own for block, own in found.items() if own is not None}


def wants_series(problem: Problem) -> bool:
    """Tell whether a series of the loss may serve, as the correction or as a member: not beside categories alone."""
    if not problem.extended:
        return True
    category = set() if problem.design is None else set(problem.design.private)
    return sum(not set(block.columns) <= category for block in problem.blocks) > 1


def members_of(problem: Problem, rows: int, thrift: int, closed: Callable[[Problem], Any]) -> tuple[Any, ...] | None:
    """Return the members for several blocks; None where one closed form is all there is.

    Parameters
    ----------
    problem : Problem
        Which is `extended`.
    rows : int
        Records: few get more draws.
    thrift : int
        Pilots get draws divided by it.
    closed : callable
        What gives the closed form of a problem.
    """
    model, inflated = problem.model, noise_units(problem)
    smooth = not isinstance(model, CustomModel) and model.loss.smooth
    if smooth and len(inflated) == 1 and (leveled := _by_level(problem, rows, thrift)):
        return leveled
    windows = _redrawn(block for block in problem.blocks if block not in inflated)
    count = math.prod(block.point_count(How(DRAWS)) for block in windows)
    found = closed(problem) if smooth or problem.expansion is not None else None
    if found is not None and (not smooth or 3 ** len(inflated) * count > MOST):
        return None
    shared = bool(windows) or len(inflated) > 1
    pace = _pace_of_points(len(inflated), count, thrift, shared=shared)
    points = _points(problem, drawn_extensions(), pace if smooth else None, pace(rows))
    return (points,) if found is None else (points, found)


def _pace_of_points(blocks: int, others: int, thrift: int, *, shared: bool) -> Any:
    """Return how many draws records get: fewer where the points of several blocks multiply."""
    if shared:
        return partial(shared_pace, blocks=blocks, others=others, thrift=thrift)
    return partial(draw_pace, bounds=(4, 100), enough=1e5, share=2, thrift=thrift)


def _redrawn(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks whose points are drawn: of others all are written out."""
    return [block for block in blocks if block.point_count(How(DRAWS)) != block.point_count(How(DRAWS + 1))]


def _by_level(problem: Problem, rows: int, thrift: int) -> tuple[Any, ...] | None:
    """Return the members of one block, on each level of the categories beside it."""
    (own,) = noise_units(problem).values()
    assert own.exact_rate is not None
    pace: Any = partial(pair_pace, rate=own.exact_rate, dim=own.dim, thrift=thrift)
    form = as_by_level(problem.model, problem.units, problem.blocks, smooth_fades(), pace=pace, **pace(rows))
    if form is None:
        return None
    pace = partial(draw_pace, bounds=(8, 20), enough=1e6, share=4, thrift=thrift)
    return _points(problem, POINTS_BY_LEVEL, pace, pace(rows)), form


def _points(problem: Problem, extensions: tuple[Extension, ...], pace: Any, how: Mapping[str, int]) -> SignedPoints:
    """Return signed points of all blocks."""
    points = SignedPoints(problem.model, problem.units, extensions, problem.blocks, draws=DRAWS, pace=pace)
    return replace(points, near=how["near"], far=how["far"], nullable=problem.nullable)
