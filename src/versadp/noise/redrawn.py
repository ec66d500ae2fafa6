"""The redrawn part of a window's inverse: the mean over all outputs, whatever was released.

    v  <-  mean of g over all outputs,      g with window averages v

It is a window's inverse without the part of the released record, which a stratum weighs for itself: numbers under one
coin with a category are kept with the level that is shown, and redrawn with any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.closed import Products, Waves, product_of, spread_ratio

if TYPE_CHECKING:
    from versadp.noise.closed import Complex
    from versadp.noise.window import WindowBlock


@dataclass(frozen=True)
class Redrawn:
    """The mean over all outputs of a window on numbers that are never missing; it has closed forms, and no points."""

    window: WindowBlock

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the window."""
        return self.window.columns

    def products(self) -> Products:
        """Return that nothing is known of a column but its centre, and of its square what a redrawn one adds."""
        block = self.window
        drawn, near = (((np.array(n) ** 2 - 1.0) * block.step**2 / 12) for n in (block.outputs, block.window))
        centre = np.array([(low + high) / 2 for low, high in block.bounds])
        return Products(centre, 0.0, np.diag(drawn - near))

    def waves(self, t: Complex) -> Waves:
        """Return the mean of a wave over all outputs, over that of a window."""
        block = self.window
        near, drawn = (np.array(n) * block.step / 2 for n in (block.window, block.outputs))
        return Waves(product_of(spread_ratio(t, near, near), 0.0), product_of(spread_ratio(t, drawn, near), 1.0))
