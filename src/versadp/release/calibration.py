"""From a privacy target to the mechanism with the least noise that meets it.

The answer is solved for on the very profile that will be reported, sampler error included, so what was asked for is
never contradicted by what is printed. Two rules fill what the caller leaves open; `docs/calibration.md` has the
figures behind them.

**The exact rate.** A larger one helps analysts with rough questions (shares, quantiles), whose variance goes like
`exact_rate^(-3/2)`; a smaller one leaves more of delta for less noise, which helps smooth questions (means, slopes),
whose variance goes like `1 + 12 scale^2`. The rule takes a share of delta that is within about a tenth of the least
geometric mean of the two, for targets from strict to lenient: 0.95 at one column, 0.85 at two, 0.75 at three, 0.6
beyond.

**Numbers and categories.** At unit "record" they share one budget. All categories get the same epsilon, and what is
left goes to the numeric block. The share is chosen so that the mean over private columns of the log of the variance
inflation is least: `1 + 12 (1 - r) scale^2` for a column's mean, `1 / keep^2` for a level's share.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from versadp.errors import InfeasibleError, ParameterError
from versadp.noise.laplace import MIN_RATE, SCALE_RANGE
from versadp.noise.response import RandomizedResponse
from versadp.privacy import (
    compose,
    randomized_response,
    solve_parameter,
    symmetric_laplace,
    target,
    with_slack,
    zero_inflated,
)
from versadp.privacy.solving import _shift_bounds as shift_bounds
from versadp.release.accounting import UNITS
from versadp.release.mechanism import Mechanism
from versadp.schema import Categorical, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.privacy import PrivacyProfile, Target

SHARE_OF_DELTA = {1: 0.95, 2: 0.85, 3: 0.75}
SHARE_BEYOND = 0.6
SHARE_OF_RISK = 0.45
MIN_EPSILON, MAX_EPSILON = 1e-4, 18.0  # of one category; at 18 it is redrawn once in ten million times
_ROUGH, _FINE = 1e-2, 1e-9


def calibrate(
    schema: Schema,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    unit: str = "record",
    exact_rate: float | None = None,
    advantage: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
) -> Mechanism:
    """Return the mechanism with the least noise that meets a privacy target.

    Parameters
    ----------
    schema : Schema
    epsilon, delta : float, optional
        Target as a pair.
    unit : {"record", "attribute"}
        What the target protects.
    exact_rate : float, optional
        Probability that a record's numbers are released unchanged; chosen by the rule above if it is left open.
    advantage : float, optional
        Target as attack risk: how much better than chance the best attacker may tell two records apart.
    alpha, beta : float, optional
        Target as attack risk: at most `alpha` false alarms leave at least `beta` misses.

    Raises
    ------
    InfeasibleError
        If no mechanism meets the target; the hint names the nearest one that can be met.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> schema = Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5)})
    >>> mech = calibrate(schema, epsilon=4.0, delta=0.05, unit="attribute", exact_rate=0.02)
    >>> round(mech.scale["age"], 4)
    0.4293
    >>> mech.privacy("attribute").delta(4.0) <= 0.05
    True
    """
    goal = target(epsilon, delta, advantage=advantage, alpha=alpha, beta=beta)
    if unit not in UNITS:
        raise ParameterError(f"there is no unit {unit!r}", hint="choose from record, attribute")
    if not isinstance(schema, Schema) or not (schema.numeric or schema.categorical):
        raise ParameterError("calibrate needs a Schema with private columns")
    rate = _exact_rate(goal, len(schema.numeric)) if exact_rate is None else exact_rate
    if unit == "attribute":
        keep = {name: _attribute_keep(levels, goal) for name, levels in _levels(schema).items()}
        return _solve_scale(schema, goal, unit, rate, keep) if schema.numeric else Mechanism(schema, keep=keep)
    if not schema.categorical:
        return _solve_scale(schema, goal, unit, rate, {})
    return _record(schema, goal, rate)


def variance_inflation(mechanism: Mechanism) -> dict[str, float]:
    """Return by how much the noise multiplies the variance of a column's mean, or of a level's share.

    An analyst needs that many times the records for the precision of raw data, at most: better corrections need fewer.
    Numbers are taken to be spread evenly over their bounds, categories over their levels.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> variance_inflation(Mechanism(Schema({"x": Bounded(0, 1)}), scale=0.5, exact_rate=0.0))
    {'x': 4.0}
    """
    left = 1 - mechanism.exact_rate
    numbers = {name: 1 + 12 * left * scale**2 for name, scale in mechanism.scale.items()}
    return numbers | {name: math.inf if keep == 0 else keep**-2 for name, keep in mechanism.keep.items()}


def _levels(schema: Schema) -> dict[str, int]:
    return {name: len(c.levels) for name, c in schema.columns.items() if isinstance(c, Categorical)}


def _exact_rate(goal: Target, dim: int) -> float:
    if goal.delta is not None:
        rate = SHARE_OF_DELTA.get(dim, SHARE_BEYOND) * goal.delta
    elif goal.advantage is not None:
        rate = SHARE_OF_RISK * goal.advantage
    else:
        assert goal.alpha is not None
        assert goal.beta is not None
        rate = SHARE_OF_RISK * max(1 - goal.alpha - goal.beta, 0.0)
    return rate if rate >= MIN_RATE else 0.0


def _attribute_keep(levels: int, goal: Target) -> float:
    """Return the largest keep with which one category meets the target."""

    def profile_of(keep: float) -> PrivacyProfile:
        channel = RandomizedResponse(levels, keep)
        return with_slack(randomized_response(levels, keep), channel.sampler_error)

    try:
        return solve_parameter(profile_of, goal, MIN_RATE, 1 - 1e-9, tolerance=_FINE)
    except InfeasibleError:
        return 0.0  # a category that is always redrawn meets every target


def _solve_scale(
    schema: Schema, goal: Target, unit: str, rate: float, keep: dict[str, float], *, tolerance: float = _FINE
) -> Mechanism:
    """Return the mechanism with the least scale, given everything else."""
    _refuse_floor(goal, rate)
    dim = len(schema.numeric)
    width = math.sqrt(dim) if unit == "record" else 1.0  # of the domain, in widths of a column
    levels = _levels(schema) if unit == "record" else {}
    responses = [randomized_response(k, keep[name]) for name, k in levels.items()]

    def profile_of(shift: float, slack: float = 0.0) -> PrivacyProfile:
        block = zero_inflated(symmetric_laplace(dim, shift), rate)
        return with_slack(compose(block, *responses) if responses else block, slack)

    low, high = shift_bounds(goal, rate, dim)
    low *= 1e-3 if responses else 1.0
    shift = solve_parameter(profile_of, goal, low, high, tolerance=max(tolerance, _ROUGH))
    if width / shift > SCALE_RANGE[1]:
        raise InfeasibleError(
            f"{goal} needs noise of more than {SCALE_RANGE[1]:g} widths", hint="fewer columns, or a larger delta"
        )
    mechanism = Mechanism(schema, width / shift, rate, keep)
    if tolerance >= _ROUGH:
        return mechanism
    for _ in range(3):  # the sampler's error follows the scale, which follows the error: it settles at once
        slack = mechanism.channels.sampler_error
        near = (shift / 4, shift * (1 + 3 * _ROUGH))
        shift = solve_parameter(partial(profile_of, slack=slack), goal, *near, tolerance=tolerance)
        mechanism = Mechanism(schema, width / shift, rate, keep)
        if abs(mechanism.channels.sampler_error - slack) <= 1e-3 * slack:
            break
    return _settle(partial(Mechanism, schema, exact_rate=rate, keep=keep), width / shift, goal, unit)


def _settle(make: Callable[..., Mechanism], scale: float, goal: Target, unit: str) -> Mechanism:
    """Step up from the solved scale until the profile that will be reported meets the target: rounding, at most."""
    step = 2.0**-52
    while goal.room((mechanism := make(scale=scale)).privacy(unit)) < 0:
        scale, step = scale * (1 + step), 2 * step
        if step > _ROUGH:
            raise InfeasibleError(f"{goal} cannot be met", hint="the sampler's own error is as large as delta")
    return mechanism


def _refuse_floor(goal: Target, rate: float) -> None:
    most = goal.delta if goal.delta is not None else goal.advantage
    if most is not None and most < rate:
        what = "delta" if goal.delta is not None else "advantage"
        raise InfeasibleError(
            f"{goal} cannot be met with exact_rate {rate:g}: {what} has its floor there",
            hint=f"nearest that can: {what} above {rate:g}, or an exact_rate below {most:g}",
        )


def _record(schema: Schema, goal: Target, rate: float) -> Mechanism:
    """Split one budget between the numeric block and the categories."""
    levels = _levels(schema)

    def keeps(each: float) -> dict[str, float]:
        """Return keep such that each category alone has pure epsilon `each`."""
        return {name: 1 / (1 + k / math.expm1(each)) for name, k in levels.items()}

    only = Schema({name: schema.columns[name] for name in levels})
    most = solve_parameter(
        lambda e: Mechanism(only, keep=keeps(e)).privacy(), goal, MIN_EPSILON, MAX_EPSILON, tolerance=_FINE
    )
    if not schema.numeric:
        return Mechanism(schema, keep=keeps(most))
    _refuse_floor(goal, rate)

    def attempt(share: float, tolerance: float = _ROUGH) -> Mechanism:
        return _solve_scale(schema, goal, "record", rate, keeps(share * most), tolerance=tolerance)

    # shares of what the categories could have alone, if they were few columns, many, or in between
    m, d = len(levels), len(schema.numeric)
    shares = sorted({m / (m + weight) for weight in (1.0, math.sqrt(d), float(d))})
    costs = [_cost(attempt, share) for share in shares]
    return attempt(_least(shares, costs), _FINE)


def _cost(attempt: Any, share: float) -> float:
    try:
        inflation = variance_inflation(attempt(share)).values()
    except InfeasibleError:
        return math.inf
    return sum(math.log(value) for value in inflation) / len(inflation)


def _least(shares: list[float], costs: list[float]) -> float:
    """Return the share of least cost, by a parabola in log share where three costs show a valley."""
    best = min(range(len(shares)), key=costs.__getitem__)
    if len(shares) < 3 or best != 1 or not all(map(math.isfinite, costs)):
        return shares[best]
    x, y = [math.log(share) for share in shares], costs
    up, down = (y[2] - y[1]) / (x[2] - x[1]), (y[1] - y[0]) / (x[1] - x[0])
    curvature = (up - down) / (x[2] - x[0])
    return math.exp(0.5 * (x[0] + x[1] - down / curvature)) if curvature > 0 else shares[best]
