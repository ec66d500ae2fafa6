"""Influence of each record on an estimate, and on averages of functions of a record at that estimate.

    theta  ~  theta_0 - (1/n) Σ_i V^-1 psi_i
    a      =  Σ_i v_i / Σ_i w_i,       a ~ a_0 + (1/n) Σ_i [(v_i - a w_i) / w̄ - G' V^-1 psi_i],      G = da/dtheta

psi_i are the scores of the combination that was fitted, v_i corrected and weighted values of a record, w_i its weight.
One pass gives first and second moments of (v, w, psi) over records; over clusters, whose members' sums are squared; or
over records that stand for several each. Variances of whatever is asked are then linear algebra.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction.form import Form
from versadp.estimation.moments import evaluated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.estimation.moments import Family, Prepared
    from versadp.estimation.newton import Fit

    Array = NDArray[np.float64]
    Groups = tuple[NDArray[np.int64], ...]


@dataclass(frozen=True)
class Labels(Form):
    """Not a correction, but what goes along with records: their weights, and their clusters or numbers."""

    names: tuple[str, ...] = ()
    points: int = 2

    def prepare(self, records: Records, rng: np.random.Generator) -> tuple[int, Array | None, Array | None]:  # noqa: ARG002 - nothing is drawn
        """Return the number of records, their weights, and their labels."""
        return records.rows, records.weight, records.label

    def evaluate(self, prepared: Any, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return no scores: it has none."""
        raise NotImplementedError


@dataclass(frozen=True)
class Look:
    """An average that is asked for: the score of a model's constant, at parameters of its own.

    Attributes
    ----------
    forms : tuple of Form
    first : int
        Where these stand among all forms that were prepared.
    theta : array (p,)
    mix : array (1, members)
    constant : array (p,)
        What gives 1 from any row of the design.
    change : array (p, p)
        The derivative of `theta` by the parameters that were fitted.
    """

    forms: tuple[Form, ...]
    first: int
    theta: Array
    mix: Array
    constant: Array
    change: Array


@dataclass(frozen=True)
class Inquiry:
    """Sums of one pass over records: of scores, weights and values, and of their products.

    Attributes
    ----------
    forms : tuple of Form
        Those of the fit; the last that is prepared is `Labels`.
    theta, mix :
        Where and by which combinations it was fitted.
    looks : tuple of Look
    contrast : array (looks, values)
        What is asked of the looks.
    clusters : int
        How many there are; 0 if records are independent.
    counted : bool
        True if labels say how many records each stands for.
    """

    forms: tuple[Form, ...]
    theta: Array
    mix: Array
    looks: tuple[Look, ...] = ()
    contrast: Array = field(default_factory=lambda: np.zeros((0, 0)))
    clusters: int = 0
    counted: bool = False

    def sums(self, prepared: Prepared) -> tuple[Any, ...]:
        """Return number, sums, products or sums by cluster, and what the looks say of the slopes, of some records."""
        rows, weight, label = prepared[-1]
        score, _ = evaluated(self.forms, prepared[: len(self.forms)], self.theta, self.mix, hessian=False)
        values, slopes = np.empty((rows, len(self.looks))), np.empty((len(self.looks), score.shape[2]))
        for k, look in enumerate(self.looks):
            own = prepared[look.first : look.first + len(look.forms)]
            found, bend = evaluated(look.forms, own, look.theta, look.mix, hessian=True)
            values[:, k] = found[:, 0] @ look.constant
            slopes[k] = look.change.T @ ((bend + bend.T) / 2 @ look.constant)
        share = np.ones(rows) if weight is None else weight
        columns = np.column_stack([values @ self.contrast, share, score.reshape(rows, -1)])
        return rows, columns.sum(axis=0), self._products(columns, label), slopes

    def _products(self, columns: Array, label: Array | None) -> Array:
        if self.clusters:
            assert label is not None
            out = np.zeros((self.clusters, columns.shape[1]))
            np.add.at(out, label.astype(np.int64), columns)
            return out
        if self.counted:
            assert label is not None
            return (columns / np.where(label > 0, label, 1.0)[:, None]).T @ columns
        return columns.T @ columns


class Found(NamedTuple):
    """Averages, and what their errors and those of the estimate are.

    Attributes
    ----------
    values : array (q,)
    cov : array (q + p, q + p)
        Of values and parameters together.
    """

    values: Array
    cov: Array


def look_at(family: Family, fit: Fit, groups: Groups, question: Inquiry) -> Found:
    """Return averages with their covariance, and that of the estimate.

    Parameters
    ----------
    family : Family
        All records; its forms are those of the fit, those of the looks, and `Labels`.
    fit : Fit
    groups : tuple of index arrays
        Coefficients that share weights.
    question : Inquiry
    """
    assert fit.hessian is not None
    n, total, products, slopes = family.total(question)
    q, p = question.contrast.shape[1], len(fit.theta)
    mean = total / n
    weight = mean[q]
    values = mean[:q] / weight
    gradient = question.contrast.T @ slopes / (n * weight)
    inverse, linear = np.linalg.inv(fit.hessian), np.zeros((len(total), q + p))
    for g, group in enumerate(groups):
        at = q + 1 + g * p
        linear[at : at + p, q + group] = -inverse[group].T
    linear[:, :q] = linear[:, q:] @ gradient.T
    linear[:q, :q] += np.eye(q) / weight
    linear[q, :q] -= values / weight
    if question.clusters:
        each, many = products @ linear, question.clusters
        found = each.T @ each / n**2 * (many / (many - 1)) * (n - 1) / max(n - p, 1)
    else:
        centred = products - (0.0 if question.counted else n * np.outer(mean, mean))
        rows = float(total[q]) if question.counted else n
        found = linear.T @ centred @ linear / n**2 * rows / max(rows - p, 1)
    return Found(values, (found + found.T) / 2)
