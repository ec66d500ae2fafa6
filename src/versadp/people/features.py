"""Functions of people whose means a law is made to have: of single columns, and products of two of them.

Of each column a few functions u_1, u_2, ... that are orthonormal under the column's own law: powers of a number, one
less than the levels of a category, whether a value is missing. Features are the functions, and products of functions of
two columns whose degrees add up to at most four (a level has the degree 1), fewer where they would be very many. In
these units one feature's mean is a share of an independent law's chi-square, and its standard error without noise is
1/√n. A value that stands for others around it has the mean of a function over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.terms import SeparableTerms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.people.axes import Axis

DEGREE = 4  # of products of two columns: with degree 2 corner cells are smoothed away (docs/guides/people.md)
ALONE = 6  # of powers of one number
FURTHEST = 16  # degree of products that totals tell
MOST = 400  # features: a Hessian of them takes a second
FLAT = 0.02  # share of an even law in that under which functions are orthonormal, so that no point has the weight 0
NODES = 4  # of the quadrature over the values around a point: exact for powers up to 7


@dataclass(frozen=True, eq=False)
class Functions:
    """Functions of one column.

    Attributes
    ----------
    table : array (points, functions)
        At the points of the law, the constant first.
    lattice : array (lattice points + 1, functions), optional
        At all lattice points, and for a missing value last; None for a public column.
    degree : array of int (functions,)
    """

    table: Array
    lattice: Array | None
    degree: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Features:
    """Products of functions of single columns.

    Attributes
    ----------
    axes : tuple of Axis
    functions : tuple of Functions
    at : array of int (features, columns)
        The function of each column in each product; 0 is the constant.
    """

    axes: tuple[Axis, ...]
    functions: tuple[Functions, ...]
    at: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.at)

    def terms(self) -> SeparableTerms:
        """Return the features as functions of private columns on their lattices."""
        private = [j for j, each in enumerate(self.functions) if each.lattice is not None]
        functions = {self.axes[j].name: self.functions[j].lattice for j in private}
        return SeparableTerms(functions, {self.axes[j].name: self.at[:, j] for j in private})  # type: ignore[arg-type] # not None

    def values(self, points: NDArray[np.integer]) -> Array:
        """Return the features at points of the law, (rows, features)."""
        out = np.ones((len(points), self.size))
        for j, each in enumerate(self.functions):
            used = self.at[:, j] > 0
            out[:, used] *= each.table[points[:, j]][:, self.at[used, j]]
        return out

    def groups(self) -> list[tuple[tuple[int, ...], NDArray[np.int64]]]:
        """Return the features of each column and pair of columns: these, and the numbers of the features."""
        found: dict[tuple[int, ...], list[int]] = {}
        for k, row in enumerate(self.at):
            found.setdefault(tuple(np.flatnonzero(row).tolist()), []).append(k)
        return [(columns, np.array(numbers)) for columns, numbers in found.items()]


def make_features(
    axes: Sequence[Axis], margins: Sequence[Array], *, most: int = MOST, complete: bool = False
) -> Features:
    """Return features of columns with these laws.

    Parameters
    ----------
    axes : sequence of Axis
    margins : sequence of array
    most : int
        Features.
    complete : bool
        Whether all cells of single columns are features, and products of two of as many degrees as `most` allows: where
        noisy totals tell them well.

    Examples
    --------
    >>> from versadp import Categorical
    >>> from versadp.noise.lattice import Lattice
    >>> from versadp.people.axes import make_axis
    >>> axes = [make_axis(n, Categorical(["x", "y"]), Lattice(0.0, 1.0, 1, 1, keep=0.5), 64) for n in "ab"]
    >>> found = make_features(axes, [np.array([0.5, 0.5])] * 2)
    >>> found.at.tolist()
    [[1, 0], [0, 1], [1, 1]]
    >>> found.values(np.array([[0, 0], [0, 1]])).round(6).tolist()
    [[-1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]
    """
    functions = tuple(_functions(axis, margin, complete=complete) for axis, margin in zip(axes, margins, strict=True))
    for degree in range(FURTHEST if complete else DEGREE, 0, -1):
        at = _products(functions, degree)
        if len(at) <= most:
            break
    return Features(tuple(axes), functions, at[:most])


def _products(functions: Sequence[Functions], degree: int) -> NDArray[np.int64]:
    """Return functions of single columns first, then products of two by their degree."""
    d = len(functions)
    alone = [(j, k) for j, each in enumerate(functions) for k in range(1, each.degree.size)]
    rows = [[k if i == j else 0 for i in range(d)] for j, k in alone]
    pairs = []
    for a, b in combinations(range(d), 2):
        for k in range(1, functions[a].degree.size):
            for m in range(1, functions[b].degree.size):
                total = int(functions[a].degree[k] + functions[b].degree[m])
                if total <= max(degree, 2):
                    pairs.append((total, a, b, k, m))
    for _, a, b, k, m in sorted(pairs):
        row = [0] * d
        row[a], row[b] = k, m
        rows.append(row)
    return np.array(rows, np.int64).reshape(-1, d)


def _functions(axis: Axis, margin: Array, *, complete: bool) -> Functions:
    """Return orthonormal functions of a column, at its points and on its lattice."""
    law = (1 - FLAT) * margin + FLAT / margin.size
    known = axis.known
    if axis.ordered:
        low, high = axis.points[0], axis.points[known - 1]
        centre, half = (low + high) / 2, max((high - low) / 2, 1e-300)
        powers = min(ALONE, known - 1)
        raw = _averaged(axis, centre, half, powers)
        cells = _cells(axis, powers) if complete else np.zeros(0, np.int64)
        raw = np.column_stack([raw, np.eye(known)[:, cells]])
        degree = np.arange(1, raw.shape[1] + 1)
    else:
        raw, degree = np.eye(known)[:, 1:], np.ones(known - 1, np.int64)
    if axis.size > known:  # 0 where a value is missing, and whether it is
        raw = np.append(raw, np.zeros((1, raw.shape[1])), axis=0)
        raw = np.column_stack([np.append(np.zeros(known), 1.0), raw])
        degree = np.append(1, degree)
    raw = np.column_stack([np.ones(axis.size), raw])
    degree = np.append(0, degree).astype(np.int64)
    # raw = table R with table'diag(law) table = 1: the same change is made on the lattice
    _, change = np.linalg.qr(raw * np.sqrt(law)[:, None])
    change = np.linalg.inv(change) * np.sign(np.diag(change))
    lattice = None
    if axis.lattice is not None:
        values = axis.lattice.values
        if axis.ordered:
            whole = ((values - centre) / half)[:, None] ** np.arange(1, powers + 1)
            whole = np.column_stack([whole, np.eye(known)[:, cells]]) if len(cells) else whole
        else:
            whole = np.eye(values.size)[:, 1:]
        missing = np.zeros(whole.shape[1])
        if axis.size > known:
            whole = np.column_stack([np.zeros(values.size), whole])
            missing = np.append(1.0, missing)
        lattice = np.column_stack([np.ones(values.size + 1), np.append(whole, missing[None], axis=0)]) @ change
    return Functions(raw @ change, lattice, degree)


def _cells(axis: Axis, powers: int) -> NDArray[np.int64]:
    """Return points whose indicators, with the powers, span all functions of a column with a natural lattice."""
    assert axis.lattice is not None
    if axis.lattice.last + 1 != axis.known:
        return np.zeros(0, np.int64)
    return np.setdiff1d(np.arange(axis.known), np.rint(np.linspace(0, axis.known - 1, powers + 1)).astype(np.int64))


def _averaged(axis: Axis, centre: float, half: float, powers: int) -> Array:
    """Return means of powers over the values for which each point stands, (known points, powers)."""
    low, high = around(axis)
    nodes, weight = np.polynomial.legendre.leggauss(NODES)
    values = (low + high)[:, None] / 2 + (high - low)[:, None] / 2 * nodes
    scaled = (values - centre) / half
    return np.stack([(scaled**p) @ weight / 2 for p in range(1, powers + 1)], axis=1)


def around(axis: Axis) -> tuple[Array, Array]:
    """Return the ends of the values for which each point of a number stands: half way to its neighbours."""
    known = axis.points[: axis.known]
    if axis.gap == 0:
        return known, known
    between = (known[1:] + known[:-1]) / 2
    return np.append(known[:1], between), np.append(between, known[-1:])
