"""`fit(..., absorb="school")`: an intercept per level of a public column, without estimating them. Least squares only.

Differences within groups of n_g records remove the intercepts. With corrected products T_i, and sums over pairs of
different records, whose noise is independent,

    M_ab  =  Σ_g { Σ_i (1 - 1/n_g) T_i[ab]  -  1/n_g Σ_{i≠j} T_i[a] T_j[b] },        β̂ = M_ww^-1 M_wy

is unbiased in every entry, however small the groups. Dummies, `C(school)`, would square the noise of a group's mean
instead, a bias that grows with the number of groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import EstimationError, ParameterError
from versadp.estimation import Outcome
from versadp.estimation.sizes import FEW_GROUPS
from versadp.estimation.thresholds import STRONG
from versadp.fitting.instruments import has_instruments
from versadp.fitting.job import Job
from versadp.fitting.sample_design import clusters_of
from versadp.fitting.second_moments import Products, family_of
from versadp.inference import Results
from versadp.inference.summary import guarantee
from versadp.inference.trust import MOST_STRENGTH, Trust

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.estimation.moments import Prepared
    from versadp.fitting.fit_request import FitRequest

    Array = NDArray[np.float64]

INTERCEPT = "Intercept"


@dataclass(frozen=True)
class _Within:
    """Corrected values and products of some records, and sums of them.

    Attributes
    ----------
    products : Products
    constant : int
        The intercept, whose products with others are their values.
    unit : float
        What the corrected product of the intercept with itself is.
    sizes : array (groups,)
        Numbers of records.
    """

    products: Products
    constant: int
    unit: float
    sizes: Array

    def taken(self, prepared: Prepared) -> tuple[NDArray[np.int64], Array, Array, Array]:
        """Return groups, shares 1/n_g, values (n, q + 1) of terms and response, and products (n, q, q + 1)."""
        found = self.products.each(prepared) / self.unit
        group = prepared[-1][2].astype(np.int64)
        others = np.delete(np.arange(found.shape[2]), self.constant)
        return group, 1 / self.sizes[group], found[:, self.constant][:, others], found[:, others[:-1]][:, :, others]

    def sums(self, prepared: Prepared) -> tuple[Any, ...]:
        """Return number, the sums of records by themselves, and sums of values by group."""
        group, share, values, products = self.taken(prepared)
        alone = np.einsum("i,iab->ab", 1 - share, products)
        alone += np.einsum("i,ia,ib->ab", share, values[:, :-1], values)
        return len(group), alone, _by_group(values, group, self.sizes.size)


@dataclass(frozen=True)
class _Influence:
    """Sums of squares of the influence of records and of groups, and of what records say of the curvature."""

    within: _Within
    beta: Array
    means: Array  # (groups, q + 1)
    along: Array  # (q, q): a row per coefficient, the direction whose curvature is its own

    def sums(self, prepared: Prepared) -> tuple[Any, ...]:
        """Return products of influences, the records' part by group, and sums and squares of curvatures."""
        group, share, values, products = self.within.taken(prepared)
        own = np.append(-self.beta, 1.0)
        x, gap, both = values[:, :-1], values @ own, products @ own
        middle, apart = self.means[group, :-1], self.means[group] @ own
        psi = both - middle * gap[:, None] - x * apart[:, None] + middle * apart[:, None]
        alone = _by_group((1 - share)[:, None] * both + (share * gap)[:, None] * x, group, self.within.sizes.size)
        at, mid = x @ self.along.T, middle @ self.along.T
        bend = np.einsum("iab,ka,kb->ik", products[:, :, :-1], self.along, self.along) - 2 * at * mid + mid**2
        return psi.T @ psi, alone, bend.sum(axis=0), (bend**2).sum(axis=0)


def _by_group(values: Array, group: NDArray[np.int64], groups: int) -> Array:
    """Return sums of rows by group."""
    out = np.zeros((groups, values.shape[1]))
    np.add.at(out, group, values)
    return out


def fit_absorbed(request: FitRequest, engine: Engine, make: Any, fit: Any, absorb: Any) -> Results:
    """Fit least squares with an intercept per level of a public column.

    Parameters
    ----------
    request : FitRequest
    engine : Engine
    make : callable
        Returns the sample design of a formula.
    fit : callable
        `vdp.fit`, which a job keeps.
    absorb : str
        The column.
    """
    _refuse(request)
    design = make(formula=request.formula)
    groups = request.design["groups"]
    if groups is not None and groups != absorb:
        raise ParameterError(
            f"standard errors are by clusters of the absorbed column, not of {groups!r}", hint="leave out groups"
        )
    found = clusters_of(design.release, absorb)
    job = Job(request, design._replace(labels=found.labels, clusters=found.clusters), engine, fit)
    problem, family, products = family_of(job)
    if problem.nullable or design.offset is not None or INTERCEPT not in problem.names or problem.design is None:
        raise ParameterError(
            "absorb takes no offset, no - 1 and no columns that may be missing",
            hint="leave them out; the absorbed levels take the place of the intercept",
        )
    constant, sizes = problem.names.index(INTERCEPT), np.bincount(found.labels.astype(np.int64)).astype(float)
    bare = replace(family, forms=products.forms).moments(products.points[0], products.mix)
    unit = float((products.turn @ bare.hessian @ products.turn.T)[constant, constant])
    within = _Within(products, constant, unit, sizes)
    n, alone, totals = family.total(within)
    moments = alone - np.einsum("g,ga,gb->ab", 1 / sizes, totals[:, :-1], totals)
    square = (moments[:, :-1] + moments[:, :-1].T) / 2
    names = tuple(name for name in problem.names if name != INTERCEPT)
    scale = np.sqrt(np.abs(np.diag(square)))
    if not scale.all() or np.linalg.eigvalsh(square / np.outer(scale, scale))[0] <= 1e-10:
        raise EstimationError(
            "the columns do not differ within the absorbed groups, or noise hides how they do",
            hint="leave out columns that are the same for a whole group, or use more records",
        )
    inverse = np.linalg.inv(square)
    beta, along = inverse @ moments[:, -1], inverse / np.diag(inverse)[:, None]
    psi, each, bend, bends = family.total(_Influence(within, beta, totals / sizes[:, None], along))
    by_groups = groups is not None or sizes.size >= FEW_GROUPS
    gap = totals @ np.append(-beta, 1.0)
    cluster = each - totals[:, :-1] * (gap / sizes)[:, None]
    many, q = sizes.size, len(names)
    meat = cluster.T @ cluster * many / (many - 1) * (n - 1) / max(n - q, 1) if by_groups else psi * n / (n - many - q)
    spread = np.sqrt(np.maximum(bends - bend**2 / n, np.finfo(float).tiny))
    strength = np.clip(bend / spread, -MOST_STRENGTH, MOST_STRENGTH)
    weak = bool((strength < STRONG).any())
    terms, facts = problem.design.terms, {"absorbed": f"{absorb} ({many:,} levels)"}
    facts["covariance"] = f"by {many:,} clusters of {absorb}" if by_groups else "of independent people"
    return Results(
        beta,
        inverse @ meat @ inverse,
        names,
        Outcome.WEAK if weak else Outcome.CONVERGED,
        n,
        loss="squared",
        method="within groups",
        formula=request.formula,
        header=guarantee(design.release) | design.notes | facts,
        design=replace(terms.take([problem.names.index(name) for name in names]), levels=terms.levels),
        trust=Trust(strength=dict(zip(names, strength.tolist(), strict=True))),
    )


def _refuse(request: FitRequest) -> None:
    """Refuse what is no least squares of records that count alike."""
    if request.formula is None or request.minimised.name != "squared" or request.method == "likelihood":
        raise ParameterError(
            "absorb is exact for least squares, and other losses have no differences within groups",
            hint='use loss="squared", or write the levels out: C(school)',
        )
    if request.weights is not None or request.begin is not None or has_instruments(request.formula):
        raise ParameterError("absorb takes no weights, start and instruments", hint="leave them out")
