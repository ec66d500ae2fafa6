"""`update`: a fit brought up to date with new records, from a small state and without the old records.

What a loss must have is a score that bends smoothly, so that a quadratic says all that the old records have to say
(`estimation/update.py`). Refused is what has none:

| fit | why |
|---|---|
| check, hinge, Huber loss | curvature is by a bump that shrinks with the number of records, or a scale is theirs |
| quantiles by inversion | the whole distribution function of the old records would be needed |
| method "likelihood" | the law of the noisy columns is a part of the answer |
| weak fits, few records | score sets are looked for among all records; weights of few need more than sums |
| clusters, frequencies | a cluster may go on in the new records |
| losses of one's own, given weights | a file cannot hold them |
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import Projection
from versadp.correction.law import WIDER, index_law
from versadp.correction.series import Place, series
from versadp.engine import as_engine
from versadp.errors import DataError, EstimationError, ParameterError, ReleaseError
from versadp.estimation import Family, Fit, Outcome
from versadp.estimation.diagnostics import PLAIN
from versadp.estimation.update import AGAIN, Kept, renewed
from versadp.fitting.approximate import place_of, serves
from versadp.fitting.basis import with_basis
from versadp.fitting.coarse import refuse_coarse
from versadp.fitting.counted_records import edition_of, fingerprint, refuse_counted, refuse_other_edition
from versadp.fitting.members import wants_series
from versadp.fitting.methods import METHODS, forms_of
from versadp.fitting.models import make_problem
from versadp.fitting.projecting import projectable, refuse_large
from versadp.fitting.public_facts import Known, response_values
from versadp.fitting.rehearsal import STEADY_FROM
from versadp.fitting.report import Answer, results
from versadp.fitting.sample_design import make_study
from versadp.fitting.update_state import State
from versadp.inference.chi_square import DriftTest
from versadp.losses import as_loss
from versadp.release.folder.folder import Folder
from versadp.release.release import Release, as_release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.engine import Engine
    from versadp.estimation.update import Renewed
    from versadp.fitting.problem import Problem
    from versadp.fitting.sample_design import Study
    from versadp.inference import Results

    Array = NDArray[np.float64]

SAMPLE_ROWS = 100_000
ROUNDS = 4
TOLERABLE = 0.25  # standard errors that a projection may be off by
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
    loss = as_loss(known.loss)
    if known.loss not in NAMED or known.method not in METHODS:
        raise ParameterError("the state is of a loss or a method that has no update", hint=AGAIN)
    about = {"weights": known.weights, "offset": known.offset, "subset": known.subset}
    study = make_study(opened, known.formula, loss, **about)  # type: ignore[arg-type] # texts
    problem, sample = _problem(known, study, loss)
    problem, family, found = _renewed(known, problem, sample, as_engine(engine))
    after = replace(_after(known, found, parts, problem), counted=(*known.counted, counted))
    fit = _fit(after, found, family)
    if known.method != "naive":
        refuse_coarse(problem, fit, sample)
    drift = DriftTest.of(*found.drift)
    times = f"{after.updates} times, last by {problem.source.rows:,} records"
    said = {"updated": times, "old and new": _in_words(drift)}
    answer = Answer(problem, fit, sample, said=said)
    return results(
        opened,
        answer,
        lambda: answer,
        method=known.method,
        loss=loss,
        seed=known.seed,
        shown=known.formula,
        study=study,
        renewal=Renewal(lambda: after, drift, engine),
    )


@dataclass(frozen=True, eq=False)
class Renewal:
    """What brings a fit up to date, for its results.

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
        """What an update starts from."""
        return self.make()

    def update(self, new: Any) -> Results:
        """Return the fit with new records."""
        return update(self.state, new, engine=self.engine)

    def save(self, path: str | Path) -> None:
        """Write the state to a file."""
        self.state.save(path)


def state_of(release: Release, study: Study, answer: Answer, given: dict[str, Any]) -> State:
    """Return what is kept of a fit; or say why there is nothing that could be.

    Parameters
    ----------
    release : Release
        All of it, before a subset.
    study : Study
    answer : Answer
    given : dict
        What `fit` was asked: formula, loss, method, extension, draws, seed, weights, offset, subset.
    """
    problem, fit, asked = answer.problem, answer.fit, answer.asked
    _refuse(study, answer, given)
    assert asked is not None
    assert problem.design is not None
    family, public = asked.family, release.mechanism.schema.public
    design, loss = problem.design, given["loss"]
    classes = loss.classes is not None and getattr(design, "response", 0) == -1 if hasattr(loss, "classes") else False
    basis = getattr(problem.model, "basis", None)
    return State(
        **{name: given[name] for name in ("formula", "method", "extension", "draws", "seed", "weights", "offset")},
        subset=given["subset"],
        loss=loss.name,
        mechanism=mechanism_digest(release),
        names=problem.names,
        members=family.names,
        levels={name: tuple(map(str, levels)) for name, levels in design.levels.items() if name in public},
        response=tuple(sorted(response_values(study.release, design))) if classes else (),
        basis=basis,
        degrees=problem.degrees,
        off=problem.off,
        kept=Kept.of(family, fit.theta),
        bias=None if fit.bias is None else fit.n * fit.bias,
        strength=None if fit.strength is None or not np.isfinite(fit.strength).all() else fit.strength,
        seen=tuple(part_digests(release)),
        edition=edition_of(release),
        counted=(fingerprint(release, family.engine),),
    )


def _refuse(study: Study, answer: Answer, given: dict[str, Any]) -> None:
    """Say why a fit cannot go on from a state, if it cannot."""
    problem, fit, loss = answer.problem, answer.fit, given["loss"]
    why = None
    if loss.name not in NAMED or as_loss(loss.name) != loss:
        why = (
            f"{getattr(loss, 'name', 'this')} loss has no update: it needs squared, logistic, poisson or multinomial "
            "loss, whose curvature does not depend on how many records there are"
        )
    elif study.rows_per_person > 1:
        why = "people with several rows have no update: a person may go on in the new records"
    elif study.labels is not None:
        why = "clusters and frequencies have no update: a cluster may go on in the new records"
    elif given["weights"] is not None and not isinstance(given["weights"], str):
        why = "given weights have no update: name a public column that holds them"
    elif given["extension"] is not None and not isinstance(given["extension"], str):
        why = "an extension of one's own has no update"
    elif fit.hessian is None or problem.design is None or answer.asked is None:
        why = "this fit has no update: it is not by a score that bends"
    elif fit.sets:
        why = "how these records bend is hardly known, so that no quadratic says what they have to say"
    if why is not None:
        raise EstimationError(why, hint="fit all records again when new ones come")


def mechanism_digest(release: Release) -> str:
    """Return a digest of the mechanism that made a release."""
    text = json.dumps(release.mechanism.to_dict(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def part_digests(release: Release) -> list[str]:
    """Return digests of the released parts: a folder's manifest has them, and a table is one part."""
    source = release._source  # noqa: SLF001 - where its records are
    if isinstance(source, Folder):
        return [part.sha256 for part in source.manifest.parts]
    import pyarrow as pa

    whole = hashlib.sha256()
    for batch in release.batches():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema.remove_metadata()) as writer:
            writer.write_batch(batch.replace_schema_metadata(None))
        whole.update(sink.getvalue())
    return [whole.hexdigest()]


def unseen(release: Release, state: State) -> tuple[Release, list[str]]:
    """Return what a state has not seen of a release, and the digests of its parts."""
    if mechanism_digest(release) != state.mechanism:
        raise ReleaseError(
            "the new records were released by another mechanism than the old ones",
            hint="append to the release, or release with the same mechanism; or fit the two by themselves",
        )
    refuse_other_edition(release, state.edition, state.seen)
    digests, before = part_digests(release), set(state.seen)
    new = [digest for digest in digests if digest not in before]
    if not new:
        raise DataError("all of these records are in the state already", hint="give what came since")
    source = release._source  # noqa: SLF001 - as above
    if len(new) < len(digests):
        assert isinstance(source, Folder)
        parts = tuple(part for part in source.manifest.parts if part.sha256 not in before)
        source = replace(source, manifest=replace(source.manifest, parts=parts))
        release = release.with_source(source)
    return release, new


def _problem(state: State, study: Study, loss: Any) -> tuple[Problem, Records]:
    """Return the problem of the new records, in the units of the state, and a part of them."""
    free = state.extension is None and state.method in {"efficient", "naive"}
    known = Known(state.levels, state.response)
    # states of fits of several blocks were made by one closed form before there were members
    extend = len(state.members) > 1
    problem = make_problem(
        study.release, study.formula, loss, study.weights, None, free=free, known=known, extend=extend
    )
    if problem.names != state.names or not hasattr(problem.model, "loss"):
        raise ParameterError("the state has other coefficients than its formula", hint=AGAIN)
    if state.basis is not None:
        open_columns = getattr(problem.model, "open", problem.names)
        if len(state.basis) != len(open_columns):
            raise ParameterError("the state's basis is not one of its design", hint=AGAIN)
        problem = with_basis(problem, state.basis)
    sample = problem.sample(min(SAMPLE_ROWS, problem.source.rows), state.seed)
    n = state.kept.n + problem.source.rows
    if state.degrees is not None:
        off = state.off * float(np.sqrt(n / state.kept.n))
        if len(state.degrees) != problem.units.dim or off > TOLERABLE:
            raise EstimationError("with so many records the score needs a finer projection", hint=AGAIN)
        if not projectable(problem):
            raise ParameterError("the state has degrees, and its score is not projected", hint=AGAIN)
        refuse_large(Projection(problem.blocks, state.degrees))
        return replace(problem, degrees=state.degrees, off=off), sample
    return problem, sample


def _renewed(state: State, problem: Problem, sample: Records, engine: Engine) -> tuple[Problem, Family, Renewed]:
    """Return the update; a series is made again if the estimate leaves where it was made for."""
    free = state.extension is None and state.method == "efficient" and state.degrees is None
    free = free and wants_series(problem)
    place, theta, law = place_of(problem, sample) if free else None, state.kept.theta, None
    for _ in range(ROUNDS):
        if place is not None:
            form, argument, seen = place
            here = index_law(form, seen, theta).wider(WIDER)
            law = here if law is None else law.beside(here)
            rows = state.kept.n + problem.source.rows
            expansion, _ = series(Place(form, seen, state.kept.theta, argument, rows), law)
            problem = replace(problem, expansion=expansion)
        family = _family(state, problem, engine)
        groups = problem.groups if len(family.names) > 1 else (np.arange(family.size),)
        found = renewed(state.kept, family, groups)
        theta = found.kept.theta
        if serves(problem, sample, theta):
            return problem, family, found
    raise EstimationError("the new records move the index beyond where its series was made for", hint=AGAIN)


@dataclass(frozen=True)
class _Later:
    """Records that come after others: their draws depend on their places among all."""

    source: Any
    before: int

    @property
    def rows(self) -> int:
        return int(self.source.rows)

    @property
    def travels(self) -> bool:
        return bool(self.source.travels)

    def handles(self) -> Any:
        return self.source.handles()

    def read(self, handle: Any) -> Iterator[tuple[int, Records]]:
        for number, records in self.source.read(handle):
            place = None if records.before is None else self.before + records.before
            yield number, replace(records, before=place)


def _family(state: State, problem: Problem, engine: Engine) -> Family:
    rows = state.kept.n + problem.source.rows
    forms = forms_of(problem, state.method, state.extension, state.draws, rows)
    family = Family(forms, _Later(problem.source, state.kept.n), problem.model.size, engine, state.seed)
    if family.names != state.members or family.size != len(state.names):
        raise ParameterError("the state has other members than its method", hint=AGAIN)
    unsteady = family.size == 1 or state.loss == "poisson"  # a mean's weights are rehearsed, a count's hang on theta
    if unsteady and len(family.names) > 1 and rows < STEADY_FROM:
        raise EstimationError(
            f"old and new records are {rows:,} together, too few for sums to tell how members are to be weighed",
            hint=f"fit all of them again, which takes a moment; from {STEADY_FROM:,} records on an update is as good",
        )
    return family


def _after(state: State, found: Renewed, parts: list[str], problem: Problem) -> State:
    strength = None if state.strength is None else state.strength * np.sqrt(found.kept.n / state.kept.n)
    small = strength is not None and bool((strength >= PLAIN).all())  # as a fit would find it, and not look at it
    return replace(
        state,
        kept=found.kept,
        off=problem.off,
        bias=None if small else state.bias,
        strength=strength,
        seen=(*state.seen, *parts),
        updates=state.updates + 1,
    )


def _fit(state: State, found: Renewed, family: Family) -> Fit:
    n = found.kept.n
    weights = dict(zip(family.names, found.mix[0].tolist(), strict=True)) if len(family.names) > 1 else {}
    return Fit(
        found.kept.theta,
        found.cov * (1 + state.off**2),
        Outcome.CONVERGED,
        n,
        weights,
        found.mix,
        found.hessian,
        strength=state.strength,
        bias=None if state.bias is None else state.bias / n,
    )


def _in_words(drift: DriftTest) -> str:
    say = "disagree" if drift.rejects else "agree"
    return f"{say} (p = {drift.pvalue:.2g}; chi-square {drift.statistic:.4g}, {drift.df} df)"
