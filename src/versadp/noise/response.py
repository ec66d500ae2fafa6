"""The channel of one category: k-ary randomised response.

    X1 = X with probability keep, else a level drawn uniformly.

It is the doubly random correction again: `T^-1 v = v / keep + (1 - 1/keep) E_V v(V)`, V uniform over the levels.
The expectation over V is a finite sum, so the inverse needs no draws: weight `1{v = x1}/keep + (1 - 1/keep)/k` on
each level v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.noise.laplace import check_rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class RandomizedResponse:
    """Randomised response on one category.

    Parameters
    ----------
    levels : int
        Number of levels.
    keep : float
        Probability that a category is not redrawn.

    Examples
    --------
    >>> channel = RandomizedResponse(levels=2, keep=0.5)
    >>> channel.invert(np.array([0, 1]))
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """

    levels: int
    keep: float

    def __post_init__(self) -> None:
        check_rate("keep", self.keep)
        if isinstance(self.levels, bool) or not isinstance(self.levels, int) or not 2 <= self.levels < 2**31:
            raise ParameterError("levels must be a whole number, 2 or more")

    @property
    def words(self) -> int:
        """Words a record: the coin and the level."""
        return 2

    @property
    def sampler_error(self) -> float:
        """Bound on the total-variation distance to the ideal: each level's share is off by at most 2^-64."""
        return self.levels * 2.0**-64

    def add_noise(self, codes: Array, words: NDArray[np.uint64]) -> None:
        """Redraw codes in place: `codes` (rows,) holds whole numbers below `levels`, `words` is (2, rows)."""
        from versadp.noise.kernel import redraw

        # rounded down: a category is kept with at most the stated probability
        redraw(words[0], words[1], np.uint64(int(self.keep * 2.0**64)), self.levels, codes)

    def invert(self, codes: NDArray[np.integer]) -> Array:
        """Return the weight of each level, array (levels, n), that undoes the noise in expectation."""
        if self.keep == 0:
            raise ParameterError(
                "a category that is always redrawn (keep=0) tells nothing and cannot be corrected",
                hint="leave the column out of the analysis, or release with a keep above 0",
            )
        weights = np.full((self.levels, codes.shape[0]), (1 - 1 / self.keep) / self.levels)
        weights[codes, np.arange(codes.shape[0])] += 1 / self.keep
        return weights
