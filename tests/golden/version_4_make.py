"""Make the golden folder of version 4: a release of a file with its state, one append, and a second edition.

`python tests/golden/version_4_make.py`. NOT FINAL: while released totals and learnt bounds are to come, a change of the
format may make it anew. After that it stays as it is.
"""

import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import versadp as vdp

HERE = Path(__file__).parent / "version-4-not-final"
KEY, NEXT_KEY = bytes(range(7, 39)), bytes(range(90, 122))
SCHEMA = vdp.Schema(
    {
        "age": vdp.Bounded(18, 90, step=1),
        "income": vdp.Bounded(0, 5e5, nullable=True),
        "since": vdp.Dates("1990-01-01", "2026-12-31", nullable=True),
        "hours": vdp.Bounded(0, 80, nullable="public"),
        "region": vdp.Categorical(["n", "e", "s", "w"], nullable=True),
        "debts": vdp.Bounded(0, 1e5),
        "member": vdp.Categorical([False, True]),
        "year": vdp.Public(),
    },
    id="pid",
    rows_per_person=2,
)
NOISE = {
    ("age", "income", "since", "region"): vdp.noise.Window(epsilon=6),
    "hours": vdp.noise.Window(epsilon=3),
    "debts": vdp.noise.ZeroInflated(scale=0.5, exact_rate=0.1),
    "member": vdp.noise.Response(0.6),
}
METADATA = {"title": "Golden people", "curator": "Nobody", "purpose": "to stay as they are", "covers": "made-up people"}


def mechanism():
    return vdp.Mechanism(SCHEMA, noise=NOISE)


def people(n=300):
    """People with one or two rows each, in batches of who is first and who is appended."""
    rng = np.random.default_rng(4)
    who = np.sort(rng.choice(n, int(1.4 * n), replace=True))
    who = who[np.arange(len(who)) - np.searchsorted(who, who) < 2]
    rows = len(who)

    def some(values, share):
        return pd.Series(values).where(rng.random(rows) > share)

    return pd.DataFrame(
        {
            "pid": [f"person {k}" for k in who],
            "age": rng.integers(18, 91, rows),
            "income": some(5e5 * rng.beta(2, 5, rows), 0.2),
            "since": some(pd.Timestamp("1990-01-01") + pd.to_timedelta(rng.integers(0, 13_000, rows), "D"), 0.1),
            "hours": some(rng.uniform(0, 80, rows), 0.1),
            "region": some(rng.choice(["n", "e", "s", "w"], rows).astype(object), 0.1),
            "debts": 1e5 * rng.beta(1, 4, rows),
            "member": rng.random(rows) < 0.4,
            "year": rng.integers(2020, 2022, rows),
        }
    )


def files(place):
    """Write those who are released first, those who are appended, and all of them a year later."""
    every = people()
    late = every["pid"].isin([f"person {k}" for k in range(250, 300)])
    older = every.assign(age=np.minimum(every["age"] + 1, 90))
    for name, rows in (("first", every[~late]), ("second", every[late]), ("a year later", older)):
        rows.to_parquet(place / f"{name}.parquet", index=False)


def main():
    """Write everything."""
    os.environ["SOURCE_DATE_EPOCH"] = "1790000000"
    warnings.simplefilter("ignore")
    place = Path("/tmp/versadp-golden-4")
    for folder in (place, HERE):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    files(place)
    state = place / "state"
    metadata = vdp.Metadata(**METADATA)
    out = place / "released"
    vdp.release_file(place / "first.parquet", out, mechanism(), key=KEY, state=state, metadata=metadata, sign=True)
    for name in ("released", "state"):
        shutil.copytree(place / name, HERE / name)
    vdp.append_file(out, place / "second.parquet", state=state)
    vdp.release_file(
        place / "a year later.parquet", None, mechanism(), edition_of=out, key=NEXT_KEY, again="charge", state=state
    )
    shutil.copytree(out, HERE / "appended")


if __name__ == "__main__":
    main()
