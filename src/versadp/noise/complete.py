"""Complete cases: what undoes the noise of a window in functions that are 0 where a value is missing.

With e = released - centre, P the set of columns in which a released record shows no value, and the coin κ, a product of
functions f_c of single columns, all 0 where their value is missing, is undone by

    Π_{c not in P} g_c(z_c) Π_{c in P} g_c(missing) / κ + (1 - 1/κ) Π_c mean of g_c,

with m + 1 lattice points, windows of w of them and s outputs for a missing value (`window.py`), and D_n(t) the mean of
waves over n points around the centre,

    f                g at a value            s g(missing)                mean of g, times the outputs m + w + s
    1                1                       -(w - s)                    m + s
    x - c            e                       0                           0
    (x - c)²         e² - v_w                -(w - s)(v_{w-s} - v_w)     (m + w)(v_{m+w} - v_w) - (w - s)(v_{w-s} - v_w)
    e^{it(x - c)}    e^{ite}/D_w             -(w - s) D_{w-s}/D_w        ((m + w) D_{m+w} - (w - s) D_{w-s})/D_w

v_n the variance of a draw from n points. So among records that are alike in P the inverse is `factor` times one that
knows no missing values: with ρ = Π_{c in P} -(w - s)/s and S = Π (m + s)/(m + w + s),

    factor = ρ/κ + (1 - 1/κ) S,      weight of a kept record = ρ/(κ factor).

Where it is public what is missing, incomplete records are left out and the others are as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.block import Case
from versadp.noise.closed import Products, Waves, product_of, spread_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise.closed import Complex
    from versadp.noise.window import WindowBlock

    Array = NDArray[np.float64]

TINY = 1e-12  # of a factor beside its parts: one that is exactly 0 has no weight, and this shifts nothing


@dataclass(frozen=True)
class Lattices:
    """Columns of a window in records that are alike in what they show to be missing, and the weight of a kept record.

    Attributes
    ----------
    columns : tuple of str
    bounds : tuple of pairs
    last, window : tuple of int
        Lattices are 0 to `last`; windows have so many points.
    weight : float
    unseen : tuple of int
        Outputs that show a missing value, 0 where none is private.
    gone : tuple of bool
        Columns that show no value.

    Examples
    --------
    >>> Lattices(("age",), ((0.0, 4.0),), (4,), (3,), 2.0, (0,), (False,)).products().shift
    array([[-4.66666667]])
    """

    columns: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    last: tuple[int, ...]
    window: tuple[int, ...]
    weight: float
    unseen: tuple[int, ...]
    gone: tuple[bool, ...]

    @property
    def _step(self) -> Array:
        return np.array([(high - low) / max(m, 1) for (low, high), m in zip(self.bounds, self.last, strict=True)])

    @property
    def _sizes(self) -> tuple[Array, Array, Array]:
        """Points of a window, of all outputs of numbers, and of those in the middle that missing values share."""
        window, unseen = np.array(self.window), np.array(self.unseen)
        return window, np.add(self.last, window), np.where(unseen > 0, window - unseen, 0)

    def products(self) -> Products:
        """Return the inverse of columns and of products of two."""
        window, outputs, shared = self._sizes
        near, drawn, middle = ((n**2.0 - 1) * self._step**2 / 12 for n in (window, outputs, shared))
        redrawn = (outputs * (drawn - near) - shared * (middle - near)) / (outputs - shared)
        kept = np.where(self.gone, middle - near, -near)
        centre = np.array([(low + high) / 2 for low, high in self.bounds])
        return Products(centre, self.weight, np.diag((1 - self.weight) * redrawn + self.weight * kept))

    def waves(self, t: Complex) -> Waves:
        """Return the inverse of waves."""
        window, outputs, shared = self._sizes
        half, one = self._step / 2, np.where(self.gone, shared, 1)
        gain = product_of(spread_ratio(t, one * half, window * half), self.weight)
        drawn = spread_ratio(t, outputs * half, window * half)
        middle = spread_ratio(t, shared * half, window * half)
        rest = tuple((outputs * d - shared * m) / (outputs - shared) for d, m in zip(drawn, middle, strict=True))
        return Waves(gain, product_of((rest[0], rest[1], rest[2]), 1 - self.weight))


def lattices(block: WindowBlock, weight: float, gone: tuple[bool, ...] = ()) -> Lattices:
    """Return a window's columns in records that show no value in those that are `gone`."""
    gone = gone or (False,) * len(block.columns)
    return Lattices(block.columns, block.bounds, block.last, block.window, weight, block.unseen, gone)


def hidden_weight(block: WindowBlock, gone: tuple[bool, ...]) -> float:
    """Return ρ: the inverse of 1 over all columns, of a kept record that shows no value in those that are `gone`."""
    sizes = zip(block.window, block.unseen, gone, strict=True)
    return math.prod(-(w - s) / s for w, s, hidden in sizes if hidden)


def redrawn_share(block: WindowBlock) -> float:
    """Return S: the mean over all outputs of the inverse of 1 over all columns."""
    return math.prod((n - w) / n for n, w, s in zip(block.outputs, block.window, block.unseen, strict=True) if s)


def patterns(
    block: WindowBlock, released: Array
) -> tuple[NDArray[np.int64], list[tuple[bool, ...]], NDArray[np.bool_]]:
    """Return the pattern of privately missing values of each record, all patterns, and which are publicly incomplete.

    The first pattern is that of complete records, whether there are any or not.
    """
    unknown = np.isnan(released)
    public = np.array([null == "public" for null in block.nulls])
    private = unknown & ~public[:, None]
    if not private.any():
        return np.zeros(released.shape[1], np.int64), [(False,) * len(block.columns)], unknown[public].any(axis=0)
    found, which = np.unique(private.T, axis=0, return_inverse=True)
    which = which.ravel()
    if found[0].any():  # sorted, that of complete records comes first if there are any
        found, which = np.vstack([np.zeros_like(found[:1]), found]), which + 1
    return which, [tuple(map(bool, row)) for row in found], unknown[public].any(axis=0)


def complete_cases(block: WindowBlock, released: Array) -> tuple[NDArray[np.int64], tuple[Case, ...]]:
    """Return which case each released record (columns, n) of a window is, and each case's factor and lattices.

    Cases are: complete; each pattern of values that are shown as missing; and, last, publicly not complete, which are
    left out.
    """
    which, found, left_out = patterns(block, released)
    share, cases = (1 - 1 / block.keep) * redrawn_share(block), []
    for gone in found:
        kept = hidden_weight(block, gone) / block.keep
        factor = kept + share
        if abs(factor) < TINY * abs(kept):
            factor = TINY * kept
        cases.append(Case(factor, lattices(block, kept / factor, gone)))
    return np.where(left_out, len(cases), which), (*cases, Case(0.0, lattices(block, 0.0)))
