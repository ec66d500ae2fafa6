"""Fits of raw records, by formulas of our own: the truth of a population, and what privacy is compared with.

Nothing here comes from `versadp`: minima of a convex loss by Newton, with the sandwich for standard errors. Each loss is
given by its value, its derivative and its second derivative in the index u. Kinks are rounded by a uniform kernel of
half-width h: `|v|` becomes `(v^2 + h^2)/(2h)` where |v| < h. Rounded losses are followed from a wide h to a narrow one,
each minimum the start of the next; `sharp` goes on until few records are left within h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Parts = tuple[Array, Array, Array]

FOUND = "found"
_STEPS = 200
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
    corner = max(h, k)  # the loss is k times a rounded |r|: a wider corner on the way, and for curvature
    value, slope, bend = _absolute(u - y, corner)
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


def plain_fit(loss: str, design: Array, y: Array, option: float = 0.0, *, sharp: bool = False) -> Plain:
    """Fit raw records.

    Parameters
    ----------
    loss : str
    design : array (n, p)
    y : array (n,)
    option : float
        tau of "check", k of "huber".
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
    for h in _widths(loss, q, y, phi, sharp=sharp) if loss in ROUNDED else (0.0,):
        outcome, phi = _newton(loss, q, y, phi, h, option)
        if outcome != FOUND:
            return Plain(outcome, nothing, nothing)
    _, slope, bend = _LOSSES[loss](q @ phi, y, h, option)
    curvature, back = q.T @ (q * bend[:, None]) / n, np.linalg.inv(r)
    if np.linalg.eigvalsh(curvature)[0] <= _FLAT * np.abs(bend).max():  # so flat where events are separable
        return Plain("flat", nothing, nothing)
    influence = (q * slope[:, None]) @ np.linalg.inv(curvature) @ back.T
    return Plain(FOUND, back @ phi, np.sqrt((influence**2).sum(axis=0)) / n)


def _widths(loss: str, q: Array, y: Array, phi: Array, *, sharp: bool) -> Array:
    """Return half-widths from wide to narrow."""
    n, p = q.shape
    spread = 2.0 if loss == "hinge" else float(np.std(y - q @ phi)) or 1.0  # a hinge bends at 1 from where it starts
    last = ((p + np.log(n)) / n) ** 0.4 * (0.05 if sharp else 1.0)
    return spread * np.geomspace(1.0, last, max(2, int(2 - 2 * np.log(last)))) if last < 1 else np.array([spread])


def _newton(loss: str, q: Array, y: Array, phi: Array, h: float, option: float) -> tuple[str, Array]:
    """Minimise a rounded loss from a start."""
    n, p = q.shape
    parts: Any = _LOSSES[loss](q @ phi, y, h, option)
    for _ in range(_STEPS):
        value, slope, bend = parts
        gradient = q.T @ slope / n
        curvature = q.T @ (q * bend[:, None]) / n
        ridge = 1e-9 * (np.trace(curvature) + 1e-12) * np.eye(p)
        step = -np.linalg.solve(curvature + ridge, gradient)
        promised = float(-gradient @ step)
        if promised < 1e-13 * (1 + float(np.abs(value).mean())):
            return FOUND, phi + step
        pace = 1.0
        while pace > 1e-6:
            parts = _LOSSES[loss](q @ (phi + pace * step), y, h, option)
            if float((parts[0] - value).mean()) <= -0.1 * pace * promised:
                break
            pace /= 2
        else:
            return FOUND, phi  # no descent is left that rounding would let us see
        phi = phi + pace * step
    return "too many steps", phi
