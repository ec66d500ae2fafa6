"""Plan of a release: candidates side by side, as facts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal

from versadp import inputs
from versadp.errors import ParameterError
from versadp.privacy import target
from versadp.release.target.budget import LOST, cost_of_bounds, cost_of_columns, cost_of_missing, wide_ranges
from versadp.release.target.calibrate import asked_columns, calibrate, variance_inflation
from versadp.release.target.candidate import LAPLACE, Candidate, candidates
from versadp.release.target.layouts import EACH, JOINT, Given, Layout
from versadp.release.target.person import unit_of, units_of
from versadp.release.target.text import fitted_lines, fitted_table
from versadp.release.target.usefulness import ADVICE, useless
from versadp.release.target.windows import compare_layouts
from versadp.release.totals.wording import totals_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from versadp.release.mechanism import Mechanism
    from versadp.schema import Schema

EPSILONS = (1.0, 4.0, 8.0)
FALSE_ALARMS = (0.01, 0.05)
BESIDE = " and totals"
_TOTALS = (
    "Totals beside the records serve means, shares, tables, regressions and all that depends on one or two columns "
    "at a time; what depends on three and more pays: the standard errors above are those of the records alone."
)
WIDEST_LIST = 50  # characters of a list of columns, so that a line stays below 100
_WHAT = {"mean": "the mean", "slope": "a slope", "median": "the median", "share": "a level's share"}
_EACH_ATTRIBUTE = "every attribute gets all of epsilon; one joint window would spend it on the whole record"
_WHY = {
    JOINT: "one window for all columns spends epsilon once, where one a column would have to share it out",
    LAPLACE: "a delta pays for records that are released unchanged, and these serve every loss",
}


@dataclass(frozen=True)
class Plan:
    """Candidates for one target, and where the budget goes; made by `plan`. Printed it is a page of text.

    Attributes
    ----------
    candidates : tuple of Candidate
    default : str
        The name of the one that `calibrate` takes.
    why : str
        The reason for it.
    columns : list of dict
        What each numeric column more costs (`cost_of_columns`), under the default.
    bounds : list of dict
        What bounds twice as wide cost (`cost_of_bounds`), under the default.
    warnings : list of str
    layouts : list of dict
        The layouts of windows that `calibrate` compared: each with its groups of columns and by how much its noise
        multiplies standard errors, as a geometric mean (`docs/theory/calibration.md`); None where there is no such
        layout.
    missing : list of dict
        What each `nullable=True` costs (`cost_of_missing`), under the default.
    """

    unit: str
    goal: dict[str, Any]
    shuffled: int | None
    rows: int | None
    candidates: tuple[Candidate, ...]
    default: str
    why: str
    columns: list[dict[str, Any]]
    bounds: list[dict[str, Any]]
    warnings: list[str]
    layouts: list[dict[str, Any]] = field(default_factory=list)
    missing: list[dict[str, Any]] = field(default_factory=list)

    def __getitem__(self, name: str) -> Mechanism:
        """Return a candidate's mechanism."""
        mechanism = {each.name: each.mechanism for each in self.candidates}.get(name)
        if mechanism is None:
            known = ", ".join(repr(each.name) for each in self.candidates if each.mechanism is not None)
            raise ParameterError(f"the plan has no mechanism {name!r}", hint=f"choose from {known}")
        return mechanism

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain numbers and words."""
        delta = float(self.goal.get("delta") or 0.0)
        return {
            "unit": self.unit,
            "target": self.goal,
            "shuffled": self.shuffled,
            "rows": self.rows,
            "default": self.default,
            "why": self.why,
            "candidates": [each.to_dict(delta, self.shuffled) for each in self.candidates],
            "columns": self.columns,
            "bounds": self.bounds,
            "warnings": self.warnings,
            "layouts": self.layouts,
            "missing": self.missing,
        }

    def table(self) -> list[dict[str, Any]]:
        """Return the facts about all candidates as rows of a table, one column a candidate."""
        return [row for rows in self._sections().values() for row in rows]

    def _sections(self) -> dict[str, list[dict[str, Any]]]:
        """Return the facts by what they are about."""
        real = {each.name: each.mechanism for each in self.candidates if each.mechanism is not None}
        data = {each["name"]: each for each in self.to_dict()["candidates"]}
        return {
            "What is shown": _beside({name: _noise(each, self.rows) for name, each in real.items()}),
            "What is protected": _beside(
                {name: _protection(each) + _met(data[name]["privacy"]) for name, each in real.items()}
            ),
            "What it costs an analyst": _beside(
                {name: _records(each) + _errors(data[name]["costs"]) for name, each in real.items()}
            ),
        }

    def __str__(self) -> str:
        parts = [f"Candidates for protecting one {self.unit}:"]
        for title, rows in self._sections().items():
            titled = [{title: row["fact"]} | {name: row[name] for name in row if name != "fact"} for row in rows]
            parts.append(fitted_table(titled))
        parts += [f"{each.name}: not possible: {each.refused}" for each in self.candidates if each.mechanism is None]
        parts += [_served(each) for each in self.candidates if each.mechanism is not None]
        parts.append(f"The default is {self.default}: {self.why}.")
        if len(self.layouts) > 1:
            words = "Layouts compared (standard errors of means, second moments and slopes, times raw, on average)"
            parts.append(f"{words}:\n\n{fitted_table([_shown(each) for each in self.layouts])}")
        if len(self.columns) > 1:
            parts.append(
                f"What each numeric column more costs (standard errors, times raw):\n\n{fitted_table(self.columns)}"
            )
        if self.missing:
            words = "What each nullable=True costs (times the standard error without it, of the values that are there)"
            parts.append(f"{words}:\n\n{fitted_table(self.missing)}")
        if self.bounds:
            words = "Bounds are the budget (standard errors, times raw; standard deviations in widths)"
            parts.append(f"{words}:\n\n{fitted_table(self.bounds)}")
        parts += self.warnings
        parts.append(
            "Standard errors are those of the plain corrections, for values spread evenly over their bounds and\n"
            "an R² of ½; for Laplace noise method 'efficient' does better. A median is to a twentieth of the width."
        )
        return "\n\n".join(map(fitted_lines, parts))


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
    totals: bool | float = False,
    columns_per_term: int | Literal["auto"] | None = "auto",
) -> Plan:
    """Show what meets a target, side by side: what is shown, protected and served, and what it costs an analyst.

    Parameters
    ----------
    schema : Schema
    epsilon, delta, unit, shuffled, exact_rate, advantage, alpha, beta, columns_per_term
        The target, and what analysts will ask for, as in `calibrate`.
    rows : int, optional
        Number of records, to say how many come out unchanged and which columns are lost.
    totals : bool or float
        As in `calibrate`: then the default with noisy totals is a candidate of its own, with what it costs the records.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> schema = Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5)})
    >>> p = plan(schema, epsilon=8.0)
    >>> p.default, [round(row["mean"], 2) for row in p.columns]
    ('one joint window', [1.01, 1.03, 1.08])
    >>> p["one joint window"] == calibrate(schema, epsilon=8.0)
    True
    """
    unit = unit_of(schema, unit)
    rows = None if rows is None else inputs.whole("rows", rows, 1)
    given = {"epsilon": epsilon, "delta": delta, "advantage": advantage, "alpha": alpha, "beta": beta}
    goal: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    options: dict[str, Any] = {
        name: value for name, value in (("shuffled", shuffled), ("exact_rate", exact_rate)) if value is not None
    }
    if totals is not False and columns_per_term == "auto":
        columns_per_term = None  # totals are beside records that give all columns
    options |= {} if columns_per_term == "auto" else {"columns_per_term": columns_per_term}
    chosen = calibrate(schema, **goal, **options, unit=unit)  # what is wrong with a target is said here
    compared = compared_layouts(schema, goal, unit, options)
    best = cheapest(compared)
    found = candidates(schema, goal, unit=unit, shuffled=shuffled, exact_rate=exact_rate, chosen=best)
    default = next((each.name for each in found if each.mechanism == chosen), EACH)
    bounds = cost_of_bounds(chosen, rows)
    columns = cost_of_columns(schema, goal | options, unit=unit) if schema.numeric else []
    reason = _why(default, found, compared, unit)
    told = [*_groups(schema, shuffled), *_warnings(bounds, rows), *wide_ranges(chosen)]
    if rows is not None and (why := useless(chosen, rows)):
        told.insert(0, f"Useless: {why}.\nWhat helps: {ADVICE}.")
    layouts = [_facts(each) for each in compared]
    missing = cost_of_missing(chosen)
    if totals is not False:
        beside = calibrate(schema, **goal, **options, unit=unit, totals=totals)
        found = [*found, Candidate(f"{default}{BESIDE}", beside)]
        told.append(_TOTALS)
    return Plan(unit, goal, shuffled, rows, tuple(found), default, reason, columns, bounds, told, layouts, missing)


def compared_layouts(schema: Schema, goal: Mapping[str, Any], unit: str, options: Mapping[str, Any]) -> list[Layout]:
    """Return the layouts that `calibrate` compared; none where its noise is not windows."""
    if "epsilon" not in goal or "exact_rate" in options:
        return []
    among = options.get("shuffled")
    some = asked_columns(options.get("columns_per_term", "auto"), among)
    return compare_layouts(schema, target(goal["epsilon"], goal.get("delta", 0.0)), unit, among, columns_per_term=some)


def cheapest(compared: list[Layout]) -> Layout | None:
    """Return the layout that `calibrate` takes; None if there is none."""
    return min(compared, key=lambda each: each.needed, default=None)


def _facts(layout: Layout) -> dict[str, Any]:
    groups = [layout.groups.columns] if isinstance(layout.groups, Given) else layout.groups
    windows = [[names] if isinstance(names, str) else list(names) for names in groups]
    cost = layout.cost if math.isfinite(layout.cost) else None
    return {"layout": layout.name, "windows": windows, "standard errors, times raw": cost}


def _shown(layout: Mapping[str, Any]) -> dict[str, Any]:
    """Return a layout as a row of text; one window, or one a column, needs no list of columns."""
    windows, cost = layout["windows"], layout["standard errors, times raw"]
    listed = "" if layout["layout"] in (EACH, JOINT) else " | ".join(", ".join(names) for names in windows)
    shown = "not possible" if cost is None else f"{cost:.3g}"
    return {"layout": layout["layout"], "times raw": shown, "windows": shorten(listed, WIDEST_LIST, placeholder=" ...")}


def _why(default: str, found: list[Candidate], compared: list[Layout], unit: str) -> str:
    """Return why the default is the default, and what would cost less in slopes."""
    reason = _WHY.get(default, "it costs least of the layouts compared")
    for each in compared:
        if each.name == default and isinstance(each.groups, Given):
            most = each.groups.count
            reason += f"; models, tables and quantiles can have at most {most} private columns, linear models any"
    if default == EACH:
        reason = _EACH_ATTRIBUTE if unit == "attribute" else "all columns in one window would seldom be kept"
        if len(compared) == 1 and unit != "attribute":
            reason = "there is one private column"
    slopes = {
        each.name: max((cost.get("slope") or 0.0 for cost in each.costs().values()), default=0.0) for each in found
    }
    best = min((name for name, slope in slopes.items() if slope), key=slopes.__getitem__, default=default)
    if best == default or slopes[best] > 0.9 * slopes[default]:
        return reason
    less = f"{best} costs less in slopes ({slopes[best]:.3g} against {slopes[default]:.3g} times raw)"
    return f"{reason}; {less}"


def _groups(schema: Schema, shuffled: int | None) -> list[str]:
    """Return what public columns do to a shuffle."""
    if shuffled is None or not (schema.public or schema.public_patterns):
        return []
    words = f"Public columns split the records: each group must have at least {shuffled:,} with equal public values,"
    return [f"{words} or the release is refused."]


def _warnings(bounds: list[dict[str, Any]], rows: int | None) -> list[str]:
    """Return which columns are likely to be lost."""
    found = []
    among = "" if rows is None else f" among {rows:,} records"
    for row in bounds:
        for what in ("mean", "slope"):
            least = row[f"{what} lost below a standard deviation of"]
            if least is None:
                found.append(f"Likely lost: the {what} of {row['column']}, even if it fills its bounds{among}.")
            elif what == "slope" and least > 0.02:
                words = f"The slope of {row['column']} is likely lost{among} if its standard deviation is below"
                found.append(f"{words} {100 * least:.2g}% of its width: narrower bounds are the cure.")
    return found


def _served(candidate: Candidate) -> str:
    assert candidate.mechanism is not None
    served: dict[str, list[str]] = {}
    for block in candidate.mechanism.blocks:
        served.setdefault(block.serves(), []).extend(block.columns)
    words = "; ".join(f"{what} ({', '.join(columns)})" for what, columns in served.items())
    return f"{candidate.name} serves: {words}."


def compare(candidates: Mapping[str, Mechanism], rows: int | None = None) -> list[dict[str, Any]]:
    """Return the facts about each candidate as rows of a table, one column a candidate.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> mech = Mechanism(Schema({"age": Bounded(18, 90)}), scale=0.5, exact_rate=0.02)
    >>> compare({"A": mech}, rows=1000)[0]
    {'fact': 'noise in age (standard deviation)', 'A': '±36'}
    """
    return _beside({name: _noise(each, rows) + _protection(each) + _records(each) for name, each in candidates.items()})


# facts ---------------------------------------------------------------------------------------------------------------

_Facts = list[tuple[str, str]]


def _beside(facts: Mapping[str, _Facts]) -> list[dict[str, Any]]:
    """Return a row a fact, with what each candidate has to say of it."""
    said = {name: dict(each) for name, each in facts.items()}
    every = dict.fromkeys(fact for each in said.values() for fact in each)
    return [{"fact": fact, **{name: each.get(fact, "") for name, each in said.items()}} for fact in every]


def _noise(mechanism: Mechanism, rows: int | None) -> _Facts:
    facts = [fact for block in mechanism.blocks for fact in block.facts(rows).items()]
    return facts + list(totals_facts(mechanism).items())


def _protection(mechanism: Mechanism) -> _Facts:
    facts = []
    for unit in units_of(mechanism.schema):
        profile = mechanism.privacy(unit)
        for epsilon, delta in zip(EPSILONS, profile.delta(list(EPSILONS)), strict=True):
            facts.append((f"{unit}: delta at epsilon {epsilon:g}", f"{delta:.3g}"))
        for alarms, beta in zip(FALSE_ALARMS, profile.beta(list(FALSE_ALARMS)), strict=True):
            words = f"{unit}: at {alarms:.0%} false alarms the best attacker finds at most"
            facts.append((words, f"{100 * (1 - beta):.3g}%"))
    return facts


def _met(privacy: Mapping[str, Mapping[str, Any]]) -> _Facts:
    """Return epsilons at the delta of the target, and what a shuffle adds."""
    facts = []
    for way, units in privacy.items():
        for unit, figures in units.items():
            shown = "none" if figures["epsilon"] is None else f"{figures['epsilon']:.4g}"
            facts.append((f"{unit}, {way}: epsilon at delta {figures['delta']:g}", shown))
            if way == "shuffled":
                words = (
                    f"{unit}, shuffled: at {figures['false alarms']:.0%} false alarms the best attacker finds at most"
                )
                facts.append((words, f"{100 * figures['found']:.3g}%"))
    return facts


def _records(mechanism: Mechanism) -> _Facts:
    facts = []
    for name, factor in variance_inflation(mechanism).items():
        what = "share of a level" if name in mechanism.schema.categorical else "mean"
        facts.append((f"records needed for the {what} of {name}, times raw", f"{factor:,.3g}"))
    return facts


def _errors(costs: Mapping[str, Mapping[str, float | None]]) -> _Facts:
    facts = []
    for name, of in costs.items():
        for what, value in of.items():
            shown = "lost" if value is None or value > 100 * LOST else f"{value:.3g}"
            facts.append((f"standard error of {_WHAT[what]} of {name}, times raw", shown))
    return facts
