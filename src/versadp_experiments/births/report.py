"""`versadp reproduce births`: criteria beside their limits, over several releases of the same births."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import versadp as vdp
from versadp.display.progress import bar
from versadp_experiments.births import criteria, data, faithfulness, of_release

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


OF_ROWS = (
    Criterion("1", "one-way shares, largest ratio", 1.4),
    Criterion("2", "tables of 1 to 6 columns, largest difference", 0.01),
    *CRITERIA,
    Criterion("8", "faithfulness, share unmatched", 0.05),
    Criterion("9", "unique rows", 1.0),
    Criterion("10", "rows unique in what others know", 1.0),
)


def parts(
    path: str | Path | None,
    epsilon: float,
    delta: float,
    releases: int,
    seed: int = 1,
    *,
    totals: bool = False,
    people: bool = True,
) -> dict[str, list[dict[str, Any]]]:
    """Return the criteria of the release itself, with intervals, and of made-up people.

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
    totals : bool
        Whether a share of the guarantee goes to noisy totals beside the records.
    people : bool
        Whether people are made, once with each row as it is and once with each row twice.
    """
    born = data.read(path)
    count = len(born["parity"])
    mechanism = vdp.calibrate(data.schema(), epsilon=epsilon, delta=delta, shuffled=count, totals=totals)
    judged, rows = [], []
    with bar(f"births, {releases} releases") as tell:
        for k in range(releases):
            key = sha256(repr(("births", seed, k, epsilon, delta)).encode()).digest()
            release = mechanism.release(data.arrow(born), key=key)
            judged.append(judge_release(release, born))
            if people:
                rows.append([judge_rows(made_up(release, copies), born) for copies in (1, 2)])
            tell((k + 1) / releases)
    found = {"release": release_rows(judged)}
    return found | {"people": people_rows(rows)} if people else found


def made_up(release: vdp.Release, copies: int) -> Prepared:
    """Return made-up births as prepared ones are."""
    table = release.people(replicates=0, copies=copies).to_arrow()
    return {name: np.asarray(table.column(name).to_numpy(), np.int64) for name in data.NAMES}


def judge_rows(a: Prepared, b: Prepared) -> list[float]:
    """Return all ten criteria of a table of rows."""
    return [
        criteria.one_way_ratio(a, b),
        max(criteria.table_differences(a, b).values()),
        *(criteria.mean_difference(a, b, target) for target in ("parity", "birth_weight", "gestation_week")),
        *criteria.regression_differences(criteria.regression(a, *criteria.standards(b)), b),
        faithfulness.unmatched(a, b),
        float(criteria.unique_rows(a)),
        float(criteria.unique_in_known(a)),
    ]


def people_rows(judged: list[list[list[float]]]) -> list[dict[str, Any]]:
    """Return a row per criterion: median and worst over releases, of rows as they are and of each row twice."""
    values = np.array(judged)  # releases, copies, criteria
    rows = []
    for k, criterion in enumerate(OF_ROWS):
        once, twice = values[:, 0, k], values[:, 1, k]
        rows.append(
            {
                "criterion": criterion.number,
                "of people": criterion.name,
                "limit": criterion.limit,
                "median": float(np.median(once)),
                "worst": float(once.max()),
                "within": f"{int((once < criterion.limit).sum())} of {len(once)}",
                "each row twice, worst": float(twice.max()),
            }
        )
    return rows


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
