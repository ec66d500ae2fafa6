"""Corrected losses by quadrature: any loss with four derivatives in its index.

    G(u, t) = loss(u) - ((1 - r)/2) t E loss''(u + q N),      q = sqrt(r t), N Laplace with variance 1

Differentiated under the expectation, with `q' = r/(2q)` and f_k the k-th derivative at u + q N:

    G_u = f_1 - h t E f_3          G_t = -h (E f_2 + t r E[f_3 N]/(2q))          h = (1 - r)/2
    G_uu = f_2 - h t E f_4         G_ut = -h (E f_3 + t r E[f_4 N]/(2q))
    G_tt = -(h r/4) (3 E[f_3 N]/q + E[f_4 N^2])

The number of nodes is doubled until that changes nothing. A loss that is rougher than the noise is wide, or whose
expectation does not exist, never gets there, and is refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.losses.base import IndexLoss

    Array = NDArray[np.float64]

COUNTS = (16, 32, 64, 96)  # nodes on a side
ENOUGH = 1e-6  # of the largest score: far below any standard error
TRIED, TOGETHER = 50, 4096  # records at which it is tried; records at once
SMALL = 1e-6


def corrected(loss: IndexLoss, u: Array, y: Array, t: float, rate: float) -> tuple[Array, ...]:
    """Return `G_u, G_t, G_uu, G_ut, G_tt` of a smooth loss, with as many nodes as it takes.

    Examples
    --------
    >>> from versadp.losses import Squared
    >>> corrected(Squared(), np.array([3.0]), np.array([1.0]), t=0.5, rate=0.2)[1]
    array([-0.4])
    """
    count = _enough_nodes(loss, u, y, t, rate)
    out = np.empty((5, u.size))
    for first in range(0, u.size, TOGETHER):
        part = slice(first, first + TOGETHER)
        out[:, part] = with_nodes(loss, u[part], y[part], t, rate, count=count)
    return tuple(out)


def with_nodes(loss: IndexLoss, u: Array, y: Array, t: float, rate: float, *, count: int) -> tuple[Array, ...]:
    """Return the same with a given number of nodes on each side.

    Examples
    --------
    >>> from versadp.losses import Logistic
    >>> few, many = (with_nodes(Logistic(), np.ones(1), np.ones(1), 0.5, 0.2, count=count) for count in (32, 64))
    >>> bool(abs(few[0] - many[0]) < 1e-12)
    True
    """
    nodes, weights = laplace_nodes(count)
    q, half = np.sqrt(rate * t), (1 - rate) / 2
    at = u[:, None] + q * nodes
    _, two, three, four = (each.reshape(at.shape) for each in loss.derivatives(at.ravel(), np.repeat(y, nodes.size), 4))
    s, s1 = loss.derivatives(u, y, 2)
    tilt, turn = (three * nodes) @ weights, (four * nodes) @ weights
    bend = (four * nodes**2) @ weights
    # near q = 0 quotients of rounding errors are replaced by their limit; the second is multiplied by q^2
    pull, push = (tilt / q, turn / q) if q > SMALL else (bend, 0.0)
    return (
        s - half * t * (three @ weights),
        -half * (two @ weights + t * (rate * pull / 2)),
        s1 - half * t * (four @ weights),
        -half * (three @ weights + t * (rate * push / 2)),
        -half * rate / 4 * (3 * pull + bend),
    )


@lru_cache(maxsize=8)
def laplace_nodes(count: int) -> tuple[Array, Array]:
    """Return nodes and weights of a Laplace variable with variance 1.

    Examples
    --------
    >>> nodes, weights = laplace_nodes(32)
    >>> [round(float(weights @ nodes**k), 9) for k in (0, 2, 4)]
    [1.0, 1.0, 6.0]
    """
    x, w = np.polynomial.laguerre.laggauss(count)
    keep = w > 1e-18
    x, w = x[keep] / np.sqrt(2.0), w[keep] / 2
    return np.concatenate([-x, x]), np.concatenate([w, w])


def _enough_nodes(loss: IndexLoss, u: Array, y: Array, t: float, rate: float) -> int:
    """Return a number of nodes that half as many agree with, at some of the records and at the extreme ones."""
    if not u.size:
        return COUNTS[0]
    some = np.append(np.linspace(0, u.size - 1, TRIED).astype(int), [u.argmin(), u.argmax()])
    with np.errstate(all="ignore"):
        before = with_nodes(loss, u[some], y[some], t, rate, count=COUNTS[0])
        for count in COUNTS[1:]:
            now = with_nodes(loss, u[some], y[some], t, rate, count=count)
            changes = zip(before[:3], now[:3], strict=True)
            if all(np.abs(a - b).max() <= ENOUGH * np.abs(b).max() for a, b in changes):
                return count
            before = now
    raise ParameterError(
        f"the expectation of {loss.name} loss over this much noise is not to be had by quadrature",
        hint="use method 'efficient' or 'drcl'",
    )
