"""A fit as a page shows it: coefficients, naive beside corrected, and a forest plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.display.numbers import between, brief
from versadp.display.svg import inline
from versadp.fitting.fit import fit
from versadp.reporting.original import original_fit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.inference import Results
    from versadp.release.release import Release

    Array = NDArray[np.float64]


def model(release: Release, formula: str, loss: Any, level: float, raw: Any = None) -> dict[str, Any]:
    """Fit a formula, and return its table and its picture; beside them the original data's, if they are given."""
    result = fit(release, formula, loss=loss)
    about: dict[str, Any] = {
        "formula": formula,
        "loss": result.loss,
        "outcome": str(result.outcome),
        "advice": result.advice or "",
        "records": f"{result.nobs:,}",
        "effective": None if result.effective_n is None else f"{result.effective_n:,.0f}",
        "answered": result.answered,
        "rows": [],
        "picture": "",
    }
    if not result.answered:
        return about
    words = "Corrected estimates are filled circles; naive ones, which take the noise for data, open squares."
    original = None if raw is None else original_fit(result, release, loss, raw)
    further = {}
    if original is not None:
        words += " Triangles are the original data."
        further = {"original": (original[0], ends_of(*original, level))}
    figure = result.plot(level=level, apart=True, further=further)
    rows = coefficients(result, level, original)
    return about | {"rows": rows, "picture": inline(figure, "forest", f"Coefficients of {formula}", words)}


def ends_of(estimate: Array, error: Array, level: float) -> Array:
    """Return Wald intervals, (coefficients, 2)."""
    from scipy.special import ndtri

    return np.asarray(estimate[:, None] + ndtri((1 + level) / 2) * error[:, None] * np.array([-1.0, 1.0]))


def coefficients(result: Results, level: float, original: tuple[Array, Array] | None = None) -> list[dict[str, str]]:
    """Return the coefficients as rows of texts: corrected, naive if it can be had, original if given."""
    ends = np.asarray(result.conf_int(level).values)
    naive = None
    if result.postestimation is not None and result.method != "naive" and result.postestimation.noisy:
        other = result.postestimation.naive()
        naive = other if other.converged else None
    rows = []
    for j, name in enumerate(result.names):
        row = {
            "coefficient": name,
            "estimate": brief(result.params.values[j]),
            "std error": brief(result.bse.values[j], 3),
            f"{100 * level:g}% interval": between(*ends[j]),
        }
        if naive is not None:
            row |= {"naive": brief(naive.params.values[j]), "naive interval": between(*naive.conf_int(level).values[j])}
        if original is not None:
            row |= {"original": brief(original[0][j])}
        rows.append(row)
    return rows
