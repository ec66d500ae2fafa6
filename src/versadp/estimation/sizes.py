"""Sizes of samples and of partitions, in records or in numbers: the one place that states them.

A random part of the records serves wherever only a start, weights or a rough look is wanted: such sizes are chosen, and
the comment says what they come to. They decide how precise an estimate is, never what it estimates.
"""

# records ------------------------------------------------------------------------------------------------------------
SAMPLE_ROWS = 100_000  # random part of a release that is kept in memory for starts and weights: 20 columns take 16 MB
PART_ROWS = 20_000  # random part by which weights, scales and variances are judged: normal ones are then known to 0.5%
REHEARSED_ROWS = 2_000  # records that are released again: their covariance is pooled with that of the data
REHEARSE_BELOW = 10_000  # records: a distribution function of more needs no rehearsal; chosen, above STEADY_FROM
STEADY_FROM = 4_000  # records: one coefficient's weights need no rehearsal then, which gains 0.2 to 0.4% at 5,000
BASIS_ROWS = 4_000  # records by which columns of a design are compared: cosines are then off by 1.6%
FEW_GROUPS = 50  # absorbed groups from which standard errors are by clusters of them; fewer say too little: customary
FEW_ROWS = 5_000  # records by which curvature is judged at least: its standard deviation is then known to 1%

# numbers that are worked on or kept at a time ---------------------------------------------------------------------
KEPT_NUMBERS = 30_000_000  # numbers that are kept between passes over the records: 240 MB
NUMBERS_AT_ONCE = 2_000_000  # numbers that are worked on at a time: 16 MB
JUDGED_NUMBERS = 200_000  # records times coefficients by which curvature is judged: chosen

# points ---------------------------------------------------------------------------------------------------------------
MOST_LISTED = 2**15  # lattice points of the columns of a fit that are all looked at: totals are exact there
UNIFORM_POINTS = 2**16, 2**15  # points of more, of losses with kinks and without: docs/theory/totals.md has the error
