"""Simulated people: columns from a Gaussian copula of their marginals, and a response from the model.

    x_j = Q_j(Φ(g_j)),  g ~ N(0, R),      u = m(x)'theta,      y = u + residual e,   Bernoulli or Poisson with mean h(u)

Missing assumptions are filled by rules, which are stated: coefficients that share an R² of ½ equally (for two classes
an index of standard deviation 1, for counts of ½), an intercept that puts the mean response in the middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import ParameterError
from versadp.formula.design import CODED, PUBLIC, make_design
from versadp.losses import as_loss
from versadp.planning.marginals import Marginal
from versadp.planning.raw_precision import Raw, raw_fit
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.formula.design import Design
    from versadp.losses import IndexLoss
    from versadp.planning.assumptions import Assumptions
    from versadp.schema import Schema

    Array = NDArray[np.float64]
    Columns = dict[str, NDArray[Any]]

PILOT_PEOPLE = 20_000  # simulated to scale default coefficients, with an error of 0.5%
POPULATION = 200_000  # simulated people who stand for the population: their standard errors are reported as its error
# sd of a private response without a statement, relative to its width: the bounds are three sd from the middle
DEFAULT_SD = 1 / 6
INDEX_SD = {"classes": 1.0, "counts": 0.5}  # of the index with default coefficients; stated in the notes of a plan


@dataclass(frozen=True)
class People:
    """Simulated people for one model; made by `make_people`.

    Attributes
    ----------
    design : Design
    loss : IndexLoss
    marginals : dict of str to Marginal
    theta : array (p,)
        Coefficients from which the response is drawn.
    residual : float
        Standard deviation of the response around the model; 0 for classes and counts.
    notes : tuple of str
        The assumptions, in words.
    """

    schema: Schema
    formula: str
    loss: IndexLoss
    design: Design
    marginals: dict[str, Marginal]
    root: Array
    theta: Array
    residual: float
    notes: tuple[str, ...]

    @property
    def response(self) -> str:
        """The column of the response."""
        return str(self.design.left.columns[0])

    def draw(self, rows: int, seed: int | list[int]) -> Columns:
        """Return the columns of `rows` people: numbers in their own units with NaN for missing, or levels."""
        rng = np.random.default_rng(seed)
        columns = covariates(self.marginals, self.root, rows, rng)
        u = self.design.matrix(columns) @ self.theta
        columns[self.response] = self._respond(np.where(np.isfinite(u), u, 0.0), rng)
        for name, marginal in self.marginals.items():
            if marginal.missing:
                gone = rng.random(rows) < marginal.missing
                values = columns[name].astype(object if marginal.levels else float)
                values[gone] = None if marginal.levels else np.nan
                columns[name] = values
        return {name: columns[name] for name in self.schema.columns}

    def table(self, columns: Columns) -> pa.Table:
        """Return columns as a table that a mechanism can release."""
        import pyarrow as pa

        arrays = {name: _arrow(values, self.schema.columns[name]) for name, values in columns.items()}
        if self.schema.id is not None:
            arrays[self.schema.id] = pa.array(np.arange(len(next(iter(columns.values())))))
        return pa.table(arrays)

    def complete(self, columns: Columns) -> Columns:
        """Return the people without missing values in the columns of the model."""
        gone = np.zeros(len(columns[self.response]), bool)
        for name in self.design.used:
            values = columns[name]
            gone |= np.array([v is None for v in values]) if values.dtype == object else values != values  # noqa: PLR0124 - NaN
        return {name: values[~gone] for name, values in columns.items()} if gone.any() else columns

    def raw(self, rows: int = POPULATION, seed: int = 7) -> Raw:
        """Return the population coefficients and their precision without noise, from `rows` people."""
        columns = self.complete(self.draw(rows, [seed, 0xFA7]))
        m, y = self.design.evaluate(columns)
        y = self.loss.coding(np.unique(y))(y)
        return raw_fit(self.loss, m, y, self._centred(), share=len(y) / rows)

    def _centred(self) -> Array:
        return np.array(self.theta)

    def _respond(self, u: Array, rng: np.random.Generator) -> NDArray[Any]:
        column, kind = self.schema.columns[self.response], kind_of(self.loss)
        if kind == "classes":
            yes = rng.random(u.size) < 1 / (1 + np.exp(-u))
            if isinstance(column, Categorical):
                assert self.design.outcome is not None
                first, second = (pick(self.design.outcome.values) for pick in (np.argmin, np.argmax))
                levels = np.array(column.levels, dtype=object if isinstance(column.levels[0], str) else None)
                return np.asarray(np.where(yes, levels[second], levels[first]))
            low, high = (column.lower, column.upper) if isinstance(column, Bounded) else (0.0, 1.0)
            return np.where(yes, high, low)
        y = rng.poisson(np.exp(u)) * 1.0 if kind == "counts" else u + self.residual * rng.standard_normal(u.size)
        if isinstance(column, Bounded):
            y = np.clip(y, column.lower, column.upper)
            y = y if column.step is None else column.lower + np.rint((y - column.lower) / column.step) * column.step
        return y


def kind_of(loss: IndexLoss) -> str:
    """Return the kind of the response of a loss: "numbers", "classes" or "counts"."""
    if loss.classes is not None:
        return "classes"
    if loss.name == "poisson":
        return "counts"
    if not loss.residual:
        raise ParameterError(
            f"no response can be made up for the loss {loss.name!r}",
            hint="squared, logistic, check, huber, hinge, poisson",
        )
    return "numbers"


def make_people(schema: Schema, formula: str, loss: Any, assume: Assumptions) -> People:
    """Return simulated people for a model, with missing assumptions filled by rules.

    Examples
    --------
    >>> from versadp import Bounded, Public, Schema
    >>> from versadp.planning.assumptions import Assumptions
    >>> schema = Schema({"age": Bounded(18, 90), "y": Public()})
    >>> people = make_people(schema, "y ~ age", "squared", Assumptions(coefficients={"age": 0.1}, residual=1.0))
    >>> people.theta.round(1)
    array([-5.4,  0.1])
    >>> sorted(people.draw(3, 0))
    ['age', 'y']
    """
    minimised: Any = as_loss(loss)
    if not minimised.needs_formula or getattr(minimised, "by_level", False):
        raise ParameterError(
            "a plan is about a loss of an index and one response", hint="e.g. squared, logistic, check"
        )
    for name in assume.marginals:
        if name not in schema.columns:
            raise ParameterError(f"there is no column {name!r}", hint=f"the schema has {', '.join(schema.columns)}")
    every = {name: Marginal(name, column, assume.marginals.get(name)) for name, column in schema.columns.items()}
    design = make_design(formula, schema, lambda name: every[name].levels if name in every else None)
    response = _response(design, schema)
    marginals = {name: marginal for name, marginal in every.items() if name != response}
    for name in schema.public:
        if name in design.used and name != response and not every[name].is_stated:
            raise ParameterError(
                f"nothing is known of the public column {name!r}",
                hint=f"state it: marginals={{{name!r}: {{'mean': ..., 'sd': ...}}}}",
            )
    root = _root(tuple(marginals), assume.correlations, response)
    m = design.matrix(covariates(marginals, root, PILOT_PEOPLE, np.random.default_rng(0)))
    if not np.isfinite(m).all():
        raise ParameterError(
            "a term of the model is not finite for some made-up people", hint="state marginals that avoid it"
        )
    theta, residual, notes = _response_law(design, minimised, m, every[response], assume)
    said = [f"{name}: {marginal}" for name, marginal in marginals.items() if name in {*design.used, *schema.private}]
    pairs = [f"{a} and {b}: correlation {r:g} (of normal scores)" for (a, b), r in assume.correlations.items()]
    return People(schema, formula, minimised, design, marginals, root, theta, residual, (*said, *pairs, *notes))


def covariates(marginals: Mapping[str, Marginal], root: Array, rows: int, rng: np.random.Generator) -> Columns:
    """Return the columns of `rows` people except the response."""
    from scipy.special import ndtr

    scores = rng.standard_normal((rows, len(marginals))) @ root.T
    return {name: each.at(ndtr(scores[:, j])) for j, (name, each) in enumerate(marginals.items())}


def _response(design: Design, schema: Schema) -> str:
    bare = design.left.bare is not None or design.response == CODED
    if not bare or len(design.left.columns) != 1 or design.left.columns[0] in design.terms.columns:
        raise ParameterError(
            "a response can be made up if it is one column as it is",
            hint="declare the transformed column in the schema",
        )
    if design.response == CODED and (design.outcome is None or len(set(design.outcome.values)) != 2):
        raise ParameterError(
            "a plan for a categorical response needs two levels", hint='compare one, as in I(region == "n") ~ age'
        )
    assert design.response == PUBLIC or design.left.columns[0] in schema.private
    return str(design.left.columns[0])


def _root(names: tuple[str, ...], correlations: Mapping[tuple[str, str], float], response: str) -> Array:
    matrix = np.eye(len(names))
    for pair, r in correlations.items():
        if response in pair:
            raise ParameterError(
                "how the response goes with columns is the model's business", hint="state coefficients"
            )
        if unknown := [name for name in pair if name not in names]:
            raise ParameterError(
                f"there is no column {unknown[0]!r} to correlate", hint=f"choose from {', '.join(names)}"
            )
        i, j = (names.index(name) for name in pair)
        matrix[i, j] = matrix[j, i] = r
    try:
        return np.asarray(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        raise ParameterError(
            "the correlations contradict one another", hint="their matrix is not positive definite"
        ) from None


def _response_law(
    design: Design, loss: IndexLoss, m: Array, response: Marginal, assume: Assumptions
) -> tuple[Array, float, list[str]]:
    """Return coefficients, residual, and notes on how they were chosen."""
    kind, notes = kind_of(loss), []
    stated = response.stated if isinstance(response.stated, dict) else {}
    column, sd = response.column, _response_sd(response, stated)
    theta = _stated(design, assume.coefficients)
    if theta is None:
        theta = _even_coefficients(design, m, INDEX_SD.get(kind) or _signal_sd(sd, assume.residual))
        share = {"numbers": "an R² of ½", "classes": "an index of sd 1", "counts": "an index of sd ½"}[kind]
        notes.append(f"coefficients: none stated; all columns share {share} evenly")
    else:
        notes.append("coefficients: " + ", ".join(f"{n} {v:g}" for n, v in zip(design.names, theta, strict=True) if v))
    residual = 0.0
    if kind == "numbers":
        residual = assume.residual or _left(float((m @ theta).std()), sd, own="sd" in stated)
        notes.append(f"residual: {residual:.4g}" + ("" if assume.residual else " (not stated: by rule)"))
    if "Intercept" in design.names and "Intercept" not in (assume.coefficients or {}):
        middle = (column.lower + column.upper) / 2 if isinstance(column, Bounded) else None
        theta[design.names.index("Intercept")] = _intercept(kind, m @ theta, _mean(kind, stated, middle, response))
    return theta, residual, notes


def _response_sd(response: Marginal, stated: dict[str, Any]) -> float | None:
    """Return the standard deviation of a response: as stated, or a share of its width; None of a public one."""
    column = response.column
    width = column.width if isinstance(column, Bounded) and not isinstance(column, Dates) else None
    return stated.get("sd") or (width * DEFAULT_SD if width else None)


def _signal_sd(sd: float | None, residual: float | None) -> float:
    """Return the standard deviation of an index that explains half of the variance of a response."""
    return float(np.sqrt(sd**2 / 2 if sd else (residual or np.sqrt(0.5)) ** 2))


def _even_coefficients(design: Design, m: Array, wanted: float) -> Array:
    """Return coefficients by which all columns share an index of the wanted standard deviation evenly."""
    slopes = np.array([name != "Intercept" for name in design.names])
    theta = np.where(slopes, 1 / np.maximum(m.std(axis=0), 1e-300), 0.0)
    return theta * wanted / max(float((m @ theta).std()), 1e-300) if slopes.any() else theta


def _mean(kind: str, stated: dict[str, Any], middle: float | None, response: Marginal) -> float:
    if "mean" in stated:
        return float(stated["mean"])
    if kind == "classes":
        if response.levels and response.is_stated:  # shares of its two levels
            return float(np.mean(response.at(np.linspace(0.0005, 0.9995, 1000)) == response.levels[-1]))
        return 0.5
    return 1.0 if kind == "counts" else middle or 0.0


def _left(signal: float, sd: float | None, *, own: bool) -> float:
    """Return the residual sd for a response with this sd, or the sd of the index if there is none."""
    if sd is not None and sd > signal * 1.0001 and (own or sd > 1.2 * signal):
        return float(np.sqrt(sd**2 - signal**2))
    if own:
        raise ParameterError(
            f"the model alone has a spread of {signal:.4g}, and the response {sd:g}", hint="state the residual"
        )
    return signal or 1.0


def _stated(design: Design, coefficients: Mapping[str, float] | None) -> Array | None:
    if coefficients is None:
        return None
    if unknown := [name for name in coefficients if name not in design.names]:
        raise ParameterError(f"the model has no coefficient {unknown[0]!r}", hint=f"it has {', '.join(design.names)}")
    return np.array([coefficients.get(name, 0.0) for name in design.names])


def _intercept(kind: str, u: Array, mean: float) -> float:
    """Return the intercept at which the response has this mean."""
    if kind == "numbers":
        return float(mean - u.mean())
    if kind == "counts":
        return float(np.log(mean / np.exp(u).mean()))
    from scipy.optimize import brentq
    from scipy.special import expit

    if not 0 < mean < 1:
        raise ParameterError("the share of the second class must lie between 0 and 1", hint="state it so")
    return float(brentq(lambda b: expit(u + b).mean() - mean, -60 - u.max(), 60 - u.min()))


def _arrow(values: NDArray[Any], column: Any) -> pa.Array:
    import pyarrow as pa

    if isinstance(column, Dates):
        days = np.rint(values)
        first = np.datetime64(column.first, "D")
        gone = ~np.isfinite(days)
        return pa.array(first + np.where(gone, 0, days).astype("timedelta64[D]"), mask=gone)
    if isinstance(column, Categorical) and column.merged:  # which of them it is makes no difference
        return pa.array([column.merged[0] if each == column.levels[-1] else each for each in values.tolist()])
    if values.dtype == object:
        return pa.array(values.tolist())
    gone = ~np.isfinite(values) if values.dtype.kind == "f" else None
    return pa.array(values, mask=gone if gone is not None and gone.any() else None)
