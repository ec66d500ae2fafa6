"""`update`: a fit brought up to date with new records, from a small state and without the old records.

What a loss must have is a score that bends smoothly, so that a quadratic says all that the old records have to say
(`estimation/update.py`). Refused is what has none:

| fit | why |
|---|---|
| check, hinge, Huber loss | curvature is smoothed over less as records grow in number, or a scale is theirs |
| quantiles by inversion | the whole distribution function of the old records would be needed |
| method "likelihood" | the law of the noisy columns is a part of the answer |
| weak fits, few records | score sets are looked for among all records; weights of few need more than sums |
| clusters, frequencies | a cluster may go on in the new records |
| losses of one's own, given weights | a file cannot hold them |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.engine import as_engine
from versadp.errors import EstimationError, ParameterError
from versadp.estimation.thresholds import STRONG
from versadp.estimation.update import AGAIN, Kept
from versadp.fitting.coarse import refuse_coarse
from versadp.fitting.counted_records import (
    edition_of,
    fingerprint,
    mechanism_digest,
    part_digests,
    refuse_counted,
    unseen,
)
from versadp.fitting.methods import METHODS
from versadp.fitting.public_facts import response_values
from versadp.fitting.report import FitReport, results
from versadp.fitting.sample_design import make_sample_design
from versadp.fitting.update_solver import update_estimate
from versadp.fitting.update_state import State
from versadp.inference.chi_square import DriftTest
from versadp.losses import as_loss
from versadp.release.release import as_release

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.fitting.sample_design import SampleDesign
    from versadp.inference import Results
    from versadp.release.release import Release

    Array = NDArray[np.float64]

NAMED = ("squared", "logistic", "poisson", "multinomial")


def update(state: State | str | Path, new: Release | str | Path, *, engine: str | Engine = "auto") -> Results:
    """Bring a fit up to date with new records, without the old ones.

    Parameters
    ----------
    state : path or State
        What `Results.save_state` or `versadp fit --state` wrote.
    new : Release or path
        Records that the same mechanism released. Of a folder that was appended to, the parts that the state has not
        seen are read.
    engine : str or Engine
        Where the work runs.

    Returns
    -------
    Results
        Of all records; its `drift_test()` says whether the new ones agree with those before, its `save_state` writes
        the state to go on from.

    Examples
    --------
    >>> import tempfile, versadp as vdp
    >>> release = vdp.example()
    >>> old, new = (vdp.Release(part, release.mechanism) for part in (release.frame[:50_000], release.frame[50_000:]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     vdp.fit(old, "visits ~ age").save_state(folder + "/state.json")
    ...     res = vdp.update(folder + "/state.json", new)
    >>> whole = vdp.fit(release, "visits ~ age")
    >>> bool(abs(res.params["age"] - whole.params["age"]) < 0.02 * whole.bse["age"])
    True
    """
    known = state if isinstance(state, State) else State.load(state)
    opened, parts = unseen(as_release(new), known)
    counted = fingerprint(opened, as_engine(engine))
    refuse_counted(counted, known.counted)
    if known.loss not in NAMED or known.method not in METHODS:
        raise ParameterError("the state is of a loss or a method that has no update", hint=AGAIN)
    loss, about = as_loss(known.loss), {"weights": known.weights, "offset": known.offset, "subset": known.subset}
    design = make_sample_design(opened, known.formula, loss, **about)  # type: ignore[arg-type] # texts
    problem, sample, found = update_estimate(known, design, loss, as_engine(engine))
    after = known.after(found, problem.approximation.off, seen=tuple(parts), counted=counted)
    fit = after.fit(found)
    if known.method != "naive":
        refuse_coarse(problem, fit, sample)
    drift = DriftTest.of(*found.drift)
    times = f"{after.updates} times, last by {problem.source.rows:,} records"
    return results(
        FitReport(problem, fit, sample, notes={"updated": times, "old and new": _in_words(drift)}),
        design,
        loss=loss,
        method=known.method,
        seed=known.seed,
        formula=known.formula,
        updater=Updater(lambda: after, drift, engine),
    )


@dataclass(frozen=True, eq=False)
class Updater:
    """Bring a fit up to date, for its results.

    Attributes
    ----------
    make : callable
        What gives the state; asked when it is needed, for it costs passes over the records.
    drift : DriftTest, optional
    engine : str or Engine
    """

    make: Callable[[], State]
    drift: DriftTest | None = None
    engine: str | Engine = "auto"

    @cached_property
    def state(self) -> State:
        """The state that an update starts from, computed once."""
        return self.make()

    def update(self, new: Any) -> Results:
        """Return the fit with new records."""
        return update(self.state, new, engine=self.engine)

    def save(self, path: str | Path) -> None:
        """Write the state to a file."""
        self.state.save(path)


def state_of(release: Release, design: SampleDesign, answer: FitReport, given: dict[str, Any]) -> State:
    """Return what is kept of a fit; or say why there is nothing that could be.

    Parameters
    ----------
    release : Release
        All of it, before a subset.
    design : SampleDesign
    answer : FitReport
    given : dict
        What `fit` was asked: formula, loss, method, extension, draws, seed, weights, offset, subset.
    """
    problem, fit, diagnostics = answer.problem, answer.fit, answer.diagnostics
    _refuse(design, answer, given)
    assert diagnostics is not None
    assert problem.design is not None
    family, public = diagnostics.family, release.mechanism.schema.public
    model, loss = problem.design, given["loss"]
    classes = loss.classes is not None and getattr(model, "response", 0) == -1 if hasattr(loss, "classes") else False
    basis = getattr(problem.model, "basis", None)
    return State(
        **{name: given[name] for name in ("formula", "method", "extension", "draws", "seed", "weights", "offset")},
        subset=given["subset"],
        loss=loss.name,
        mechanism=mechanism_digest(release),
        names=problem.names,
        members=family.names,
        levels={name: tuple(map(str, levels)) for name, levels in model.levels.items() if name in public},
        response=tuple(sorted(response_values(design.release, model))) if classes else (),
        basis=basis,
        degrees=problem.degrees,
        off=problem.approximation.off,
        kept=Kept.of(family, fit.theta),
        bias=None if fit.bias is None else fit.n * fit.bias,
        strength=None if fit.strength is None or not np.isfinite(fit.strength).all() else fit.strength,
        seen=tuple(part_digests(release)),
        edition=edition_of(release),
        counted=(fingerprint(release, family.engine),),
    )


def _refuse(design: SampleDesign, answer: FitReport, given: dict[str, Any]) -> None:
    """Say why a fit cannot go on from a state, if it cannot."""
    why = _why_not(design, answer, given)
    if why is not None:
        raise EstimationError(why, hint="fit all records again when new ones come")


def _why_not(design: SampleDesign, answer: FitReport, given: dict[str, Any]) -> str | None:
    """Return why a fit cannot go on from a state; None if it can."""
    loss, why = given["loss"], None
    if loss.name not in NAMED or as_loss(loss.name) != loss:
        why = (
            f"{getattr(loss, 'name', 'this')} loss has no update: it needs squared, logistic, poisson or multinomial "
            "loss, whose curvature does not depend on how many records there are"
        )
    elif design.rows_per_person > 1:
        why = "people with several rows have no update: a person may go on in the new records"
    elif design.labels is not None:
        why = "clusters and frequencies have no update: a cluster may go on in the new records"
    elif given["weights"] is not None and not isinstance(given["weights"], str):
        why = "given weights have no update: name a public column that holds them"
    elif given["extension"] is not None and not isinstance(given["extension"], str):
        why = "an extension of one's own has no update"
    return why or _why_not_quadratic(answer)


def _why_not_quadratic(answer: FitReport) -> str | None:
    """Return why no quadratic says what the records of a fit have to say; None if one does."""
    fit = answer.fit
    if fit.hessian is None or answer.problem.design is None or answer.diagnostics is None:
        return "this fit has no update: it is not by a score that bends"
    if fit.weak or (fit.sets and (fit.strength is None or bool((fit.strength < STRONG).any()))):
        return "how these records bend is hardly known, so that no quadratic says what they have to say"
    return None


def _in_words(drift: DriftTest) -> str:
    say = "disagree" if drift.rejects else "agree"
    return f"{say} (p = {drift.pvalue:.2g}; chi-square {drift.statistic:.4g}, {drift.df} df)"
