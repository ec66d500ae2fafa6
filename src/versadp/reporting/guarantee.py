"""Guarantee of a release on a page: points of the trade-off curve, (epsilon, delta) pairs, one release more.

Four guarantees stand side by side: for a whole record and for one attribute, and each of them from two attackers, one
who knows which row is whose (local) and one who does not (shuffled). Every figure is rounded toward less privacy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from versadp.errors import ParameterError
from versadp.release.folder.editions import composed
from versadp.release.path.order import KEPT
from versadp.release.target.person import units_of
from versadp.release.target.statement import rounded_up

if TYPE_CHECKING:
    from versadp.privacy import PrivacyProfile
    from versadp.release.release import Release

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
FALSE_ALARMS = (0.001, 0.01, 0.05, 0.1)
DELTA = 1e-6
TIMES = (1, 2, 3)
NONE = 1e-9  # a share of records
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def guarantees(release: Release) -> dict[str, PrivacyProfile]:
    """Return the guarantees by what they are called, that of the release for the default unit first.

    Examples
    --------
    >>> import versadp as vdp
    >>> list(guarantees(vdp.example(2000)))
    ['record, shuffled', 'record, local', 'attribute, shuffled', 'attribute, local']
    """
    found: list[tuple[str, str, PrivacyProfile]] = []
    for unit in units_of(release.mechanism.schema):
        local, whole = local_privacy(release, unit), release.privacy(unit)
        found += ([] if whole == local else [(unit, "shuffled", whole)]) + [(unit, "local", local)]
    out: dict[str, PrivacyProfile] = {}
    for unit, way, profile in found:
        units = [other for other, same, each in found if same == way and each == profile]
        out.setdefault(f"{' or '.join(units) if len(units) > 1 else unit}, {way}", profile)
    return out


def local_privacy(release: Release, unit: str) -> PrivacyProfile:
    """Return what holds against someone who knows which row is whose, in all editions of the folder.

    Examples
    --------
    >>> import versadp as vdp
    >>> release = vdp.example(2000)
    >>> local_privacy(release, "record") == release.mechanism.privacy("record")
    True
    """
    kept = [replace(edition, order=KEPT) for edition in release.other_editions]
    return composed(release.mechanism.privacy(unit), kept, unit)


def headline(release: Release) -> dict[str, str]:
    """Return the guarantee in one line: what was asked for if that is known, and what the best attacker finds."""
    asked = release.mechanism.target
    unit = (asked and asked.unit) or units_of(release.mechanism.schema)[0]
    hidden = asked is None or asked.shuffled is not None
    profile = release.privacy(unit) if hidden else local_privacy(release, unit)
    delta = DELTA if asked is None or asked.epsilon is None else asked.delta or 0.0
    local, whole = found(local_privacy(release, unit)), found(release.privacy(unit))
    return {"unit": unit, "pair": _pair(profile, delta), "local": local, "shuffled": "" if local == whole else whole}


def found(profile: PrivacyProfile, alarms: float = 0.01) -> str:
    """Return the largest share of targets that an attacker finds at a rate of false alarms, in percent.

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> found(gaussian(1.0), 0.05)
    '26%'
    """
    return f"{rounded_up(100 * (1 - float(profile.beta(alarms))))}%"


def _pair(profile: PrivacyProfile, delta: float) -> str:
    """Return (epsilon, delta) at a delta, or at the least one above the floor that says something."""
    found = pair_at(profile, delta)
    if found is None:
        return f"none: delta is never below {rounded_up(profile.delta_floor)}"
    epsilon, delta = found
    return f"epsilon {epsilon:g}" + (f", delta {scientific(delta)}" if delta else " (pure: delta 0)")


def pair_at(profile: PrivacyProfile, delta: float) -> tuple[float, float] | None:
    """Return (epsilon, delta) at a delta, or at the least one above the floor that says something, rounded up.

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> pair_at(gaussian(1.0), 1e-6)
    (4.89, 1e-06)
    """
    try:
        epsilon = float(profile.epsilon(delta))
    except ParameterError:  # below the floor
        delta = float(rounded_up(max(2 * profile.delta_floor, DELTA)))
        if delta >= 1:
            return None
        epsilon = float(profile.epsilon(delta))
    return float(rounded_up(epsilon)), delta


def scientific(value: float) -> str:
    """Return a small number as people write it.

    Examples
    --------
    >>> scientific(1e-6), scientific(0.05), scientific(2.5e-7)
    ('10⁻⁶', '0.05', '2.5·10⁻⁷')
    """
    digits, power = f"{value:.3e}".split("e")
    if int(power) > -4:
        return f"{value:g}"
    raised = f"10{str(int(power)).translate(_RAISED)}"
    return raised if float(digits) == 1 else f"{float(digits):g}·{raised}"


def attacks(every: dict[str, PrivacyProfile]) -> list[dict[str, str]]:
    """Return what the best attacker finds, a row for each rate of false alarms."""
    return [
        {"false alarms": f"{100 * alarms:g}%"} | {name: found(profile, alarms) for name, profile in every.items()}
        for alarms in FALSE_ALARMS
    ]


def pairs(every: dict[str, PrivacyProfile]) -> list[dict[str, str]]:
    """Return delta at a few epsilons, a row each."""
    return [
        {"epsilon": f"{epsilon:g}"} | {name: _small(float(each.delta(epsilon))) for name, each in every.items()}
        for epsilon in EPSILONS
    ]


def _small(delta: float) -> str:
    """Return a delta as text; below any meaningful size it is not given to three digits."""
    return "below 1e-12" if 0 < delta < 1e-12 else rounded_up(delta)


def again(release: Release) -> list[dict[str, Any]]:
    """Return what several releases of the same people give away together, a row for each number of them."""
    unit, profile = units_of(release.mechanism.schema)[0], release.privacy()
    delta = DELTA if profile.delta_floor < DELTA else 0.0
    rows = []
    for times in TIMES:
        each = profile.compose(times)
        rows.append(
            {
                "releases": str(times),
                f"(epsilon, delta) of a {unit}": _pair(each, delta),
                "found at 1% false alarms, at most": found(each),
                "records given away for certain": f"{rounded_up(100 * each.exact_share)}%"
                if each.exact_share > NONE
                else "none",
            }
        )
    return rows
