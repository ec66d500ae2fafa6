"""Standard errors of a fit under a mechanism, in closed form or from releases of simulated people.

A fit to N people has standard error s; one to n people has s sqrt(N/n). The squared standard errors of a few fits are
averaged; their differences give the error of the planner. A weak fit has intervals and no standard errors: half their
width over 1.96 stands for one. If most fits have no estimate, the standard error is infinite.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import VersadpError
from versadp.estimation import Outcome
from versadp.fitting.fit import fit
from versadp.planning.closed_form import closed_form
from versadp.release.mechanism import Mechanism

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.inference import Results
    from versadp.planning.simulate import People
    from versadp.release.release import Release

    Array = NDArray[np.float64]

LEVEL, NORMAL = 0.95, 1.959964  # level of intervals: the customary one, and its normal quantile
# simulated people of a fit, at first and if most fits fail: chosen for fits of seconds; standard errors of other
# numbers are scaled from there
PEOPLE, MOST_PEOPLE = 50_000, 200_000
FITS = 4  # simulated releases per figure by default: chosen; their number can be set, and their error is reported
THEORY, SIMULATION = "closed form", "simulation"


@dataclass(frozen=True)
class Precision:
    """Predicted standard errors of a fit.

    Attributes
    ----------
    se : array (p,)
        Infinite without an estimate.
    error : array (p,)
        Relative standard error of each, given the assumptions: the Monte Carlo error of the planner.
    how : str
        "closed form" or "simulation".
    weak : float
        Share of the fits that were weak; None if nothing was fitted.
    lost : float
        Share of the fits without an estimate.
    """

    se: Array
    error: Array
    how: str
    weak: float | None = None
    lost: float = 0.0

    @property
    def width(self) -> Array:
        """Widths of 95% intervals."""
        return 2 * NORMAL * self.se


def precision(
    people: People,
    mechanism: Mechanism,
    records: int,
    theta: Array,
    *,
    fits: int = FITS,
    rows: int = PEOPLE,
    seed: int = 0,
    simulate: bool = False,
) -> Precision:
    """Return the standard errors of a fit to a release of `records` people.

    Parameters
    ----------
    people : People
        The simulated population with its model.
    mechanism : Mechanism
    records : int
    theta : array (p,)
        Coefficients of the population.
    fits : int
        Simulated releases, if there is no closed form.
    rows : int
        Simulated people of each, or as many as there are records; more if most fits fail.
    seed : int
    simulate : bool
        True to simulate even if there is a closed form.
    """
    found = None if simulate else closed_form(people, mechanism, theta)
    if found is not None:
        cov, error = found
        return Precision(np.sqrt(np.diag(cov) / records), error, THEORY)
    rows = min(records, rows)
    while True:
        got = [standard_errors(refit(people, mechanism, rows, [seed, k]), theta.size) for k in range(fits)]
        weak = float(np.mean([state == Outcome.WEAK for _, state in got]))
        bad = float(np.mean([state != Outcome.CONVERGED for _, state in got]))
        if bad <= 0.25 or rows >= min(records, MOST_PEOPLE):  # a small sample may fail where the full one does not
            break
        rows = min(records, 4 * rows)
    se = np.array([each for each, _ in got])
    lost = np.isinf(se).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        kept = np.where(np.isfinite(se), se, np.nan)
        mean = np.sqrt(np.array([np.nanmean(col**2) if np.isfinite(col).any() else np.inf for col in kept.T]))
        spread = np.array([np.nanstd(np.log(col)) if np.isfinite(col).sum() > 1 else np.nan for col in kept.T])
    mean = np.where(lost > 0.5, np.inf, mean)
    return Precision(
        mean * np.sqrt(rows / records), spread / np.sqrt(max(fits - 1, 1)), SIMULATION, weak, float(lost.max())
    )


def refit(people: People, mechanism: Mechanism, rows: int, seed: list[int]) -> Results | None:
    """Return the fit to one simulated release, None if it raises."""
    release = release_of(people, anew(mechanism), rows, seed, shuffle=False)
    try:
        return fit(release, people.formula, loss=people.loss, random_state=seed[-1])
    except VersadpError:
        return None


def release_of(people: People, mechanism: Mechanism, rows: int, seed: list[int], *, shuffle: bool) -> Release:
    """Return a release of simulated people by the real release path, with a key that needs no secrecy."""
    key = hashlib.sha256(repr(seed).encode()).digest()
    return mechanism.release(people.table(people.draw(rows, seed)), key=key, shuffle=shuffle)


def anew(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism without its target, which would refuse a release with fewer records."""
    noise: dict[Any, Any] = {block.columns: block.spec for block in mechanism.blocks}
    return Mechanism(mechanism.schema, noise=noise)


def standard_errors(result: Results | None, size: int) -> tuple[Array, str]:
    """Return the standard errors, infinite if there are none, and the outcome of the fit."""
    if result is None or not result.answered:
        return np.full(size, np.inf), "failed"
    if result.converged:
        return np.array(result.bse), str(Outcome.CONVERGED)
    ends = np.array(result.conf_int(LEVEL))
    with np.errstate(invalid="ignore"):
        half = (ends[:, 1] - ends[:, 0]) / (2 * NORMAL)
    return np.where(np.isfinite(half), half, np.inf), str(Outcome.WEAK)
