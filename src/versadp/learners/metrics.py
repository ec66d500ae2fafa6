"""Scores of predictions, as functions of one record, of two, or as a ratio of means.

    accuracy        1{class = y}                       mean over records
    log loss        -t log p - (1 - t) log(1 - p)      t = 0 or 1 for the classes
    pinball, squared, absolute error, Poisson deviance
    R², D²          1 - mean loss of the predictions / mean loss of the best constant
    AUC             1{s > s'} + 1{s = s'}/2            mean over pairs of a record of each class

Names are those of scikit-learn's scorers, and more is better for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.inputs import Array

LEAST_PROBABILITY = 1e-15  # to which probabilities are clipped in logarithms, as log_loss of scikit-learn once did


@dataclass(frozen=True)
class Metric:
    """A score of predictions.

    Attributes
    ----------
    wants : str
        The method of the estimator: "predict", "predict_proba" or "decision_function".
    gain : callable
        `gain(y, prediction)`, more is better; of ratios the loss.
    ratio : bool
        True if it is 1 - loss / loss of the best constant.
    pairs : bool
        True if it is a mean over pairs of records.
    """

    wants: str
    gain: Callable[[Any, Any], Array]
    ratio: bool = False
    pairs: bool = False


def squared_error(y: Array, f: Array) -> Array:
    """Return the squared error."""
    return np.asarray((y - f) ** 2)


def poisson_deviance(y: Array, f: Array) -> Array:
    """Return the deviance of a count from its mean."""
    from scipy.special import xlogy

    return np.asarray(2 * (xlogy(y, y / f) - y + f))


def log_likelihood(t: Array, p: Array) -> Array:
    """Return the log likelihood of two classes; linear in t."""
    p = np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return np.asarray(t * np.log(p) + (1 - t) * np.log1p(-p))


def hits(t: Array, c: Array) -> Array:
    """Return 1 if the class is right, else 0; linear in t."""
    return np.asarray(t * c + (1 - t) * (1 - c))


def as_metric(metric: Any, quantile: float = 0.5) -> Metric:
    """Return a score by its name, or from a function `gain(y, prediction)` of one record.

    Examples
    --------
    >>> as_metric("r2").gain(np.array([3.0]), np.array([1.0]))
    array([4.])
    """
    known = {
        "accuracy": Metric("predict", hits),
        "neg_log_loss": Metric("predict_proba", log_likelihood),
        "neg_brier_score": Metric("predict_proba", lambda t, p: -(t * (1 - p) ** 2 + (1 - t) * p * p)),
        "roc_auc": Metric("decision_function", hits, pairs=True),
        "r2": Metric("predict", squared_error, ratio=True),
        "d2_poisson": Metric("predict", poisson_deviance, ratio=True),
        "neg_mean_squared_error": Metric("predict", lambda y, f: -squared_error(y, f)),
        "neg_mean_absolute_error": Metric("predict", lambda y, f: -np.abs(y - f)),
        "neg_mean_pinball_loss": Metric("predict", lambda y, f: -(y - f) * (quantile - (y < f))),
        "neg_mean_poisson_deviance": Metric("predict", lambda y, f: -poisson_deviance(y, f)),
    }
    if callable(metric):
        return Metric("predict", metric)
    if metric not in known:
        raise ParameterError(
            f"there is no corrected score {metric!r}",
            hint=f"choose from {', '.join(known)}, or give gain(y, prediction) of one record",
        )
    return known[metric]


TWO_CLASSES = frozenset({hits, log_likelihood})


@dataclass(frozen=True)
class Means:
    """Sums over the signed points of each record: of a gain, and of the weights, whose expectation is 1.

    The weights are a control variate: their deviation from 1 is removed by regression.
    """

    gains: Array
    weights: Array

    def adjusted(self) -> Array:
        """Return the gains adjusted by the control variate, one per record: the same mean, a smaller variance.

        Examples
        --------
        >>> w = np.array([0.0, 3.0, 1.0, 0.5])
        >>> Means(0.9 * w, w).adjusted()
        array([0.9, 0.9, 0.9, 0.9])
        """
        off = self.weights - 1.0
        centred = off - off.mean()
        square = float(centred @ centred)
        slope = float(centred @ self.gains) / square if square > 1e-12 * off.size else 0.0
        return np.asarray(self.gains - slope * off)


def mean_score(means: Means) -> tuple[float, float]:
    """Return the mean over records and its standard error."""
    each = means.adjusted()
    return float(each.mean()), float(each.std() / np.sqrt(each.size))


def explained(losses: Means, constant: Means) -> tuple[float, float]:
    """Return 1 minus the ratio of two means, and its standard error by the delta method."""
    above, below = losses.adjusted(), constant.adjusted()
    ratio = float(above.mean() / below.mean())
    return 1 - ratio, float(np.std(above - ratio * below) / below.mean() / np.sqrt(above.size))


def signed_auc(score: Array, t: Array, weight: Array, record: NDArray[np.int64], rows: int) -> tuple[float, float]:
    """Return the area under the curve from signed points, and its standard error.

        sum over records i != j of  a_p b_q (1{s_p > s_q} + 1{s_p = s_q}/2)  /  the same of  a_p b_q

    with a = w t of i, b = w (1 - t) of j. The noise of two records is independent, so that products of their points are
    unbiased; pairs of a record with itself are left out. The number of pairs is estimated even where it is known,
    since the errors of numerator and denominator then cancel in part.

    Parameters
    ----------
    score, t, weight : arrays (m,)
        Index, class (0 or 1) and signed weight of each point.
    record : array (m,) of int
        The record of each point.
    rows : int
        Number of records.

    Examples
    --------
    >>> from sklearn.metrics import roc_auc_score
    >>> s, t = np.array([0.1, 0.4, 0.35, 0.8, 0.4]), np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    >>> float(signed_auc(s, t, np.ones(5), np.arange(5), 5)[0]) == roc_auc_score(t, s)
    True
    """
    a, b, none = weight * t, weight * (1 - t), np.zeros(score.size, np.int64)
    low = _below(score, b, none) - _below(score, b, record)
    high = _below(-score, a, none) - _below(-score, a, record)
    above, under = (np.bincount(record, each, rows) for each in (a, b))
    pairs = np.bincount(record, a * low + b * high, rows)  # each pair counts for both of its records
    count = above.sum() * under.sum() - (above * under).sum()
    if not count > 0:
        raise ParameterError("AUC needs records of both classes", hint="more records, or another score")
    area = pairs.sum() / 2 / count
    share = pairs / max(pairs.sum() / 2, 1e-300) - above / above.sum() - under / under.sum()
    return float(area), float(area * np.sqrt(share @ share))


def _below(score: Array, weight: Array, group: NDArray[np.int64]) -> Array:
    """Return for each point the sum of weights at lower scores of its group plus half of that at equal scores."""
    order = np.lexsort([score, group])
    s, g, w = score[order], group[order], weight[order]
    first = np.append(True, (s[1:] != s[:-1]) | (g[1:] != g[:-1]))
    head = np.append(True, g[1:] != g[:-1])
    before = np.concatenate([[0.0], np.cumsum(w)[:-1]])
    tie = np.cumsum(first) - 1
    within = np.bincount(tie, w)
    lower = before[first] - (before[head])[np.cumsum(head)[first] - 1]
    out = np.empty(score.size)
    out[order] = (lower + within / 2)[tie]
    return out
