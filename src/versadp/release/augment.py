"""The signed sample: the product of the blocks' inverses, written out as weighted rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from versadp import inputs
from versadp.errors import ParameterError
from versadp.noise import Points, product
from versadp.noise.points import check_count
from versadp.release.path.table import released_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise import How
    from versadp.release.mechanism import Mechanism
    from versadp.release.path.table import Table

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class SignedSample:
    """Weighted rows, and the record that each belongs to."""

    columns: dict[str, Any]
    weight: Array
    record: NDArray[np.int64]


def signed_sample(
    table: Table, mechanism: Mechanism, *, how: How, columns: list[str] | None, rng: np.random.Generator
) -> SignedSample:
    """Return the signed sample of a released table; see `Release.augment`."""
    wanted = _wanted(columns, list(mechanism.schema.columns))
    touched = [block for block in mechanism.blocks if set(block.columns) & set(wanted)]
    check_count(math.prod(block.point_count(how) for block in touched))
    every = Points(np.arange(table.rows), {}, np.ones(table.rows))
    inverses = [block.points(np.stack([table.private[n] for n in block.columns]), rng, how) for block in touched]
    points = product(every, *inverses)
    public = {name: array.take(pa.array(points.record)) for name, array in table.public.items() if name in wanted}
    out = released_columns(points.columns, public, mechanism.released_schema, wanted)
    return SignedSample(out, points.weight, points.record)


def _wanted(columns: list[str] | None, known: list[str]) -> list[str]:
    columns = None if columns is None else inputs.names("columns", columns)
    unknown = [name for name in columns or () if name not in known]
    if unknown:
        raise ParameterError(f"there is no column {unknown[0]!r}", hint=f"the release has {', '.join(known)}")
    return known if columns is None else [name for name in known if name in columns]
