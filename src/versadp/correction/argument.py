"""Arguments of losses: the index, the residual, or the margin; for each a series is written in its own way.

    natural     loss = A(u) - y u      v = u          Re w e^{iτv} = Re w e^{iτu}
    residual    loss = rho(u - y)      v = u - y      Re w e^{iτv} = Re w e^{iτ(u - y)}
    margin      loss = f(y u)          v = y u        Re w e^{iτv} = Re(w) cos τu + Im(w) Re e^{i(τu + πy/2)},  y = ±1

A series has the derivative `c_0 + c_1 v + Re Σ iτ_m w_m e^{iτ_m v}` in v.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.losses.expansion import QUARTER, Expansion
from versadp.losses.index_loss import still_says

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.losses import IndexLoss

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]
    Some = NDArray[np.int64]


@dataclass(frozen=True)
class Argument(ABC):
    """The argument of a loss."""

    loss: IndexLoss

    response = 0.0  # at which the loss is one of its argument

    def slope(self, v: Array) -> Array:
        """Return the derivative of the loss in its argument."""
        return self.loss.derivatives(v, np.full_like(v, self.response), 1)[0]

    def bend(self, v: Array) -> Array:
        """Return the second derivative."""
        return self.loss.derivatives(v, np.full_like(v, self.response), 2)[1]

    def held(self, low: float, high: float, blur: float) -> tuple[float, float]:  # noqa: ARG002 - for others to override
        """Return where a public response matters, if the index lies between two values: beyond, the loss is straight.

        `blur` is what the series smooths over.
        """
        return -np.inf, np.inf

    @abstractmethod
    def reach(self, form: Any, seen: Any, low: float, high: float) -> tuple[float, float]:
        """Return between which values the argument lies if the index lies between two."""

    @abstractmethod
    def waves(self, form: Any, seen: Any, theta: Array, tau: Array, some: Some) -> Complex:
        """Return the corrected waves `e^{iτv}` of some records, (records, M)."""

    @abstractmethod
    def noisy(self, form: Any, seen: Any, theta: Array, tau: Array, some: Some) -> Array:
        """Return derivatives in the index of the terms of a series, corrected, of some records."""

    @abstractmethod
    def expansion(
        self, found: Array, base: float, interval: tuple[float, float], held: tuple[float, float]
    ) -> Expansion:
        """Return the series with such coefficients."""


class Index(Argument):
    """A natural loss: of the index, less `y u`."""

    def reach(self, form: Any, seen: Any, low: float, high: float) -> tuple[float, float]:  # noqa: ARG002 - as others do
        """Return the interval of the index."""
        return low, high

    def waves(self, form: Any, seen: Any, theta: Array, tau: Array, some: Some) -> Complex:
        """Return waves of the index."""
        return np.asarray(form.waves(seen, theta, tau, some, form.train(theta)))

    def noisy(self, form: Any, seen: Any, theta: Array, tau: Array, some: Some) -> Array:
        """Return 1, u, and waves of u."""
        return terms(np.ones(len(some)), seen.m[some] @ theta, tau, self.waves(form, seen, theta, tau, some))

    def expansion(
        self, found: Array, base: float, interval: tuple[float, float], held: tuple[float, float]
    ) -> Expansion:
        """Return the series of A."""
        return Expansion(float(found[0]), float(found[1]), base, _weights(found), interval, held=held)


class Residual(Argument):
    """A loss of the residual `u - y`."""

    def held(self, low: float, high: float, blur: float) -> tuple[float, float]:
        """Return as far from the index as the loss bends, and what is smoothed over."""
        known = still_says(self.loss, "straight", ("value", "derivatives"))
        far = self.loss.straight + 2 * blur if known else np.inf
        return low - far, high + far

    def reach(self, form: Any, seen: Any, low: float, high: float) -> tuple[float, float]:
        """Return the interval of the index less that of the response."""
        model, units = form.model, form.units
        if model.response < 0:
            y = form.held(seen.y)
            return low - float(y.max()), high - float(y.min())
        ends = model.coding[0] + model.coding[1] * np.array([units.lower, units.upper])[:, model.response]
        return low - float(ends.max()), high - float(ends.min())

    def waves(self, form: Any, seen: Any, theta: Array, tau: Array, some: Some) -> Complex:
        """Return waves of the residual."""
        return np.asarray(form.waves(seen, theta, tau, some, form.train(theta, -1.0)))

    def noisy(self, form: Any, seen: Any, theta: Array, tau: Array, some: Some) -> Array:
        """Return 1, u - y, and its waves."""
        v = seen.m[some] @ theta - form.held(seen.y)[some]
        return terms(np.ones(len(some)), v, tau, self.waves(form, seen, theta, tau, some))

    def expansion(
        self, found: Array, base: float, interval: tuple[float, float], held: tuple[float, float]
    ) -> Expansion:
        """Return the series: of `(u - y)²` there is `u²` and `y u`."""
        linear, quadratic = float(found[0]), float(found[1])
        return Expansion(linear, quadratic, base, _weights(found), interval, -quadratic, -1.0, held=held)


class Margin(Argument):
    """A loss of the margin `y u`, y one of ±1."""

    response = 1.0

    def reach(self, form: Any, seen: Any, low: float, high: float) -> tuple[float, float]:  # noqa: ARG002 - as others do
        """Return the interval of the index and its mirror."""
        far = max(-low, high)
        return -far, far

    def waves(self, form: Any, seen: Any, theta: Array, tau: Array, some: Some) -> Complex:
        """Return waves of y u: the cosine of u, and y times its sine."""
        even = form.waves(seen, theta, tau, some, form.train(theta))
        odd = form.waves(seen, theta, tau, some, form.train(theta, 0.0, QUARTER))
        return np.asarray(even.real - 1j * odd.real)

    def noisy(self, form: Any, seen: Any, theta: Array, tau: Array, some: Some) -> Array:
        """Return y, u, and the derivatives of both parts."""
        even = form.waves(seen, theta, tau, some, form.train(theta))
        odd = form.waves(seen, theta, tau, some, form.train(theta, 0.0, QUARTER))
        pairs = np.stack([-tau * even.imag, -tau * odd.imag], axis=2).reshape(len(some), -1)
        return np.column_stack([seen.y[some], seen.m[some] @ theta, pairs])

    def expansion(
        self, found: Array, base: float, interval: tuple[float, float], held: tuple[float, float]
    ) -> Expansion:
        """Return the series by its even and odd part."""
        even, odd = tuple(found[2::2].tolist()), tuple(found[3::2].tolist())
        return Expansion(0.0, float(found[1]), base, even, interval, float(found[0]), 0.0, odd, held=held)


def argument_of(loss: IndexLoss) -> Argument | None:
    """Return what a loss is a function of, where it says so and what it says is still true.

    Examples
    --------
    >>> from versadp.losses import Check, Hinge, Logistic
    >>> [type(argument_of(loss)).__name__ for loss in (Logistic(), Check(), Hinge())]
    ['Index', 'Residual', 'Margin']
    """
    if loss.residual:
        return Residual(loss)
    body = ("value", "derivatives")
    if loss.natural and still_says(loss, "natural", body):
        return Index(loss)
    return Margin(loss) if loss.margin and still_says(loss, "argument", body) else None


def terms(first: Array, second: Array, tau: Array, waves: Complex) -> Array:
    """Return derivatives of the terms of a series: two, and those of each wave's real and imaginary weight."""
    out = np.empty((2 + 2 * len(tau), len(first)))
    out[0], out[1] = first, second
    np.multiply(waves.imag.T, -tau[:, None], out=out[2::2])
    np.multiply(waves.real.T, -tau[:, None], out=out[3::2])
    return out.T


def _weights(found: Array) -> tuple[complex, ...]:
    return tuple((found[2::2] + 1j * found[3::2]).tolist())
