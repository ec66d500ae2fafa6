"""Several rows of one person in a table: which are kept, and how equal ones are told apart.

**A row's number.** Noise is a function of key, id and content, so two rows of one person with the same private values
would get the same noise, and look alike. Such rows are numbered in the order in which they come, from 0 on, and the
number is part of what their noise is keyed by. So the noise of a person's rows depends on which rows there are, and not
on their order: if rows with equal private values change places, they exchange their noise (which shows where public
columns tell them apart), and no row gets noise that was not there before.

**Which rows are kept** of a person who has more than are wanted is decided by the key, the id and the row's place among
the person's rows, and by nothing that stands in it.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from versadp import inputs
from versadp.errors import ParameterError, RowsLeftOutWarning, find_stacklevel
from versadp.noise.mac import Texts, cipher, tags
from versadp.noise.words import mac

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.release.mechanism import Mechanism
    from versadp.release.path.table import Table
    from versadp.schema import Schema

    Numbers = NDArray[np.uint64]

SHIFT = np.uint64(32)  # a row's number stands above the version of its record


def earlier(keys: NDArray[np.generic]) -> Numbers:
    """Return how often each key came before.

    Examples
    --------
    >>> earlier(np.array([7, 3, 7, 7, 3]))
    array([0, 0, 1, 2, 1], dtype=uint64)
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(keys)])
    lengths = np.diff(np.append(starts, len(keys)))
    out = np.empty(len(keys), np.uint64)
    out[order] = np.arange(len(keys)) - np.repeat(starts, lengths)
    return out


def row_versions(mechanism: Mechanism, table: Table, key: bytes) -> Numbers | None:
    """Return what tells equal rows of one person apart, as `Keystream.records` takes it; None if there is no need."""
    if mechanism.schema.rows_per_person == 1 or table.names is None:
        return None
    same = cipher(mac(key, b"equal rows"))
    named = tags(same, mechanism.layout.names(table.names))
    found = tags(same, Texts.rows(mechanism.layout.content(table.private).T, named))
    return np.asarray(earlier(found[:, 0]) << SHIFT)


class Lottery:
    """Decides by a key which rows of a person are kept.

    Examples
    --------
    >>> from versadp.noise.mac import Texts
    >>> lottery = Lottery(bytes(range(32)), b"")
    >>> people, draws = lottery.draw(Texts.of([b"ann", b"ann"]), lambda people: earlier(people))
    >>> bool(people[0] == people[1]), bool(draws[0] == draws[1])
    (True, False)
    """

    def __init__(self, key: bytes, parameters: bytes) -> None:
        self._cipher = cipher(mac(key, b"rows that are kept", parameters))

    def draw(self, names: Texts, places: object) -> tuple[Numbers, Numbers]:
        """Return a tag of each row's person, and a number of the row's own: those with the least are kept.

        `places` is called with the tags and returns each row's place among its person's rows.
        """
        assert callable(places)
        named = tags(self._cipher, names)
        drawn = tags(self._cipher, Texts.rows(named, places(named[:, 0])))
        return named[:, 0].copy(), drawn[:, 0].copy()


def left_out(people: Numbers, draws: Numbers, keep: int) -> NDArray[np.bool_]:
    """Return which rows are left out if `keep` rows of each person are kept.

    Examples
    --------
    >>> left_out(np.array([7, 7, 3], np.uint64), np.array([9, 4, 5], np.uint64), 1)
    array([ True, False, False])
    """
    order = np.lexsort([draws, people])
    out = np.empty(len(people), np.bool_)
    out[order] = earlier(people[order]) >= keep
    return out


def check_keep(keep: int, schema: Schema) -> int:
    """Return the number of rows of a person that are kept, if the schema allows it."""
    keep = inputs.whole("keep_rows", keep, 1)
    if schema.id is None:
        raise ParameterError("keep_rows needs people to have an id", hint='name the column in the schema: id = "..."')
    if keep > schema.rows_per_person:
        raise ParameterError(
            f"keep_rows is {keep}, and the schema allows {schema.rows_per_person} per person",
            hint="keep fewer, or raise rows_per_person, which the guarantee is for",
        )
    return keep


def kept(mechanism: Mechanism, table: Table, key: bytes, keep: int) -> Table:
    """Return a table with a limited number of rows per person; tell the provider how many are left out."""
    assert table.names is not None
    names = mechanism.layout.names(table.names)
    out = left_out(*Lottery(key, mechanism.parameters).draw(names, earlier), check_keep(keep, mechanism.schema))
    warn_left_out(int(out.sum()))
    if not out.any():
        return table
    stay = ~out
    places = pa.array(np.flatnonzero(stay))
    starts = np.column_stack([table.names.starts[:-1], table.names.starts[1:]])[stay]
    texts = Texts.of([table.names.data[start:stop].tobytes() for start, stop in starts.tolist()])
    return replace(
        table,
        rows=int(stay.sum()),
        private={name: values[stay] for name, values in table.private.items()},
        public={name: column.take(places) for name, column in table.public.items()},
        names=texts,
    )


def warn_left_out(count: int) -> None:
    """Tell the provider how many rows were left out."""
    if count:
        warnings.warn(
            f"{count:,} rows were left out, of people with more rows than are kept; the key chose which. This number "
            "is for the provider only: do not publish it.",
            RowsLeftOutWarning,
            stacklevel=find_stacklevel(),
        )
