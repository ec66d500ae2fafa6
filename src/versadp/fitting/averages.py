"""Averages over people of what a fit predicts, as they are or with a column set or moved, the noise undone.

    a = E g(m(x)'theta),      x -> x with a column set to a value, or moved by a step

A noisy record is the wrong place to evaluate g; but m g(m'theta) is the score of a loss (`losses/cumulant.py`), and
what undoes the noise in scores undoes it here: the average is the mean corrected score of the constant. Moving a column
that terms are linear in is another theta, `c rest -> (c + h) rest`, and closed forms stay what they are; other terms
are evaluated at the moved record. Errors are those of the average and of theta together (`estimation/covariance.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import FormulaModel, LinearModel, argument_of, as_terms
from versadp.correction.form import Form
from versadp.correction.model import finite, levels_at
from versadp.correction.records import columns_at
from versadp.correction.series import Place, series
from versadp.errors import EstimationError
from versadp.estimation import Family
from versadp.estimation.combine import simplex_weights
from versadp.estimation.covariance import Inquiry, Labels, Look, look_at
from versadp.estimation.moments import generator
from versadp.fitting.methods import DRAWS, by_points, forms_of
from versadp.fitting.source import MemorySource
from versadp.formula.design import PUBLIC
from versadp.losses.cumulant import OF_LINK, Bare
from versadp.losses.expansion import Expansion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.estimation.covariance import Found
    from versadp.fitting.problem import Problem
    from versadp.fitting.report import FitReport
    from versadp.formula.design import Design
    from versadp.formula.terms import Terms
    from versadp.inference.effects import Move

    Array = NDArray[np.float64]
    Moves = Mapping[str, Move]


@dataclass
class OpenMoved(LinearModel):
    """A linear design without a response, some of whose public columns are moved."""

    open_terms: Terms | None = None
    moves: Moves = field(default_factory=dict)

    def target(self, records: Records) -> Array:
        """Return no response."""
        return np.zeros(records.rows)

    def public(self, records: Records) -> Array:
        """Return the public part of the design, at the moved columns."""
        if not self.moves:
            return super().public(records)
        assert self.open_terms is not None
        moved = records.public | {name: move(records.public[name]) for name, move in self.moves.items()}
        return super().public(replace(records, design=self.open_terms.matrix(moved)))


@dataclass
class FormulaMoved(FormulaModel):
    """A design some of whose columns are moved, wherever it is evaluated."""

    moves: Moves = field(default_factory=dict)

    def rows(self, z: Array, record: NDArray[Any], records: Records) -> tuple[Array, Array]:
        """Return the design at moved points, and no response."""
        columns = columns_at(z, record, records, self.units) | levels_at(z, self.units, self._levels)
        columns |= {name: move(columns[name]) for name, move in self.moves.items()}
        matrix = finite(self.design.matrix(columns))
        return (matrix if self.basis is None else matrix @ self.basis), np.zeros(len(z))


@dataclass(frozen=True)
class Averaging:
    """Average predictions of a fit.

    Attributes
    ----------
    answer : FitReport
    link : str
        How an index becomes a prediction.
    method : str
        Of the fit: that of a naive one has naive averages, for comparison.
    clusters : int
        Of records that belong together; 0 if they are independent.
    counted : bool
        True if labels of records say how many each stands for.
    """

    answer: FitReport
    link: str
    method: str = "efficient"
    clusters: int = 0
    counted: bool = False

    def __post_init__(self) -> None:
        model, design = self.answer.problem.model, self.answer.problem.design
        if self.link not in OF_LINK or design is None or not isinstance(model, LinearModel | FormulaModel):
            raise EstimationError(
                "there are no averages of this fit: its predictions are no smooth function of an index",
                hint="squared, logistic, poisson, check and huber loss with a formula have them",
            )
        if "Intercept" not in design.names:
            raise EstimationError("averages need a model with an intercept", hint="leave out - 1 or + 0")

    def averages(self, moves: Sequence[Moves], contrast: Array) -> Found:
        """Return contrasts of averages, with the covariance of these and of the estimate.

        Parameters
        ----------
        moves : sequence of mappings
            For each average the columns that are moved.
        contrast : array (averages, values)
        """
        answer = self.answer
        assert answer.diagnostics is not None
        family, fit = answer.diagnostics.family, answer.fit
        forms: list[Any] = list(family.forms)
        places: list[tuple[Any, int]] = []  # models whose forms are prepared already, and where these stand
        looks: list[Look] = []
        for each in moves:
            problem, theta, change = self._at(each)
            own = self._forms(problem, theta)
            first = next((at for model, at in places if model.moves == problem.model.moves), len(forms))  # type: ignore[union-attr] # models of ours
            if first == len(forms):
                places.append((problem.model, first))
                forms += own
            # one combination for all: what is asked are differences
            mix = looks[0].mix if looks and looks[0].mix.shape[1] == _members(own) else self._mix(own, theta)
            looks.append(Look(own, first, theta, mix, self.constant, change))
        mix = np.ones((1, len(family.names))) if fit.mix is None else fit.mix
        asked = Inquiry(family.forms, fit.theta, mix, tuple(looks), contrast, self.clusters, self.counted)
        source = answer.problem.source
        whole = Family((*forms, Labels()), source, family.size, family.engine, family.seed)
        found = look_at(whole, fit, answer.diagnostics.groups, asked)
        unit, origin = self.units
        scale = np.append(np.full(len(found.values), unit), np.ones(len(fit.theta)))
        values = unit * found.values + origin * contrast.sum(axis=0)
        return found._replace(values=values, cov=found.cov * np.outer(scale, scale))

    @property
    def units(self) -> tuple[float, float]:
        """Unit and origin of the index in units of a noisy response, if the loss is one of their difference."""
        problem = self.answer.problem
        model = problem.model
        if isinstance(model, LinearModel) and model.response >= 0 and model.loss.residual:
            return float(problem.units.unit[model.response]), float(problem.units.centre[model.response])
        return 1.0, 0.0

    @property
    def constant(self) -> Array:
        """Coefficients whose index is 1 for any row of the design of the fit."""
        problem = self.answer.problem
        assert problem.design is not None
        one = np.zeros(len(problem.names))
        one[problem.design.names.index("Intercept")] = 1.0
        return np.asarray(np.linalg.solve(problem.scale, one)) * self.units[0]

    def _at(self, moves: Moves) -> tuple[Problem, Array, Array]:
        """Return a problem without a response where columns are moved, its parameters, and their slope."""
        problem, fit = self.answer.problem, self.answer.fit
        design, model = problem.design, problem.model
        assert design is not None
        assert isinstance(model, LinearModel | FormulaModel)
        whole, left = np.eye(len(problem.names)), {}
        for name, move in moves.items():
            step = mapped(design, name, move)
            if step is None:
                left[name] = move
            else:
                whole = step @ whole
        if left and not np.array_equal(whole, np.eye(len(whole))):
            whole, left = np.eye(len(whole)), dict(moves)
        change = np.asarray(np.linalg.solve(problem.scale, whole @ problem.scale))
        shifted = np.linalg.solve(problem.scale, whole @ problem.shift - problem.shift)
        return self._bare(problem, left), change @ fit.theta + shifted, change

    def _bare(self, problem: Problem, moves: Moves) -> Problem:
        model, design, loss = problem.model, problem.design, Bare(self.link)
        assert design is not None
        if isinstance(model, LinearModel):
            if private := sorted(set(moves) - set(self._public)):
                raise EstimationError(f"terms of {private[0]!r} cannot be moved in this design", hint="write them out")
            terms = design.terms.take(np.flatnonzero(np.array(design.columns) == PUBLIC))
            bare: Any = OpenMoved(loss, model.columns, basis=model.basis, open_terms=terms, moves=moves)
        else:
            assert isinstance(model, FormulaModel)
            bare = FormulaMoved(loss, design, problem.units, basis=model.basis, change=model.change, moves=moves)
        # members differ in what they make of 1, and differences of averages would have that beside the slope
        return replace(problem.approximated(expansion=None), model=bare, extended=False)

    @property
    def _public(self) -> tuple[str, ...]:
        design, noisy = self.answer.problem.design, set(self.answer.problem.units.names)
        assert design is not None
        return tuple(name for name in design.used if name not in noisy and name not in design.private)

    def _forms(self, problem: Problem, theta: Array) -> tuple[Any, ...]:
        """Return what undoes the noise in the averages: as the fit does, or point by point where columns are moved."""
        rows, method = problem.source.rows, self.method
        if method != "naive" and problem.blocks and problem.units.exact_rate is None:
            method = "efficient"
            if isinstance(problem.model, FormulaMoved) and problem.model.moves:
                return (Steady(by_points(problem, method, None, DRAWS), 0),)
            problem = self._expanded(problem, theta)
        elif method != "naive":
            method = "efficient"
        return tuple(Steady(form, k) for k, form in enumerate(forms_of(problem, method, None, DRAWS, rows)))

    def _expanded(self, problem: Problem, theta: Array) -> Problem:
        """Return the problem with the series of its loss at a theta, if it needs one and there is one."""
        model = problem.model
        assert isinstance(model, LinearModel | FormulaModel)
        form = (
            None if model.loss.expansion() is not None else as_terms(model, problem.units, problem.blocks, Expansion())
        )
        argument = argument_of(model.loss)
        if form is None or argument is None:
            return problem
        seen = form.prepare(self.answer.sample, np.random.default_rng(0))
        found, _ = series(Place(form, seen, theta, argument, problem.source.rows))
        return problem.approximated(expansion=replace(found, cross=0.0))

    def _mix(self, forms: tuple[Any, ...], theta: Array) -> Array:
        """Return the weights of members by which the average varies least."""
        members = _members(forms)
        if members == 1:
            return np.ones((1, 1))
        assert self.answer.diagnostics is not None
        engine, seed = self.answer.diagnostics.family.engine, self.answer.diagnostics.family.seed
        some = Family(forms, MemorySource((self.answer.sample,)), len(theta), engine, seed)
        moments = some.moments(theta, np.eye(members), hessian=False)
        values = np.einsum("apbq,p,q->ab", moments.outer, self.constant, self.constant)
        mean = moments.score @ self.constant
        return simplex_weights(values - np.outer(mean, mean))[None]


def _members(forms: Sequence[Any]) -> int:
    return sum(len(form.names) for form in forms)


@dataclass(frozen=True)
class Steady(Form):
    """A form whose draws do not depend on where it stands among others, so that differences of two are smooth."""

    form: Any
    number: int

    @property
    def names(self) -> tuple[str, ...]:
        """The members."""
        return tuple(self.form.names)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record."""
        return int(self.form.points)

    def prepare(self, records: Records, rng: np.random.Generator) -> Any:
        """Return all that does not depend on theta."""
        seed, lot, *_ = rng.bit_generator.seed_seq.entropy  # type: ignore[attr-defined] # see `family.draw`
        return self.form.prepare(records, generator(self.form, records, seed, lot, 0xA7, self.number))

    def evaluate(self, prepared: Any, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores and Hessian."""
        return self.form.evaluate(prepared, theta, mix, hessian=hessian)  # type: ignore[no-any-return] # a form's


def mapped(design: Design, name: str, move: Move) -> Array | None:
    """Return what a moved column makes of the coefficients, where terms are linear in it; None where they are not.

    Examples
    --------
    >>> from versadp import Bounded, Public, Schema
    >>> from versadp.formula.design import make_design
    >>> from versadp.inference.effects import Move
    >>> design = make_design("y ~ age + w + age:w", Schema({"age": Bounded(18, 90), "w": Public(), "y": Public()}))
    >>> mapped(design, "age", Move(step=10.0))
    array([[ 1., 10.,  0.,  0.],
           [ 0.,  1.,  0.,  0.],
           [ 0.,  0.,  1., 10.],
           [ 0.,  0.,  0.,  1.]])
    """
    each = design.terms.expressions
    keys = [tuple(sorted(factor.key for factor in term)) for term in each]
    out = np.eye(len(keys))
    for j, term in enumerate(each):
        own = [factor for factor in term if name in factor.columns]
        rest = tuple(sorted(factor.key for factor in term if name not in factor.columns))
        if not own:
            continue
        if rest not in keys:
            return None
        k = keys.index(rest)
        if move.step is not None:
            if len(own) != 1 or own[0].bare != name:
                return None
            out[k, j] += move.step
        else:
            if any(factor.columns != (name,) for factor in own):
                return None
            out[j, j] = 0.0
            text = isinstance(move.value, str)
            at = {name: np.array([move.value], dtype=object if text else float)}
            out[k, j] += float(np.prod([np.ravel(factor.evaluate(at))[0] for factor in own]))
    return out
