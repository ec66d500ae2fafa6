"""What a mechanism guarantees: its blocks' guarantees composed for a record, the worst of them for an attribute.

The samplers' errors are charged on top.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from versadp import privacy
from versadp.noise.block import check_unit

if TYPE_CHECKING:
    from versadp.release.mechanism import Mechanism


@lru_cache(maxsize=64)
def mechanism_privacy(mechanism: Mechanism, unit: str = "record") -> privacy.PrivacyProfile:
    """Return the guarantee for a whole record, or for one attribute; see `Mechanism.privacy`."""
    check_unit(unit)
    profiles = [block.profile(unit) for block in mechanism.blocks]
    if unit == "attribute":  # the other blocks are the same for both neighbours, errors and all
        errors = [block.sampler_error for block in mechanism.blocks]
        return privacy.worst(*map(privacy.with_slack, profiles, errors))
    return privacy.with_slack(privacy.compose(*profiles), mechanism.sampler_error)
