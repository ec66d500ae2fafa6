"""Descriptions of a release with totals: moments, shares and quantiles of columns that totals are about.

Means of functions on the lattice are calibrated (`correction/calibrated_means.py`), and what is told follows from them
as without totals. Quantiles need the shares of all values, so they are of numbers whose values are all lattice points;
of others, and in histograms, the records are taken alone, as `words` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.estimation.distribution import Curve
from versadp.estimation.moment_estimates import Estimate, Moments

if TYPE_CHECKING:
    from versadp.correction.calibrated_means import CalibratedMeans
    from versadp.describing.layout import Layout
    from versadp.inputs import Array


def words(totals: CalibratedMeans | str) -> dict[str, str]:
    """Return what a description says of totals; nothing without any."""
    if isinstance(totals, str):
        return {"totals": f"not used: {totals}"} if totals else {}
    return {"totals": "used for means, sds, shares, correlations, quantiles of whole values; not for histograms"}


def with_totals(
    found: Moments | None, totals: CalibratedMeans | str, layout: Layout, names: tuple[str, ...]
) -> Moments | None:
    """Return the moments of one or two columns, calibrated where totals are about them."""
    if found is None or isinstance(totals, str) or not totals.knows(*names):
        return found
    each = []
    for name in names:
        centre, unit = layout.place(name)
        e = (totals.points(name) - centre) / unit
        there = np.isfinite(e)
        e = np.where(there, e, 0.0)
        each.append(np.stack([there.astype(float), e, e**2]))
    if len(names) == 1:
        added, cov = totals.of((names[0],), each[0])
        at = np.array([0, 1, 1, 2, 2, 2])
        means = _means(totals, (names[0],), each[0], found.t[[0, 1, 3]] + added)
        return Moments(means[at], cov[np.ix_(at, at)])
    x, y = each
    powers = ((0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (1, 1))
    values = np.stack([np.multiply.outer(x[j], y[k]) for j, k in powers])
    added, cov = totals.of((names[0], names[1]), values)
    return Moments(_means(totals, (names[0], names[1]), values, found.t + added), cov)


def _means(totals: CalibratedMeans, names: tuple[str, ...], values: Array, otherwise: Array) -> Array:
    """Return calibrated means by the inverse that their covariance is of; of rounded columns those that are known."""
    own = totals.calibration
    if any(own.features.laws[name].lattice.merged > 1 for name in names):
        return otherwise
    if names in own.counts:
        share = own.shares(names)
    elif names[::-1] in own.counts:
        share = own.shares(names[::-1]).T
    else:
        return otherwise
    return np.asarray((values * share).reshape(len(values), -1).sum(axis=1))


def curve_with_totals(totals: CalibratedMeans | str, name: str, declared: Any, tau: float) -> Curve | None:
    """Return the calibrated distribution function of a number less tau; None where its values are not all points."""
    if isinstance(totals, str) or not totals.knows(name):
        return None
    lattice = totals.calibration.features.laws[name].lattice
    if lattice.merged != 1 or getattr(declared, "steps", None) != lattice.last:
        return None
    share, cov = shares(totals, name)
    count = lattice.points
    there = share[:count].sum()
    below = np.tril(np.ones((count, count))) - tau
    error = np.sqrt(np.maximum(np.einsum("jk,kl,jl->j", below, cov[:count, :count], below), 0.0))
    return Curve(lattice.values, below @ share[:count] / there, error / there)


def shares(totals: CalibratedMeans, name: str) -> tuple[Array, Array]:
    """Return calibrated shares of the lattice points of a column, a missing value last, and their covariance."""
    _, cov = totals.of((name,), np.eye(totals.points(name).size))
    return totals.calibration.shares((name,)), cov


def share_estimates(totals: CalibratedMeans, name: str, z: float) -> list[Estimate]:
    """Return the share of each level of a category, a missing value last, with an interval within [0, 1].

    The sampling part of the variance moves with the share p, `{p : (mean - p)² <= z² (p (1 - p)/n + s²)}`.
    """
    share, cov = shares(totals, name)
    n = totals.calibration.rows
    out = []
    for mean, variance in zip(share, np.diag(cov), strict=True):
        p = float(np.clip(mean, 0.0, 1.0))
        rest = max(float(variance) - p * (1 - p) / n, 0.0)
        a, b, c = 1 + z * z / n, mean + z * z / (2 * n), mean**2 - z * z * rest
        root = np.sqrt(max(b * b - a * c, 0.0))
        low, high = np.clip([(b - root) / a, (b + root) / a], 0.0, 1.0)
        out.append(Estimate(float(mean), float(np.sqrt(variance)), float(low), float(high)))
    return out
