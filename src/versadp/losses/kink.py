"""The corrected kink, which check and hinge loss share.

    phi(v) = max(0, v) - tau v          G(v, t) = phi(v) - ((1 - r)/r)(b/2) exp(-|v|/b),   b = sqrt(r t / 2)

The correction makes the kink 1/r times as sharp and the loss concave beside it, so it is smoothed by the kernel: jumps
exactly, the exponential by quadrature.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from versadp.losses.closed import Closed
from versadp.losses.smoothing import bump, step

if TYPE_CHECKING:
    from versadp.inputs import Array


@dataclass(frozen=True)
class Kink(Closed):
    """A corrected kink at 0 with slopes -tau and 1 - tau beside it, smoothed with a bandwidth.

    Examples
    --------
    >>> first, _, _ = Kink(rate=0.2, bandwidth=0.5, tau=0.5).slopes(np.array([-9.0, 0.0, 9.0]), t=0.1)
    >>> first.round(9)
    array([-0.5,  0. ,  0.5])
    """

    bandwidth: float
    tau: float = 0.0

    @property
    def core(self) -> float:
        """From where on the loss itself is straight: the kernel's reach."""
        return self.bandwidth

    def slopes(self, v: Array, t: float) -> tuple[Array, Array, Array]:
        """Return `G_v, G_t, G_vv`."""
        b, gain = np.sqrt(self.rate * t / 2) + 1e-300, (1 - self.rate) / self.rate
        share, density = step(v, self.bandwidth)
        odd, even, slow = tails(v, b, self.bandwidth)
        by_t = -gain / 2 * slow * b / (2 * t + 1e-300)
        return share - self.tau + gain / 2 * odd, by_t, (1 + gain) * density - gain / (2 * b) * even


def tails(v: Array, b: float, bandwidth: float) -> tuple[Array, Array, Array]:
    """Return sign(x) e^(-|x|/b), e^(-|x|/b) and (1 + |x|/b) e^(-|x|/b) at x = v, smoothed by the kernel.

    Beyond the kernel's reach the kink is not met, and the exponential carries the values at its end further.

    Examples
    --------
    >>> odd, even, slow = tails(np.array([-1.0, 1.0]), 1.0, 0.0)
    >>> odd.round(4), slow.round(4)
    (array([-0.3679,  0.3679]), array([0.7358, 0.7358]))
    """
    near = np.flatnonzero(np.abs(v) < bandwidth)
    odd, even, slow = _around_the_kink(np.append(v[near], bandwidth), b, bandwidth)
    further = np.maximum(np.abs(v) - bandwidth, 0.0) / b
    left = np.exp(-further)
    out = np.sign(v) * left * even[-1], left * even[-1], left * (slow[-1] + further * even[-1])
    for whole, part in zip(out, (odd, even, slow), strict=True):
        whole[near] = part[:-1]
    return out


def _around_the_kink(v: Array, b: float, bandwidth: float) -> tuple[Array, Array, Array]:
    """Return the same within the kernel's reach: a panel on each side of the kink, no longer than the exponential."""
    if bandwidth <= 0:
        return np.sign(v), np.ones_like(v), np.ones_like(v)
    z, w = _panel()
    kink, longest = -v / bandwidth, 40 * b / bandwidth
    total = np.zeros((3, v.size))
    for side, room in ((-1.0, 1 + kink), (1.0, 1 - kink)):
        length = np.minimum(room, longest)[:, None]
        size = bandwidth / b * length * z
        weight = np.exp(-size) * bump(kink[:, None] + side * length * z)[0] * length * w
        total += [side * weight.sum(axis=1), weight.sum(axis=1), (weight * (1 + size)).sum(axis=1)]
    return total[0], total[1], total[2]


@lru_cache(maxsize=1)
def _panel(count: int = 40) -> tuple[Array, Array]:
    """Return nodes of [0, 1] and their weights."""
    x, w = np.polynomial.legendre.leggauss(count)
    return (x + 1) / 2, w / 2
