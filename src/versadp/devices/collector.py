"""Collect device reports of one round: taken durably, each once, and released when the round is closed.

    collector = Collector("november", mechanism, round="2026-11", least=8000)
    collector.take(lines)               what became of them: taken, repeated, or why not
    release = collector.close_round()   an ordinary release folder, november/release

What `take` returned for is on the disk. A collector that is killed at any point and opened again goes on with the same
reports, and the same set of reports gives the same release in whatever order they came.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from versadp import inputs
from versadp.devices.closing import Gathered, gather, write_release
from versadp.devices.collection import INTAKE, RELEASE, SCRATCH, Closed, Settings, open_folder
from versadp.devices.intake import CLOSING, REPORTS, Intake, erase, pack, unpack
from versadp.devices.reports import LATE, REPEATED, TAKEN, Expected, parse_reports
from versadp.devices.row_checks import RowChecks, row_keys
from versadp.devices.seen import Seen
from versadp.devices.sources import LINES, read_lines
from versadp.devices.statement import collected_statement, honest_reports, shortened
from versadp.errors import ReleaseError, StateError
from versadp.release.checkpoints import reached
from versadp.release.folder.metadata import Metadata
from versadp.release.path.order import Order
from versadp.release.release import load

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from versadp.release.mechanism import Mechanism
    from versadp.release.release import Release


class Collector:
    """The reports of one round, in a folder of their own.

    Parameters
    ----------
    folder : path
        A new folder, or that of a collection that was begun: then nothing else has to be given.
    mechanism : Mechanism
        What the devices use: of version 4, with windows or randomised response, without an id column.
    round : str
        Name of the round, as the devices' reports say it.
    least : int
        How many reports the smallest group with equal public values must have; fewer are never released.
    honest : int, optional
        How many reports of that group are assumed to be honest and unknown to a reader of the release, for the shuffled
        figure of its guarantee. By default half of them. With 1 no shuffle is claimed.
    rounds : int
        In how many rounds the same people reported, this one included. From 2 on no shuffle is claimed.
    public : mapping of column to kind, optional
        What each public column holds: "number", "text", "truth", or a list of levels. Levels keep groups large.
    context : str
        Name of the collector, if the devices' noise is for it alone.

    Attributes
    ----------
    counts : dict of str to int
        What became of all lines so far.

    Examples
    --------
    >>> import json, tempfile, versadp as vdp
    >>> schema = vdp.Schema({"age": vdp.Bounded(18, 90)})
    >>> mech = vdp.Mechanism(schema, noise={"age": vdp.noise.Window(2, cells=8, window=3)})
    >>> people = [(bytes(range(start, start + 32)), 20 + start) for start in range(40)]  # key and age
    >>> made = [vdp.devices.make_report(mech, {"age": age}, key=key, round="2026-11") for key, age in people]
    >>> lines = [json.dumps(report) for report in made]
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with vdp.devices.Collector(place + "/november", mech, round="2026-11", least=30) as collector:
    ...         print(collector.take([*lines, lines[0], "{}"]))
    ...         release = collector.close_round()
    ...     print(release, release.order.among)
    {'taken': 40, 'repeated': 1, 'not a report': 1}
    <Release: 40 records, 1 column, on disk> 20
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        mechanism: Mechanism | None = None,
        *,
        round: str | None = None,  # noqa: A002 - the word of the report format
        least: int | None = None,
        honest: int | None = None,
        rounds: int = 1,
        public: Mapping[str, Any] | None = None,
        context: str = "",
    ) -> None:
        self.folder = inputs.path(folder, "the folder of a collection")
        given = None
        if mechanism is not None:
            options: dict[str, Any] = {"honest": honest, "rounds": rounds, "public": public, "context": context}
            given = Settings.of(mechanism, round, least, **options)
        self._one_at_a_time = Lock()
        self._intake: Intake | None = None
        self._lock: sqlite3.Connection | None = None
        self._lock, self.settings = open_folder(self.folder, given)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        """Read what is there, and finish a close that was begun."""
        settings = self.settings
        self._checks = RowChecks.of(settings.mechanism, settings.public)
        self._expected = Expected(settings.fingerprint, settings.round, tuple(settings.mechanism.schema.columns))
        self._types, self._seen, self._rows = self._checks.types, Seen(), 0
        self._counts: Counter[str] = Counter()
        self._closed = Closed.read(self.folder)
        if self._closed is not None:
            self._tidy()
            return
        self._intake = Intake(self.folder / INTAKE, settings.key)
        mark = None
        for frame in self._intake.recover():
            if frame.kind == CLOSING:
                mark = json.loads(frame.payload)
                continue
            counts, rows = unpack(frame.payload, self._types)
            self._counts.update(counts)
            self._rows += rows.num_rows
            self._seen.add(row_keys(rows))
        if mark is not None:
            self._finish(mark)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "open"
        return f"<Collector: round {self.settings.round!r}, {state}, {self.counts.get(TAKEN, 0):,} taken>"

    def close(self) -> None:
        """Let go of the folder; the round stays as it is, open or closed."""
        if self._intake is not None:
            self._intake.close()
            self._intake = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    @property
    def is_closed(self) -> bool:
        """True if the round was closed: then nothing more is taken."""
        return self._closed is not None

    @property
    def counts(self) -> dict[str, int]:
        """Counts of all lines by what became of them, those after the close among them."""
        if self._closed is None:
            return dict(self._counts)
        return self._closed.counts | ({LATE: self._closed.late} if self._closed.late else {})

    @property
    def release(self) -> Release | None:
        """The release, if the round was closed."""
        return load(self.folder / RELEASE) if self.is_closed else None

    def take(self, lines: Iterable[bytes | str]) -> dict[str, int]:
        """Take lines of reports; when this returns they are on the disk, or sorted out.

        Parameters
        ----------
        lines : iterable of bytes or str
            One JSON report each.

        Returns
        -------
        dict of str to int
            What became of these lines: "taken", "repeated", or why they were sorted out.
        """
        rest, total = iter(lines), Counter[str]()
        while some := list(islice(rest, LINES)):
            total.update(
                self._commit([line.encode(errors="surrogatepass") if isinstance(line, str) else line for line in some])
            )
        return dict(total)

    def take_file(self, file: str | os.PathLike[str] | BinaryIO) -> dict[str, int]:
        """Take all lines of a file, or of an open one such as ``sys.stdin.buffer``, in bounded memory.

        A file may be read again after a crash: reports that were taken are recognised by their ids.
        """
        total = Counter[str]()
        for lines, too_long in read_lines(file):
            total.update(self._commit(lines, too_long))
        return dict(total)

    def _commit(self, lines: list[bytes], sorted_out: Mapping[str, int] | None = None) -> dict[str, int]:
        """Take some lines in one commit."""
        with self._one_at_a_time:
            if self._closed is not None:
                self._closed.late += len(lines)
                self._closed.write(self.folder)
                return {LATE: len(lines)} if lines else {}
            if self._intake is None:
                raise StateError("the collector was closed", hint="open it again: Collector(folder)")
            parsed = parse_reports(lines, self._expected)
            parsed.counts.update(sorted_out or {})
            rows = self._checks.check(parsed)
            keys = row_keys(rows)
            fresh = self._seen.fresh(keys)
            counts = {TAKEN: int(fresh.sum()), REPEATED: int((~fresh).sum()), **parsed.counts}
            counts = {reason: count for reason, count in counts.items() if count}
            if counts:
                reached("report checked")
                self._intake.append(REPORTS, pack(counts, rows if fresh.all() else rows.filter(pa.array(fresh))))
                self._seen.add(keys[fresh])
                self._counts.update(counts)
                self._rows += counts.get(TAKEN, 0)
            return counts

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all batches that were taken."""
        assert self._intake is not None
        for frame in self._intake.frames():
            if frame.kind == REPORTS:
                yield unpack(frame.payload, self._types)[1]

    # close ----------------------------------------------------------------------------------------------------------

    def close_round(self, *, without_small_groups: bool = False, metadata: Metadata | None = None) -> Release:
        """Release what was collected to ``folder/release``, and forget ids, order of arrival and the intake.

        Parameters
        ----------
        without_small_groups : bool
            Leave out the reports of groups with equal public values that have fewer than are needed: a single forged
            report with public values of its own would otherwise be a group that is too small.
        metadata : Metadata, optional
            What the release says about itself; without a rationale it gets the collector's statement.

        Raises
        ------
        ReleaseError
            There are fewer reports than needed: `least`, or what the mechanism was calibrated for, in the smallest
            group with equal public values. Nothing is changed, and the round stays open.
        """
        with self._one_at_a_time:
            if self._closed is None:
                least = self.settings.needed if without_small_groups else 1
                self._finish(None, metadata or Metadata(), least)
        made = self.release
        assert made is not None
        return made

    def _finish(self, mark: dict[str, Any] | None, metadata: Metadata | None = None, least: int = 1) -> None:
        """Close the round, or go on with a close that was begun: what was announced in the intake decides it."""
        if self._intake is None:
            raise StateError("the collector was closed", hint="open it again: Collector(folder)")
        settings, scratch, place = self.settings, self.folder / SCRATCH, self.folder / RELEASE
        if place.exists() or place.is_symlink():
            mark = _own(place, mark)
        else:
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(mode=0o700)
            self._seen = Seen()  # which takes room
            try:
                least = least if mark is None else mark["least_group"]
                gathered = gather(self._batches, self._rows, settings.mechanism, scratch, least=least)
                mark = mark or self._announced(gathered, metadata or Metadata(), least)
            except BaseException:
                shutil.rmtree(scratch, ignore_errors=True)
                for rows in self._batches():
                    self._seen.add(row_keys(rows))
                raise
            order = Order((mark["among"],))
            said = Metadata.from_dict(mark["metadata"])
            write_release(gathered, settings.mechanism, scratch, place, order=order, metadata=said)
        closed = Closed(mark["counts"], mark["statement"])
        closed.write(self.folder)
        reached("closed")
        self._closed = closed
        self._tidy()

    def _announced(self, gathered: Gathered, metadata: Metadata, least: int) -> dict[str, Any]:
        """Write into the intake that the round is closed, and all that its release says; refuse too few reports."""
        assert self._intake is not None
        settings, needed, smallest, rows = self.settings, self.settings.needed, gathered.smallest, gathered.rows
        if smallest < needed:
            raise ReleaseError(
                f"the smallest group with equal public values has {smallest:,} of {rows:,} reports, and {needed:,} are "
                "needed: nothing was released",
                hint="collect more reports and close the round then, or leave the small groups out: "
                "without_small_groups=True (--without-small-groups); fewer public columns make larger groups",
            )
        counts = Counter(self._counts)
        counts.update(gathered.counts)
        counts[TAKEN] = rows
        statement = collected_statement(settings, smallest, rows)
        said = metadata.begun()
        if said.rationale is None:
            said = replace(said, rationale=shortened(statement))
        mark = {
            "least_group": least,
            "among": 1 if settings.rounds > 1 else honest_reports(smallest, settings.honest),
            "counts": dict(counts),
            "statement": statement,
            "metadata": said.to_dict(),
        }
        self._intake.append(CLOSING, json.dumps(mark, ensure_ascii=False).encode())
        return mark

    def _tidy(self) -> None:
        """Remove what a closed round does not need."""
        if self._intake is not None:
            self._intake.close()
            self._intake = None
        erase(self.folder / INTAKE)
        shutil.rmtree(self.folder / SCRATCH, ignore_errors=True)
        reached("tidied")

    def statement(self) -> str:
        """Return what the reports guarantee against whom; of an open round with the reports so far, or as needed."""
        if self._closed is not None:
            return self._closed.statement
        return collected_statement(self.settings, max(self._rows, self.settings.needed), self._rows)


def _own(place: Path, mark: dict[str, Any] | None) -> dict[str, Any]:
    """Return what was announced of a release that is there already; refuse one that is not of this round."""
    manifest = None if mark is None or place.is_symlink() else load(place).manifest
    if mark is None or manifest is None or manifest.metadata.to_dict() != mark["metadata"]:
        raise StateError(f"{str(place)!r} is there already, and is not of this round", hint="move it elsewhere")
    return mark
