"""Sentences about totals: in the privacy statement, in a plan, and where an answer does without them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from versadp.display.numbers import brief
from versadp.errors import TotalsWarning, find_stacklevel

if TYPE_CHECKING:
    from versadp.release.mechanism import Mechanism
    from versadp.release.release import Release

FEW = 6  # columns that are named one by one


def totals_words(mechanism: Mechanism) -> list[str]:
    r"""Return what the privacy statement says of totals, line by line; nothing where there are none.

    Examples
    --------
    >>> from versadp import Bounded, Schema, calibrate
    >>> schema = Schema({"age": Bounded(18, 90), "visits": Bounded(0, 9, step=1)})
    >>> mech = calibrate(schema, epsilon=1, delta=1e-6, shuffled=100_000, totals=True)
    >>> print(*totals_words(mech), sep="\n")
    Noisy totals of all people stand beside the records: how many have each value of a column (noise of ±26.7) and of
    two columns (±18.9), and sums and products of columns. They take 50% of the target's squared mu and are part of
    every figure here; a device, which knows one record, has none.
    """
    law = mechanism.totals
    if law is None:
        return []
    a, _, c = (brief(scale, 3) for scale in law.scale)
    pairs = f" and of\ntwo columns (±{c})" if law.scale[2] else ""
    told = (
        "Noisy totals of all people stand beside the records: how many have each value of a column "
        f"(noise of ±{a}){pairs}, and sums and products of columns. They take {100 * law.share:.3g}% of the target's "
        "squared mu and are part of\nevery figure here; a device, which knows one record, has none."
    )
    lines = told.splitlines() if pairs else [told.replace("\n", " ")]
    return [*lines, *left_out_words(mechanism)]


def left_out_words(mechanism: Mechanism) -> list[str]:
    """Return which private columns are in no total, and why."""
    if mechanism.totals is None:
        return []
    out = list(mechanism.totals_features.left_out.items())
    more = [f"... and {len(out) - FEW} more columns"] if len(out) > FEW else []
    return [*(f"Not in the totals: {name}, since {why}." for name, why in out[:FEW]), *more]


def totals_facts(mechanism: Mechanism) -> dict[str, str]:
    """Return what a plan shows of totals."""
    law = mechanism.totals
    if law is None:
        return {}
    facts = {
        "totals: share of the target's squared mu": f"{100 * law.share:.3g}%",
        "totals: noise of a count of one column": f"±{brief(law.scale[0])}",
    }
    if law.scale[2]:
        facts["totals: noise of a count of two columns"] = f"±{brief(law.scale[2])}"
    return facts | {"totals: columns": ", ".join(law.columns)}


def has_totals(release: Release) -> bool:
    """Return True if a release, or one of its batches, has totals."""
    return any(sheet is not None for sheet in release.totals_by_batch)


def warn_alone(release: Release, what: str) -> None:
    """Warn that an answer is by the records alone, if there are totals."""
    if has_totals(release):
        warnings.warn(f"totals not used: {what}", TotalsWarning, stacklevel=find_stacklevel())
