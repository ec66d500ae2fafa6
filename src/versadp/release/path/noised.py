"""From true values to released values: the one path that every release takes.

The private columns of some rows stand in one array, block after block; each block works on its own rows of it, with its
own words, in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from versadp.errors import VersadpError
from versadp.noise.words import SLAB_ROWS
from versadp.release.path.columns import normalised

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.noise import Block
    from versadp.noise.mac import Texts
    from versadp.noise.words import Keystream
    from versadp.release.path.table import Table
    from versadp.release.totals.count import RunningTotals

    Array = NDArray[np.float64]


class Layout:
    """Places of each block's columns and words.

    Attributes
    ----------
    columns : tuple of str
        The private columns, block after block.
    words : int
        Words a record.
    places : tuple
        Each block, with the slices of its columns and of its words.
    """

    def __init__(self, blocks: tuple[Block, ...], *, fused: bool = False) -> None:
        self._fused = fused  # values as versions 1 to 3 of a mechanism make them
        places, column, word = [], 0, 0
        for block in blocks:
            places.append((block, slice(column, column + len(block.columns)), slice(word, word + block.words)))
            column, word = column + len(block.columns), word + block.words
        self.places = tuple(places)
        self.columns = tuple(name for block in blocks for name in block.columns)
        self.words = word

    def content(self, private: Mapping[str, NDArray[np.generic]]) -> Array:
        """Return private columns as the whole numbers (columns, rows) that noise is added to."""
        content = np.array([private[name] for name in self.columns], dtype=np.float64)
        for block, at, _ in self.places:
            block.to_content(content[at])
        return content

    def names(self, texts: Texts) -> Texts:
        """Return people's ids as their noise and the ledger know them: in Unicode form NFC since version 4."""
        return texts if self._fused else normalised(texts)

    def add_noise(self, content: Array, words: NDArray[np.uint64]) -> None:
        """Add every block's noise in place, and turn whole numbers into what is released."""
        self.move(content, words)
        self.to_values(content)

    def move(self, content: Array, words: NDArray[np.uint64]) -> None:
        """Add every block's noise to whole numbers, in place."""
        for block, at, of_words in self.places:
            block.add_noise(content[at], words[of_words])

    def to_values(self, content: Array) -> None:
        """Turn whole numbers into what is released, in place."""
        for block, at, _ in self.places:
            (block.to_fused_values if self._fused else block.to_values)(content[at])


@dataclass(frozen=True)
class _Slab:
    number: int
    start: int
    stop: int


class Witness(Protocol):
    """Observer of each slab of rows before it is noised: the digest of what was read, in one pass."""

    def slab(self, number: int, content: Array) -> None:
        """See the whole numbers (columns, rows) of slab `number`."""
        ...


def noise_table(
    layout: Layout,
    table: Table,
    stream: Keystream,
    engine: Engine,
    *,
    first: int = 0,
    witness: Witness | None = None,
    versions: NDArray[np.uint64] | None = None,
    totals: RunningTotals | None = None,
) -> dict[str, Array]:
    """Return the released values of the private columns, levels as numbers.

    Parameters
    ----------
    layout, table, stream, engine
        What to noise, with what, and where.
    first : int
        Number of the table's first slab of rows; a table that is one piece of a longer one starts at a slab.
    witness : Witness, optional
        Sees the content of each slab; on threads, in any order.
    versions : array (rows), optional
        Which version each record is, of a person who was in the release before, and which of equal rows of one person
        (`rows.py`); none is the first.
    totals : RunningTotals, optional
        Sees the content of each slab, with secret words for rounding.
    """
    out = np.empty((len(layout.columns), table.rows))
    work = partial(_noise_slab, _Work(layout, table, stream, out, witness, versions, totals))
    done = sum(engine.map(work, _slabs(table.rows, first)))
    if done != table.rows:  # what nobody wrote is whatever memory held before
        raise VersadpError(f"the engine {engine.name!r} noised {done} of {table.rows} records", hint="mend the engine")
    return dict(zip(layout.columns, out, strict=True))


def witness_table(
    layout: Layout,
    table: Table,
    stream: Keystream,
    *,
    first: int,
    witness: Witness,
    versions: NDArray[np.uint64] | None = None,
    totals: RunningTotals | None = None,
) -> None:
    """Show a table's content to a witness, and to totals, without any noise; arguments as of `noise_table`."""
    work = _Work(layout, table, stream, np.empty((0, 0)), witness, versions, totals)
    for slab in _slabs(table.rows, first):
        content = layout.content(_rows(table, slab))
        witness.slab(slab.number, content)
        if totals is not None:
            _words(work, slab, content)


def _slabs(rows: int, first: int) -> Iterator[_Slab]:
    for number, start in enumerate(range(0, rows, SLAB_ROWS), first):
        yield _Slab(number, start, min(start + SLAB_ROWS, rows))


def _rows(table: Table, slab: _Slab) -> dict[str, NDArray[np.generic]]:
    return {name: values[slab.start : slab.stop] for name, values in table.private.items()}


@dataclass(frozen=True)
class _Work:
    layout: Layout
    table: Table
    stream: Keystream
    out: Array
    witness: Witness | None
    versions: NDArray[np.uint64] | None
    totals: RunningTotals | None


def _noise_slab(work: _Work, slab: _Slab) -> int:
    layout, table = work.layout, work.table
    content = layout.content(_rows(table, slab))
    if work.witness is not None:
        work.witness.slab(slab.number, content)
    words = _words(work, slab, content)
    layout.add_noise(content, words)
    work.out[:, slab.start : slab.stop] = content  # slabs do not overlap, so threads write without a lock
    return slab.stop - slab.start


def _words(work: _Work, slab: _Slab, content: Array) -> NDArray[np.uint64]:
    """Return the words of a slab's noise; show its content and the words behind them to the totals."""
    layout, table, totals = work.layout, work.table, work.totals
    count = layout.words + (0 if totals is None else totals.words)
    if table.names is None:
        words = work.stream.slab(slab.number, content, count)
    else:
        rows = slice(slab.start, slab.stop)
        versions = None if work.versions is None else work.versions[rows]
        words = work.stream.records(content, layout.names(table.names[rows]), count, versions)
    if totals is not None:
        totals.see(content, words[layout.words :])
    return words[: layout.words]
