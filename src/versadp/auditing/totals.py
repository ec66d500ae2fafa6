"""Attack on noisy totals: sheets of made-up people by the real release path, against the law and the claim.

People stand at the ends of their columns' lattices, where nothing is rounded, so the exact totals are known. Two
verdicts: noise of every total is as its law has it (Kolmogorov and Smirnov, all sheets together, and one sheet's totals
against each other's scale by a chi-squared of all); and who knows both of two neighbouring tables, and looks at a sheet
along their difference, tells them apart no better than is claimed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from versadp.auditing.records import without_target
from versadp.release.totals.noise import totals_privacy, whole_scales
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.release.mechanism import Mechanism
    from versadp.schema import Column, Schema

    Array = NDArray[np.float64]
    Whole = NDArray[np.int64]

PEOPLE = 12  # of a made-up table, beside the one who is replaced
SHEETS = 200  # of each of two neighbours: enough to see noise that is a percent too small in a hundred totals


class TotalsVerdict(NamedTuple):
    """Findings about totals.

    Attributes
    ----------
    holds : bool
    told : str
        What departs, or what was seen.
    """

    holds: bool
    told: str


def totals_hold(mechanism: Mechanism, unit: str, error: float, rng: np.random.Generator) -> TotalsVerdict | None:
    """Release sheets of two neighbouring tables and tell whether they keep law and claim; None without totals.

    Examples
    --------
    >>> from versadp import Bounded, Schema, calibrate
    >>> schema = Schema({"x": Bounded(0, 1), "k": Bounded(0, 9, step=1)})
    >>> mech = calibrate(schema, epsilon=4, delta=1e-6, shuffled=10_000, totals=True)
    >>> totals_hold(mech, "record", 1e-4, np.random.default_rng(0)).holds  # doctest: +SKIP
    True
    """
    if mechanism.totals is None:
        return None
    from scipy.stats import beta, chi2, kstest

    noise = without_target(mechanism)
    truths, seen = [], []
    ends = rng.integers(0, 2, (PEOPLE, len(mechanism.schema.private)))
    for last in (0, 1):
        one = np.full(ends.shape[1], last) if unit == "record" else np.append(last, ends[0, 1:])
        places = np.vstack([ends, one])
        truths.append(_exact(noise, places))
        table = _table(mechanism.schema, places)
        seen.append(np.array([_sheet(noise, table) for _ in range(SHEETS)]))
    sigma = whole_scales(noise)
    off = np.concatenate([sheets - truth for sheets, truth in zip(seen, truths, strict=True)])
    from scipy.special import ndtr

    low, high = ndtr((off - 0.5) / sigma), ndtr((off + 0.5) / sigma)
    ranks = low + rng.random(off.shape) * (high - low)
    shape = float(kstest(ranks.ravel(), "uniform").pvalue)
    spread = chi2(off.size).cdf(float(np.sum(_normal(ranks) ** 2)))
    p_value = min(1.0, 3 * min(shape, 2 * min(spread, 1 - spread)))
    if p_value < error / 2:
        return TotalsVerdict(False, f"noise departs from its law (p-value {p_value:.2g})")
    towards = (truths[1] - truths[0]) / sigma**2
    alarms, hits = (sheets @ towards > (truths[0] + truths[1]) @ towards / 2 for sheets in seen)
    least = float(beta.ppf(error / 4, hits.sum(), SHEETS - hits.sum() + 1)) if hits.any() else 0.0
    most = float(beta.ppf(1 - error / 4, alarms.sum() + 1, SHEETS - alarms.sum())) if not alarms.all() else 1.0
    allowed = 1 - float(totals_privacy(mechanism, unit).beta(most))
    told = f"told apart in {hits.mean():.3g} of cases at {alarms.mean():.3g} false alarms"
    return TotalsVerdict(least <= allowed, told)


def _normal(ranks: Array) -> Array:
    from scipy.special import ndtri

    return np.asarray(ndtri(np.clip(ranks, 1e-15, 1 - 1e-15)))


def _exact(mechanism: Mechanism, places: Whole) -> Whole:
    """Return the exact totals of people at the ends of their lattices."""
    from versadp.release.path.table import read_table

    running = mechanism.running_totals()
    assert running is not None
    table = read_table(_table(mechanism.schema, places), mechanism.schema)
    running.see(mechanism.layout.content(table.private), np.zeros((running.words, table.rows), np.uint64))
    return running.sums


def _sheet(mechanism: Mechanism, table: pa.Table) -> Whole:
    totals = mechanism.release(table, engine="serial").totals
    assert totals is not None
    return totals.values


def _table(schema: Schema, places: Whole) -> pa.Table:
    """Return people at the first (0) or the last value (1) of each private column."""
    ends = {name: _ends(schema.columns[name]) for name in schema.private}
    columns = {name: [ends[name][at] for at in places[:, j].tolist()] for j, name in enumerate(schema.private)}
    columns |= {name: [0] * len(places) for name in schema.public}
    if schema.id is not None:
        columns[schema.id] = [f"p{i}" for i in range(len(places))]
    return pa.table(columns)


def _ends(column: Column) -> tuple[object, object]:
    if isinstance(column, Categorical):
        return column.levels[0], column.levels[-1]
    if isinstance(column, Dates):
        from versadp.release.path.dates import date_of

        return date_of(column.lower, column), date_of(column.upper, column)
    assert isinstance(column, Bounded)
    return column.lower, column.upper
