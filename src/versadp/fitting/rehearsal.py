"""A rehearsal: records in the box, released again, to learn how members vary.

The covariance of members over a few hundred records is noisy, because a few records in the box count for much, and
weights that follow this noise cost efficiency: 5% of the variance of a mean at 500 records. How members vary is mostly
the mechanism's doing, and the mechanism is known. So the released records in the box stand in for true ones, they get
noise again, and their covariance is pooled with that of the data. Weights decide how precise an estimate is, never
what it estimates, so that the stand-ins are not true records does no harm.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import Records, Streams
from versadp.estimation.sizes import REHEARSED_ROWS

if TYPE_CHECKING:
    from versadp.noise.units import Units


def rehearse(sample: Records, units: Units, seed: int) -> Records:
    """Return records of a sample that are in the box, or nearest to it, with noise of the mechanism's law.

    Examples
    --------
    >>> from versadp.noise import ZeroInflatedBlock
    >>> units = ZeroInflatedBlock(("x",), (-0.5,), (0.5,), (1.0,), 0.1).units(np.zeros(1))
    >>> again = rehearse(Records(np.array([[0.2], [3.0]])), units, seed=0)
    >>> again.rows, bool(np.isclose(again.z, 0.2).mean() > 0.05)
    (2000, True)
    """
    rng = np.random.default_rng([seed, 0xEC40])
    distance = units.distance2(sample.z)
    inside = np.flatnonzero(distance <= distance.min())
    again = sample.take(rng.choice(inside, REHEARSED_ROWS))
    noise = Streams.of(again, rng).laplace(np.arange(REHEARSED_ROWS), 1, units.dim)[:, 0]
    assert units.exact_rate is not None
    noise[rng.random(REHEARSED_ROWS) < units.exact_rate] = 0.0
    return replace(again, scaled=again.z + noise)
