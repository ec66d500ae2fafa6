"""To the neighbours in the field: dp-accounting (and, through it, riskcal), and OpenDP. None is needed by the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.errors import MissingExtraError
from versadp.privacy.layers.mesh import connect_dots

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.privacy.profile import PrivacyProfile

_TAIL = 1e-14
_FARTHEST = 85.0


def to_pld(profile: PrivacyProfile, mesh: float = 1e-4) -> Any:
    """Return a profile as a privacy loss distribution of dp-accounting, never more private than it is.

    Parameters
    ----------
    profile : PrivacyProfile
        The guarantee.
    mesh : float
        Discretisation of the loss; objects of one mesh can be composed with each other.

    Returns
    -------
    dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
        Its delta equals ours at multiples of the mesh and lies on chords in e^ε between them. The infinite mass is
        the floor of delta, and what lies beyond a loss of 85 or has a probability below 1e-14.

    Examples
    --------
    >>> from versadp.privacy import approx_dp
    >>> pld = to_pld(approx_dp(1.0, 0.01))  # doctest: +SKIP
    >>> round(pld.get_delta_for_epsilon(0.5), 6)  # doctest: +SKIP
    0.288661
    """
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError as absent:
        hint = "pip install 'versadp[accounting]'"
        raise MissingExtraError("dp-accounting is not installed", hint=hint) from absent
    mesh = inputs.number("mesh", mesh, 0.0, 1.0, open_low=True)
    tries = np.append(np.logspace(-3, np.log10(_FARTHEST), 80), _FARTHEST)
    far = profile._curve(tries)[0] > profile.delta_floor + _TAIL
    last = min(int(np.count_nonzero(far)), len(tries) - 1)
    top = min(float(tries[last]), profile.pure_epsilon)
    losses = connect_dots(profile, mesh, int(np.ceil(top / mesh)) + 1)
    masses = np.maximum(losses.masses, 0.0)
    masses[0] = max(masses[0] - float(masses.sum() + losses.lost - 1), 0.0)  # rounding only: moved up, pessimistic
    pmf = pld_pmf.DensePLDPmf(mesh, losses.start, masses, losses.lost, pessimistic_estimate=True)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


def opendp_measurement(function: Callable[[Any], Any], *, epsilon: float, delta: float) -> Any:
    """Return an OpenDP measurement that calls a function and states a fixed (epsilon, delta) for it.

    Parameters
    ----------
    function : callable
        Takes the private data, whatever they are, and returns the release.
    epsilon, delta : float
        What holds if one record is replaced, such as ``p.epsilon(delta), delta`` of a profile. Noise is independent
        between records, so d replaced records compose: ``(d epsilon, d delta)``.

    Returns
    -------
    opendp.Measurement
        Over any Python object, with the metric "replaced records" and the measure approximate max-divergence. OpenDP
        cannot verify a function written in Python, and calls that trust "honest-but-curious": this call switches
        that feature of OpenDP on.

    Examples
    --------
    >>> m = opendp_measurement(lambda rows: len(rows), epsilon=1.0, delta=1e-6)  # doctest: +SKIP
    >>> m.map(d_in=1)  # doctest: +SKIP
    (1.0, 1e-06)
    """
    epsilon = inputs.number("epsilon", epsilon, 0.0, np.inf, open_high=True)
    delta = inputs.number("delta", delta, 0.0, 1.0)
    try:
        import opendp.prelude as dp
    except ImportError as absent:
        raise MissingExtraError("opendp is not installed", hint="pip install 'versadp[accounting]'") from absent
    dp.enable_features("contrib", "honest-but-curious")

    def privacy_map(records: Any) -> tuple[float, float]:
        many = inputs.whole("d_in", records, 0)
        return many * epsilon, min(many * delta, 1.0)

    return dp.m.make_user_measurement(
        input_domain=dp.user_domain("any Python object", lambda _: True),
        input_metric=dp.user_distance("number of replaced records"),
        output_measure=dp.approximate(dp.max_divergence()),
        function=function,
        privacy_map=privacy_map,
    )
