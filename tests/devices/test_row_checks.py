"""Rows are checked column by column: all places that the noise can give pass, and nothing else does."""

import json
from collections import Counter
from importlib.resources import files

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.devices import closing, fingerprint
from versadp.devices.reports import Expected, parse_reports
from versadp.devices.row_checks import RowChecks
from versadp.errors import ParameterError
from versadp_tests.reports import MECH, PUBLIC, ROUND, lines, reports

VECTORS = json.loads(files("versadp.devices").joinpath("vectors-4.json").read_text(encoding="utf-8"))


def test_checks_cover_every_output_and_no_other():
    """All places of all blocks pass, the ones next to them do not."""
    checks = RowChecks.of(MECH, PUBLIC).columns
    for name, n in (("age", 84), ("region", 5), ("since", 11322 + 1501)):
        places = checks[name].read(list(range(-1, n + 1)))
        assert places.tolist() == [-2, *range(n), -2]


def test_public_kinds(tmp_path):
    schema = vdp.Schema({"age": vdp.Bounded(18, 90), "a": vdp.Public(), "b": vdp.Public(), "c": vdp.Public()})
    mech = vdp.Mechanism(schema, noise={"age": vdp.noise.Window(2)})
    kinds = {"a": "number", "b": "text", "c": "truth"}
    fine = {"a": [1, 1e21], "b": ["x", "\u00e9"], "c": [True, False]}
    wrong = {
        "a": [True, "1", None, 10**400, [1], {}],
        "b": [1, None, "e\u0301", "\ud800", "x" * 201, "a\nb"],
        "c": [0, "true", None],
    }
    made = reports(60, mechanism=mech, public=fine)
    with vdp.devices.Collector(tmp_path / "round", mech, round=ROUND, least=1, public=kinds) as opened:
        assert opened.take(lines(made)) == {"taken": 60}
        for name, values in wrong.items():
            for value in values:
                bad = made[0] | {"values": made[0]["values"] | {name: value}}
                assert opened.take([json.dumps(bad)]) == {"public value of another kind": 1}, (name, value)
        table = opened.close_round().to_arrow()
    assert [str(table[name].type) for name in "abc"] == ["double", "large_string", "bool"]
    with pytest.raises(ParameterError, match="'a' needs a kind"):
        vdp.devices.Collector(tmp_path / "other", mech, round=ROUND, least=1)
    with pytest.raises(ParameterError, match="no public column 'd'"):
        vdp.devices.Collector(tmp_path / "other", mech, round=ROUND, least=1, public=kinds | {"d": "text"})
    assert not (tmp_path / "other").exists()


def public_kinds(mechanism, values):
    """Return kinds that fit public values as they are."""
    kinds = {bool: "truth", str: "text", int: "number", float: "number"}
    return {name: kinds[type(values[name])] for name in mechanism.schema.public}


@pytest.mark.filterwarnings("ignore::versadp.errors.ClampedWarning")
def test_the_reports_of_all_vectors_pass_and_none_with_a_place_too_many():
    """What clients in every language make; a report of another context or mechanism does not pass."""
    taken = Counter()
    for record in VECTORS["records"]:
        mechanism = vdp.Mechanism.from_json(VECTORS["laws"][record["mechanism"]]["mechanism"])
        report = record["report"]
        columns = tuple(mechanism.schema.columns)
        expected = Expected(fingerprint(mechanism, record["context"]), report["round"], columns)
        checks = RowChecks.of(mechanism, public_kinds(mechanism, report["values"]))
        rows = checks.check(parse_reports([json.dumps(report).encode()], expected))
        assert rows.num_rows == 1, record
        for name, check in checks.columns.items():
            if name in mechanism.schema.private:
                beyond = report | {"values": report["values"] | {name: check.outputs}}
                parsed = parse_reports([json.dumps(beyond).encode()], expected)
                assert checks.check(parsed).num_rows == 0
                assert parsed.counts == {"never given by the noise": 1}
        other = expected._replace(mechanism=fingerprint(mechanism, record["context"] + "x"))
        assert parse_reports([json.dumps(report).encode()], other).counts == {"another mechanism": 1}
        table, values = closing.to_table(pa.Table.from_batches([rows]), mechanism)
        assert table.rows == 1
        if not any(isinstance(column, vdp.Dates) for column in mechanism.schema.columns.values()):
            own = {"key": bytes.fromhex(record["key"]), "context": record["context"]}
            released = mechanism.privatize(record["record"], **own)
            for name in set(mechanism.schema.private) & set(mechanism.schema.numeric):
                value = values[name][0]
                assert released[name] is None if np.isnan(value) else released[name] == value
        taken[record["mechanism"]] += 1
    assert sum(taken.values()) == 100
