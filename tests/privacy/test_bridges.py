"""Agreement with the neighbours in the field, where they are installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from versadp import privacy
from versadp.errors import MissingExtraError, ParameterError
from versadp.privacy.bridges import opendp_measurement
from versadp_tests.privacy_registry import PROFILES

SOME = ["laplace, dim 1", "laplace, dim 2", "inflated", "response", "approximate", "gaussian", "record", "two releases"]
SOME += ["shuffled, three", "shuffled, few alike", "shuffled, many alike"]


@pytest.fixture
def accounting():
    return pytest.importorskip("dp_accounting.pld.privacy_loss_distribution", reason="an extra: accounting")


@pytest.mark.parametrize("name", SOME)
def test_dp_accounting_agrees(accounting, name):
    p = PROFILES[name]
    pld = p.to_pld()
    on_mesh = np.array([0.0, 0.5, 1.0, 3.0])
    theirs = np.array([pld.get_delta_for_epsilon(float(e)) for e in on_mesh])
    assert np.all(theirs >= p.delta(on_mesh) - 1e-12)
    assert np.allclose(theirs, p.delta(on_mesh), atol=2e-8)
    between = pld.get_delta_for_epsilon(0.123456)
    assert -1e-12 <= between - p.delta(0.123456) <= 3e-5 * (p.pure_epsilon < np.inf) + 1e-8
    delta = p.delta_floor + 0.02
    assert pld.get_epsilon_for_delta(delta) == pytest.approx(p.epsilon(delta), abs=2e-4)


@pytest.mark.parametrize("name", ["inflated", "approximate", "record"])
def test_infinite_mass_is_the_floor(accounting, name):
    p = PROFILES[name]
    assert p.to_pld().get_delta_for_epsilon(1e3) == pytest.approx(p.delta_floor, abs=1e-13)


def test_dp_accounting_composes_as_we_do(accounting):
    p = privacy.zero_inflated(privacy.symmetric_laplace(2, 0.4), 0.02)
    theirs = p.to_pld(mesh=1e-3).self_compose(3)
    ours = p.compose(3)
    for e in (0.0, 0.5, 2.0):
        assert theirs.get_delta_for_epsilon(e) == pytest.approx(ours.delta(e), abs=2e-6)
    assert theirs.get_delta_for_epsilon(500.0) == pytest.approx(1 - 0.98**3, abs=1e-9)


def test_dp_accounting_knows_these_mechanisms_itself(accounting):
    laplace = accounting.from_laplace_mechanism(1 / (np.sqrt(2) * 0.7))
    response = accounting.from_randomized_response(0.5, 4)
    normal = accounting.from_gaussian_mechanism(1.0)
    for pld, p in (
        (laplace, privacy.symmetric_laplace(1, 0.7)),
        (response, privacy.randomized_response(4, 0.5)),
        (normal, privacy.gaussian(1.0)),
    ):
        for e in (0.0, 0.4, 0.9):
            assert pld.get_delta_for_epsilon(e) == pytest.approx(p.delta(e), abs=1e-4)


@pytest.mark.parametrize("name", SOME)
def test_riskcal_trade_off_agrees(accounting, name):
    analysis = pytest.importorskip("riskcal.analysis", reason="an extra: accounting")
    p = PROFILES[name]
    alpha = np.array([0.01, 0.1, 0.3, 0.6])
    pld = p.to_pld()
    kinked = np.isfinite(p.pure_epsilon)
    theirs = np.asarray(analysis.get_beta_from_pld(pld, alpha=alpha))
    assert np.allclose(theirs, p.beta(alpha), atol=3e-5 if kinked else 1e-7)
    assert analysis.get_advantage_from_pld(pld) == pytest.approx(p.advantage(), abs=1e-7)


def test_opendp_measurement():
    pytest.importorskip("opendp", reason="an extra: accounting")
    p = privacy.zero_inflated(privacy.symmetric_laplace(3, 0.5), 1e-3)
    epsilon = p.epsilon(2e-3)
    m = opendp_measurement(lambda rows: [r + 1 for r in rows], epsilon=epsilon, delta=2e-3)
    assert m([1, 2]) == [2, 3]
    assert m.map(d_in=1) == (epsilon, 2e-3)
    assert m.map(d_in=2) == (2 * epsilon, 4e-3)
    assert m.check(1, (epsilon, 2e-3))
    assert not m.check(1, (epsilon * 0.99, 2e-3))


@pytest.mark.parametrize("bad", [-1.0, float("nan"), True, "1"])
def test_opendp_bad_input(bad):
    with pytest.raises(ParameterError):
        opendp_measurement(len, epsilon=bad, delta=0.1)
    with pytest.raises(ParameterError):
        opendp_measurement(len, epsilon=1.0, delta=bad)


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), True])
def test_bad_mesh(bad):
    pytest.importorskip("dp_accounting", reason="an extra: accounting")
    with pytest.raises(ParameterError, match="mesh"):
        privacy.gaussian(1.0).to_pld(mesh=bad)


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("dp_accounting.pld", lambda: privacy.gaussian(1.0).to_pld()),
        ("opendp.prelude", lambda: opendp_measurement(len, epsilon=1.0, delta=0.0)),
        ("matplotlib.figure", lambda: privacy.gaussian(1.0).plot()),
    ],
)
def test_missing_extras_say_what_to_install(monkeypatch, module, call):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match="pip install"):
        call()


def test_plot(tmp_path):
    pytest.importorskip("matplotlib", reason="an extra: report")
    path = tmp_path / "curve.svg"
    figure = PROFILES["inflated"].plot(path)
    assert len(figure.axes) == 2
    assert path.stat().st_size > 1000
