r"""Mass that sampled noise lacks: a small share of every likely outcome.

`grid.sampler_error` bounds the probability τ that words and true uniforms give different noise. An event that is
rare under ideal noise could still lose all of its probability that way, and a guarantee at a large epsilon rests on
rare events: that is why τ alone costs e^ε τ. Here the loss is bounded relative to the outcome. With h = 2^-65 half a
cell of words, outcomes k whose distance `|k/σ|` from the record is at most B, and any bounds n and w on normals and W,

    P(Z = k, Z' != k) <= lost P(Z = k),    lost = C η + far_W + far_N.

η bounds how far a cell moves noise before rounding (in steps) where the normals are below n and W below w:

    η = σh max(√w/0.2419, min(√w, B/n)/φ(n))/0.999 + max(1.003 σh e^w (B/w + h/φ(n)), 5.46 (σ n)² h).

Noise within η of where it would round otherwise is a share of at most `η (d + 5 e d)` of an outcome, and

    far_W = 1.59 e^(√2 B - w) ((1 + B/√2)/w)^(d/2),    far_N = d λ^(d-2) exp(-(1 - λ^-2)(n²/2 - (λB/n)²)), any λ > 1,

bound what larger W and larger normals contribute to it. Beyond B the log ratio of two records' outcomes is at most
``reach = c (√2 + d/(B - c))``, c the shift. (B stands for itself and half a step more, in the last line less.) The
proof is in `docs/theory/privacy-numerics.md`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.noise.grid import grid_bits, sampler_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]

_NORMALS, _EXPONENTIALS = np.linspace(2.0, 8.0, 61)[:, None], np.linspace(2.0, 36.0, 69)
_STRETCHES = np.array([1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0])  # λ²


class Missing(NamedTuple):
    """The share that may be missing of a likely outcome, and the largest log ratio of the others."""

    lost: float
    reach: float


def as_sampled(profile: PrivacyProfile, scales: Sequence[float], shift: float) -> PrivacyProfile:
    """Charge the sampler's error to what ideal symmetric Laplace noise guarantees.

    Parameters
    ----------
    profile : PrivacyProfile
        Of ideal noise.
    scales : sequence of float
        Noise scale of each column relative to its width.
    shift : float
        Largest distance of two neighbouring records in units of the noise scale.

    Returns
    -------
    PrivacyProfile

    Examples
    --------
    >>> from versadp.privacy import symmetric_laplace
    >>> ideal = symmetric_laplace(6, 0.05)
    >>> print(f"{as_sampled(ideal, [20.0] * 6, 0.05).delta(14.0) / ideal.delta(14.0):.3f}")
    1.001
    """
    from versadp.privacy import with_slack

    tv = sum(map(sampler_error, scales))
    lost, reach = missing([math.ldexp(scale, grid_bits(scale)) for scale in scales], shift)
    return with_slack(profile, tv, lost=lost, far=tv * math.exp(min(reach, 700.0)))


def missing(sigma_steps: Sequence[float], shift: float, *, bits: int = 64) -> Missing:
    """Bound what is missing from the outcomes of symmetric Laplace noise on a grid.

    Parameters
    ----------
    sigma_steps : sequence of float
        Noise scale of each column in grid steps.
    shift : float
        Largest distance of two neighbouring records in units of the noise scale.
    bits : int
        Length of a word.

    Returns
    -------
    Missing
        `lost` in (0, 1], to charge with ``privacy.with_slack(profile, tv, lost=lost, far=tv * exp(reach))``; 1 where
        nothing is claimed, as in high dimension.

    Examples
    --------
    >>> lost, reach = missing([1.3e6] * 6, shift=0.05)
    >>> print(f"{lost:.2g} {reach:.2g}")
    0.0016 0.15
    """
    dim, rim = len(sigma_steps), math.sqrt(len(sigma_steps)) / (2 * min(sigma_steps))
    near = shift + dim / 2 + 1
    reach = shift * (math.sqrt(2) + dim / (near - rim - shift))
    n, w, half, top = _NORMALS, _EXPONENTIALS, 2.0 ** -(bits + 1), near + rim
    moves = moved(max(sigma_steps), top, n, w, half)
    rounded = moves * (dim + math.e * (5 * dim + 2 * math.sqrt(2 * dim) / min(sigma_steps)))
    far_w, far_n = tails(dim, top, n, w)
    lost = np.where(moves < 0.5, rounded + far_w + far_n, 1.0)
    return Missing(min(float(lost.min()) * (1 + 1e-9), 1.0), reach)


def moved(sigma: float, top: float, n: Array, w: Array, half: float) -> Array:
    """Return η: how far, in steps, a cell of words moves noise below `top`, if its normal is below n and W below w.

    Parameters
    ----------
    sigma : float
        Noise scale in steps.
    top : float
        Largest size of the noise that is looked at, in units of its scale.
    n, w : array
        Bounds.
    half : float
        Half the width of a cell.

    Returns
    -------
    array
        Infinite where a cell is not small beside what lies beyond the bounds.

    Examples
    --------
    >>> print(f"{moved(1e6, 4.0, np.array(6.0), np.array(20.0), 2.0**-65):.2g}")
    8.3e-06
    """
    density = np.exp(-n * n / 2) / math.sqrt(2 * math.pi)
    small = (1000 * half * (n + 1) <= density * n / (n * n + 1)) & (np.exp(-w) >= 2000 * half)
    by_normal = np.maximum(np.sqrt(w) / 0.2419, np.minimum(np.sqrt(w), top / n) / density) / 0.999
    by_w = np.maximum(1.003 * np.exp(w) * (top / w + half / density), 5.46 * sigma * n * n)
    return np.where(small, sigma * half * (by_normal + by_w), np.inf)


def tails(dim: int, top: float, n: Array, w: Array) -> tuple[Array, Array]:
    """Bound the shares that a W above w, and normals above n, have in an outcome no farther than `top`.

    Parameters
    ----------
    dim : int
        Number of columns.
    top : float
        Largest size of the noise that is looked at, in units of its scale.
    n, w : array
        Bounds.

    Returns
    -------
    far_w, far_n : array

    Examples
    --------
    >>> far_w, far_n = tails(6, 4.0, np.array(6.0), np.array(20.0))
    >>> print(f"{far_w:.2g} {far_n:.2g}")
    6.6e-09 0.0005
    """
    log_w = math.sqrt(2) * top - w + dim / 2 * np.log((1 + top / math.sqrt(2)) / w)
    square = (n * n)[..., None]
    logs = (dim / 2 - 1) * np.log(_STRETCHES) - (1 - 1 / _STRETCHES) * (square / 2 - _STRETCHES * top**2 / square)
    return 1.59 * np.exp(np.minimum(log_w, 50.0)), dim * np.exp(np.minimum(logs.min(axis=-1), 50.0))
