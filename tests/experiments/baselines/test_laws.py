"""Laws of all baselines: the guarantee meets the budget and uses it up, and no privacy is no noise."""

import math

import numpy as np
import pytest

from versadp import privacy
from versadp.errors import ParameterError
from versadp_experiments.baselines import REGISTRY, Budget, Sample, cube, sequential

GAUSSIAN = {
    "Gaussian, truncated Fourier",
    "complex corrected score",
    "noisy moments",
    "noisy gradient descent",
    "noisy descent to a median",
    "projected noisy descent",
    "synthetic records",
    "smoothed corrected loss",
    "robust M-estimator",
}


def people(n=3000, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, d))
    y = (rng.random(n) < 1 / (1 + np.exp(-(0.3 + x.sum(axis=1))))).astype(float)
    return Sample(x, y)


def test_every_kind_that_the_paper_names_is_there():
    named = "Dwork|Avella-Medina 2021|Chaudhuri|Rajkumar|Bassily|Avella-Medina et al. 2023|Cai|Lei|CL-Lap|Novick|Zhu"
    named += "|Stefanski and Carroll|Firpo|Yang|Kent|Duchi|Rohde|McKenna"
    references = " ".join(cls.reference for cls in REGISTRY.values())
    assert [name for name in named.split("|") if name not in references] == []
    assert {cls.where for cls in REGISTRY.values()} == {"server", "device"}
    assert all(cls.reference for cls in REGISTRY.values())


@pytest.mark.parametrize("name", sorted(REGISTRY))
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_guarantee_meets_the_budget_and_uses_it_up(name, epsilon):
    method = REGISTRY[name]()
    budget = Budget(epsilon, 1e-3 if name in GAUSSIAN else 0.0)
    profile = method.guarantee(2000, 2, budget)
    assert budget.met_by(profile)
    # negative control: a tenth more privacy would not be met, so the check can fail
    assert not Budget(0.9 * epsilon, 0.9 * budget.delta).met_by(profile)


@pytest.mark.parametrize("name", sorted(GAUSSIAN - {"robust M-estimator"}))
def test_gaussian_noise_has_no_pure_budget(name):
    if name == "smoothed corrected loss":
        with pytest.raises(Exception, match=r"delta|met"):
            REGISTRY[name]().guarantee(100, 2, Budget(1.0))
        return
    with pytest.raises(ParameterError, match="pure"):
        REGISTRY[name]().guarantee(100, 2, Budget(1.0))


@pytest.mark.parametrize("name", sorted(set(REGISTRY) - {"synthetic records", "sequential GLM", "sequential median"}))
def test_without_privacy_nothing_is_drawn(name):
    """The same answer whatever the seed, but for what is random in the method itself."""
    sample = people(600, 1)
    first, second = (REGISTRY[name]().fit(sample, Budget(math.inf), np.random.default_rng(s)) for s in (1, 2))
    assert np.isfinite(first.values).all()
    assert first.values == pytest.approx(second.values, abs=1e-9)
    # negative control: with privacy the seed matters
    budget = Budget(4.0, 1e-3 if name in GAUSSIAN else 0.0)
    first, second = (REGISTRY[name]().fit(sample, budget, np.random.default_rng(s)) for s in (1, 2))
    assert not np.allclose(first.values, second.values, atol=1e-9)


class Recorder(np.random.Generator):
    """A generator that keeps the scales of the noise that is drawn from it."""

    def __init__(self):
        super().__init__(np.random.PCG64(0))
        self.scales = []

    def laplace(self, loc=0.0, scale=1.0, size=None):
        self.scales.append(("Laplace", scale))
        return super().laplace(loc, scale, size)

    def normal(self, loc=0.0, scale=1.0, size=None):
        self.scales.append(("normal", scale))
        return super().normal(loc, scale, size)


ROOT = math.sqrt(2)
# what one of 400 records with one covariate moves (most of L1 norms for Laplace, of L2 norms for normal noise), in the
# order in which noise is drawn; mu² or epsilon is shared among what is drawn
MOVED = {
    "noisy mean": ("Laplace", [2 / 400]),
    "noisy moments": ("normal", [3 / 400]),
    "perturbed histogram": ("Laplace", [2]),
    "kernel deconvolution": ("Laplace", [2]),
    "plug-in quantile regression": ("Laplace", [2]),
    "penalised linear system": ("Laplace", [2]),
    "independent Laplace": ("Laplace", [2]),
    "Gaussian, truncated Fourier": ("normal", [2]),
    "projected noisy descent": ("normal", [math.sqrt(30) * 2 * (1 + 2 * ROOT) * ROOT / 400] * 30),
    "noisy descent to a median": (
        "normal",  # slopes of a half; the curvature that is told is at most the height of a kernel of width 0.1
        [math.sqrt(60 / 0.8) / 400] * 60
        + [math.sqrt(10) * ROOT * 10 / math.sqrt(2 * math.pi) / 400, math.sqrt(10) * ROOT * 0.25 / 400],
    ),
    "noisy gradient descent": (
        "normal",  # steps have four fifths of mu², a curvature of at most 1/4 and squares of slopes a tenth each
        [math.sqrt(50 / 0.8) * 2 * ROOT / 400] * 50
        + [math.sqrt(10) * ROOT * 0.25 * 2 / 400, math.sqrt(10) * ROOT * 2 / 400],
    ),
}


@pytest.mark.parametrize("name", sorted(MOVED))
def test_fit_draws_the_noise_that_its_sensitivity_asks_for(name):
    rng, budget = Recorder(), Budget(2.0, 1e-3 if name in GAUSSIAN else 0.0)
    REGISTRY[name]().fit(people(400, 1), budget, rng)
    kind, moved = MOVED[name]
    drawn = [scale for _, scale in rng.scales]
    assert {each for each, _ in rng.scales} == {kind}
    assert drawn[: len(moved)] == pytest.approx([m / (budget.mu if kind == "normal" else 2.0) for m in moved], rel=1e-9)
    assert len(drawn) == len(moved)


@pytest.mark.full
def test_synthetic_records_draw_the_noise_that_their_sensitivity_asks_for():
    pytest.importorskip("mbi")
    rng, budget = Recorder(), Budget(2.0, 1e-3)
    REGISTRY["synthetic records"](cells=3, iterations=2).draw(people(400, 2), budget, rng)
    # three tables of pairs, of each of which a record moves two cells by one
    assert [scale for _, scale in rng.scales] == pytest.approx([math.sqrt(6) / budget.mu] * 3, rel=1e-9)


@pytest.mark.parametrize("name", ["cube mean", "cube density", "sequential median", "sequential GLM"])
def test_devices_send_one_corner_each_at_the_epsilon_that_was_asked_for(name, monkeypatch):
    asked, people_asked, true = set(), [], cube.send

    def send(x, epsilon, rng):
        assert np.abs(x).max() <= 1  # what the cube is unbiased and private for
        asked.add(epsilon)
        people_asked.append(len(x))
        return true(x, epsilon, rng)

    for module in (cube, sequential):
        monkeypatch.setattr(module, "send", send)
    REGISTRY[name]().fit(people(400, 1), Budget(0.7), np.random.default_rng(0))
    assert asked == {0.7}
    assert sum(people_asked) == 400


def test_mu_is_exact():
    for epsilon, delta in ((0.5, 1e-6), (4.0, 1e-3)):
        mu = Budget(epsilon, delta).mu
        assert privacy.gaussian(mu).delta(epsilon) <= delta < privacy.gaussian(1.001 * mu).delta(epsilon)


def test_values_outside_the_box_are_refused():
    with pytest.raises(ParameterError, match="outside"):
        Sample(np.array([[1.5]]), np.zeros(1))
    with pytest.raises(ParameterError, match="positive"):
        Budget(0.0)
