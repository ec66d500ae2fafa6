"""`plan`: the precision of an analysis under a privacy target, and the privacy that a wanted precision costs.

Without a formula candidates for a target are compared (`release/target/plan.py`). With one, the result is about its
coefficients: the least epsilon for wanted standard errors, or the standard errors and intervals at a given epsilon; by
simulated people, never from private data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from versadp import inputs
from versadp.display.tables import render
from versadp.errors import ParameterError
from versadp.estimation import Outcome
from versadp.planning.assumptions import Assumptions
from versadp.planning.options import Found, Way, as_dict, least_epsilon, ways
from versadp.planning.precision import FITS, SIMULATION, precision
from versadp.planning.simulate import make_people
from versadp.release.target.candidate import candidates
from versadp.release.target.person import unit_of
from versadp.release.target.plan import cheapest, compared_layouts
from versadp.release.target.plan import plan as plan_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from versadp.planning.raw_precision import Raw
    from versadp.planning.simulate import People
    from versadp.release.mechanism import Mechanism
    from versadp.schema import Schema

    Array = NDArray[np.float64]

_SEARCHED = 1  # fits per evaluation while epsilon is searched for: chosen; the result is evaluated with `fits` again


@dataclass(frozen=True)
class ModelPlan:
    """The privacy cost of the precision of a model, made by `plan`; `print` shows a page of text.

    Attributes
    ----------
    names : tuple of str
        The coefficients.
    target_se : dict of str to float
        The wanted standard errors; empty if epsilon was given.
    raw : array (p,)
        Standard errors without noise.
    found : tuple of Found
        One per way: the least epsilon (or the given one), mechanism and precision, or why there is none.
    assumed : tuple of str
        The assumptions about the simulated people, in words.
    """

    formula: str
    loss: str
    unit: str
    records: int
    names: tuple[str, ...]
    coefficients: Array
    target_se: dict[str, float]
    raw: Array
    found: tuple[Found, ...]
    assumed: tuple[str, ...]

    def __getitem__(self, name: str) -> Mechanism:
        """Return the mechanism of a way."""
        known = {each.way.name: each.mechanism for each in self.found if each.mechanism is not None}
        if name not in known:
            raise ParameterError(
                f"the plan has no mechanism {name!r}", hint=f"choose from {', '.join(known) or 'none'}"
            )
        return known[name]

    @property
    def epsilon(self) -> dict[str, float]:
        """The epsilon of each way that is possible."""
        return {each.way.name: each.epsilon for each in self.found if each.epsilon is not None}

    def bse(self, name: str) -> dict[str, float]:
        """Return the standard errors of a way, by coefficient."""
        got = next((each.precision for each in self.found if each.way.name == name), None)
        if got is None:
            raise ParameterError(f"the plan has no standard errors of {name!r}", hint=f"of {', '.join(self.epsilon)}")
        return dict(zip(self.names, got.se.tolist(), strict=True))

    def ways(self) -> list[dict[str, Any]]:
        """Return the ways as rows of a table."""
        rows = []
        for each in self.found:
            if each.precision is not None:
                row = as_dict(each) | {"se": "", "by": each.precision.how}
                off = float(np.nanmax(np.where(np.isfinite(each.precision.error), each.precision.error, 0.0)))
                row["se"] = f"±{200 * off:.2g}%"
                rows.append(row)
        return rows

    def table(self) -> list[dict[str, Any]]:
        """Return the coefficients as rows of a table: standard errors and widths of 95% intervals."""
        rows = []
        for j, name in enumerate(self.names):
            row: dict[str, Any] = {"coefficient": name, "assumed": float(self.coefficients[j])}
            row |= {"wanted": self.target_se.get(name)} if self.target_se else {}
            row["raw"] = float(self.raw[j])
            for each in self.found:
                if each.precision is not None:
                    se = float(each.precision.se[j])
                    row[each.way.name] = se if np.isfinite(se) else None
                    row[f"{each.way.name}: width"] = float(each.precision.width[j]) if np.isfinite(se) else None
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain numbers and words."""
        return {
            "formula": self.formula,
            "loss": self.loss,
            "unit": self.unit,
            "records": self.records,
            "target_se": self.target_se,
            "ways": [as_dict(each) | _precision(each) for each in self.found],
            "coefficients": self.table(),
            "assumed": list(self.assumed),
        }

    def __str__(self) -> str:
        wanted = ", ".join(f"{name} {value:g}" for name, value in self.target_se.items())
        what = f"the least epsilon for standard errors of at most: {wanted}" if wanted else "standard errors"
        parts = [f"{self.formula}, {self.loss} loss, {self.records:,} records, protecting one {self.unit}: {what}."]
        shown = [
            {
                "way": each.way.name,
                "epsilon": each.epsilon,
                "±": None if each.epsilon_error is None else 2 * each.epsilon_error,
                "delta": each.way.delta,
                "among": each.way.shuffled,
                "by": each.precision.how,
                "own error of standard errors": _off(each),
            }
            for each in self.found
            if each.precision is not None
        ]
        if shown:
            parts.append(render(shown))
        parts += [f"{each.way.name}: not possible: {each.refused}." for each in self.found if each.precision is None]
        parts += [_doubt(each) for each in self.found if each.precision is not None and _doubt(each)]
        if shown:
            words = "Standard errors, and widths of 95% intervals (raw: of a fit without noise)"
            parts.append(f"{words}:\n\n{render(self.table())}")
        parts.append(
            "Assumed of made-up people (nothing was read off data):\n" + "\n".join(f"  {x}" for x in self.assumed)
        )
        return "\n\n".join(parts)


def _off(found: Found) -> str:
    assert found.precision is not None
    error = found.precision.error
    return f"±{200 * float(np.nanmax(error)):.2g}%" if np.isfinite(error).any() else "not known"


def _doubt(found: Found) -> str:
    """Return a warning about fits that were weak or failed, empty if none were."""
    got = found.precision
    assert got is not None
    if got.lost:
        return f"{found.way.name}: {got.lost:.0%} of made-up fits had no estimate of some coefficient."
    if got.weak:
        return f"{found.way.name}: {got.weak:.0%} of made-up fits were weak: their intervals stand for standard errors."
    return ""


def _precision(found: Found) -> dict[str, Any]:
    got = found.precision
    if got is None:
        return {}
    plain = [None if not np.isfinite(x) else float(x) for x in got.error]
    return {"by": got.how, "relative_error": plain, str(Outcome.WEAK): got.weak, "lost": got.lost}


def plan(
    schema: Schema,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    unit: str | None = None,
    shuffled: int | None = None,
    exact_rate: float | None = None,
    advantage: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    rows: int | None = None,
    formula: str | None = None,
    records: int | None = None,
    target_se: Mapping[str, float] | None = None,
    loss: Any = "squared",
    assume: Mapping[str, Any] | str | Path | None = None,
    noise: str = "auto",
    fits: int = FITS,
    random_state: int = 0,
    totals: bool | float = False,
    columns_per_term: int | Literal["auto"] | None = "auto",
) -> Any:
    """Return a comparison of mechanisms for a target, or the privacy cost of the precision of a model.

    Without a formula: candidates for a target, side by side. With one: standard errors of its coefficients under a
    given epsilon, or the least epsilon for a wanted `target_se`. In closed form for linear regression through windows,
    by fits to releases of made-up people otherwise; private data are never looked at.

    Parameters
    ----------
    schema : Schema
    epsilon, delta, unit, shuffled, exact_rate, advantage, alpha, beta
        The target, as in `calibrate`. With a `target_se` epsilon is what is searched for; delta is then that of a
        shuffled release (1e-6 if it is left open) and of Laplace noise (0.05 likewise), and `shuffled` is the number of
        records, unless public columns split them into groups.
    rows : int, optional
        Number of records, to say how many come out unchanged and which columns are lost.
    formula : str, optional
        The model, such as `"y ~ age + income"`.
    records : int, optional
        How many records will be released: needed with a formula.
    target_se : mapping of str to float, optional
        The largest standard error of each coefficient that matters.
    loss : str or loss
        As in `fit`: "squared", "logistic", "check", "huber", "hinge", "poisson".
    assume : mapping or path of a TOML file, optional
        What is stated of the people: `marginals` (mean and sd, quantiles, shares of levels), `correlations`,
        `coefficients`, `residual`; see `docs/guides/planning.md`. What is left open is filled by rules, which are
        printed.
    noise : {"auto", "window", "zil"}
        With a `target_se`, which noise is looked at. "auto" is windows, pure and shuffled, and Laplace noise beside
        them if a delta of at least a thousandth is given.
    fits : int
        Made-up releases for each figure that is simulated.
    random_state : int
        Of the made-up people.
    totals : bool or float
        As in `calibrate`: also show the default with noisy totals beside the records.
    columns_per_term : int, None or "auto"
        Without a formula: how many private columns models may have at most, as in `calibrate`.

    Returns
    -------
    Plan or ModelPlan

    Examples
    --------
    >>> from versadp import Bounded, Schema, calibrate
    >>> schema = Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5)})
    >>> p = plan(schema, epsilon=8.0)
    >>> p.default, p["one joint window"] == calibrate(schema, epsilon=8.0)
    ('one joint window', True)
    >>> p = plan(schema, formula="income ~ age", records=100_000, target_se={"age": 50})
    >>> p.epsilon["windows"] > p.epsilon["windows, shuffled"]
    True
    """
    goal: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "advantage": advantage, "alpha": alpha, "beta": beta}
    if formula is None:
        if records is not None or target_se is not None or assume is not None:
            raise ParameterError("records, target_se and assume are about a model", hint='give formula="y ~ age"')
        return plan_target(
            schema,
            **goal,
            unit=unit,
            shuffled=shuffled,
            exact_rate=exact_rate,
            rows=rows,
            totals=totals,
            columns_per_term=columns_per_term,
        )
    if totals is not False:
        raise ParameterError("a plan of a model is about records alone", hint="leave out totals, or formula")
    unit = unit_of(schema, unit)
    count = inputs.whole("records", records if records is not None else rows, 2)
    given = {name: value for name, value in goal.items() if value is not None}
    if (target_se is None) == (not set(given) - {"delta"}):
        raise ParameterError(
            "give what is wanted or what is given: target_se, or a privacy target",
            hint='target_se={"age": 0.01}, or epsilon=4',
        )
    people = make_people(schema, formula, loss, Assumptions.read(assume))
    raw = people.raw()
    look = partial(precision, people, records=count, theta=raw.theta, seed=random_state)
    if target_se is not None:
        among = None if shuffled is None else inputs.whole("shuffled", shuffled, 1)
        options = ways(schema, unit=unit, delta=delta, shuffled=among, records=count, noise=noise)
        found = _searched(options, _wanted(target_se, people, raw, count), look, fits)
    else:
        layout = {"shuffled": shuffled, "exact_rate": exact_rate}
        found = _at_target(schema, given, unit, layout, partial(look, fits=fits))
    wanted = {} if target_se is None else {str(name): float(value) for name, value in target_se.items()}
    return ModelPlan(
        formula,
        people.loss.name,
        unit,
        count,
        people.design.names,
        raw.theta,
        wanted,
        raw.bse(count),
        tuple(found),
        people.notes,
    )


def _searched(options: Iterable[Way], wanted: Array, look: Callable[..., Any], fits: int) -> list[Found]:
    """Return for each option the least epsilon that gives the wanted standard errors."""
    found = []
    for way in options:
        each = least_epsilon(way, wanted, partial(look, fits=_SEARCHED))
        if each.mechanism is not None and each.precision is not None and each.precision.how == SIMULATION:
            each.precision = look(each.mechanism, fits=fits)
        found.append(each)
    return found


def _at_target(
    schema: Schema, given: dict[str, Any], unit: str, layout: dict[str, Any], look: Callable[..., Any]
) -> list[Found]:
    """Return the candidates for a privacy target, each with the precision of the model."""
    options = {name: value for name, value in layout.items() if value is not None}
    chosen, found = cheapest(compared_layouts(schema, given, unit, options)), []
    for candidate in candidates(schema, given, unit=unit, chosen=chosen, **layout):
        way = Way(candidate.name, unit, float(given.get("delta") or 0.0), layout["shuffled"])
        got = None if candidate.mechanism is None else look(candidate.mechanism)
        found.append(Found(way, given.get("epsilon"), candidate.mechanism, got, refused=candidate.refused))
    return found


def _wanted(target_se: Mapping[str, float], people: People, raw: Raw, records: int) -> Array:
    """Return the wanted standard error of each coefficient; raise if not even raw data reach it."""
    names = people.design.names
    wanted = np.full(len(names), np.inf)
    for name, value in target_se.items():
        if name not in names:
            raise ParameterError(f"the model has no coefficient {name!r}", hint=f"it has {', '.join(names)}")
        wanted[names.index(name)] = inputs.number(
            f"the target_se of {name!r}", value, 0, np.inf, open_low=True, open_high=True
        )
    if not np.isfinite(wanted).any():
        raise ParameterError("target_se names no coefficient", hint='e.g. target_se={"age": 0.01}')
    short = raw.bse(records) / wanted
    if short.max() >= 1:
        j = int(np.argmax(short))
        raise ParameterError(
            f"{records:,} records give {names[j]!r} a standard error of {raw.bse(records)[j]:.4g} even without noise",
            hint=f"{wanted[j]:g} needs at least {int(np.ceil(records * short[j] ** 2)):,} records",
        )
    return wanted
