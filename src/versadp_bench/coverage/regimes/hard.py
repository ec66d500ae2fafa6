"""Questions that were asked of releases and once answered wrongly, or not at all."""

from __future__ import annotations

from versadp.losses import Check, Huber, Quantile
from versadp_bench.coverage.covariates import Covariates
from versadp_bench.coverage.populations import Bare, Incomes, Index, Resampled
from versadp_bench.coverage.regime import Calibrated, Regime, Scaled, Windowed

_TWO = Covariates("uniform", 2)
_AGE = Covariates("calendar", 1)
_README = Scaled(0.5, 0.05, keep=0.4)
_GEMS = Resampled("gems")

ROWS = (
    Regime("income, quantile 0.1", Incomes(), 10_000, _README, loss=Quantile("income", 0.1)),
    Regime("income, quantile 0.9", Incomes(), 10_000, _README, loss=Quantile("income", 0.9)),
    Regime("waits, quantile 0.1", Bare(Covariates("skewed", 2)), 2000, Scaled(0.5, 0.1), loss=Quantile("x0", 0.1)),
    Regime("price, quantile 0.1", _GEMS, 10_000, Calibrated(4, 0.1), loss=Quantile("price", 0.1)),
    Regime(
        "check 0.9, steep",
        Index(_TWO, (5.0, -5.0), 1.0, sigma=0.3),
        2000,
        Scaled(0.25, 0.1),
        "y ~ x0 + x1",
        Check(0.9),
    ),
    Regime(
        "check 0.9, private response",
        Index(_TWO, (1.0, -0.5), sigma=0.5, private=(-4.0, 4.0)),
        20_000,
        Scaled(0.25, 0.1),
        "y ~ x0 + x1",
        Check(0.9),
    ),
    Regime(
        "check 0.1, exponential",
        Index(_TWO, (1.0, -1.0), 1.0, "exponential"),
        20_000,
        Scaled(0.1, 0.05),
        "y ~ x0 + x1",
        Check(0.1),
    ),
    Regime(
        "age and year",
        Index(Covariates("calendar", 2), (0.05, 0.1), -200.0),
        10_000,
        Scaled(0.25, 0.05),
        "y ~ age + year",
    ),
    Regime(
        "age and its square",
        Index(_AGE, (0.1, -0.001), also="square"),
        10_000,
        Scaled(0.25, 0.05),
        "y ~ age + I(age**2)",
    ),
    Regime(
        "age and its log",
        Index(_AGE, (-0.05, 3.0), also="log"),
        10_000,
        Scaled(0.25, 0.05),
        "y ~ age + np.log(age)",
    ),
    Regime("price, curve", _GEMS, 10_000, Calibrated(8, 0.1), "price ~ carat + I(carat**2)"),
    Regime("price, Huber", _GEMS, 10_000, Calibrated(8, 0.1), "price ~ carat", Huber()),
    Regime("price, Huber 1000", _GEMS, 10_000, Calibrated(8, 0.1), "price ~ carat", Huber(1000.0, scale=1.0)),
    Regime("narrow", Index(Covariates("narrow", 2), (2.5, 0.5), sigma=0.3), 4000, Windowed(6), "y ~ x0 + x1"),
    Regime(
        "narrow, more noise", Index(Covariates("narrow", 2), (2.5, 0.5), sigma=0.3), 4000, Windowed(4), "y ~ x0 + x1"
    ),
    Regime("twins", Index(Covariates("twins", 2), (1.0, 0.5), sigma=0.5), 4000, Windowed(6), "y ~ x0 + x1"),
    Regime(
        "narrow, logistic",
        Index(Covariates("narrow", 2), (2.0, 1.0), response="event"),
        20_000,
        Windowed(4),
        "y ~ x0 + x1",
        "logistic",
    ),
    Regime(
        "scales 0.05 and 3",
        Index(_TWO, (1.0, 1.0)),
        2000,
        Scaled((0.05, 3.0), 0.02),
        "y ~ x0 + x1",
    ),
)
