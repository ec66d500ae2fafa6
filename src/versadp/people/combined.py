"""Estimates of features from records and noisy totals of the same people together.

Of the features v of one or two columns, and the totals φ of the same columns, the records tell ψ_v and ψ_φ, and the
totals tell S. With N the covariance of the records' noise were the people even on their domain, and Σ that of the
totals' noise, both are combined by inverse variances,

    t = ψ_v + N_vφ (N_φφ + nΣ)⁻¹ (S - ψ_φ),      noise of t: [N_vv - N_vφ (N_φφ + nΣ)⁻¹ N_φv]/n,

which is unbiased for any people, since the gain depends on no data. The sampling variance is that of the law. Taken
column by column and pair by pair; noise is taken to be independent between them, as that of the totals is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction.features import Features as Noise
from versadp.noise.terms import SeparableTerms
from versadp.people.targets import Targets, used_blocks
from versadp.people.tilt import SEEN, Points, systematic
from versadp.release.path.table import read_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.people.features import Features
    from versadp.release.release import Release
    from versadp.release.totals.sheet import Totals

SWEEPS = 3  # over all tables: what a further one changes is below their noise
CELL = 1 / 8  # ω of a cell, per record: small cells, whose noise is larger than they are, stay as they are
LARGEST = 2**22  # numbers in an array of outputs and functions: 32 MB


def has_totals(release: Release, names: list[str]) -> bool:
    """Return True if a release has totals of all people, and the columns are private ones."""
    private = {name for block in release.mechanism.blocks for name in block.columns}
    return release.totals is not None and set(names) <= private


def combined_estimate(release: Release, features: Features, points: Points) -> Targets:
    """Return the estimates of features from records and totals, with their covariance.

    Parameters
    ----------
    release : Release
        With totals.
    features : Features
    points : Points
        The law before it is tilted, for the sampling variance.
    """
    totals = release.totals
    assert totals is not None
    schema, n = release.mechanism.schema, len(release)
    parts = [read_table(release.read(handle), schema, released=True).private for handle in release.handles()]
    seen = {axis.name: np.concatenate([np.asarray(part[axis.name], float) for part in parts]) for axis in features.axes}
    mean, cov = np.empty(features.size), np.zeros((features.size, features.size))
    for columns, numbers in features.groups():
        names = tuple(features.axes[j].name for j in columns)
        mean[numbers], cov[np.ix_(numbers, numbers)] = _of_group(release, features, names, numbers, seen)
    phi = features.values(points.at[systematic(points.weight, SEEN, 0.5)])
    return Targets(mean, cov + np.cov(phi.T) / n)


def raked(release: Release, features_of: list[str], points: Points) -> Points:
    """Return a law whose tables of two columns are near those of the totals, cell by cell.

    A cell with the mass m is given the mass x, x + ω σ² log(x/m) = S, the law nearest to m under a penalty, ω = n/8:
    large cells are met, those that the noise drowns stay as they are. It brings in what no feature tells. By itself it
    covers badly; the tilt that follows makes the estimates unbiased.
    """
    from scipy.special import wrightomega

    totals = release.totals
    assert totals is not None
    weight = points.weight.copy()
    tables = [_cells(totals, features_of, points, own) for own in _pairs(totals, features_of)]
    for _ in range(SWEEPS):
        for cells, told, sd in (table for table in tables if table is not None):
            mass = np.bincount(cells, weight, len(told))
            soft = totals.rows * CELL * sd**2
            with np.errstate(divide="ignore"):
                new = soft * wrightomega(np.log(mass / soft) + told / soft)
            weight *= np.divide(new, mass, out=np.ones_like(mass), where=mass > 0)[cells]
    return Points(points.at, weight / weight.sum())


def _pairs(totals: Totals, names: list[str]) -> dict[tuple[str, str], list[int]]:
    """Return the numbers of the totals of each cross-table."""
    found: dict[tuple[str, str], list[int]] = {}
    for k, (sheet, *of) in enumerate(totals.names):
        if sheet == "C" and len(of) == 2 and set(of) <= set(names):
            found.setdefault((of[0], of[1]), []).append(k)
    return found


def _cells(
    totals: Totals, names: list[str], points: Points, pair: tuple[str, str]
) -> tuple[NDArray[np.int64], Array, Array] | None:
    """Return the cell of each point, and the share of each cell with its error; None if cells are not of levels."""
    numbers = _pairs(totals, names)[pair]
    place = []
    for name in pair:
        table = np.asarray(totals.terms.functions[name])[:, totals.terms.at[name][numbers]]
        if not ((table == 1).sum(axis=0) == 1).all() or (table != 0).sum() != table.shape[1]:
            return None
        place.append(table.argmax(axis=0))
    shape = tuple(int(points.at[:, names.index(name)].max()) + 1 for name in pair)
    shape = tuple(max(size, int(own.max()) + 1) for size, own in zip(shape, place, strict=True))
    cells = np.ravel_multi_index(tuple(points.at[:, names.index(name)] for name in pair), shape)
    if len(numbers) != int(np.prod(shape)):
        return None
    told, sd = np.empty(len(numbers)), np.empty(len(numbers))
    at = np.ravel_multi_index(tuple(place), shape)
    told[at], sd[at] = totals.means[numbers], totals.sd[numbers]
    return cells, told, sd


def _of_group(
    release: Release,
    features: Features,
    names: tuple[str, ...],
    numbers: NDArray[np.int64],
    seen: dict[str, Array],
) -> tuple[Array, Array]:
    """Return estimates of the features of some columns, and the covariance of their noise."""
    totals = release.totals
    assert totals is not None
    told = np.array([k for k, (_, *of) in enumerate(totals.names) if of and set(of) <= set(names)], np.int64)
    functions: dict[str, Any] = {}
    at: dict[str, Any] = {}
    for name in names:
        j = next(k for k, axis in enumerate(features.axes) if axis.name == name)
        own, theirs = features.functions[j].lattice, totals.terms.functions.get(name)
        assert own is not None
        if theirs is None or not len(told):
            functions[name], at[name] = own, features.at[numbers, j]
            continue
        rows = max(len(own), len(theirs))
        both = [np.append(f, np.zeros((rows - len(f), f.shape[1])), axis=0) for f in (own, theirs)]
        functions[name] = np.hstack(both)
        at[name] = np.append(features.at[numbers, j], totals.terms.at[name][told] + own.shape[1])
    if any(len(index) != len(numbers) + len(told) for index in at.values()):  # one of the columns is in no sheet
        told = told[:0]
        at = {name: index[: len(numbers)] for name, index in at.items()}
    terms = SeparableTerms(functions, at)
    blocks = used_blocks(release, list(names))
    psi = _means(blocks, terms, names, seen)
    noise = Noise.of(blocks, terms)
    k, n = len(numbers), len(release)
    if noise is None:
        first, second = _moments(blocks, SeparableTerms(functions, {m: i[:k] for m, i in at.items()}), names, seen)
        return first, (second - np.outer(first, first)) / n
    covariance = noise.covariance()
    if not len(told):
        return psi, covariance / n
    onto = covariance[k:, k:] + np.diag(n * totals.sd[told] ** 2)
    gain = np.linalg.solve(onto, covariance[k:, :k]).T
    mean = psi[:k] + gain @ (totals.means[told] - psi[k:])
    return mean, (covariance[:k, :k] - gain @ covariance[k:, :k]) / n


def _means(blocks: Any, terms: SeparableTerms, names: tuple[str, ...], seen: dict[str, Array]) -> Array:
    """Return means over records of terms of one or two columns: each pair of outputs once."""
    total = np.zeros(terms.size)
    for psi, counts in _psi(blocks, terms, names, seen):
        total += counts @ psi
    return total / len(seen[names[0]])


def _moments(blocks: Any, terms: SeparableTerms, names: tuple[str, ...], seen: dict[str, Array]) -> tuple[Array, Array]:
    """Return means over records of terms, and of their products."""
    first, second = np.zeros(terms.size), np.zeros((terms.size, terms.size))
    for psi, counts in _psi(blocks, terms, names, seen):
        first += counts @ psi
        second += (psi * counts[:, None]).T @ psi
    n = len(seen[names[0]])
    return first / n, second / n


def _psi(blocks: Any, terms: SeparableTerms, names: tuple[str, ...], seen: dict[str, Array]) -> Any:
    """Yield terms undone at distinct outputs, and how many records show each."""
    values, codes = zip(*(np.unique(seen[name], return_inverse=True) for name in names), strict=True)
    shape = tuple(len(each) for each in values)
    known, counts = np.unique(np.ravel_multi_index(codes, shape), return_counts=True)
    place = dict(zip(names, np.unravel_index(known, shape), strict=True))
    column = dict(zip(names, values, strict=True))
    lot = max(64, LARGEST // terms.size)
    for start in range(0, len(known), lot):
        own = slice(start, start + lot)
        psi = np.ones((len(known[own]), terms.size))
        for block in blocks:
            released = np.stack([column[name][place[name][own]] for name in block.columns])
            block.undo(terms, released, psi)
        yield psi, counts[own].astype(float)
