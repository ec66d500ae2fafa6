"""Scaling of released columns together with their mechanism.

    z = (x - a) / b

An ordinary scaler moves a column off its release grid, so that the scale of its noise is lost. Here a and b are the
middle and half the width of the bounds (`to="bounds"`, so that z lies between -1 and 1), or the corrected mean and
standard deviation (`to="moments"`, as `describe` has them); noise, bounds and steps are divided by b too. Public
columns are scaled by their own mean and standard deviation, categories are not changed.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from versadp.describing.describe import describe
from versadp.errors import EstimationError, ParameterError
from versadp.fitting.source import is_number
from versadp.learners.conversion import Carried, numbers_at, read_given
from versadp.release.mechanism import Mechanism
from versadp.schema import Bounded, Schema
from versadp.schema.spacing import LINEAR


class Scaler(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Scale released columns, and pass their mechanism on to the learner that follows in a pipeline.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism that released the columns.
    response : str, optional
        The private column that is y, if it is private; it is not scaled.
    to : {"bounds", "moments"}
        By the declared bounds, or by corrected mean and standard deviation.

    Attributes
    ----------
    center_, scale_ : dict of str to float
        The a and the b of each numeric column.

    Examples
    --------
    >>> import numpy as np, pandas as pd, versadp as vdp
    >>> from sklearn.pipeline import make_pipeline
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(18, 90, 20_000)
    >>> people = pd.DataFrame({"age": age, "spent": 3 * age + rng.normal(0, 20, 20_000)})
    >>> mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90), "spent": vdp.Public()}), scale=0.3, exact_rate=0.1)
    >>> released = mech.release(people).frame
    >>> model = make_pipeline(vdp.Scaler(mech), vdp.LinearRegression(alpha=0.01))
    >>> model = model.fit(released[["age"]], released["spent"])
    >>> bool(abs(model[-1].coef_[0] - 3 * 36) < 10)
    True
    """

    def __init__(self, mechanism: Mechanism | None = None, *, response: str | None = None, to: str = "bounds") -> None:
        self.mechanism = mechanism
        self.response = response
        self.to = to

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check that the columns are as released, and compute centres and scales; y is checked, and not scaled."""
        if not isinstance(self.mechanism, Mechanism):
            raise ParameterError("a Scaler needs a mechanism", hint="Scaler(release.mechanism)")
        if self.to not in {"bounds", "moments"}:
            raise ParameterError(f"a Scaler has no option to={self.to!r}", hint='choose from "bounds", "moments"')
        if y is None and self.response is None:
            y = np.zeros(len(X))
        given = read_given(X, y, self.mechanism, self.response)
        schema, types = given.release.mechanism.schema, given.release.types
        public = {name for name in given.features if name in schema.public and is_number(types.field(name).type)}
        private = [name for name in given.features if isinstance(schema.columns[name], Bounded)]
        if spaced := [n for n in private if getattr(schema.columns[n], "spacing", LINEAR) != LINEAR]:
            raise ParameterError(
                f"columns with a spacing cannot be scaled: {', '.join(map(repr, spaced))}",
                hint='scale the others, or use a formula: vdp.fit(release, "y ~ np.log1p(income)")',
            )
        learnt = public | set(private if self.to == "moments" else ())
        seen = describe(given.release, quantiles=(0.5,)) if learnt else {}
        pairs = {name: _middle(schema, name) for name in private} | {
            name: _moments(seen[name], name) for name in learnt
        }
        self.center_ = {name: centre for name, (centre, _) in pairs.items()}
        self.scale_ = {name: scale for name, (_, scale) in pairs.items()}
        self._names, self.n_features_in_ = given.features, len(given.features)
        return self

    def transform(self, X: Any) -> Carried:
        """Return the scaled columns with their scaled mechanism."""
        check_is_fitted(self)
        assert self.mechanism is not None
        found = numbers_at(X, self._names, self.mechanism.schema)
        out = {
            name: pa.array((np.asarray(values, dtype=float) - self.center_[name]) / self.scale_[name])
            if name in self.center_
            else pa.array(values)
            for name, values in found.items()
        }
        return Carried(out, self._scaled(), self.mechanism)

    def _scaled(self) -> Mechanism:
        """Return the mechanism of the scaled columns."""
        assert self.mechanism is not None
        columns = {}
        for name, column in self.mechanism.schema.columns.items():
            if name not in self.center_ or not isinstance(column, Bounded):
                columns[name] = column
                continue
            a, b = self.center_[name], self.scale_[name]
            step = None if column.step is None else column.step / b
            columns[name] = Bounded((column.lower - a) / b, (column.upper - a) / b, step, column.nullable)
        return Mechanism(Schema(columns), noise={block.columns: block.spec for block in self.mechanism.blocks})


def _middle(schema: Schema, name: str) -> tuple[float, float]:
    """Return the middle and half the width of the bounds."""
    column = schema.columns[name]
    assert isinstance(column, Bounded)
    return (column.lower + column.upper) / 2, column.width / 2


def _moments(seen: Any, name: str) -> tuple[float, float]:
    """Return the corrected mean and standard deviation."""
    mean, spread = float(seen.mean.value), float(seen.sd.value)
    if not (np.isfinite(mean) and spread > 0):
        raise EstimationError(
            f"the standard deviation of {name!r} cannot be estimated under so much noise",
            hint='use to="bounds", or more records',
        )
    return mean, spread
