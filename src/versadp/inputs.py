"""Checks of arguments: numbers, whole numbers, rates; all else is refused with what is allowed.

And files that somebody else wrote: ordinary ones of a bounded size, and JSON whose numbers are numbers.
"""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from versadp.errors import ParameterError, near

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from versadp.errors import VersadpError

Array = NDArray[np.float64]


def number(
    name: str,
    value: Any,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    open_high: bool = False,
    error: type[VersadpError] = ParameterError,
    hint: str | None = None,
) -> float:
    """Return a real number of the interval as a float, or raise.

    Parameters
    ----------
    name : str
        What the message calls it.
    value : object
        What the caller gave.
    low, high : float
        Ends of what is allowed.
    open_low, open_high : bool
        Whether the ends themselves are refused.
    error : type of VersadpError
        What is raised.
    hint : str, optional
        What to do about it.

    Returns
    -------
    float

    Examples
    --------
    >>> number("exact_rate", 0.2, 0, 1, open_high=True)
    0.2
    >>> number("exact_rate", True, 0, 1)
    Traceback (most recent call last):
    versadp.errors.ParameterError: exact_rate must be a number in [0, 1], not True
    """
    values = array(name, value, low, high, open_low=open_low, open_high=open_high, error=error, hint=hint)
    if values.ndim:
        raise error(f"{name} must be a single number, not an array", hint=hint)
    return float(values)


def array(
    name: str,
    value: ArrayLike,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    open_high: bool = False,
    error: type[VersadpError] = ParameterError,
    hint: str | None = None,
) -> Array:
    """Return an array of real numbers of the interval, or raise; the arguments are those of `number`.

    Parameters
    ----------
    name : str
        What the message calls it.
    value : array_like
        What the caller gave.
    low, high, open_low, open_high, error, hint
        As for `number`.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> array("alpha", [0, 0.5], 0, 1)
    array([0. , 0.5])
    """
    interval = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    if np.isinf(low) and np.isinf(high):
        interval = "any, but not NaN" if not (open_low or open_high) else interval
    complaint = f"{name} must be a number in {interval}, not "
    if interval.startswith("any"):
        complaint = f"{name} must be a number, not "
    try:
        raw = np.asarray(value)
    except ValueError:  # lists of several lengths
        raise error(complaint + "a list of lists of several lengths", hint=hint) from None
    if raw.dtype.kind not in "iuf":
        raise error(complaint + (repr(value) if raw.ndim == 0 else f"an array of {raw.dtype}"), hint=hint)
    values = raw.astype(np.float64)
    bad = np.isnan(values)
    bad |= (values <= low) if open_low else (values < low)
    bad |= (values >= high) if open_high else (values > high)
    if bad.any():
        shown = repr(value) if raw.ndim == 0 else f"{int(bad.sum())} of {bad.size} values"
        raise error(complaint + shown, hint=hint)
    return values


def whole(
    name: str, value: Any, low: int, *, error: type[VersadpError] = ParameterError, hint: str | None = None
) -> int:
    """Return a whole number of at least `low`, or raise.

    Parameters
    ----------
    name : str
        What the message calls it.
    value : object
        What the caller gave; 3.0 is no whole number here, nor is True.
    low : int
        The least that is allowed.
    error, hint
        As for `number`.

    Returns
    -------
    int

    Examples
    --------
    >>> whole("dim", 3, 1)
    3
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < low:
        raise error(f"{name} must be a whole number of at least {low}, not {value!r}", hint=hint)
    return int(value)


def choice(name: str, value: Any, known: Iterable[str]) -> str:
    """Return a text that is one of some, or raise with the nearest.

    Examples
    --------
    >>> choice("kind", "wald", ("wald", "score"))
    'wald'
    >>> choice("kind", ["wald"], ("wald", "score"))
    Traceback (most recent call last):
    versadp.errors.ParameterError: kind must be one of wald, score, not a list
      hint: give one of them as text
    """
    every = tuple(known)
    if not isinstance(value, str):
        raise ParameterError(
            f"{name} must be one of {', '.join(every)}, not a {type(value).__name__}", hint="give one of them as text"
        )
    if value not in every:
        raise ParameterError(f"there is no {name} {value!r}", hint=near(value, every))
    return value


def names(name: str, value: Any) -> list[str]:
    """Return names of columns as a list: of a list, a tuple, an index or an array of text.

    Examples
    --------
    >>> names("columns", ("age", "income"))
    ['age', 'income']
    """
    try:
        found = [None] if isinstance(value, str) else list(value)
    except TypeError:
        found = [None]
    if not all(isinstance(each, str) for each in found):
        raise ParameterError(f"{name} must be a list of names", hint=f'e.g. {name}=["age", "income"]')
    return list(map(str, found))


def random_state(value: Any) -> np.random.Generator:
    """Return a generator from a seed, a generator, or None.

    Examples
    --------
    >>> int(random_state(1).integers(10)) == int(random_state(1).integers(10))
    True
    """
    try:
        return np.random.default_rng(value)
    except (TypeError, ValueError):
        raise ParameterError(
            f"random_state must be a whole number of at least 0 or a Generator, not a {type(value).__name__}",
            hint="e.g. random_state=0",
        ) from None


def is_encodable(value: str) -> bool:
    r"""Return True if text can be written as UTF-8, which half of a surrogate pair cannot.

    Examples
    --------
    >>> is_encodable("é"), is_encodable("\ud800")
    (True, False)
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def file_bytes(path: str | Path, most: int) -> bytes:
    """Return the bytes of an ordinary file up to a size; a pipe, a device or a larger file is an OSError, at once.

    Examples
    --------
    >>> file_bytes("/dev/zero", 100)
    Traceback (most recent call last):
    OSError: not an ordinary file of at most 100 bytes
    """
    # a pipe without a writer would wait for ever, so it is opened without waiting and then looked at
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        data = file.read(most + 1) if stat.S_ISREG(found.st_mode) and found.st_size <= most else None
    if data is None or len(data) > most:
        raise OSError(f"not an ordinary file of at most {most} bytes")
    return data


def path(given: Any, what: str) -> Path:
    """Return a path, or say what of.

    Examples
    --------
    >>> path(3, "the folder of a release")
    Traceback (most recent call last):
    versadp.errors.ParameterError: int is no path
      hint: give the folder of a release
    """
    from pathlib import Path

    if not isinstance(given, str | os.PathLike):
        raise ParameterError(f"{type(given).__name__} is no path", hint=f"give {what}")
    store, mark, _ = str(given).partition("://")
    if mark and store.isalnum():
        raise ParameterError(
            f"{store}:// is no folder of this machine",
            hint="releases and data are read from folders and from s3:// addresses, others are copied here first; "
            "a release is made in a folder, and vdp.load(folder).save('s3://...') puts it into a store",
        )
    return Path(given)


def json_value(data: str | bytes) -> Any:
    """Read JSON whose numbers are all finite: NaN, Infinity and 1e999 are a ValueError, as is what nests too deep.

    Examples
    --------
    >>> json_value('{"epsilon": 1e999}')
    Traceback (most recent call last):
    ValueError: not finite
    """
    try:
        return json.loads(data, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _finite(text: str) -> float:
    value = float(text)
    if not np.isfinite(value):
        raise ValueError("not finite")
    return value
