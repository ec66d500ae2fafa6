"""A guarantee as a picture: what an attacker misses, and delta over epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.display.pictures import curves, new_figure
from versadp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from versadp.privacy.profile import PrivacyProfile

SHOWN = ("both", "tradeoff", "profile")
LEAST = 1e-12  # delta


def draw(
    profile: PrivacyProfile,
    path: str | Path | None = None,
    *,
    show: str = "both",
    label: str = "best attacker",
    beside: Mapping[str, PrivacyProfile] | None = None,
) -> Any:
    """Draw the trade-off curve, the privacy profile, or both side by side.

    Parameters
    ----------
    profile : PrivacyProfile
        The guarantee.
    path : str or Path, optional
        File to write.
    show : {"both", "tradeoff", "profile"}
    label : str
        What the profile is called.
    beside : mapping of str to PrivacyProfile, optional
        Other guarantees to draw with it, by what they are called.

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
    if show not in SHOWN:
        raise ParameterError(f"there is no picture {show!r}", hint=f"choose from {', '.join(SHOWN)}")
    every = {label: profile, **(beside or {})}
    figure = new_figure(9.0 if show == "both" else 5.0, 4.0 if show == "both" else 3.6)
    axes = list(figure.subplots(1, 2)) if show == "both" else [figure.subplots()]
    if show != "profile":
        _tradeoff(axes.pop(0), every)
    if show != "tradeoff":
        _profile(axes.pop(0), every)
    if show == "both":
        figure.suptitle(profile._title(), fontsize="medium")
    if path is not None:
        figure.savefig(path)
    return figure


def _tradeoff(axes: Any, every: Mapping[str, PrivacyProfile]) -> None:
    alpha = np.linspace(0.0, 1.0, 101)
    axes.plot(alpha, 1 - alpha, color="0.6", linewidth=1.0, linestyle="--", label="nothing to learn")
    curves({name: (alpha, each.beta(alpha)) for name, each in every.items()}, x="", y="", axes=axes)
    axes.set(xlabel="false alarms (alpha)", ylabel="targets missed (beta)", xlim=(0, 1), ylim=(0, 1))


def _profile(axes: Any, every: Mapping[str, PrivacyProfile]) -> None:
    end = max(min(2 * max(each.pure_epsilon, 0.5), 8.0) for each in every.values())
    epsilon = np.linspace(0.0, end, 101)
    deltas = {name: np.maximum(each.delta(epsilon), LEAST) for name, each in every.items()}
    low = min(float(each.min()) for each in deltas.values())
    curves({name: (epsilon, delta) for name, delta in deltas.items()}, x="epsilon", y="delta", axes=axes)
    axes.set(xlim=(0, end))
    if low < 1e-3:  # what matters could not be seen otherwise
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set(ylim=(max(low / 2, LEAST), 1))
    else:
        axes.set(ylim=(0, None))
    floor = max(each.delta_floor for each in every.values())
    if floor > LEAST:
        axes.axhline(floor, color="0.6", linewidth=1.0, linestyle="--", label="floor")
    if len(every) == 1 and floor <= LEAST:
        axes.get_legend().remove()
    else:
        axes.legend()
