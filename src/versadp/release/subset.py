"""Some of the records of a release, chosen by their public columns: what answers as a release's own source does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.release.folder.folder import Handle
    from versadp.release.release import Release


@dataclass(frozen=True)
class Selected:
    """Records for which a condition on public columns holds; nothing is copied before it is read.

    Attributes
    ----------
    release : Release
    keeps : callable
        From a table of public columns to what is kept of it.
    columns : tuple of str
        The columns that it looks at.
    pairs : tuple of pairs of Handle
        Each handle as it is numbered here, and as the release has it.
    """

    release: Release
    keeps: Callable[[pa.Table], NDArray[np.bool_]]
    columns: tuple[str, ...]
    pairs: tuple[tuple[Handle, Handle], ...]

    @classmethod
    def of(
        cls, release: Release, keeps: Callable[[pa.Table], NDArray[np.bool_]], columns: tuple[str, ...]
    ) -> tuple[Selected, NDArray[np.bool_]]:
        """Return the records that are kept, and which of all records these are."""
        pairs, first, masks = [], 0, []
        for handle in release.handles():
            mask = keeps(release.read(handle, list(columns)))
            masks.append(mask)
            count = int(mask.sum())
            if count:
                pairs.append((replace(handle, first=first, rows=count), handle))
                first += count
        kept = np.concatenate(masks) if masks else np.zeros(0, bool)
        return cls(release, keeps, columns, tuple(pairs)), kept

    @property
    def rows(self) -> int:
        """Number of records."""
        return sum(own.rows for own, _ in self.pairs)

    @property
    def travels(self) -> bool:
        """True if handles can be read elsewhere."""
        return self.release.on_disk

    @property
    def where(self) -> str:
        """Place of the records."""
        return "a part of a release"

    @property
    def types(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.release.types

    def handles(self) -> tuple[Handle, ...]:
        """Return small handles, each for some of the records, in order."""
        return tuple(own for own, _ in self.pairs)

    def read_handle(self, handle: Handle, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the records of a handle, with all columns or those that are named."""
        import pyarrow as pa

        whole = dict(self.pairs)[handle]
        wanted = None if columns is None else list(dict.fromkeys([*columns, *self.columns]))
        table = self.release.read(whole, wanted)
        chosen = table.filter(pa.array(self.keeps(table)))
        return chosen if columns is None else chosen.select(list(columns))

    def read(self) -> Any:
        """Return all of them as one table."""
        import pyarrow as pa

        parts = [self.read_handle(handle) for handle in self.handles()]
        return pa.concat_tables(parts) if parts else self.types.empty_table()

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the records in batches."""
        for handle in self.handles():
            yield from self.read_handle(handle).combine_chunks().to_batches(max_chunksize=rows)
