"""Number of values of an intake beyond the bounds, for its provider only."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING

from versadp.errors import ClampedWarning, find_stacklevel

if TYPE_CHECKING:
    from versadp.release.ledger.history import History, Intake

FAR_MORE, LEAST = 2.0, 0.01  # times the share of the first people, and share of the batch, beyond learnt bounds


def values_outside(intake: Intake) -> dict[str, int]:
    """Return how many values of each column lay outside its bounds, over all parts."""
    outside: Counter[str] = Counter()
    for part in intake.parts:
        outside.update(part.outside)
    return dict(outside)


def warn_more_outside(history: History, intake: Intake) -> None:
    """Tell the provider if far more of a batch lies beyond learnt bounds than of the people they were learnt from."""
    if intake.number == 0 or history.noise.schema.bounds is None:
        return
    first, rows = history.intakes[0], sum(part.file.rows for part in intake.parts)
    before, now = values_outside(first), values_outside(intake)
    known = max(sum(part.file.rows for part in first.parts), 1)
    shares = {name: (count / max(rows, 1), before.get(name, 0) / known) for name, count in now.items()}
    more = {name: pair for name, pair in shares.items() if pair[0] > max(FAR_MORE * pair[1], LEAST)}
    if more:
        told = ", ".join(f"{name!r} {100 * new:.2g}% (first {100 * old:.2g}%)" for name, (new, old) in more.items())
        warnings.warn(
            f"far more values of this batch lie beyond the bounds than of the people they were learnt from: {told}. "
            "They are moved to the bounds; a new release would learn bounds anew. These figures are for the provider "
            "only.",
            ClampedWarning,
            stacklevel=find_stacklevel(),
        )
