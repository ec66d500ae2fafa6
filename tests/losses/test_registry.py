"""Losses by name, losses of whole records, losses that travel; and nobody outside asks of what kind a loss is."""

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import versadp
import versadp as vdp
from versadp import losses
from versadp.errors import ParameterError
from versadp.losses import (
    REGISTRY,
    Check,
    Custom,
    Huber,
    IndexLoss,
    Mean,
    Quantile,
    RecordLoss,
    Squared,
    as_loss,
    register,
)
from versadp_tests.loss_registry import LOSSES, LogCosh, points

# names ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def registry():
    kept = dict(REGISTRY)
    yield REGISTRY
    REGISTRY.clear()
    REGISTRY.update(kept)


@pytest.mark.parametrize("bad", ["absolute", 3, None])
def test_unknown_losses(bad):
    with pytest.raises(ParameterError, match=r"(choose from|there are) squared, logistic"):
        as_loss(bad)


def test_losses_are_known_by_name_or_as_they_are():
    for name, kind in REGISTRY.items():
        assert type(as_loss(name)) is kind
    for loss in (*LOSSES, Mean("a"), Quantile("a", 0.3)):
        assert as_loss(loss) is loss


def test_registered_loss_is_found_by_name(registry):
    assert register(LogCosh) is LogCosh
    assert as_loss("logcosh") == LogCosh()
    assert register(LogCosh) is LogCosh, "once more does no harm"
    with pytest.raises(ParameterError, match="logcosh"):
        as_loss("absolute")
    x = np.linspace(0, 1, 2000)
    schema = vdp.Schema({"x": vdp.Bounded(0, 1), "y": vdp.Public()})
    release = vdp.Mechanism(schema, scale=0.3, exact_rate=0.2).release(pd.DataFrame({"x": x, "y": 1 + x}))
    assert vdp.fit(release, "y ~ x", loss="logcosh").loss == "logcosh"


def test_what_cannot_be_registered(registry):
    class Thief(Huber):
        name = "huber"

    class Needy(Huber):
        def __init__(self, k, more):
            super().__init__(k + more)

    class Nothing(IndexLoss):
        pass

    for kind, words in ((Thief, "already"), (Needy, "default"), (Nothing, "abstract")):
        with pytest.raises(ParameterError, match=words) as error:
            register(kind)
        assert error.value.hint
    for other in (Huber(), "huber", int, None):
        with pytest.raises(ParameterError, match="IndexLoss"):
            register(other)
    assert list(registry) == ["squared", "logistic", "check", "hinge", "huber", "poisson"]
    assert registry["huber"] is Huber


# whole records --------------------------------------------------------------------------------------------------------


def half(x, theta):
    return (x[:, 0] - theta[0]) ** 2 / 2


def first_column(x):
    return x[:, 0]


def test_one_number_of_a_record():
    assert (Mean("age").base, Mean("age").of, Mean("age").size) == (Squared(), "age", 1)
    assert (Quantile("age", 0.9).base, Quantile("age", 0.9).of) == (Check(0.9), "age")
    assert Mean("age").names(1) == ("mean of age",)
    assert Quantile(first_column, 0.25).names(1) == ("0.25 quantile",)


def test_a_loss_of_ones_own_of_whole_records():
    loss = as_loss(half)
    assert (loss.base, loss.of, loss.size, loss.has_laplacian) == (None, None, None, False)
    assert loss.names(2) == ("theta0", "theta1")
    assert loss.name == "half"
    x = np.array([[1.0], [3.0]])
    assert loss.gradient(x, np.zeros(1))[:, 0] == pytest.approx([-1, -3], abs=1e-6)

    class Carrying:
        def __call__(self, x, theta):
            return half(x, theta)

        def gradient(self, x, theta):
            return theta - x

        def laplacian(self, x, _):
            return np.ones(len(x))

    own = as_loss(Carrying())
    assert own.name == "Carrying"
    assert own.has_laplacian
    assert (own.gradient(x, np.zeros(1)) == -x).all()
    assert own.laplacian(x, np.zeros(1)).tolist() == [1.0, 1.0]
    for bad in (lambda x, _: x, lambda x, _: np.full(len(x), np.nan), lambda *_: 1.0):
        with pytest.raises(ParameterError):
            Custom(bad).value(x, np.zeros(1))


@pytest.mark.parametrize("loss", [Mean("a"), Quantile(first_column), Custom(half)], ids=lambda loss: loss.name)
def test_whole_records_have_no_formula_and_no_prediction(loss):
    assert isinstance(loss, RecordLoss)
    assert not loss.needs_formula
    assert loss.prediction is None


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_losses_of_an_index_need_a_formula(loss):
    assert loss.needs_formula


# travelling -----------------------------------------------------------------------------------------------------------


RECORDS = [Mean("a"), Mean(first_column), Quantile("a", 0.3), Custom(half)]


@pytest.mark.parametrize(
    "loss", [*LOSSES, *(loss.in_units(3.0) for loss in LOSSES), *RECORDS], ids=lambda loss: loss.name
)
def test_losses_are_pickled(loss):
    assert pickle.loads(pickle.dumps(loss)) == loss


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_codings_and_predictions_are_pickled(loss):
    u, y = points(loss)
    code = loss.coding(np.unique(y) if loss.classes else None)
    assert np.array_equal(pickle.loads(pickle.dumps(code))(y), code(y))
    if loss.link is None:
        assert np.array_equal(pickle.loads(pickle.dumps(loss.prediction))(u), loss.mean(u))


def test_losses_arrive_in_another_process():
    """With what was looked up or tabulated before they left."""
    work = []
    for loss in (Check(0.3), Huber(2.0).in_units(3.0), LogCosh(0.7).in_units(3.0)):
        u, y = points(loss, 50)
        work.append((loss, u, y, loss.corrected(u, y, 0.3, 0.2, 0.4)[0]))
    script = (
        "import pickle, sys, numpy as np\n"
        "for loss, u, y, expected in pickle.load(sys.stdin.buffer):\n"
        "    assert np.array_equal(loss.corrected(u, y, 0.3, 0.2, 0.4)[0], expected), loss\n"
        "print('arrived')"
    )
    path = [str(Path(versadp.__file__).parents[1]), str(Path(__file__).parents[1])]
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{script}"]
    done = subprocess.run(command, input=pickle.dumps(work), capture_output=True, check=False)
    assert done.stdout.strip() == b"arrived", done.stderr.decode()


# the house ------------------------------------------------------------------------------------------------------------

KINDS = {name for name in losses.__all__ if isinstance(getattr(losses, name), type)} | {"InUnits"}


def asked(source):
    """The kinds of losses that a text asks for by isinstance, issubclass, or `type(...) is`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"isinstance", "issubclass"}:
            found |= {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
            found |= {each.attr for each in ast.walk(node.args[1]) if isinstance(each, ast.Attribute)}
        if isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            found |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found & KINDS


def test_no_other_package_tests_the_type_of_a_loss():
    rooms = Path(versadp.__file__).parent
    files = [path for path in rooms.rglob("*.py") if path.parent.name != "losses"]
    assert len(files) > 100
    assert {path.name: asked(path.read_text()) for path in files if asked(path.read_text())} == {}


def test_a_test_of_the_type_of_a_loss_is_detected():
    assert asked("isinstance(loss, Check | losses.Huber)") == {"Check", "Huber"}
    assert asked("type(loss) is Squared") == {"Squared"}
    assert asked("isinstance(loss, str)") == set()
