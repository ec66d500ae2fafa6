"""Pictures: named curves or bars in, a figure out. Needs matplotlib, which is an extra.

What is drawn can be told apart by line, marker or filling alone; colours, which the colour-blind can tell apart too,
only help. `svg.py` knows the few that are used, and lets a page choose them by its scheme.
"""

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
    Outline = tuple[NDArray[np.float64], NDArray[np.float64]]  # ends of cells, one more than there are; heights

BLUE, RED, GREEN = "#0072b2", "#d55e00", "#009e73"
LINES = ((BLUE, "-"), (RED, (0, (5, 2))), (GREEN, (0, (1, 1.2))), ("0.45", (0, (6, 2, 1, 2))), ("black", (0, (9, 2))))
SHORT = 22  # letters of a name in a picture


def curves(
    lines: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    x: str,
    y: str,
    title: str = "",
    path: str | Path | None = None,
    axes: Any = None,
) -> Any:
    """Draw named curves into one figure, and write it if a path is given.

    Parameters
    ----------
    lines : mapping of label to (x values, y values)
    x, y, title : str
        Labels.
    path : str or Path, optional
        File to write; the suffix decides the format.
    axes : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
        Belongs to no window.
    """
    if axes is None:
        axes = new_figure(6.0, 5.0).subplots()
    for k, (label, (xs, ys)) in enumerate(lines.items()):
        colour, style = LINES[k % len(LINES)]
        axes.plot(xs, ys, label=label, color=colour, linestyle=style)
    axes.set(xlabel=x, ylabel=y)
    axes.set_title(title, parse_math=False)
    if lines:
        axes.legend()
    if path is not None:
        axes.figure.savefig(path)
    return axes.figure


def bars(
    drawn: Mapping[str, Bars],
    *,
    y: str,
    path: str | Path | None = None,
    outlines: Mapping[str, Outline] | None = None,
    labels: tuple[str, str] = ("", ""),
) -> Any:
    """Draw bars with intervals, a picture for each name, side by side in one figure; and write it if a path is given.

    Parameters
    ----------
    drawn : mapping of name to (places, heights, ends, widths)
        Places are numbers or texts, ends of intervals are (bars, 2).
    y : str
        Label.
    path : str or Path, optional
        File to write; the suffix decides the format.
    outlines : mapping of name to (ends, heights), optional
        Steps that are drawn over the bars of a name; bars at texts stand at 0, 1, 2 and so on.
    labels : pair of str
        What bars and outlines are, where a picture has both.

    Returns
    -------
    matplotlib.figure.Figure
        Belongs to no window.
    """
    names = list(dict.fromkeys([*drawn, *(outlines or {})]))
    across = min(max(len(names), 1), 3)
    down = -(-max(len(names), 1) // across)
    figure = new_figure(5.0 if len(names) < 2 else 4.0 * across, 3.0 * down)
    every = figure.subplots(down, across, squeeze=False).ravel()
    for axes, name in zip(every, names, strict=False):
        if name in drawn:
            _bars(axes, drawn[name], labels[0])
        if name in (outlines or {}):
            ends, heights = (outlines or {})[name]
            axes.stairs(heights, ends, color=RED, linewidth=1.2, linestyle="--", label=labels[1])
            if name in drawn and all(labels):
                axes.legend()
        axes.set(ylabel=y)
        axes.set_ylim(bottom=0.0)
        axes.set_title(short(name, 40), parse_math=False)
    for axes in every[len(names) :]:
        axes.set_axis_off()
    if path is not None:
        figure.savefig(path)
    return figure


def _bars(axes: Any, drawn: Bars, label: str) -> None:
    """Draw bars with intervals; texts below them that would not fit side by side are turned."""
    import numpy as np

    places, heights, ends, widths = drawn
    texts = [short(each) for each in places] if any(isinstance(each, str) for each in places) else None
    at = np.arange(len(places)) if texts else places
    axes.bar(at, heights, width=widths, color="0.75", edgecolor="white", linewidth=0.6, label=label)
    axes.vlines(at, ends[:, 0], ends[:, 1], color="0.2", linewidth=1.0)
    if texts:
        turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if sum(map(len, texts)) > 40 else {}
        axes.set_xticks(at)
        axes.set_xticklabels(texts, parse_math=False, **turned)
    else:
        _few_ticks(axes, at)


def _few_ticks(axes: Any, at: Any) -> None:
    """Put a tick under each of a few whole numbers, and some elsewhere; thousands are set apart."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if len(at) <= 6 and all(float(each).is_integer() for each in at):
        axes.set_xticks(at)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))
    if max(map(abs, axes.get_xlim())) >= 1e4:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))


def heat_map(
    values: NDArray[np.float64],
    texts: Sequence[Sequence[str]],
    names: tuple[Sequence[Any], Sequence[Any]],
    labels: tuple[str, str],
    *,
    title: str = "",
    path: str | Path | None = None,
) -> Any:
    """Draw a matrix as shades of grey with a text in each cell, and write it if a path is given.

    Parameters
    ----------
    values : array (rows, columns)
        The darker, the larger; what is not a number stays white.
    texts : sequence of sequences of str
    names : pair of sequences
        Of rows and of columns.
    labels : pair of str
        What rows and columns are.
    title : str
    path : str or Path, optional
        File to write; the suffix decides the format.

    Returns
    -------
    matplotlib.figure.Figure
        Belongs to no window.
    """
    rows, columns = names
    figure = new_figure(1.6 + 1.25 * len(columns), 1.2 + 0.42 * len(rows))
    axes = figure.subplots()
    known = [float(each) for each in values.ravel() if each == each]  # noqa: PLR0124 - NaN is not itself
    low, high = min([*known, 0.0]), max([*known, 1e-300])
    # half of the scale stays unused, so that black text can be read on every shade
    axes.imshow(values, cmap="Greys", vmin=low, vmax=low + 2 * (high - low), aspect="auto")
    for i, line in enumerate(texts):
        for j, text in enumerate(line):
            axes.text(j, i, text, ha="center", va="center", fontsize="small", parse_math=False)
    axes.set_xticks(range(len(columns)))
    axes.set_xticklabels([short(name) for name in columns], parse_math=False)
    axes.set_yticks(range(len(rows)))
    axes.set_yticklabels([short(name) for name in rows], parse_math=False)
    axes.set_xlabel(labels[1], parse_math=False)
    axes.set_ylabel(labels[0], parse_math=False)
    axes.set_title(title, parse_math=False)
    if path is not None:
        figure.savefig(path)
    return figure


def short(text: Any, most: int = SHORT) -> str:
    """Return a text that is short enough for a picture, with signs in place of what cannot be printed.

    Examples
    --------
    >>> short("a rather long name of a level"), ascii(short("a" + chr(0)))[-5:-1]
    ('a rather long name of…', 'fffd')
    """
    whole = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in str(text))
    return whole if len(whole) <= most else whole[: most - 1].rstrip() + "…"


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
        axes = new_figure(6.0, 1.2 + 0.35 * len(names) * max(len(drawn), 1)).subplots()
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
    axes.set_yticklabels([short(name, 32) for name in names], parse_math=False)
    axes.set(xlabel=x, ylim=(len(names) - 0.5, -0.5))
    axes.set_title(title, parse_math=False)
    axes.legend()
    return axes


def estimates_apart(names: Sequence[str], drawn: Mapping[str, Dots], *, x: str, title: str = "") -> Any:
    """Draw estimates as `estimates` does, each name on an axis of its own: for numbers of different sizes.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = new_figure(6.0, 1.1 + 0.85 * len(names))
    every = figure.subplots(len(names), 1, squeeze=False).ravel()
    for j, (axes, name) in enumerate(zip(every, names, strict=True)):
        one = {label: (centre[j : j + 1], ends[j : j + 1]) for label, (centre, ends) in drawn.items()}
        estimates([name], one, x=x if axes is every[-1] else "", axes=axes)
        axes.locator_params(axis="x", nbins=5)
        axes.set_yticks([])
        axes.set_title(short(name, 48), parse_math=False, loc="left", fontsize="medium")
        if axes.get_legend() is not None:
            axes.get_legend().remove()
    marks, labels = every[0].get_legend_handles_labels()
    figure.legend(marks, labels, loc="outside upper right", ncols=len(drawn), frameon=False)
    if title:
        figure.suptitle(title, parse_math=False)
    return figure


def ranges(drawn: Mapping[str, tuple[float, tuple[float, float], tuple[float, float]]], *, x: str) -> Any:
    """Draw where something lies, a line for each name: mostly (thin) and half of the time (thick); 0 to 1 is shaded.

    Parameters
    ----------
    drawn : mapping of name to (a mark, ends of the thin line, ends of the thick one)
    x : str
        Label.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = new_figure(5.0, 0.9 + 0.32 * len(drawn))
    axes = figure.subplots()
    axes.axvspan(0.0, 1.0, color="0.75", alpha=0.4, linewidth=0)
    for k, (mark, mostly, half) in enumerate(drawn.values()):
        axes.plot(mostly, [k, k], color=BLUE, linewidth=1.5)
        axes.plot(half, [k, k], color=BLUE, linewidth=6, solid_capstyle="butt")
        axes.plot([mark], [k], "|", color="black", markersize=12)
    axes.set_yticks(range(len(drawn)))
    axes.set_yticklabels([short(name) for name in drawn], parse_math=False)
    axes.set(xlabel=x, ylim=(len(drawn) - 0.5, -0.5))
    return figure


def new_figure(width: float, height: float) -> Any:
    """Return a figure that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib is not installed", hint="pip install 'versadp[report]'") from None
    return Figure(figsize=(width, height), layout="constrained")
