"""`fit(method="likelihood")`: from a release and a formula to a likelihood, and back to results.

The response model is assumed, the noise is known, the law of the noisy columns is free
(`likelihood/semiparametric.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.engine import add_up, is_remote, local_engine
from versadp.errors import DataError, ParameterError
from versadp.estimation import Outcome
from versadp.estimation.sizes import KEPT_NUMBERS
from versadp.estimation.thresholds import KNOWN_SPREAD
from versadp.fitting.design_covariance import ROWS, refuse_people
from versadp.fitting.likelihood_pairs import Pairs
from versadp.fitting.public_facts import public_levels, public_values
from versadp.fitting.totals import note_alone
from versadp.formula.design import make_design
from versadp.inference import Results
from versadp.inference.chi_square import SpecificationTest
from versadp.inference.factor_tests import LOG_LIKELIHOOD, PARAMETERS
from versadp.inference.summary import guarantee
from versadp.inference.trust import Trust
from versadp.likelihood import likelihood_set, maximise, maximum_without, score_test, total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.fitting.fit_request import FitRequest
    from versadp.likelihood import LikelihoodSet, Lot, Mixed, Sums
    from versadp.release.folder.folder import Handle

    Array = NDArray[np.float64]

LIMIT = 4_000_000_000  # pairs of records and points: each pass goes through 32 GB of numbers then; chosen


def fit_likelihood(request: FitRequest, engine: Engine) -> Results:
    """Fit a response model by maximum likelihood.

    Parameters
    ----------
    request : FitRequest
        With a loss that is the negative log density of a law: squared, logistic, poisson.
    engine : Engine
    """
    release, formula, loss = request.release, request.formula, request.minimised
    if request.design["cov_type"] != ROWS:
        refuse_people(release, "a fit by likelihood")
    refuse_options(
        extension=request.extension,
        start=request.begin,
        weights=request.weights,
        **{name: request.design[name] for name in ("offset", "groups", "subset")},
    )
    law = loss.response_law() if loss.needs_formula else None
    if law is None:
        raise ParameterError(
            f"{loss.name} loss is no likelihood of a response", hint="use squared, logistic or poisson loss"
        )
    if formula is None:
        raise ParameterError("a likelihood needs a formula", hint='e.g. "y ~ age"')
    facts = (partial(public_levels, release), partial(public_values, release))
    design = make_design(formula, release.mechanism.schema, *facts)
    pairs = Pairs.of(release, design, loss, law)
    points, n = pairs.support.size * pairs.cells, len(release)
    if n * points > LIMIT:
        raise DataError(
            f"{n:,} records against {points:,} points are more than a likelihood serves",
            hint=f"use method 'efficient', or a random part of {LIMIT // points:,} records",
        )
    over_all = _passes(pairs, engine)
    sums = _sums(pairs, over_all)
    likelihood = pairs.likelihood
    even = np.full((likelihood.strata, pairs.support.size), 1 / pairs.support.size)
    found, test = maximise(sums, pairs.start(), even), None
    if likelihood.public and found.outcome is Outcome.CONVERGED:
        richer, eta, added = likelihood.richer(found.eta)
        there = over_all(lambda lot: richer.sums(lot.richer(), eta, found.weights))
        test = SpecificationTest.of(*score_test(there, added))
    return _results(pairs, found, loss, test, Profiles(pairs, engine, found))


def _passes(pairs: Pairs, engine: Engine) -> Callable[[Callable[[Lot], Any]], Sums]:
    """Return what sums something over all records, which are kept in memory if they are few and worked on here."""
    release = pairs.release
    runner = engine if is_remote(engine) and release.on_disk else local_engine(engine)
    few = len(release) * pairs.support.size * pairs.cells <= KEPT_NUMBERS
    lots = pairs.kept() if few and not is_remote(runner) else None

    def over_all(work: Callable[[Lot], Any]) -> Sums:
        if lots is not None:
            return total(runner.sum(work, lots))
        found = runner.map(partial(_of_lots, pairs, work), list(release.handles()))
        return total(add_up(each for several in found for each in several))

    return over_all


def _sums(pairs: Pairs, over_all: Callable[[Callable[[Lot], Any]], Sums]) -> Callable[[Array, Array], Sums]:
    """Return the log likelihood and what a step needs, at parameters and weights."""
    likelihood = pairs.likelihood
    return lambda eta, weights: over_all(partial(likelihood.sums, eta=eta, weights=weights))


def _of_lots(pairs: Pairs, work: Callable[[Lot], Any], handle: Handle) -> list[Any]:
    """Return what a function makes of each lot of a handle, read here."""
    return [work(lot) for lot in pairs.read(handle)]


def refuse_options(**given: object) -> None:
    """Refuse what a likelihood has no use for.

    Examples
    --------
    >>> refuse_options(weights=None)
    """
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"method 'likelihood' takes no {name}", hint="use method 'efficient'")


def _covariance(found: Mixed) -> Array | None:
    """Return the covariance of a maximum that has one."""
    if found.outcome is not Outcome.CONVERGED:
        return None
    cov = found.covariance()
    return cov if np.isfinite(cov).all() and (np.diag(cov) > 0).all() else None


@dataclass(frozen=True, eq=False)
class Profiles:
    """A likelihood that is maximised again with coefficients held, reading the records anew on demand.

    Results that nobody asks for intervals do not keep the records in memory.
    """

    pairs: Pairs
    engine: Engine
    found: Mixed

    def __call__(self) -> dict[str, LikelihoodSet]:
        """Return the likelihood sets of all coefficients; none where one of them cannot be had."""
        sums, sets = _sums(self.pairs, _passes(self.pairs, self.engine)), {}
        for j, name in enumerate(self.pairs.design.names):
            one = likelihood_set(sums, self.found, j)
            if one is None:
                return {}
            sets[name] = one
        return sets

    def deficit(self, held: Sequence[int]) -> float | None:
        """Return by how much the largest log likelihood falls if some coefficients are 0; None if it is not found."""
        value = maximum_without(_sums(self.pairs, _passes(self.pairs, self.engine)), self.found, held)
        return None if value is None else max(self.found.sums.value - value, 0.0)


def _results(
    pairs: Pairs,
    found: Mixed,
    loss: Any,
    test: SpecificationTest | None,
    profiles: Profiles,
) -> Results:
    """Return a maximum as the user sees it."""
    design, outcome, cov = pairs.design, found.outcome, _covariance(found)
    p = len(design.names)
    if outcome is Outcome.CONVERGED and cov is None:
        outcome = Outcome.INDEFINITE
    return Results(
        found.eta[:p],
        None if cov is None else cov[:p, :p],
        design.names,
        outcome,
        len(pairs.release),
        loss=loss.name,
        method="likelihood",
        formula=design.formula,
        header=guarantee(pairs.release) | note_alone(pairs.release) | _assumed(pairs, found, cov),
        predict_link=loss.prediction,
        design=design.terms,
        trust=Trust(test=test),
        profiles=profiles,
    )


def _assumed(pairs: Pairs, found: Mixed, cov: Array | None) -> dict[str, str]:
    """Return what is assumed, and the scale of the response."""
    columns, groups = ", ".join(pairs.support.columns) or "noisy columns", pairs.groups
    law = "any law, the same for all records"
    if groups.columns:
        given = ", ".join(groups.columns)
        law = f"any law in each of {groups.strata} groups of equal {given}"
        if groups.rows is None:
            law = f"any law, times a factor e^(c x w) in {given}"
    facts = _caution(pairs, found) if cov is not None else {}
    if cov is not None:
        facts |= {LOG_LIKELIHOOD: f"{found.sums.value:.4f}", PARAMETERS: f"{found.eta.size}"}
    facts |= {"assumes": f"that the response follows {pairs.law.words}", f"law of {columns}": law}
    if pairs.law.scaled and cov is not None:
        p = len(pairs.design.names)
        sigma = float(np.exp(found.eta[p]))
        facts["standard deviation of the response"] = f"{sigma:.4g} ± {sigma * np.sqrt(cov[p, p]):.2g}"
    return facts


def _caution(pairs: Pairs, found: Mixed) -> dict[str, str]:
    """Return a word of caution where the spread of a noisy number is hardly known: standard errors are short there."""
    support, numeric = pairs.support, pairs.release.mechanism.schema.numeric
    at = [j for j, name in enumerate(support.columns) if name in numeric]
    if not at:
        return {}
    t = found.strength(support.middle[at].T)
    weak = [support.columns[j] for j, each in zip(at, t, strict=True) if each < KNOWN_SPREAD]
    if not weak:
        return {}
    return {
        "caution": f"the spread of {', '.join(weak)} is known to ±{100 / t.min():.0f}% only; intervals may be short"
    }
