"""From true values to released values: the one path that every release takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.noise.words import BLOCK_ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.noise.laplace import ZeroInflatedLaplace
    from versadp.noise.response import RandomizedResponse
    from versadp.noise.words import Keystream
    from versadp.release.table import Table

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


def noise_table(channels: Channels, table: Table, stream: Keystream, engine: Engine) -> Array:
    """Return the noised columns (columns, rows): values of the numeric block, then level codes."""
    out = np.empty((len(table.numeric) + len(table.codes), table.rows))
    starts = range(0, table.rows, BLOCK_ROWS)
    blocks = (_Block(number, start, min(start + BLOCK_ROWS, table.rows)) for number, start in enumerate(starts))
    for _ in engine.map(partial(_noise_block, channels, table, stream, out), blocks):
        pass
    return out


def _noise_block(channels: Channels, table: Table, stream: Keystream, out: Array, block: _Block) -> None:
    rows = slice(block.start, block.stop)
    private = [values[rows] for values in (*table.numeric.values(), *table.codes.values())]
    content = channels.content(private)
    if table.names is None:
        words = stream.block(block.number, content, channels.words)
    else:
        words = stream.records(content, table.names[rows], channels.words)
    channels.add_noise(content, words)
    out[:, rows] = content  # blocks do not overlap, so threads write without a lock
