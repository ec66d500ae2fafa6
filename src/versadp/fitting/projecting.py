"""Degrees for the projection of a score (`correction/projection.py`): high enough, and no higher.

With err(x) the score at a record less its projection, estimates move by `V^-1 E err`. By Cauchy's inequality that is at
most

    shift_j  =  2 (mean over x of (V^-1 err(x))_j²)^½ / se_j       standard errors,      x even in the domain,

for every law of records whose density p has `mean p² <= 4`, as a normal one of a fifth of each width in four columns
has. The least degrees are taken for which that is a tenth: first each column's own, others as they are, then all
together.

A score that jumps has no such degrees. A loss with kinks is smoothed first over one scale of its residuals, or one and
a half where there are several columns, by a kernel without a second moment; what that moves is counted in the shift
too. A loss of anybody's own is taken as it is. Where the shift stays above its limit, the fit is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from versadp.correction import CustomModel, IndexModel, Projected, Projection
from versadp.correction.series import BLURRED, NEGLIGIBLE, TOLERABLE
from versadp.errors import ParameterError
from versadp.estimation import Family
from versadp.fitting.methods import closed_now
from versadp.fitting.series_start import has_series
from versadp.fitting.source import MemorySource
from versadp.noise.points import How
from versadp.noise.terms import can_undo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.engine import Engine
    from versadp.fitting.problem import Problem
    from versadp.losses.pilot_line import Line

    Array = NDArray[np.float64]

FIRST = (6, 6, 6, 5, 4, 4)  # degrees to begin with, by how many columns have them
LADDER = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 24, 30)  # degrees that are tried: by 1, then by a fifth
MOST, MOST_ROUGH = 6000, 600  # points that all records share; of a loss that is not smooth
TESTS, ROWS = 256, 10_000  # points at which errors are compared, records of their curvature: known to 6% and 1%
HIGHER, HIGHEST = 1.25, 48  # factor of degrees that were not enough, and the highest that is tried: chosen
ENOUGH = 0.4  # standard errors of shift of a loss that is not smooth: less is not looked for
WIDE, WIDER = 1.0, 1.5  # scales of residuals that a kink is smoothed over, in one column and in several
QUARTILE = 1.1e-3  # h^4/24 times the fourth moment of the kernel times the third derivative of a normal density there


def projectable(problem: Problem) -> bool:
    """Tell whether a loss is better projected than corrected by points: lattices with windows, and no closed form."""
    blocks, model = problem.blocks, problem.model
    if problem.units.exact_rate is not None or not blocks or problem.quantile is not None:
        return False
    if has_series(problem) or closed_now(problem) is not None:
        return False
    if not can_undo(blocks):
        return False
    design = problem.design
    if (design is not None and design.with_missing) or getattr(getattr(model, "loss", None), "missing", False):
        return False
    # where all outputs are written out nothing is drawn
    return any(block.point_count(How(1)) != block.point_count(How(2)) for block in blocks)


def begun(problem: Problem) -> Problem:
    """Return the problem with degrees to begin with, if it is to be projected."""
    if not projectable(problem):
        return problem
    category = set() if problem.design is None else set(problem.design.private)
    numbers = len(set(problem.units.names) - category)
    degrees = limited(problem, (FIRST[min(numbers, len(FIRST)) - 1],) * problem.units.dim)
    refuse_large(Projection(problem.blocks, degrees))
    return problem.approximated(degrees=degrees)


def refuse_large(projection: Projection) -> None:
    """Raise if a projection asks for more points, or for higher degrees, than are ever chosen."""
    if projection.size > MOST or max(projection.degrees) > HIGHEST:
        raise ParameterError(
            f"a function of {len(projection.degrees)} noisy columns at once is more than can be undone",
            hint="terms of one column each, as in np.log(age) + np.log(income), need less; or fewer columns",
        )


@dataclass(frozen=True)
class Choice:
    """Degrees, and by how many standard errors they may shift coefficients."""

    problem: Problem
    shift: float


def raised(problem: Problem, theta: Array, sample: Records, engine: Engine, *, seed: int, line: Line | None) -> Problem:
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
        return problem.approximated(taken="all lattice points, nothing lost")
    first = place.curvature(problem.degrees)
    if first is None:  # nobody can tell: the fit will say so, or lead to where there is some
        return problem
    found = _least(place, first)
    if found is not None and found.shift < (TOLERABLE if _is_smooth(problem) else BLURRED):
        return _named(found)
    away = "" if found is None else f": coefficients may be off by {found.shift:.2g} standard errors"
    raise ParameterError(
        f"no polynomial of the noisy columns that could be undone is near this loss{away}",
        hint="a loss without kinks, fewer columns, or functions that are less steep within the bounds",
    )


def _is_smooth(problem: Problem) -> bool:
    return isinstance(problem.model, CustomModel) or problem.model.loss.smooth


def without_kinks(problem: Problem, line: Line | None) -> Problem:
    """Return a problem whose kinks are wide enough for polynomials, smoothed by the kernel of `smoothing.py`."""
    model = problem.model
    if isinstance(model, CustomModel) or not model.loss.kinked:
        return problem
    scale = 1.0 if line is None else line.scale(_tau(model.loss))
    wide = (WIDE if problem.units.dim == 1 else WIDER) * scale
    return problem.smoothed(max(model.bandwidth, wide), max(model.window, wide))


def _least(place: _Place, first: tuple[Array, Array]) -> Choice | None:
    """Return the least degrees that are near enough."""
    enough = NEGLIGIBLE if _is_smooth(place.problem) else ENOUGH
    degrees, found = place.needed(first, enough), None
    most = MOST if _is_smooth(place.problem) else MOST_ROUGH
    while place.projection(degrees).size <= most and max(degrees) <= HIGHEST:
        now = place.look(degrees)
        found = now if found is None or now.shift < found.shift else found
        if found.shift < enough or place.projection(degrees).exact:
            return found
        higher = place.limited(tuple(max(q + 1, int(HIGHER * q)) for q in degrees))
        if higher == degrees:
            break
        degrees = higher
    return found


def _named(choice: Choice) -> Problem:
    degrees = choice.problem.degrees
    assert degrees is not None
    said = f"polynomials of degree {max(degrees)}, off by at most {choice.shift:.1g} standard errors"
    return choice.problem.approximated(taken=said, off=choice.shift if choice.shift > NEGLIGIBLE else 0.0)


@dataclass(frozen=True)
class _Place:
    """The records and coefficients at which a projection is judged."""

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

    def look(self, degrees: tuple[int, ...]) -> Choice:
        """Return what such degrees come to."""
        problem = self.problem.approximated(degrees=degrees)
        known = self.curvature(degrees)
        if known is None:
            return Choice(problem, np.inf)
        near, kernel = _shift(self._error(self.form(degrees)), *known), _shift(self.kernel()[None] / 2, *known)
        return Choice(problem, float(np.hypot(near, kernel)))

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

    def _rows(self, x: Array, owner: NDArray[np.int64]) -> Any:
        units = self.problem.units
        return self.problem.model.rows((x - units.centre) / units.unit, owner, self.tests[1])

    def needed(self, known: tuple[Array, Array], enough: float) -> tuple[int, ...]:
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
                if _shift(true - near, *known) < enough / self.dim:
                    break
            out.append(q)
        return self.limited(tuple(out))

    def _error(self, form: Projected) -> Array:
        """Return the score less its projection at test points, (tests, p)."""
        x, model = self.tests[0], form.model
        values = model.score(self._spots(form), self.theta)
        return np.asarray(model.score(self._rows(x, np.arange(TESTS)), self.theta) - self._near(form, x, values))

    def _spots(self, form: Projected) -> Any:
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

    def kernel(self) -> Array:
        """Return what the smoothing of a kink adds to scores: that of a normal law of residuals at its quartile."""
        model = self.problem.model
        if not isinstance(model, IndexModel) or not model.bandwidth or self.line is None:
            return np.zeros(self.theta.size)
        m = self._rows(self.tests[0], np.arange(TESTS))[0]  # a design and a response
        return np.asarray(QUARTILE * (model.bandwidth / self.line.scale(_tau(model.loss))) ** 4 * m.mean(axis=0))


def _tau(loss: Any) -> float:
    return float(getattr(loss, "tau", 0.5))


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
