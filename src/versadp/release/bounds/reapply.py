"""The same noise on other bounds and levels of the same columns: what is claimed of it stays as it was.

A window keeps its epsilon and delta, and its width relative to the bounds; Laplace noise its scale, which is relative
to them, and a category the probability that it is kept. So a guarantee that was solved for on the declared bounds, with
`Block.guarantee_on_any`, holds whatever bounds are learnt (`docs/theory/bounds.md`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp.noise.window import WindowBlock
from versadp.release.mechanism import Mechanism
from versadp.release.totals.nodes import window_for_totals
from versadp.schema import Bounded, Dates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from versadp.noise import Block, Spec
    from versadp.schema import Column, Schema


def on_learnt_bounds(mechanism: Mechanism, schema: Schema) -> Mechanism:
    """Return a mechanism's noise on a schema with the same columns, whose bounds or levels were learnt.

    Examples
    --------
    >>> from versadp import Schema, calibrate
    >>> wide, narrow = Schema({"x": Bounded(0, 9)}), Schema({"x": Bounded(2, 4, declared=(0, 9))})
    >>> mech = on_learnt_bounds(calibrate(wide, epsilon=2), narrow)
    >>> [(block.bounds, block.epsilon) for block in mech.blocks]
    [(((2.0, 4.0),), 2.0)]
    """
    noise: dict[str | tuple[str, ...], Spec] = {}
    for block in mechanism.blocks:
        declared, columns = (
            {name: each.columns[name] for name in block.columns} for each in (mechanism.schema, schema)
        )
        noise[block.columns] = _spec(block, declared, columns, totals=mechanism.totals is not None)
    return Mechanism(schema, noise=noise, target=mechanism.target, totals=mechanism.totals)


def spaceable(mechanism: Mechanism) -> frozenset[str]:
    """Return the numbers whose noise may be even on another scale: windows with lattices by rule.

    Examples
    --------
    >>> from versadp import Schema, calibrate
    >>> sorted(spaceable(calibrate(Schema({"x": Bounded(0, 9), "kids": Bounded(0, 9, step=1)}), epsilon=2)))
    ['kids', 'x']
    """
    found: set[str] = set()
    for block in mechanism.blocks:
        columns = {name: mechanism.schema.columns[name] for name in block.columns}
        if isinstance(block, WindowBlock) and block == block.rule().on(columns):
            found |= set(block.columns)
    return frozenset(found)


def _spec(block: Block, declared: Mapping[str, Column], columns: Mapping[str, Column], *, totals: bool) -> Spec:
    if not isinstance(block, WindowBlock):
        return block.spec
    rule = block.rule()
    if block == rule.on(declared):
        return rule
    cells: dict[str, int] = {}
    window: dict[str, int] = {}
    for name, last, points in zip(block.columns, block.last, block.window, strict=True):
        column = columns[name]
        if isinstance(column, Bounded):
            cells[name] = column.steps or last
            wanted = points * cells[name] / last
            odd = isinstance(column, Dates)  # a day in the middle
            window[name] = max(1, 2 * round((wanted - 1) / 2) + 1 if odd else round(wanted))
            if totals:
                window[name], cells[name] = window_for_totals(window[name], cells[name], column)
    return block.rule(cells or None, window or None)
