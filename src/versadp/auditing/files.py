"""The path through files, as an audit takes it: a table is written, released into a folder, and read back.

Everything happens in a temporary folder, with keys, ledger and memory of its own, so that no ledger of this user knows
of it. With an id column the second half of the people is appended, as people are who come later.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from versadp.auditing.records import without_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from versadp.auditing.records import Path as ReleasePath
    from versadp.release.mechanism import Mechanism

_HOMES = ("XDG_STATE_HOME", "VERSADP_STATE", "VERSADP_WITNESS")


def through_files(mechanism: Mechanism) -> ReleasePath:
    """Return a path for `audit`: the one through `release_file`, and `append_file` where the schema has an id.

    Examples
    --------
    >>> import pyarrow as pa, versadp as vdp
    >>> mech = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid"), scale=0.5, exact_rate=0.1)
    >>> path = through_files(mech)  # vdp.audit(mech, path=path)
    >>> path(pa.table({"x": [0.1, 0.5, 0.9], "pid": [1, 2, 3]})).num_rows
    3
    """
    noise = without_target(mechanism)

    def path(table: pa.Table) -> pa.Table:
        import pyarrow.parquet as pq

        from versadp.release.files.append import append_file
        from versadp.release.files.release import release_file
        from versadp.release.release import load

        with _elsewhere() as folder:
            first = table.num_rows if mechanism.schema.id is None else table.num_rows // 2
            pq.write_table(table.slice(0, first), folder / "first.parquet")
            where: dict[str, Any] = {"state": folder / "state", "engine": "serial"}
            release_file(folder / "first.parquet", folder / "out", noise, shuffle=False, **where)
            if first < table.num_rows:
                pq.write_table(table.slice(first), folder / "second.parquet")
                append_file(folder / "out", folder / "second.parquet", **where)
            return load(folder / "out").frame

    return path


@contextmanager
def _elsewhere() -> Iterator[Path]:
    """Yield a temporary folder that is this user's home, as far as ledgers go."""
    before = {name: os.environ.get(name) for name in _HOMES}
    with tempfile.TemporaryDirectory() as name:
        try:
            for each in _HOMES:
                os.environ.pop(each, None)
            os.environ["XDG_STATE_HOME"] = name
            yield Path(name)
        finally:
            for each, value in before.items():
                os.environ.pop(each, None)
                if value is not None:
                    os.environ[each] = value
