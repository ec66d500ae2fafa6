"""What a mechanism guarantees: its blocks' curves, composed or the worst of them.

Two records differ by at most the width in every column, so in units of the noise scale by at most `1/scale_j` in
column j: one attribute shifts by the largest of these, a whole record by their root sum of squares. The sampler's
error is charged on top.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from versadp import privacy
from versadp.errors import ParameterError

if TYPE_CHECKING:
    from versadp.release.mechanism import Mechanism

UNITS = ("record", "attribute")


@lru_cache(maxsize=64)
def mechanism_privacy(mechanism: Mechanism, unit: str = "record") -> privacy.PrivacyProfile:
    """Return the guarantee for a whole record, or for one attribute; see `Mechanism.privacy`."""
    if unit not in UNITS:
        raise ParameterError(f"there is no unit {unit!r}", hint="choose from record, attribute")
    laplace, responses = mechanism.channels.laplace, mechanism.channels.responses
    blocks = [(privacy.randomized_response(r.levels, r.keep), r.sampler_error) for r in responses]
    if laplace is not None:
        shifts = [1 / scale for scale in laplace.scale]
        shift = math.hypot(*shifts) if unit == "record" else max(shifts)
        # the other columns of the block tell an attacker W, so one attribute has the block's full dimension too
        block = privacy.symmetric_laplace(laplace.dim, math.nextafter(shift, math.inf))
        blocks.insert(0, (privacy.zero_inflated(block, laplace.exact_rate), laplace.sampler_error))
    if unit == "attribute":  # the other blocks are the same for both neighbours, errors and all
        return privacy.worst(*(privacy.with_slack(profile, error) for profile, error in blocks))
    together = privacy.compose(*(profile for profile, _ in blocks))
    return privacy.with_slack(together, mechanism.channels.sampler_error)
