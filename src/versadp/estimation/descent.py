"""The least criterion over the other coefficients, by Gauss-Newton steps on the whitened mean score.

    Q = f'f,    f = √n L^-1 m,    L L' = Omega,        f(eta + d) ~ f + J d,    d = -(J'J)^-1 J'f

Slopes J are taken by differences once and then corrected by what every further step shows (Broyden 1965), so that a
step costs one pass over the records, where differences cost a pass per coefficient. Where the steps end, slopes are
taken again, unless the last step found what they had foretold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

STEP = 0.1  # standard errors: step of differences
FLAT = 0.01  # of Q: less is not worth a step; it moves the end of a 95% set by 0.003 standard errors
ACCEPTED, GOOD = 0.1, 0.5  # shares of the foretold decrease with which a step is taken, and the next may be longer
TRUSTED = 0.05  # standard deviations of the whitened score: slopes that foretold a step so closely need no check
LONGEST = 3.0  # standard errors: length of a first step near the estimate
SHORTER, SHORTEST = 0.25, 0.01  # factor of a step's length after a failure, and the length (standard errors) to stop at
SINGULAR = 1e-8  # share of the largest slope below which a direction is left alone: rounding
STEPS = 16  # at most in one descent; 2 to 5 are usual


@dataclass
class Slopes:
    """Slopes of the whitened score in the nuisance coefficients, as far as they are known.

    Attributes
    ----------
    values : array (p, k), optional
        None before any are known.
    checked : bool
        True if they were taken, or seen to hold, where they stand.
    """

    values: Array | None = None
    checked: bool = False

    @property
    def known(self) -> Array:
        """The slopes, where there are some."""
        assert self.values is not None
        return self.values

    def take(self, residual: Callable[[Array], Array | None], eta: Array, here: Array) -> bool:
        """Take slopes by differences; return False where there are none."""
        moved = [residual(eta + step) for step in STEP * np.eye(eta.size)]
        found = [(each - here) / STEP for each in moved if each is not None]
        if len(found) < eta.size:
            return False
        self.values, self.checked = np.stack(found, axis=1), True
        return True

    def are_known(self, residual: Callable[[Array], Array | None], eta: Array, here: Array) -> bool:
        """Return True if slopes are known, or could be taken by differences."""
        return self.values is not None or self.take(residual, eta, here)

    def correct(self, step: Array, off: Array) -> None:
        """Correct slopes by how far off they were after a step."""
        self.values = self.known + np.outer(off, step) / (step @ step)
        self.checked = bool(np.linalg.norm(off) <= TRUSTED)


def descend(
    residual: Callable[[Array], Array | None],
    start: Array,
    here: Array | None,
    slopes: Slopes,
    *,
    enough: float,
    longest: float = LONGEST,
    near: bool = False,
) -> tuple[float, Array]:
    """Return the least `f'f` near a start, and where it is; 0, which rejects nothing, where there is no f.

    Parameters
    ----------
    residual : callable
        f at nuisance coefficients, in standard errors; None where there is none.
    start : array (k,)
    here : array (p,), optional
        f at the start.
    slopes : Slopes
        What is known of them; they are kept up to date.
    enough : float
        A value below which nobody looks further.
    longest : float
        Length of the first step, at most.
    near : bool
        True if slopes that were checked may be taken to hold at the start too.

    Examples
    --------
    >>> def f(eta):
    ...     return np.array([eta[0] - 1 + 0.1 * eta[0] ** 2, 2.0])
    >>> least, at = descend(f, np.zeros(1), f(np.zeros(1)), Slopes(), enough=0.0)
    >>> abs(least - 4.0) < FLAT
    True
    """
    if here is None:
        return 0.0, start
    slopes.checked = slopes.checked and near
    for _ in range(STEPS if start.size else 0):
        if here @ here <= enough or not slopes.are_known(residual, start, here):
            break
        step = _step(slopes.known, here, longest)
        foretold = here + slopes.known @ step
        gain = here @ here - foretold @ foretold
        if gain < FLAT:
            if slopes.checked:
                break
            slopes.values = None
            continue
        there, size = residual(start + step), float(np.linalg.norm(step))
        share = 0.0 if there is None else (here @ here - there @ there) / gain
        if there is not None and share > ACCEPTED:
            slopes.correct(step, there - foretold)
            start, here = start + step, there
            longest = max(longest, 2 * size) if share > GOOD else size
        elif not slopes.checked:
            slopes.values = None
        else:
            longest = SHORTER * size
            if longest < SHORTEST:
                break
    return float(here @ here), start


def _step(slopes: Array, here: Array, longest: float) -> Array:
    """Return the Gauss-Newton step, no longer than is allowed."""
    step = -np.asarray(np.linalg.lstsq(slopes, here, rcond=SINGULAR)[0])
    return np.asarray(step * min(1.0, longest / max(float(np.linalg.norm(step)), 1e-300)))
