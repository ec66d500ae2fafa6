"""Guarantees of noise as numbers: profiles, their composition, and solving for a parameter.

>>> from versadp import privacy
>>> p = privacy.zero_inflated(privacy.symmetric_laplace(dim=6, shift=0.5), exact_rate=0.05)
>>> round(p.delta(0.8), 6), round(p.advantage(), 6)
(0.14128, 0.332921)
"""

from __future__ import annotations

from versadp.privacy.bridges import opendp_measurement
from versadp.privacy.curves.discrete import identity, keep_or_redraw, randomized_response
from versadp.privacy.curves.gaussian import gaussian
from versadp.privacy.curves.laplace import symmetric_laplace, symmetric_laplace_limit
from versadp.privacy.layers.blanket import shuffled_blocks
from versadp.privacy.layers.composition import compose
from versadp.privacy.layers.group import group
from versadp.privacy.layers.inflation import approx_dp, zero_inflated
from versadp.privacy.layers.shuffle import shuffled
from versadp.privacy.layers.slack import with_slack
from versadp.privacy.layers.worst import worst
from versadp.privacy.profile import PrivacyProfile
from versadp.privacy.solving.local import solve_local_epsilon
from versadp.privacy.solving.parameter import solve_parameter, solve_shift
from versadp.privacy.target import Target, target

__all__ = [
    "PrivacyProfile",
    "Target",
    "approx_dp",
    "compose",
    "gaussian",
    "group",
    "identity",
    "keep_or_redraw",
    "opendp_measurement",
    "randomized_response",
    "shuffled",
    "shuffled_blocks",
    "solve_local_epsilon",
    "solve_parameter",
    "solve_shift",
    "symmetric_laplace",
    "symmetric_laplace_limit",
    "target",
    "with_slack",
    "worst",
    "zero_inflated",
]
