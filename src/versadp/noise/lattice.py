"""Any function of one column that is kept up to a window: undone on every output, with the least variance.

Lattice points are 0..m, windows have w of them, κ is the probability to be kept. With g such that
`mean g(x..x+w-1) = v(x)` (`window.py`),

    psi(z) = g(z)/κ + (1 - 1/κ) * mean of g over all outputs       has expectation v(x).

g is free up to functions of the residue `z mod w` that sum to 0: windows see every residue once. With p the law of
outputs the variance of psi is least if those are, in place of any others,

    c_r = mean over residues of S - S_r,     S_r = mean of g over the outputs with residue r, weighted by p.

No other unbiased function of the output varies less, so nothing is lost by it but what v asks for: a step of v makes
jumps of w in g, however fine the lattice is, and a v that rises over b lattice points such of w/b.

**Merged**, q outputs are one, with q a divisor of w. A record `x = q a + r` is then seen as a window of w/q that begins
at a, or with probability r/q at a + 1: what is undone is v on every q-th point, straight in between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from versadp.schema.spacing import LINEAR, from_even, to_even

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FINEST = 2**18  # outputs that are written out one by one
PARTS = 16  # of a window: over such a part the law of outputs is taken to be even


@dataclass(frozen=True)
class Lattice:
    """One column of a window.

    Attributes
    ----------
    low, step : float
        The first lattice point, and how far apart they are, in `spacing`.
    last, window : int
        Lattice points are 0 to `last`; windows have so many of them.
    keep : float
        Probability that a record is kept up to its window.
    unseen : int
        Outputs behind all others that show a missing value; a kept one has as many as its window in all, the others of
        them in the middle of the outputs of numbers (`window.py`).
    merged : int
        How many outputs are taken for one.
    spacing : str
        The function of the column in which points are even; values are those of the column.

    Examples
    --------
    >>> lattice = Lattice(0.0, 1.0, 4, 3, keep=0.5)
    >>> squares = lattice.values[:, None] ** 2
    >>> decoded = lattice.corrected(squares, np.ones(7))
    >>> kept = np.array([decoded[x : x + 3, 0].mean() for x in range(5)])
    >>> (0.5 * kept + 0.5 * decoded.mean()).round(9)
    array([ 0.,  1.,  4.,  9., 16.])
    """

    low: float
    step: float
    last: int
    window: int
    keep: float
    unseen: int = 0
    merged: int = 1
    spacing: str = LINEAR

    def coarser(self, most: float) -> Lattice:
        """Return outputs merged, their lattice points at most so far apart."""
        q = next(q for q in range(max(1, int(most / self.step)), 0, -1) if self.window % q == 0)
        return replace(self, merged=q)

    @property
    def is_small(self) -> bool:
        """True if functions can be tabled over all outputs."""
        return self.shown + self.unseen <= FINEST

    @cached_property
    def values(self) -> Array:
        """The lattice points, in the column's own units; of merged ones the last is the upper bound."""
        points = np.minimum(self.merged * np.arange(float(self.points)), self.last)
        return from_even(self.spacing, self.low + self.step * points)

    @property
    def points(self) -> int:
        """Number of lattice points; of values that are not tabled, which may be billions, nothing more is needed."""
        return -(-self.last // self.merged) + 1

    def nearest(self, x: Array) -> Array:
        """Return the lattice points next to values of the column."""
        place = np.clip(np.rint(self.among(x) / self.merged), 0, self.points - 1)
        return np.asarray(self.values[place.astype(np.int64)])

    def among(self, x: Array) -> Array:
        """Return where values of the column lie among lattice points, which are whole numbers."""
        return np.asarray((to_even(self.spacing, x) - self.low) / self.step)

    @property
    def shown(self) -> int:
        """Number of outputs that show a value."""
        return self.points - 1 + self.window // self.merged

    @cached_property
    def drawn(self) -> Array:
        """The law of a redrawn record on the outputs; those of a missing value are one, the last."""
        size = np.full(self.shown, float(self.merged))
        size[-1] -= self.shown * self.merged - self.last - self.window
        size = np.append(size, self.unseen) if self.unseen else size
        return np.asarray(size / size.sum())

    @cached_property
    def central(self) -> Array:
        """Number of outputs merged into each one that shows a number which a kept missing value may have."""
        count = self.window - self.unseen
        first = (self.last + self.unseen) // 2
        ends = np.clip(self.merged * np.arange(self.shown + 1.0), first, first + count)
        return np.diff(ends)

    def places(self, released: Array) -> NDArray[np.int64]:
        """Return the outputs that released values stand for; -1 for what is publicly missing."""
        # of whole numbers, whose quotient is rounded to a whole one only if it is one: `//` takes fifteen times as long
        places = np.floor(np.rint(self.among(released) + (self.window - 1) / 2) / self.merged)
        return np.where(np.isfinite(places), places, self.shown if self.unseen else -1).astype(np.int64)

    def undone(self, v: Array, law: Array) -> Array:
        """Return g at every output, (outputs, k), of k functions (lattice points, k).

        A row behind those of the lattice points is of a missing value; without one it has the value 0. `law` has a
        weight for each output; any will do, the outputs' own law is best.
        """
        w, end = self.window // self.merged, self.last % self.merged
        v, missing = v[: self.values.size], v[self.values.size :]
        if end:  # straight on to the point behind the last
            v = np.concatenate([v[:-1], v[-2:-1] + (v[-1:] - v[-2:-1]) * (self.merged / end)])
        turns = math.ceil(self.shown / w)  # the last one need not be whole
        out = np.zeros((max(turns * w, self.drawn.size), v.shape[1]))
        first = np.minimum(np.arange(w), len(v) - 1)  # beyond the lattice v has the value of its last point
        out[:w] = v[first] - v[first].mean(axis=0) + v[0]
        np.subtract(v[1:], v[:-1], out=out[w : self.shown])
        out[w : self.shown] *= w
        g, weight = out[: turns * w].reshape(turns, w, -1), np.zeros(turns * w)
        for turn in range(1, turns if turns <= w else 0):  # few: a third of the time of a cumulative sum
            g[turn] += g[turn - 1]
        if turns > w:
            np.cumsum(g, axis=0, out=g)
        weight[: self.shown] = law[: self.shown]
        share = weight.reshape(turns, w)
        mean = np.einsum("qr,qrk->rk", share, g) / share.sum(axis=0)[:, None]
        g += mean.mean(axis=0) - mean
        if self.unseen:
            unknown = missing[0] if len(missing) else 0.0
            out[self.shown] = (self.window * unknown - self.central @ out[: self.shown]) / self.unseen
        return out[: self.drawn.size]

    def corrected(self, v: Array, law: Array) -> Array:
        """Return psi at every output, (outputs, k)."""
        g = self.undone(v, law)
        return np.asarray(g / self.keep + (1 - 1 / self.keep) * (self.drawn @ g))

    @cached_property
    def even(self) -> Array:
        """The law of outputs where values are spread evenly over the lattice."""
        w, size = self.window // self.merged, self.points
        at = np.arange(1.0, size + w)  # in how many windows an output is: a convolution of two even laws
        kept = np.minimum(np.minimum(at, size + w - at), min(size, w)) / (size * w)
        kept = np.append(kept, np.zeros(self.drawn.size - kept.size))
        return np.asarray(self.keep * kept + (1 - self.keep) * self.drawn)

    def smooth(self, counts: Array) -> Array:
        """Return a law of the outputs that is near what was seen, and nowhere 0."""
        from scipy.ndimage import uniform_filter1d

        parts = max(1, self.window // self.merged // PARTS)
        seen = uniform_filter1d(counts[: self.shown].astype(float), parts, mode="nearest")
        law = np.append(seen, counts[self.shown :])
        return np.asarray(law / max(law.sum(), 1.0) + (1 - self.keep) * self.drawn)
