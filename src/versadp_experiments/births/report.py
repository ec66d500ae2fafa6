"""`versadp reproduce births`: criteria beside their limits, over several releases of the same births."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import versadp as vdp
from versadp.display.progress import bar
from versadp_experiments.births import data, of_release

if TYPE_CHECKING:
    from pathlib import Path

    from versadp_experiments.births.data import Prepared


class Criterion(NamedTuple):
    """A criterion and its limit."""

    number: str
    name: str
    limit: float


CRITERIA = (
    Criterion("3", "means of parity, children", 0.3),
    Criterion("4", "means of weight, g", 100.0),
    Criterion("5", "means of gestation, weeks", 1.0),
    Criterion("6", "regression of weight, sum of differences", 30.0),
    Criterion("7", "mean absolute error, difference", 5.0),
)


def parts(
    path: str | Path | None, epsilon: float, delta: float, releases: int, seed: int = 1
) -> dict[str, list[dict[str, Any]]]:
    """Return the criteria of the release itself, with intervals.

    Parameters
    ----------
    path : str or Path
        A file of births.
    epsilon, delta : float
        The central guarantee of a record, hidden among all others.
    releases : int
        How many, each with a key of its own.
    seed : int
        From which the keys follow.
    """
    born = data.read(path)
    mechanism = vdp.calibrate(data.schema(), epsilon=epsilon, delta=delta, shuffled=len(born["parity"]))
    judged = []
    with bar(f"births, {releases} releases") as tell:
        for k in range(releases):
            key = sha256(repr(("births", seed, k, epsilon, delta)).encode()).digest()
            judged.append(judge_release(mechanism.release(data.arrow(born), key=key), born))
            tell((k + 1) / releases)
    return {"release": release_rows(judged)}


def judge_release(release: vdp.Release, born: Prepared) -> list[of_release.Judged]:
    """Return criteria 3 to 7 of a release."""
    means = [of_release.means(release, born, target) for target in ("parity", "birth_weight", "gestation_week")]
    return [*means, *of_release.regression(release, born)]


def release_rows(judged: list[list[of_release.Judged]]) -> list[dict[str, Any]]:
    """Return a row per criterion: median and worst value over releases, and how its intervals fare."""
    rows = []
    for criterion, found in zip(CRITERIA, zip(*judged, strict=True), strict=True):
        values = np.array([each.value for each in found])
        rows.append(
            {
                "criterion": criterion.number,
                "of the release": criterion.name,
                "limit": criterion.limit,
                "median": float(np.median(values)),
                "worst": float(values.max()),
                "within": f"{int((values < criterion.limit).sum())} of {len(values)}",
                "widest half interval": float(np.median([each.half_width for each in found])),
                "intervals that hold": f"{sum(e.held for e in found)} of {sum(e.intervals for e in found)}",
            }
        )
    return rows
