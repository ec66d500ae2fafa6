"""Products of functions of single columns, undone block by block.

A separable term is f(x) = Π_c f_c(x_c). A block that keeps or redraws, with the coin κ, undoes it by one weight:

    psi[f](z) = Π_c g_c(z_c) / κ + (1 - 1/κ) Π_c mean of g_c over all outputs,      E psi[f](Z) = f(x),

g_c the function f_c undone on the lattice of its column (`lattice.py`), a table over the column's outputs. A missing
value has a row of its own in f_c. Where it is public that a value is missing, kept and redrawn records both show it,
and f_c(missing) stands in both products. Blocks have coins of their own: across blocks the inverses multiply.

Many terms share few functions, so that a block's inverse is a row of each column's table per record, and of these K
products: compiled, without an array of records and terms for each column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from versadp.noise.block import Block
    from versadp.noise.lattice import Lattice

    Array = NDArray[np.float64]


class Inverse(NamedTuple):
    """The inverse of some terms in one block, as `kernel.multiply_terms` takes it."""

    lattice: Array  # (columns, 3): low, step, half the window
    lost: NDArray[np.int64]  # (columns,): row of what is missing
    missing: NDArray[np.int64]  # (columns,): row of what is publicly missing
    table: Array  # of each column (outputs and publicly missing, functions), flat and one after the other
    start: NDArray[np.int64]  # (columns,): where its table begins
    width: NDArray[np.int64]  # (columns,): its functions
    at: NDArray[np.int64]  # (columns, K): the function of each term
    drawn: Array  # (columns, 2, K): the mean over outputs, and the value where it is publicly missing
    keep: float


@dataclass(frozen=True, eq=False)
class SeparableTerms:
    """K products of functions of single columns.

    Attributes
    ----------
    functions : mapping of str to array
        Of each column some functions at its lattice points, (points, functions); one row more for a missing value, 0
        without one. A column that is not named has the function 1.
    at : mapping of str to array of int (K,)
        Which function of each column stands in each product.

    Examples
    --------
    >>> from versadp import Bounded
    >>> from versadp.noise import Window
    >>> block = Window(2.0, cells=4, window=3).on({"a": Bounded(0, 4, step=1), "b": Bounded(0, 4, step=1)})
    >>> x = np.arange(5.0)
    >>> squares = np.stack([np.ones(5), x, x**2], axis=1)
    >>> terms = SeparableTerms({"a": squares, "b": squares}, {"a": np.array([2, 1]), "b": np.array([0, 1])})
    >>> kept = np.stack(np.meshgrid(np.arange(1, 4.0), np.arange(4, 7.0))).reshape(2, -1)  # of the record (1, 4)
    >>> every = np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0))).reshape(2, -1)
    >>> block.to_values(kept), block.to_values(every)
    (None, None)
    >>> mean = [block.undo(terms, z).mean(axis=0) for z in (kept, every)]
    >>> (block.keep * mean[0] + (1 - block.keep) * mean[1]).round(9)  # a², ab
    array([1., 4.])
    """

    functions: Mapping[str, Array]
    at: Mapping[str, NDArray[np.int64]]
    _inverses: dict[int, tuple[Block, Inverse | None]] = field(default_factory=dict, init=False, repr=False)
    _given: dict[int, tuple[Block, SeparableTerms, NDArray[np.int64]]] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def size(self) -> int:
        """Number of products."""
        return next((len(at) for at in self.at.values()), 1)

    def where_given(self, block: Block) -> tuple[SeparableTerms, NDArray[np.int64]]:
        """Return the terms, each 0 where a record does not give a column that it needs, and how many columns it needs.

        A term needs a column unless its function of it is 1 for all values.
        """
        known = self._given.get(id(block))  # kept as inverses are
        if known is not None and known[0] is block:
            return known[1:]
        functions, at, size = dict(self.functions), dict(self.at), np.zeros(self.size, np.int64)
        for name in block.columns:
            lattice, v = block.lattice(name), self.functions.get(name)
            if v is None or name not in self.at or lattice is None:
                continue
            points = lattice.values.size
            one = (v[:points] == 1).all(axis=0)
            functions[name] = np.column_stack([np.ones(points + 1), np.vstack([v[:points], np.zeros(v.shape[1])])])
            at[name] = np.where(one[self.at[name]], 0, 1 + self.at[name])
            size += at[name] > 0
        self._given[id(block)] = block, SeparableTerms(functions, at), size
        return self._given[id(block)][1:]

    def inverse(self, block: Block) -> Inverse | None:
        """Return what undoes the terms in a block; None if one of its columns has no lattice."""
        # kept, since records come in many lots; threads that ask at the same time may compute it twice
        known = self._inverses.get(id(block))
        if known is None or known[0] is not block:
            lattices = tuple(lattice for name in block.columns if (lattice := block.lattice(name)) is not None)
            known = block, self._inverse(block.columns, lattices) if can_undo((block,)) else None
            self._inverses[id(block)] = known
        return known[1]

    def _inverse(self, columns: tuple[str, ...], lattices: tuple[Lattice, ...]) -> Inverse:
        tables, every, drawn = [], [], []
        for name, lattice in zip(columns, lattices, strict=True):
            v, at = self.functions.get(name), self.at.get(name)
            if v is None or at is None:
                v, at = np.ones((lattice.values.size + 1, 1)), np.zeros(self.size, np.int64)
            points = lattice.values.size
            unknown = v[points:] if len(v) > points else np.zeros((1, v.shape[1]))
            g = lattice.undone(v, lattice.even)
            tables.append(np.concatenate([g, unknown]))
            drawn.append(np.concatenate([(lattice.drawn @ g)[None], unknown])[:, at])
            every.append(at)
        sizes = [table.size for table in tables]
        publicly = np.array([len(table) - 1 for table in tables], np.int64)
        return Inverse(
            np.array([(each.low, each.step, (each.window - 1) / 2) for each in lattices]),
            np.where([each.unseen > 0 for each in lattices], publicly - 1, publicly),
            publicly,
            np.concatenate([table.ravel() for table in tables]),
            np.cumsum([0, *sizes[:-1]]).astype(np.int64),
            np.array([table.shape[1] for table in tables], np.int64),
            np.ascontiguousarray(every, np.int64),
            np.ascontiguousarray(drawn),
            lattices[0].keep,
        )


def can_undo(blocks: Iterable[Block]) -> bool:
    """Return True if separable terms are undone in all of some blocks: each of their columns has a lattice.

    Examples
    --------
    >>> from versadp import Categorical
    >>> from versadp.noise import Response
    >>> category = {"region": Categorical(["n", "e"])}
    >>> can_undo([Response(0.4).on(category)]), can_undo([Response(0.0).on(category)])
    (True, False)
    """
    found = (block.lattice(name) for block in blocks for name in block.columns)
    return all(lattice is not None and lattice.is_small for lattice in found)


def undo_on_lattices(block: Block, terms: SeparableTerms, released: Array, out: Array | None) -> Array | None:
    """Return `Block.undo` of a block whose columns all have a lattice; None for others."""
    inverse = terms.inverse(block)
    if inverse is None:
        return None
    from versadp.noise.kernel import multiply_terms

    out = np.ones((released.shape[1], terms.size)) if out is None else out
    outside = multiply_terms(np.ascontiguousarray(released), *inverse, out)
    if outside:
        raise DataError(
            f"{outside} values of {', '.join(block.columns)} are none that their noise gives",
            hint="undo what was done to the columns after release",
        )
    return out
