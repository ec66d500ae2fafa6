"""One column of a lattice as totals need it: the matrices by which its noise enters products over columns.

With U uniform on the lattice points, a missing value among them, G the inverse at every output (`noise/lattice.py`),
A the law of a kept record's output and o that of a redrawn one,

    kept   T = diag(1/U) G' diag(U'A) G          <v, T f>_U = mean of (G v)(G f) over outputs of kept uniform x
    drawn  C = diag(1/U) G' diag(o) G            <v, C f>_U = mean of (G v)(G f) over redrawn outputs
    mean   d = G'o,   D = d/U                    d'f = <f, D>_U = mean of G f over redrawn outputs

G keeps constants, so that a column which a function does not use drops out: T 1 = 1, C 1 = D, d'1 = 1.

A lattice may be finer than the functions that are asked of it: a window of w points sees q of them as one if q divides
w and the functions are straight between every q-th point (`Lattice.coarser`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise.lattice import Lattice

    Array = NDArray[np.float64]

MOST_POINTS = 130  # lattice points per column: tables of a pair have their square; twice the levels of a sheet
STRAIGHT = 1e-9  # relative: functions that bend less between merged points are straight but for rounding


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """The noise of one column on its lattice.

    Attributes
    ----------
    lattice : Lattice
        Perhaps merged.

    Examples
    --------
    >>> from versadp.noise.lattice import Lattice
    >>> law = LatticeLaw(Lattice(0.0, 1.0, 4, 3, keep=0.5))
    >>> bool(np.allclose(law.seen @ law.inverse, np.eye(5)))
    True
    >>> bool(np.allclose(law.kept.sum(axis=1), 1.0))
    True
    """

    lattice: Lattice

    @property
    def size(self) -> int:
        """Number of points: those of the lattice, and one for a missing value."""
        return self.lattice.points + (self.lattice.unseen > 0)

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return int(self.lattice.drawn.size)

    @cached_property
    def uniform(self) -> Array:
        """U: the same for all points."""
        return np.full(self.size, 1 / self.size)

    @cached_property
    def inverse(self) -> Array:
        """G: what undoes each point's indicator at every output, (outputs, points)."""
        return self.lattice.undone(np.eye(self.size), self.lattice.even)

    @cached_property
    def seen(self) -> Array:
        """A: the law of a kept record's output, (points, outputs)."""
        own, q = self.lattice, self.lattice.merged
        w, last = own.window // q, own.points - 1
        out = np.zeros((self.size, self.outputs))
        for point in range(own.points):
            out[point, point : point + w] = 1 / w
        if rest := own.last % q:  # the last point lies before the next merged one
            out[last] = (1 - rest / q) * out[last - 1] + rest / q * out[last]
        if own.unseen:
            out[-1, : own.shown], out[-1, -1] = own.central / own.window, own.unseen / own.window
        return out

    @cached_property
    def kept(self) -> Array:
        """T, (points, points)."""
        return np.asarray((self.inverse.T * (self.uniform @ self.seen)) @ self.inverse / self.uniform[:, None])

    @cached_property
    def drawn(self) -> Array:
        """C, (points, points)."""
        return np.asarray((self.inverse.T * self.lattice.drawn) @ self.inverse / self.uniform[:, None])

    @cached_property
    def mean(self) -> Array:
        """d, (points,)."""
        return np.asarray(self.lattice.drawn @ self.inverse)

    @cached_property
    def density(self) -> Array:
        """D, (points,)."""
        return np.asarray(self.mean / self.uniform)

    @cached_property
    def values(self) -> Array:
        """The points in the column's own units, NaN for a missing value."""
        return np.append(self.lattice.values, np.nan) if self.lattice.unseen else self.lattice.values


def merged_for(lattice: Lattice, functions: Array) -> tuple[LatticeLaw, Array] | None:
    """Return the law of a column for some functions at its points, and these at the points of the merged lattice.

    A lattice of few points is taken as it is; of a finer one so many points are taken as one as the functions allow.

    Parameters
    ----------
    lattice : Lattice
    functions : array (points, k)
        With a row more for a missing value, 0 without one.

    Returns
    -------
    tuple or None
        None where more points are needed than tables have.

    Examples
    --------
    >>> from versadp.noise.lattice import Lattice
    >>> x = np.arange(101.0)
    >>> law, straight = merged_for(Lattice(0.0, 1.0, 100, 40, keep=0.5), x[:, None])
    >>> law.lattice.merged, law.size, straight[-1]
    (40, 4, array([100.]))
    """
    points = lattice.last + 1
    if not lattice.is_small:
        return None
    known, unknown = functions[:points], functions[points:]
    if lattice.unseen and not len(unknown):
        unknown = np.zeros((1, functions.shape[1]))
    if points <= MOST_POINTS // 2:
        return LatticeLaw(lattice), np.concatenate([known, unknown[: lattice.unseen > 0]])
    for q in range(min(lattice.window, lattice.last), 0, -1):
        if lattice.window % q:
            continue
        merged = replace(lattice, merged=q)
        if merged.points > MOST_POINTS:
            return None
        nodes = np.minimum(q * np.arange(merged.points), lattice.last)
        between = np.stack([np.interp(np.arange(points), nodes, f) for f in known[nodes].T], axis=1)
        if np.abs(between - known).max() <= STRAIGHT * max(1.0, float(np.abs(known).max())):
            return LatticeLaw(merged), np.concatenate([known[nodes], unknown[: lattice.unseen > 0]])
    return None
