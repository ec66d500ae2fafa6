r"""A curve replaced by finitely many losses that are no more private, so that composing with it is exact and quick.

A profile is convex in k = e^ε. Its chords between points 0 = ε_0 < ε_1 < ... < ε_m lie above it, and are the profile of
the symmetric pair whose loss has the atoms ±ε_i with

    P(L = ε_i) = s_(i-1) - s_i,   Q(L = ε_i) = k_i P(L = ε_i),   Q(L = -ε_i) = e^-ε_i Q(L = ε_i),

s_i the slope of -delta in k behind ε_i, and the rest of the mass at 0. That dominates for every order: between the
points since chords lie above a convex function, below 1 by reflection, ``H_E = 1 - E + E H_(1/E)``, of two symmetric
pairs. The points are denser where delta falls faster, so that chords exceed it by some thousandths of it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from versadp.privacy.curves.contour import is_searching, lower_envelope
from versadp.privacy.curves.discrete import Discrete
from versadp.privacy.profile import ULP, PrivacyProfile, require_profile

_FINE, _POINTS = 4001, 600  # of the even grid on which the fall of delta is measured; of the chords
_ROUGH_FINE, _ROUGH_POINTS = 401, 150  # the same in a search: chords within 1% of delta
_LEAST = 1e-28  # a delta below it falls as fast as it likes: nothing is claimed there
_EVEN = 0.2  # share of the points that are spread evenly


def chords(profile: PrivacyProfile) -> Discrete:
    """Return finitely many losses that dominate a profile whose pure epsilon is finite and whose floor is 0.

    Parameters
    ----------
    profile : PrivacyProfile

    Examples
    --------
    >>> from versadp.privacy import shuffled
    >>> curve = shuffled(7.76, 100_000)
    >>> 1 <= chords(curve).delta(1.0) / curve.delta(1.0) < 1.01
    True
    """
    require_profile("profile", profile)
    return _chords(profile, is_searching())


@lru_cache(maxsize=64)
def _chords(profile: PrivacyProfile, searching: bool) -> Discrete:
    count, most = (_ROUGH_FINE, _ROUGH_POINTS) if searching else (_FINE, _POINTS)
    end = profile.pure_epsilon * (1 + ULP)
    assert np.isfinite(end)
    assert profile.delta_floor == 0
    fine = np.linspace(0.0, end, count)
    fall = np.abs(np.diff(np.log(np.maximum(profile._curve(fine)[0], _LEAST))))
    way = np.concatenate([[0.0], np.cumsum(fall / max(fall.sum(), _LEAST) * (1 - _EVEN) + _EVEN / len(fall))])
    points = np.interp(np.linspace(0.0, way[-1], most + 1), way, fine)
    points[0], points[-1] = 0.0, end
    points = np.unique(points)
    delta = profile._curve(points)[0]
    delta[-1] = 0.0  # pure: there is no larger loss
    steps = np.expm1(points)
    at = lower_envelope(steps, delta)
    points, steps, delta = points[at], steps[at], delta[at]
    slopes = np.append(-np.diff(delta) / np.diff(steps), 0.0)
    under_p = np.maximum(-np.diff(slopes), 0.0) * (1 + 64 * ULP)  # at all points but the first
    losses = points[1:]
    under_q = under_p * np.exp(losses)
    middle = max(1.0 - under_p.sum() - under_q.sum(), 0.0)
    both = np.concatenate([-losses[::-1], [0.0], losses])
    masses = np.concatenate([under_p[::-1], [middle], under_q])
    some = (masses > 0) | (both == 0)
    return Discrete(tuple(both[some].tolist()), tuple(masses[some].tolist()), profile._title())
