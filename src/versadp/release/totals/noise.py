"""From exact totals and a key to noisy ones.

Noise of a total is round(sigma N), so that for whole totals it is post-processing of the Gaussian mechanism. It is a
function of the key, of all that decides about it, and of the exact totals:

    words = AES-256-CTR under HMAC(HMAC(key, mechanism, number of the batch), number of records, exact totals)

so the same people get the same sheet, after a crash and on every engine, whatever the order of the records; and other
totals get other noise, so that no two sheets differ by the totals alone.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.counts import FARTHEST, rounded_gaussian, rounded_gaussian_error, word_stream
from versadp.noise.words import check_key, mac
from versadp.privacy import gaussian, with_slack
from versadp.privacy.profile import ULP
from versadp.release.totals.features import SHEETS
from versadp.release.totals.nodes import MOST_ONE_WAY, POSITION_UNITS
from versadp.release.totals.sheet import Totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile
    from versadp.release.mechanism import Mechanism
    from versadp.release.totals.law import TotalsLaw

    Whole = NDArray[np.int64]

_FORMAT = b"versadp totals 1"
MOST_NOISE = 2.0**62 / FARTHEST  # standard deviation in whole numbers: noise fits 64 bits


def noisy_totals(mechanism: Mechanism, exact: Whole, rows: int, key: bytes, batch: int = 0) -> Totals:
    """Return the noisy totals of a batch of people.

    Parameters
    ----------
    mechanism : Mechanism
        With totals.
    exact : array of int64
        Of `RunningTotals`.
    rows : int
        Number of records.
    key : bytes
        32 secret random bytes.
    batch : int
        Number of the batch in its release: equal totals of two batches get independent noise.
    """
    law = mechanism.totals
    assert law is not None
    root = mac(check_key(key), _FORMAT, mechanism.parameters, batch.to_bytes(8, "little"))
    stream = word_stream(mac(root, rows.to_bytes(8, "little"), exact.astype("<i8").tobytes()))
    words = np.fromiter(islice(stream, exact.size), np.uint64, exact.size)
    noise = np.zeros_like(exact)
    sigma = whole_scales(mechanism)
    for each in np.unique(sigma):
        same = sigma == each
        noise[same] = rounded_gaussian(words[same], float(each))
    return Totals(mechanism, law, rows, exact + noise)


def whole_scales(mechanism: Mechanism) -> NDArray[np.float64]:
    """Return the standard deviation of every total's noise in its whole numbers."""
    law = mechanism.totals
    assert law is not None
    scale = dict(zip(SHEETS, law.scale, strict=True))
    return np.array([scale[each.sheet] * each.noise * each.scale for each in mechanism.totals_features.all])


def totals_privacy(mechanism: Mechanism, unit: str, rows: int = 1) -> PrivacyProfile:
    """Return the guarantee of the totals for a record, for one attribute, or for a person with `rows` rows."""
    law = mechanism.totals
    assert law is not None
    categories = [column.category for column in mechanism.totals_features.columns]
    return with_slack(gaussian(law.mu(unit, rows) * (1 + 4 * ULP)), totals_error(law, categories))


def totals_error(law: TotalsLaw, categories: Sequence[bool]) -> float:
    """Return a bound on the total variation distance of all noise from the ideal, whatever the lattices are.

    Lattices may follow from learnt bounds, and what is claimed may not: every column is taken to have as many cells as
    a column can have, and every number to be missing at times.

    Examples
    --------
    >>> from versadp.release.totals.law import TotalsLaw
    >>> totals_error(TotalsLaw(("a", "b"), 0.5, (0.2, 0.6, 0.2), (30.0, 30.0, 30.0)), [False, True]) < 1e-11
    True
    """
    cells, count, levels = MOST_ONE_WAY + 1, len(categories), sum(categories)
    numbers = count - levels
    sigma_a, sigma_b, sigma_c = law.scale
    pairs = {  # of features of sheet B, by the whole number that stands for 1
        1: 2 * (numbers + cells * levels) + numbers**2 + cells * numbers * levels + (cells * levels) ** 2,
        POSITION_UNITS: numbers + numbers**2 + cells * numbers * levels,
        POSITION_UNITS**2: numbers + numbers**2,
    }
    error = rounded_gaussian_error(sigma_a, cells * count) + rounded_gaussian_error(sigma_c, (cells * count) ** 2)
    return error + sum(rounded_gaussian_error(2 * sigma_b * scale, number) for scale, number in pairs.items())
