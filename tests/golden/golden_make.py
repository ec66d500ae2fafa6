"""How the golden files were made: by the code that wrote mechanisms and manifests of version 1.

They are kept as they are. This page says what is in them; it needs versadp as it was before blocks, and is not run any
more. `test_golden.py` holds the present code against them.
"""

import json
import shutil
import sys
import warnings
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
from versadp.release.planning import compare

import versadp as vdp
from versadp.release.folder import open_folder
from versadp_tests.golden_cases import (
    FITS,
    KEY,
    LARGE,
    MECHANISMS,
    PRIVATE,
    RECORD,
    large_people,
    people,
    release_of,
)

HERE = Path(__file__).parent


def columns(frame):
    return {name: frame[name].tolist() for name in frame.columns}


def made_from_files():
    """A release of a file with an id and one append, with its state; and the entries of one that was cut off."""
    place = Path("/tmp/versadp-golden")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    mech = vdp.Mechanism.from_json(MECHANISMS["people"])
    table = people().assign(pid=np.arange(len(people())) + 1000)
    table.to_parquet(place / "first.parquet")
    more = table.iloc[:40].assign(pid=lambda t: t["pid"] + 50_000)
    more.to_parquet(place / "second.parquet")
    vdp.release_file(place / "first.parquet", place / "released", mech, key=KEY, state=place / "state")
    shutil.copytree(place / "released", HERE / "files" / "released")
    shutil.copytree(place / "state", HERE / "files" / "state")
    from versadp.release.state import State

    with State(place / "state") as state:
        entries = state.ledger.entries
    vdp.append_file(place / "released", place / "second.parquet", state=place / "state")
    shutil.copytree(place / "released", HERE / "files" / "appended")
    return entries


def main():
    """Write everything."""
    warnings.simplefilter("ignore")
    out = {"mechanisms": {}, "fits": {}, "large": {}}
    for name, text in MECHANISMS.items():
        mech = vdp.Mechanism.from_json(text)
        folder = HERE / "releases" / name
        release_of(mech).save(folder)
        out["mechanisms"][name] = {
            "statement": mech.statement(),
            "plan": compare({"A": mech}, rows=1000),
            "delta": {unit: float(mech.privacy(unit).delta(1.0)) for unit in ("record", "attribute")},
            "digest": open_folder(folder).digest,
        }
        if mech.schema.numeric:
            out["mechanisms"][name]["second"] = columns(pd.DataFrame(release_of(mech).second(3)))
        if mech.exact_rate or not mech.schema.numeric:
            frame, weight, record = release_of(mech).augment(draws=2, return_record=True, random_state=5)
            out["mechanisms"][name]["augment"] = {
                "columns": columns(frame.head(300)),
                "weight": weight[:300].tolist(),
                "record": record[:300].tolist(),
            }
    out["privatize"] = vdp.Mechanism.from_json(MECHANISMS["people"]).privatize(RECORD | {"pid": "ann"}, key=KEY)
    out["privatize without a name"] = vdp.Mechanism.from_json(MECHANISMS["people"]).privatize(RECORD, key=KEY)
    large = vdp.Mechanism.from_json(LARGE).release(large_people(), key=KEY)
    out["large"]["columns"] = {
        name: sha256(np.ascontiguousarray(large.frame[name].to_numpy()).tobytes()).hexdigest() for name in PRIVATE
    }
    (HERE / "releases" / "large").mkdir(exist_ok=True, parents=True)
    for name, (where, make) in FITS.items():
        release = large if where == "large" else vdp.load(HERE / "releases" / where)
        result = make(release)
        out["fits"][name] = {
            "outcome": result.outcome,
            "params": np.asarray(result.params).tolist() if result.converged else None,
            "bse": np.asarray(result.bse).tolist() if result.converged else None,
            "effective_n": result.effective_n,
        }
    shutil.rmtree(HERE / "releases" / "large")
    out["results"] = vdp.fit(vdp.load(HERE / "releases" / "smooth"), "y ~ a + b", loss="logistic").to_dict()
    out["entries"] = made_from_files()
    (HERE / "golden.json").write_text(json.dumps(out, separators=(",", ":")))


if __name__ == "__main__":
    sys.exit(main())
