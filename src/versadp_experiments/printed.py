"""The published figures, as they were printed: data files of the package.

    agrees:   |ours - published| <= 3 s sqrt(1 + R/5000) + half a printed digit

s is the Monte Carlo error of our figure over R replications; the paper says that its own rest on 5,000, so the error of
a printed figure is s sqrt(R/5000), and that of the difference s sqrt(1 + R/5000).
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


def agrees(ours: float, error: float, figure: Figure, reps: int = STATED_REPS) -> bool:
    """Tell whether our figure and a printed one differ by no more than chance and rounding.

    Parameters
    ----------
    ours, error : float
        Our figure and its Monte Carlo error.
    figure : Figure
        The printed one.
    reps : int
        Our replications.

    Examples
    --------
    >>> agrees(0.1052, 0.001, as_figure("0.105")), agrees(0.125, 0.001, as_figure("0.105"))
    (True, False)
    """
    chance = error * math.sqrt(1 + reps / STATED_REPS)
    return abs(ours - figure.value) <= 3 * chance + figure.half_digit
