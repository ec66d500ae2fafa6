"""The pictures of the documentation, made by the library itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import versadp as vdp
from versadp.display.pictures import curves, estimates_apart, new_figure
from versadp.fitting.example import people


def first() -> object:
    """Draw slopes: raw, naive and corrected."""
    raw = people(20_000).drop_columns(["year"]).to_pandas()
    schema = vdp.Schema(
        {
            "age": vdp.Bounded(18, 90),
            "income": vdp.Bounded(0, 120_000),
            "visits": vdp.Bounded(0, 10),
        }
    )
    release = vdp.calibrate(schema, epsilon=4).release(raw[["age", "income", "visits"]])
    result = vdp.fit(release, "visits ~ age + income")
    naive = vdp.fit(release, "visits ~ age + income", method="naive")
    X = np.column_stack([np.ones(len(raw)), raw["age"], raw["income"]])
    unit = np.array([10.0, 10_000.0])
    true = unit * np.linalg.lstsq(X, raw["visits"], rcond=None)[0][1:]
    drawn = {
        "corrected": (unit * result.params.values[1:], unit[:, None] * result.conf_int().values[1:]),
        "naive": (unit * naive.params.values[1:], unit[:, None] * naive.conf_int().values[1:]),
        "raw data": (true, np.column_stack([true, true])),
    }
    return estimates_apart(
        ["visits for ten more years of age", "visits for 10,000 more of income"], drawn, x="slope, with 95% interval"
    )


def tradeoff() -> object:
    """Draw trade-off curves of windows at three epsilons."""
    schema = vdp.Schema({"income": vdp.Bounded(0, 120_000)})
    alpha = np.linspace(0, 1, 101)
    lines = {f"epsilon {e}": (alpha, vdp.calibrate(schema, epsilon=e).privacy().beta(alpha)) for e in (1, 2, 4)}
    figure = new_figure(5.0, 3.6)
    axes = figure.subplots()
    curves(lines, x="false alarms", y="misses", axes=axes)
    axes.plot(alpha, 1 - alpha, color="0.6", linestyle="--", linewidth=1.0)
    return figure


def correct() -> object:
    """Draw one column as it was released and as it is."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": np.clip(rng.gamma(9.0, 5.2, 20_000), 18, 90)})
    mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), scale=0.2, exact_rate=0.2)
    return vdp.describe(mech.release(frame))["age"].plot()


def unchanged() -> object:
    """Draw where the value 50 is released, with and without unchanged records."""
    figure = new_figure(5.0, 3.2)
    axes = figure.subplots()
    for rate, colour, style in ((0.0, "0.45", "--"), (0.1, "#0072b2", "-")):
        mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(0, 100)}), scale=0.2, exact_rate=rate)
        seen = np.asarray(mech.release(pd.DataFrame({"age": np.full(40_000, 50.0)})).frame["age"])
        shares, ends = np.histogram(seen, np.linspace(-20.5, 120.5, 142))
        axes.stairs(shares / seen.size, ends, color=colour, linestyle=style, label=f"exact rate {rate:g}")
    axes.set(xlabel="released, where the truth is 50", ylabel="share")
    axes.legend()
    return figure


def draw_all(folder: Path) -> None:
    """Write every picture that is not there yet."""
    folder.mkdir(exist_ok=True)
    for make in (first, tradeoff, correct, unchanged):
        place = folder / f"{make.__name__}.svg"
        if not place.exists():
            make().savefig(place)


def scrape(_block: object, block_vars: dict, gallery_conf: dict) -> str:
    """Give the gallery the figures of a block: ours belong to no window, so that they are found by name."""
    from matplotlib.figure import Figure
    from sphinx_gallery.scrapers import figure_rst

    names = block_vars["example_globals"]
    paths = []
    for figure in [each for each in names.values() if isinstance(each, Figure) and not getattr(each, "_shown", False)]:
        path = next(block_vars["image_path_iterator"])
        figure.savefig(path, dpi=150)
        figure._shown = True  # noqa: SLF001 - a mark of our own
        paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"]) if paths else ""
