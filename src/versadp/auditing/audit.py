"""An audit: run the real release path on two neighbouring records, and hold what it shows against what is claimed.

Two verdicts, both with a stated chance of a false alarm:

- lower bounds on epsilon, at a few deltas: likely events tell at a large one, rare events at a small one. The event
  that looks best on one half of the samples is tested on the other half, with Clopper-Pearson bounds on its
  probability under both records: `epsilon >= log((q - delta) / p)`;
- a band around the trade-off curve. By Dvoretzky, Kiefer and Wolfowitz all false-alarm and miss rates of the
  likelihood-ratio test are within `sqrt(log(4/eta) / 2n)` of their estimates at once; the claimed curve must not lie
  above the band.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.auditing.candidates import Bits, candidates
from versadp.auditing.neighbours import Pair, Releases, all_pairs, copies, worst_pair
from versadp.auditing.order import order_holds
from versadp.release.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile
    from versadp.release.mechanism import Mechanism

    Array = NDArray[np.float64]

THRESHOLDS = 400
_ORDER_WORDS = {
    None: "",
    True: "\n  order of rows: by their public hash, as a shuffled release has them",
    False: "\n  order of rows: NOT by their public hash: it may tell who is who",
}
RARE = 1e-6  # above the floor of delta, where there is no pure epsilon


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    passed : bool
        True if neither verdict contradicts the claim.
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
        How the two records differ.
    order : bool, optional
        Whether the rows of a release stand in the order of their public hash, if it claims a shuffle.
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

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAILED: the claim does not hold"
        curve = "holds within the band" if self.excess <= 0 else f"lies above the band by {self.excess:.3g}"
        found = f"found at least {self.epsilon_found:.4g}, claimed {self.epsilon_claimed:.4g}"
        return (
            f"Audit of one {self.unit}, {self.n:,} releases of each of two neighbours ({self.pair}): {verdict}\n"
            f"  epsilon at delta {self.delta:.6g}: {found} ({self.confidence:.1%} confidence; {self.event})\n"
            f"  trade-off curve: {curve} (±{self.band:.3g} in both errors)" + _ORDER_WORDS[self.order]
        )


def audit(
    audited: Mechanism | Release,
    n: int = 1_000_000,
    *,
    unit: str = "record",
    delta: float | None = None,
    confidence: float = 0.999,
    claim: PrivacyProfile | None = None,
    path: Callable[[Any], Any] | None = None,
    thorough: bool = False,
) -> Audit:
    """Attack the real release path and report what it gives away.

    Parameters
    ----------
    audited : Mechanism or Release
        Of a release that claims a shuffle the order of its rows is checked as well.
    n : int
        Releases of each of the two records.
    unit : {"record", "attribute"}
        How the two records differ.
    delta : float, optional
        Where epsilon is bounded; by default where the claimed epsilon is 1, where it is 4, and at delta's floor.
    confidence : float
        Of each verdict.
    claim : PrivacyProfile, optional
        What is claimed; by default `mechanism.privacy(unit)`.
    path : callable, optional
        What is audited, from a pyarrow.Table to one; by default the mechanism's own release.
    thorough : bool
        Try pairs of all kinds, `n` releases of each record: opposite corners, far and near ones in the interior, and of
        an attribute every one in turn. Confidence is then that of all verdicts together, and the worst is returned.

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
    n = inputs.whole("n", n, 1000)
    confidence = inputs.number("confidence", confidence, 0.5, 1, open_high=True)
    profile = mechanism.privacy(unit) if claim is None else claim
    claims = {at: float(profile.epsilon(at)) for at in _deltas(profile, delta)}
    pairs = all_pairs(mechanism, unit) if thorough else [worst_pair(mechanism, unit)]
    plan = _Plan(mechanism, n, unit, claims, 1 - (1 - confidence) / len(pairs), profile)
    results = [_audit(plan, pair, path or (lambda table: mechanism.release(table).frame)) for pair in pairs]
    worst = max(results, key=lambda result: (not result.passed, result.epsilon_found - result.epsilon_claimed))
    return replace(worst, order=order, passed=worst.passed and order is not False)


def _deltas(profile: PrivacyProfile, delta: float | None) -> list[float]:
    if delta is not None:
        return [inputs.number("delta", delta, 0, 1)]
    pure = np.isfinite(profile.pure_epsilon)
    floor = profile.delta_floor if pure else profile.delta_floor + RARE * (1 - profile.delta_floor)
    return sorted({max(float(profile.delta(epsilon)), floor) for epsilon in (1.0, 4.0)} | {floor})


@dataclass(frozen=True)
class _Plan:
    mechanism: Mechanism
    n: int
    unit: str
    claims: dict[float, float]
    confidence: float
    claim: PrivacyProfile


def _audit(plan: _Plan, pair: Pair, path: Callable[[Any], Any]) -> Audit:
    tables = Releases(*(_mixed(path(copies(plan.mechanism, r, plan.n))) for r in (pair.null, pair.other)))
    found, ratio = candidates(plan.mechanism, pair, tables)
    each = 1 - (1 - plan.confidence) / len(plan.claims)
    bounds = {at: _epsilon(found, at, each) for at in plan.claims}
    delta = max(bounds, key=lambda at: bounds[at][0] - plan.claims[at])
    (epsilon, event), claimed = bounds[delta], plan.claims[delta]
    alpha, beta = _curve(*ratio)
    band = float(np.sqrt(np.log(4 / (1 - plan.confidence)) / (2 * plan.n)))
    excess = float(np.max(plan.claim.beta(np.minimum(alpha + band, 1.0)) - (beta + band)))
    passed = bool(epsilon <= claimed and excess <= 0)
    verdict = epsilon, claimed, event, excess, band, alpha, beta, pair.name
    return Audit(passed, plan.n, plan.unit, delta, plan.confidence, *verdict)


def _mixed(table: Any) -> Any:
    """Return rows in an order that has nothing to do with what they hold: halves of them must be alike."""
    return table.take(np.random.default_rng(0).permutation(table.num_rows))


def _epsilon(found: dict[str, Bits], delta: float, confidence: float) -> tuple[float, str]:
    """Choose the best event, in either direction, on one half and bound epsilon on the other."""
    best: tuple[float, str, tuple[NDArray[np.bool_], NDArray[np.bool_]]] | None = None
    for name, (null, other) in found.items():
        half = null.size // 2
        for rare, common in ((null, other), (other, null)):
            promise = _bound(rare[:half], common[:half], delta, confidence)
            if best is None or promise > best[0]:
                best = (promise, name, (rare, common))
    assert best is not None
    _, name, (rare, common) = best
    half = rare.size // 2
    return _bound(rare[half:], common[half:], delta, confidence), name


def _bound(rare: NDArray[np.bool_], common: NDArray[np.bool_], delta: float, confidence: float) -> float:
    """Return `log((q - delta) / p)` with q bounded below and p above, each at half of the error."""
    from scipy.stats import beta

    tail = (1 - confidence) / 2
    p, q, n = int(rare.sum()), int(common.sum()), rare.size
    upper = 1.0 if p == n else float(beta.isf(tail, p + 1, n - p))
    lower = 0.0 if q == 0 else float(beta.ppf(tail, q, n - q + 1))
    return max(0.0, float(np.log((lower - delta) / upper))) if lower > delta else 0.0


def _curve(null: Array, other: Array) -> tuple[Array, Array]:
    """Return false alarms and misses of the likelihood-ratio test at many thresholds."""
    order = [np.sort(null), np.sort(other)]
    pooled = np.sort(np.concatenate(order))
    t = np.unique(pooled[np.linspace(0, pooled.size - 1, THRESHOLDS).astype(int)])
    alpha = 1 - np.searchsorted(order[0], t, side="right") / null.size
    beta = np.searchsorted(order[1], t, side="right") / other.size
    return alpha, beta
