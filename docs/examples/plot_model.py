"""
A model: naive beside corrected
===============================

Whoever fits a model to noisy records as if they were true gets slopes that are too small, and narrow intervals
around them (squares). Corrected estimates (circles) are right on average; the price is a wider interval.
"""

import versadp as vdp

release = vdp.example(20_000)
result = vdp.fit(release, "visits ~ age + income")
figure = result.plot(apart=True)

# %%
# The people were made up with 0.06 visits a year of age.

print(result.summary())
