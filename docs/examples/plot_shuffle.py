"""
Hiding in a crowd
=================

Rows leave in an order that tells nothing. Who does not know which row is whose has to find a person among all the
noise of all the others: the more people, the better each is hidden, with the *same* noise.
"""

import numpy as np
from matplotlib.figure import Figure

import versadp as vdp

schema = vdp.Schema({"age": vdp.Bounded(18, 90), "region": vdp.Categorical(["n", "e", "s", "w"])})
mech = vdp.calibrate(schema, epsilon=4)
crowds = np.array([1_000, 10_000, 100_000, 1_000_000])
hidden = [mech.privacy("record", shuffled=int(crowd)).epsilon(1e-6) for crowd in crowds]

figure = Figure(figsize=(6, 3.6), layout="constrained")
axes = figure.subplots()
axes.loglog(crowds, hidden, "o-", color="black", label="attacker who does not know the rows (delta 1e-6)")
axes.axhline(4, color="0.5", linestyle="--", label="attacker who knows which row is whose")
axes.set(xlabel="people in the release", ylabel="epsilon")
axes.legend()

# %%
# Or the other way round: how much less noise is enough, if the crowd is there?

for crowd in crowds[1:]:
    less = vdp.calibrate(schema, epsilon=1, delta=1e-6, shuffled=int(crowd))
    print(f"(1, 1e-6) among {crowd:>9,}: a record alone has epsilon {less.privacy('record').epsilon(0):.1f}")
