"""Real data: what a release says beside the raw fit (`published` has tables of papers and textbooks).

    sensible   (4, 1e-6) for a whole record, by a release that is shuffled
    strict     (1, 1e-6), the same

One release serves all analyses of a data set at a level. Its noise follows from the seed, so that pictures can be
made again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np

import versadp as vdp
from versadp_experiments.baselines.datasets import DATASETS

Row = dict[str, Any]
LEVELS = {"sensible": (4.0, 1e-6), "strict": (1.0, 1e-6)}


@dataclass(frozen=True)
class Analysis:
    """A model of a data set; `plain` is how statsmodels writes it, if not in the same way."""

    data: str
    formula: str | None
    loss: Any = "squared"
    plain: str | None = None

    @property
    def text(self) -> str:
        """The formula for statsmodels."""
        return self.plain or self.formula or "1"

    @property
    def title(self) -> str:
        """Loss and formula."""
        if isinstance(self.loss, str):
            return f"{self.loss}: {self.formula}"
        return f"quantile {self.loss.tau:g}: {self.formula or self.plain}"


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
    Analysis("pensions", None, vdp.losses.Quantile("inc", 0.5), "inc ~ 1"),
    Analysis("pensions", None, vdp.losses.Quantile("inc", 0.9), "inc ~ 1"),
    Analysis("earnings", "lwage ~ C(ethnicity)", vdp.losses.Check(0.5), "lwage ~ C(ethnicity, levels=LEVELS)"),
    Analysis("earnings", None, vdp.losses.Quantile("lwage", 0.1), "lwage ~ 1"),
    Analysis("earnings", None, vdp.losses.Quantile("lwage", 0.9), "lwage ~ 1"),
)


@lru_cache(maxsize=32)
def release(data: str, level: str, seed: int) -> vdp.Release:
    """Return a data set's one release at a level."""
    chosen = DATASETS[data]
    epsilon, delta = LEVELS[level]
    mechanism = vdp.calibrate(chosen.schema, epsilon=epsilon, delta=delta, shuffled=len(chosen.frame))
    return mechanism.release(chosen.frame, key=sha256(repr((data, level, seed)).encode()).digest())


def raw(data: str, formula: str, loss: Any, errors: str = "HC0") -> tuple[list[str], Any, Any, Any]:
    """Return names, estimates, their standard errors and intervals without privacy, by statsmodels."""
    import statsmodels.formula.api as smf

    text = formula.replace("LEVELS", repr(_levels(data)))
    frame = DATASETS[data].frame
    for column, kind in DATASETS[data].columns.items():
        if isinstance(kind, vdp.Categorical) and text.startswith(f"I({column} == 1)"):
            text = text.replace(f"I({column} == 1)", f"np.where({column} == 1, 1.0, 0.0)")
    if loss == "squared":
        found = smf.ols(text, frame).fit(cov_type=errors)
    elif loss == "logistic":
        found = smf.logit(text, frame).fit(disp=0)
    else:
        found = smf.quantreg(text, frame).fit(q=loss.tau)
    return list(found.params.index), np.asarray(found.params), np.asarray(found.bse), np.asarray(found.conf_int())


def _levels(data: str) -> list[Any]:
    kinds = [kind for kind in DATASETS[data].columns.values() if isinstance(kind, vdp.Categorical)]
    return list(kinds[-1].levels) if kinds else []


def answer(model: Analysis, level: str, seed: int, size: int) -> tuple[str, Any, Any]:
    """Return how a fit from a release ended, its estimates and its intervals, nan where nothing is told."""
    found = vdp.fit(release(model.data, level, seed), model.formula, loss=model.loss)
    if not found.answered:
        return str(found.outcome), np.full(size, np.nan), np.full((size, 2), np.nan)
    return str(found.outcome), np.asarray(found.params, dtype=float), np.asarray(found.conf_int(), dtype=float)


def compared(analysis: Analysis, seed: int) -> list[Row]:
    """Return each coefficient without privacy and at each level: estimate, interval, and width against the raw one."""
    names, values, _, ends = raw(analysis.data, analysis.text, analysis.loss)
    width = ends[:, 1] - ends[:, 0]
    out = _rows((analysis.title, "no privacy"), names, values, ends, width)
    for level in LEVELS:
        outcome, estimates, ours = answer(analysis, level, seed, len(names))
        out += _rows((analysis.title, told(level, outcome)), names, estimates, ours, width)
    return out


def _rows(where: tuple[str, str], names: list[str], values: Any, ends: Any, width: Any) -> list[Row]:
    return [
        {"analysis": where[0], "level": where[1], "term": short(name), "estimate": number(value)}
        | {"low": number(low), "high": number(high), "width / raw": number((high - low) / raw_width)}
        for name, value, (low, high), raw_width in zip(names, values, ends, width, strict=True)
    ]


def told(level: str, outcome: str) -> str:
    """Return a level, and how a fit ended if not well.

    Examples
    --------
    >>> told("strict", "converged"), told("strict", "weak")
    ('strict', 'strict: weak')
    """
    return level if outcome == "converged" else f"{level}: {outcome}"


def number(value: float) -> float | None:
    """Return a number that a table can hold: None for what is not one.

    Examples
    --------
    >>> number(np.float64(2.0)), number(np.inf)
    (2.0, None)
    """
    return float(value) if np.isfinite(value) else None


def short(name: str) -> str:
    """Return a coefficient's name without patsy's details.

    Examples
    --------
    >>> short("C(health, levels=['a', 'b'])[T.b]"), short("I(age - 25)")
    ('health[b]', 'I(age - 25)')
    """
    return re.sub(r"^C\((\w+)[^\[]*(?:\[[^\]]*\])?\)\[T\.(.*)\]$", r"\1[\2]", name)
