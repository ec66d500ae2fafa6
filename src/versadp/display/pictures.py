"""Pictures: named curves or bars in, a figure out. Needs matplotlib, which is an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from versadp.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Dots = tuple[NDArray[np.float64], NDArray[np.float64]]  # estimates, ends of intervals
    Bars = tuple[Any, NDArray[np.float64], NDArray[np.float64], Any]  # places, heights, ends of intervals, widths


def curves(
    lines: Mapping[str, tuple[ArrayLike, ArrayLike]], *, x: str, y: str, title: str = "", path: str | Path | None = None
) -> Any:
    """Draw named curves into one figure, and write it if a path is given.

    Parameters
    ----------
    lines : mapping of label to (x values, y values)
    x, y, title : str
        Labels.
    path : str or Path, optional
        File to write; the suffix decides the format.

    Returns
    -------
    matplotlib.figure.Figure
        Belongs to no window.
    """
    figure = _figure(6.0, 5.0)
    axes = figure.subplots()
    for label, (xs, ys) in lines.items():
        axes.plot(xs, ys, label=label)
    axes.set(xlabel=x, ylabel=y, title=title)
    axes.legend()
    if path is not None:
        figure.savefig(path)
    return figure


def bars(drawn: Mapping[str, Bars], *, y: str, path: str | Path | None = None) -> Any:
    """Draw bars with intervals, a picture for each name, side by side in one figure; and write it if a path is given.

    Parameters
    ----------
    drawn : mapping of name to (places, heights, ends, widths)
        Places are numbers or texts, ends of intervals are (bars, 2).
    y : str
        Label.
    path : str or Path, optional
        File to write; the suffix decides the format.

    Returns
    -------
    matplotlib.figure.Figure
        Belongs to no window.
    """
    across = min(max(len(drawn), 1), 3)
    down = -(-max(len(drawn), 1) // across)
    figure = _figure(4.0 * across, 3.0 * down)
    every = figure.subplots(down, across, squeeze=False).ravel()
    for axes, (name, (places, heights, ends, widths)) in zip(every, drawn.items(), strict=False):
        axes.bar(places, heights, width=widths, color="0.75")
        axes.vlines(places, ends[:, 0], ends[:, 1], color="0.2", linewidth=1.0)
        axes.set(ylabel=y)
        axes.set_title(name, parse_math=False)
    for axes in every[len(drawn) :]:
        axes.set_axis_off()
    if path is not None:
        figure.savefig(path)
    return figure


def estimates(names: Sequence[str], drawn: Mapping[str, Dots], *, x: str, title: str = "", axes: Any = None) -> Any:
    """Draw estimates with intervals, a line for each name, several kinds of estimates beside each other.

    Kinds differ by marker, filling and grey, and by no colour.

    Parameters
    ----------
    names : sequence of str
    drawn : mapping of label to (estimates, ends of intervals)
        Ends are (names, 2), and may be infinite; what is not a number is not drawn.
    x, title : str
        Labels.
    axes : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    if axes is None:
        axes = _figure(6.0, 1.2 + 0.35 * len(names) * max(len(drawn), 1)).subplots()
    looks = (("o", "black", "black"), ("s", "0.45", "white"), ("^", "0.6", "0.8"))
    apart = 0.22
    finite = [
        value for centre, ends in drawn.values() for value in (*centre, *ends.ravel()) if abs(value) < float("inf")
    ]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    room = 0.05 * ((high - low) or 1.0)
    for k, (label, (centre, ends)) in enumerate(drawn.items()):
        marker, edge, face = looks[k % len(looks)]
        y = [j + apart * (k - (len(drawn) - 1) / 2) for j in range(len(names))]
        axes.hlines(y, ends[:, 0].clip(low - room), ends[:, 1].clip(None, high + room), color=edge, linewidth=1.2)
        axes.plot(centre, y, marker, color=edge, markerfacecolor=face, label=label, linestyle="none")
    axes.axvline(0.0, color="0.7", linewidth=0.8, linestyle="--", zorder=0)
    axes.set_yticks(range(len(names)))
    axes.set_yticklabels(names, parse_math=False)
    axes.set(xlabel=x, ylim=(len(names) - 0.5, -0.5))
    axes.set_title(title, parse_math=False)
    axes.legend()
    return axes


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib is not installed", hint="pip install 'versadp[report]'") from None
    return Figure(figsize=(width, height), layout="constrained")
