"""Facts about public columns that a model needs from all records: levels, and the values of a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction.model import finite
from versadp.errors import DataError, ParameterError
from versadp.fitting.source import is_number, public_numbers, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from versadp.formula.design import Design
    from versadp.losses import IndexLoss
    from versadp.release.release import Release

    Array = NDArray[np.float64]


class Known(NamedTuple):
    """Levels and classes in all records: a part may lack a level, or one of two classes.

    Attributes
    ----------
    levels : mapping of str to tuple of str
        Of public columns that hold text.
    response : tuple of float
        Values of a public response of two classes.
    """

    levels: Mapping[str, tuple[str, ...]] = {}
    response: tuple[float, ...] = ()


def public_levels(release: Release, name: str, known: Known = Known()) -> list[str] | None:  # noqa: B008 - as above
    """Return the values of a public column that holds text, over all records; None if it holds numbers."""
    if name not in release.mechanism.schema.public or is_number(release.types.field(name).type):
        return None
    seen: set[Any] = set()
    for handle in release.handles():
        seen |= set(release.read(handle, [name]).column(name).unique().to_pylist())
    if None in seen:
        raise DataError(f"public column {name!r} has missing values", hint="give them a level of their own")
    found = sorted(map(str, seen))
    if name not in known.levels:
        return found
    if not set(found) <= set(known.levels[name]):
        raise DataError(
            f"public column {name!r} has a level that the records before had not", hint="fit all records again"
        )
    return list(known.levels[name])


def public_values(release: Release, name: str, known: Known = Known()) -> list[int] | None:  # noqa: B008 - as above
    """Return the values of a public column of whole numbers, over all records; None if it holds others."""
    if name not in public_numbers(release):
        return None
    seen: set[Any] = set()
    for handle in release.handles():
        seen |= set(release.read(handle, [name]).column(name).unique().to_pylist())
    if any(value is None or value != int(value) for value in seen):
        return None
    found = sorted(map(int, seen))
    before = list(map(int, known.levels.get(name, ())))
    if before and not set(found) <= set(before):
        raise DataError(
            f"public column {name!r} has a value that the records before had not", hint="fit all records again"
        )
    return before or found


def response_coding(
    release: Release,
    design: Design,
    loss: IndexLoss,
    known: Known = Known(),  # noqa: B008 - as above
) -> Callable[[Array], Array]:
    """Return the map of a public response to what the loss needs, fixed by all records and not by some."""
    if loss.classes is None:
        return loss.coding()
    return loss.coding(np.array(sorted({*response_values(release, design), *known.response})))


def response_values(release: Release, design: Design) -> set[float]:
    """Return the values that a public response has."""
    import pyarrow as pa

    seen: set[float] = set()
    for handle in release.handles():
        table = release.read(handle, list(design.left.columns))
        response = design.response_at({name: values_of(table.column(name)) for name in design.left.columns})
        seen |= set(pa.array(finite(response)).unique().to_pylist())
    return seen


def public_columns(release: Release, design: Design) -> tuple[str, ...]:
    """Return the public columns that a formula uses; they must hold numbers."""
    used = tuple(name for name in design.used if name in release.mechanism.schema.public)
    numbers = public_numbers(release)
    for name in used:
        if name not in numbers and name not in {*design.terms.texts, *design.left.texts, design.classes}:
            raise ParameterError(f"public column {name!r} holds text", hint=f"write C({name}) for its levels")
    return used
