"""Released records in memory: a table that answers what a release folder answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from versadp.release.folder.folder import Handle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

LOT_ROWS = 65_536


@dataclass(frozen=True)
class Frame:
    """A table of pandas, polars or arrow with released records.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = Frame(pa.table({"age": [30.0, 41.0], "y": [0, 1]}))
    >>> [frame.read_handle(handle, ["y"]).to_pydict() for handle in frame.handles()]
    [{'y': [0, 1]}]
    """

    table: Any

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.table)

    @property
    def travels(self) -> bool:
        """True if handles can be read elsewhere."""
        return False

    @property
    def where(self) -> str:
        """Whose table it is."""
        return type(self.table).__module__.split(".")[0]

    @property
    def types(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._arrow.schema

    def read(self) -> Any:
        """Return the table as it is."""
        return self.table

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the records in batches."""
        for start in range(0, self.rows, rows):
            yield from self._arrow.slice(start, rows).combine_chunks().to_batches()

    def handles(self) -> tuple[Handle, ...]:
        """Return a handle for every lot of records."""
        starts = range(0, self.rows, LOT_ROWS)
        return tuple(Handle("", 0, start, min(LOT_ROWS, self.rows - start)) for start in starts)

    def read_handle(self, handle: Handle, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the records of a handle, with all columns or those that are named."""
        table = self._arrow if columns is None else self._arrow.select(list(columns))
        return table.slice(handle.first, handle.rows)

    @cached_property
    def _arrow(self) -> pa.Table:
        import narwhals as nw

        return nw.from_native(self.table, eager_only=True).to_arrow()
