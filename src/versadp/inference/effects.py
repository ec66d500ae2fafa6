"""Average predictions, slopes and comparisons: what a fit says about people, and not about one coefficient.

    prediction      E g(x'theta)
    comparison      E g(x'theta; c moved) - E g(x'theta)                 c a number, moved by so much
                    E g(x'theta; c = b) - E g(x'theta; c = a)            c set to one value and to another
    slope           E d/dc g(x'theta),  by a small comparison to both sides

Averages are over the people of the release, with the noise in their records undone (`fitting/averages.py`); errors are
those of the estimate and of the average together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError, near

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from versadp.inference.results import Results
    from versadp.inputs import Array

SMALL = 1e-4  # of a column's width: over so much slopes are taken


class Move(NamedTuple):
    """What happens to a column: it is set to a value, or moved by a step.

    Examples
    --------
    >>> Move(step=1.0)(np.array([30.0, 41.0])), Move("n")(np.array(["e", "s"]))
    (array([31., 42.]), array(['n', 'n'], dtype=object))
    """

    value: Any = None
    step: float | None = None

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the moved values."""
        if self.step is not None:
            return np.asarray(values + self.step)
        return np.full(len(values), self.value, dtype=object if isinstance(self.value, str) else float)


class Further(Protocol):
    """What gives more of a fit than was asked at first; it knows the release, and is not saved."""

    @property
    def columns(self) -> Mapping[str, float | tuple[Any, ...]]:
        """The columns of the right side: how wide a number is, or the levels of a category."""
        ...

    def averages(self, moves: Sequence[Mapping[str, Move]], contrast: Array) -> tuple[Array, Array]:
        """Return contrasts of averages of predictions with columns moved, and their covariance."""
        ...

    @property
    def noisy(self) -> bool:
        """True if the model has a noisy column."""
        ...

    def naive(self) -> Results:
        """Return the same fit without any correction."""
        ...

    def rsquared(self) -> float:
        """Return the corrected share of the response's variance that is explained."""
        ...


class Asked(NamedTuple):
    """Averages that are compared: labels of what is asked, the moves, and their contrasts."""

    names: list[str]
    moves: list[Mapping[str, Move]]
    contrast: Array


def prediction(at: Mapping[str, Any] | None, known: Mapping[str, Any]) -> Asked:
    """Return the question for the average prediction, with columns set to values if any are given."""
    given = {} if at is None else _mapping("at", at)
    moves = {name: Move(_value(name, value, known)) for name, value in given.items()}
    label = "average" + "".join(f", {name} = {value}" for name, value in given.items())
    return Asked([label], [moves], np.ones((1, 1)))


def comparisons(variables: Any, known: Mapping[str, Any], *, slopes: bool = False) -> Asked:
    """Return the question for comparisons, or slopes, of some columns or of all.

    Parameters
    ----------
    variables : str, sequence of str, mapping or None
        Columns; of a mapping each with a step, a pair of values, or None. All by default.
    known : mapping
        As `Further.columns` has it.
    slopes : bool
        Slopes of numbers; of categories comparisons still.
    """
    names: list[str] = []
    moves: list[Mapping[str, Move]] = []
    signs: list[tuple[float, float]] = []
    for name, what in _variables(variables, known).items():
        width = known[name]
        if isinstance(what, tuple | list):
            if len(what) != 2:
                raise ParameterError(f"a comparison of {name!r} is between two values", hint='e.g. ("n", "e")')
            pairs = [(_value(name, what[0], known), _value(name, what[1], known))]
        elif isinstance(width, tuple):
            if what is not None:
                raise ParameterError(f"{name!r} is a category", hint=f"compare two levels: {width[0]}, {width[1]}")
            pairs = [(width[0], level) for level in width[1:]]
        else:
            step = SMALL * width if slopes else _step(name, what)
            names.append(name if slopes else f"{name} + {step:g}")
            moves += [{name: Move(step=-step if slopes else 0.0)}, {name: Move(step=step)}]
            signs.append((-1 / (2 * step), 1 / (2 * step)) if slopes else (-1.0, 1.0))
            continue
        for a, b in pairs:
            names.append(f"{name}: {b} - {a}")
            moves += [{name: Move(a)}, {name: Move(b)}]
            signs.append((-1.0, 1.0))
    contrast = np.zeros((len(moves), len(names)))
    for k, pair in enumerate(signs):
        contrast[2 * k : 2 * k + 2, k] = pair
    return Asked(names, moves, contrast)


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
    """Return a value that a column can be set to."""
    if name not in known:
        raise ParameterError(f"the model has no column {name!r}", hint=near(name, known))
    levels = known[name]
    if isinstance(levels, tuple):
        if value not in levels:
            raise ParameterError(f"{value!r} is no level of {name!r}", hint=near(value, map(str, levels)))
        return value
    return inputs.number(f"the value of {name!r}", value, -np.inf, np.inf, open_low=True, open_high=True)


def _step(name: str, what: Any) -> float:
    if what is None:
        return 1.0
    step = inputs.number(f"the step of {name!r}", what, -np.inf, np.inf, open_low=True, open_high=True)
    if not step:
        raise ParameterError(f"the step of {name!r} must be other than 0", hint=f'e.g. {{"{name}": 10}}')
    return step
