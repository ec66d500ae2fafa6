"""Real tables, resampled as populations."""

from __future__ import annotations

from versadp.losses import Check, Mean
from versadp_bench.coverage.populations import Resampled
from versadp_bench.coverage.regime import Calibrated, Regime, Scaled

_FAIR = Resampled("fair")
_RAND = Resampled("rand")

ROWS = (
    Regime("Fair, (4, 1e-5)", _FAIR, 6366, Calibrated(4, 1e-5), "affair ~ rate_marriage", "logistic"),
    Regime("Fair, (4, 1e-3)", _FAIR, 6366, Calibrated(4, 1e-3), "affair ~ rate_marriage", "logistic"),
    Regime("Fair, mild", _FAIR, 6366, Scaled(0.2, 0.05), "affair ~ rate_marriage + yrs_married", "logistic"),
    Regime("RAND HIE, counts", _RAND, 20_000, Scaled(0.2, 0.05), "mdvis ~ lncoins + disea", "poisson"),
    Regime("RAND HIE, squared", _RAND, 20_000, Scaled(0.2, 0.05), "mdvis ~ lncoins + disea + physlm"),
    Regime("RAND HIE, mean", _RAND, 20_000, Scaled(0.5, 0.05), loss=Mean("disea")),
    Regime("ANES 96", Resampled("anes"), 944, Scaled(0.15, 0.1), "vote ~ income + educ", "logistic"),
    Regime("breast cancer", Resampled("cancer"), 569, Scaled(0.15, 0.1), "malignant ~ texture", "logistic"),
    Regime("diabetes", Resampled("diabetes"), 442, Scaled(0.15, 0.1), "progression ~ bmi + bp"),
    Regime("diabetes, median", Resampled("diabetes"), 442, Scaled(0.15, 0.2), "progression ~ bmi", Check()),
)
