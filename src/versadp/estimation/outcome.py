"""Outcomes of a fit: each has a name, a text of what happened, and advice.

A corrected objective is a signed sum, and on a finite sample it need not have a minimum. So there are more ways to end
than to converge, and this is the one place for their words.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from versadp.errors import ParameterError


class Outcome(StrEnum):
    """The end of a fit: a text with a meaning and an advice.

    Attributes
    ----------
    happened : str
        What happened.
    advice : str
        What to do about it; nothing after convergence.

    Examples
    --------
    >>> Outcome.INDEFINITE == "indefinite"
    True
    >>> Outcome.read("stalled").happened
    'no step reduces the corrected score'
    >>> Outcome.read("splendid")
    Traceback (most recent call last):
    ...
    versadp.errors.ParameterError: there is no outcome 'splendid'
      hint: choose from converged, weak, indefinite, stalled, diverged, iterations
    """

    happened: str
    advice: str

    CONVERGED = "converged", "the corrected score is zero at an interior minimum", ""
    WEAK = (
        "weak",
        "some coefficients have a curvature that cannot be told from none; intervals are what the scores cannot reject",
        "more records, a larger exact_rate, less noise or fewer coefficients would help",
    )
    INDEFINITE = (
        "indefinite",
        "the corrected objective has no interior minimum on these records",
        "more records, a larger exact_rate or fewer coefficients would help",
    )
    STALLED = (
        "stalled",
        "no step reduces the corrected score",
        "another start, more records, a larger exact_rate or fewer coefficients may help",
    )
    DIVERGED = (
        "diverged",
        "the coefficients run away; with two classes they may be separable",
        "fewer coefficients, more records or a larger exact_rate would help",
    )
    ITERATIONS = (
        "iterations",
        "the solver took all the steps that it may take, and the last was still long",
        "a start nearer to the answer, more records, a larger exact_rate or fewer coefficients may help",
    )

    def __new__(cls, name: str, happened: str, advice: str) -> Self:
        """Make a member that equals its name."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.happened, member.advice = happened, advice
        return member

    @classmethod
    def read(cls, name: object) -> Outcome:
        """Return an outcome from its name, or as it is."""
        for outcome in cls:
            if outcome == name:
                return outcome
        raise ParameterError(f"there is no outcome {str(name)!r}", hint=f"choose from {', '.join(cls)}")
