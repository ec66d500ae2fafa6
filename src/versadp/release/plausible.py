"""Could these values have come out of this mechanism?

A column that was scaled, rounded or clipped after release no longer carries the noise that the correction assumes.
Released values lie on a fine grid, so this shows at once. A researcher's own noise need not be on the grid; then the
spread must fit: noise alone has variance `(1 - r) sigma^2`, and bounded values add at most `width^2 / 4`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise.laplace import ZeroInflatedLaplace
    from versadp.release.mechanism import Mechanism
    from versadp.release.table import Table

HINT = (
    "undo what was done to the column after release; if the noise is your own and you know better, "
    "use Release.from_frame(..., on_grid=False)"
)


def check_noise(table: Table, mechanism: Mechanism, *, strict: bool) -> None:
    """Raise if a numeric column cannot be the mechanism's output."""
    laplace = mechanism.channels.laplace
    if laplace is None:
        return
    off = laplace.off_grid(np.stack(list(table.numeric.values())))
    for j, (name, values) in enumerate(table.numeric.items()):
        if off[j] and (strict or not _spread_fits(values, laplace, j)):
            raise DataError(
                f"column {name!r} has {off[j]} of {values.size} values off the release grid: "
                "it was changed after release",
                hint=HINT,
            )


def _spread_fits(values: NDArray[np.float64], laplace: ZeroInflatedLaplace, j: int) -> bool:
    """Tell whether mean and variance lie where the mechanism can put them, give or take five standard errors."""
    n = values.size
    if n < 2:
        return True
    width, noise = float(laplace.width[j]), (1 - laplace.exact_rate) * float(laplace.sigma[j]) ** 2
    mean_slack = 5 * np.sqrt((width**2 / 4 + noise) / n)
    # the fourth moment of Laplace noise is 6 sigma^4, that of bounded values at most width^4 / 16
    variance_slack = 5 * np.sqrt((6 * laplace.sigma[j] ** 4 + width**4 / 16 + 6 * width**2 * noise / 4) / n)
    mean, variance = values.mean(), values.var(ddof=1)
    return bool(
        laplace.lower[j] - mean_slack <= mean <= laplace.upper[j] + mean_slack
        and noise - variance_slack <= variance <= noise + width**2 / 4 + variance_slack
    )
