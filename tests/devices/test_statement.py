"""What the statement of collected reports says, held against the release path and against estimates."""

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.devices import forged_shift
from versadp.devices.collection import Settings
from versadp.devices.statement import collected_statement, honest_reports
from versadp.errors import NoSuchName
from versadp_tests.reports import MECH, PUBLIC, ROUND, collector, lines, reports

AGE = vdp.Schema({"age": vdp.Bounded(18, 90)})


def settings(mech=None, **options):
    mech = mech or vdp.Mechanism(AGE, noise={"age": vdp.noise.Window(4)})
    return Settings.of(mech, ROUND, 10, **options)


def test_it_names_the_local_figure_first_and_composes_it():
    said = collected_statement(settings(), 8000, 8000)
    one, two, three = said.split("\n\n")[1:]
    assert one.startswith("1. Against the collector, the network")
    assert "from the second round on against everybody" in one
    assert "One report has epsilon 4, for a whole record" in one
    assert "2 together epsilon 8; 12 together epsilon 48" in one
    assert two.startswith("2. Against a reader of the first round's release and of nothing else")
    assert three.startswith("3. ")


@pytest.mark.parametrize("honest", [None, 100, 7000])
def test_the_shuffled_figure_is_that_of_the_honest_reports(honest):
    mech = vdp.Mechanism(AGE, noise={"age": vdp.noise.Window(4)})
    said = collected_statement(settings(mech, honest=honest), 8000, 9000).split("\n\n")[2]
    count = honest or 4000
    figure = float(mech.privacy(shuffled=count).epsilon(1e-6))
    (shown,) = [float(word) for word in said.split("epsilon ")[1].split(" ")[:1]]
    assert figure <= shown <= figure * 1.01 + 1e-9
    assert f"H = {count:,} reports" in said
    assert "8,000" in said
    assert shown > float(mech.privacy(shuffled=8000).epsilon(1e-6)) or count == 7000


def test_of_later_rounds_no_shuffle_is_claimed_and_the_manifest_claims_none(tmp_path):
    said = collected_statement(settings(rounds=3), 8000, 8000)
    assert "in 3 rounds, this one included: up to epsilon 12 together" in said
    assert "2. Nothing more is claimed" in said
    assert "H = " not in said
    with collector(tmp_path / "round", rounds=2) as opened:
        opened.take(lines(reports(400)))
        release = opened.close_round()
    assert release.privacy().epsilon(1e-6) == pytest.approx(MECH.privacy().epsilon(1e-6), rel=1e-6)
    assert release.order.among == 1


def test_the_manifest_claims_for_honest_reports_only(tmp_path):
    with collector(tmp_path / "round", honest=5) as opened:
        opened.take(lines(reports(400)))
        release = opened.close_round()
    assert release.order.among == 5
    assert "H = 5 reports" in release.metadata.rationale
    assert opened.statement() == release.metadata.rationale
    assert honest_reports(10, 11) == 10  # never more than there are


def described(values, mech):
    release = vdp.Release.from_frame(pa.table({"x": values}), mech, on_grid=True, shuffle=True)
    return next(row["estimate"] for row in vdp.describe(release).table if row["statistic"] == "mean")


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("epsilon", "widths"), [(1, 0.021), (4, 0.0066)])
def test_forged_reports_move_a_mean_as_far_as_is_said(epsilon, widths):
    """1% of forged reports at the upper end, and what `describe` then says; the two figures were published before."""
    mech = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1)}), noise={"x": vdp.noise.Window(epsilon=epsilon)})
    (block,) = mech.blocks
    said = forged_shift(mech, "x")
    assert said == pytest.approx(widths, rel=0.02)
    n = 9900
    x = np.random.default_rng(0).beta(5, 5, n)
    honest = mech.release(pa.table({"x": x}), key=bytes(range(32))).to_arrow()["x"].to_numpy()
    end = np.array([[float(block.outputs[0] - 1)]])
    block.to_values(end)
    before = described(honest, mech)
    after = described(np.append(honest, np.full(n // 99, end[0, 0])), mech)
    assert after - before == pytest.approx(said - 0.01 * (before - 0.5), rel=0.01)
    near = np.array([[float(block.last[0] + block.window[0] // 2 - 1)]])  # an output at the bound itself
    block.to_values(near)
    control = described(np.append(honest, np.full(n // 99, near[0, 0])), mech)
    assert control - before < 0.9 * said


def test_forged_reports_move_a_share_as_far_as_is_said():
    mech = vdp.Mechanism(vdp.Schema({"g": vdp.Categorical([f"l{k}" for k in range(20)])}), scale=None, keep=0.3)
    (block,) = mech.blocks
    codes = np.random.default_rng(0).integers(0, 20, 9900)
    content = codes[None].astype(float)
    block.add_noise(content, np.random.default_rng(1).integers(0, 2**64, (2, 9900), dtype=np.uint64))
    before = block.invert(content[0].astype(int))[7].mean()
    after = block.invert(np.append(content[0].astype(int), np.full(100, 7)))[7].mean()
    assert after - before == pytest.approx(forged_shift(mech, "g") + 0.01 * (0.05 - before), rel=0.01)


def test_there_is_no_shift_of_a_public_column():
    with pytest.raises(NoSuchName, match="no private column 'bought'"):
        forged_shift(MECH, "bought")


def test_an_open_round_has_a_statement_too(tmp_path):
    with collector(tmp_path / "round", public=PUBLIC) as opened:
        assert "0 reports" in opened.statement()
        assert "the mean of since by" in opened.statement()
        assert "days" in opened.statement()
