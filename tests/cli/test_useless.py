"""`versadp release` refuses noise under which the data tell nothing."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli.main import main


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_worthless_release_is_refused_unless_accepted(tmp_path, kind):
    vdp.Schema({"age": vdp.Bounded(18, 90)}).to_toml(tmp_path / "schema.toml")
    table = pa.table({"age": [30.0, 50.0] * 100})
    data = tmp_path / f"people.{kind}"
    (pyarrow.csv.write_csv if kind == "csv" else pyarrow.parquet.write_table)(table, data)
    words = ["release", str(data), "--schema", str(tmp_path / "schema.toml"), "--out", str(tmp_path / "out")]
    words += ["--state", str(tmp_path / "state"), "--epsilon", "0.1"]
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code != 0
    said = refused.output + str(refused.exception)
    assert "no mean of any column" in said
    assert not (tmp_path / "out").exists()
    accepted = CliRunner().invoke(main, [*words, "--accept-useless"])
    assert accepted.exit_code == 0, accepted.output
    assert len(vdp.load(tmp_path / "out")) == 200
