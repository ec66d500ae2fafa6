"""From a privacy target to the mechanism with the least noise that meets it.

The answer is solved for on the very profile that will be reported, sampler error included, so what was asked for is
never contradicted by what is printed. Two rules fill what the caller leaves open; `docs/theory/calibration.md` has the
figures behind them.

**The exact rate.** A larger one helps analysts with rough questions (shares, quantiles), whose variance goes like
`exact_rate^(-3/2)`; a smaller one leaves more of delta for less noise, which helps smooth questions (means, slopes),
whose variance goes like `1 + 12 scale^2`. The rule takes a share of delta that is within about a tenth of the least
geometric mean of the two, for targets from strict to lenient: 0.95 at one column, 0.85 at two, 0.75 at three, 0.6
beyond.

**People with several rows.** Under a shuffle the person's own profile is solved for. Without one, and for Laplace
noise, each row gets its share of the target (`person.row_target`), which pure windows meet exactly, and other noise
more than meets.

**Numbers and categories.** At unit "record" they share one budget. All categories get the same epsilon, and what is
left goes to the numeric block. The share is chosen so that the mean over private columns of the log of the variance
inflation is least: `1 + 12 (1 - r) scale^2` for a column's mean, `1 / keep^2` for a level's share.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from versadp import inputs
from versadp.errors import InfeasibleError, ParameterError
from versadp.noise import Response, ResponseBlock
from versadp.noise.settings import MIN_RATE
from versadp.privacy import (
    compose,
    solve_parameter,
    target,
    zero_inflated,
)
from versadp.release.bounds.law import bounds_privacy, check_learnt_for
from versadp.release.bounds.reapply import on_learnt_bounds
from versadp.release.mechanism import Mechanism
from versadp.release.target.person import PERSON, row_target, unit_of
from versadp.release.target.shift import ShiftProblem
from versadp.release.target.usefulness import warn_delta, warn_useless
from versadp.release.target.windows import windows
from versadp.release.totals.law import SHARE
from versadp.schema import Categorical, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.privacy import PrivacyProfile, Target

NOISES = ("auto", "window", "zil")
SHARE_OF_DELTA = {1: 0.95, 2: 0.85, 3: 0.75}
SHARE_BEYOND = 0.6
SHARE_OF_RISK = 0.45
MIN_EPSILON, MAX_EPSILON = 1e-4, 18.0  # of one category; at 18 it is redrawn once in ten million times
STEP, STEPS, FLAT = 1.0, 6, 0.01  # of the log odds of what categories get of what they could have
_ROUGH, _FINE = 3e-2, 1e-9
WIDER = 10.0  # times the shift of a row's share of a person's target, at the most

WIDTHS = (0.01, 10.0)
COLUMNS_PER_TERM = 4  # a response and three covariates; costs hardly more than fewer (docs/decisions/0009)


def calibrate(
    schema: Schema,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    unit: str | None = None,
    exact_rate: float | None = None,
    advantage: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    noise: str = "auto",
    shuffled: int | None = None,
    groups: Any = None,
    width: float = 1.0,
    records: int | None = None,
    totals: bool | float = False,
    columns_per_term: int | Literal["auto"] | None = "auto",
) -> Mechanism:
    """Return the mechanism with the least noise that meets a privacy target.

    Parameters
    ----------
    schema : Schema
    epsilon, delta : float, optional
        Target as a pair; epsilon alone is pure, with a delta of 0.
    unit : {"person", "record", "attribute"}, optional
        What the target protects: by default a record, or a person where the schema allows several rows per person.
    exact_rate : float, optional
        Probability that a record's numbers are released unchanged; chosen by the rule above if it is left open.
    advantage : float, optional
        Target as attack risk: how much better than chance the best attacker may tell two records apart.
    alpha, beta : float, optional
        Target as attack risk: at most `alpha` false alarms leave at least `beta` misses.
    noise : {"auto", "window", "zil"}
        Windows, or the paper's zero-inflated Laplace noise.
        "auto" is windows, unless an exact_rate or an attack risk is asked for: at levels that protect several columns
        Laplace noise drowns everything.
    shuffled : int, optional
        Meet the target by a shuffled release of at least so many records (with public columns: in the smallest group
        of people with equal public values), which lets windows keep far more; a smaller release is then refused.
    groups : list of columns and of tuples of columns, or mapping of these to weights, optional
        Which columns share a window. By default the layout with the least predicted standard errors of those compared
        (`plan` lists them; `docs/theory/calibration.md` has the criterion). For a record, epsilon is shared out between
        several windows, by weight if there are weights.
    width : float
        Windows are so many times as wide as the rule for means and slopes has them (`docs/theory/calibration.md`). 0.8
        serves medians and quantiles better, for an eighth more noise in means.
    records : int, optional
        How many records will be released, to warn of noise that drowns them. It changes nothing in the noise.
    totals : bool or float
        Release noisy totals of all people beside the records: True spends half of the target's squared mu on them, a
        number in (0, 1) that share (`docs/theory/totals.md`). They need a shuffled release with a delta, and are not
        for devices.
    columns_per_term : int, None or "auto"
        How many private columns the models that analysts will fit have at most, beside linear ones, which may have any
        number. With k each record may give k or a few more of the columns, drawn at random, where that is at least a
        tenth better than windows on all of them (`noise.Subset`); None is windows on all. "auto" is 4 for a shuffled
        release, and None without `shuffled`, as devices need it.

    Warns
    -----
    UselessWarning
        So many records would tell no mean of any column within a tenth of its range.
    DeltaWarning
        Delta is at least one over the number of records (`records`, or else `shuffled`).

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
    >>> calibrate(schema, epsilon=8.0).privacy("record").delta(8.0)
    0.0
    >>> calibrate(schema, epsilon=8.0, groups={"age": 3, "income": 1}).blocks[0].epsilon
    6.0
    >>> narrow = calibrate(schema, epsilon=4.0, unit="attribute", width=0.8)
    >>> narrow.privacy("attribute").delta(4.0), [round(block.keep, 2) for block in narrow.blocks]
    (0.0, [0.88, 0.88])
    >>> mech = calibrate(schema, epsilon=1.0, delta=1e-6, shuffled=100_000)
    >>> mech.privacy("record", shuffled=100_000).delta(1.0) <= 1e-6
    True
    """
    if noise not in NOISES:
        raise ParameterError(f"there is no noise {noise!r}", hint=f"choose from {', '.join(NOISES)}")
    asked = shuffled is not None or groups is not None or width != 1 or columns_per_term not in ("auto", None)
    share = _share_of_totals(totals)
    wide = noise == "window" or (noise == "auto" and exact_rate is None and epsilon is not None)
    if wide and exact_rate is not None:
        raise ParameterError("windows have no exact_rate", hint="leave it out, or ask for noise='zil'")
    if asked and not wide:
        raise ParameterError(
            "a shuffle, groups, a width and columns_per_term are for windows: Laplace noise gains nothing",
            hint="noise='window'",
        )
    if not wide and epsilon is not None and delta is None:
        raise ParameterError(
            "Laplace noise needs a delta: it keeps no epsilon without one", hint="give delta, or let windows do it"
        )
    given = 0.0 if wide and delta is None and epsilon is not None else delta
    goal = target(epsilon, given, advantage=advantage, alpha=alpha, beta=beta)
    known = None if records is None else inputs.whole("records", records, 1)
    if not isinstance(schema, Schema) or not schema.private:
        raise ParameterError(
            "calibrate needs a Schema with private columns",
            hint='Schema({"age": Bounded(18, 90)}), or Schema.from_toml("schema.toml")',
        )
    unit = unit_of(schema, unit)
    check_learnt_for(schema.bounds, goal, unit)
    if wide:
        among = None if shuffled is None else inputs.whole("shuffled", shuffled, 1)
        _refuse_totals(share, goal, among)
        wider, some = inputs.number("width", width, *WIDTHS), asked_columns(columns_per_term, among, totals=share)
        made = windows(schema, goal, unit, among, groups, width=wider, totals=share, columns_per_term=some)
        return _warned(made, known, among)
    _refuse_totals(share, goal, None)
    asked_for = replace(goal, unit=unit)
    plan = schema.as_declared()
    made = _laplace(plan, goal, asked_for, exact_rate)
    return _warned(made if plan is schema else on_learnt_bounds(made, schema), known)


def _share_of_totals(totals: bool | float) -> float:
    """Return the share of mu² for totals."""
    if totals is True or totals is False:
        return SHARE if totals else 0.0
    return inputs.number("totals", totals, 0, 1, open_low=True, open_high=True)


def _refuse_totals(share: float, goal: Target, shuffled: int | None) -> None:
    """Refuse totals of a release that is not shuffled, or has no delta: Gaussian noise needs one."""
    if share and (shuffled is None or not goal.delta):
        raise ParameterError(
            "totals are released beside shuffled records, by a target with a delta",
            hint="calibrate(schema, epsilon=1, delta=1e-6, shuffled=n, totals=True), or totals=False",
        )


def asked_columns(
    columns_per_term: int | Literal["auto"] | None, shuffled: int | None, *, totals: float = 0.0
) -> int | None:
    """Return how many columns a record should give at least; None if all, as totals need it.

    Examples
    --------
    >>> asked_columns("auto", 100_000), asked_columns("auto", None), asked_columns(3, None)
    (4, None, 3)
    """
    if columns_per_term == "auto":
        return None if shuffled is None or totals else COLUMNS_PER_TERM
    if columns_per_term is None:
        return None
    if totals:
        raise ParameterError(
            "totals are beside records that give all columns", hint="leave out columns_per_term, or totals"
        )
    return inputs.whole("columns_per_term", columns_per_term, 2)


def _laplace(schema: Schema, goal: Target, asked_for: Target, exact_rate: float | None) -> Mechanism:
    """Return zero-inflated Laplace noise on numbers, and randomised response on categories, that meet a target."""
    unit = asked_for.unit
    assert unit is not None
    if unit == PERSON:
        goal = row_target(goal, schema.rows_per_person)
    rate = _exact_rate(goal, len(schema.numeric)) if exact_rate is None else exact_rate
    if unit == "attribute":
        spent = bounds_privacy(schema.bounds, unit)
        keep, ratio = {name: _attribute_keep(levels, goal, spent) for name, levels in _levels(schema).items()}, None
    else:
        keep, ratio = _split(schema, goal, rate) if schema.categorical else ({}, None)
    if not schema.numeric:
        return Mechanism(schema, keep=keep, target=asked_for)
    _refuse_floor(goal, rate)
    problem = _problem(schema, goal, unit, rate, keep)
    scale = problem.scale(problem.solve(_FINE, ratio))
    make = partial(Mechanism, schema, exact_rate=rate, keep=keep or None, target=asked_for)
    return _settle(make, scale, asked_for, unit)


def _warned(mechanism: Mechanism, records: int | None, shuffled: int | None = None) -> Mechanism:
    """Warn of noise that drowns the records, and of a delta that gives some of them away."""
    warn_useless(mechanism, records)
    warn_delta(mechanism.target, shuffled if records is None else records)
    return mechanism


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
    return {name: factor for block in mechanism.blocks for name, factor in block.inflation().items()}


def _levels(schema: Schema) -> dict[str, int]:
    return {name: c.outcomes for name, c in schema.columns.items() if isinstance(c, Categorical)}


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


def _attribute_keep(levels: int, goal: Target, spent: PrivacyProfile) -> float:
    """Return the largest keep with which one category meets the target.

    Without the sampler's error it would meet (epsilon, delta) up to `keep + (1 - keep)(1 - e^epsilon)/levels = delta`,
    and its trade-off is three lines: to meet (alpha, beta) is to meet one of three pairs.
    """

    def profile_of(keep: float) -> PrivacyProfile:
        return compose(ResponseBlock(("",), levels, keep).guarantee("attribute"), spent)

    if goal.alpha is not None and goal.beta is not None:
        alpha, beta = goal.alpha, goal.beta
        pairs = [((1 - beta) / alpha, 0.0), ((1 - alpha) / max(beta, MIN_RATE), 0.0), (1.0, 1 - alpha - beta)]
    else:
        pairs = [(math.exp(goal.epsilon or 0.0), goal.delta or goal.advantage or 0.0)]
    guesses = [(delta + (odds - 1) / levels) / (1 + (odds - 1) / levels) for odds, delta in pairs]
    near = max(*guesses, MIN_RATE)
    try:
        return solve_parameter(profile_of, goal, MIN_RATE, 1 - 1e-9, tolerance=_FINE, near=near, within=_FINE)
    except InfeasibleError:
        return 0.0  # a category that is always redrawn meets every target


def _categories(schema: Schema, keep: dict[str, float]) -> PrivacyProfile:
    """Return what the categories give away of a record, and bounds that were learnt from it."""
    blocks = [Response(keep[name]).on({name: schema.columns[name]}) for name in schema.categorical]
    return compose(*(block.guarantee("record") for block in blocks), bounds_privacy(schema.bounds, "record"))


def _problem(schema: Schema, goal: Target, unit: str, rate: float, keep: dict[str, float]) -> ShiftProblem:
    """Say what the numeric block must meet, given everything else."""
    dim = len(schema.numeric)
    if unit == "attribute":  # the other blocks are the same for both neighbours
        return ShiftProblem(goal, dim, 1.0, rate, bounds_privacy(schema.bounds, unit))
    return ShiftProblem(goal, dim, math.sqrt(dim), rate, _categories(schema, keep))


def _settle(make: Callable[..., Mechanism], scale: float, goal: Target, unit: str) -> Mechanism:
    """Step up from the solved scale until the profile that will be reported meets the target: the last of rounding.

    For people with several rows it is solved for a row's share of the target, and less noise may meet the whole of it.
    """
    if unit == PERSON:
        most = 1 / scale

        def narrower(shift: float) -> PrivacyProfile:
            return make(scale=1 / shift).privacy(unit)

        scale = 1 / solve_parameter(narrower, goal, most, WIDER * most, tolerance=_ROUGH / 30, near=1.2 * most)
    step = _FINE / 64
    while goal.room((mechanism := make(scale=scale)).privacy(unit)) < 0:
        scale, step = scale * (1 + step), 2 * step
        if step > 1e-2:
            raise InfeasibleError(f"{goal} cannot be met", hint="the sampler's own error is as large as delta")
    return mechanism


def _refuse_floor(goal: Target, rate: float, *, others: bool = False) -> None:
    """Refuse a target below its floor, or on it where others must have a share as well."""
    most = goal.delta if goal.delta is not None else goal.advantage
    if most is not None and (most < rate or (others and most == rate)):
        what = "delta" if goal.delta is not None else "advantage"
        raise InfeasibleError(
            f"{goal} cannot be met with exact_rate {rate:g}: {what} has its floor there",
            hint=f"nearest that can: {what} above {rate:g}, or an exact_rate below {most:g}",
        )


def _split(schema: Schema, goal: Target, rate: float) -> tuple[dict[str, float], float | None]:
    """Split one budget between numbers and categories: what these keep, and a guess for `ShiftProblem.solve`."""
    levels = _levels(schema)

    def keeps(each: float) -> dict[str, float]:
        """Return keep such that each category alone has pure epsilon `each`."""
        return {name: 1 / (1 + k / math.expm1(each)) for name, k in levels.items()}

    def alone(each: float) -> PrivacyProfile:
        """Return the guarantee if the numbers had no end of noise: their exact rate stays."""
        return zero_inflated(_categories(schema, keeps(each)), rate if schema.numeric else 0.0)

    if schema.numeric:
        _refuse_floor(goal, rate, others=True)
    tolerance = _ROUGH if schema.numeric else _FINE  # what numbers share is only a rule of thumb
    most = solve_parameter(alone, goal, MIN_EPSILON, MAX_EPSILON, tolerance=tolerance)
    if not schema.numeric:
        return keeps(most), None
    rough = _as_pair(goal, rate)
    ratios: dict[float, float] = {}  # of the exact shift to the limit's: a smooth function of the log odds

    def cost(log_odds: float) -> float:
        keep = keeps(most / (1 + math.exp(-log_odds)))
        problem = _problem(schema, rough, "record", rate, keep)
        try:
            ratio = _line(ratios, log_odds)
            if not ratios or not min(ratios) <= log_odds <= max(ratios):  # a guess, no more
                ratio = problem.solve(_ROUGH, ratio) / problem.bracket[0]
                ratios[log_odds] = ratio
            assert ratio is not None
            return _cost(Mechanism(schema, problem.scale(ratio * problem.bracket[0]), rate, keep))
        except InfeasibleError:
            return math.inf

    start = 1.3 * math.log(len(levels)) - 0.75 * math.log(len(schema.numeric))  # near the best of many scans
    best = _least(cost, start, STEP)
    return keeps(most / (1 + math.exp(-best))), _line(ratios, best)


def _as_pair(goal: Target, rate: float) -> Target:
    """Return the pair (epsilon, delta) that touches an (alpha, beta) target halfway: quick, and enough to compare."""
    if goal.alpha is None or goal.beta is None or not 0 < goal.alpha < goal.beta:
        return goal
    epsilon = 0.5 * math.log(goal.beta / goal.alpha)
    delta = 1 - goal.beta - goal.alpha * math.exp(epsilon)
    return target(epsilon, delta) if delta > 1.1 * rate else goal


def _line(known: dict[float, float], at: float) -> float | None:
    """Return a value by the line, in logs, through the two nearest that are known; what there is if there are fewer."""
    near = sorted(known, key=lambda x: abs(x - at))[:2]
    if len(near) < 2:
        return known[near[0]] if near else None
    share = (at - near[0]) / (near[1] - near[0])
    return float(known[near[0]] ** (1 - share) * known[near[1]] ** share)


def _cost(mechanism: Mechanism) -> float:
    inflation = variance_inflation(mechanism).values()
    return sum(math.log(value) for value in inflation) / len(inflation)


def _least(cost: Callable[[float], float], start: float, step: float) -> float:
    """Walk downhill from a start to a valley, and return the bottom of the parabola through it."""
    left, right, here = ((x, cost(x)) for x in (start - step, start + step, start))
    for _ in range(STEPS):
        if left[1] < here[1] - FLAT:
            left, here, right = (left[0] - step, cost(left[0] - step)), left, here
        elif right[1] < here[1] - FLAT:
            left, here, right = here, right, (right[0] + step, cost(right[0] + step))
        else:
            break
    bend = left[1] - 2 * here[1] + right[1]
    return here[0] + 0.5 * step * (left[1] - right[1]) / bend if 0 < bend < math.inf else here[0]
