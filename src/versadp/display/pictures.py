"""Pictures: named curves in, a figure out. Needs matplotlib, which is an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from versadp.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import ArrayLike


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
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib is not installed", hint="pip install 'versadp[report]'") from None
    figure = Figure(figsize=(6.0, 5.0), layout="constrained")
    axes = figure.subplots()
    for label, (xs, ys) in lines.items():
        axes.plot(xs, ys, label=label)
    axes.set(xlabel=x, ylabel=y, title=title)
    axes.legend()
    if path is not None:
        figure.savefig(path)
    return figure
