"""Statistical thresholds of fits, in one table: unit, role and source of each.

Sources are pages under `docs/`, a proof, or a plain reason; "chosen" says that the number is a judgement.
"""

# strength t of a coefficient's curvature: its mean over its sampling error
STRONG = 7.0  # below, Wald intervals cover too little and score sets are given (docs/theory/trust.md)
FOLLOWED = 4.0  # below, scores that bend are followed pass by pass: from here on closed sets were the same to 0.1 se
SEEN = 2.0  # below, curvature cannot be told from none, and a minimum is no estimate (docs/theory/trust.md)
STRENGTH_WITHOUT_BIAS = 25.0  # from there on the bias, of the order of 1/t standard errors, is not worth a pass

# standard errors
LARGEST_BIAS = 0.5  # beyond, terms of higher order matter, which are not estimated: chosen
PLAUSIBLE_RANGE = 2.0  # half-width of the range searched for curvature: that of a 95% interval
CURVATURE_REACH = 0.25  # standard deviations of the score over which curvature is judged without an estimate: chosen
LARGEST_DRIFT = 1.0  # that the change of curvature may move an updated estimate by; beyond, sums do not tell: chosen
SAFE_SAMPLING = 2.0  # added to an estimated sampling part of people with several rows: one-sided error 2.3%
KNOWN_SPREAD = 10.0  # of the variance of a noisy column: below, likelihood intervals were seen to be too short

# F statistics
FIRST_STAGE_F = 10.0  # below, instruments are weak and estimates not normal (Staiger and Stock 1997)

# numbers of records, or shares
RECORDS_BEYOND_QUANTILE = 10.0  # per coefficient, without noise: with fewer a quantile's estimate is not normal: chosen
RECORDS_PER_CONTRAST = 20.0  # that must count for a contrast: its error from normality is of the order of 1/20
FEW_RECORDS = 0.05  # share of them that lost coefficients may move out of a series, which errs little then: chosen
LEAST_CONTRAST = 0.01  # least eigenvalue of the contrasts' correlations, of the largest: smaller is rounding
KNOWN_SIZE_ERROR = 0.25  # relative standard error up to which a sample size is told: with 0.5 chance decides what is

# confidence levels
LEVELS = (0.95, 0.9, 0.99)  # whose interval ends are computed closely, the customary one first
