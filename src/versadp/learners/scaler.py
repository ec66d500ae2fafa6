"""Other units for released columns, with the mechanism in the same units.

    z = (x - a) / b

A column that an ordinary scaler has touched is off its grid: nobody knows any longer how much noise it has. Here a and
b come from the schema (`to="bounds"`: the middle and half the width, so that z lies between -1 and 1), or are the mean
and standard deviation of the *true* records (`to="moments"`, corrected, as `describe` has them); noise, bounds and
steps are divided by b too. Public columns are scaled by their own mean and spread, categories are left as they are.
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
from versadp.learners.inputs import Carried, numbers_at, read_given
from versadp.release.mechanism import Mechanism
from versadp.schema import Bounded, Schema


class Scaler(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Scale released columns, and carry their mechanism along to the learner that follows in a pipeline.

    Parameters
    ----------
    mechanism : Mechanism
        What made the noise.
    response : str, optional
        The private column that y is, if it is one; it is not scaled.
    to : {"bounds", "moments"}
        By the declared bounds, or by corrected mean and standard deviation.

    Attributes
    ----------
    center_, scale_ : dict of str to float
        What is taken off each number, and what it is divided by.

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
        """Check that the columns are as released, and find what they are scaled by; y is looked at, and not scaled."""
        if not isinstance(self.mechanism, Mechanism):
            raise ParameterError("a Scaler needs a mechanism", hint="Scaler(release.mechanism)")
        if self.to not in {"bounds", "moments"}:
            raise ParameterError(f"a Scaler knows no {self.to!r}", hint='choose from "bounds", "moments"')
        if y is None and self.response is None:
            y = np.zeros(len(X))
        given = read_given(X, y, self.mechanism, self.response)
        schema, types = given.release.mechanism.schema, given.release.types
        public = {name for name in given.features if name in schema.public and is_number(types.field(name).type)}
        private = [name for name in given.features if isinstance(schema.columns[name], Bounded)]
        learnt = public | set(private if self.to == "moments" else ())
        seen = describe(given.release, quantiles=(0.5,)) if learnt else {}
        self.center_, self.scale_ = {}, {}
        for name in (*private, *public):
            column = schema.columns[name]
            if name in learnt:
                self.center_[name], self.scale_[name] = _moments(seen[name], name)
            else:
                assert isinstance(column, Bounded)
                self.center_[name], self.scale_[name] = (column.lower + column.upper) / 2, column.width / 2
        self._names, self.n_features_in_ = given.features, len(given.features)
        return self

    def transform(self, X: Any) -> Carried:
        """Return the columns in the new units, with their mechanism."""
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
        """Return the mechanism in the new units."""
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


def _moments(seen: Any, name: str) -> tuple[float, float]:
    """Return mean and standard deviation, corrected."""
    mean, spread = float(seen.mean.value), float(seen.sd.value)
    if not (np.isfinite(mean) and spread > 0):
        raise EstimationError(f"the spread of {name!r} is lost in noise", hint='use to="bounds", or more records')
    return mean, spread
