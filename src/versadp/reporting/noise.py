"""Effect of the noise on one value, beside the range of its column.

Made-up records, each with every number in the middle of its range and every category at its first level, go through the
noise of each block, with words from a plain generator: nobody is in them, so that nothing needs to be secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.display.numbers import between, brief
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise import Block
    from versadp.release.mechanism import Mechanism
    from versadp.schema import Column

    Array = NDArray[np.float64]

DRAWS = 100_000
HALF, MOSTLY = (0.25, 0.75), (0.05, 0.95)
FINE = 2.0**-10  # of a range: what is nearer than this is only rounded


class Spread(NamedTuple):
    """Released places of a value in the middle of a column's range, as shares of the range.

    `truth` is where it was, and `same` how often it is released there, or at the nearest place that can be released.
    """

    truth: float
    half: tuple[float, float]
    mostly: tuple[float, float]
    same: float


def spreads(mechanism: Mechanism, draws: int = DRAWS) -> dict[str, Spread]:
    """Return where values of each private column are released; of a category only how often it is as it was.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> found = spreads(Mechanism(Schema({"age": Bounded(18, 90)}), scale=0.5, exact_rate=0.1))["age"]
    >>> abs(found.same - 0.1) < 0.01, found.half[0] > 0 > found.mostly[0]
    (True, True)
    """
    rng = np.random.default_rng(0)
    return {
        name: spread
        for block in mechanism.blocks
        for name, spread in _of_block(block, mechanism.schema.columns, draws, rng)
    }


def _of_block(block: Block, columns: Any, draws: int, rng: np.random.Generator) -> list[tuple[str, Spread]]:
    truth = np.array([_middle(columns[name]) for name in block.columns])
    values = np.repeat(truth[:, None], draws, axis=1)
    block.to_content(values)
    block.add_noise(values, rng.integers(0, 2**64, (block.words, draws), dtype=np.uint64))
    block.to_values(values)
    rows = zip(block.columns, values, truth, strict=True)
    return [(name, _spread(columns[name], row, float(true))) for name, row, true in rows]


def _middle(column: Column) -> float:
    """Return a value that the column can have, in the middle of its range; of a category its first level."""
    if not isinstance(column, Bounded):
        return 0.0
    return column.lower + (
        column.width / 2 if column.steps is None else column.width * (column.steps // 2) / column.steps
    )


def _spread(column: Column, shown: Array, truth: float) -> Spread:
    if not isinstance(column, Bounded):
        return Spread(np.nan, (np.nan, np.nan), (np.nan, np.nan), float(np.mean(shown == truth)))
    there = (shown[~np.isnan(shown)] - column.lower) / column.width  # a private value may be shown as missing
    middle = (truth - column.lower) / column.width
    if not there.size:
        return Spread(middle, (np.nan, np.nan), (np.nan, np.nan), 0.0)
    ends = np.quantile(there, [*HALF, *MOSTLY]).tolist()
    places, counts = np.unique(there, return_counts=True)
    nearest = np.argmin(np.abs(places - middle))  # outputs have a lattice of their own, which may leave out the truth
    same = float(counts[nearest] / shown.size) if abs(places[nearest] - middle) < FINE else 0.0
    return Spread(middle, (ends[0], ends[1]), (ends[2], ends[3]), same)


def table(mechanism: Mechanism, found: dict[str, Spread]) -> list[dict[str, str]]:
    """Return the noise of each private column in words, beside its range."""
    rows = []
    for name, spread in found.items():
        column = mechanism.schema.columns[name]
        row = {"column": name, "declared": declared(column)}
        if isinstance(column, Bounded):
            half, mostly = (
                brief(column.width * max(b - spread.truth, spread.truth - a), 3)
                for a, b in (spread.half, spread.mostly)
            )
            unit = " days" if isinstance(column, Dates) else ""
            row |= {"half of the time within": f"±{half}{unit}", "9 times in 10 within": f"±{mostly}{unit}"}
        else:
            row |= {"half of the time within": "", "9 times in 10 within": ""}
        rows.append(row | {"released as it was": f"{100 * spread.same:.3g}%"})
    return rows


def declared(column: Column) -> str:
    """Return what the schema says of a column, in words.

    Examples
    --------
    >>> from versadp import Bounded, Categorical, Public
    >>> declared(Bounded(18, 90, step=1)), declared(Categorical(["n", "s"])), declared(Public())
    ('18 to 90, in steps of 1', '2 levels', 'public')
    >>> declared(Bounded(18, 90, declared=(0, 120)))
    '18 to 90, learnt inside 0 to 120'
    """
    if isinstance(column, Dates):
        words = "{} to {}".format(*column.ends)
    elif isinstance(column, Bounded):
        words = between(column.lower, column.upper)
        words += "" if column.step is None else f", in steps of {column.step:g}"
    elif isinstance(column, Categorical):
        words = f"{len(column.levels)} levels"
        words += f", the last of them {len(column.merged)} rare ones" if column.merged else ""
    else:
        return "public"
    if isinstance(column, Dates) and column.declared:
        words += ", learnt inside {} to {}".format(*column.declared)
    elif isinstance(column, Bounded) and column.declared:
        words += f", learnt inside {between(*column.declared)}"
    return words + {True: ", may be missing (private)", "public": ", may be missing (public)"}.get(column.nullable, "")
