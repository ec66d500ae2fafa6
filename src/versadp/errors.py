"""Every error and warning that versadp raises.

A message says what is wrong and where, and never shows a private value: it carries column names and counts.
The hint says what to do about it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_SHOWN = 30

_HOME = Path(__file__).parent


class VersadpError(Exception):
    """Base of all errors of versadp.

    Parameters
    ----------
    message : str
        What is wrong, and where.
    hint : str, optional
        What to do about it.

    Examples
    --------
    >>> print(VersadpError("column 'age' has no bounds", hint="declare them: Bounded(18, 90)"))
    column 'age' has no bounds
      hint: declare them: Bounded(18, 90)
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  hint: {self.hint}"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with the hint, so that an error crosses from a worker process whole."""
        return (_rebuild, (type(self), self.message, self.hint))

    @property
    def __context__(self) -> None:  # what others said before it may show private values
        """Nothing: `from None` hides it from readers only, and clusters send it along with the error."""

    @__context__.setter
    def __context__(self, other: BaseException | None) -> None:
        pass


def _rebuild(kind: type[VersadpError], message: str, hint: str | None) -> VersadpError:
    return kind(message, hint=hint)


class SchemaError(VersadpError, ValueError):
    """The schema is not one: bounds, levels or names are wrong."""


class ParameterError(VersadpError, ValueError):
    """A parameter of a mechanism, a privacy guarantee or a call is outside its range."""


class InfeasibleError(ParameterError):
    """No mechanism meets the target; the message names the nearest target that can be met."""


class EstimationError(VersadpError, ValueError):
    """There is no estimate: the fit did not converge, or its covariance is not one."""


class DataError(VersadpError, ValueError):
    """The table does not fit the schema, or holds values that cannot be released."""


class KeyMaterialError(VersadpError, ValueError):
    """A key is missing, short or plainly not random."""


class ReleaseError(VersadpError, ValueError):
    """A release on disk is not what its manifest says, or was changed after it was made."""


class StateError(VersadpError, ValueError):
    """The provider's state (keys and ledger) is missing, in use, was changed or is older than the release."""


class SpentError(VersadpError, ValueError):
    """The people in a table were released before, and releasing them again was not asked for or not paid for."""


class StoreError(VersadpError, RuntimeError):
    """An object store does not answer, answers too slowly, or refuses."""


class EngineError(VersadpError, RuntimeError):
    """A worker is lost, cannot be reached or runs other code."""


class MissingExtraError(VersadpError, ImportError):
    """An optional dependency is not installed."""


class UnavailableError(VersadpError, AttributeError):
    """A result that other libraries have and a release cannot give; the message says why."""

    __str__ = VersadpError.__str__


class NoSuchName(VersadpError, KeyError):  # noqa: N818 - what it says
    """There is nothing of that name."""

    __str__ = VersadpError.__str__


class VersadpWarning(UserWarning):
    """Base of all warnings of versadp."""


class InsecureWarning(VersadpWarning):
    """The noise can be predicted from its seed: for research, not for a release."""


class ClampedWarning(VersadpWarning):
    """Values outside the declared bounds were moved to the nearest bound."""


class RowsLeftOutWarning(VersadpWarning):
    """Rows of people who have more of them than are kept were left out."""


class WeakInstrumentsWarning(VersadpWarning):
    """Instruments hardly move the regressors that they stand for: estimates are not normal."""


class TotalsWarning(VersadpWarning):
    """Noisy totals beside the records were not used for an answer: it is by the records alone."""


class IndefiniteWarning(VersadpWarning):
    """A corrected matrix is not positive definite, and was replaced by one near it."""


class UselessWarning(VersadpWarning):
    """Under this noise the records tell no mean of any column within a tenth of its range."""


class DeltaWarning(VersadpWarning):
    """Delta is at least one over the number of records: it allows some people to be given away entirely."""


def together(problems: Sequence[DataError]) -> DataError:
    """Return one error that lists several problems of a table, a line each; a single one as it is.

    Examples
    --------
    >>> print(together([DataError("column 'a' holds text", hint="convert it"), DataError("missing columns: 'b'")]))
    2 problems:
      column 'a' holds text
      missing columns: 'b'
      hint: convert it
    """
    if len(problems) == 1:
        return problems[0]
    lines = "".join(f"\n  {problem.message}" for problem in problems)
    hints = dict.fromkeys(problem.hint for problem in problems if problem.hint)
    return DataError(f"{len(problems)} problems:{lines}", hint="\n        ".join(hints) or None)


def near(name: object, known: Iterable[str]) -> str:
    """Return a hint for a name that is not there: the nearest one that is, and all of them.

    Examples
    --------
    >>> near("agee", ["age", "income"])
    "did you mean 'age'? there are age, income"
    >>> near("region", ["age", "income"])
    'choose from age, income'
    """
    from difflib import get_close_matches

    there = list(map(str, known))
    if not there:
        return "there is none"
    every = ", ".join(there[:MOST_SHOWN]) + (", ..." if len(there) > MOST_SHOWN else "")
    lower = {each.lower(): each for each in reversed(there)}
    found = get_close_matches(str(name).lower(), list(lower), n=1, cutoff=0.6)
    return f"did you mean {lower[found[0]]!r}? there are {every}" if found else f"choose from {every}"


def find_stacklevel() -> int:
    """Return the `stacklevel` with which `warnings.warn` points at the user's line, however deep the call is.

    That is the first frame whose file is not one of this package.

    Examples
    --------
    >>> find_stacklevel()
    1
    """
    from inspect import currentframe

    frame, level = currentframe(), 0
    while frame is not None and _HOME in Path(frame.f_code.co_filename).parents:
        frame, level = frame.f_back, level + 1
    return max(level, 1)
