"""A guarantee in words that a person understands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from versadp.privacy.profile import PrivacyProfile

_EPSILONS = (0.5, 1.0, 2.0, 4.0)
_ALARMS = (0.01, 0.05)


def _up(value: float, digits: int = 3) -> str:
    """Print with few digits, never below the value."""
    text = f"{value:.{digits}g}"
    if float(text) >= value * (1 - 1e-13):  # what only rounding put above the printed digits
        return text
    exponent = int(f"{value:e}".split("e")[1])
    return f"{float(text) + 10.0 ** (exponent - digits + 1):.{digits}g}"


def describe(profile: PrivacyProfile) -> str:
    """Return what a profile promises: pairs, what an attacker can do, and between whom.

    Parameters
    ----------
    profile : PrivacyProfile
        The guarantee.

    Returns
    -------
    str
        Every figure rounded toward less privacy.

    Examples
    --------
    >>> from versadp.privacy import symmetric_laplace, zero_inflated
    >>> print(describe(zero_inflated(symmetric_laplace(6, 0.5), 0.05)))
    Privacy of symmetric Laplace noise, dim 6, shift 0.5, 0.05 of the records unchanged
      (epsilon, delta): (0.5, 0.194), (1, 0.12), (2, 0.0752), (4, 0.0567)
      expect 5% of the records to be given away for certain: delta never falls below 0.05
      at 1% false alarms the best attacker finds at most 13.4% of the people looked for; at 5%, at most 25.2%
      a guess between two values of a record is right at most 66.7% of the time, against 50% blind
      between data sets that differ in one record (replace one); the number of rows and the public columns are the same
    """
    pairs = ", ".join(f"({e:g}, {_up(profile.delta(e))})" for e in _EPSILONS)
    lines = [f"Privacy of {profile._title()}", f"  (epsilon, delta): {pairs}"]
    if profile.pure_epsilon < float("inf") and profile.delta_floor == 0:
        lines.append(f"  pure: epsilon {_up(profile.pure_epsilon, 6)} with delta 0")
    share = profile.exact_share
    if share > 0:
        given = f"expect {_up(100 * share)}% of the records to be given away for certain"
        lines.append(f"  {given}: delta never falls below {_up(profile.delta_floor)}")
    elif profile.delta_floor > 0:
        lines.append(f"  no delta below {_up(profile.delta_floor)} is claimed")
    found = [f"{_up(100 * (1 - float(profile.beta(a))))}%" for a in _ALARMS]
    lines.append(
        f"  at {100 * _ALARMS[0]:g}% false alarms the best attacker finds at most {found[0]} of the people looked for; "
        f"at {100 * _ALARMS[1]:g}%, at most {found[1]}"
    )
    right = _up(50 + 50 * profile.advantage())
    lines.append(f"  a guess between two values of a record is right at most {right}% of the time, against 50% blind")
    lines.append(
        f"  between data sets that differ in {profile.neighbours}; "
        "the number of rows and the public columns are the same"
    )
    lines += [f"  note: {note}" for note in profile.notes]
    return "\n".join(lines)
