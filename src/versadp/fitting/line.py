"""Before a loss of the residual with a kink is fitted: the corrected line and its residuals.

Least squares is corrected like any loss, whatever the noise; then the corrected distribution function of its residuals
tells where quantiles are and how wide they lie (`losses/pilot_line.py`), which released records would not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import CustomModel
from versadp.estimation import Family, Question, distribution, efficient, solve
from versadp.estimation import start as plain_fit
from versadp.estimation.sizes import FEW_ROWS
from versadp.estimation.start import nearest_rows
from versadp.fitting.members import PILOT_THRIFT
from versadp.fitting.methods import DRAWS, forms_of
from versadp.fitting.source import MemorySource
from versadp.losses import Squared
from versadp.losses.pilot_line import Line, lift_of
from versadp.losses.starts import robust, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.engine import Engine
    from versadp.fitting.problem import Problem

    Array = NDArray[np.float64]

MOST_POINTS = 10_000_000  # of all records, at which residuals are evaluated: 7e7 took 17 s of one core
OUTLIER = 10.0  # scales of plain residuals


def corrected_line(problem: Problem, sample: Records, engine: Engine, seed: int, tau: float = 0.5) -> Line | None:
    """Return the corrected line of a sample, and how residuals are distributed, best known around tau; None if none."""
    tame, least = tamed(problem, sample), problem.minimising(Squared())
    assert not isinstance(least.model, CustomModel)
    theta = quick_fit(least, quick_family(least, tame, engine, seed), plain_fit(least.model, problem.units, tame))
    if theta is None:
        return None
    family = quick_family(problem, sample, engine, seed)
    each = sum(form.evaluations for form in family.forms)
    rows = min(sample.rows, max(MOST_POINTS // each, FEW_ROWS))
    if rows < sample.rows:
        some = sample.take(np.sort(np.random.default_rng([seed, 0x11E]).choice(sample.rows, rows, replace=False)))
        family = quick_family(problem, some, engine, seed)
    curve = distribution(family, Question(tau, line=theta))
    total = curve.score[-1] / (1 - tau)  # of all weights: at the last value a share is 1
    if total <= 0:
        return None
    share = curve.score / total + tau
    rising = (np.maximum.accumulate(share) + np.minimum.accumulate(share[::-1])[::-1]) / 2
    error = float(np.interp(curve.estimate, curve.at, curve.error)) / total
    records = min(tau * (1 - tau) / error**2 * sample.rows / rows, sample.rows) if error > 0 else sample.rows
    m, _ = nearest_rows(least.model, problem.units, sample)
    return Line(theta, lift_of(m), curve.at, np.clip(rising, 0.0, 1.0), float(records))


def quick_family(problem: Problem, sample: Records, engine: Engine, seed: int, *, method: str = "efficient") -> Family:
    """Return the members of a method over a sample, with few draws."""
    forms = forms_of(problem, method, None, DRAWS, sample.rows, thrift=PILOT_THRIFT)
    return Family(forms, MemorySource((sample,)), problem.model.size, engine, seed)


def quick_fit(problem: Problem, family: Family, start: Array) -> Array | None:
    """Return the fit of such members; None without."""
    if len(family.names) == 1:
        found = solve(family, start, np.ones(1))
        return found.theta if found.converged else None
    combined = efficient(family, family, start, problem.groups)
    return combined.theta if combined.converged else None


def tamed(problem: Problem, sample: Records) -> Records:
    """Return records whose public response has no outlier from the plain line, which would tilt the corrected one."""
    model, units = problem.model, problem.units
    if sample.response is None:
        return sample
    assert not isinstance(model, CustomModel)
    m, y = model.rows(units.clip(sample.z), np.arange(sample.rows), sample)
    fitted = m @ robust(*nearest_rows(model, units, sample))
    reach = OUTLIER * spread(y - fitted)
    return replace(sample, response=fitted + np.clip(y - fitted, -reach, reach))
