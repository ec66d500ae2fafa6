"""Post-estimation quantities that need the release again: average predictions, slopes, comparisons, R², updates.

    prediction      E g(x'theta)
    comparison      E g(x'theta; c + step) - E g(x'theta)                of a number c
                    E g(x'theta; c = b) - E g(x'theta; c = a)            of two values of c
    slope           E d/dc g(x'theta),  by a small central difference

Averages are over the people of the release, corrected for the noise in their records (`fitting/averages.py`); standard
errors are those of the coefficients and of the average together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError, near

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from versadp.inference.chi_square import DriftTest
    from versadp.inference.results import Results
    from versadp.inputs import Array

# step of a slope, relative to the width of the column: the error of the difference is its square, 1e-8, and rounding
# 1e-16 over it, 1e-12
SLOPE_STEP = 1e-4


class Move(NamedTuple):
    """A change of a column: to a value, or by a step.

    Examples
    --------
    >>> Move(step=1.0)(np.array([30.0, 41.0])), Move("n")(np.array(["e", "s"]))
    (array([31., 42.]), array(['n', 'n'], dtype=object))
    """

    value: Any = None
    step: float | None = None

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the changed values."""
        if self.step is not None:
            return np.asarray(values + self.step)
        return np.full(len(values), self.value, dtype=object if isinstance(self.value, str) else float)


class PostEstimation(Protocol):
    """Access of results to their release, for post-estimation quantities; not saved."""

    @property
    def columns(self) -> Mapping[str, float | tuple[Any, ...]]:
        """The columns of the right side: the width of a number, or the levels of a category."""
        ...

    def averages(self, moves: Sequence[Mapping[str, Move]], contrast: Array) -> tuple[Array, Array]:
        """Return contrasts of average predictions with columns changed, and their covariance."""
        ...

    @property
    def noisy(self) -> bool:
        """True if the model has a noisy column."""
        ...

    def naive(self) -> Results:
        """Return the same fit without a correction for noise."""
        ...

    def rsquared(self) -> float:
        """Return the corrected share of the explained variance of the response."""
        ...


class Updater(Protocol):
    """State of a fit that an update needs; it is saved in a file of its own, not with the results."""

    @property
    def drift(self) -> DriftTest | None:
        """The drift test of the last update."""
        ...

    def update(self, new: Any) -> Results:
        """Return the fit updated by new records."""
        ...

    def save(self, path: str | Path) -> None:
        """Write the state to a file."""
        ...


class AveragesRequest(NamedTuple):
    """Average predictions to compute: labels, changes of columns, and contrasts of their averages."""

    names: list[str]
    moves: list[Mapping[str, Move]]
    contrast: Array


def prediction(at: Mapping[str, Any] | None, known: Mapping[str, Any]) -> AveragesRequest:
    """Return the averages of the prediction, with columns set to the values `at`."""
    given = {} if at is None else _mapping("at", at)
    moves = {name: Move(_value(name, value, known)) for name, value in given.items()}
    label = "average" + "".join(f", {name} = {value}" for name, value in given.items())
    return AveragesRequest([label], [moves], np.ones((1, 1)))


def comparisons(variables: Any, known: Mapping[str, Any], *, slopes: bool = False) -> AveragesRequest:
    """Return the averages for comparisons, or slopes, of some columns or of all.

    Parameters
    ----------
    variables : str, sequence of str, mapping or None
        Columns; in a mapping each with a step, a pair of values, or None. All by default.
    known : mapping
        As `PostEstimation.columns`.
    slopes : bool
        Slopes for numbers, comparisons for categories.
    """
    chosen = _variables(variables, known).items()
    pairs = [pair for name, what in chosen for pair in _pairs(name, what, known, slopes=slopes)]
    contrast = np.zeros((2 * len(pairs), len(pairs)))
    for k, pair in enumerate(pairs):
        contrast[2 * k : 2 * k + 2, k] = -pair.factor, pair.factor
    moves: list[Mapping[str, Move]] = [{pair.column: move} for pair in pairs for move in (pair.before, pair.after)]
    return AveragesRequest([pair.label for pair in pairs], moves, contrast)


class _Pair(NamedTuple):
    """The average after one change of a column minus that after another, times a factor."""

    label: str
    column: str
    before: Move
    after: Move
    factor: float = 1.0


def _pairs(name: str, what: Any, known: Mapping[str, Any], *, slopes: bool) -> list[_Pair]:
    """Return the comparisons of one column: of two values, of levels with the first, of a step, or for a slope."""
    width = known[name]
    if isinstance(what, tuple | list):
        if len(what) != 2:
            raise ParameterError(f"a comparison of {name!r} is between two values", hint='e.g. ("n", "e")')
        values = [(_value(name, what[0], known), _value(name, what[1], known))]
    elif isinstance(width, tuple):
        if what is not None:
            raise ParameterError(f"{name!r} is a category", hint=f"compare two levels: {width[0]}, {width[1]}")
        values = [(width[0], level) for level in width[1:]]
    elif slopes:
        step = SLOPE_STEP * width
        return [_Pair(name, name, Move(step=-step), Move(step=step), 1 / (2 * step))]
    else:
        step = _step(name, what)
        return [_Pair(f"{name} + {step:g}", name, Move(step=0.0), Move(step=step))]
    return [_Pair(f"{name}: {b} - {a}", name, Move(a), Move(b)) for a, b in values]


def _variables(variables: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    given = known if variables is None else variables
    if isinstance(given, str):
        given = [given]
    chosen = dict(given) if isinstance(given, Mapping) and given is not known else dict.fromkeys(given)
    for name in chosen:
        if name not in known:
            raise ParameterError(f"the model has no column {name!r}", hint=near(name, known))
    return chosen


def _mapping(what: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ParameterError(f"{what} must name columns and their values", hint='e.g. at={"age": 40}')
    return given


def _value(name: str, value: Any, known: Mapping[str, Any]) -> Any:
    """Return a value, checked to be one of the column."""
    if name not in known:
        raise ParameterError(f"the model has no column {name!r}", hint=near(name, known))
    levels = known[name]
    if isinstance(levels, tuple):
        if value not in levels:
            raise ParameterError(f"{value!r} is not a level of {name!r}", hint=near(value, map(str, levels)))
        return value
    return inputs.number(f"the value of {name!r}", value, -np.inf, np.inf, open_low=True, open_high=True)


def _step(name: str, what: Any) -> float:
    if what is None:
        return 1.0
    step = inputs.number(f"the step of {name!r}", what, -np.inf, np.inf, open_low=True, open_high=True)
    if not step:
        raise ParameterError(f"the step of {name!r} must be other than 0", hint=f'e.g. {{"{name}": 10}}')
    return step
