"""
One column, as released and as it is
====================================

Noise makes a distribution wider (dashed). Its law is known, so that it can be undone: the bars are corrected
shares, with intervals that say how far to trust them.
"""

import numpy as np
import pandas as pd

import versadp as vdp

ages = np.random.default_rng(0).gamma(9.0, 5.2, 20_000).clip(18, 90)
mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), scale=0.2, exact_rate=0.2)
release = mech.release(pd.DataFrame({"age": ages}))
described = vdp.describe(release)
figure = described["age"].plot()

# %%
# The same in numbers, beside what the made-up people really are:

print(described.summary())
print(
    f"true mean {ages.mean():.2f}, true sd {ages.std():.2f}; sd of the released values {release.frame['age'].std():.2f}"
)
