"""Random mechanisms and records, and what Python reports of them: the comparison of clients with Python.

python -m versadp_tests.device_parity MECHANISMS RECORDS SEED     cases as JSON lines, one mechanism per line
"""

import json
import random
import sys
from datetime import date, timedelta

import versadp as vdp
from versadp.devices.vectors_records import record_case

_NAMES = ["age", "größe", "日本", 'a "b"', "back\\slash", "__proto__", "0", "with space", "é", "constructor", "ß", "😀"]
_TEXTS = ["n", "s", "nörd", 'e"st', "s\\ud", "日本", "", "line\nbreak", "\u007f", "😀", "null", "1"]


def _bounded(rng, nullable):
    kind = rng.randrange(5)
    if kind == 0:
        lower = rng.randint(-100, 100)
        return vdp.Bounded(lower, lower + rng.randint(1, 300), step=1, nullable=nullable)
    if kind == 1:
        lower = rng.uniform(-1, 1) * 10.0 ** rng.randint(-8, 17)
        return vdp.Bounded(
            lower, lower + rng.random() * 10.0 ** rng.randint(-6, 17) + abs(lower) * 0.1, nullable=nullable
        )
    if kind == 2:
        return vdp.Bounded(0.1, 0.7, step=0.1, nullable=nullable)
    if kind == 3:
        return vdp.Bounded(0, 10 ** rng.randint(1, 7), nullable=nullable)
    steps = rng.randint(1, 40)
    width = rng.random() * 50 + 0.1
    return vdp.Bounded(0.0, width, step=width / steps, nullable=nullable)


def _categorical(rng, nullable):
    kind = rng.randrange(4)
    if kind == 0:
        return vdp.Categorical([False, True], nullable=nullable)
    if kind == 1:
        return vdp.Categorical(rng.sample(range(-50, 2**40), rng.randint(2, 8)), nullable=nullable)
    if kind == 2:
        return vdp.Categorical([f"c{k}" for k in range(rng.randint(2, 150))], nullable=nullable)
    return vdp.Categorical(rng.sample(_TEXTS, rng.randint(2, 8)), nullable=nullable)


def _column(rng):
    nullable = rng.choice([False, False, False, True, "public"])
    kind = rng.randrange(10)
    if kind < 4:
        return _bounded(rng, nullable)
    if kind < 8:
        return _categorical(rng, nullable)
    first = date(rng.randint(900, 2100), rng.randint(1, 12), rng.randint(1, 28))
    return vdp.Dates(first, first + timedelta(days=rng.randint(2, 20_000)), nullable=nullable)


def mechanism(rng):
    """Return a mechanism with one to seven private columns, in random blocks, and perhaps public and omitted ones."""
    names = rng.sample(_NAMES, rng.randint(1, 7))
    columns = {name: _column(rng) for name in names}
    noise, left = {}, names[:]
    while left:
        group = [left.pop() for _ in range(min(len(left), rng.choice([1, 1, 2, 3])))]
        if len(group) == 1 and isinstance(columns[group[0]], vdp.Categorical) and rng.random() < 0.5:
            noise[group[0]] = vdp.noise.Response(rng.choice([rng.random(), 0.5, 1e-3, 0.999]))
        else:
            epsilon = rng.choice([rng.uniform(0.05, 8), 1.0, 2.0, 4.0])
            noise[tuple(group)] = vdp.noise.Window(epsilon, delta=rng.choice([0.0, 0.0, 1e-6, 0.01]))
    others = {"public 1": vdp.Public(), "public 2": vdp.Public(), "note": vdp.Omitted()}
    columns |= {name: others[name] for name in rng.sample(list(others), rng.randint(0, 3))}
    order = rng.sample(list(columns), len(columns))
    return vdp.Mechanism(vdp.Schema({name: columns[name] for name in order}), noise=noise)


def cases(mechanisms, records, seed):
    """Yield a mechanism's JSON, its fingerprint, and records with their reports, so many times."""
    from versadp.devices import fingerprint

    rng = random.Random(seed)
    done = 0
    while done < mechanisms:
        try:
            mech = mechanism(rng)
        except vdp.errors.VersadpError:
            continue  # drawn at random, it may ask for what cannot be
        keys = [rng.randbytes(32) for _ in range(3)]
        made = [record_case(rng, done, mech, keys[k % 3]) for k in range(records)]
        yield {"mechanism": mech.to_json(), "fingerprint": fingerprint(mech), "records": made}
        done += 1


if __name__ == "__main__":
    for case in cases(*map(int, sys.argv[1:4])):
        sys.stdout.write(json.dumps(case) + "\n")
