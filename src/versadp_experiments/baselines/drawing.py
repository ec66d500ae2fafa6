"""Pictures of the comparisons: small, and made from the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from versadp.errors import MissingExtraError
from versadp_experiments.baselines.versatility import ANALYSES, ONCE, SETTINGS, SHARED

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = dict[str, Any]
COLOURS = dict(zip((*SHARED, *ONCE), ("C1", "C2", "C4", "C5", "C4", "C5"), strict=True))
OURS = {"windows, shuffled": "C0", "windows": "C3", "ZIL": "C6"}


def figure(width: float, height: float) -> Any:
    """Return a figure that belongs to no window.

    Examples
    --------
    >>> figure(2.0, 1.0).get_size_inches().tolist()
    [2.0, 1.0]
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib is not installed", hint="pip install 'versadp[report]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def versatility(table: Sequence[Row], path: str) -> None:
    """Draw the error over the number of analyses, a panel for each budget."""
    picture = figure(9.5, 4.4)
    panels, known = picture.subplots(1, len(SETTINGS), sharey=True, squeeze=False)[0], {}
    for axes, setting in zip(panels, SETTINGS, strict=True):
        here = {(row["method"], row["analyses"]): row["rmse"] for row in table if row["total"] == setting.name}
        for name in SHARED:
            known[name] = axes.plot(ANALYSES, [here[name, m] for m in ANALYSES], "o-", color=COLOURS[name], ms=3)[0]
        for name in ONCE:
            known[name] = axes.axhline(here[name, None], color=COLOURS[name], ls=":")
        for name in setting.releases:
            known[f"one release: {name}"] = axes.axhline(here[name, None], color=OURS[name], lw=2.5)
        known["no privacy"] = axes.axhline(here["no privacy", None], color="0.6", lw=1)
        axes.set(xscale="log", yscale="log", xlabel="analyses under one budget", title=f"total {setting.name}")
    panels[0].set_ylabel("root mean square error of a slope")
    picture.legend(known.values(), known, loc="outside lower center", ncols=4, fontsize=7)
    picture.savefig(path, dpi=72)


def intervals(table: Sequence[Row], path: str, title: str) -> None:
    """Draw estimates with intervals: a row a coefficient, a mark a level; the scale is the raw standard error."""
    names = list(dict.fromkeys(row["term"] for row in table))
    levels = list(dict.fromkeys(row["level"] for row in table))
    picture = figure(6.5, 0.8 + 0.45 * len(names))
    axes = picture.subplots()
    for k, level in enumerate(levels):
        for i, name in enumerate(names):
            for row in (r for r in table if r["term"] == name and r["level"] == level):
                y = i + 0.22 * (k - (len(levels) - 1) / 2)
                if row["low"] is not None and row["high"] is not None:
                    axes.plot([row["low"], row["high"]], [y, y], color=f"C{k}", lw=1.5)
                if row["estimate"] is not None:
                    axes.plot(row["estimate"], y, "o", ms=3, color=f"C{k}")
        axes.plot([], [], "o-", ms=3, lw=1.5, color=f"C{k}", label=level)  # also of a level without an estimate
    axes.axvline(0.0, color="0.7", lw=0.8)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=6)
    picture.savefig(path, dpi=80)
