"""A quantile of one column that is kept up to a window: the corrected distribution function, smoothed a little.

    F_b(t) = mean over records of psi[H((t - x)/b)],      H(u) = Φ(u) + u φ(u)/2       (`noise/lattice.py`)

A step asks for what a window has erased: its decoder varies as w, without bound on a fine lattice. One that rises over
a bandwidth b varies as w/b, and is off by no more than `b⁴ |f'''|/8`, since H has no second moment. So b is taken where
that is a tenth of the standard error, for the scale that residuals of a normal law have around the quantile, on its
denser side. At the bounds of the column its law is continued as in a mirror. All is a function of how often each output
was seen, so that records are read once.

Where F_b differs from F_{b/2} or F_{b/4} by more than their difference varies, near the quantile, the law is rougher
than that: the sum of squared differences, each in its standard errors, is held against a multiple of a chi-square with
its mean and variance, which sees many small piles (rounded values) as well as a large one. A law that is merely less
smooth than a normal one differs 16 times less with half the bandwidth: b is halved until nothing is seen. If halving
takes off less than half, values pile up, or the density jumps, and no b is small enough. But F_b(t) is made of what
lies within 3b of t, whatever the law: so the interval is then that of F_b, wider by 3b at either end, with the b of
which that is expected to be shortest. Below one lattice step the step of the indicator itself is undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtrc

from versadp.correction import RecordModel
from versadp.estimation import Curve, Fit, Outcome
from versadp.estimation.sizes import NUMBERS_AT_ONCE
from versadp.estimation.thresholds import LEVELS
from versadp.losses.pilot_line import Line
from versadp.schema.spacing import LINEAR, from_even

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation import Question
    from versadp.fitting.problem import Problem
    from versadp.noise.lattice import Lattice

    Array = NDArray[np.float64]

PILOT = 0.02  # of the column's width
COARSE, PASSES = 240, 3  # nodes of the first grid, 0.4% of the width apart, and its refinements at most
BIAS, ALLOWED = 0.069, 0.1  # of a normal law, at most, times (b/sd)⁴; in standard errors
REACH = 3.0  # bandwidths beyond which nothing counts
SHARPER = (2, 4)  # times: what a smoothed law is compared with
AROUND = np.linspace(-REACH, REACH, 25)  # bandwidths from the quantile
MISTAKEN = 0.05  # of smooth laws are taken for rougher ones
FALLEN = 0.5  # of what is missed, with half the bandwidth: a smooth law has a sixteenth
SHORTEST = 5  # halvings among which the shortest interval is looked for
NORMAL = 1.96  # normal quantile of the interval that a standard error is taken from
UNSEEN = 16  # lattice points in a bandwidth: what is straight in between is as good


@dataclass(frozen=True)
class Seen:
    """Counts of the released outputs of a column.

    Attributes
    ----------
    lattice : Lattice
    count, square : array (outputs,)
        Sums of weights, and of their squares.
    records : int
        Records in which the column is not publicly missing.
    """

    lattice: Lattice
    count: Array
    square: Array
    records: int

    def coarser(self, bandwidth: float) -> Seen:
        """Return outputs merged as far as a bandwidth does not see it."""
        lattice = self.lattice.coarser(bandwidth / UNSEEN)
        fine = np.arange(self.lattice.drawn.size)
        place = np.where(fine < self.lattice.shown, fine // lattice.merged, lattice.shown)
        count, square = (np.bincount(place, each, lattice.drawn.size) for each in (self.count, self.square))
        return Seen(lattice, count.astype(float), square.astype(float), self.records)

    def scores(self, t: Array, bandwidth: float, tau: float) -> tuple[Array, Array]:
        """Return `F_b(t) - tau` and its standard error."""
        law, x, n = self.lattice.smooth(self.count), self.lattice.values, self.records
        mean, error = np.empty(t.size), np.empty(t.size)
        size = max(1, NUMBERS_AT_ONCE // self.lattice.drawn.size)
        for start in range(0, t.size, size):
            some = slice(start, start + size)
            psi = self.lattice.corrected(_below(x, t[some], bandwidth) - tau, law)
            mean[some] = self.count @ psi / n
            error[some] = np.sqrt(np.maximum(self.square @ psi**2 / n - mean[some] ** 2, 0.0) / max(n - 1, 1))
        return mean, error

    def apart(self, t: Array, bandwidth: float, sharper: float) -> tuple[Array, Array]:
        """Return by how much F differs at two bandwidths, and the covariance of that."""
        law, x, n = self.lattice.smooth(self.count), self.lattice.values, self.records
        psi = self.lattice.corrected(_below(x, t, bandwidth) - _below(x, t, sharper), law)
        mean = self.count @ psi / n
        return mean, ((psi * (self.square / n)[:, None]).T @ psi - np.outer(mean, mean)) / max(n - 1, 1)


class Smoothed(NamedTuple):
    """A quantile, and what the summary says of it."""

    fit: Fit
    said: dict[str, str]


def smoothed_quantile(problem: Problem, question: Question) -> Smoothed | None:
    """Return a quantile of one column; None if it is not kept up to a window."""
    model = problem.model
    if not isinstance(model, RecordModel) or not isinstance(model.of, str) or question.bounds is None:
        return None
    (block,) = problem.blocks
    lattice = block.lattice(model.of)
    if lattice is None or lattice.window == 1 or not lattice.is_small:
        return None
    at = problem.units.names.index(model.of)
    low, high = (float(end[at]) for end in problem.units.bounds)
    grid = np.linspace(low, high, COARSE)
    seen = _seen(problem, lattice, at)
    smoothing = _smoothing(seen, grid, question.tau)
    if smoothing.bandwidth:
        seen = seen.coarser(smoothing.bandwidth)
    else:
        grid = lattice.values
    curve = _curve(seen, grid, smoothing, question.tau)
    for _ in range(PASSES if smoothing.bandwidth else 0):
        more = curve.finer()
        if not more.size:
            break
        curve = curve.joined(_curve(seen, more, smoothing, question.tau))
    own = problem.units.spacing[at] if problem.units.spacing else LINEAR
    curve = _on_values(curve.told(), own)
    error = np.array([[curve.error_by(LEVELS[0]) ** 2]])
    found = Fit(np.array([curve.estimate]), error, Outcome.CONVERGED, seen.records, curve=curve)
    return Smoothed(found, smoothing.said(own))


def _on_values(curve: Curve, spacing: str) -> Curve:
    """Return a curve of a function of a column as one of its values."""
    if spacing == LINEAR:
        return curve
    near = np.array([-1.0, 0.0, 1.0]) * curve.rounding
    rounding = float(np.abs(np.diff(from_even(spacing, curve.estimate + near))).max())
    return Curve(from_even(spacing, curve.at), curve.score, curve.error, rounding)


def _seen(problem: Problem, lattice: Lattice, column: int) -> Seen:
    """Return how often each output was released: one pass over all records."""
    count, square, records = np.zeros(lattice.drawn.size), np.zeros(lattice.drawn.size), 0
    for handle in problem.source.handles():
        for _, lot in problem.source.read(handle):  # type: ignore[arg-type] # an item of its own
            assert lot.released is not None
            place = lattice.places(lot.released[column])
            known = place >= 0
            weight = np.ones(place.size) if lot.weight is None else lot.weight
            count += np.bincount(place[known], weight[known], lattice.drawn.size)
            square += np.bincount(place[known], weight[known] ** 2, lattice.drawn.size)
            records += int(known.sum())
    return Seen(lattice, count, square, max(records, 1))


class Smoothing(NamedTuple):
    """Over what a law is smoothed, 0: not at all; and whether it is rougher than that."""

    bandwidth: float
    rough: bool = False

    def said(self, spacing: str = LINEAR) -> dict[str, str]:
        """Return what the summary says of it."""
        if not self.bandwidth:
            return {}
        jumps = ", values pile up" if self.rough else ""
        of = "" if spacing == LINEAR else f" of {spacing}"
        return {"distribution smoothed over": f"±{self.bandwidth:.3g}{of}{jumps}"}


def _curve(seen: Seen, t: Array, smoothing: Smoothing, tau: float) -> Curve:
    b = smoothing.bandwidth
    wider = (seen.lattice.step / 2 if b else 0.0) + (REACH * b if smoothing.rough else 0.0)
    return Curve(t, *seen.scores(t, b, tau), wider)


def _smoothing(seen: Seen, grid: Array, tau: float) -> Smoothing:
    """Return over what to smooth: by rule, or with the shortest interval where the law is rougher than that."""
    rule = _by_rule(seen, grid, tau)
    if rule.bandwidth <= seen.lattice.step:
        return Smoothing(0.0)
    found, missed = rule, _missed(seen, grid, rule.bandwidth, tau)
    while missed.seen:
        found, before = Smoothing(found.bandwidth / 2), missed
        if found.bandwidth <= seen.lattice.step:
            return Smoothing(0.0)
        missed = _missed(seen, grid, found.bandwidth, tau)
        if missed.size >= FALLEN * before.size:
            return _shortest(seen, grid, rule, tau)
    return found


def _shortest(seen: Seen, grid: Array, rule: Smoothing, tau: float) -> Smoothing:
    """Return the smoothing of the shortest interval that holds for any law."""
    ladder = [Smoothing(rule.bandwidth / 2**k, rough=True) for k in range(1, SHORTEST + 1)]
    kept = [each for each in ladder if each.bandwidth > seen.lattice.step]
    return min(kept, key=partial(_length, seen, _around(seen, grid, rule, tau), tau), default=Smoothing(0.0))


def _length(seen: Seen, at: Array, tau: float, smoothing: Smoothing) -> float:
    """Return half the length that an interval is expected to have, without looking where chance would make it short."""
    b, middle = smoothing.bandwidth, at[[at.size // 2]]
    share, _ = seen.coarser(at[-1] - at[0]).scores(at[[0, -1]], at[-1] - at[0], tau)
    slope = max(float(share[1] - share[0]) / float(at[-1] - at[0]), 1e-12)
    return NORMAL * float(seen.coarser(b).scores(middle, b, tau)[1][0]) / slope + REACH * b


def _by_rule(seen: Seen, grid: Array, tau: float) -> Smoothing:
    """Return the bandwidth for a law that is as smooth around its quantile as a normal one."""
    pilot = Smoothing(max(PILOT * (grid[-1] - grid[0]), seen.lattice.step))
    curve = _curve(seen.coarser(pilot.bandwidth), grid, pilot, tau)
    error = max(float(np.interp(curve.estimate, curve.at, curve.error)), 1e-12)
    share = np.clip(curve.rising + tau, 0.0, 1.0)
    spread = Line(np.zeros(1), None, curve.at, share, tau * (1 - tau) / error**2).scale(tau)
    return Smoothing(float((ALLOWED * error * np.sqrt(pilot.bandwidth) * spread**4 / BIAS) ** (1 / 4.5)))


class Missed(NamedTuple):
    """The difference that smoothing makes near a quantile: whether it is significant, and its size."""

    seen: bool
    size: float


def _missed(seen: Seen, grid: Array, bandwidth: float, tau: float) -> Missed:
    """Compare a smoothed law with sharper ones.

    Right at an atom, and midway between two, all of them agree: so they are compared around the quantile.
    """
    at = _around(seen, grid, Smoothing(bandwidth), tau)
    sharper = [bandwidth / times for times in SHARPER]
    found = [seen.coarser(each).apart(at, bandwidth, each) for each in sharper]
    told = any(_chance(*each) < MISTAKEN / len(found) for each in found)
    return Missed(told, float(np.abs(found[0][0]).max()))


def _chance(mean: Array, covariance: Array) -> float:
    """Return the chance of a larger sum of squares of means in their standard errors, if all expectations are 0."""
    error = np.sqrt(np.diag(covariance))
    known = error > 1e-9 * max(float(error.max(initial=0.0)), 1e-300)
    if not known.any():
        return 1.0
    z = mean[known] / error[known]
    alike = covariance[np.ix_(known, known)] / np.outer(error[known], error[known])
    freedom = z.size**2 / float((alike**2).sum())  # Satterthwaite: of the mean z.size and variance 2 tr(R²)
    return float(chdtrc(freedom, float(z @ z) * freedom / z.size))


def _around(seen: Seen, grid: Array, smoothing: Smoothing, tau: float) -> Array:
    """Return values around the quantile."""
    estimate = _curve(seen.coarser(smoothing.bandwidth), grid, smoothing, tau).estimate
    return np.unique(np.clip(estimate + smoothing.bandwidth * AROUND, grid[0], grid[-1]))


def _below(x: Array, t: Array, bandwidth: float) -> Array:
    """Return `H((t - x)/b)`, (lattice points, values), mirrored at the ends of the lattice; without b `1{x <= t}`."""
    if not bandwidth:
        return (x[:, None] <= t).astype(float)
    out = _rise((t - x[:, None]) / bandwidth)
    out += _rise((t + x[:, None] - 2 * x[0]) / bandwidth) - 1
    out += _rise((t + x[:, None] - 2 * x[-1]) / bandwidth)
    return out


def _rise(u: Array) -> Array:
    from scipy.special import ndtr

    return np.asarray(ndtr(u) + u * np.exp(-(u**2) / 2) / np.sqrt(8 * np.pi))
