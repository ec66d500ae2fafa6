r"""Profiles whose privacy loss takes finitely many values: randomised response and its compositions.

k-ary randomised response keeps a category with probability κ and otherwise draws uniformly, so that for two
different categories L is +ε₀ with probability p = κ + (1-κ)/k under Q, -ε₀ with probability (1-κ)/k, and 0
otherwise; `ε₀ = log(1 + kκ/(1-κ))`. A product of such pairs adds losses and multiplies probabilities, and

    delta(ε) = Σ_l Q(L = l) (1 - e^(ε-l))₊.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from versadp import inputs
from versadp.privacy.profile import ULP, PrivacyProfile
from versadp.privacy.solving.searches import highest_line

if TYPE_CHECKING:
    from fractions import Fraction

Array = NDArray[np.float64]

_MERGE = 1e-13  # losses closer than this are one; the larger is kept


@dataclass(frozen=True)
class Discrete(PrivacyProfile):
    """A privacy loss with atoms `losses` (increasing, symmetric) of probabilities `masses` under Q."""

    losses: tuple[float, ...]
    masses: tuple[float, ...]
    title: str

    @property
    def delta_floor(self) -> float:
        """Zero: every output is possible under both neighbours."""
        return 0.0

    @property
    def pure_epsilon(self) -> float:
        """The largest loss."""
        return self.losses[-1]

    @property
    def _kinks(self) -> Array:
        return np.array([loss for loss in self.losses if loss >= 0])

    def _title(self) -> str:
        return self.title

    @cached_property
    def _suffix(self) -> tuple[Array, Array, Array]:
        losses, masses = np.array(self.losses), np.array(self.masses)
        tails = np.concatenate([np.cumsum(masses[::-1])[::-1], [0.0]])
        # losses below -700 would overflow; their masses come out too small, and delta too large, which is safe
        weights = masses * np.exp(np.minimum(-losses, 700.0))
        other = np.concatenate([np.cumsum(weights[::-1])[::-1], [0.0]])
        return losses, tails, other

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        losses, tails, other = self._suffix
        start = np.searchsorted(losses, epsilon, side="right")
        with np.errstate(over="ignore", invalid="ignore"):
            value = tails[start] - np.exp(epsilon) * other[start]
        value = np.where(start < len(losses), np.maximum(value, 0.0) + 4 * ULP * tails[start], 0.0)
        return np.minimum(value, 1.0), other[start]

    def _beta(self, rates: Array) -> Array:
        return highest_line(self, self._kinks, rates)  # which are all the ε that matter


def product(losses: Array, masses: Array, more_losses: Array, more_masses: Array) -> tuple[Array, Array]:
    """Add independent discrete losses; atoms that coincide are merged, upward.

    Parameters
    ----------
    losses, masses, more_losses, more_masses : ndarray
        The atoms of the two.

    Returns
    -------
    losses, masses : ndarray
        Sorted.

    Examples
    --------
    >>> product(np.array([-1.0, 1.0]), np.array([0.25, 0.75]), np.array([-1.0, 1.0]), np.array([0.25, 0.75]))
    (array([-2.,  0.,  2.]), array([0.0625, 0.375 , 0.5625]))
    """
    sums = np.add.outer(losses, more_losses).ravel()
    weights = np.multiply.outer(masses, more_masses).ravel()
    order = np.argsort(sums)
    sums, weights = sums[order], weights[order]
    last = np.append(np.diff(sums) > _MERGE * (1 + np.abs(sums[:-1])), True)
    group = np.concatenate([[0], np.cumsum(last)[:-1]])
    return sums[last], np.bincount(group, weights).astype(np.float64)


def randomized_response(levels: int, keep: float) -> PrivacyProfile:
    """Return the profile of k-ary randomised response.

    Parameters
    ----------
    levels : int
        Number of categories k.
    keep : float
        Probability κ in [0, 1) that a category is not redrawn; a redraw is uniform over all k.

    Returns
    -------
    PrivacyProfile
        Pure, `ε₀ = log(1 + kκ/(1-κ))`.

    Examples
    --------
    >>> p = randomized_response(levels=4, keep=0.5)
    >>> round(p.pure_epsilon, 6), round(p.delta(1.0), 6)
    (1.609438, 0.285215)
    """
    levels = inputs.whole("levels", levels, 1)
    keep = inputs.number("keep", keep, 0.0, 1.0, open_high=True)
    title = f"randomised response, {levels} levels, {keep:.6g} kept"
    other = (1 - keep) / levels
    if keep == 0 or levels == 1:
        return Discrete((0.0,), (1.0,), title)
    loss = float(np.log1p(levels * keep / (1 - keep))) * (1 + ULP)
    if levels == 2:
        return Discrete((-loss, loss), (other, keep + other), title)
    return Discrete((-loss, 0.0, loss), (other, (levels - 2) * other, keep + other), title)


def identity() -> PrivacyProfile:
    """Return perfect privacy: nothing that depends on the record is published.

    Returns
    -------
    PrivacyProfile
        Composing with it changes nothing.

    Examples
    --------
    >>> identity().delta(0.0)
    0.0
    """
    return Discrete((0.0,), (1.0,), "nothing published")


def log_up(ratio: Fraction, units: int = 1) -> float:
    """Return the logarithm of a ratio, rounded up: `log1p` of the exact excess where the ratio is close to 1.

    A fraction is converted with a relative error of 2^-53. Of `ratio - 1 = x` this is at most 2^-53 of log(1 + x) too,
    since ``x / (1 + x) <= log(1 + x)``; of a ratio from 2 on it is at most 2^-52 of its log. The logarithm adds at
    most 2^-51, the product 2^-53: together less than `ULP` = 2^-50, by which the result is raised.

    Parameters
    ----------
    ratio : Fraction
        At least 1.
    units : int
        How many times `ULP` to add, at least 1.

    Returns
    -------
    float

    Examples
    --------
    >>> from fractions import Fraction
    >>> log_up(1 + Fraction(1, 10**20)) >= 1e-20
    True
    """
    value = math.log1p(ratio - 1) if ratio < 2 else math.log(ratio)
    return value * (1 + units * ULP)


def keep_or_redraw(keep: float, share: float, ratio: Fraction) -> PrivacyProfile:
    """Return the profile of noise that keeps a record up to a window of outputs, and else draws any output.

    Two records whose windows do not meet are hardest to protect: outputs in one's window have `ratio` times the
    probability under it, those outside of both are equally likely. Records whose windows meet are told apart no better.

    Parameters
    ----------
    keep : float
        Probability that a record is kept, in [0, 1).
    share : float
        Of all outputs that are in a window, in (0, 1].
    ratio : Fraction
        The largest ratio of an output's probabilities under two records.

    Examples
    --------
    >>> from fractions import Fraction
    >>> p, q = keep_or_redraw(0.5, 0.25, Fraction(5)), randomized_response(4, 0.5)
    >>> round(p.pure_epsilon, 9) == round(q.pure_epsilon, 9), round(p.delta(1.0), 9) == round(q.delta(1.0), 9)
    (True, True)
    """
    keep = inputs.number("keep", keep, 0.0, 1.0, open_high=True)
    share = inputs.number("share", share, 0.0, 1.0, open_low=True)
    title = f"kept up to a window with probability {keep:.6g}"
    if keep == 0:
        return Discrete((0.0,), (1.0,), title)
    # windows of more than half of all outputs meet, and only the rest can tell
    apart, low = min(share, 1 - share), 1 - keep
    if not apart:
        return Discrete((0.0,), (1.0,), title)
    loss = log_up(ratio, 4)
    mass = apart * (keep / share + low) * (1 + 8 * ULP)
    return Discrete((-loss, 0.0, loss), (apart * low, max(1 - mass - apart * low, 0.0), mass), title)
