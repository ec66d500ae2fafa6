"""Real data: what a release says beside the raw fit, and three published tables made again from a strict release.

    sensible   (4, 1e-6) for a whole record, by a release that is shuffled
    strict     (1, 1e-6), the same

One release serves all analyses of a data set at a level. Its noise follows from the seed, so that pictures can be
made again.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import versadp as vdp
from versadp_experiments.baselines import drawing
from versadp_experiments.baselines.datasets import DATASETS

Row = dict[str, Any]
MOST_TRIED = 10  # a weak fit with more coefficients is looked for in vain, for minutes
LEVELS = {"sensible": (4.0, 1e-6), "strict": (1.0, 1e-6)}


@dataclass(frozen=True)
class Analysis:
    """A model of a data set; `plain` is how statsmodels writes it, if not in the same way."""

    data: str
    formula: str
    loss: Any = "squared"
    plain: str | None = None

    @property
    def title(self) -> str:
        """Loss and formula."""
        name = self.loss if isinstance(self.loss, str) else "median"
        return f"{name}: {self.formula}"


ANALYSES = (
    Analysis(
        "marriages",
        "I(unfaithful == 1) ~ C(religious) + rate_marriage + yrs_married",
        "logistic",
        "unfaithful ~ C(religious) + rate_marriage + yrs_married",
    ),
    Analysis(
        "care", "mdvis ~ C(health) + lncoins + disea", "squared", "mdvis ~ C(health, levels=LEVELS) + lncoins + disea"
    ),
    Analysis(
        "care",
        "I(visited == 1) ~ C(health) + lncoins + disea",
        "logistic",
        "visited ~ C(health, levels=LEVELS) + lncoins + disea",
    ),
    Analysis("pensions", "wealth ~ C(p401k) + inc + age"),
    Analysis("pensions", "inc ~ C(marr) + age", vdp.losses.Check(0.5)),
    Analysis("care", "disea ~ C(health)", vdp.losses.Check(0.5), "disea ~ C(health, levels=LEVELS)"),
)


@dataclass(frozen=True)
class Printed:
    """A published table: the model (categories first, as patsy orders them), what was printed, and in which unit."""

    source: str
    data: str
    formula: str
    printed: tuple[tuple[float, float], ...]
    unit: float = 1.0


PRINTED = (
    Printed(
        "Abadie 2003, table 2, least squares (dollars)",
        "wealth",
        "nettfa ~ C(p401k) + C(marr) + inc + I(age - 25) + I((age - 25)**2) + fsize",
        (
            (-23549.00, 2178.08),
            (13527.05, 1810.27),
            (-8369.47, 1829.93),
            (976.93, 83.37),
            (-376.17, 236.98),
            (38.70, 7.67),
            (-785.65, 410.78),
        ),
        1000.0,
    ),
    Printed(
        "Card 1995 as in Wooldridge, Introductory Econometrics, table 15.1, least squares",
        "wages",
        "lwage ~ C(black) + C(smsa) + C(south) + C(smsa66) + C(region) + educ + exper + I(exper**2)",
        (
            *((math.nan, math.nan),),  # neither the constant nor regions are printed
            (-0.199, 0.018),
            (0.136, 0.020),
            (-0.148, 0.026),
            *((math.nan, math.nan),) * 9,
            (0.075, 0.003),
            (0.085, 0.007),
            (-0.0023, 0.0003),
        ),
    ),
    Printed(
        "Wooldridge, Introductory Econometrics, exercise C7.9, linear probability",
        "eligible",
        "I(e401k == 1) ~ C(male) + inc + I(inc**2) + age + I(age**2)",
        (
            (-0.506, 0.081),
            (-0.0035, 0.0121),
            (0.0124, 0.0006),
            (-0.000062, 0.000005),
            (0.0265, 0.0039),
            (-0.00031, 0.00005),
        ),
    ),
)


@lru_cache(maxsize=32)
def release(data: str, level: str, seed: int) -> vdp.Release:
    """Return a data set's one release at a level."""
    chosen = DATASETS[data]
    epsilon, delta = LEVELS[level]
    mechanism = vdp.calibrate(chosen.schema, epsilon=epsilon, delta=delta, shuffled=len(chosen.frame))
    return mechanism.release(chosen.frame, key=sha256(repr((data, level, seed)).encode()).digest())


def raw(data: str, formula: str, loss: Any) -> tuple[list[str], Any, Any]:
    """Return names, estimates and intervals without privacy, by statsmodels."""
    import statsmodels.formula.api as smf

    text = formula.replace("LEVELS", repr(_levels(data)))
    frame = DATASETS[data].frame
    for column, kind in DATASETS[data].columns.items():
        if isinstance(kind, vdp.Categorical) and text.startswith(f"I({column} == 1)"):
            text = text.replace(f"I({column} == 1)", f"np.where({column} == 1, 1.0, 0.0)")
    if loss == "squared":
        found = smf.ols(text, frame).fit(cov_type="HC0")
    elif loss == "logistic":
        found = smf.logit(text, frame).fit(disp=0)
    else:
        found = smf.quantreg(text, frame).fit(q=0.5)
    return list(found.params.index), np.asarray(found.params), np.asarray(found.conf_int())


def _levels(data: str) -> list[Any]:
    kinds = [kind for kind in DATASETS[data].columns.values() if isinstance(kind, vdp.Categorical)]
    return list(kinds[-1].levels)


def compared(analysis: Analysis, seed: int) -> list[Row]:
    """Return each coefficient without privacy and at each level: estimate, interval, and width against the raw one."""
    names, values, ends = raw(analysis.data, analysis.plain or analysis.formula, analysis.loss)
    width = ends[:, 1] - ends[:, 0]
    out = _rows((analysis.title, "no privacy"), names, values, ends, width)
    for level in LEVELS:
        found = vdp.fit(release(analysis.data, level, seed), analysis.formula, loss=analysis.loss)
        if found.answered:
            ours = np.asarray(found.conf_int(), dtype=float)
            out += _rows((analysis.title, level), names, np.asarray(found.params, dtype=float), ours, width)
        else:
            nothing = np.full(len(names), np.nan)
            out += _rows(
                (analysis.title, f"{level}: {found.outcome}"), names, nothing, np.full((len(names), 2), np.nan), width
            )
    return out


def _rows(where: tuple[str, str], names: list[str], values: Any, ends: Any, width: Any) -> list[Row]:
    return [
        {"analysis": where[0], "level": where[1], "term": short(name), "estimate": _number(value)}
        | {"low": _number(low), "high": _number(high), "width / raw": _number((high - low) / raw_width)}
        for name, value, (low, high), raw_width in zip(names, values, ends, width, strict=True)
    ]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def replicated(table: Printed, level: str, seed: int) -> list[Row]:
    """Return a published table beside the raw fit and a release: estimate, interval, and the loss in width."""
    names, values, ends = raw(table.data, table.formula, "squared")
    ours, interval, outcome = np.full(len(names), np.nan), np.full((len(names), 2), np.nan), "not tried"
    if len(names) <= MOST_TRIED:
        found = vdp.fit(release(table.data, level, seed), table.formula)
        outcome = str(found.outcome)
        if found.answered:
            ours, interval = np.asarray(found.params, dtype=float), np.asarray(found.conf_int(), dtype=float)
    out = []
    for k, (printed, error) in enumerate(table.printed):
        low, high = interval[k] * table.unit
        row: Row = {"table": table.source, "level": f"{level}: {outcome}", "term": short(names[k])}
        row |= {"printed": _number(printed), "its error": _number(error), "raw": float(values[k]) * table.unit}
        row |= {"estimate": _number(ours[k] * table.unit), "low": _number(low), "high": _number(high)}
        row["width / raw"] = _number((high - low) / (table.unit * (ends[k, 1] - ends[k, 0])))
        out.append(row)
    return [row for row in out if row["printed"] is not None]


def short(name: str) -> str:
    """Return a coefficient's name without patsy's details.

    Examples
    --------
    >>> short("C(health, levels=['a', 'b'])[T.b]"), short("I(age - 25)")
    ('health[b]', 'I(age - 25)')
    """
    return re.sub(r"^C\((\w+)[^\[]*(?:\[[^\]]*\])?\)\[T\.(.*)\]$", r"\1[\2]", name)


def tables(seed: int, plot: str | None) -> dict[str, list[Row]]:
    """Return all comparisons, published tables and levels; pictures go into the folder of `plot`, beside it."""
    from versadp_experiments.baselines import usefulness

    out: dict[str, list[Row]] = {}
    for k, analysis in enumerate(ANALYSES):
        out[f"{analysis.data} {k}"] = compared(analysis, seed)
        if plot:
            drawn = [row for row in out[f"{analysis.data} {k}"] if row["term"] != "Intercept"]
            path = Path(plot)
            drawing.intervals(drawn, str(path.with_name(f"{path.stem}-{k}{path.suffix}")), analysis.title)
    for k, table in enumerate(PRINTED):
        out[f"published {k}"] = [row for level in LEVELS for row in replicated(table, level, seed)]
    out["useful from"] = usefulness.rows(seed)
    return out
