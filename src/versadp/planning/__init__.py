"""Planning for the precision of a model, on simulated people: never on private data.

assumptions     statements of the provider: marginals, correlations, coefficients, residual
marginals       quantile function of a column from such statements
simulate        made-up people, their response, and its raw precision
moments         standard errors in closed form: linear regression through windows
precision       standard errors under a mechanism, by moments or by fits to made-up releases
plan            the least epsilon for a wanted precision, and the ways to it (options)
rehearsal       release, fit, coverage and audit with simulated people
"""
