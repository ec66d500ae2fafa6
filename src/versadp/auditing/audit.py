"""An audit: run the real release path, and hold what it shows against what is claimed.

Three verdicts, with one stated chance of a false alarm for all of them together:

- lower bounds on epsilon for pairs of neighbouring records, at several deltas: likely events tell at a large one, rare
  events just above delta's floor. The event that looks best on one half of the samples is tested on the other half,
  with Clopper-Pearson bounds on its probability under both records: `epsilon >= log((q - delta) / p)`;
- a band around each pair's trade-off curve. By Dvoretzky, Kiefer and Wolfowitz all false-alarm and miss rates of the
  likelihood-ratio test are within `sqrt(log(4/eta) / 2n)` of their estimates at once; the claimed curve must not lie
  above the band;
- the law of the noise (`law.py`). A claim is for the worst pair: what is wrong with a record, a column or a row that is
  not the worst need not contradict it, but contradicts the law that the claim was computed from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.auditing.bounds import Claim, curve, epsilon_found
from versadp.auditing.candidates import candidates
from versadp.auditing.law import Verdict, law_holds
from versadp.auditing.neighbours import Pair, all_pairs, released
from versadp.auditing.order import groups_hold, order_holds
from versadp.auditing.records import plain_path
from versadp.auditing.totals import totals_hold
from versadp.errors import ParameterError
from versadp.release.release import Release
from versadp.release.target.person import PERSON, unit_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.auditing.records import Path
    from versadp.privacy import PrivacyProfile
    from versadp.release.mechanism import Mechanism

    Array = NDArray[np.float64]

FEWEST = 1000  # releases of a record
EPSILONS = (1.0, 2.0, 4.0, 8.0)  # claimed, at whose deltas a bound is looked for
RARE = 1e-6  # above the floor of delta, where there is no pure epsilon
_GROUP_WORDS = {
    None: "",
    True: "\n  records with equal public values: as many as is claimed",
    False: "\n  records with equal public values: FEWER than is claimed",
}
_ORDER_WORDS = {
    None: "",
    True: "\n  order of rows: by their public hash, as a shuffled release has them",
    False: "\n  order of rows: NOT by their public hash: it may tell who is who",
}


@dataclass(frozen=True)
class Audit:
    """Findings of an audit.

    Attributes
    ----------
    passed : bool
        True if no verdict contradicts what is claimed.
    epsilon_found : float
        Lower bound on epsilon at `delta`.
    epsilon_claimed : float
        What is claimed at `delta`.
    event : str
        The event that gave the bound.
    excess : float
        How far the claimed curve lies above the band, in misses; at most 0 if it does not.
    alpha, beta : array
        The empirical trade-off curve; `band` is the error of both.
    pair : str
        How the two records differ; of all pairs that were tried, the worst.
    order : bool, optional
        Whether the rows of a release stand in the order of their public hash, if it claims a shuffle.
    groups : bool, optional
        Whether there are as many records with equal public values as a release claims, if it claims a shuffle.
    law : bool, optional
        Whether noise follows its law; None if no block says how to tell.
    oddest : str
        What departs most from that law.
    p_value : float
        Of it, corrected for all that was looked at.
    totals : bool, optional
        Whether noisy totals keep law and claim, by 200 sheets of each of two neighbouring tables; None if there are
        none, or with a `path` of its own.
    totals_told : str
        What was seen of them.
    """

    passed: bool
    n: int
    unit: str
    delta: float
    confidence: float
    epsilon_found: float
    epsilon_claimed: float
    event: str
    excess: float
    band: float
    alpha: Array
    beta: Array
    pair: str
    order: bool | None = None
    law: bool | None = None
    oddest: str = ""
    p_value: float = 1.0
    groups: bool | None = None
    rows_per_person: int = 1
    totals: bool | None = None
    totals_told: str = ""

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAILED: the claim does not hold"
        curve = "holds within the band" if self.excess <= 0 else f"lies above the band by {self.excess:.3g}"
        found = f"found at least {self.epsilon_found:.4g}, claimed {self.epsilon_claimed:.4g}"
        return (
            f"Audit of one {self.unit}, at {self.confidence:.4%} confidence: {verdict}\n"
            f"  worst of all pairs of neighbours: {self.pair}, {self.n:,} releases of each\n"
            f"  epsilon at delta {self.delta:.6g}: {found} ({self.event})\n"
            f"  trade-off curve: {curve} (±{self.band:.3g} in both errors)\n"
            f"  noise against its law: {self._law_words()}"
            + _ORDER_WORDS[self.order]
            + _GROUP_WORDS[self.groups]
            + self._totals_words()
            + self._person_words()
        )

    def _totals_words(self) -> str:
        if self.totals is None:
            return ""
        word = "keep law and claim" if self.totals else "do NOT keep law and claim"
        return f"\n  totals beside the records: {word} ({self.totals_told})"

    def _person_words(self) -> str:
        if self.rows_per_person == 1:
            return ""
        return (
            f"\n  a person has up to {self.rows_per_person:,} rows: what is claimed for a person is the bound that"
            "\n  follows from a record's, and how many rows somebody has is not protected"
        )

    def _law_words(self) -> str:
        if self.law is None:
            return "not looked at: no block says where its outputs stand in it"
        word = "follows it" if self.law else "DEPARTS from it"
        return f"{word} (oddest: {self.oddest}; p-value {self.p_value:.2g})"


def audit(
    audited: Mechanism | Release,
    n: int = 1_000_000,
    *,
    unit: str | None = None,
    delta: float | None = None,
    confidence: float = 0.999,
    claim: PrivacyProfile | None = None,
    path: Path | None = None,
    thorough: bool = False,
) -> Audit:
    """Attack the real release path and report what it gives away.

    Pairs of neighbouring records of all kinds are tried (opposite corners; far and near ones in the interior and off
    the grid; of an attribute every one in turn), and noise is held against its law: record by record, column by
    column, row by row. `docs/theory/audit.md` says what is found with which power.

    Parameters
    ----------
    audited : Mechanism or Release
        Of a release that claims a shuffle the order of its rows is checked as well, and records with equal public
        values are counted again.
    n : int
        Releases of each record of the pair that is hardest to protect; the other pairs share as many, and so many
        people are released to look at the law.
    unit : {"record", "attribute"}, optional
        How the two records differ; by default in everything. What holds for a person with several rows follows from
        what holds for a record (`versadp.privacy.group`), and is audited as such.
    delta : float, optional
        Where epsilon is bounded; by default where the claimed epsilon is 1, 2, 4, 8, and at delta's floor.
    confidence : float
        That there is no false alarm, in all verdicts together.
    claim : PrivacyProfile, optional
        What is claimed; by default `mechanism.privacy(unit)`.
    path : callable, optional
        What is audited, from a pyarrow.Table to one whose rows are in the same order; by default the mechanism's own
        release. `versadp.auditing.through_files` makes the one through files.
    thorough : bool
        `n` releases of each record of every pair.

    Returns
    -------
    Audit

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> print(audit(Mechanism(Schema({"x": Bounded(0, 1)}), scale=1.4, exact_rate=0.05), n=20_000).passed)
    True
    """
    mechanism, order = (audited.mechanism, order_holds(audited)) if isinstance(audited, Release) else (audited, None)
    groups = groups_hold(audited) if isinstance(audited, Release) else None
    if not hasattr(mechanism, "blocks"):
        raise ParameterError(f"{type(mechanism).__name__} cannot be audited", hint="give a Mechanism, or a Release")
    n = inputs.whole("n", n, FEWEST)
    confidence = inputs.number("confidence", confidence, 0.5, 1, open_high=True)
    asked = unit_of(mechanism.schema, unit)
    unit = "record" if asked == PERSON else asked
    sheets = mechanism if path is None else mechanism.without_totals()
    mechanism = mechanism.without_totals()  # which are audited by themselves: records alone claim less
    profile = mechanism.privacy(unit) if claim is None else claim
    attacked = Claim(profile, _deltas(profile, delta))
    path = path or plain_path(mechanism)
    left = (1 - confidence) / (2 if sheets.totals is None else 4)
    law = law_holds(mechanism, path, n, left, np.random.default_rng())
    totals = totals_hold(sheets, unit, left, np.random.default_rng())
    pairs = all_pairs(mechanism, unit)
    error = (1 - confidence) * (1.0 if law is None else 0.5) / (2 * len(pairs))
    plan = _Plan(mechanism, unit, attacked, error, path)
    fewer = n if thorough else max(FEWEST, n // max(len(pairs) - 1, 1))
    results = [_audit(plan, pair, fewer if at else n) for at, pair in enumerate(pairs)]
    worst = max(results, key=lambda result: (not result.passed, result.epsilon_found - result.epsilon_claimed))
    passed = worst.passed and order is not False and groups is not False and (law is None or law.holds)
    passed = passed and (totals is None or totals.holds)
    if totals is not None:
        worst = replace(worst, totals=totals.holds, totals_told=totals.told)
    worst = replace(worst, rows_per_person=mechanism.schema.rows_per_person)
    return replace(worst, order=order, groups=groups, passed=passed, confidence=confidence, **_found(law))


def _found(law: Verdict | None) -> dict[str, Any]:
    return {} if law is None else {"law": law.holds, "oddest": law.oddest, "p_value": law.p_value}


def _deltas(profile: PrivacyProfile, delta: float | None) -> tuple[float, ...]:
    if delta is not None:
        return (inputs.number("delta", delta, 0, 1),)
    pure = np.isfinite(profile.pure_epsilon)
    floor = profile.delta_floor if pure else profile.delta_floor + RARE * (1 - profile.delta_floor)
    return tuple(sorted({max(float(profile.delta(epsilon)), floor) for epsilon in EPSILONS} | {floor}))


@dataclass(frozen=True)
class _Plan:
    mechanism: Mechanism
    unit: str
    claim: Claim
    error: float  # of each of two verdicts on a pair
    path: Path


def _audit(plan: _Plan, pair: Pair, n: int) -> Audit:
    found, ratio = candidates(plan.mechanism, pair, released(plan.mechanism, pair, n, plan.path))
    claims = plan.claim.epsilons
    bounds = {at: epsilon_found(found, at, plan.error / len(claims)) for at in claims}
    delta = max(bounds, key=lambda at: bounds[at][0] - claims[at])
    (epsilon, event), claimed = bounds[delta], claims[delta]
    alpha, beta = curve(*ratio)
    band = float(np.sqrt(np.log(4 / plan.error) / (2 * n)))
    excess = float(np.max(plan.claim.misses(np.minimum(alpha + band, 1.0)) - (beta + band)))
    passed = bool(epsilon <= claimed and excess <= 0)
    verdict = epsilon, claimed, event, excess, band, alpha, beta, pair.name
    return Audit(passed, n, plan.unit, delta, 1 - plan.error, *verdict)
