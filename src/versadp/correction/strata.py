"""The levels of categories one by one: on each of them the index is linear in the noisy numbers.

On one level of every category an interaction `C(region):age` is a slope, so the index is linear in the noisy numbers:

    theta_s = T_s theta,      u = public'beta_s + numbers'alpha_s,      T_s from the codings at these levels

and with weight_s the blocks' inverse on that stratum, all categories held at its levels (`noise/cases.py`)

    score  <-  sum over strata of weight_s T_s' score_s(T_s theta),      Hessian  <-  sum of T_s' H_s T_s

where score_s is that of powers and waves in closed form (`terms.py`), or of a Laplacian (`by_level.py`). Levels of
public text that multiply a noisy number are strata too, with weights 0 and 1. Strata in which a level is missing are
left out, unless missing is a level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction.model import FormulaModel, LinearModel
from versadp.formula.design import CODED, MIXED, PUBLIC
from versadp.noise.cases import cases, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from versadp.correction.records import Records
    from versadp.noise import Block
    from versadp.noise.cases import Case, Coded, Inverse
    from versadp.noise.units import Units

    Array = NDArray[np.float64]
    Cases = tuple[NDArray[np.int64], tuple[Case, ...]]

MOST = 300  # strata that anybody would work with


class Stratum(NamedTuple):
    """Levels of the categories, and what undoes the noise of some records as if these were public.

        E sum over strata of weight * inverse of v(levels, numbers) = v(x)

    Attributes
    ----------
    levels : dict of str to int
        The number of the level of each category; what is missing comes after all levels.
    weight : array (rows,)
        Of blocks without numbers, and of public categories.
    cases : list of pairs
        Of each block with numbers: which case each record is, and the cases.
    """

    levels: dict[str, int]
    weight: Array
    cases: list[Cases]

    def together(self) -> Iterator[tuple[NDArray[np.int64], Array, tuple[Inverse, ...]]]:
        """Yield the records of each combination of cases that counts, the factors of all records, and the inverses."""
        code, factor = np.zeros(self.weight.size, np.int64), self.weight.copy()
        for which, every in self.cases:
            code = code * len(every) + which
            factor *= np.array([case.factor for case in every])[which]
        sizes = [len(every) for _, every in self.cases]
        for one in np.unique(code):
            rows = np.flatnonzero((code == one) & (factor != 0))
            if rows.size:
                at = np.unravel_index(one, sizes)
                yield rows, factor, tuple(every[k].inverse for k, (_, every) in zip(at, self.cases, strict=True))


@dataclass(frozen=True)
class Strata:
    """The levels of the categories of a model, and the linear model of the numbers on each of them.

    Attributes
    ----------
    model : FormulaModel
        Whose terms are all taken apart (`Design.splits`).
    units : Units
        Of the noisy columns, categories as the numbers of their levels.
    blocks : tuple of Block
        All with closed forms (`noise/cases.py`).
    """

    model: FormulaModel
    units: Units
    blocks: tuple[Block | Coded, ...]

    @property
    def levels(self) -> int:
        """Combinations of levels."""
        names = (*self.model.design.private, *self.crossed)
        return int(prod(len(self.model.design.levels[name]) for name in names))

    @property
    def count(self) -> int:
        """Strata of a record: of categories, twice as many for each block in which records are not all alike."""
        sets = [set(block.columns) for block in self.blocks]
        nullable = {name for block in self.blocks for name in block.nullable}
        both = sum(bool(each & {*self.model.design.private, *nullable}) for each in sets)
        return int(prod(len(self.model.design.levels[name]) for name in self.model.design.private) * 2**both)

    @cached_property
    def crossed(self) -> tuple[str, ...]:
        """The public categories that multiply noisy numbers."""
        design = self.model.design
        with_number = [split for split in design.splits if split is not None and split.number is not None]
        found = dict.fromkeys(part.column for split in with_number for part in split.parts)
        return tuple(name for name in found if name not in design.private)

    @cached_property
    def numbers(self) -> Units:
        """The noisy numbers alone."""
        at = [j for j, name in enumerate(self.units.names) if name not in self.model.design.private]
        arrays = {name: getattr(self.units, name)[at] for name in ("centre", "unit", "lower", "upper", "step")}
        low, high = self.units.bounds
        return replace(self.units, names=tuple(self.units.names[j] for j in at), bounds=(low[at], high[at]), **arrays)

    @cached_property
    def keys(self) -> list[tuple[str, ...]]:
        """The public factors of each public column of the strata; the first is the constant."""
        return list(dict.fromkeys([(), *(self._rest(j) for j in range(self.model.size))]))

    def _rest(self, j: int) -> tuple[str, ...]:
        """Return the public factors of a coefficient that are the same on all strata."""
        split = self.model.design.splits[j]
        assert split is not None
        strata = {*self.model.design.private, *self.crossed}
        return (*split.rest, *(part.text for part in split.parts if part.column not in strata))

    @cached_property
    def linear(self) -> LinearModel:
        """The model on one stratum: public columns, and all noisy numbers."""
        columns = np.append(np.full(len(self.keys), -1), np.arange(self.numbers.dim)).astype(np.int64)
        design = self.model.design
        if design.response in {PUBLIC, CODED}:
            return LinearModel(self.model.loss, columns)
        at = self.numbers.names.index(design.response_name)
        coding = float(self.numbers.centre[at]), float(self.numbers.unit[at])
        return LinearModel(self.model.loss, columns, at, coding=coding)

    def change(self, levels: Mapping[str, int]) -> Array:
        """Return T on some levels: from the coefficients of the model to those of its stratum."""
        numbers, first = self.numbers, len(self.keys)
        out = np.zeros((self.linear.size, self.model.size))
        for j, split in enumerate(self.model.design.splits):
            assert split is not None
            value = prod(part.values[levels[part.column]] for part in split.parts if part.column in levels)
            if split.number is None:
                out[self.keys.index(self._rest(j)), j] = value
            else:
                k = numbers.names.index(split.number)
                out[0, j], out[first + k, j] = value * numbers.centre[k], value * numbers.unit[k]
        return self.model.moved(out)

    def strata(self, records: Records) -> Iterator[Stratum]:
        """Yield all strata of some records."""
        assert records.released is not None
        design = self.model.design
        sizes = {name: len(design.levels[name]) for name in (*design.private, *self.crossed)}
        for chosen in product(*(range(size) for size in sizes.values())):
            levels = dict(zip(sizes, chosen, strict=True))
            weight, found, at = np.ones(records.rows), [], 0
            for name in self.crossed:
                weight *= records.public[name] == design.levels[name][levels[name]]
            for block in self.blocks:
                own = {name: level for name, level in levels.items() if name in block.columns}
                which, every = cases(block, records.released[at : at + len(block.columns)], own)  # type: ignore[misc] # it has them
                at += len(block.columns)
                if every[0].inverse.columns:
                    found.append((which, every))
                else:
                    weight *= np.array([case.factor for case in every])[which]
            yield Stratum(levels, weight, found)


def as_strata(model: Any, units: Units, blocks: tuple[Block | Coded, ...]) -> Strata | None:
    """Return the strata of a model, if it has some: terms taken apart, closed forms of all blocks, few levels."""
    if not isinstance(model, FormulaModel) or model.design.response == MIXED or units.exact_rate is not None:
        return None
    for split in model.design.splits:
        if split is None or (split.number is not None and split.rest):
            return None
    if any(whole(block) is None for block in blocks):
        return None
    found = Strata(model, units, blocks)
    # without numbers points are exact, and a loss need not be expanded
    return found if found.count <= MOST and found.numbers.dim else None
