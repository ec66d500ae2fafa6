"""
An attack, held against the claim
=================================

Two people, 20 and 88 years old, go through the release forty thousand times each. The attacker decides by the
likelihood ratio, which no rule beats. What they reach (steps) is on the curve that was claimed, and not below.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import versadp as vdp

mech = vdp.calibrate(vdp.Schema({"age": vdp.Bounded(18, 90, step=1)}), epsilon=1)
n = 40_000
seen = [np.asarray(mech.release(pd.DataFrame({"age": np.full(n, age)})).frame["age"]) for age in (20.0, 88.0)]
values, codes = np.unique(np.concatenate(seen), return_inverse=True)
young, old = (np.bincount(part, minlength=values.size) / n for part in np.split(codes, 2))
order = np.argsort(-(old + 1e-5) / (young + 1e-5))
alarms, misses = np.cumsum(young[order]), 1 - np.cumsum(old[order])

figure = Figure(figsize=(6, 4.2), layout="constrained")
axes = figure.subplots()
alpha = np.linspace(0, 1, 201)
axes.plot(alpha, mech.privacy("record").beta(alpha), color="#0072b2", label="claimed: nobody gets below")
axes.plot([0, *alarms], [1, *misses], color="black", linestyle=":", linewidth=2, label="this attack")
axes.plot(alpha, 1 - alpha, color="0.6", linestyle="--", linewidth=1, label="guessing")
axes.set(xlabel="false alarms", ylabel="misses")
axes.legend()
