"""A release: noised records and the mechanism that made them, in memory or in a folder.

Everything that an analyst does starts here, costs no privacy, and can be done as often as wanted.
"""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.errors import NoSuchName, ParameterError, near
from versadp.noise import How, as_extension
from versadp.release.augment import signed_sample
from versadp.release.frame import LOT_ROWS, Frame
from versadp.release.path.order import KEPT, Order, in_order, order_of
from versadp.release.path.table import Table, build_frame, read_table, released_columns
from versadp.release.totals.wording import warn_alone

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.noise import Block, Extension
    from versadp.people.people import People
    from versadp.privacy import PrivacyProfile
    from versadp.release.folder.editions import Edition
    from versadp.release.folder.folder import Folder, Handle
    from versadp.release.folder.manifest import Manifest
    from versadp.release.folder.metadata import Metadata
    from versadp.release.mechanism import Mechanism
    from versadp.release.totals.sheet import Totals


class Release:
    """Released records, made by `Mechanism.release`, `Release.from_frame` or `load`.

    Attributes
    ----------
    mechanism : Mechanism
        What made it.
    insecure : bool
        True if the noise came from a seed: for research only.
    order : Order
        Whether the rows are in an order that tells nothing, and how many hide one another.
    manifest : Manifest, optional
        What stands beside the records in their folder, if they were loaded.
    other_editions : tuple of Edition
        All other editions of the same folder, earlier and later ones: they hold the same people.
    totals_by_batch : tuple of Totals
        Noisy totals of each batch of people who were released together; empty if there are none. Some of the records
        have none: totals are of all people.

    Examples
    --------
    >>> import pandas as pd, versadp as vdp
    >>> schema = vdp.Schema({"age": vdp.Bounded(18, 90)})
    >>> release = vdp.Mechanism(schema, scale=0.25, exact_rate=0.2).release(pd.DataFrame({"age": [30, 41, 77]}))
    >>> release
    <Release: 3 records, 1 column, pandas>
    >>> list(release.frame.columns)
    ['age']
    """

    def __init__(
        self,
        source: Any,
        mechanism: Mechanism,
        *,
        insecure: bool = False,
        order: Order = KEPT,
        manifest: Manifest | None = None,
        other_editions: Sequence[Edition] | None = None,
        totals: Sequence[Totals | None] | None = None,
    ) -> None:
        self._source: Frame | Folder = source if hasattr(source, "read_handle") else Frame(source)
        self._folder = source if hasattr(source, "storage") else None
        self.mechanism = mechanism
        self.insecure = insecure
        self.order = order
        self.manifest = manifest
        earlier = () if manifest is None else manifest.earlier
        self.other_editions = earlier if other_editions is None else tuple(other_editions)
        self.totals_by_batch = () if totals is None else tuple(totals)

    def with_source(self, source: Any) -> Release:
        """Return a release with the same facts whose records are read elsewhere, all of them or some.

        Totals are of all people: some of them have none.
        """
        rows = source.rows if hasattr(source, "read_handle") else Frame(source).rows
        return Release(
            source,
            self.mechanism,
            insecure=self.insecure,
            order=self.order,
            manifest=self.manifest,
            other_editions=self.other_editions,
            totals=self.totals_by_batch if rows == len(self) else None,
        )

    @classmethod
    def from_frame(
        cls, frame: Any, mechanism: Mechanism, *, on_grid: bool | None = None, shuffle: bool = False
    ) -> Release:
        """Make a release from records that were noised elsewhere: collected from devices, or a researcher's own X1.

        Parameters
        ----------
        frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            Every column of the schema.
        mechanism : Mechanism
            What made the noise.
        on_grid : bool, optional
            True refuses every numeric value that is not on the mechanism's grid; False does not look. By default
            values off the grid are accepted if their spread could come from the mechanism (a researcher's own noise)
            and refused if it could not (a column that was scaled after release). Unless False, columns without the
            noise are refused too, and rows selected by released values: outputs that noise gives to anybody are too
            rare there. A table with the stated noise is refused with probability at most 1e-9 per block. Few records,
            or raw data that lack none of the outputs, cannot be told from a release.
        shuffle : bool
            Sort the rows by a public hash, so that from here on their order tells nothing. Nothing is claimed of those
            who saw them before, and no shuffle is claimed by default. A mechanism that was calibrated for a shuffle
            refuses fewer records than it was calibrated for. Without a shuffle it claims the guarantee of one record's
            own noise only.
        """
        if not hasattr(mechanism, "blocks"):
            raise ParameterError(
                f"the mechanism that made the noise is needed, and {type(mechanism).__name__} is none",
                hint="vdp.Mechanism(schema, ...), or vdp.calibrate(schema, epsilon=...)",
            )
        if mechanism.totals is not None:
            raise ParameterError(
                "records that were noised elsewhere have no totals, and the mechanism promises some",
                hint="vdp.calibrate(..., totals=False), or mech.without_totals(), which states what holds of records",
            )
        table = read_table(frame, mechanism.released_schema, released=True)
        if on_grid is not False:
            for block in mechanism.blocks:
                block.refuse_changed(_values(table, block), strict=on_grid is True)
        columns = released_columns(table.private, table.public, mechanism.released_schema)
        if not shuffle:
            return cls(build_frame(columns, table.kind), mechanism)
        order = order_of(table.shown(mechanism.schema), table.rows)
        order.check(mechanism)
        return cls(build_frame(in_order(columns), table.kind), mechanism, order=order)

    @property
    def frame(self) -> Any:
        """The released records; a pyarrow.Table if the release was loaded from a folder."""
        if not isinstance(self._source, Frame):
            self._source = Frame(self._source.read())
        return self._source.read()

    def __len__(self) -> int:
        return self._source.rows

    def __repr__(self) -> str:
        columns = len(self.mechanism.schema.columns)
        stamp = f", edition {self.edition}" if self.other_editions else ""
        stamp += ", INSECURE (seeded)" if self.insecure else ""
        return f"<Release: {len(self)} records, {columns} column{'s' * (columns != 1)}, {self._source.where}{stamp}>"

    @property
    def on_disk(self) -> bool:
        """True if its handles can be read wherever its folder is seen; else its records are in memory."""
        return self._source.travels

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, as they were released."""
        return tuple(self.types.names)

    def head(self, n: int = 5) -> Any:
        """Return the first records, as a table of the kind that the release has; a folder gives a pyarrow.Table.

        Examples
        --------
        >>> import pandas as pd, versadp as vdp
        >>> schema = vdp.Schema({"age": vdp.Bounded(18, 90)})
        >>> release = vdp.Mechanism(schema, scale=0.25, exact_rate=0.2).release(pd.DataFrame({"age": [30, 41, 77]}))
        >>> len(release.head(2))
        2
        """
        import pyarrow as pa

        rows, parts, left = inputs.whole("n", n, 0), [], n
        if isinstance(self._source, Frame):
            table = self._source.read()
            return table.slice(0, rows) if isinstance(table, pa.Table) else table.head(rows)
        for handle in self.handles():
            if left <= 0:
                break
            parts.append(self.read(handle).slice(0, left))
            left -= len(parts[-1])
        return pa.concat_tables(parts) if parts else self.types.empty_table()

    def __getitem__(self, name: str | list[str]) -> Any:
        """Return a column as it was released, or a table of some: noisy ones still have their noise."""
        names = name if isinstance(name, list) else [name]
        for each in names:
            if each not in self.columns:
                raise NoSuchName(f"the release has no column {each!r}", hint=near(each, self.columns))
        frame = self.frame
        if not isinstance(name, list):
            return frame[name]
        return frame.select(name) if hasattr(frame, "select") and not hasattr(frame, "iloc") else frame[name]

    def __iter__(self) -> Iterator[str]:
        """Names of the columns, as those of a table."""
        return iter(self.columns)

    def _repr_html_(self) -> str:
        rows = self.head(5)
        rows = (
            rows.to_pylist()
            if hasattr(rows, "to_pylist")
            else rows.to_dict("records")
            if hasattr(rows, "iloc")
            else rows.to_dicts()
        )
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_short(row[c]))}</td>" for c in self.columns) + "</tr>" for row in rows
        )
        more = f"<p>{len(self):,} records, the first {len(rows)} shown; noisy columns as they were released.</p>"
        first = self.statement().splitlines()[0]
        return (
            f"<div><h4>{escape(repr(self).strip('<>'))}</h4><p>{escape(first)}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"
        )

    def to_arrow(self) -> pa.Table:
        """Return the records as a pyarrow.Table."""
        import narwhals as nw

        return nw.from_native(self.frame, eager_only=True).to_arrow()

    def to_pandas(self) -> Any:
        """Return the records as a pandas.DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the records as a polars.DataFrame."""
        import polars as pl

        return pl.from_arrow(self.to_arrow())

    @property
    def totals(self) -> Totals | None:
        """Noisy totals of all people; None if there are none, or one sheet per batch (`totals_by_batch`)."""
        return self.totals_by_batch[0] if len(self.totals_by_batch) == 1 else None

    def privacy(self, unit: str | None = None) -> PrivacyProfile:
        """Return what the release guarantees for a person, for a whole record, or for one attribute.

        By default for a record, or for a person where the schema allows several rows per person.

        In an order that tells nothing a record hides among those with equal public values: that is counted in, and so
        are all other editions of the same folder.
        """
        from versadp.release.folder.editions import composed

        return composed(self.mechanism.privacy(unit, shuffled=self.order.among), self.other_editions, unit)

    @property
    def edition(self) -> int:
        """Number of the edition: 1 unless the same people were released before in the same folder."""
        return 1 if self.manifest is None else self.manifest.edition

    @property
    def metadata(self) -> Metadata:
        """Metadata that the publisher gave."""
        from versadp.release.folder.metadata import NOTHING_SAID

        return NOTHING_SAID if self.manifest is None else self.manifest.metadata

    def statement(self) -> str:
        """Return the guarantee in words: of these records, in the order in which they are.

        Examples
        --------
        >>> import pandas as pd, versadp as vdp
        >>> mech = vdp.calibrate(vdp.Schema({"age": vdp.Bounded(18, 90)}), epsilon=2)
        >>> release = mech.release(pd.DataFrame({"age": [*range(18, 91)] * 2}))
        >>> print(release.statement().splitlines()[0])
        With probability 62.6% (about 91 of 146) a record shows the truth up to a window: age within ±12.8.
        """
        from versadp.release.target.statement import privacy_statement

        return privacy_statement(
            self.mechanism, len(self), self.order, others=self.other_editions, edition=self.edition
        )

    def batches(self, rows: int = LOT_ROWS) -> Iterator[pa.RecordBatch]:
        """Yield the records as arrow batches; a release on disk is never in memory as a whole."""
        yield from self._source.batches(rows)

    @property
    def types(self) -> pa.Schema:
        """Names and types of the columns; no record is read for it."""
        return self._source.types

    def handles(self) -> tuple[Handle, ...]:
        """Return small handles, each for some of the records, in order; `read` reads one where it is worked on."""
        return self._source.handles()

    def read(self, handle: Handle, columns: list[str] | None = None) -> pa.Table:
        """Return the records of a handle: all columns, or those that are named."""
        return self._source.read_handle(handle, columns)

    def second(self, random_state: int | np.random.Generator | None = None) -> Any:
        """Return the second randomisation (the paper's Algorithm 1, step 2): numeric columns with noise added again.

        Categories and public columns are as released: they are blocks of their own, and `augment` multiplies the
        inverses of several blocks.

        Parameters
        ----------
        random_state : int, Generator or None
            Source of the draws; an analyst's draws need not be secret.
        """
        table, rng = self._table(), inputs.random_state(random_state)
        drawn = {block.columns: block.second(_values(table, block), rng) for block in self.mechanism.blocks}
        again = {
            name: values
            for names, second in drawn.items()
            if second is not None
            for name, values in zip(names, second, strict=True)
        }
        if not again:
            raise ParameterError("no numeric column has noise that can be added again", hint="use augment")
        columns = released_columns(table.private | again, table.public, self.mechanism.released_schema)
        return build_frame(columns, table.kind)

    def augment(
        self,
        draws: int = 20,
        extension: str | Extension = "zero",
        *,
        columns: list[str] | None = None,
        return_record: bool = False,
        random_state: int | np.random.Generator | None = None,
    ) -> tuple[Any, ...]:
        """Return a signed sample that stands for the true records: for learners that take negative weights.

        For every function g of the columns, the weighted sum of g over a record's rows has expectation g at the true
        record. Rows of weight 0 are left out. A missing value is a null here too: rows without nulls stand for the
        records without.

        Parameters
        ----------
        draws : int
            Second randomisations of each record's numeric block.
        extension : {"none", "zero", "clip", "damped"} or Extension
            What g is taken to be outside the domain.
        columns : list of str, optional
            The columns of the analysis; others are left out, and blocks that it does not touch are not corrected,
            which saves rows and variance. The extension always looks at the whole numeric block.
        return_record : bool
            Also return the number of the record that each row belongs to: standard errors must sum over a record's
            rows first.
        random_state : int, Generator or None
            Source of the draws.

        Returns
        -------
        frame, weight : table and array
            And `record` if asked for.

        Examples
        --------
        >>> import pandas as pd, versadp as vdp
        >>> schema = vdp.Schema({"age": vdp.Bounded(18, 90)})
        >>> mech = vdp.Mechanism(schema, scale=0.25, exact_rate=0.2)
        >>> release = mech.release(pd.DataFrame({"age": [41.0] * 20_000}))
        >>> frame, weight = release.augment(draws=5, random_state=0)
        >>> bool(abs((frame["age"] * weight).sum() / 20_000 - 41) < 3)
        True
        """
        warn_alone(self, "a signed sample stands for the records alone")
        how = How(inputs.whole("draws", draws, 1), as_extension(extension))
        table = self._table()
        rng = inputs.random_state(random_state)
        sample = signed_sample(table, self.mechanism, how=how, columns=columns, rng=rng)
        frame = build_frame(sample.columns, table.kind)
        return (frame, sample.weight, sample.record) if return_record else (frame, sample.weight)

    def people(
        self,
        rows: int | None = None,
        *,
        replicates: int = 0,
        copies: int = 1,
        columns: Sequence[str] | None = None,
        random_state: int = 0,
        engine: str | Engine = "auto",
    ) -> People:
        """Return a table of made-up people: rows of equal weight for tools that take no signed ones.

        Their law is estimated from the release: likelihood on a lattice, then a tilt to the release's own unbiased
        estimates. Numbers and dates have at most 128 values, or are spread in 64 cells. It costs no privacy.

        Parameters
        ----------
        rows : int, optional
            By default as many as there are records, at most a million.
        replicates : int
            Replicate weights on the same rows, for standard errors, such as 40. By default there are none: in
            simulations their 95% intervals held most truths in 85 to 98 of 100 releases, and some in 70
            (`docs/guides/people.md`). There are never any with totals, with very many columns, and where people have
            several rows.
        copies : int
            How often each row stands. With 2 none is unique, which is cosmetic.
        columns : sequence of str, optional
            The columns of the table; by default all.
        random_state : int
            Of the draws.
        engine : str or Engine
            Where records are read, as for `fit`.

        Examples
        --------
        >>> import numpy as np, pandas as pd, versadp as vdp
        >>> rng = np.random.default_rng(0)
        >>> age = rng.integers(18, 91, 20_000)
        >>> raw = pd.DataFrame({"age": age, "member": (rng.random(20_000) < age / 100).astype(int)})
        >>> schema = vdp.Schema({"age": vdp.Bounded(18, 90, step=1), "member": vdp.Categorical([0, 1])})
        >>> people = vdp.calibrate(schema, epsilon=6).release(raw).people(replicates=3)
        >>> people
        <People: 20000 made-up rows, 2 columns, 3 replicate weights>
        >>> means = people.frame.groupby("member")["age"].mean() - raw.groupby("member")["age"].mean()
        >>> bool(means.abs().max() < 2)
        True
        """
        import versadp

        return versadp.People.of(
            self, rows, replicates=replicates, copies=copies, columns=columns, random_state=random_state, engine=engine
        )

    def save(self, path: str | Path, *, metadata: Metadata | None = None) -> None:
        """Write the release to a new folder: Parquet parts and a manifest, readable by anyone.

        A release that was loaded is copied as it is, with all editions of its folder. One in memory is written anew,
        perhaps cut into other parts than it was loaded from, by which `vdp.update` does not know its records again
        (`docs/guides/updating.md`).

        An address such as `s3://bucket/folder` puts it into a store. A folder is put there as it is; after records
        were appended to it, or an edition was added, the same call puts what is new (`docs/guides/sources.md`).

        Parameters
        ----------
        path : str or Path
            A new folder, or an address in a store.
        metadata : Metadata, optional
            What stands in the manifest beside the guarantee; date and software are those of now. A release that was
            loaded is copied as it is, and takes none.
        """
        from versadp.release.folder.folder import write_folder
        from versadp.release.folder.manifest import refuse_metadata

        if metadata is not None and self._folder is not None:
            raise ParameterError(
                "a release that was loaded is copied as it is, with its own metadata", hint="leave out metadata"
            )
        refuse_metadata(self.mechanism, metadata)
        write_folder(path, self, self._folder, metadata)

    def _table(self) -> Table:
        return read_table(self.frame, self.mechanism.released_schema, released=True)


def load(
    path: str | os.PathLike[str],
    edition: int | None = None,
    *,
    trusted: str | bytes | os.PathLike[str] | None = None,
) -> Release:
    """Open a release folder, also one in a store (`s3://bucket/folder`); records are read when they are asked for.

    Parameters
    ----------
    path : str or path
        The release folder.
    edition : int, optional
        Which edition, if the same people were released several times; by default the newest. An edition holds each
        person once, with noise of its own; its guarantee is that of all editions together, since all are out.
    trusted : str, bytes or Path, optional
        The public key of who must have signed it: its text (`ed25519:...`), its 32 bytes, or a file with the text. A
        signature that is missing or wrong is a ReleaseError. Without it nothing is claimed of where a release is from.

    Examples
    --------
    >>> import pandas as pd, tempfile, versadp as vdp
    >>> schema = vdp.Schema({"age": vdp.Bounded(18, 90)})
    >>> release = vdp.Mechanism(schema, scale=0.25, exact_rate=0.2).release(pd.DataFrame({"age": [30, 41]}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release.save(folder + "/released")
    ...     vdp.load(folder + "/released")
    <Release: 2 records, 1 column, on disk>
    """
    from versadp.release.folder.edition_folders import open_edition
    from versadp.release.folder.signature import check_signature, read_key

    key = None if trusted is None else read_key(trusted)
    folder, others = open_edition(path, edition)
    manifest = folder.manifest
    if key is not None:
        check_signature(folder.storage, manifest, key)
    return Release(
        folder,
        folder.mechanism,
        insecure=folder.insecure,
        order=manifest.order,
        manifest=manifest,
        other_editions=others,
        totals=folder.totals,
    )


def as_release(given: Any) -> Release:
    """Return a release, opened if a path is given."""
    if isinstance(given, Release):
        return given
    if isinstance(given, str | os.PathLike):
        return load(given)
    if hasattr(given, "columns") or isinstance(given, dict):
        raise ParameterError(
            f"a {type(given).__name__} is no release: nobody knows what noise its columns have",
            hint="load a release with vdp.load(folder); or, for a table that a known mechanism has noised, "
            "vdp.Release.from_frame(table, mechanism); raw data are released with mechanism.release(table)",
        )
    raise ParameterError(
        f"a {type(given).__name__} is no release", hint="give a Release, or the folder of one: vdp.load(folder)"
    )


def _short(value: Any) -> str:
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


def _values(table: Table, block: Block) -> NDArray[np.float64]:
    """Return the released values of a block, (columns, rows)."""
    return np.stack([table.private[name] for name in block.columns]).astype(np.float64, copy=False)
