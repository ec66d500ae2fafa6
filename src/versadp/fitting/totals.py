"""Totals in a fit: whether they can be used, and what they add to scores and to their covariance.

A fit is a mean over all records of a function of released columns, and totals calibrate every such mean
(`correction/calibration.py`). Where the records are some of the release, or weighed, or where the score needs what no
total is about, the records are fitted alone, and the summary says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction.calibrated import Calibrated, Controls, UniformScores
from versadp.correction.calibrated_release import OutputCodes, calibration_of
from versadp.correction.pair_functions import PairFunctions
from versadp.correction.records import Records
from versadp.correction.uniform_points import uniform_points
from versadp.correction.working_law import working_law
from versadp.estimation.sizes import MOST_LISTED, PART_ROWS, UNIFORM_POINTS
from versadp.fitting.source import ReleaseSource
from versadp.release.totals.wording import has_totals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.correction.calibration import Calibration, Uniform
    from versadp.estimation import Family, Fit
    from versadp.fitting.problem import Problem
    from versadp.fitting.request import Request
    from versadp.fitting.sample_design import SampleDesign
    from versadp.fitting.source import Reader
    from versadp.noise.units import Units
    from versadp.release.release import Release

    Array = NDArray[np.float64]

MOST_SLOPES = 150  # scores and their derivatives that are controlled: chosen; of more coefficients scores alone


@dataclass(frozen=True, eq=False)
class Totals:
    """The totals of a release, as one problem uses them.

    Attributes
    ----------
    calibration : Calibration
    units : Units
    columns : tuple of pair
        Of each column of the fit its name, and numbers for its levels if it is coded.
    complete : tuple of str
        Columns whose missing values leave a record out.
    open_terms : Terms, optional
        The terms of a linear design without noisy columns: a constant.
    smooth : bool
        False for a loss with kinks, whose score takes more points.
    """

    calibration: Calibration
    units: Units
    columns: tuple[tuple[str, tuple[float, ...] | None], ...]
    complete: tuple[str, ...]
    open_terms: Any = None
    smooth: bool = True
    _scores: dict[int, UniformScores] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def functions(self) -> tuple[Uniform, PairFunctions]:
        """Uniform points of the columns of the fit, and the functions of two columns on them."""
        names = dict.fromkeys(name for name, _ in self.columns)
        points = uniform_points(
            self.calibration.features.laws, names, self.complete, (MOST_LISTED, UNIFORM_POINTS[self.smooth])
        )
        return points, PairFunctions(self.calibration, points, self.complete)

    def rows(self, model: Any, codes: Mapping[str, NDArray[np.int64]]) -> Any:
        """Return the rows of a model at lattice points."""
        laws, out = self.calibration.features.laws, []
        for name, coded in self.columns:
            values = laws[name].values if coded is None else np.append(coded, np.nan)
            out.append(values[codes[name]])
        size = out[0].size
        z = self.units.from_columns(out, size)
        design = None if self.open_terms is None else self.open_terms.matrix({"": np.zeros(size)})
        return model.rows(z, np.arange(size), Records(z, {}, design))

    def scores(self, model: Any) -> UniformScores:
        """Return what totals add to the mean score of a model."""
        if id(model) not in self._scores:
            points, _ = self.functions
            self._scores[id(model)] = UniformScores(model, self.rows(model, points.codes), self._weights)
        return self._scores[id(model)]

    @cached_property
    def _weights(self) -> Array:
        return self.functions[1].weights()

    def controls(self, model: Any, fit: Fit, seed: int) -> Controls:
        """Return what totals take off records' scores around an estimate, and what they bring along."""
        theta, p = fit.theta, fit.theta.size
        points, functions = self.functions
        rows = self.rows(model, points.codes)
        values = [model.score(rows, theta)]
        if p * (1 + p) <= MOST_SLOPES:
            steps = np.sqrt(np.maximum(np.diag(fit.cov), 1e-300))
            ends = [(theta + step, theta - step) for step in np.diag(steps)]
            apart = [model.score(rows, ahead) - model.score(rows, behind) for ahead, behind in ends]
            values.append((np.stack(apart, axis=2) / (2 * steps)).reshape(points.size, -1))
        gain = self.calibration.gain(functions.parts(np.concatenate(values, axis=1)))
        own = Controls(self.calibration, gain, theta, np.zeros((p, p)), np.zeros((p, p)))
        raw, shared = self._sampling(model, theta, gain[:p], seed)
        noise = self.calibration.rows * (gain[:p] * self.calibration.sd**2) @ gain[:p].T
        return replace(own, beyond=shared + noise, raw=raw)

    def _sampling(self, model: Any, theta: Array, gain: Array, seed: int) -> tuple[Array, Array]:
        """Return `Var v(X)` and `Var v(X) - Var r(X)`, r = v - B phi, under the working law."""
        drawn = working_law(self.calibration, PART_ROWS, np.random.default_rng([seed, 0x10A]))
        laws, own = self.calibration.features.laws, self.calibration.features
        known = np.ones(PART_ROWS, bool)
        for name in self.complete:
            known &= np.isfinite(laws[name].values[drawn[name]])
        some = {name: codes[known] for name, codes in drawn.items()}
        v = np.zeros((PART_ROWS, theta.size))
        v[known] = model.score(self.rows(model, some), theta)
        b = np.zeros_like(v)
        for support, table in own.tables(gain).items():
            place: Any = (slice(None), *(drawn[name] for name in support))
            b += table[place].T
        both = np.cov(np.concatenate([v, b], axis=1), rowvar=False)
        p = theta.size
        raw = both[:p, :p]
        return raw, _floored(both[:p, p:] + both[p:, :p] - both[p:, p:], raw)


def _floored(matrix: Array, metric: Array) -> Array:
    """Return a covariance without its negative part, in units of another."""
    unit = np.sqrt(np.maximum(np.diag(metric), 1e-300))
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2 / np.outer(unit, unit))
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T * np.outer(unit, unit))


def with_totals(problem: Problem, request: Request, refused: str) -> Problem:
    """Return a problem with the totals of its release, if it can use them, or with the reason why not."""
    source = problem.source
    if not isinstance(source, ReleaseSource):
        return problem
    found = _totals(problem, request, source.reader, refused)
    if isinstance(found, str):
        return replace(problem, totals=found)
    codes = OutputCodes(found.calibration.features.laws, request.schema.columns)
    return replace(problem, totals=found, source=replace(source, reader=replace(source.reader, beside=codes)))


def _totals(problem: Problem, request: Request, reader: Reader, refused: str) -> Totals | str:
    if not problem.blocks or not (refused or has_totals(request.release)):
        return ""
    calibration = refused or _refused(request, reader) or calibration_of(request.release)
    if isinstance(calibration, str):
        return calibration
    coded = {name: reader.codes[name] for name in problem.units.names if name in reader.codes}
    columns = tuple(coded.get(name, (name, None)) for name in problem.units.names)
    for name, _ in columns:
        if name not in calibration.features.laws:
            why = getattr(request.release.totals, "left_out", {}).get(name, "no total is about it")
            return f"column {name!r} is in none: {why}"
    smooth = bool(getattr(problem.model.loss, "smooth", False))
    return Totals(calibration, problem.units, columns, problem.nullable, reader.open_terms, smooth)


def _refused(request: Request, reader: Reader) -> str:
    """Return why a fit cannot use totals, whatever they are; "" if it can."""
    if not request.free:
        return "they calibrate the method 'efficient'"
    if request.weights is not None:
        return "they are of all people alike, and these records have weights"
    if request.schema.rows_per_person > 1:
        return "a person may have several rows"
    if reader.public:
        return f"the model uses the public column {reader.public[0]!r}, and totals are of private ones"
    return ""


def refused_by(release: Release, design: SampleDesign) -> str:
    """Return why a sample design cannot use the totals of a release; "" if it can, or there are none."""
    if not has_totals(release):
        return ""
    if design.release is not release:
        return "they are of all people, and this is a subset"
    if design.labels is not None:
        return "they are of all people, and standard errors are by clusters or frequencies"
    return ""


def note_alone(release: Release) -> dict[str, str]:
    """Return what the summary says of a fit by the records alone, where there are totals."""
    return {"totals": "not used: this method takes the records alone"} if has_totals(release) else {}


def calibrated(forms: tuple[Any, ...], problem: Problem) -> tuple[Any, ...]:
    """Return the forms of a problem, calibrated where it has totals: of one member."""
    totals = problem.totals
    if isinstance(totals, str) or len(forms) > 1 or len(forms[0].names) > 1:
        return forms
    return (Calibrated(forms[0], totals.scores(problem.model)),)


def controlled(family: Family, controls: Controls) -> Family:
    """Return a family whose scores are taken less what totals say of each record."""
    (form,) = family.forms
    assert isinstance(form, Calibrated)
    return replace(family, forms=(replace(form, controls=controls),))


def words(problem: Problem, fit: Fit, family: Family) -> dict[str, str]:
    """Return what the summary says of totals: what they gained, or why they were not used."""
    if isinstance(problem.totals, str):
        return {"totals": f"not used: {problem.totals}"} if problem.totals else {}
    form = family.forms[0]
    controls = form.known if isinstance(form, Calibrated) else None
    if not fit.converged or controls is None or controls.alone is None or fit.hessian is None:
        return {"totals": "used"}
    raw = float(np.trace(np.linalg.solve(fit.hessian, controls.raw)))
    calibrated_size = raw / float(np.trace(fit.cov @ fit.hessian))
    alone = fit.n * raw / float(np.trace(np.linalg.solve(fit.hessian, controls.alone)))
    return {
        "totals": f"used: worth {min(calibrated_size, fit.n):,.0f} records without noise, {alone:,.0f} without totals"
    }
