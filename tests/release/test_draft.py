"""A drafted schema says which columns are named like identifiers and which have missing values, and no value."""

import pandas as pd
import pytest

from versadp.release.files.draft import draft_schema

PEOPLE = pd.DataFrame(
    {
        "patient_id": [40417, 40418, 40419],
        "age": [31.25, None, 77.5],
        "region": ["Ys", "Ker", None],
        "paid": [1.5, 2.5, 3.5],
    }
)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_draft_says_what_is_missing_and_what_identifies(tmp_path, ending):
    path = tmp_path / f"people.{ending}"
    PEOPLE.to_csv(path, index=False) if ending == "csv" else PEOPLE.to_parquet(path)
    entries = dict(part.split("\n", 1) for part in draft_schema(path).split("[columns.")[1:])
    assert 'write id = "patient_id" above' in entries['"patient_id"]']
    assert "has missing values: add nullable = true" in entries['"age"]']
    assert "has missing values: add nullable = true" in entries['"region"]']
    assert "#" not in entries['"paid"]']
    assert not any(value in draft_schema(path) for value in ("4041", "31.25", "77.5", "Ys", "Ker"))
    assert "Can one person have several rows?" in draft_schema(path)
