"""A block, a loss, an extension and an engine that versadp does not know."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from versadp.losses import IndexLoss
from versadp.noise import Block, Extension, Points, Spec
from versadp.privacy import randomized_response


@dataclass(frozen=True)
class Lottery(Spec):
    """A number is rounded to one of `tickets` equally spaced ones, and kept with some probability, else drawn."""

    tickets: int
    keep: float
    name: ClassVar[str] = "lottery"

    def on(self, columns):
        ((name, column),) = columns.items()
        return LotteryBlock((name,), column.lower, column.upper, self.tickets, self.keep)


@dataclass(frozen=True)
class LotteryBlock(Block):
    columns: tuple[str]
    lower: float
    upper: float
    tickets: int
    keep: float

    words = 2
    sampler_error = 2.0**-50  # words of 64 bits, and a product in floating point

    @property
    def spec(self):
        return Lottery(self.tickets, self.keep)

    @property
    def step(self):
        return (self.upper - self.lower) / (self.tickets - 1)

    def to_content(self, values):
        values[:] = np.rint((np.clip(values, self.lower, self.upper) - self.lower) / self.step)

    def add_noise(self, content, words):
        coin, ticket = words * 2.0**-64
        drawn = np.minimum(np.floor(ticket * self.tickets), self.tickets - 1)
        content[0] = np.where(coin < self.keep, content[0], drawn)

    def to_values(self, content):
        content[:] = self.lower + content * self.step

    def profile(self, unit):
        return randomized_response(self.tickets, self.keep)

    def extremes(self, unit):
        return {self.columns[0]: self.lower}, {self.columns[0]: self.upper}

    def log_ratio(self, seen, null, other):
        step = np.log1p(self.tickets * self.keep / (1 - self.keep))
        return step * (np.isclose(seen[0], other[0]).astype(float) - np.isclose(seen[0], null[0]))

    def sentences(self, rows):
        return [f"{self.columns[0]} takes part in a lottery of {self.tickets} tickets."]

    def facts(self, rows):
        return {f"{self.columns[0]} kept in a lottery": f"{100 * self.keep:.3g}%"}

    def inflation(self):
        return {self.columns[0]: self.keep**-2}

    def point_count(self, how):
        return self.tickets

    def points(self, released, rng, how):
        n = released.shape[1]
        drawn = np.rint((released[0] - self.lower) / self.step).astype(int)
        weight = np.full((n, self.tickets), (1 - 1 / self.keep) / self.tickets)
        weight[np.arange(n), drawn] += 1 / self.keep
        places = self.lower + self.step * np.arange(self.tickets)
        return Points(np.repeat(np.arange(n), self.tickets), {self.columns[0]: np.tile(places, n)}, weight.ravel())


class LogCosh(IndexLoss):
    """`log cosh(u - y)`: a smooth loss between squares and absolute values, with units of its own."""

    argument, order = "residual", 4

    def value(self, u, y):
        return np.logaddexp(u - y, y - u) - np.log(2)

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        s = np.tanh(u - y)
        v = 1 - s * s
        return (s, v, -2 * s * v, v * (6 * s * s - 2))[:order]


class Half(IndexLoss):
    """Squared loss whose prediction is doubled: a loss with a mean of its own."""

    argument, order = "residual", 4

    def value(self, u, y):
        return 0.5 * (u - y) ** 2

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        return (u - y, np.ones_like(u), np.zeros_like(u), np.zeros_like(u))[:order]

    def mean(self, u):
        return 2 * u


class Folded(Extension):
    """Points beyond a bound are folded back into the box, and count half as much the further they were."""

    name = "folded"

    def points(self, x, box):
        width = box.upper - box.lower
        t = np.mod(x - box.lower, 2 * width)
        folded = box.lower + np.minimum(t, 2 * width - t)
        return np.where((x >= box.lower) & (x <= box.upper), x, folded)

    def phi(self, x, box):
        return np.exp(-box.distance2(x))


class Backwards:
    """An engine that works on the last item first, and gives results in order all the same."""

    name = "backwards"

    def map(self, function, items):
        waiting = list(items)
        with ThreadPoolExecutor(2) as executor:
            done = [executor.submit(function, item) for item in reversed(waiting)]
            return iter([task.result() for task in reversed(done)])

    def sum(self, function, items):
        total = None
        for each in self.map(function, items):
            total = each if total is None else _add(total, each)
        return total


def _add(left, right):
    return tuple(map(_add, left, right)) if isinstance(left, tuple) else left + right
