"""From true values to released values: the one path that every release takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from versadp.noise.words import BLOCK_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.noise.laplace import ZeroInflatedLaplace
    from versadp.noise.response import RandomizedResponse
    from versadp.noise.words import Keystream
    from versadp.release.path.table import Table

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Channels:
    """The blocks of a mechanism, in the order in which their words stand: numeric block first, then categories."""

    laplace: ZeroInflatedLaplace | None
    responses: tuple[RandomizedResponse, ...]

    @property
    def dim(self) -> int:
        """Number of numeric columns."""
        return 0 if self.laplace is None else self.laplace.dim

    @property
    def words(self) -> int:
        """Words a record."""
        return (0 if self.laplace is None else self.laplace.words) + sum(r.words for r in self.responses)

    @property
    def sampler_error(self) -> float:
        """Bound on the total-variation distance between a record's noise and the ideal: blocks are independent."""
        return (0.0 if self.laplace is None else self.laplace.sampler_error) + sum(
            r.sampler_error for r in self.responses
        )

    def content(self, private: Sequence[NDArray[Any]]) -> Array:
        """Return the private columns as whole numbers (columns, rows): grid steps, then level codes."""
        content = np.array(private, dtype=np.float64)
        if self.laplace is not None:
            self.laplace.to_steps(content[: self.dim])
        return content

    def add_noise(self, content: Array, words: NDArray[np.uint64]) -> None:
        """Add every channel's noise in place, and turn grid steps into values."""
        at = 0
        if self.laplace is not None:
            at = self.laplace.words
            self.laplace.add_noise(content[: self.dim], words[:at])
            self.laplace.to_values(content[: self.dim])
        for j, response in enumerate(self.responses):
            response.add_noise(content[self.dim + j], words[at : at + response.words])
            at += response.words


@dataclass(frozen=True)
class _Block:
    number: int
    start: int
    stop: int


class Witness(Protocol):
    """Whoever sees the content of each block before it is noised: the digest of what was read, in the same pass."""

    def block(self, number: int, content: Array) -> None:
        """See the whole numbers (columns, rows) of block `number`."""
        ...


def noise_table(
    channels: Channels,
    table: Table,
    stream: Keystream,
    engine: Engine,
    *,
    first: int = 0,
    witness: Witness | None = None,
) -> Array:
    """Return the noised columns (columns, rows): values of the numeric block, then level codes.

    Parameters
    ----------
    channels, table, stream, engine
        What to noise, with what, and where.
    first : int
        Number of the table's first block; a table that is one piece of a longer one starts at a block.
    witness : Witness, optional
        Sees the content of each block; on threads, in any order.
    """
    out = np.empty((len(table.numeric) + len(table.codes), table.rows))
    work = partial(_noise_block, _Work(channels, table, stream, out, witness))
    for _ in engine.map(work, _blocks(table.rows, first)):
        pass
    return out


def witness_table(channels: Channels, table: Table, first: int, witness: Witness) -> None:
    """Show a table's content to a witness, without any noise."""
    for block in _blocks(table.rows, first):
        witness.block(block.number, channels.content(_private(table, block)))


def _blocks(rows: int, first: int) -> Iterator[_Block]:
    for number, start in enumerate(range(0, rows, BLOCK_ROWS), first):
        yield _Block(number, start, min(start + BLOCK_ROWS, rows))


def _private(table: Table, block: _Block) -> list[NDArray[Any]]:
    return [values[block.start : block.stop] for values in (*table.numeric.values(), *table.codes.values())]


@dataclass(frozen=True)
class _Work:
    channels: Channels
    table: Table
    stream: Keystream
    out: Array
    witness: Witness | None


def _noise_block(work: _Work, block: _Block) -> None:
    channels, table = work.channels, work.table
    content = channels.content(_private(table, block))
    if work.witness is not None:
        work.witness.block(block.number, content)
    if table.names is None:
        words = work.stream.block(block.number, content, channels.words)
    else:
        words = work.stream.records(content, table.names[block.start : block.stop], channels.words)
    channels.add_noise(content, words)
    work.out[:, block.start : block.stop] = content  # blocks do not overlap, so threads write without a lock
