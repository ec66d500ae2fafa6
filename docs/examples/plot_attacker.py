"""
What the best attacker can do
=============================

Somebody has two guesses about one person and looks at the release. For every rate of false alarms the curve has
the least rate of misses that anybody can reach. On the dashed diagonal the release tells nothing.
"""

import versadp as vdp

schema = vdp.Schema({"age": vdp.Bounded(18, 90), "income": vdp.Bounded(0, 120_000)})
levels = {f"epsilon {epsilon}": vdp.calibrate(schema, epsilon=epsilon).privacy("record") for epsilon in (1, 2, 4)}
first, *others = levels
figure = levels[first].plot(show="tradeoff", label=first, beside={name: levels[name] for name in others})

# %%
# One number that people understand: how many of those they look for does the attacker find, at 1% false alarms?

for name, profile in levels.items():
    print(f"{name}: at most {1 - profile.beta(0.01):.1%}; by guessing 1%")
