"""Corrected losses of one variable in closed form, tabulated on a grid and interpolated.

With phi the loss as a function of one variable v (u - y for losses of the residual, 1 - y u for hinge),

    G(v, t) = phi(v) - ((1 - r)/2) t E phi''(v + L),      L Laplace with variance r t, b = sqrt(r t / 2)

A subclass of `Closed` gives the derivatives of G on a grid; cubic interpolation evaluates them at the records, so that
the work is linear in the records and calls of similar reach share their tables. For the kink of check and hinge loss

    phi(v) = max(0, v) - tau v          G(v, t) = phi(v) - ((1 - r)/r)(b/2) exp(-|v|/b)

The correction makes this kink 1/r times as sharp and the loss concave beside it, so it is smoothed by the kernel: jumps
exactly, the exponential by quadrature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import ParameterError
from versadp.losses.smoothing import smoothing_kernel, step

if TYPE_CHECKING:
    from versadp.inputs import Array

# points of a table: cubic interpolation is then off by less than 3e-5 of the slope (tests/losses/test_corrected.py)
GRID = 1024
# half-width, relative to t, of the difference in t: chosen; its square, 1e-8, is below the interpolation error
T_STEP = 1e-4
FAR = 26.0  # scales b from a kink beyond which the correction is neglected: e^-26 is 5e-12 of it


@dataclass(frozen=True)
class Closed(ABC):
    """A corrected loss of one variable whose slope is constant far out on each side.

    Attributes
    ----------
    rate : float
        The probability that there is no noise.
    """

    rate: float

    @property
    @abstractmethod
    def core(self) -> float:
        """The |v| from which the uncorrected loss is straight, up to 1e-11."""

    @abstractmethod
    def slopes(self, v: Array, t: float) -> tuple[Array, Array, Array]:
        """Return `G_v, G_t, G_vv`."""

    def points(self, reach: float) -> int:
        """Return the number of points of a table from -reach to reach; a smooth loss may need fewer."""
        return GRID

    def at(self, v: Array, t: float, *, bent: bool) -> tuple[Array, ...]:
        """Return `G_v, G_t` at each v, and `G_vv, G_vt, G_tt` too if `bent`."""
        flat = float(self.core + FAR * np.sqrt(self.rate * t / 2) + 1e-2)  # an outlier must not stretch the grid
        reach = min(2.0 ** np.ceil(np.log2(np.abs(v).max(initial=0.0) + 1e-2)), flat)
        grid, table = _tables(self, float(reach), t, bent=bent)
        out = np.empty((table.shape[1], v.size))
        _compiled_cubic()(float(grid[0]), float(grid[1] - grid[0]), table, np.clip(v, -reach, reach), out)
        return tuple(out)


@lru_cache(maxsize=8)
def _tables(form: Closed, reach: float, t: float, *, bent: bool) -> tuple[Array, Array]:
    """Return a grid and, in columns, G_v, G_t, and G_vv, G_vt, G_tt too if `bent`: the last two by differences in t."""
    grid = np.linspace(-1.01 * reach, 1.01 * reach, form.points(reach))
    here = form.slopes(grid, t)
    if not bent:
        return grid, np.stack(here[:2], axis=1)
    ends = (t * (1 - T_STEP), t * (1 + T_STEP) + 1e-12)
    down, up = (form.slopes(grid, end) for end in ends)
    width = ends[1] - ends[0]
    return grid, np.stack([*here, (up[0] - down[0]) / width, (up[1] - down[1]) / width], axis=1)


def _cubic(start: float, width: float, table: Array, v: Array, out: Array) -> None:
    """Write each column of a table on a uniform grid at v, by cubic interpolation through four neighbours."""
    last = table.shape[0] - 3
    for i in range(v.shape[0]):
        at = min(max(int((v[i] - start) / width), 1), last)
        x = (v[i] - start) / width - at
        w0, w1 = -x * (x - 1.0) * (x - 2.0) / 6.0, (x + 1.0) * (x - 1.0) * (x - 2.0) / 2.0
        w2, w3 = -(x + 1.0) * x * (x - 2.0) / 2.0, (x + 1.0) * x * (x - 1.0) / 6.0
        for k in range(table.shape[1]):
            out[k, i] = w0 * table[at - 1, k] + w1 * table[at, k] + w2 * table[at + 1, k] + w3 * table[at + 2, k]


@cache
def _compiled_cubic() -> Any:
    from versadp.noise.kernel import compiled  # loads numba, which `import versadp.losses` must not

    return compiled(_cubic)


def need_exact_rate(loss: str, rate: float) -> None:
    """Raise if the mechanism has no exact records, which the closed form of this loss divides by.

    Examples
    --------
    >>> need_exact_rate("check", 0.1)
    """
    if rate == 0:
        raise ParameterError(
            f"{loss} loss needs an exact_rate above 0, and this mechanism has 0",
            hint="use a smooth loss (squared, logistic, poisson), or release with an exact_rate",
        )


@dataclass(frozen=True)
class Kink(Closed):
    """A corrected kink at 0 with slopes -tau and 1 - tau on its sides, smoothed with a bandwidth.

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
        """The support of the kernel."""
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

    Outside the support of the kernel they decay exponentially from their values at its ends.

    Examples
    --------
    >>> odd, even, slow = tails(np.array([-1.0, 1.0]), 1.0, 0.0)
    >>> odd.round(4), slow.round(4)
    (array([-0.3679,  0.3679]), array([0.7358, 0.7358]))
    """
    near = np.flatnonzero(np.abs(v) < bandwidth)
    odd, even, slow = _inside_kernel(np.append(v[near], bandwidth), b, bandwidth)
    further = np.maximum(np.abs(v) - bandwidth, 0.0) / b
    left = np.exp(-further)
    out = np.sign(v) * left * even[-1], left * even[-1], left * (slow[-1] + further * even[-1])
    for whole, part in zip(out, (odd, even, slow), strict=True):
        whole[near] = part[:-1]
    return out


def _inside_kernel(v: Array, b: float, bandwidth: float) -> tuple[Array, Array, Array]:
    """Return `tails` within the support: one panel on each side of the kink, no longer than the exponential."""
    if bandwidth <= 0:
        return np.sign(v), np.ones_like(v), np.ones_like(v)
    z, w = _panel()
    kink, longest = -v / bandwidth, 40 * b / bandwidth
    total = np.zeros((3, v.size))
    for side, room in ((-1.0, 1 + kink), (1.0, 1 - kink)):
        length = np.minimum(room, longest)[:, None]
        size = bandwidth / b * length * z
        weight = np.exp(-size) * smoothing_kernel(kink[:, None] + side * length * z)[0] * length * w
        total += [side * weight.sum(axis=1), weight.sum(axis=1), (weight * (1 + size)).sum(axis=1)]
    return total[0], total[1], total[2]


@lru_cache(maxsize=1)
def _panel(count: int = 40) -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes on [0, 1] and their weights."""
    x, w = np.polynomial.legendre.leggauss(count)
    return (x + 1) / 2, w / 2
