"""Names of mechanisms in reports: what they cover, and what they do not."""

import pytest

import versadp as vdp
from versadp.devices import fingerprint, report_id
from versadp.errors import ParameterError

KEY = bytes(range(32))
COLUMNS = {"age": vdp.Bounded(18, 90, step=1), "c": vdp.Categorical(["a", "b"]), "y": vdp.Public()}
NOISE = {"age": vdp.noise.Window(1.0), "c": vdp.noise.Response(0.5)}


def mechanism(columns=None, noise=None, **more):
    return vdp.Mechanism(vdp.Schema(COLUMNS | (columns or {}), **more), noise=NOISE | (noise or {}))


BASE = mechanism()
CHANGED = {
    "a public column more": mechanism({"z": vdp.Public()}),
    "another name": vdp.Mechanism(
        vdp.Schema({"years": COLUMNS["age"], "c": COLUMNS["c"], "y": vdp.Public()}),
        noise={"years": NOISE["age"], "c": NOISE["c"]},
    ),
    "another order of columns": vdp.Mechanism(vdp.Schema(dict(reversed(COLUMNS.items()))), noise=NOISE),
    "another order of blocks": vdp.Mechanism(vdp.Schema(COLUMNS), noise=dict(reversed(NOISE.items()))),
    "another epsilon": mechanism(noise={"age": vdp.noise.Window(1.0 + 1e-9)}),
    "another keep": mechanism(noise={"c": vdp.noise.Response(0.5 + 1e-9)}),
    "other levels": mechanism({"c": vdp.Categorical(["b", "a"])}),
    "missing values": mechanism({"age": vdp.Bounded(18, 90, step=1, nullable="public")}),
}


def test_fingerprint_is_64_lower_case_hexadecimal_digits():
    name = fingerprint(BASE)
    assert len(name) == 64
    assert set(name) <= set("0123456789abcdef")
    assert fingerprint(vdp.Mechanism.from_json(BASE.to_json())) == name


@pytest.mark.parametrize("change", CHANGED)
def test_fingerprint_changes_with_whatever_a_report_depends_on(change):
    assert fingerprint(CHANGED[change]) != fingerprint(BASE)


def test_fingerprint_changes_with_the_context():
    assert len({fingerprint(BASE), fingerprint(BASE, "clinic"), fingerprint(BASE, context="bank")}) == 3
    with pytest.raises(ParameterError, match="context"):
        fingerprint(BASE, "e\u0301")


def test_fingerprint_does_not_depend_on_targets_and_omitted_columns():
    schema = vdp.Schema(COLUMNS)
    one = vdp.calibrate(schema, epsilon=2)
    other = vdp.Mechanism(schema, noise={block.columns: block.spec for block in one.blocks})
    assert one.target != other.target
    assert fingerprint(one) == fingerprint(other)
    assert fingerprint(mechanism({"name": vdp.Omitted()})) == fingerprint(BASE)


@pytest.mark.parametrize(
    ("mech", "says"),
    [
        (BASE.in_version(3), "version 4, not 3"),
        (mechanism(id="pid"), "no id column"),
        (mechanism(noise={"age": vdp.noise.ZeroInflated(0.5, 0.1)}), "zero-inflated"),
        (mechanism({"c": vdp.Categorical([0, 2**53])}), "beyond 2\\^53"),
    ],
    ids=["version 3", "id", "zero-inflated", "levels"],
)
def test_what_reports_do_not_serve_has_no_fingerprint(mech, says):
    with pytest.raises(ParameterError, match=says):
        fingerprint(mech)


def test_ids_of_reports_differ_by_key_mechanism_and_round():
    name = fingerprint(BASE)
    ids = {report_id(KEY, name, "a"), report_id(KEY, name, "b"), report_id(KEY[::-1], name, "a")}
    ids |= {report_id(KEY, fingerprint(BASE, "clinic"), "a")}
    assert len(ids) == 4
    assert all(len(each) == 64 for each in ids)
