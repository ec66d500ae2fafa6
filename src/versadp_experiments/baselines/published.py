"""Tables of papers and textbooks, made again from one release of their columns.

`printed` are (estimate, standard error) as they stand in print or in public output, nan where we could not confirm one;
the raw fit must give each to its last digit (a test). Beside it: what a release says, how wide its interval is against
the raw fit's, and in how many of `DRAWS` releases the sign of a coefficient is told (its interval leaves 0 out).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from versadp_experiments.baselines.realdata import LEVELS, Analysis, Row, answer, number, raw, short, told

DRAWS = 5
NOT = math.nan


@dataclass(frozen=True, kw_only=True)
class Printed(Analysis):
    """A published table: its model (categories first, as patsy orders them), what was printed, and in which unit."""

    source: str
    printed: tuple[tuple[float, float], ...]
    errors: str = "nonrobust"
    unit: float = 1.0


PRINTED = (
    Printed(
        "colleges",
        "lwage ~ jc + univ + exper",
        source="data of Kane and Rouse, the model of Wooldridge's section 4.4; figures of lecture notes",
        printed=((1.4723256, 0.0210602), (0.0666967, 0.0068288), (0.0768762, 0.0023087), (0.00494, NOT)),
    ),
    Printed(
        "admissions",
        "I(admitted == 1) ~ C(gender) + C(department)",
        "logistic",
        source="data of Bickel, Hammel and O'Connell 1975; R's output",
        printed=(
            (0.68192, 0.09911),
            (-0.09987, 0.08085),
            (-0.04340, 0.10984),
            (-1.26260, 0.10663),
            (-1.29461, 0.10582),
            (-1.73931, 0.12611),
            (-3.30648, 0.16998),
        ),
    ),
    Printed(
        "earnings",
        "lwage ~ C(ethnicity) + experience + I(experience**2) + education",
        source="the model of Kleiber and Zeileis, section 3.2; figures of an answer to an exercise",
        printed=((4.321395, NOT), (-0.243364, NOT), (0.077473, NOT), (-0.001316, NOT), (0.085673, NOT)),
        plain="lwage ~ C(ethnicity, levels=LEVELS) + experience + I(experience**2) + education",
    ),
    Printed(
        "wealth",
        "nettfa ~ C(p401k) + C(marr) + inc + I(age - 25) + I((age - 25)**2) + fsize",
        source="Abadie 2003, table 2, least squares (dollars)",
        printed=(
            (-23549.00, 2178.08),
            (13527.05, 1810.27),
            (-8369.47, 1829.93),
            (976.93, 83.37),
            (-376.17, 236.98),
            (38.70, 7.67),
            (-785.65, 410.78),
        ),
        errors="HC1",
        unit=1000.0,
    ),
)


def replicated(table: Printed, level: str, seed: int) -> list[Row]:
    """Return a published table beside the raw fit and a release: estimate, interval, loss in width, and signs told."""
    names, values, _, ends = raw(table.data, table.text, table.loss, table.errors)
    outcome, ours, interval = answer(table, level, seed, len(names))
    signs = np.zeros(len(names), dtype=int)
    draws = DRAWS if outcome == "converged" else 1  # a weak fit takes long, and is weak again
    for draw in range(draws):
        other = interval if draw == 0 else answer(table, level, seed + draw, len(names))[2]
        signs += (other[:, 0] > 0) | (other[:, 1] < 0)
    out = []
    for k, (printed, error) in enumerate(table.printed):
        low, high = interval[k] * table.unit
        row: Row = {"table": table.source, "level": told(level, outcome), "term": short(names[k])}
        row |= {"printed": number(printed), "its error": number(error), "raw": float(values[k]) * table.unit}
        row |= {"estimate": number(ours[k] * table.unit), "low": number(low), "high": number(high)}
        row["width / raw"] = number((high - low) / (table.unit * (ends[k, 1] - ends[k, 0])))
        row["sign told"] = f"{signs[k]} of {draws}"
        out.append(row)
    return out


def rows(table: Printed, seed: int) -> list[Row]:
    """Return a table at all levels."""
    return [row for level in LEVELS for row in replicated(table, level, seed)]


def drawn(table: Printed, found: list[Row]) -> list[Row]:
    """Return what a picture shows: the raw fit, and every level; terms in units of the raw estimate."""
    names, values, _, ends = raw(table.data, table.text, table.loss, table.errors)
    base = [
        {"term": short(name), "level": "no privacy", "estimate": 1.0, "low": low / value, "high": high / value}
        for name, value, (low, high) in zip(names, values, np.asarray(ends), strict=True)
    ]
    ours = [
        {"term": row["term"], "level": row["level"]}
        | {key: None if row[key] is None else row[key] / row["raw"] for key in ("estimate", "low", "high")}
        for row in found
    ]
    return [row for row in (*base, *ours) if row["term"] != "Intercept"]
