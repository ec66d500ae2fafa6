"""Device reports in great number: the noise of devices as arrays, and their lines."""

import hashlib
import json

import numpy as np

import versadp as vdp
from versadp.devices import fingerprint

SCHEMA = vdp.Schema(
    {
        "age": vdp.Bounded(18, 90, step=1),
        "region": vdp.Categorical(["n", "e", "s", "w"], nullable=True),
        "since": vdp.Dates("1990-01-01", "2020-12-31", nullable="public"),
        "bought": vdp.Public(),
    }
)
MECH = vdp.Mechanism(
    SCHEMA,
    noise={
        ("age", "region"): vdp.noise.Window(4, cells=72, window=12),
        "since": vdp.noise.Window(4, cells=11322, window=1501),
    },
)
PUBLIC = {"bought": [0, 1]}
ROUND = "2026-11"


def places(mechanism, n, rng):
    """Return the places of n reports by column: made-up people, noised by the blocks; null is publicly missing."""
    out = {}
    for block in mechanism.blocks:
        values = []
        for name in block.columns:
            column = mechanism.schema.columns[name]
            if isinstance(column, vdp.Categorical):
                drawn = rng.integers(0, len(column.levels), n).astype(float)
            else:
                drawn = column.lower + (column.upper - column.lower) * rng.beta(4, 5, n)
            if column.nullable:
                drawn[rng.random(n) < 0.1] = np.nan
            values.append(drawn)
        content = np.stack(values)
        block.to_content(content)
        block.add_noise(content, rng.integers(0, 2**64, (block.words, n), dtype=np.uint64))
        for name, row in zip(block.columns, content, strict=True):
            out[name] = [None if np.isnan(place) else int(place) for place in row]
    return out


def reports(n, *, mechanism=MECH, seed=0, public=PUBLIC, **head):
    """Return n reports of honest devices, as objects."""
    rng = np.random.default_rng(seed)
    columns = places(mechanism, n, rng)
    for name in mechanism.schema.public:
        columns[name] = [public[name][k] for k in rng.integers(0, len(public[name]), n)]
    name = fingerprint(mechanism)
    return [
        {
            "format": "versadp report",
            "version": 1,
            "mechanism": name,
            "round": ROUND,
            "id": hashlib.sha256(f"{seed} {k}".encode()).hexdigest(),
            "values": {each: columns[each][k] for each in mechanism.schema.columns},
        }
        | head
        for k in range(n)
    ]


def lines(made):
    """Return reports as lines."""
    return [json.dumps(report).encode() for report in made]


def collector(folder, **options):
    """Open a collector of these reports, with little to ask."""
    return vdp.devices.Collector(folder, MECH, **({"round": ROUND, "least": 10, "public": PUBLIC} | options))


def release_bytes(folder):
    """Return the files of a collection's release."""
    return {path.name: path.read_bytes() for path in sorted((folder / "release").iterdir())}
