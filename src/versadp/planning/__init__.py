"""Planning from the analyst's end, on made-up people: never on private data.

assumptions     what the provider states: marginals, correlations, coefficients, residual
marginals       from what is stated of a column to its quantile function
simulate        made-up people, their response, and what raw data would tell of it
moments         standard errors in closed form: linear regression through windows
precision       standard errors under a mechanism, by moments or by fits to made-up releases
plan            the least epsilon for a wanted precision, and the ways to it (options)
rehearsal       release, fit, coverage and audit before anything private is touched
"""
