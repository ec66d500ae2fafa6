"""The pictures of the documentation, made by the library itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import versadp as vdp
from versadp.display.pictures import curves, estimates_apart, new_figure
from versadp.models.example import people


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
    true = np.linalg.lstsq(X, raw["visits"], rcond=None)[0][1:]
    drawn = {
        "corrected": (result.params.values[1:], result.conf_int().values[1:]),
        "naive": (naive.params.values[1:], naive.conf_int().values[1:]),
        "raw data": (true, np.column_stack([true, true])),
    }
    return estimates_apart(["visits per year of age", "visits per unit of income"], drawn, x="slope")


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
    mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), scale=0.3, exact_rate=0.1)
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
