"""Corrected losses undo the noise in expectation, whether in closed form or by quadrature.

With Z = 0 with probability r and else Laplace with variance t, `E G_u(u + Z, t) = loss'(u)`. The same law
differentiated by t holds G_t, and differences hold the second derivatives. Expectations are by a fine composite rule.
"""

import numpy as np
import pytest

from versadp.errors import ParameterError
from versadp.losses import Check, Hinge, Huber, Logistic, Poisson, Squared
from versadp.losses import quadrature as by_nodes
from versadp_tests.loss_registry import (
    LOSSES,
    SERVED,
    Careful,
    Censored,
    Clipped,
    Expectile,
    Gamma,
    LogCosh,
    Probit,
    Steep,
    Tube,
    Wide,
    points,
)

TABLES = 3e-5  # interpolation in tables of 1024 points with smoothed kinks; smooth forms are exact to 1e-7


def width(loss):
    return 0.4 if loss.kinked else 0.0


def tolerance(loss):
    return 1e-6 if loss.smooth else TABLES


def rule():
    """Nodes and weights of a Laplace variable with variance 1, fine enough for kinks: 400 panels of five."""
    z, w = np.polynomial.legendre.leggauss(5)
    edges = np.linspace(0, 60, 401)
    x = ((edges[1:] + edges[:-1])[:, None] + np.diff(edges)[:, None] * z).ravel() / 2
    weight = (np.diff(edges)[:, None] * w).ravel() / 2 * np.exp(-x) / 2
    return np.concatenate([-x, x]) / np.sqrt(2), np.concatenate([weight, weight])


def undone(loss, u, y, t, rate, *, claimed=None):
    """Return r G(u) + (1 - r) E G(u + L) for G_u, and its derivative by t."""
    nodes, weights = rule()
    assumed = rate if claimed is None else claimed
    at = (u[:, None] + np.sqrt(t) * nodes).ravel()
    away = [each.reshape(u.size, -1) for each in loss.corrected(at, np.repeat(y, nodes.size), t, assumed, width(loss))]
    here = loss.corrected(u, y, t, assumed, width(loss))
    first = rate * here[0] + (1 - rate) * away[0] @ weights
    moved = (away[0] * nodes) @ weights / (2 * np.sqrt(t))
    return first, rate * here[1] + (1 - rate) * (away[1] @ weights + moved)


@pytest.mark.parametrize(("t", "rate"), [(0.05, 0.1), (0.4, 0.3)])
@pytest.mark.parametrize("loss", SERVED, ids=repr)
def test_corrected_loss_is_unbiased(loss, t, rate):
    u, y = points(loss, 12, seed=2)
    first, by_t = undone(loss, u, y, t, rate)
    truth = loss.derivatives(u, y, 1, width(loss))[0]
    assert first == pytest.approx(truth, abs=tolerance(loss) * (1 + np.abs(truth).max()))
    assert by_t == pytest.approx(0 * u, abs=100 * tolerance(loss))


@pytest.mark.parametrize("loss", SERVED, ids=repr)
def test_corrected_loss_is_biased_at_another_rate(loss):
    u, y = points(loss, 12, seed=2)
    first, by_t = undone(loss, u, y, 0.4, 0.3, claimed=0.5)
    truth = loss.derivatives(u, y, 1, width(loss))[0]
    off = max(np.abs(first - truth).max() / (1 + np.abs(truth).max()), np.abs(by_t).max() / 100)
    assert off > 30 * tolerance(loss)


@pytest.mark.parametrize("loss", SERVED, ids=repr)
def test_second_derivatives_agree_with_differences(loss):
    """Those of tables are interpolated, and differ from the differences of an interpolant between its knots."""
    u, y = points(loss, 200, seed=3)
    t, rate, h = 0.4, 0.3, 1e-4
    _, _, bend, mixed, by_tt = loss.corrected(u, y, t, rate, width(loss))
    up, down = (loss.corrected(u + s * h, y, t, rate, width(loss)) for s in (1, -1))
    more, less = (loss.corrected(u, y, t + s * h, rate, width(loss)) for s in (1, -1))
    near = 1e-5 if loss.smooth else 0.05
    for found, (a, b) in [
        (bend, (up[0], down[0])),
        (mixed, (up[1], down[1])),
        (mixed, (more[0], less[0])),
        (by_tt, (more[1], less[1])),
    ]:
        difference = (a - b) / (2 * h)
        corner = np.abs(np.abs(u - y) - getattr(loss, "k", -1)) < 0.02
        assert difference[~corner] == pytest.approx(found[~corner], abs=near * (1 + np.abs(found).max()))


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Poisson()], ids=repr)
def test_closed_forms_and_quadrature_agree(loss):
    u, y = points(loss)
    for t, rate in ((0.05, 0.1), (0.8, 0.0), (0.8, 0.4), (0.0, 0.2)):
        closed, numeric = loss.corrected(u, y, t, rate), by_nodes.corrected(loss, u, y, t, rate)
        for a, b in zip(closed[:3], numeric[:3], strict=True):
            assert a == pytest.approx(b, abs=1e-6 * (1 + np.abs(b).max()))
        for a, b in zip(closed[3:], numeric[3:], strict=True):
            assert a == pytest.approx(b, abs=1e-3 * (1 + np.abs(b).max())), "tables take differences in t"


# what a loss does not declare it does not get ------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Expectile(), Tube(), Censored(), Clipped(), Steep()], ids=repr)
def test_loss_without_a_corrected_form_is_refused(loss):
    u, y = points(loss)
    with pytest.raises(ParameterError, match=f"no analytic correction for {loss.name}") as error:
        loss.corrected(u, y, 0.3, 0.2, 0.4)
    assert "drcl" in error.value.hint


def test_every_loss_is_in_the_cases():
    assert len(SERVED) + 5 == len(LOSSES)


class _Doubled:
    def derivatives(self, u, y, order=4, bandwidth=0.0):
        return tuple(2 * each for each in super().derivatives(u, y, order, bandwidth))


class MixedIn(_Doubled, Logistic):
    """The derivatives come from beside, not from below."""


class Valued(Logistic):
    """Only its value is redefined: what it means is its own business, but the parent's form is not its."""

    def value(self, u, y):
        return super().value(u, y) + 1


class Again(Careful):
    """A subclass of a subclass that lost its closed form."""


def test_a_subclass_that_redefines_derivatives_has_lost_its_parents_form():
    u, y = points(Logistic())
    parent = Logistic().corrected(u, y, 0.3, 0.2)
    for loss, factor in ((MixedIn(), 2), (Careful(), 1 + y), (Again(), 1 + y), (Valued(), 1)):
        found = loss.corrected(u, y, 0.3, 0.2)
        assert found[0] == pytest.approx(factor * parent[0], abs=1e-6)
        assert found[1] == pytest.approx(factor * parent[1], abs=1e-6)
    patched = Logistic()
    patched.derivatives = lambda *given: tuple(3 * each for each in Logistic().derivatives(*given))
    assert patched.corrected(u, y, 0.3, 0.2)[0] == pytest.approx(3 * parent[0], abs=1e-6)


def test_a_subclass_may_declare_a_form_of_its_own():
    class Declared(Steep):
        def closed(self, u, y, t, rate, bandwidth, *, bent):
            return tuple(2 * each for each in Check(self.tau).corrected(u, y, t, rate, bandwidth, bent=bent))

    u, y = points(Declared())
    assert np.array_equal(Declared().corrected(u, y, 0.3, 0.2, 0.4)[0], 2 * Check().corrected(u, y, 0.3, 0.2, 0.4)[0])

    class Later(Declared):
        def derivatives(self, u, y, order=4, bandwidth=0.0):
            return tuple(2 * each for each in super().derivatives(u, y, order, bandwidth))

    with pytest.raises(ParameterError, match="later"):
        Later().corrected(u, y, 0.3, 0.2, 0.4)


@pytest.mark.parametrize(("child", "parent"), [(Wide(0.8), Huber(0.8)), (type("Sub", (Logistic,), {})(), Logistic())])
def test_a_subclass_that_redefines_nothing_has_its_parents_form(child, parent):
    """Records reach further than the tables of a loss whose slope was once taken to be flat from 0 on."""
    u, y = points(parent)
    for a, b in zip(child.corrected(9 * u, y, 0.3, 0.2), parent.corrected(9 * u, y, 0.3, 0.2), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("loss", [Check(), Hinge(), Huber()], ids=repr)
def test_kinks_and_corners_need_exact_records(loss):
    u, y = points(loss)
    with pytest.raises(ParameterError, match=f"{loss.name} loss needs an exact_rate above 0"):
        loss.corrected(u, y, 0.3, 0.0, 0.4)


# quadrature knows its limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [3.0, 0.3, 0.1])
def test_a_loss_narrower_than_the_noise_takes_more_nodes(c):
    """The noise has a standard deviation of 0.45; twice as many nodes as were taken change nothing."""
    loss = LogCosh(c)
    u, y = points(loss, 50)
    fine = by_nodes.by_rule(loss, u, y, 1.0, 0.2, rule=by_nodes.many(200))
    for a, b in zip(loss.corrected(u, y, 1.0, 0.2), fine, strict=True):
        assert a == pytest.approx(b, abs=1e-5 * np.abs(b).max())


def test_loss_too_narrow_for_quadrature_is_refused():
    u, y = points(LogCosh())
    with pytest.raises(ParameterError, match="does not settle"):
        LogCosh(0.003).corrected(u, y, 1.0, 0.2)


@pytest.mark.parametrize("loss", [Gamma(), type("Counts", (Poisson,), {"derivatives": Poisson.derivatives})()])
def test_noise_that_outweighs_an_exponential_loss_is_refused(loss):
    """Quadrature over the second randomisation settles at t = 4 too, but the released records have no expectation."""
    u, y = points(Gamma())
    assert np.isfinite(loss.corrected(u, y, 1.9, 0.2)[0]).all()
    for t in (2.1, 4.0, 50.0):
        with pytest.raises(ParameterError, match="this much noise"):
            loss.corrected(u, y, t, 0.2)


def test_no_noise_and_no_records():
    for loss in (Probit(), Gamma(), LogCosh()):
        u, y = points(loss, 20)
        one, two, three, four = loss.derivatives(u, y, 4)
        for t, rate in ((0.0, 0.2), (1e-30, 0.2)):
            found = loss.corrected(u, y, t, rate)
            for a, b in zip(found, (one, -0.4 * two, two, -0.4 * three, -0.08 * four), strict=True):
                assert a == pytest.approx(b, rel=1e-6, abs=1e-9)
        assert [each.size for each in loss.corrected(u[:0], y[:0], 0.3, 0.2)] == [0] * 5
