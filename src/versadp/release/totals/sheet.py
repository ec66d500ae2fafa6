"""Noisy totals of one release, as an analyst takes them and as a person reads them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from versadp.errors import DataError
from versadp.release.totals.features import SHEETS, features_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.noise.terms import SeparableTerms
    from versadp.release.mechanism import Mechanism
    from versadp.release.totals.features import Features
    from versadp.release.totals.law import TotalsLaw
    from versadp.release.totals.nodes import Function

    Array = NDArray[np.float64]
    Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Totals:
    """Noisy totals of all people of a release.

    Attributes
    ----------
    mechanism : Mechanism
        Whose totals they are.
    law : TotalsLaw
    rows : int
        Number of people: of records.
    values : array of int64
        The noisy totals in whole numbers, in the order of `features.all`.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> from versadp.noise import Window
    >>> from versadp.release.totals.law import TotalsLaw
    >>> schema = Schema({"k": Bounded(0, 2, step=1), "m": Bounded(0, 1, step=1)})
    >>> mech = Mechanism(schema, noise={("k", "m"): Window(2.0)})
    >>> law = TotalsLaw.of(features_of(mech.blocks, schema), 0.5)
    >>> totals = Totals(mech, law, 4, np.array([1, 1, 2, 2, 2, 2, 0, 12, 4, 6, 1, 0, 1, 0, 0, 2]))
    >>> totals.terms.size, totals.means[:3], totals.table().column_names
    (16, array([0.25, 0.25, 0.5 ]), ['sheet', 'columns', 'levels', 'total', 'standard_error'])
    """

    mechanism: Mechanism
    law: TotalsLaw
    rows: int
    values: Whole

    def __post_init__(self) -> None:
        if self.values.shape != (self.features.size,):
            raise DataError(
                f"there are {self.values.size:,} totals, but the mechanism has {self.features.size:,}",
                hint="fetch the release again: its totals are of another mechanism",
            )

    @cached_property
    def features(self) -> Features:
        """Features that are summed."""
        return features_of(self.mechanism.blocks, self.mechanism.schema, self.law.columns)

    @property
    def terms(self) -> SeparableTerms:
        """Distinct features, as functions of single columns on the lattice points of the mechanism's blocks."""
        return self.features.terms

    @property
    def left_out(self) -> Mapping[str, str]:
        """Private columns that are in no sheet, and why."""
        return self.features.left_out

    @cached_property
    def scaled(self) -> tuple[Array, Array]:
        """Every total in units of its feature, and the standard deviation of its noise."""
        scale = dict(zip(SHEETS, self.law.scale, strict=True))
        unit = np.array([float(feature.scale) for feature in self.features.all])
        noise = np.array([scale[feature.sheet] * feature.noise for feature in self.features.all])
        return self.values / unit, noise

    @cached_property
    def _combined(self) -> tuple[Array, Array]:
        """Total and standard deviation of each distinct feature: what is the same in several sheets by precision."""
        number = {product: i for i, product in enumerate(self.features.products)}
        at = np.array([number[feature.product] for feature in self.features.all], np.intp)
        total, sd = self.scaled
        weight = np.bincount(at, sd**-2.0, len(number))
        return np.bincount(at, total * sd**-2.0, len(number)) / weight, np.asarray(weight**-0.5)

    @cached_property
    def means(self) -> Array:
        """Noisy mean of each of `terms` over all people."""
        return self._combined[0] / self.rows

    @cached_property
    def sd(self) -> Array:
        """Standard deviation of the noise of each mean: known, and the same whatever the records hold."""
        return self._combined[1] / self.rows

    @cached_property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """Sheet, the first in which it stands, and columns of each of `terms`."""
        first = {feature.product: feature.sheet for feature in reversed(self.features.all)}
        return tuple((first[product], *(name for name, _ in product)) for product in self.features.products)

    def _labels(self) -> tuple[list[str], list[str]]:
        """Return columns, and levels or moments, of every total."""
        lattices = {name: block.lattice(name) for block in self.mechanism.blocks for name in block.columns}
        held = {column.name: column for column in self.features.columns}
        label: dict[tuple[str, Function], str] = {}
        for name, function in {part for product in self.features.products for part in product}:
            lattice = lattices[name]
            assert lattice is not None
            label[name, function] = held[name].label(function, lattice, self.mechanism.schema.columns[name])
        products = [feature.product for feature in self.features.all]
        names = [" x ".join(name for name, _ in product) for product in products]
        return names, [" x ".join(label[part] for part in product) for product in products]

    def table(self) -> pa.Table:
        """Return every total with its standard error: people per cell, sums of positions in [-1, 1], cross-tables.

        Counts may be negative: nothing is changed after the noise.
        """
        total, sd = self.scaled
        columns, levels = self._labels()
        sheet = [feature.sheet for feature in self.features.all]
        return pa.table({"sheet": sheet, "columns": columns, "levels": levels, "total": total, "standard_error": sd})
