"""Ranks: where what was released of a record stands in the law of its noise, given the true record.

A rank is a distribution function at the released value, drawn evenly where the law has an atom: if noise follows its
law, ranks are even on (0, 1), independent of each other, of the record, and of every other row. Noise of any other law
shows: that is what an audit looks at. What the law never gives has the rank NaN.

**Laplace noise** in units of its scale has a radius, which includes the chance of an unchanged record, and a direction:

    a V  if nothing moved,  else  a + (1 - a) (F(R) - p0)/(1 - p0),      a = r + (1 - r) p0,
    1/2 + sign(t_j)/2 I(t_j²/(t_j² + ... + t_d²)),                       I of Beta(1/2, (d - j)/2),

with p0 the chance that noise rounds to nothing, F the law of the radius, V even. t is the noise in whole steps, spread
evenly over its step: only the steps that the edge of a cell cuts matter, and steps are 1/1024 of the scale or less, so
that the probability of a cell is off by 1e-6 or so. In one dimension, with the cells of a step, it is exact.

**Keep or redraw.** All columns lie in their windows with probability `keep + (1 - keep) Π w/n`; else they were redrawn,
and column after column is in its window or not, given those before it and that not all are. Inside and outside of it
places are even. That is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]


def rounds_to_nothing(sigma_steps: Array) -> float:
    """Return the chance that symmetric Laplace noise with these scales, in steps, rounds to 0 in all columns.

    Examples
    --------
    >>> import math
    >>> math.isclose(rounds_to_nothing(np.array([1024.0])), -math.expm1(-math.sqrt(2) / 2048))
    True
    """
    from scipy.special import erf

    t = np.linspace(-120, 5, 20_001)  # log W; the rule of equal steps converges faster than any power of them
    chance = np.prod(erf(1 / (sigma_steps[:, None] * np.sqrt(8 * np.exp(t)))), axis=0)
    return float(np.sum(np.exp(t - np.exp(t)) * chance) * (t[1] - t[0]))


def laplace_ranks(noise: Array, sigma_steps: Array, exact_rate: float, rng: np.random.Generator) -> Array:
    """Return the ranks of zero-inflated symmetric Laplace noise: of its radius, then of its direction.

    Parameters
    ----------
    noise : array (columns, rows)
        In whole steps.
    sigma_steps : array (columns,)
        Its scale in steps.
    exact_rate : float
    rng : Generator

    Returns
    -------
    array (1 + columns, rows)
    """
    from scipy.special import betainc

    from versadp.privacy.curves.radial import radial_law

    dim, rows = noise.shape
    still = (noise == 0).all(axis=0)
    t = (noise + rng.random(noise.shape) - 0.5) / sigma_steps[:, None]
    square = t**2
    left = np.cumsum(square[::-1], axis=0)[::-1]
    zero = rounds_to_nothing(sigma_steps)
    atom = exact_rate + (1 - exact_rate) * zero
    radius = np.exp(radial_law(dim).log_cdf(0.5 * np.log(left[0])))
    out = rng.random((1 + dim, rows))
    moved = atom + (1 - atom) * np.clip((radius - zero) / (1 - zero), 0.0, 1.0)
    out[0] = np.where(still, atom * out[0], moved)
    for j in range(dim - 1):
        direction = (1 + np.sign(t[j]) * betainc(0.5, (dim - 1 - j) / 2, square[j] / left[j])) / 2
        out[1 + j] = np.where(still, out[1 + j], direction)
    out[dim] = np.where(still, out[dim], ((t[-1] > 0) + out[dim]) / 2)
    return out


def keep_or_redraw_ranks(
    places: Array, content: Array, window: Array, outputs: Array, *, keep: float, rng: np.random.Generator
) -> Array:
    """Return the ranks of records that are kept up to a window or redrawn: of the coin, then of each column.

    Parameters
    ----------
    places, content : array (columns, rows)
        Outputs, and the first point of the window that the true record has; NaN where a column is publicly missing.
    window, outputs : array (columns,)
        How many points a window has, and how many outputs there are.
    keep : float
    rng : Generator

    Returns
    -------
    array (1 + columns, rows)
    """
    count, rows = places.shape
    hidden = np.isnan(content)
    share = np.where(hidden, 1.0, (window / outputs)[:, None])
    inside = hidden | ((places >= content) & (places < content + window[:, None]))
    rest = np.vstack([np.cumprod(share[::-1], axis=0)[::-1], np.ones(rows)])
    every = inside.all(axis=0)
    atom = keep + (1 - keep) * rest[0]
    out = rng.random((1 + count, rows))
    out[0] = np.where(every, atom * out[0], atom + (1 - atom) * out[0])
    before = np.ones(rows, np.bool_)  # all columns so far are in their windows
    for j, (z, c, w, n) in enumerate(zip(places, content, window, outputs, strict=True)):
        v = out[1 + j]
        certain = np.maximum(1 - rest[j], 1e-300)  # 0 only where nothing can be outside
        chance = np.where(before, share[j] * (1 - rest[j + 1]) / certain, share[j])
        near = (z - c + v) / w
        far = (np.where(z < c, z, z - w) + v) / max(n - w, 1)
        redrawn = np.where(inside[j], chance * near, chance + (1 - chance) * far)
        out[1 + j] = np.where(hidden[j], v, np.where(every, near, redrawn))
        before &= inside[j]
    return out
