"""Corrected losses by quadrature, for any loss with four derivatives in its index.

    G(u, t) = loss(u) - ((1 - r)/2) t E loss''(u + q N),      q = sqrt(r t), N Laplace with variance 1

Differentiated under the expectation, with `q' = r/(2q)` and f_k the k-th derivative at u + q N:

    G_u = f_1 - h t E f_3          G_t = -h (E f_2 + t r E[f_3 N]/(2q))          h = (1 - r)/2
    G_uu = f_2 - h t E f_4         G_ut = -h (E f_3 + t r E[f_4 N]/(2q))
    G_tt = -(h r/4) (3 E[f_3 N]/q + E[f_4 N^2])

Rules are tried from few nodes to many until two agree. A loss that varies on a scale far below that of the noise never
gets there, and one that grows faster than the density of the noise decays has no expectation: both are refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from versadp.inputs import Array
    from versadp.losses.index_loss import IndexLoss

    Rule = tuple[Array, Array]

# agreement of two rules, relative to the score: standard errors relative to it are 1e-3 or more up to 1e6 records
AGREEMENT = 1e-6
# noise scale q below which quotients by q are replaced by their limit: the error of the limit is O(q²), 1e-12
SMALL_Q = 1e-6
CHECKED_RECORDS = 50  # at which rules are compared, beside the extremes: chosen; all rules are functions of u alone
VALUES_AT_ONCE = 400_000  # values of a derivative per batch: 3 MB, which stays in the cache
LAST_NODE = 40.0  # end of the panels in scales of the noise: e^-40 is 4e-18, below rounding


def corrected(loss: IndexLoss, u: Array, y: Array, t: float, rate: float) -> tuple[Array, ...]:
    """Return `G_u, G_t, G_uu, G_ut, G_tt` of a smooth loss, with as many nodes as are needed.

    Examples
    --------
    >>> from versadp.losses import Squared
    >>> corrected(Squared(), np.array([3.0]), np.array([1.0]), t=0.5, rate=0.2)[1]
    array([-0.4])
    """
    out = np.empty((5, u.size))
    if not u.size:
        return tuple(out)
    rule = _fine_enough(loss, u, y, t, rate)
    rows = VALUES_AT_ONCE // rule[0].size
    for first in range(0, u.size, rows):
        part = slice(first, first + rows)
        out[:, part] = by_rule(loss, u[part], y[part], t, rate, rule=rule)
    return tuple(out)


def by_rule(loss: IndexLoss, u: Array, y: Array, t: float, rate: float, *, rule: Rule) -> tuple[Array, ...]:
    """Return what `corrected` returns, by given nodes and weights.

    Examples
    --------
    >>> from versadp.losses import Logistic
    >>> one, other = (by_rule(Logistic(), np.ones(1), np.ones(1), 0.5, 0.2, rule=r) for r in (few(32), many(32)))
    >>> bool(abs(one[0] - other[0]) < 1e-12)
    True
    """
    nodes, weights = rule
    q, half = np.sqrt(rate * t), (1 - rate) / 2
    at = u[:, None] + q * nodes
    found = loss.derivatives(at.ravel(), np.repeat(y, nodes.size), 4)
    _, two, three, four = (each.reshape(at.shape) for each in found)
    s, s1 = loss.derivatives(u, y, 2)
    bend = (four * nodes**2) @ weights
    # near q = 0 quotients of rounding errors are replaced by their limit; the second is multiplied by q^2
    pull, push = ((three * nodes) @ weights / q, (four * nodes) @ weights / q) if q > SMALL_Q else (bend, 0.0)
    return (
        s - half * t * (three @ weights),
        -half * (two @ weights + t * (rate * pull / 2)),
        s1 - half * t * (four @ weights),
        -half * (three @ weights + t * (rate * push / 2)),
        -half * rate / 4 * (3 * pull + bend),
    )


@lru_cache(maxsize=8)
def few(count: int) -> Rule:
    """Return Gauss-Laguerre nodes and weights of a Laplace variable with variance 1, for smooth functions.

    Examples
    --------
    >>> nodes, weights = few(32)
    >>> [round(float(weights @ nodes**k), 9) for k in (0, 2, 4)]
    [1.0, 1.0, 6.0]
    """
    x, w = np.polynomial.laguerre.laggauss(count)
    keep = w > 1e-18
    return _both_sides(x[keep], w[keep])


@lru_cache(maxsize=8)
def many(count: int) -> Rule:
    """Return nodes and weights of the same by panels of ten nodes, short near 0, for functions narrower than the noise.

    Examples
    --------
    >>> nodes, weights = many(16)
    >>> [round(float(weights @ nodes**k), 9) for k in (0, 2, 4)]
    [1.0, 1.0, 6.0]
    """
    z, w = np.polynomial.legendre.leggauss(10)
    edges = LAST_NODE * (np.arange(count + 1) / count) ** 2
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    x = (middle[:, None] + half[:, None] * z).ravel()
    return _both_sides(x, (half[:, None] * w).ravel() * np.exp(-x))


def _both_sides(x: Array, w: Array) -> Rule:
    x, w = x / np.sqrt(2.0), w / 2
    return np.concatenate([-x, x]), np.concatenate([w, w])


def _fine_enough(loss: IndexLoss, u: Array, y: Array, t: float, rate: float) -> Rule:
    """Return the first rule that agrees with the one before it, at some of the records and at the extremes."""
    some = np.append(np.linspace(0, u.size - 1, CHECKED_RECORDS).astype(int), [u.argmin(), u.argmax()])
    u, y = u[some], y[some]
    with np.errstate(all="ignore"):
        slope, bend = (np.abs(each).max() for each in loss.derivatives(u, y, 2))
        before = by_rule(loss, u, y, t, rate, rule=few(16))
        for rule in (few(32), many(16), many(32), many(64)) if _decays(loss, u, y, t) else ():
            now = by_rule(loss, u, y, t, rate, rule=rule)
            sizes = zip(before, now, (slope, bend, bend), strict=False)
            if all(np.abs(a - b).max() <= AGREEMENT * (np.abs(b).max() + size) for a, b, size in sizes):
                return rule
            before = now
    raise ParameterError(
        f"{loss.name} loss cannot be corrected analytically at this much noise: quadrature does not settle",
        hint="use method 'efficient', or the extension 'zero' or 'clip' with draws",
    )


def _decays(loss: IndexLoss, u: Array, y: Array, t: float) -> bool:
    """Return True if the density of the noise (variance t, not r t) decays faster than the slope of the loss grows."""
    near, far = (
        np.exp(-x) * max(np.abs(loss.derivatives(u + side * x * np.sqrt(t / 2), y, 1)[0]).max() for side in (-1, 1))
        for x in (10.0, 20.0)
    )
    return bool(far <= near)
