"""The pictures: box plots of Figure 2, curves of Figure 1, variances of the proposition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import privacy
from versadp.display.pictures import curves
from versadp.errors import MissingExtraError
from versadp_experiments import proposition, tradeoffs
from versadp_experiments.cells import COLUMNS
from versadp_experiments.comparing import outcome

if TYPE_CHECKING:
    from versadp_experiments.running import Plan
    from versadp_experiments.store import Store

BOXES = ("Oracle", "SL", "DR", "efficient")


def _figure(size: tuple[float, float]) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib is not installed", hint="pip install 'versadp[report]'") from None
    return Figure(figsize=size, layout="constrained")


def figure1(path: str, seed: int, draws: int = tradeoffs.DRAWS) -> None:
    """Draw both panels of Figure 1: exact curves, dots where the paper simulated."""
    figure = _figure((11.0, 5.0))
    left, right = figure.subplots(1, 2)
    alpha, dots = np.linspace(0.0, 1.0, 201), np.linspace(0.02, 0.94, 24)
    for axes in (left, right):
        axes.plot(alpha, 1 - alpha, color="c", label="nothing to learn")
        axes.set(xlabel="type I error", ylabel="type II error", xlim=(0, 1), ylim=(0, 1))
    for epsilon in tradeoffs.ENVELOPES:
        delta = float(tradeoffs.exact(None).delta(epsilon))
        left.plot(alpha, privacy.approx_dp(epsilon, delta).beta(alpha), color="k", linewidth=0.5)
    left.plot(alpha, tradeoffs.exact(None).beta(alpha), color="b", label="limit, exact")
    for dim, colour in ((2, "purple"), (4, "g")):
        left.plot(alpha, tradeoffs.exact(dim).beta(alpha), color=colour, label=f"d = {dim}, exact")
        drawn, _ = tradeoffs.simulated(dim, dots, draws, np.random.default_rng([seed, dim]))
        left.plot(dots, drawn, ".", color=colour, label=f"d = {dim}, simulated")
    right.plot(alpha, privacy.approx_dp(*tradeoffs.TARGET).beta(alpha), color="k", label="(0.8, 0.17)-DP")
    for shift, colour in zip(tradeoffs.SHIFTS, ("orange", "b", "g", "r"), strict=True):
        right.plot(alpha, tradeoffs.exact(None, shift).beta(alpha), color=colour, label=f"limit, c = {shift:g}")
    left.set_title("(a)")
    right.set_title("(b)")
    left.legend(fontsize="small")
    right.legend(fontsize="small")
    figure.savefig(path)


def figure2(store: Store, plan: Plan, path: str) -> None:
    """Draw box plots of the estimation errors: a row a block, a column a function, a group a sample size."""
    blocks, names = sorted({cell.block for cell in plan.cells}), COLUMNS[plan.table][:3]
    figure = _figure((13.0, 4.0 * len(blocks)))
    grid = figure.subplots(len(blocks), len(names), squeeze=False)
    for block in blocks:
        group = [cell for cell in plan.cells if cell.block == block]
        for j, name in enumerate(names):
            _boxes(grid[block][j], store, plan, group, j)
            grid[block][j].set_title(f"{name}, {group[0].name.split(' ', 1)[1]}", fontsize="small")
    grid[0][0].legend(fontsize="small")
    figure.savefig(path)


def _boxes(axes: Any, store: Store, plan: Plan, group: list[Any], column: int) -> None:
    width = 0.8 / len(BOXES)
    for k, method in enumerate(BOXES):
        found = [outcome(store, cell, method, plan.reps).wrong for cell in group]
        places = [i for i, wrong in enumerate(found) if len(wrong)]
        if not places:
            continue
        axes.boxplot(
            [found[i][:, column] for i in places],
            positions=[i + (k - 1.5) * width for i in places],
            widths=0.8 * width,
            showfliers=False,
            patch_artist=True,
            boxprops={"facecolor": f"C{k}"},
            medianprops={"color": "k"},
        )
        axes.plot([], [], color=f"C{k}", linewidth=5, label=method)
    axes.axhline(0.0, color="0.5", linewidth=0.5)
    if COLUMNS[plan.table][column] == "absolute_sine":  # where SL is off by more than ten
        axes.set_ylim(-1.0, 1.0)
        axes.text(
            0.5, 0.97, "SL lies above this picture", transform=axes.transAxes, ha="center", va="top", fontsize="small"
        )
    axes.set_xticks(range(len(group)), [str(cell.n) for cell in group])


def variances(path: str) -> None:
    """Draw the asymptotic variances of the proposition over delta; DR and SL cross at 1/2."""
    rates = np.linspace(0.12, 0.99, 200)
    found = [proposition.variances(float(rate)) for rate in rates]
    lines = {name: (rates, [v[name] for v in found]) for name in proposition.METHODS}
    title = "asymptotic variance, linear regression: DR and SL cross at 1/2"
    curves(lines, x="delta (exact rate)", y="n Var", title=title, path=path)
