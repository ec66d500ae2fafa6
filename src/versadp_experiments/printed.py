"""The published figures, as they were printed: data files of the package.

    agrees:   |ours - published| <= 3 s + half a printed digit,   s² = s_ours² + s_published²

s_ours is the Monte Carlo error of our figure; s_published that of the printed one, which the paper says rests on 5,000
replications. An RMSE over R replications of a nearly normal error has s = RMSE / sqrt(2 R).
"""

from __future__ import annotations

import csv
import math
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

STATED_REPS = 5000


class Figure(NamedTuple):
    """A printed number and half a unit of its last digit."""

    value: float
    half_digit: float


class Key(NamedTuple):
    """Where a figure stands: sample size, block (0 or 1), method and column."""

    n: int
    block: int
    method: str
    column: str


def as_figure(text: str) -> Figure:
    """Read a printed number.

    Examples
    --------
    >>> as_figure("0.105")
    Figure(value=0.105, half_digit=0.0005)
    """
    decimals = len(text.partition(".")[2])
    return Figure(float(text), 0.5 * 10.0**-decimals)


@lru_cache(maxsize=8)
def published(table: str) -> dict[Key, Figure]:
    """Return the figures of a table.

    Examples
    --------
    >>> published("table1")[Key(500, 0, "DR", "relu")].value
    0.105
    """
    text = resources.files("versadp_experiments").joinpath("published", f"{table}.csv").read_text(encoding="utf-8")
    lines = list(csv.DictReader(text.splitlines()))
    labels = list(dict.fromkeys(line["privacy"] for line in lines))
    return {
        Key(int(line["n"]), labels.index(line["privacy"]), line["method"], column): as_figure(value)
        for line in lines
        for column, value in line.items()
        if column not in {"n", "privacy", "method"}
    }


def agrees(ours: float, error: float, figure: Figure) -> bool:
    """Tell whether our figure and a printed one differ by no more than chance and rounding.

    Examples
    --------
    >>> agrees(0.1052, 0.001, as_figure("0.105")), agrees(0.125, 0.001, as_figure("0.105"))
    (True, False)
    """
    chance = math.hypot(error, figure.value / math.sqrt(2 * STATED_REPS))
    return abs(ours - figure.value) <= 3 * chance + figure.half_digit
