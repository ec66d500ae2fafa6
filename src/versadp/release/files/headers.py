"""Detection of headers: the first line of a text file has the names of its columns, or is a person's record.

A name is told from a value by its kind. Firm evidence of a header is one column whose name is a word while all values
below it are numbers, dates or addresses. Without it a first line is doubted if one of its cells is spelled like a value
or equals a value below it, or if no column tells the two apart. Only counts leave this module, never a cell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")
_ISO_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([t ]\d{2}:\d{2}.*)?")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_WORDED_DATE = re.compile(rf"\d{{1,2}}[\s./-]*{_MONTH}[\s.,/-]*\d{{2,4}}|{_MONTH}[\s./-]*\d{{1,2}}[\s.,/-]+\d{{2,4}}")
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}")
_MARKERS = {"na", "n/a", "nan", "null", "none", "nil", "inf", "-inf", "infinity", "missing", "true", "false"}


def is_iso_date(text: str) -> bool:
    """Return True if a text is a date as in 1990-01-31, perhaps with a time."""
    return _ISO_DATE.fullmatch(text.strip().lower()) is not None


def looks_like_value(cell: str) -> bool:
    """Return True if a cell is spelled like a value: a number, a date, true or false, missing, an address.

    Examples
    --------
    >>> [looks_like_value(cell) for cell in ("1.5", "31/12/1990", "12 Jan 1990", "NA", "", "a@b.org")]
    [True, True, True, True, True, True]
    >>> [looks_like_value(cell) for cell in ("age", "q1", "income_2019", "Größe", "年齢")]
    [False, False, False, False, False]
    """
    text = cell.strip().lower()
    if not any(character.isalpha() for character in text) or text in _MARKERS or "@" in text:
        return True
    return any(each.fullmatch(text) for each in (_NUMBER, _ISO_DATE, _WORDED_DATE, _UUID))


def header_doubts(first: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    """Return why the first line of a text file may be a record and no header, or None; no cell is shown.

    Parameters
    ----------
    first : sequence of str
        The cells of the first line.
    rows : sequence of sequences of str
        Lines below it.

    Examples
    --------
    >>> header_doubts(["age", "region"], [["41", "n"], ["52", "e"]]) is None
    True
    >>> header_doubts(["country", "people", "2019", "2020"], [["A", "7", "1", "2"], ["B", "8", "3", "4"]]) is None
    True
    >>> header_doubts(["41", "n"], [["52", "e"]])
    '1 of its 2 cells is a number, a date, an address or empty'
    """
    columns = [[row[at].strip() for row in rows if at < len(row) and row[at].strip()] for at in range(len(first))]
    if any(map(_is_word_above_values, first, columns)):
        return None
    like = sum(map(looks_like_value, first))
    if like:
        return f"{like} of its {len(first)} cells {_is(like)} a number, a date, an address or empty"
    again = sum(cell.strip() in values for cell, values in zip(first, columns, strict=True))
    if again:
        return f"{again} of its {len(first)} cells {_is(again)} also a value further down in the same column"
    if any(columns) and not any(map(_is_none_of_the_levels, first, columns)):
        return "none of its cells differs in kind from the values below it"
    return None


def _is_word_above_values(cell: str, values: list[str]) -> bool:
    return bool(values) and not looks_like_value(cell) and all(map(looks_like_value, values))


def _is_none_of_the_levels(cell: str, values: list[str]) -> bool:
    """Return True if values repeat, as levels do: the first one would be among them, and the cell is not."""
    if any(map(str.isdigit, cell)) and _shape(cell) in set(map(_shape, values)):
        return False
    return bool(values) and 2 * len(set(values)) <= len(values)


def _shape(text: str) -> str:
    """Return a text with every letter as a and every digit as 9."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", text))


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
