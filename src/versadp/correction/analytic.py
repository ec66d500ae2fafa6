"""Analytic correction: the expectation over the second randomisation, exactly.

For a loss of an index the noise enters through `S'theta` alone, a Laplace variable with variance `r t`,
`t = |alpha|^2` in noise units, b = sqrt(r t / 2). With phi the loss as a function of one variable v (v = u; u - y for
residual losses; 1 - y u for hinge), the corrected loss is

    G(v, t) = phi(v) - ((1 - r)/2) t E phi''(v + L)

    squared     v^2/2 - (1 - r) t / 2
    poisson     e^v (1 - t/2) / (1 - r t/2)                            for t < 2 only
    check       phi(v) - ((1 - r)/r)(b/2) exp(-|v|/b), smoothed        (hinge: the same term)
    logistic    by quadrature; huber through the Laplace distribution function

t depends on theta, so its gradient is part of the score. It is the conditional expectation given X1 of the draws and of
the Laplacian form at once, so for the extension "none" nothing has less variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction.kernel import cubic, weighted_squares
from versadp.errors import ParameterError
from versadp.losses import Check, Hinge, Huber, Logistic, Poisson, Squared
from versadp.losses.base import kernel, step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.model import Batch, LinearModel, Units
    from versadp.losses import IndexLoss

    Array = NDArray[np.float64]

SUPPORTED = (Squared, Logistic, Poisson, Check, Hinge, Huber)
NODES, GRID, SMALL = 32, 1024, 1e-4


@dataclass(frozen=True)
class Analytic:
    """The one member of the analytic correction."""

    model: LinearModel
    units: Units
    names: tuple[str, ...] = ("analytic",)

    def prepare(self, batch: Batch, rng: np.random.Generator) -> tuple[Array, Array, Array | None]:  # noqa: ARG002 - as all parts
        """Return design, response and weights: there is nothing to draw."""
        m, y = self.model.rows(batch.z, None, batch)
        return m, y, batch.weight

    def evaluate(
        self, rows: tuple[Array, Array, Array | None], theta: Array, mix: Array, *, hessian: bool
    ) -> tuple[Array, Array]:
        """Return scores (n, G, p), and the Hessian."""
        along, aside, pull, total = self._terms(rows, theta, hessian=hessian)
        out = rows[0] * along[:, None] + aside[:, None] * pull
        return out[:, None] * mix.sum(axis=1)[None, :, None], total

    def sums(
        self, rows: tuple[Array, Array, Array | None], theta: Array, *, hessian: bool
    ) -> tuple[int, Array, Array, Array]:
        """Return number, sum of scores, of their products and of Hessians, without an array of scores."""
        m = rows[0]
        along, aside, pull, total = self._terms(rows, theta, hessian=hessian)
        score = along @ m + aside.sum() * pull
        cross = np.outer((along * aside) @ m, pull)
        outer = weighted_squares(m, along * along) + cross + cross.T + (aside @ aside) * np.outer(pull, pull)
        return len(m), score[None], outer, total

    def _terms(
        self, rows: tuple[Array, Array, Array | None], theta: Array, *, hessian: bool
    ) -> tuple[Array, Array, Array, Array]:
        """Return the score as `along * m + aside * pull`, and the Hessian."""
        m, y, weight = rows
        model, noisy = self.model, self.model.noisy
        alpha = model.slope(theta, self.units.dim)
        pull = np.zeros(model.size)
        pull[noisy] = 2 * alpha[model.columns[noisy]]
        v, turn, extra = _variable(model.loss, m @ theta, y)
        rate = self.units.exact_rate
        first, by_t, *bends = corrected(model.loss, v, float(alpha @ alpha), rate, model.bandwidth, bent=hessian)
        w = 1.0 if weight is None else weight
        along, aside = w * (first * turn + extra), w * by_t
        if not hessian:
            return along, aside, pull, np.zeros((model.size, model.size))
        second, mixed, by_tt = (w * bend for bend in bends)
        total = weighted_squares(m, second)
        cross = np.outer((mixed * turn) @ m, pull)
        total += cross + cross.T + by_tt.sum() * np.outer(pull, pull)
        total[noisy, noisy] += 2 * aside.sum()
        return along, aside, pull, total


def _variable(loss: IndexLoss, u: Array, y: Array) -> tuple[Array, Array | float, Array | float]:
    """Return v, dv/du, and what the response adds to the score beside it."""
    if isinstance(loss, Hinge):
        return 1 - y * u, -y, 0.0
    if loss.residual:
        return u - y, 1.0, 0.0
    return u, 1.0, -y


def corrected(
    loss: IndexLoss, v: Array, t: float, rate: float, bandwidth: float, *, bent: bool = True
) -> tuple[Array, ...]:
    """Return `G_v, G_t` of the corrected loss at each v, and `G_vv, G_vt, G_tt` too if `bent`."""
    one = np.ones_like(v)
    if isinstance(loss, Squared):
        return v, -(1 - rate) / 2 * one, one, 0 * one, 0 * one
    if isinstance(loss, Poisson):
        if t >= 2:
            raise ParameterError(
                "poisson loss cannot be corrected analytically at this much noise: it is unbiased only below B = 1",
                hint="use method 'efficient', or the extension 'zero' or 'clip' with draws",
            )
        e, low = np.exp(np.minimum(v, 50.0)), 1 - rate * t / 2
        factor, slope, bend = (1 - t / 2) / low, -(1 - rate) / 2 / low**2, -(1 - rate) * rate / 2 / low**3
        return e * factor, e * slope, e * factor, e * slope, e * bend
    if not isinstance(loss, SUPPORTED):
        raise ParameterError(f"there is no analytic correction for {loss.name} loss", hint="use method 'drcl'")
    # tables in v, then cubic interpolation: linear in records; batches of similar reach share their tables
    flat = _flat_from(loss, t, rate, bandwidth)
    reach = min(2.0 ** np.ceil(np.log2(np.abs(v).max(initial=0.0) + 1e-2)), flat)
    grid, table = _tables(loss, float(reach), t, rate, bandwidth, bent=bent)
    return tuple(_interpolate(grid, table, np.clip(v, -reach, reach)))


def _flat_from(loss: IndexLoss, t: float, rate: float, bandwidth: float) -> float:
    """Return from where on the corrected slope is a constant, up to 1e-11: an outlier must not stretch the grid."""
    scale = {Logistic: 26.0, Huber: getattr(loss, "k", 0.0)}.get(type(loss), bandwidth)
    return float(scale + 26.0 * np.sqrt(rate * t / 2) + 1e-2)


@lru_cache(maxsize=8)
def _tables(
    loss: IndexLoss, reach: float, t: float, rate: float, bandwidth: float, *, bent: bool
) -> tuple[Array, Array]:
    """Return a grid and, in columns, G_v, G_t, and G_vv, G_vt, G_tt too if `bent`: the last two by differences in t."""
    # the logistic slope is smooth at a scale of 1, the others at that of their smoothing
    points = min(GRID, int(128 + 96 * reach)) if isinstance(loss, Logistic) else GRID
    grid = np.linspace(-1.01 * reach, 1.01 * reach, points)
    here = _table(loss, grid, t, rate, bandwidth)
    if not bent:
        return grid, np.stack(here[:2], axis=1)
    ends = (t * (1 - SMALL), t * (1 + SMALL) + 1e-12)
    down, up = (_table(loss, grid, end, rate, bandwidth) for end in ends)
    width = ends[1] - ends[0]
    return grid, np.stack([*here, (up[0] - down[0]) / width, (up[1] - down[1]) / width], axis=1)


def _table(loss: IndexLoss, v: Array, t: float, rate: float, bandwidth: float) -> tuple[Array, Array, Array]:
    """Return G_v, G_t, G_vv on a grid."""
    half = (1 - rate) / 2
    if isinstance(loss, Logistic):
        return _by_quadrature(loss, v, t, rate)
    if rate == 0:
        raise ParameterError(
            f"{loss.name} loss needs an exact_rate above 0, and this mechanism has 0",
            hint="use a smooth loss (squared, logistic, poisson), or release with an exact_rate",
        )
    b = np.sqrt(rate * t / 2) + 1e-300
    if isinstance(loss, Huber):
        right, left = (v + loss.k) / b, (v - loss.k) / b
        density = [np.exp(-np.abs(x)) / (2 * b) for x in (right, left)]
        share = [np.where(x > 0, 1 - np.exp(-np.abs(x)) / 2, np.exp(-np.abs(x)) / 2) for x in (right, left)]
        inside = share[0] - share[1]
        spread = -(right * density[0] - left * density[1]) * b / (2 * t + 1e-300)
        slope = [-np.sign(x) / b * f for x, f in zip((right, left), density, strict=True)]
        first = np.clip(v, -loss.k, loss.k) - half * t * (density[0] - density[1])
        second = (np.abs(v) <= loss.k) - half * t * (slope[0] - slope[1])
        return first, -half * (inside + t * spread), second
    return _smoothed(loss, v, t, rate, bandwidth)


@lru_cache(maxsize=4)
def _laplace_nodes(count: int) -> tuple[Array, Array]:
    """Return nodes and weights of a Laplace variable with variance 1."""
    x, w = np.polynomial.laguerre.laggauss(count)
    keep = w > 1e-18
    x, w = x[keep] / np.sqrt(2.0), w[keep] / 2
    return np.concatenate([-x, x]), np.concatenate([w, w])


def _by_quadrature(loss: IndexLoss, v: Array, t: float, rate: float) -> tuple[Array, Array, Array]:
    nodes, weights = _laplace_nodes(NODES)
    root = np.sqrt(rate * t)
    at = v[:, None] + root * nodes
    _, two, three, four = loss.derivatives(at, np.zeros_like(at), 4)
    s, s1 = loss.derivatives(v, np.zeros_like(v), 2)
    half = (1 - rate) / 2
    spread = 0.0 if root == 0 else rate * ((three * nodes) @ weights) / (2 * root)
    return s - half * t * (three @ weights), -half * (two @ weights + t * spread), s1 - half * t * (four @ weights)


@lru_cache(maxsize=1)
def _panel(count: int = 40) -> tuple[Array, Array]:
    """Return nodes of [0, 1] and their weights."""
    x, w = np.polynomial.legendre.leggauss(count)
    return (x + 1) / 2, w / 2


def _smoothed(loss: IndexLoss, v: Array, t: float, rate: float, bandwidth: float) -> tuple[Array, Array, Array]:
    """Check and hinge: closed forms, smoothed by the kernel; jumps are smoothed exactly, the rest by quadrature."""
    quantile = loss.tau if isinstance(loss, Check) else 0.0
    b, gain = np.sqrt(rate * t / 2) + 1e-300, (1 - rate) / rate
    share, density = step(v, bandwidth)
    odd, even, slow = _tails(v, b, bandwidth)
    by_t = -gain / 2 * slow * b / (2 * t + 1e-300)
    return share - quantile + gain / 2 * odd, by_t, (1 + gain) * density - gain / (2 * b) * even


def _tails(v: Array, b: float, bandwidth: float) -> tuple[Array, Array, Array]:
    """Return sign(x) e^(-|x|/b), e^(-|x|/b) and (1 + |x|/b) e^(-|x|/b) at x = v, smoothed by the kernel.

    Beyond the kernel's reach the kink is not met, and the exponential carries the values at its end further.
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
        weight = np.exp(-size) * kernel(kink[:, None] + side * length * z)[0] * length * w
        total += [side * weight.sum(axis=1), weight.sum(axis=1), (weight * (1 + size)).sum(axis=1)]
    return total[0], total[1], total[2]


def _interpolate(grid: Array, table: Array, v: Array) -> Array:
    """Return the table's columns at v, (columns, n), by cubic interpolation on a uniform grid."""
    out = np.empty((table.shape[1], v.size))
    cubic(float(grid[0]), float(grid[1] - grid[0]), table, v, out)
    return out
