"""A request: a loss that is to be fitted to a release, and what both say of blocks, units and records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.errors import DataError
from versadp.fitting.public_facts import Known
from versadp.fitting.source import Reader, ReleaseSource
from versadp.noise.units import Units
from versadp.schema import Bounded, Dates
from versadp.schema.spacing import LINEAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from versadp.formula.design import Design
    from versadp.noise import Block
    from versadp.release.release import Release
    from versadp.schema import Schema

    Array = NDArray[np.float64]
    Codes = Mapping[str, tuple[str, tuple[float, ...]]]  # a column of numbers: its category, and one number per level


class Request(NamedTuple):
    """A loss and the release that it is fitted to.

    Attributes
    ----------
    release : Release
    loss : IndexLoss or RecordLoss
    weights : array (n,), optional
        The analyst's weights.
    size : int, optional
        Number of parameters of a user's loss.
    free : bool
        True if the form of the correction is ours to choose.
    known : Known
        What records that are not in this release have shown.
    extend : bool
        False for the one closed form of several blocks that states of older fits were made by.
    """

    release: Release
    loss: Any
    weights: Array | None
    size: int | None = None
    free: bool = True
    known: Known = Known()
    extend: bool = True

    @property
    def schema(self) -> Schema:
        """The columns of the release."""
        return self.release.mechanism.schema

    def touched(self, used: set[str]) -> tuple[Block, ...]:
        """Return the blocks that a model touches, each with the columns that matter to it."""
        blocks = self.release.mechanism.blocks
        return tuple(block.part(used).even for block in blocks if used & set(block.columns))

    def units(self, blocks: tuple[Block, ...], codes: Codes | None = None, *, centred: bool = True) -> Units:
        """Return noise units if one block declares them, else widths."""
        ends = {name: (min(values), max(values)) for name, (_, values) in (codes or {}).items()}
        names = [name for block in blocks for name in block.columns]
        bounds = {name: ends.get(name) or _bounds(self.schema.columns[name]) for name in names}
        centre = Units.plain(bounds).middle if centred else np.zeros(len(names))
        noise = blocks[0].units(centre) if len(blocks) == 1 else None
        if noise is not None:
            return noise
        own = tuple(getattr(self.schema.columns.get(name), "spacing", LINEAR) for name in names)
        return Units.plain(bounds, centre, own if set(own) - {LINEAR} else ())

    def source(self, reader: Reader) -> ReleaseSource:
        """Return where records are read from."""
        columns = self.schema.columns
        dates = {name: c for name in reader.units.names if isinstance(c := columns.get(name), Dates)}
        raw = reader.units.exact_rate is None
        return ReleaseSource(self.release, replace(reader, raw=raw, dates=dates), self.weights)

    def rounded(self, blocks: Iterable[Block]) -> dict[str, float]:
        """Return the numbers of blocks that were rounded to a lattice, though their values may lie anywhere."""
        out = {}
        for block in blocks:
            for name in block.columns:
                column = self.schema.columns[name]
                if isinstance(column, Bounded) and column.steps is None and (lattice := block.lattice(name)):
                    out[name] = lattice.step
        return out

    def refuse_few(self, size: int) -> None:
        """Raise if there are no more records than coefficients."""
        rows = len(self.release)
        if rows <= size:
            raise DataError(f"{size} coefficients need more than {rows} records", hint="fit fewer terms")


def nullable_in(blocks: tuple[Block, ...], used: Iterable[str]) -> tuple[str, ...]:
    """Return the columns used in which values may be missing, in the order of the blocks."""
    chosen = set(used)
    return tuple(name for block in blocks for name in block.nullable if name in chosen)


def incomplete(blocks: tuple[Block, ...], design: Design) -> tuple[str, ...]:
    """Return the columns of a design whose missing values leave a record out."""
    return tuple(name for name in nullable_in(blocks, design.used) if name not in design.with_missing)


def _bounds(column: Any) -> tuple[float, float]:
    """Return the bounds of a number, on the scale that is worked on, or of the numbers of levels."""
    return column.even_bounds if isinstance(column, Bounded) else (0.0, len(column.levels) - 1.0)
