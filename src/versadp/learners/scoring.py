"""Scores from released records that are unbiased for the scores at the true records.

    mean over records of  sum_p w_p g(y_p, f(x_p))       has expectation  mean of g(y, f(x)) at the true records

for any predictor f that does not depend on the noise of these records. The signed points are those of
`Release.augment`; several wide windows have too many, and use points that all records share (`shared_points.py`). A
score on the records to which f was fitted is too good, as with any data; cross-validate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from versadp import inputs
from versadp.errors import ParameterError
from versadp.fitting.source import values_of
from versadp.learners.conversion import Carried, read_given
from versadp.learners.metrics import (
    TWO_CLASSES,
    Means,
    Metric,
    as_metric,
    explained,
    mean_score,
    signed_auc,
)
from versadp.learners.shared_points import chosen, shareable
from versadp.release.frame import LOT_ROWS
from versadp.release.path.table import build_frame
from versadp.release.release import Release
from versadp.release.totals.wording import warn_alone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.learners.conversion import Given
    from versadp.learners.shared_points import Shared


def corrected_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    metric: Any = None,
    mechanism: Any = None,
    response: str | None = None,
    draws: int = 20,
    extension: str = "zero",
    random_state: int = 0,
    return_std: bool = False,
) -> Any:
    """Return the score of predictions at the true records, estimated from released ones.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        Of versadp, of scikit-learn, or with the same interface.
    X, y : released records
        As for `fit` of a learner.
    metric : str or callable, optional
        "accuracy", "neg_log_loss", "neg_brier_score", "roc_auc", "r2", "d2_poisson", "neg_mean_squared_error",
        "neg_mean_absolute_error", "neg_mean_pinball_loss", "neg_mean_poisson_deviance"; or `gain(y, prediction)`, one
        number per record. Accuracy for classifiers and R squared for others by default.
    mechanism : Mechanism, optional
        The mechanism that released the records; by default that of the estimator, or of a step of a pipeline.
    response : str, optional
        The private column that is y; by default that of the estimator.
    draws, extension, random_state
        As for `Release.augment`.
    return_std : bool
        Also return the standard error, due to these records and their noise, given the predictions.

    Returns
    -------
    float, or pair of floats

    Examples
    --------
    >>> import numpy as np, pandas as pd, versadp as vdp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 20_000)
    >>> people = pd.DataFrame({"x": x, "y": x > rng.normal(0, 0.3, 20_000)})
    >>> schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
    >>> release = vdp.Mechanism(schema, scale=0.5, exact_rate=0.2).release(people)
    >>> model = vdp.LogisticRegression().fit(release, "y")
    >>> truth = np.mean(model.predict(people[["x"]]) == people["y"])
    >>> bool(abs(vdp.corrected_score(model, release, "y") - truth) < 0.03)
    True
    >>> bool(abs(np.mean(model.predict(release.frame[["x"]]) == release.frame["y"]) - truth) < 0.1)
    False
    """
    known = _Declared.of(estimator, mechanism, response)
    given = read_given(X, y, known.mechanism, known.response)
    warn_alone(given.release, "scores of learners are by the records alone")
    if metric is None:
        metric = "accuracy" if hasattr(estimator, "classes_") else "r2"
    seed = inputs.whole("random_state", 0 if random_state is None else random_state, 0)
    as_array = not isinstance(X, Release | Carried | str) and not hasattr(X, "columns")
    features = given.features if known.columns is None else tuple(known.columns)
    scorer = _Scorer.of(estimator, as_metric(metric, known.quantile), given.response, features, as_array=as_array)
    found = _score(scorer, given, {"draws": draws, "extension": extension, "seed": seed})
    return found if return_std else found[0]


@dataclass(frozen=True)
class corrected_scorer:  # noqa: N801 - called as a function; a class, so that it can be pickled and cloned
    """Return a scorer of the true records for `GridSearchCV`, `cross_val_score` and the like.

    Parameters
    ----------
    metric : str or callable
        As for `corrected_score`.
    mechanism, response, draws, extension, random_state
        As for `corrected_score`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, versadp as vdp
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 6000)
    >>> people = pd.DataFrame({"x": x, "y": x > rng.normal(0, 0.3, 6000)})
    >>> schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
    >>> mech = vdp.Mechanism(schema, scale=0.3, exact_rate=0.2)
    >>> released = mech.release(people).frame
    >>> model = vdp.LogisticRegression(mechanism=mech)
    >>> scores = cross_val_score(model, released[["x"]], released["y"], scoring=vdp.corrected_scorer("roc_auc"))
    >>> bool(0.9 < scores.mean() < 1)
    True
    """

    metric: Any = None
    mechanism: Any = None
    response: str | None = None
    draws: int = 20
    extension: str = "zero"
    random_state: int = 0

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Return the score; more is better."""
        return float(corrected_score(estimator, X, y, **vars(self)))


class _Declared(NamedTuple):
    """The parameters of an estimator, or of the steps of a pipeline, that describe its records."""

    mechanism: Any
    response: str | None
    quantile: float
    columns: Any

    @classmethod
    def of(cls, estimator: Any, mechanism: Any, response: str | None) -> _Declared:
        """Return the arguments, or else what the steps declare, the first step first."""
        steps = [step for _, step in getattr(estimator, "steps", [("", estimator)])]

        def first(name: str, otherwise: Any = None) -> Any:
            found = (getattr(step, name, None) for step in steps)
            return next((each for each in found if each is not None), otherwise)

        return cls(
            first("mechanism") if mechanism is None else mechanism,
            first("response") if response is None else response,
            first("quantile", 0.5),
            first("feature_names_in_"),
        )


@dataclass(frozen=True, eq=False)
class _Scorer:
    """An estimator with a metric: coded responses, predictions and gains of tables of records."""

    estimator: Any
    metric: Metric
    response: str
    features: tuple[str, ...]
    as_array: bool
    classes: Any  # two of them for a metric of classes, None for others

    @classmethod
    def of(cls, estimator: Any, metric: Metric, response: str, features: tuple[str, ...], *, as_array: bool) -> _Scorer:
        """Return the scorer; raise if the metric needs two classes and the estimator has others."""
        classes = None
        if metric.gain in TWO_CLASSES or metric.wants == "predict_proba":
            classes = getattr(estimator, "classes_", None)
            if classes is None or len(classes) != 2:
                raise ParameterError("this score is for two classes", hint="fit a classifier of two")
        return cls(estimator, metric, response, features, as_array, classes)

    def coded(self, y: NDArray[Any]) -> Array:
        """Return the response as numbers: 0 and 1 for classes, values in between where noise puts them."""
        if self.classes is None:
            return np.asarray(y, dtype=float)
        if y.dtype.kind == "O":
            return np.asarray([value == self.classes[1] for value in y], dtype=float)
        low, high = float(self.classes[0]), float(self.classes[1])
        return np.asarray((y - low) / (high - low))

    def predicted(self, table: pa.Table) -> Array:
        """Return what the metric needs of the estimator: predictions, probabilities of the second class, or indices."""
        taken = table.select(list(self.features))
        frame = taken.to_pandas()
        if self.as_array:
            frame = np.column_stack([values_of(taken.column(name)) for name in self.features])
        wants = self.metric.wants
        if wants == "decision_function" and not hasattr(self.estimator, wants):
            wants = "predict_proba"
        if not hasattr(self.estimator, wants):
            raise ParameterError(f"{type(self.estimator).__name__} has no {wants}", hint="use another metric")
        found = np.asarray(getattr(self.estimator, wants)(frame))
        if wants == "predict_proba":
            return np.asarray(found[:, 1])
        if self.classes is not None and wants == "predict":
            return np.asarray(found == self.classes[1], dtype=float)
        return np.asarray(found, dtype=float)

    def gain(self, columns: dict[str, Any]) -> Array:
        """Return the gains of records given by columns."""
        table = build_frame(columns, "arrow")
        return self.metric.gain(self.coded(values_of(table.column(self.response))), self.predicted(table))


def _score(scorer: _Scorer, given: Given, how: dict[str, Any]) -> tuple[float, float]:
    """Return the corrected score and its standard error."""
    metric, used = scorer.metric, [*scorer.features, given.response]
    blocks = shareable(given.release.mechanism, used, how["draws"])
    shared = None if blocks is None else chosen(blocks, given.release, used, None if metric.pairs else scorer.gain)
    parts, rows = [], 0
    for part in _points(given, used, how, shared):
        own = None if part.known is None else scorer.coded(part.known)
        parts.append((scorer.coded(part.y), scorer.predicted(part.table), part.weight, part.record + rows, own))
        rows += part.rows
    y, f, weight, record = (np.concatenate([part[k] for part in parts]) for k in range(4))
    if metric.pairs:
        return signed_auc(f, y, weight, record, rows)
    total = np.bincount(record, weight, rows).astype(float)

    def means(values: Array) -> Means:
        return Means(np.bincount(record, weight * values, rows).astype(float), total)

    gain = means(metric.gain(y, f))
    if not metric.ratio:
        return mean_score(gain)
    if parts[0][4] is not None:  # mean and spread of a public response need no correction
        known = np.concatenate([part[4] for part in parts])
        return explained(gain, Means(metric.gain(known, np.full(rows, known.mean())), np.ones(rows)))
    middle = means(y).adjusted().mean()
    return explained(gain, means(metric.gain(y, np.full(y.size, middle))))


class _Part(NamedTuple):
    """The signed points of some records."""

    table: pa.Table
    y: NDArray[Any]
    weight: Array
    record: NDArray[np.int64]
    rows: int
    known: NDArray[Any] | None  # the response of each record, if it is public


def _points(given: Given, used: list[str], how: dict[str, Any], shared: Shared | None) -> Iterator[_Part]:
    """Yield the signed points of the records, batch by batch."""
    mechanism = given.release.mechanism
    for number, batch in enumerate(given.release.batches(LOT_ROWS)):
        whole = pa.Table.from_batches([batch])
        if shared is not None:
            points = shared.sample(whole)
            table, weight, record = build_frame(points.columns, "arrow"), points.weight, points.record
        else:
            rng = np.random.default_rng([how["seed"], number, 0x5C0])
            table, weight, record = Release(whole, mechanism).augment(
                how["draws"], how["extension"], columns=used, return_record=True, random_state=rng
            )
        known = values_of(whole.column(given.response)) if given.response in mechanism.schema.public else None
        yield _Part(table, values_of(table.column(given.response)), weight, record, batch.num_rows, known)
