"""Fits of raw records, by formulas of our own: the truth of a population, and what privacy is compared with.

Nothing here comes from `versadp`: minima of a convex loss by Newton, with the sandwich for standard errors. Each loss
is given by its value, its derivative and its second derivative in the index u. Kinks are rounded by a uniform kernel of
half-width h: `|v|` becomes `(v^2 + h^2)/(2h)` where |v| < h. Rounded losses are followed from a wide h to a narrow one,
each minimum the start of the next; `sharp` goes on to a twentieth of what serves a sample.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Parts = tuple[Array, Array, Array]

FOUND = "found"
_STEPS = 200
_TURNS = 50
_FLAT = 1e-9


class Plain(NamedTuple):
    """A fit of raw records: "found" or why not, coefficients, standard errors."""

    outcome: str
    estimate: Array
    error: Array


def _absolute(v: Array, h: float) -> Parts:
    """Return rounded |v| and its two derivatives."""
    near = np.abs(v) < h
    value = np.where(near, (v * v + h * h) / (2 * h), np.abs(v))
    return value, np.clip(v / h, -1.0, 1.0), near / h


def _squared(u: Array, y: Array, _: float, __: float) -> Parts:
    return (u - y) ** 2 / 2, u - y, np.ones_like(u)


def _logistic(u: Array, y: Array, _: float, __: float) -> Parts:
    p = expit(u)
    return np.logaddexp(0, u) - y * u, p - y, p * (1 - p)


def _poisson(u: Array, y: Array, _: float, __: float) -> Parts:
    mean = np.exp(np.minimum(u, 300.0))
    return mean - y * u, mean - y, mean


def _check(u: Array, y: Array, h: float, tau: float) -> Parts:
    value, slope, bend = _absolute(u - y, h)
    return value / 2 + (0.5 - tau) * (u - y), slope / 2 + 0.5 - tau, bend / 2


def _huber(u: Array, y: Array, h: float, k: float) -> Parts:
    # k times a rounded |r|: with a wider corner on the way, and for the curvature of a narrow one
    value, slope, bend = _absolute(u - y, max(h, k))
    return k * value, k * slope, k * bend


def _hinge(u: Array, y: Array, h: float, _: float) -> Parts:
    value, slope, bend = _absolute(1 - y * u, h)
    return (value + 1 - y * u) / 2, -y * (slope + 1) / 2, bend / 2


_LOSSES: Mapping[str, Callable[[Array, Array, float, float], Parts]] = {
    "squared": _squared,
    "logistic": _logistic,
    "poisson": _poisson,
    "check": _check,
    "huber": _huber,
    "hinge": _hinge,
}
ROUNDED = ("check", "huber", "hinge")


def plain_huber(design: Array, y: Array, k: float, *, sharp: bool = False) -> Plain:
    """Fit Huber loss with a corner of k scales, the scale by Huber's second proposal: both in turns.

    Examples
    --------
    >>> y = np.append(np.linspace(-2.0, 2.0, 999), 1000.0)
    >>> bool(abs(plain_huber(np.ones((1000, 1)), y, 1.345).estimate[0]) < 0.01)
    True
    """
    found, before = plain_fit("check", design, y, 0.5), np.inf
    for _ in range(_TURNS):
        if found.outcome != FOUND:
            break
        scale = second_proposal(y - design @ found.estimate, k)
        if abs(scale - before) < 1e-5 * scale:
            break
        found, before = plain_fit("huber", design, y, k * scale, sharp=sharp), scale
    return found


def second_proposal(residual: Array, k: float) -> float:
    """Return the s at which the mean of min((r/s)^2, k^2) is what it is for normal residuals of sd s.

    Examples
    --------
    >>> round(second_proposal(np.random.default_rng(0).normal(0, 2, 100_000), 1.345), 1)
    2.0
    """
    z = np.linspace(-10, 10, 200_001)
    normal = float(np.minimum(z * z, k * k) @ np.exp(-z * z / 2) / np.exp(-z * z / 2).sum())
    squares = residual**2
    low, high = 0.0, float(np.abs(residual).max()) / k + 1e-300
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(squares / middle**2, k * k).mean() > normal else (low, middle)
    return high


def plain_fit(loss: str, design: Array, y: Array, option: float = 0.0, *, sharp: bool = False) -> Plain:
    """Fit raw records.

    Parameters
    ----------
    loss : str
    design : array (n, p)
    y : array (n,)
    option : float
        tau of "check", corner of "huber".
    sharp : bool
        Round kinks as little as can be, for a truth.

    Examples
    --------
    >>> y = np.array([1.0, 2.0, 3.0, 6.0])
    >>> plain_fit("squared", np.ones((4, 1)), y).estimate
    array([3.])
    """
    n, p = design.shape
    nothing = np.full(p, np.nan)
    q, r = np.linalg.qr(design)
    if (np.abs(np.diag(r)) < _FLAT * np.linalg.norm(design, axis=0)).any():
        return Plain("singular", nothing, nothing)
    q, r = q * n**0.5, r / n**0.5
    phi = np.zeros(p) if loss in {"logistic", "poisson", "hinge"} else q.T @ y / n
    widths, wide = _widths(loss, option, y - q @ phi, p, sharp=sharp)
    for h in widths:
        rounded = partial(_parts, loss, option, h, y)
        phi, done = _newton(rounded, q, phi)
        if not done:
            return Plain("too many steps", nothing, nothing)
    slope, bend = rounded(q @ phi)[1], _parts(loss, option, wide, y, q @ phi)[2]
    curvature, back = q.T @ (q * bend[:, None]) / n, np.linalg.inv(r)
    most = 0.25 if loss == "logistic" else float(bend.max())
    if np.linalg.eigvalsh(curvature)[0] <= _FLAT * most:  # so flat where events are separable
        return Plain("flat", nothing, nothing)
    influence = (q * slope[:, None]) @ np.linalg.inv(curvature) @ back.T
    return Plain(FOUND, back @ phi, np.sqrt((influence**2).sum(axis=0)) / n)


def _parts(loss: str, option: float, h: float, y: Array, u: Array) -> Parts:
    return _LOSSES[loss](u, y, h, option)


def _widths(loss: str, option: float, residual: Array, p: int, *, sharp: bool) -> tuple[Array, float]:
    """Return half-widths from wide to narrow, and one for curvature, which is noisier.

    The narrowest is the narrower the further out a quantile is, where densities change faster.
    """
    if loss not in ROUNDED:
        return np.zeros(1), 0.0
    n = residual.size
    spread = 2.0 if loss == "hinge" else float(residual.std()) or 1.0  # a hinge bends at 1 from where it starts
    rate = min(1.0, ((p + np.log(n)) / n) ** 0.4)
    last = rate * (0.05 if sharp else 1.0) * (2 * (option * (1 - option)) ** 0.5 if loss == "check" else 1.0)
    return spread * np.geomspace(1.0, last, max(2, int(2 - 2 * np.log(last)))), float(spread * rate)


def _newton(loss: Callable[[Array], Parts], q: Array, phi: Array) -> tuple[Array, bool]:
    """Return the minimum of a rounded loss, from a start, and whether it was reached."""
    n, p = q.shape
    value, slope, bend = loss(q @ phi)
    for _ in range(_STEPS):
        gradient, curvature = q.T @ slope / n, q.T @ (q * bend[:, None]) / n
        step = -np.linalg.solve(curvature + 1e-9 * (np.trace(curvature) + 1e-12) * np.eye(p), gradient)
        promised = float(-gradient @ step)
        if promised < 1e-13 * (1 + float(np.abs(value).mean())):
            return phi + step, True
        for pace in 0.5 ** np.arange(20):
            there = loss(q @ (phi + pace * step))
            if float((there[0] - value).mean()) <= -0.1 * pace * promised:
                break
        else:
            return phi, True  # no descent is left that rounding of numbers would let us see
        phi, (value, slope, bend) = phi + pace * step, there
    return phi, False
