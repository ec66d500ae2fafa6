"""Some records in memory, as corrections and models see them: released columns, public ones, weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.engine.once import once
from versadp.formula.terms import product_matrix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from versadp.noise.units import Units

    Array = NDArray[np.float64]
    Kinds = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Records:
    """Some records in memory, as a correction sees them.

    Attributes
    ----------
    scaled : array (n, dim) or callable
        The noisy columns of the model in the units of the fit, or what makes them of `released` when somebody asks:
        closed forms work on columns as they were released. `z` is either.
    public : dict of str to array (n,)
        The numeric public columns of the model.
    design : array (n, k), optional
        The public part of a linear design.
    response : array (n,), optional
        A public response, as the loss needs it.
    weight : array (n,), optional
        The analyst's weights.
    released : array (dim, n), optional
        The noisy columns as they were released, where a block's own inverse needs them.
    label : array (n,), optional
        The number of each record's cluster, or of how many records it stands for.
    before : int, optional
        How many records come before these, if they are a lot in its place.
    codes : array (n, columns), optional
        Outputs of all columns that totals are about.
    """

    scaled: Array | Callable[[Array], Array]
    public: dict[str, Array] = field(default_factory=dict)
    design: Array | None = None
    response: Array | None = None
    weight: Array | None = None
    released: Array | None = None
    label: Array | None = None
    before: int | None = None
    codes: NDArray[np.int16] | None = None

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.z) if self.released is None else self.released.shape[1]

    @once
    def z(self) -> Array:
        """The noisy columns in the units of the fit."""
        if not callable(self.scaled):
            return self.scaled
        assert self.released is not None
        return self.scaled(self.released)

    def take(self, index: NDArray[Any]) -> Records:
        """Return some of the records."""
        public = {name: column[index] for name, column in self.public.items()}
        some = {name: None if (array := getattr(self, name)) is None else array[index] for name in _BY_RECORD}
        released = None if self.released is None else self.released.take(index, axis=1)
        scaled = self.scaled if callable(self.scaled) else self.scaled[index]
        return replace(self, scaled=scaled, public=public, released=released, before=None, **some)

    def known(self, units: Units) -> Records:
        """Return the records with the middle of a column for each released value that is missing."""
        assert self.released is not None
        return replace(self, released=np.where(np.isnan(self.released), units.middle[:, None], self.released))

    def public_products(self, factors: Iterable[tuple[str, ...]]) -> Array:
        """Return products of factors of public columns, (rows, products)."""
        return product_matrix(factors, self.public, self.rows)

    def kinds(self, *others: Array | None) -> Kinds:
        """Return one record of each kind that is alike in public, and in what else is given, and each record's kind."""
        kind = np.zeros(self.rows, np.int64)
        known = [*self.public.values(), self.response, *others, *([] if self.design is None else self.design.T)]
        for each in known:
            if each is not None:
                own = np.unique(each.astype(str) if each.dtype.kind == "O" else each, return_inverse=True)[1]
                kind = np.unique(kind * (int(own.max(initial=0)) + 1) + own.ravel(), return_inverse=True)[1].ravel()
        return np.unique(kind, return_index=True)[1], kind

    def weighted(self, weight: Array | float) -> Records:
        """Return the records with their weights multiplied."""
        return replace(self, weight=np.asarray(weight * (np.ones(self.rows) if self.weight is None else self.weight)))

    @classmethod
    def joined(cls, parts: list[Records]) -> Records:
        """Return several as one."""
        first = parts[0]
        public = {name: np.concatenate([part.public[name] for part in parts]) for name in first.public}
        some: dict[str, Any] = {
            name: None if getattr(first, name) is None else np.concatenate([getattr(part, name) for part in parts])
            for name in _BY_RECORD
        }
        released = None if first.released is None else np.concatenate([part.released for part in parts], axis=1)
        scaled = first.scaled if callable(first.scaled) else np.concatenate([part.z for part in parts])
        return cls(scaled, public, released=released, **some)


_BY_RECORD = ("design", "response", "weight", "label", "codes")


def columns_at(z: Array, record: NDArray[Any], records: Records, units: Units) -> dict[str, Array]:
    """Return the columns, in their own units, at points z."""
    x = units.to_columns(z)
    columns = {name: x[:, j] for j, name in enumerate(units.names)}
    return columns | {name: column[record] for name, column in records.public.items()}


def whole_records(z: Array, record: NDArray[Any], records: Records, units: Units, order: tuple[str, ...]) -> Array:
    """Return whole records at points z, one row each, their columns in a given order."""
    columns = columns_at(z, record, records, units)
    return np.stack([columns[name] for name in order], axis=1)
