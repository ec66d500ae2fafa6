"""A fit as a page shows it: coefficients, naive beside corrected, and a forest plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.display.svg import inline
from versadp.models.fit import fit
from versadp.reporting.numbers import between, brief

if TYPE_CHECKING:
    from versadp.inference import Results
    from versadp.release.release import Release


def model(release: Release, formula: str, loss: Any, level: float) -> dict[str, Any]:
    """Fit a formula, and return the result, its table and its picture."""
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
    figure = result.plot(level=level, apart=True)
    rows = coefficients(result, level)
    return about | {"rows": rows, "picture": inline(figure, "forest", f"Coefficients of {formula}", words)}


def coefficients(result: Results, level: float) -> list[dict[str, str]]:
    """Return the coefficients as rows of texts, corrected and, if it can be had, naive."""
    ends = np.asarray(result.conf_int(level).values)
    naive = None
    if result.further is not None and result.method != "naive" and result.further.noisy:
        other = result.further.naive()
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
        rows.append(row)
    return rows
