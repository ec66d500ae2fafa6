"""How far a score is projected (`correction/projection.py`): degrees that are high enough, and no higher.

With err(x) the score at a record less its projection, estimates move by `V^-1 E err`. By Cauchy's inequality that is at most

    shift_j  =  2 (mean over x of (V^-1 err(x))_j²)^½ / se_j       standard errors,      x even in the domain,

for every law of records whose density p has `mean p² <= 4`, as a normal one of a fifth of each width in four columns has.
The least degrees are taken for which that is a tenth: first each column's own, others as they are, then all together.

A score that jumps has no such degrees. There the error is averaged first: over a normal law of a tenth of each column's
width around x, and over one of 0.42 times the scale of residuals (or of the index) in the index, since laws of records are
taken to be as smooth as that. Higher degrees see more and vary more, and those are taken for which `1 + shift²` times the
predicted variance is least. Where the shift stays above its limit the fit is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from versadp.correction import CustomModel, Projected, Projection
from versadp.errors import ParameterError
from versadp.estimation import Family
from versadp.models.expanding import has_series
from versadp.models.methods import closed_now
from versadp.models.source import MemorySource
from versadp.noise.points import How

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.engine import Engine
    from versadp.losses.line import Line
    from versadp.models.problem import Problem

    Array = NDArray[np.float64]

FIRST = (6, 6, 6, 5, 4, 4)  # degrees to begin with, by how many columns have them
LADDER = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 24)
MOST = 6000  # points that all records share
TESTS, ROWS = 256, 10_000
HIGHER = 1.25
NEGLIGIBLE, TOLERABLE, BLURRED = 0.1, 0.25, 0.75
SMOOTH, BLUR, NODES = 0.1, 0.42, 64  # of a column's width, of a scale; places that a jump is averaged over


def projectable(problem: Problem) -> bool:
    """Tell whether a loss is better projected than corrected by points: lattices with windows, and no closed form."""
    blocks, model = problem.blocks, problem.model
    if problem.units.exact_rate is not None or not blocks or problem.quantile is not None:
        return False
    if any(block.lattice(name) is None for block in blocks for name in block.columns):
        return False
    design = problem.design
    if (design is not None and design.with_missing) or getattr(getattr(model, "loss", None), "missing", False):
        return False
    if all(block.point_count(How(1)) == block.point_count(How(2)) for block in blocks):
        return False  # all outputs are written out, and nothing is drawn
    return not has_series(problem) and closed_now(problem) is None


def begun(problem: Problem) -> Problem:
    """Return the problem with degrees to begin with, if it is to be projected."""
    if not projectable(problem):
        return problem
    category = set() if problem.design is None else set(problem.design.private)
    numbers = len(set(problem.units.names) - category)
    degrees = limited(problem, (FIRST[min(numbers, len(FIRST)) - 1],) * problem.units.dim)
    _refuse_large(Projection(problem.blocks, degrees))
    return replace(problem, degrees=degrees)


def _refuse_large(projection: Projection) -> None:
    if projection.size > MOST:
        raise ParameterError(
            f"a function of {len(projection.degrees)} noisy columns at once, of so many values, is more than can be undone",
            hint="terms of one column each, as in np.log(age) + np.log(income), need less; or fewer columns",
        )


@dataclass(frozen=True)
class Choice:
    """Degrees, by how many standard errors they may shift coefficients, and what these vary by."""

    problem: Problem
    shift: float
    variance: Array


def raised(problem: Problem, theta: Array, sample: Records, engine: Engine, seed: int, line: Line | None) -> Problem:
    """Return the problem with the degrees that its score needs at a theta.

    Parameters
    ----------
    problem : Problem
        With degrees to begin with.
    theta : array (p,)
    sample : Records
    engine : Engine
    seed : int
    line : Line or None
        Of a loss of the residual with kinks.
    """
    assert problem.degrees is not None
    place = _Place(problem, theta, sample, engine, seed, line)
    if place.projection(problem.degrees).exact:
        return replace(problem, taken="all lattice points, nothing lost")
    first = place.curvature(problem.degrees)
    if first is None:  # nobody can tell: the fit will say so, or lead to where there is some
        return problem
    model = problem.model
    if isinstance(model, CustomModel) or model.loss.smooth:
        found = _least(place, first)
        if found is not None:
            return _named(found)
    found = _best(place)
    if found is not None and found.shift < BLURRED:
        return _named(found)
    away = "" if found is None else f": coefficients may be off by {found.shift:.2g} standard errors"
    raise ParameterError(
        f"polynomials of the noisy columns are not near this loss{away}",
        hint="fewer columns, a smoother loss, or functions that are less steep within the bounds",
    )


def _least(place: _Place, first: tuple[Array, Array]) -> Choice | None:
    """Return the least degrees that are near enough."""
    degrees, found = place.needed(first), None
    while place.projection(degrees).size <= MOST:
        now = place.look(degrees, blurred=False)
        found = now if found is None or now.shift < found.shift else found
        if found.shift < NEGLIGIBLE or place.projection(degrees).exact:
            return found
        higher = place.limited(tuple(max(q + 1, int(HIGHER * q)) for q in degrees))
        if higher == degrees:
            break
        degrees = higher
    return found if found is not None and found.shift < TOLERABLE else None


def _best(place: _Place) -> Choice | None:
    """Return the degrees that are predicted to err least, jumps averaged over."""
    best, least, worse = None, np.inf, 0
    for q in LADDER[1:]:
        degrees = place.limited(tuple([q] * place.dim))
        if place.projection(degrees).size > MOST or worse > 2:
            break
        now = place.look(degrees, blurred=True)
        goal = float(np.mean(np.log(now.variance)) + np.log1p(now.shift**2))
        worse = 0 if goal < least else worse + 1
        if goal < least:
            best, least = now, goal
    return best


def _named(choice: Choice) -> Problem:
    degrees = choice.problem.degrees
    assert degrees is not None
    said = f"polynomials of degree {max(degrees)}, off by at most {choice.shift:.1g} standard errors"
    return replace(choice.problem, taken=said, off=choice.shift if choice.shift > NEGLIGIBLE else 0.0)


@dataclass(frozen=True)
class _Place:
    """Where a projection is judged."""

    problem: Problem
    theta: Array
    sample: Records
    engine: Engine
    seed: int
    line: Line | None

    @property
    def dim(self) -> int:
        """Number of noisy columns."""
        return self.problem.units.dim

    def projection(self, degrees: tuple[int, ...]) -> Projection:
        """Return the projection of such degrees."""
        return Projection(self.problem.blocks, degrees)

    def limited(self, degrees: tuple[int, ...]) -> tuple[int, ...]:
        """Return degrees, of a category all levels, and no more than a lattice has points."""
        return limited(self.problem, degrees)

    def form(self, degrees: tuple[int, ...]) -> Projected:
        """Return the correction of such degrees."""
        problem = self.problem
        return Projected(problem.model, problem.units, self.projection(degrees))

    def curvature(self, degrees: tuple[int, ...]) -> tuple[Array, Array] | None:
        """Return V and the variances of coefficients from all records, as a part of them tells; None without any."""
        few = self.few
        now = Family((self.form(degrees),), MemorySource((few,)), self.theta.size, self.engine, self.seed)
        moments = now.moments(self.theta, np.ones(1))
        if not np.isfinite(moments.hessian).all() or np.linalg.eigvalsh(moments.hessian)[0] <= 0:
            return None
        return moments.hessian, np.diag(moments.covariance()) * few.rows / self.problem.source.rows

    @cached_property
    def few(self) -> Records:
        """Some of the records."""
        rng = np.random.default_rng([self.seed, 0x9A0])
        return self.sample.take(np.sort(rng.choice(self.sample.rows, min(ROWS, self.sample.rows), replace=False)))

    def look(self, degrees: tuple[int, ...], *, blurred: bool) -> Choice:
        """Return what such degrees come to."""
        problem = replace(self.problem, degrees=degrees)
        known = self.curvature(degrees)
        if known is None:
            return Choice(problem, np.inf, np.full(self.theta.size, np.inf))
        form = self.form(degrees)
        return Choice(problem, _shift(self._blurred(form) if blurred else self._error(form), *known), known[1])

    @cached_property
    def tests(self) -> tuple[Array, Records]:
        """Places spread evenly over the lattices, and records whose public columns are taken there."""
        from scipy.stats.qmc import Sobol

        rng, lattices = np.random.default_rng([self.seed, 0x7E5]), self.projection(()).lattices
        ends = np.array([lattice.values[[0, -1]] for lattice in lattices]).T
        x = ends[0] + (ends[1] - ends[0]) * Sobol(self.dim, seed=1).random(TESTS)
        return self._on_lattice(x), self.sample.take(rng.choice(self.sample.rows, TESTS))

    def _on_lattice(self, x: Array) -> Array:
        lattices = self.projection(()).lattices
        return np.stack([lattice.nearest(x[:, c]) for c, lattice in enumerate(lattices)], axis=1)

    def _rows(self, x: Array, owner: NDArray[np.int64]) -> object:
        units = self.problem.units
        return self.problem.model.rows((x - units.centre) / units.unit, owner, self.tests[1])

    def needed(self, known: tuple[Array, Array]) -> tuple[int, ...]:
        """Return for each column the least degree for its own part of the error, the others being what they are."""
        (x, _), model, owner = self.tests, self.problem.model, np.arange(TESTS)
        true, out = model.score(self._rows(x, owner), self.theta), []
        for c, lattice in enumerate(self.projection(()).lattices):
            low, high = lattice.values[[0, -1]]
            for q in LADDER:
                at = np.cos(np.pi * (np.arange(q + 1.0) + 0.5) / (q + 1))
                there = np.repeat(x, q + 1, axis=0)
                there[:, c] = np.tile((low + high) / 2 + (high - low) / 2 * at, TESTS)
                if lattice.values.size <= q + 1 or self.limited((q,) * self.dim)[c] != q:
                    break
                values = model.score(self._rows(there, np.repeat(owner, q + 1)), self.theta)
                t = (2 * x[:, c] - low - high) / (high - low)
                share = chebvander(t, q) @ np.linalg.inv(chebvander(at, q))
                near = np.einsum("tk,tkp->tp", share, values.reshape(TESTS, q + 1, -1))
                if _shift(true - near, *known) < NEGLIGIBLE / self.dim:
                    break
            out.append(q)
        return self.limited(tuple(out))

    def _error(self, form: Projected) -> Array:
        """Return the score less its projection at test points, (tests, p)."""
        x, model = self.tests[0], form.model
        values = model.score(self._spots(form), self.theta)
        return np.asarray(model.score(self._rows(x, np.arange(TESTS)), self.theta) - self._near(form, x, values))

    def _spots(self, form: Projected) -> object:
        """Return what the model makes of all points for the public columns of each test."""
        points = form.projection.points
        return self._rows(np.tile(points, (TESTS, 1)), np.repeat(np.arange(TESTS), len(points)))

    def _near(self, form: Projected, x: Array, values: Array) -> Array:
        """Return the projection at test points of values at all points."""
        projection = form.projection
        apart = values.reshape(TESTS, projection.size, -1)
        return np.asarray(
            [basis @ projection.coefficients(each) for basis, each in zip(projection.products(x), apart, strict=True)]
        )

    def _blurred(self, form: Projected) -> Array:
        """Return the same, averaged over normal laws around each test point, and of the index."""
        from scipy.special import ndtri
        from scipy.stats.qmc import Sobol

        (x, _), model, owner = self.tests, form.model, np.arange(TESTS)
        lattices = form.projection.lattices
        low, high = np.array([lattice.values[[0, -1]] for lattice in lattices]).T
        spots, total = self._spots(form), np.zeros((TESTS, model.size))
        lift = self._lift(x)
        for *move, aside in ndtri(0.5 / NODES + (1 - 1 / NODES) * Sobol(self.dim + 1, seed=2).random(NODES)):
            at = x + SMOOTH * (high - low) * np.array(move)
            at = np.where(at < low, 2 * low - at, np.where(at > high, 2 * high - at, at))
            theta = self.theta + lift * aside
            there = self._on_lattice(at)
            total += model.score(self._rows(there, owner), theta) - self._near(form, there, model.score(spots, theta))
        return np.asarray(total / NODES)

    def _lift(self, x: Array) -> Array:
        """Return what moves the index by as much as it is blurred over; nothing without a constant."""
        model = self.problem.model
        if isinstance(model, CustomModel):
            return np.zeros(self.theta.size)
        m = self._rows(x, np.arange(TESTS))[0]  # type: ignore[index] # the rows of an index are a design and a response
        lift = np.linalg.lstsq(m, np.ones(TESTS), rcond=None)[0]
        if not np.allclose(m @ lift, 1.0):
            return np.zeros(self.theta.size)
        scale = float(np.std(m @ self.theta))
        if self.line is not None:
            scale = self.line.scale(getattr(model.loss, "tau", 0.5))
        return np.asarray(BLUR * scale * lift)


def _shift(error: Array, hessian: Array, variance: Array) -> float:
    """Return by how many standard errors an error of the score may move coefficients."""
    moved = np.linalg.solve(hessian, error.T) / np.sqrt(variance)[:, None]
    return float(2 * np.sqrt((moved**2).mean(axis=1)).max())


def limited(problem: Problem, degrees: tuple[int, ...]) -> tuple[int, ...]:
    """Return degrees, of a category all levels, and no more than a lattice has points."""
    sizes = [lattice.values.size for lattice in Projection(problem.blocks, ()).lattices]
    category = set() if problem.design is None else set(problem.design.private)
    each = zip(problem.units.names, sizes, degrees, strict=True)
    return tuple(size - 1 if name in category else min(q, size - 1) for name, size, q in each)
