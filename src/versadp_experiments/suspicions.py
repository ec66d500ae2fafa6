"""Stated against found: the same cells simulated under what the paper states and under what gives its figures.

Figures of columns that are alike (all slopes) are averaged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp_experiments import means, median
from versadp_experiments.cells import READINGS, cells
from versadp_experiments.comparing import rmse
from versadp_experiments.logistic import boxed
from versadp_experiments.printed import Key, published
from versadp_experiments.replication import replicate, truth
from versadp_experiments.sampling import draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp_experiments.cells import Cell

    Array = NDArray[np.float64]

FAR = 20.0  # errors are cut here: without a box a method may diverge
CASES = (
    ("table1", 500, 1, ("SL", "DR")),
    ("table2", 5000, 0, ("Oracle", "Naive", "SL", "sDR", "DR")),
    ("table2", 5000, 1, ("Oracle", "Naive", "SL", "sDR", "DR")),
    ("table3", 2500, 0, ("Oracle", "Naive", "sCL", "DR")),
)
ALIKE = {
    "table1": (("relu", (0,)), ("indicator", (1,)), ("absolute_sine", (2,))),
    "table2": (("slopes", tuple(range(6))),),
    "table3": (("intercept", (0,)), ("slopes", tuple(range(1, 7)))),
}
BOXES = ((0.0, 2.0), (-0.5, 2.0), (-2.0, 2.0), (0.0, 2.25), (0.0, 3.0), (-5.0, 5.0), None)


def errors(cell: Cell, reps: int, seed: int) -> dict[str, Array]:
    """Return the errors (reps, columns) of the paper's methods."""
    true = np.array(truth(cell.table))
    lines = [replicate(cell, rep, seed, with_ours=False)["paper"] for rep in range(reps)]
    return {m: np.clip(np.array([line[m] for line in lines]) - true, -FAR, FAR) for m in lines[0]}


def settings_rows(reps: int, seed: int) -> list[dict[str, Any]]:
    """Return published figures beside those of both readings, at the smallest sample size of each table."""
    rows = []
    for table, size, block, methods in CASES:
        of = {reading: cells(table, (size,), reading)[block] for reading in READINGS}
        wrong = {reading: errors(cell, reps, seed) for reading, cell in of.items()}
        for method in methods:
            for label, columns in ALIKE[table]:
                row = _published(of["found"], method, label, columns)
                for reading in READINGS:
                    value, error = rmse(wrong[reading][method][:, list(columns)])
                    row |= {reading: float(value.mean()), f"+- {reading}": float(error.mean())}
                rows.append(row)
    return rows


def _published(cell: Cell, method: str, label: str, columns: tuple[int, ...]) -> dict[str, Any]:
    figures = [f.value for k, f in published(cell.table).items() if k[:3] == (cell.n, cell.block, method)]
    return {
        "table": f"{cell.table} n={cell.n} block {cell.block + 1}",
        "method": method,
        "what": label,
        "published": float(np.mean([figures[j] for j in columns])),
    }


def box_rows(reps: int, seed: int) -> list[dict[str, Any]]:
    """Return the second block of Table 2 at n = 5000 under several boxes for theta."""
    printed, names = published("table2"), ("SL", "sDR", "DR")
    slopes = [f"beta_{j}" for j in range(1, 7)]
    first = {m: float(np.mean([printed[Key(5000, 1, m, slope)].value for slope in slopes])) for m in names}
    rows: list[dict[str, Any]] = [{"box for theta": "published", **first}]
    for box in BOXES:
        wrong = errors(replace(cells("table2", (5000,))[1], box=box), reps, seed)
        name = "none" if box is None else f"[{box[0]:g}, {box[1]:g}]"
        rows.append({"box for theta": name, **{m: float(rmse(wrong[m])[0].mean()) for m in names}})
    return rows


def start_rows(reps: int, seed: int) -> list[dict[str, Any]]:
    """Return Table 3's DR at n = 2500, lambda = 2, from several starts: its loss has many local minima."""
    cell = cells("table3", (2500,))[0]
    figures = [f.value for k, f in published("table3").items() if k[:3] == (cell.n, 0, "DR")]
    rows: list[dict[str, Any]] = [
        {"start": "published", "intercept": figures[0], "slopes": float(np.mean(figures[1:])), "+- slopes": None}
    ]
    rngs = [np.random.default_rng([seed, 4, rep]) for rep in range(reps)]
    losses = [(median.doubly_random(cell, draw(cell, rng)), rng) for rng in rngs]
    for name in ("0", "the truth", "anywhere in the box"):
        starts = [{"0": np.zeros(7), "the truth": np.ones(7)}.get(name, rng.uniform(0, 2, 7)) for _, rng in losses]
        pairs = zip(losses, starts, strict=True)
        value, error = rmse(np.array([boxed(loss, start, cell.box) for (loss, _), start in pairs]) - 1.0)
        means_ = {"slopes": float(value[1:].mean()), "+- slopes": float(error[1:].mean())}
        rows.append({"start": name, "intercept": float(value[0]), **means_})
    return rows


def sine_rows(seed: int, draws: int = 2_000_000) -> list[dict[str, Any]]:
    """Return the large-sample error of SL for |sin 2 pi x| under several readings; the last but one comes closest."""
    rng, sine = np.random.default_rng([seed, 3]), means.absolute_sine
    rows: list[dict[str, Any]] = []
    for noise, printed in ((0.94, 0.433), (0.938, 0.433), (1.2, 0.796), (1.198, 0.796), (1.4, 0.796)):
        x = rng.random(draws) + noise * rng.laplace(size=draws) / 2**0.5
        half, mean, step = noise**2 / 2, float(sine(x).mean()), 0.05
        difference = float((sine(x + step) - 2 * sine(x) + sine(x - step)).mean()) / step**2
        rows.append(
            {
                "lambda": noise,
                "published": printed,
                "f'' almost everywhere": mean * (1 + half * 4 * np.pi**2) - 2 / np.pi,
                "the same, theta in [0, 2]": 2 - 2 / np.pi,
                "f'' without (2 pi)²": mean * (1 + half) - 2 / np.pi,
                "differences of step 0.05": mean - half * difference - 2 / np.pi,
                "|sin x|, lambda² for lambda²/2": float(np.abs(np.sin(x)).mean()) * (1 + 2 * half) - 2 / np.pi,
                "no correction": mean - 2 / np.pi,
            }
        )
    return rows
