"""`release.people()`: a table of made-up people, each worth the same, for R, spreadsheets, trees and boosting.

Their law is estimated from the release (`law.py`), rows are drawn from it, and replicate weights on the same rows carry
what the noise and the sample leave open. It is post-processing: it costs no privacy, whatever is done with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from versadp import inputs
from versadp.display.progress import bar
from versadp.errors import NoSuchName, ParameterError, near
from versadp.people.axes import make_axis
from versadp.people.combined import has_totals
from versadp.people.describing import describe_people
from versadp.people.law import estimate_law
from versadp.people.rows import draw_points, record_weights, replicate_weights, values_of
from versadp.people.wide import estimate_wide_law
from versadp.release.path.dates import to_dates
from versadp.release.path.table import build_frame, read_table, to_levels
from versadp.schema import Bounded, Categorical, Dates, Public
from versadp.tabulating.counting import distinct_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.inputs import Array
    from versadp.people.axes import Axis
    from versadp.people.check import Check
    from versadp.people.law import Law
    from versadp.release.path.table import Kind
    from versadp.release.release import Release

MOST_ROWS = 1_000_000  # rows without being asked for: more tell no more of what a release of any size can tell
CELLS = 10_000_000  # points of a lattice of all columns: an EM step takes half a second
NATURAL, FINE, FEWEST = 128, 64, 16  # points of a number: all of its own, of a finer lattice, of one in many columns
MOST_LEVELS = 64  # values of a public column: chosen; more are no category
WEIGHT, REPLICATE = "weight", "rep_"


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """Made-up people.

    Attributes
    ----------
    release : Release
        What they were made from.
    law : Law
    points : array of int (rows, columns)
        The point of the law that each row stands for.
    columns : dict of str to array
        The columns, without weights.
    weights : array (rows, replicates)
        Replicate weights, in people; of no columns without them.
    per_row : float
        People for whom a row stands.
    kind : str
        Of table, as the release has it.
    copies : int

    Examples
    --------
    >>> import pandas as pd, versadp as vdp
    >>> schema = vdp.Schema({"region": vdp.Categorical(["north", "south"])})
    >>> release = vdp.calibrate(schema, epsilon=8).release(pd.DataFrame({"region": ["north"] * 900 + ["south"] * 300}))
    >>> people = release.people(replicates=0)
    >>> bool(abs((people.frame["region"] == "north").sum() - 900) < 30)
    True
    """

    release: Release
    law: Law
    points: NDArray[np.int32]
    columns: dict[str, pa.Array]
    weights: Array
    per_row: float
    kind: Kind
    copies: int

    @classmethod
    def of(
        cls,
        release: Release,
        rows: int | None = None,
        *,
        replicates: int = 0,
        copies: int = 1,
        columns: Sequence[str] | None = None,
        random_state: int = 0,
        engine: str | Engine = "auto",
    ) -> People:
        """Return made-up people whose law is that of a release; see `Release.people`."""
        count = min(len(release), MOST_ROWS) if rows is None else inputs.whole("rows", rows, 1)
        times = inputs.whole("copies", copies, 1)
        repeats = inputs.whole("replicates", replicates, 0)
        names = _chosen(release, columns)
        rng = np.random.default_rng(inputs.whole("random_state", random_state, 0))
        axes, wide = read_axes(release, names, engine)
        if wide or has_totals(release, names) or release.mechanism.schema.rows_per_person > 1:
            repeats = 0  # whether they would cover is not known (docs/guides/people.md)
        repeated = record_weights(len(release), repeats, rng)
        with bar("law of the people") as tell:
            if wide:
                law = estimate_wide_law(release, axes, rng, engine, tell=tell)
            else:
                law = estimate_law(release, axes, rng, engine, tell=tell, repeated=repeated)
        drawn = draw_points(law, -(-count // times), rng)
        cells = {axis.name: _column(axis, drawn[:, j], rng) for j, axis in enumerate(axes)}
        per_row = len(release) / (len(drawn) * times)
        weights = np.zeros((len(drawn), 0))
        if repeats:
            with bar("replicate weights") as tell:
                weights = replicate_weights(law, drawn, repeated, tell) * per_row
        if times > 1:
            again = np.repeat(np.arange(len(drawn)), times)
            drawn, weights = drawn[again], weights[again]
            cells = {name: values.take(pa.array(again)) for name, values in cells.items()}
        kind: Kind = (
            "arrow" if release.on_disk else read_table(release.head(1), release.mechanism.schema, released=True).kind
        )
        return cls(release, law, drawn, cells, weights, per_row, kind, times)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        count = self.weights.shape[1]
        more = f", {count} replicate weights" if count else ""
        return f"<People: {len(self)} made-up rows, {len(self.columns)} columns{more}>"

    @property
    def frame(self) -> Any:
        """The table: columns of the release, then `weight` and `rep_1`, `rep_2`, ... if there are replicate weights."""
        return build_frame(self._all(), self.kind)

    def _all(self) -> dict[str, Any]:
        count = self.weights.shape[1]
        if not count:
            return dict(self.columns)
        weights = {WEIGHT: np.full(len(self), self.per_row)}
        weights |= {f"{REPLICATE}{b + 1}": self.weights[:, b] for b in range(count)}
        return self.columns | weights

    def to_arrow(self) -> pa.Table:
        """Return the table as a pyarrow.Table."""
        return build_frame(self._all(), "arrow")

    def to_pandas(self) -> Any:
        """Return the table as a pandas.DataFrame."""
        return build_frame(self._all(), "pandas")

    def to_polars(self) -> Any:
        """Return the table as a polars.DataFrame."""
        return build_frame(self._all(), "polars")

    @property
    def description(self) -> str:
        """Description of the table: its law, its uses, and their limits."""
        return describe_people(self)

    def save(self, path: str | Path) -> None:
        """Write the table to a new `.parquet` or `.csv` file, and its description to a text file beside it."""
        target = Path(path)
        if target.suffix not in {".parquet", ".csv"}:
            raise ParameterError(
                f"people are not written to {target.suffix or 'a file without an ending'!r}", hint=".parquet or .csv"
            )
        beside = target.with_suffix(".txt")
        for each in (target, beside):
            if each.exists():
                raise ParameterError(f"{str(each)!r} exists already", hint="choose another name, or remove it")
        table = self.to_arrow()
        if target.suffix == ".csv":
            from pyarrow import csv

            csv.write_csv(table, target)
        else:
            import pyarrow.parquet as pq

            facts = {b"versadp.people": self.description.encode()}
            pq.write_table(table.replace_schema_metadata(facts), target, compression="zstd")
        beside.write_text(self.description + "\n", encoding="utf-8")

    def check(self, formula: str, loss: Any = "squared") -> Check:
        """Fit a model to the release and to the made-up people, and say where the table smooths an answer away.

        Parameters
        ----------
        formula : str
        loss : str or loss
            As for `fit`.
        """
        from versadp.people.check import check

        return check(self, formula, loss)


def _chosen(release: Release, columns: Sequence[str] | None) -> list[str]:
    """Return the columns of the table, as the schema orders them."""
    known = list(release.mechanism.schema.columns)
    for name in columns or ():
        if name not in known:
            raise NoSuchName(f"the release has no column {name!r}", hint=near(name, known))
    wanted = known if columns is None else [name for name in known if name in columns]
    if not wanted:
        raise ParameterError("people have at least one column", hint=f"choose from {', '.join(known)}")
    taken = [name for name in wanted if name == WEIGHT or name.startswith(REPLICATE)]
    if taken:
        raise ParameterError(
            f"{taken[0]!r} is the name of a weight in the table", hint="rename the column, or leave it out"
        )
    return wanted


def read_axes(release: Release, names: Sequence[str], engine: str | Engine) -> tuple[tuple[Axis, ...], bool]:
    """Return the columns of a law, and whether they are too many for one lattice."""
    schema = release.mechanism.schema
    home = {name: block for block in release.mechanism.blocks for name in block.columns}
    for name in names:
        if name in home and ((lattice := home[name].lattice(name)) is None or not lattice.is_small):
            raise ParameterError(
                f"the noise of {name!r} ({home[name].spec.name}) has no lattice on which people could be counted",
                hint="people are made of windows and randomised response; leave the column out with columns=[...]",
            )
    public = [name for name in names if isinstance(schema.columns[name], Public)]
    values = distinct_values(release, public, engine)
    for name, known in values.items():
        if known is None or not 0 < len(known) <= MOST_LEVELS:
            raise ParameterError(
                f"public column {name!r} has more than {MOST_LEVELS} values, and is no category",
                hint="leave it out with columns=[...]; it is public, and can be joined to no made-up person",
            )

    def made(most: int) -> tuple[Axis, ...]:
        found = []
        for name in names:
            lattice = home[name].lattice(name) if name in home else None
            points = 0 if lattice is None else lattice.last + 1
            own = points if points <= NATURAL else FINE
            found.append(make_axis(name, schema.columns[name], lattice, min(own, most), values.get(name) or ()))
        return tuple(found)

    for most in (NATURAL, FINE, 48, 32, 24, FEWEST):
        axes = made(most)
        if np.prod([float(axis.size) for axis in axes]) <= CELLS:
            return axes, False
    return made(FINE), True


def _column(axis: Axis, at: NDArray[np.int32], rng: np.random.Generator) -> pa.Array:
    """Return a column of rows: labels, dates, and numbers that are whole where the declared steps are."""
    declared = axis.declared
    if axis.lattice is None:
        return pa.array(list(axis.levels)).take(pa.array(at))
    if isinstance(declared, Categorical):
        codes = np.where(at < axis.known, at, np.nan) if axis.size > axis.known else at
        return to_levels(codes, declared)
    values = values_of(axis, at, rng)
    if isinstance(declared, Dates):
        return to_dates(values, declared)
    assert isinstance(declared, Bounded)
    whole = axis.step > 0 and axis.step % 1 == 0 and declared.lower % 1 == 0
    missing = np.isnan(values)
    if whole:
        return pa.array(np.rint(np.where(missing, 0.0, values)).astype(np.int64), mask=missing)
    return pa.array(values, mask=missing)
