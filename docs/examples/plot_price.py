"""
What privacy costs in precision
===============================

Before anything is released: how wide will the interval of a slope be, at which epsilon, from how many people?
Nothing private is needed for this, only the schema and what you assume.
"""

import numpy as np
from matplotlib.figure import Figure

import versadp as vdp

schema = vdp.Schema({"age": vdp.Bounded(18, 90), "visits": vdp.Bounded(0, 10)})
epsilons = np.array([1.0, 2.0, 3.0, 4.0, 6.0, 8.0])
figure = Figure(figsize=(6, 4), layout="constrained")
axes = figure.subplots()
for records, style in ((10_000, "-o"), (100_000, "--s"), (1_000_000, ":^")):
    ask = {"formula": "visits ~ age", "records": records}
    plans = [vdp.plan(schema, **ask, epsilon=float(each)) for each in epsilons]
    widths = [2 * 1.96 * plan.bse("one joint window")["age"] for plan in plans]
    axes.loglog(epsilons, widths, style, color="black", markersize=5, label=f"{records:,} people")
alone = 2 * 1.96 * plans[-1].raw[1] * 10  # of a million people; a hundred times fewer have ten times the width
axes.axhline(alone, color="0.6", linewidth=1, label="10,000 people, no noise")
axes.set(xlabel="epsilon of a whole record", ylabel="width of the 95% interval of the slope")
axes.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
axes.minorticks_off()
axes.legend()
