"""Accounting of a mechanism: its blocks' guarantees composed for a record, the worst of them for an attribute.

For a person with several rows it is the group bound of a record's (`privacy/layers/group.py`), shuffled or not.

Where bounds were learnt from these records the blocks are composed with that step (`docs/theory/bounds.md`). What is
claimed of them then depends on no block's lattice, which follows from the bounds: of a shuffle just their epsilons.

Noisy totals are one more part, Gaussian (`docs/theory/totals.md`). All curves of this library are of symmetric pairs,
which composing them with a Gaussian at all orders needs.

Each block charges its sampler's error itself. A shuffled release guarantees more where the blocks keep or redraw, or
are pure (`docs/theory/shuffle.md`); other noise is as in any order.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from versadp import inputs, privacy
from versadp.privacy.curves.contour import is_searching
from versadp.privacy.curves.discrete import Discrete
from versadp.privacy.layers.chords import chords
from versadp.privacy.layers.inflation import ZeroInflated
from versadp.privacy.layers.shuffle import LARGEST
from versadp.privacy.layers.slack import WithSlack
from versadp.release.bounds.law import bounds_privacy
from versadp.release.target.person import PERSON, unit_of
from versadp.release.totals.noise import totals_privacy

if TYPE_CHECKING:
    from versadp.release.mechanism import Mechanism


def mechanism_privacy(
    mechanism: Mechanism, unit: str | None = None, shuffled: int | None = None
) -> privacy.PrivacyProfile:
    """Return the guarantee for a person, a whole record, or one attribute; see `Mechanism.privacy`."""
    return _known(mechanism, unit_of(mechanism.schema, unit), shuffled, is_searching())


def privacy_of_one(mechanism: Mechanism, unit: str, shuffled: int | None) -> privacy.PrivacyProfile:
    """Return the same of a mechanism that is asked once: its hash, for the cache, takes as long as a quick bound."""
    return _known.__wrapped__(mechanism, unit, shuffled, is_searching())


@lru_cache(maxsize=64)
def _known(mechanism: Mechanism, unit: str, shuffled: int | None, searching: bool) -> privacy.PrivacyProfile:  # noqa: ARG001 - rough ones are not reported
    if mechanism.totals is None:
        return _records(mechanism, unit, shuffled)
    rows = mechanism.schema.rows_per_person if unit == PERSON else 1
    spent = totals_privacy(mechanism, "record" if unit == PERSON else unit, rows)
    return privacy.compose(_quick(mechanism.without_totals().privacy(unit, shuffled=shuffled)), spent)


def _quick(profile: privacy.PrivacyProfile) -> privacy.PrivacyProfile:
    """Return a profile, or its chords, so that Gaussian noise is composed with it exactly and quickly."""
    if isinstance(profile, ZeroInflated | WithSlack):
        return replace(profile, base=_quick(profile.base))
    finite = math.isfinite(profile.pure_epsilon) and profile.delta_floor == 0
    return chords(profile) if finite and not isinstance(profile, Discrete) else profile


def _records(mechanism: Mechanism, unit: str, shuffled: int | None) -> privacy.PrivacyProfile:
    """Return the guarantee of the records alone, with what learning their bounds cost."""
    if unit == PERSON:
        return privacy.group(mechanism_privacy(mechanism, "record", shuffled), mechanism.schema.rows_per_person)
    if shuffled is not None:
        return _among_others(mechanism, unit, inputs.whole("shuffled", shuffled, 1))
    guarantees, spent = _guarantees(mechanism, unit), bounds_privacy(mechanism.schema.bounds, unit)
    if unit != "attribute":
        return privacy.compose(*guarantees, spent)
    # of one attribute the other blocks are the same for both neighbours, errors and all
    return privacy.worst(*(privacy.compose(each, spent) for each in guarantees))


def _guarantees(mechanism: Mechanism, unit: str) -> list[privacy.PrivacyProfile]:
    """Return what the blocks guarantee, one by one; whatever the bounds are, if they are learnt."""
    schema = mechanism.schema
    if bounds_privacy(schema.bounds, unit).pure_epsilon == 0:
        return [block.guarantee(unit) for block in mechanism.blocks]
    columns = schema.as_declared().columns
    return [block.guarantee_on_any({n: columns[n] for n in block.columns}, unit) for block in mechanism.blocks]


def _among_others(mechanism: Mechanism, unit: str, n: int) -> privacy.PrivacyProfile:
    """Return the guarantee of n records in an order that tells nothing: the best that is proved."""
    spent = bounds_privacy(mechanism.schema.bounds, unit)
    found = [block.blanket() for block in mechanism.blocks] if spent.pure_epsilon == 0 else [None]
    blankets = [blanket for blanket in found if blanket is not None]
    if len(blankets) == len(found) and sum(blanket.epsilon for blanket in blankets) <= LARGEST:
        off = sum(blanket.off for blanket in blankets)
        return privacy.shuffled_blocks([blanket[:2] for blanket in blankets], n, unit=unit, exact_rate=off)
    record = privacy.compose(*_guarantees(mechanism, "record"))
    if record.delta_floor or record.pure_epsilon > LARGEST:
        return mechanism_privacy(mechanism, unit)
    alone = privacy.worst(*_guarantees(mechanism, unit)) if unit == "attribute" else record
    curve = privacy.shuffled(alone.pure_epsilon, n, others=record.pure_epsilon)
    return curve if spent.pure_epsilon == 0 else privacy.compose(chords(curve), spent)
