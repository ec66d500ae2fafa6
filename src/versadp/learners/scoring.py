"""Scores on released records that are right for the true ones.

    mean over records of  sum_p w_p g(y_p, f(x_p))       has expectation  mean of g(y, f(x)) at the true records

for any predictor f that does not depend on these records' noise: a learner of ours, or anybody's. The signed points are
those of `Release.augment`; of several wide windows, whose points would be too many, those that all records share
(`shared.py`). A score on the records from which f was learnt is too good, as everywhere; cross-validate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from versadp import inputs
from versadp.errors import ParameterError
from versadp.fitting.source import values_of
from versadp.learners.inputs import Carried, read_given
from versadp.learners.metrics import (
    TWO_CLASSES,
    Means,
    Metric,
    as_metric,
    explained,
    mean_score,
    signed_auc,
)
from versadp.learners.shared import chosen, shareable
from versadp.release.frame import LOT_ROWS
from versadp.release.path.table import build_frame
from versadp.release.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.learners.inputs import Given
    from versadp.learners.shared import Shared


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
    """Return how well predictions do on the true records, from released ones.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        Of versadp, or of anybody.
    X, y : released records
        As for `fit` of a learner.
    metric : str or callable, optional
        "accuracy", "neg_log_loss", "neg_brier_score", "roc_auc", "r2", "d2_poisson", "neg_mean_squared_error",
        "neg_mean_absolute_error", "neg_mean_pinball_loss", "neg_mean_poisson_deviance"; or `gain(y, prediction)`, a
        number a record. Accuracy for classifiers and R squared for others by default.
    mechanism : Mechanism, optional
        What made the noise; by default what the estimator, or a step of a pipeline, has.
    response : str, optional
        The private column that y is; by default what the estimator has.
    draws, extension, random_state
        As for `Release.augment`.
    return_std : bool
        Also return a standard error: that of these records and their noise, for these predictions.

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
    told = Told.of(estimator, mechanism, response)
    given = read_given(X, y, told.mechanism, told.response)
    if metric is None:
        metric = "accuracy" if hasattr(estimator, "classes_") else "r2"
    wanted = as_metric(metric, told.quantile)
    seed = inputs.whole("random_state", 0 if random_state is None else random_state, 0)
    how = {"draws": draws, "extension": extension, "seed": seed}
    kind = "array" if not isinstance(X, Release | Carried | str) and not hasattr(X, "columns") else "pandas"
    found = _score(estimator, given, wanted, _Seen(kind, told.columns), how)
    return found if return_std else found[0]


@dataclass(frozen=True)
class corrected_scorer:  # noqa: N801 - used as a function, and made so that it can be pickled and cloned
    """Make a scorer for `GridSearchCV`, `cross_val_score` and the like that is right for the true records.

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
        """Return the score, more being better."""
        return float(corrected_score(estimator, X, y, **vars(self)))


@dataclass(frozen=True)
class Told:
    """What an estimator, or a step of a pipeline, says of its records."""

    mechanism: Any
    response: str | None
    quantile: float
    columns: Any

    @classmethod
    def of(cls, estimator: Any, mechanism: Any, response: str | None) -> Told:
        """Return what was said, or else what the steps say, the first first."""
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


class _Seen(NamedTuple):
    """How an estimator sees records: as a table or an array, and which columns."""

    kind: str
    columns: Any


def _score(estimator: Any, given: Given, metric: Metric, seen: _Seen, how: dict[str, Any]) -> tuple[float, float]:
    features = given.features if seen.columns is None else tuple(seen.columns)
    classes = getattr(estimator, "classes_", None)
    two = metric.gain in TWO_CLASSES or metric.wants == "predict_proba"
    if two and (classes is None or len(classes) != 2):
        raise ParameterError("this score is for two classes", hint="fit a classifier of two")
    coded = partial(_classes, classes=classes) if two else partial(np.asarray, dtype=float)
    parts, rows = [], 0

    def predicted(table: pa.Table) -> Array:
        return _predicted(estimator, _frame(table, seen.kind, features), metric.wants, classes if two else None)

    def gained(columns: dict[str, Any]) -> Array:
        table = build_frame(columns, "arrow")
        return metric.gain(coded(values_of(table.column(given.response))), predicted(table))

    used = [*features, given.response]
    blocks = shareable(given.release.mechanism, used, how["draws"])
    shared = None if blocks is None else chosen(blocks, given.release, used, None if metric.pairs else gained)
    for part in _points(given, used, how, shared):
        f = predicted(part.table)
        own = None if part.known is None else coded(part.known)
        parts.append((coded(part.y), f, part.weight, part.record + rows, own))
        rows += part.rows
    y, f, weight, record = (np.concatenate([part[k] for part in parts]) for k in range(4))
    known = None if parts[0][4] is None else np.concatenate([part[4] for part in parts])
    if metric.pairs:
        return signed_auc(f, y, weight, record, rows)
    total = np.bincount(record, weight, rows).astype(float)

    def means(values: Array) -> Means:
        return Means(np.bincount(record, weight * values, rows).astype(float), total)

    gain = means(metric.gain(y, f))
    if not metric.ratio:
        return mean_score(gain)
    if known is not None:  # a response that is public has its mean and spread as they are
        return explained(gain, Means(metric.gain(known, np.full(rows, known.mean())), np.ones(rows)))
    middle = means(y).adjusted().mean()
    return explained(gain, means(metric.gain(y, np.full(y.size, middle))))


@dataclass(frozen=True)
class _Part:
    table: pa.Table
    y: NDArray[Any]
    weight: Array
    record: NDArray[np.int64]
    rows: int
    known: NDArray[Any] | None  # the response of each record, if it is public


def _frame(table: pa.Table, kind: str, features: tuple[str, ...]) -> Any:
    """Return columns as an estimator sees them."""
    taken = table.select(list(features))
    if kind == "pandas":
        return taken.to_pandas()
    return np.column_stack([values_of(taken.column(name)) for name in features])


def _points(given: Given, used: list[str], how: dict[str, Any], shared: Shared | None) -> Iterator[_Part]:
    """Yield signed points, lot by lot."""
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


def _classes(y: NDArray[Any], classes: Any) -> Array:
    """Return 0 for the first class and 1 for the second; numbers in between where noise puts them."""
    if y.dtype.kind == "O":
        return np.asarray([value == classes[1] for value in y], dtype=float)
    low, high = float(classes[0]), float(classes[1])
    return np.asarray((y - low) / (high - low))


def _predicted(estimator: Any, frame: Any, wants: str, classes: Any) -> Array:
    if wants == "decision_function" and not hasattr(estimator, wants):
        wants = "predict_proba"
    if not hasattr(estimator, wants):
        raise ParameterError(f"{type(estimator).__name__} has no {wants}", hint="take another score")
    found = np.asarray(getattr(estimator, wants)(frame))
    if wants == "predict_proba":
        return np.asarray(found[:, 1])
    if classes is not None and wants == "predict":
        return np.asarray(found == classes[1], dtype=float)
    return np.asarray(found, dtype=float)
