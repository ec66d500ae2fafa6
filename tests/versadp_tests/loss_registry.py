"""One list of losses, ours and strangers' of every kind; laws are applied to all of it.

Strangers use public names only, and know no more than the documentation of `IndexLoss` says.
"""

import numpy as np
from scipy.special import erfcx, ndtr

from versadp.errors import DataError
from versadp.losses import Check, Hinge, Huber, IndexLoss, Logistic, Poisson, Squared


def ramp(t, width):
    """A smoothed step of a stranger's taste, and its slope."""
    if width <= 0:
        return (t > 0).astype(float), np.zeros_like(t)
    return np.clip((t / width + 1) / 2, 0, 1), (np.abs(t) < width) / (2 * width)


class LogCosh(IndexLoss):
    """`c^2 log cosh((u - y)/c)`: smooth, of the residual, with a unit."""

    argument, order = "residual", 4

    def __init__(self, c=1.0):
        self.c = c

    def value(self, u, y):
        r = (u - y) / self.c
        return self.c**2 * (np.logaddexp(r, -r) - np.log(2))

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        s = np.tanh((u - y) / self.c)
        v = 1 - s * s
        return (self.c * s, v, -2 * s * v / self.c, (6 * s * s - 2) * v / self.c**2)[:order]


class Expectile(IndexLoss):
    """`|tau - 1{y < u}| (u - y)^2 / 2`: of the residual, a second derivative that jumps, no unit."""

    argument = "residual"

    def __init__(self, tau=0.3):
        self.tau = tau

    def value(self, u, y):
        return np.abs(self.tau - (y < u)) * (u - y) ** 2 / 2

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        weight = np.abs(self.tau - (y < u))
        return (weight * (u - y), weight, 0 * u, 0 * u)[:order]


class Tube(IndexLoss):
    """`max(0, |u - y| - e)`: of the residual, two kinks, with a unit."""

    argument, order = "residual", 0

    def __init__(self, e=0.5):
        self.e = e

    def value(self, u, y):
        return np.maximum(0, np.abs(u - y) - self.e)

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        (right, a), (left, b) = ramp(u - y - self.e, bandwidth), ramp(u - y + self.e, bandwidth)
        return (right + left - 1, a + b, 0 * u, 0 * u)[:order]


class Censored(IndexLoss):
    """`|y - max(0, u)|`, y >= 0: kinks, neither of the residual nor of two classes, not convex."""

    order = 0

    def value(self, u, y):
        return np.abs(y - np.maximum(0, u))

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        (up, a), (over, b) = ramp(u, bandwidth), ramp(u - y, bandwidth)
        return (2 * over - up, 2 * b - a, 0 * u, 0 * u)[:order]

    def mean(self, u):
        return np.maximum(0, u)


class Gamma(IndexLoss):
    """`y e^-u + u`, y > 0: smooth, the response enters as a factor, predicts e^u by a function of its own."""

    order = 4

    def value(self, u, y):
        return y * np.exp(-u) + u

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        e = y * np.exp(-u)
        return (1 - e, e, -e, e)[:order]

    def response(self, y):
        if (y <= 0).any():
            raise DataError("gamma loss needs a response above 0")
        return y

    def mean(self, u):
        return np.exp(u)


class Probit(IndexLoss):
    """`-log Phi(y u)`, y in {-1, 1}: smooth, two classes."""

    order = 4
    classes = (-1.0, 1.0)

    def value(self, u, y):
        z = y * u
        return z * z / 2 - np.log(erfcx(-z / np.sqrt(2)) / 2)

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        z = y * u
        g = np.sqrt(2 / np.pi) / erfcx(-z / np.sqrt(2))  # density over distribution function
        first = g * (z + g)
        second = g * (1 - (z + g) * (z + 2 * g))
        third = -first * (1 - (z + g) * (z + 2 * g))
        third -= g * ((1 - first) * (z + 2 * g) + (z + g) * (1 - 2 * first))
        return (-y * g, first, y * second, third)[:order]

    def mean(self, u):
        return ndtr(u)


class Wide(Huber):
    """A subclass that only has another corner."""

    def __init__(self, k=2.5):
        super().__init__(k)


class Clipped(Huber):
    """A subclass that is flatter by half, and has no closed form of its own."""

    def value(self, u, y):
        return super().value(u, y) / 2

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        return tuple(each / 2 for each in super().derivatives(u, y, order, bandwidth))


class Careful(Logistic):
    """A subclass with a class weight: its parent's corrected form is wrong for it."""

    def value(self, u, y):
        return (1 + y) * super().value(u, y)

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        return tuple((1 + y) * each for each in super().derivatives(u, y, order, bandwidth))


class Steep(Check):
    """A subclass with a kink twice as sharp: its parent's corrected form is wrong for it."""

    def value(self, u, y):
        return 2 * super().value(u, y)

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        return tuple(2 * each for each in super().derivatives(u, y, order, bandwidth))


OURS = [Squared(), Logistic(), Check(0.3), Hinge(), Huber(0.8), Poisson()]
STRANGERS = [
    LogCosh(0.7),
    Expectile(0.2),
    Tube(0.4),
    Censored(),
    Gamma(),
    Probit(),
    Wide(),
    Clipped(1.1),
    Careful(),
    Steep(0.3),
]
LOSSES = OURS + STRANGERS
SERVED = [loss for loss in LOSSES if not isinstance(loss, Expectile | Tube | Censored | Clipped | Steep)]


def response(loss, u, rng):
    """A response that suits the loss and follows the index."""
    if loss.classes is not None:
        return np.where(rng.random(u.size) < 1 / (1 + np.exp(-u)), loss.classes[1], loss.classes[0])
    noise = rng.normal(size=u.size)
    kinds = {"poisson": rng.poisson(np.exp(u)).astype(float), "gamma": np.exp(u) * rng.gamma(2, 0.5, u.size)}
    return kinds.get(loss.name, np.maximum(0, u + noise) if loss.name == "censored" else u + noise)


def points(loss, n=400, seed=0):
    rng = np.random.default_rng(seed)
    u = rng.uniform(-2, 2, n)
    return u, response(loss, u, rng)


def design(loss, n=2000, seed=1):
    rng = np.random.default_rng(seed)
    m = np.column_stack([np.ones(n), rng.uniform(-1, 1, (n, 2))])
    return m, response(loss, m @ [0.5, 1.0, -0.7], rng)
