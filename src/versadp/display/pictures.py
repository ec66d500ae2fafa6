"""Pictures: named curves or bars in, a figure out. Needs matplotlib, which is an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from versadp.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

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


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib is not installed", hint="pip install 'versadp[report]'") from None
    return Figure(figsize=(width, height), layout="constrained")
