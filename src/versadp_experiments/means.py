"""Table 1: the mean of f(X), X uniform on (0, 1), in closed form.

The loss is (theta - f(x))², so every corrected loss is a quadratic in theta and its minimum a mean of

    Oracle    f(X)                              SL    f(X2) - (lambda²/2) f''(X2)
    Naive     f(X1)                             sDR   f(X1) - ((1 - delta) lambda²/2) f''(X2)
    DR        (1/delta) f(X1) + (1 - 1/delta) f(X2)
    analytic  (1/delta) f(X1) + (1 - 1/delta) E_S f(X1 + S)

f'' is taken almost everywhere, as the paper does: it misses the kinks and jumps, and SL and sDR are wrong by them. S is
a Laplace variable of scale b = lambda sqrt(delta/2), so E_S f(x + S) has a closed form; for |sin 2 pi x| by its Fourier
series 2/pi - (4/pi) sum cos(4 pi k x)/(4k² - 1), the k-th term times 1/(1 + (4 pi k b)²).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp_experiments.cells import Cell
    from versadp_experiments.sampling import Sample

    Array = NDArray[np.float64]

_TERMS = 12  # of the Fourier series: the first left out is below 1e-5 at the paper's noise


@dataclass(frozen=True)
class Function:
    """A function of one number, its second derivative almost everywhere, its mean over Laplace noise, its mean."""

    value: Callable[[Array], Array]
    second: Callable[[Array], Array]
    smoothed: Callable[[Array, float], Array]
    mean: float


def relu(x: Array) -> Array:
    """Return max(x, 0)."""
    return np.maximum(x, 0.0)


def indicator(x: Array) -> Array:
    """Return 1 on [0.5, 1]."""
    return ((x >= 0.5) & (x <= 1.0)).astype(float)


def absolute_sine(x: Array) -> Array:
    """Return |sin 2 pi x|."""
    return np.asarray(np.abs(np.sin(2 * np.pi * x)))


def _cdf(x: Array, b: float) -> Array:
    """Return P(S <= x) of Laplace noise."""
    tail = 0.5 * np.exp(-np.abs(x) / b)
    return np.where(x < 0, tail, 1 - tail)


def _smoothed_relu(x: Array, b: float) -> Array:
    return np.asarray(relu(x) + b / 2 * np.exp(-np.abs(x) / b))


def _smoothed_indicator(x: Array, b: float) -> Array:
    return _cdf(x - 0.5, b) - _cdf(x - 1.0, b)


def _smoothed_sine(x: Array, b: float) -> Array:
    total = np.full_like(x, 2 / np.pi)
    for k in range(1, _TERMS + 1):
        w = 4 * np.pi * k
        total -= 4 / np.pi / (4 * k * k - 1) / (1 + (w * b) ** 2) * np.cos(w * x)
    return total


FUNCTIONS = {
    "relu": Function(relu, np.zeros_like, _smoothed_relu, 0.5),
    "indicator": Function(indicator, np.zeros_like, _smoothed_indicator, 0.5),
    "absolute_sine": Function(absolute_sine, lambda x: -4 * np.pi**2 * absolute_sine(x), _smoothed_sine, 2 / np.pi),
}


def estimates(cell: Cell, sample: Sample) -> dict[str, list[float]]:
    """Return the estimate of each mean by each of the paper's methods."""
    x, x1, x2 = sample.x[:, 0], sample.x1[:, 0], sample.x2[:, 0]
    rate, half = cell.exact_rate, cell.noise**2 / 2
    found: dict[str, list[float]] = {name: [] for name in ("Oracle", "Naive", "SL", "sDR", "DR")}
    for f in FUNCTIONS.values():
        at1, at2, curved = f.value(x1).mean(), f.value(x2).mean(), f.second(x2).mean()
        found["Oracle"].append(float(f.value(x).mean()))
        found["Naive"].append(float(at1))
        found["SL"].append(float(at2 - half * curved))
        found["sDR"].append(float(at1 - (1 - rate) * half * curved))
        found["DR"].append(float(at1 / rate + (1 - 1 / rate) * at2))
    return found


def analytic(cell: Cell, sample: Sample) -> tuple[list[float], list[float]]:
    """Return estimates and standard errors with the second randomisation integrated out."""
    x1, rate = sample.x1[:, 0], cell.exact_rate
    b = cell.noise * (rate / 2) ** 0.5
    terms = [f.value(x1) / rate + (1 - 1 / rate) * f.smoothed(x1, b) for f in FUNCTIONS.values()]
    return [float(t.mean()) for t in terms], [float(t.std(ddof=1) / cell.n**0.5) for t in terms]
