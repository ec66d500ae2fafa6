"""From a release, a response and columns to coefficients: by `fit`, with the same answer, or penalised.

response ~ column + C(category) + ...
"""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.errors import EstimationError, ParameterError, find_stacklevel
from versadp.fitting.fit import fit
from versadp.fitting.problem import public_levels
from versadp.fitting.source import values_of
from versadp.formula.expression import quote
from versadp.learners.penalised import Penalty, fit_penalised
from versadp.schema import Categorical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.formula.terms import Terms
    from versadp.inference import Results
    from versadp.inputs import Array
    from versadp.learners.inputs import Given
    from versadp.release.release import Release


class How(NamedTuple):
    """What a learner passes on to `fit`."""

    method: str
    draws: int
    random_state: int
    weights: Any = None
    start: Any = None


class Learnt(NamedTuple):
    """Coefficients by name, what evaluates their terms anywhere, and the results if there was no penalty."""

    names: tuple[str, ...]
    theta: Array
    terms: Terms
    results: Results | None

    def split(self) -> tuple[Array, float]:
        """Return coefficients, and the intercept or 0."""
        constant = np.array([name == "Intercept" for name in self.names])
        return self.theta[~constant], float(self.theta[constant].sum())


def learn(given: Given, left: str, loss: Any, how: How, *, intercept: bool, penalty: Penalty) -> Learnt:
    """Fit a loss of an index to what a learner was given."""
    right = " + ".join(["1" if intercept else "0", *(_term(given.release, name) for name in given.features)])
    formula = f"{left} ~ {right}"
    seed, options = how.random_state, {"method": how.method, "weights": how.weights}
    if penalty.alpha:
        return Learnt(
            *fit_penalised(given.release, formula, loss, penalty, draws=how.draws, seed=seed, **options), None
        )
    results = fit(given.release, formula, loss=loss, draws=how.draws, start=how.start, random_state=seed, **options)
    return answered(results)


def answered(results: Results) -> Learnt:
    """Return coefficients of results; raise where there are none, warn where they are weak."""
    results.need_estimate()
    theta = results.params.values
    if not np.isfinite(theta).all():
        results.need_estimate(sure=True)
    if not results.converged:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"the fit is {results.outcome}: {results.advice or results.outcome.advice}; `result_` has its intervals",
            ConvergenceWarning,
            stacklevel=find_stacklevel(),
        )
    if results.design is None:
        raise EstimationError("this loss has no index, and predicts nothing", hint="see result_")
    return Learnt(results.names, np.asarray(theta), results.design, results)


def _term(release: Release, name: str) -> str:
    """Return a column as it stands in a formula."""
    category = isinstance(release.mechanism.schema.columns[name], Categorical)
    text = quote(name)
    return f"C({text})" if category or public_levels(release, name) is not None else text


def two_classes(given: Given) -> tuple[str, NDArray[Any]]:
    """Return the left side of a formula for a response of two classes, and these, the second of which is 1."""
    release, name = given.release, given.response
    column = release.mechanism.schema.columns[name]
    if isinstance(column, Categorical):
        return quote(name), _two(column.levels, name)
    if name not in release.mechanism.schema.public:
        return quote(name), np.array([column.lower, column.upper])  # type: ignore[union-attr] # what is private and no category has bounds
    if (levels := public_levels(release, name)) is not None:
        return f"I({quote(name)} == {json.dumps(levels[-1], ensure_ascii=False)})", _two(levels, name)
    seen: set[float] = set()
    kind = release.types.field(name).type.to_pandas_dtype()
    for handle in release.handles():
        seen |= set(np.unique(values_of(release.read(handle, [name]).column(name))).tolist())
    classes = _two(sorted(kind(value) for value in seen), name)
    return quote(name) if seen <= {-1.0, 0.0, 1.0} else f"I({quote(name)} == {max(seen)!r})", classes


def _two(levels: Any, name: str) -> NDArray[Any]:
    if len(levels) != 2:
        raise ParameterError(
            f"Only binary classification is supported, and {name!r} has {len(levels)} classes",
            hint='for a category of several levels use vdp.fit(release, "region ~ age", loss="multinomial")',
        )
    return np.array(list(levels))
