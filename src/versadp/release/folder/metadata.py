"""Metadata of a release: who publishes it, when, why, and about whom; all of it public."""

from __future__ import annotations

import datetime as dt
import os
import re
from dataclasses import dataclass, fields, replace
from typing import Any

from versadp.errors import ParameterError

MAX_TEXT = 2_000
MAX_LINE = 300  # of what is shown in one line
PARAGRAPHS = ("purpose", "covers", "rationale")  # these may have several lines
# controls, separators of lines, overrides of the direction of writing, lone surrogates, byte-order marks and
# invisible tags; joiners and direction marks that some scripts need are allowed
_CONTROL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff"
    "\U000e0000-\U000e007f]"
)


@dataclass(frozen=True)
class Metadata:
    """Metadata that a publisher gives beside the guarantee.

    Parameters
    ----------
    title, curator, contact, purpose, covers, rationale : str, optional
        Name of the release; who is responsible for it; where to ask; what it is for; who the people are; why this
        level of privacy was chosen.
    date : str, optional
        The day on which the release was begun (UTC), as YYYY-MM-DD. This and what follows are set by who releases.
    software : str, optional
        Name and version of what made it.
    earlier : int
        Number of releases about the same population that the ledger knew before this one.

    Examples
    --------
    >>> Metadata(title="Births 2021", curator="Statistics office", date="2026-01-31").to_dict()["title"]
    'Births 2021'
    >>> Metadata(date="31/01/2026")
    Traceback (most recent call last):
    versadp.errors.ParameterError: the metadata's date is not a day written as YYYY-MM-DD
    """

    title: str | None = None
    curator: str | None = None
    contact: str | None = None
    purpose: str | None = None
    covers: str | None = None
    rationale: str | None = None
    date: str | None = None
    software: str | None = None
    earlier: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be printed as plain text, and dates that are none."""
        for name in _TEXTS:
            _check_text(name, getattr(self, name))
        if self.date is not None and not _is_day(self.date):
            raise ParameterError("the metadata's date is not a day written as YYYY-MM-DD")
        if type(self.earlier) is not int or not 0 <= self.earlier < 2**31:
            raise ParameterError("the metadata's number of earlier releases is not a whole number of at least 0")

    def begun(self, earlier: int = 0) -> Metadata:
        """Return the same texts with the software and the date of now."""
        from versadp import __version__

        return replace(self, date=_today(), software=f"versadp {__version__}", earlier=earlier)

    def says(self, other: Metadata) -> bool:
        """Return whether another one has the same texts of the publisher."""
        return all(getattr(self, name) == getattr(other, name) for name in SAID)

    def to_dict(self) -> dict[str, Any]:
        """Return plain text and numbers, all fields in order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, data: Any) -> Metadata:
        """Read what `to_dict` wrote, and refuse anything else."""
        if not isinstance(data, dict) or set(data) != {field.name for field in fields(cls)}:
            raise ParameterError("the metadata has other fields than it should have")
        return cls(**data)


SAID = ("title", "curator", "contact", "purpose", "covers", "rationale")
_TEXTS = (*SAID, "date", "software")


def _check_text(name: str, text: Any) -> None:
    if text is None:
        return
    most = MAX_TEXT if name in PARAGRAPHS else MAX_LINE
    broken = not isinstance(text, str) or (name not in PARAGRAPHS and "\n" in text)
    if broken or not text.strip() or len(text) > most or _CONTROL.search(text):
        form = "text" if name in PARAGRAPHS else "one line of text"
        raise ParameterError(
            f"the metadata's {name} must be {form} of at most {most:,} characters without control characters",
            hint="leave it out if there is nothing to say",
        )


def _today() -> str:
    """Return the day (UTC), or that of `SOURCE_DATE_EPOCH`, by which builds are made to repeat."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if re.fullmatch(r"[0-9]{1,11}", epoch):
        return dt.datetime.fromtimestamp(int(epoch), dt.UTC).date().isoformat()
    return dt.datetime.now(dt.UTC).date().isoformat()


def _is_day(text: str) -> bool:
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


NOTHING_SAID = Metadata()
