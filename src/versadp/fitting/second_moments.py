"""Corrected products of all terms of a design with each other and with the response, record by record.

The score of squared loss is linear in the coefficients, `s_i(θ) = T_i[w (w'θ - y)]`, so that scores at 0 and at the
unit vectors give every product without a further correction:

    T_i[w y] = -s_i(0),        T_i[w w_a] = s_i(e_a) - s_i(0)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation import Family
from versadp.estimation.covariance import Labels
from versadp.estimation.instruments import JointMoments
from versadp.estimation.moments import evaluated
from versadp.fitting.design_covariance import refuse_people
from versadp.fitting.methods import forms_of
from versadp.release.totals.wording import warn_alone

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation.moments import Prepared
    from versadp.fitting.job import Job
    from versadp.fitting.problem import Problem

    Array = NDArray[np.float64]

MOST_COLUMNS = 60  # terms of such a model: products of products take 3,660² numbers, 107 MB


@dataclass(frozen=True)
class Products:
    """Corrected products of the terms of a problem, in the user's units.

    Attributes
    ----------
    forms : tuple of forms of the correction
    mix : array (1, members)
        Weights of members, which add up to 1.
    points : array (p + 1, p)
        Parameters at which scores are taken: 0, then the unit vectors of the user's coefficients.
    turn : array (p, p)
        From scores in the units of the fit to the user's.
    """

    forms: tuple[Any, ...]
    mix: Array
    points: Array
    turn: Array

    @classmethod
    def of(cls, problem: Problem, forms: tuple[Any, ...], mix: Array | None) -> Products:
        """Return the products of a problem of squared loss with a formula."""
        size = len(problem.names)
        at = np.vstack([np.zeros(size), np.eye(size)])
        members = sum(len(form.names) for form in forms)
        weights = np.full((1, members), 1 / members) if mix is None else mix[:1]
        return cls(
            forms, weights, np.array([problem.to_fit(each) for each in at]), np.asarray(np.linalg.inv(problem.scale).T)
        )

    def each(self, prepared: Prepared) -> Array:
        """Return T[w w'] and, last, T[w y] of some records, (n, p, p + 1), up to a factor that all share."""
        own = prepared[: len(self.forms)]
        scores = [evaluated(self.forms, own, at, self.mix, hessian=False)[0][:, 0] @ self.turn.T for at in self.points]
        return np.stack([*(score - scores[0] for score in scores[1:]), -scores[0]], axis=2)


@dataclass(frozen=True)
class ProductSums:
    """Sums of products over records, and of products of products; by cluster if there are clusters."""

    products: Products
    clusters: int = 0

    def sums(self, prepared: Prepared) -> tuple[Any, ...]:
        """Return number, sums, and sums of products of the entries or sums by cluster, of some records."""
        rows, _, label = prepared[-1]
        flat = self.products.each(prepared).reshape(rows, -1)
        if not self.clusters:
            return rows, flat.sum(axis=0), flat.T @ flat
        assert label is not None
        out = np.zeros((self.clusters, flat.shape[1]))
        np.add.at(out, label.astype(np.int64), flat)
        return rows, flat.sum(axis=0), out


def family_of(job: Job) -> tuple[Problem, Family, Products]:
    """Return the problem of a job, its members over all records with their labels, and its products."""
    request = job.request
    if request.minimised.name != "squared":
        raise ParameterError(
            f"second moments are of squared loss, and this is {request.minimised.name} loss",
            hint='leave out loss=, or use "squared"',
        )
    refuse_people(job.design.release, "a model of second moments")
    warn_alone(job.request.release, "a model of second moments is by the records alone")
    if job.design.counted:
        raise ParameterError("a model of second moments takes no frequencies", hint='use weight_type="survey"')
    problem = job.problem()
    if len(problem.names) > MOST_COLUMNS:
        raise ParameterError(
            f"{len(problem.names)} terms are more than the {MOST_COLUMNS} that are served here", hint="use fewer terms"
        )
    mix = None
    forms = forms_of(problem, request.method, request.extension, request.draws, problem.source.rows)
    if sum(len(form.names) for form in forms) > 1:  # the weights of the plain fit
        answer = job.estimate()
        problem, mix = answer.problem, answer.fit.mix
        if answer.diagnostics is not None:
            forms = answer.diagnostics.family.forms
    source = problem.source
    family = Family((*forms, Labels()), source, problem.model.size, job.runner, request.seed)
    return problem, family, Products.of(problem, forms, mix)


def joint_moments(job: Job) -> tuple[Problem, JointMoments]:
    """Return the problem of a job, and the corrected second moments of its terms and response."""
    problem, family, products = family_of(job)
    clusters = job.design.clusters
    n, total, squares = family.total(ProductSums(products, clusters))
    mean = total / n
    if clusters:
        cov = squares.T @ squares / n**2 * clusters / (clusters - 1)
    else:
        cov = (squares / n - np.outer(mean, mean)) / n
    size = len(problem.names)
    return problem, JointMoments(n, mean.reshape(size, size + 1), cov)
