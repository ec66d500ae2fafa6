"""The units of a fit: noisy columns, shifted and scaled, and the domain in these units.

    z = (x - centre) / unit

Where the noise is zero-inflated symmetric Laplace on one block, the unit of a column is its noise scale, so that the
noise is ZIL(exact_rate, I); the shortcuts of `correction/` are written in these units. Otherwise it is the column's
width, and `exact_rate` is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.kernel import clip_to_box, distance2
from versadp.schema.spacing import LINEAR, from_even

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """Noisy columns in the units of a fit.

    Attributes
    ----------
    names : tuple of str
        The columns.
    centre, unit : array
        Of each column: where 0 is, and how long 1 is.
    lower, upper : array
        The domain in these units, as wide as noise may round.
    bounds : tuple of array
        The declared bounds, in the columns' own units.
    step : array
        What rounding may add to a value, in the columns' own units.
    exact_rate : float or None
        Of ZIL noise in these units; None for any other noise.
    spacing : tuple of str
        Of columns that are worked on in a function of them, which function; bounds are in it too. Empty without one.
    """

    names: tuple[str, ...]
    centre: Array
    unit: Array
    lower: Array
    upper: Array
    bounds: tuple[Array, Array]
    step: Array
    exact_rate: float | None = None
    spacing: tuple[str, ...] = ()

    @classmethod
    def plain(
        cls, bounds: Mapping[str, tuple[float, float]], centre: Array | None = None, spacing: tuple[str, ...] = ()
    ) -> Units:
        """Return columns in widths, whatever their noise is.

        Examples
        --------
        >>> units = Units.plain({"age": (20.0, 80.0)})
        >>> units.from_columns([np.array([20.0, 50.0])])
        array([[-0.5],
               [ 0. ]])
        """
        low, high = np.array(list(bounds.values()), dtype=float).reshape(-1, 2).T
        middle, width = (low + high) / 2 if centre is None else centre, high - low
        inside = (low - middle) / width, (high - middle) / width
        return cls(tuple(bounds), middle, width, *inside, (low, high), 1e-9 * width, spacing=spacing)

    @property
    def dim(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def middle(self) -> Array:
        """The middle of the declared bounds, in the columns' own units."""
        return np.asarray((self.bounds[0] + self.bounds[1]) / 2)

    def from_columns(self, columns: Sequence[Array], rows: int = 0) -> Array:
        """Return columns as an array (rows, dim) in the units of the fit; `rows` is for no column at all."""
        out = np.empty((len(columns[0]) if columns else rows, self.dim))
        for j, column in enumerate(columns):
            np.subtract(column, self.centre[j], out=out[:, j])
        out /= self.unit
        return out

    def to_columns(self, z: Array) -> Array:
        """Return points (rows, dim) in the columns' own units; what is outside by rounding is on the border."""
        x = z * self.unit + self.centre
        near = (x > self.bounds[0] - self.step) & (x < self.bounds[1] + self.step)
        x = np.where(near, np.clip(x, *self.bounds), x)
        for j, spacing in enumerate(self.spacing):
            if spacing != LINEAR:
                x[:, j] = from_even(spacing, x[:, j])
        return x

    @property
    def spaced(self) -> frozenset[str]:
        """Columns that are worked on in a function of them."""
        return frozenset(name for name, spacing in zip(self.names, self.spacing, strict=False) if spacing != LINEAR)

    def clip(self, z: Array) -> Array:
        """Return the nearest points of the domain."""
        return np.clip(z, self.lower, self.upper)

    def clip_in_place(self, z: Array) -> Array:
        """Move points to the nearest of the domain and return their squared distances to it."""
        out = np.empty(len(z))
        clip_to_box(z, self.lower, self.upper, out)
        return out

    def distance2(self, z: Array) -> Array:
        """Return squared distances to the domain."""
        out = np.empty(len(z))
        distance2(np.ascontiguousarray(z), self.lower, self.upper, out)
        return out
