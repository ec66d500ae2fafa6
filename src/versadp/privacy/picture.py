"""A guarantee as a picture: what an attacker misses, and delta over epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

    from versadp.privacy.profile import PrivacyProfile


def draw(profile: PrivacyProfile, path: str | Path | None = None) -> Any:
    """Draw the trade-off curve and the privacy profile side by side.

    Parameters
    ----------
    profile : PrivacyProfile
        The guarantee.
    path : str or Path, optional
        File to write.

    Returns
    -------
    matplotlib.figure.Figure
        Belongs to no window: it is shown by notebooks and written by `savefig`.

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> draw(gaussian(1.0)).axes[0].get_xlabel()  # doctest: +SKIP
    'false alarms (alpha)'
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as absent:
        raise MissingExtraError("matplotlib is not installed", hint="pip install 'versadp[report]'") from absent
    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    alpha = np.linspace(0.0, 1.0, 201)
    left.plot(alpha, 1 - alpha, color="0.6", linestyle="--", label="nothing to learn")
    left.plot(alpha, profile.beta(alpha), label="best attacker")
    left.set(xlabel="false alarms (alpha)", ylabel="targets missed (beta)", xlim=(0, 1), ylim=(0, 1))
    left.legend()
    epsilon = np.linspace(0.0, min(2 * max(profile.pure_epsilon, 0.5), 8.0), 201)
    right.plot(epsilon, profile.delta(epsilon))
    if profile.delta_floor > 0:
        right.axhline(profile.delta_floor, color="0.6", linestyle="--", label="floor")
        right.legend()
    right.set(xlabel="epsilon", ylabel="delta", xlim=(0, float(epsilon[-1])), ylim=(0, None))
    figure.suptitle(profile._title(), fontsize="medium")
    if path is not None:
        figure.savefig(path)
    return figure
