"""What the coverage table calls true: plain fits against other libraries, formulas against plain fits."""

import pickle

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import linprog, minimize

import versadp as vdp
from versadp_bench.coverage.data import BOUNDS, table
from versadp_bench.coverage.misuse import Misuse
from versadp_bench.coverage.plain import FOUND, plain_fit
from versadp_bench.coverage.populations import Resampled
from versadp_bench.coverage.regimes import QUICK, REGIMES
from versadp_bench.coverage.running import slug

KNOWN = [name for name, regime in REGIMES.items() if regime.people.truth(regime.loss) is not None]


@pytest.fixture
def sample():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(1500, 2))
    design = sm.add_constant(x)
    return rng, design, design @ [0.5, 1.0, -0.7]


@pytest.mark.parametrize(
    ("loss", "model"),
    [
        ("squared", lambda y, m: sm.OLS(y, m).fit(cov_type="HC0")),
        ("logistic", lambda y, m: sm.Logit((y > 0.3) * 1.0, m).fit(disp=0, cov_type="HC0")),
        ("poisson", lambda y, m: sm.GLM(np.floor(np.exp(y)), m, sm.families.Poisson()).fit(cov_type="HC0")),
    ],
)
def test_smooth_fits_are_those_of_statsmodels(sample, loss, model):
    rng, design, u = sample
    y = u + rng.normal(size=len(u))
    ours = {"squared": y, "logistic": (y > 0.3) * 1.0, "poisson": np.floor(np.exp(y))}[loss]
    theirs, found = model(y, design), plain_fit(loss, design, ours)
    assert found.outcome == FOUND
    assert found.estimate == pytest.approx(theirs.params, abs=1e-5)
    assert found.error == pytest.approx(theirs.bse, rel=1e-3)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_quantiles_are_those_of_a_linear_program(sample, tau):
    """When sharp, within three of the distances between residuals, 1 / (n f).

    Else rounded by h, which moves a score by a variance of f h / 6 where the score has tau (1 - tau): within four of
    those errors. The standard error is the known one, up to how many residuals curvature is read off.
    """
    rng, design, u = sample
    y = u + rng.exponential(size=len(u))
    n, p = design.shape
    cost = np.r_[np.zeros(p), np.full(n, tau), np.full(n, 1 - tau)]
    exact = linprog(
        cost, A_eq=np.c_[design, np.eye(n), -np.eye(n)], b_eq=y, bounds=[(None, None)] * p + [(0, None)] * 2 * n
    )
    rough, sharp = (plain_fit("check", design, y, tau, sharp=sharp) for sharp in (False, True))
    assert (np.abs(sharp.estimate - exact.x[:p]) < 3 / (n * (1 - tau))).all()
    density, rate = 1 - tau, ((p + np.log(n)) / n) ** 0.4
    known = np.sqrt(tau * (1 - tau) * np.diag(np.linalg.inv(design.T @ design))) / density
    moved = np.sqrt(density * rate / (3 * np.sqrt(tau * (1 - tau))))
    assert (np.abs(rough.estimate - exact.x[:p]) < 4 * moved * known).all()
    assert rough.error == pytest.approx(known, rel=3 / np.sqrt(n * 2 * rate * density))


def test_hinge_is_that_of_a_linear_program(sample):
    rng, design, u = sample
    y = np.where(rng.random(len(u)) < 1 / (1 + np.exp(-u)), 1.0, -1.0)
    n, p = design.shape
    exact = linprog(
        np.r_[np.zeros(p), np.ones(n)],
        A_ub=np.c_[-y[:, None] * design, -np.eye(n)],
        b_ub=-np.ones(n),
        bounds=[(None, None)] * p + [(0, None)] * n,
    )
    rough, sharp = (plain_fit("hinge", design, y, sharp=sharp) for sharp in (False, True))
    assert (np.abs(sharp.estimate - exact.x[:p]) < 0.1 * rough.error).all()


@pytest.mark.parametrize("k", [0.05, 1.345])
def test_huber_is_the_minimum_of_its_loss(sample, k):
    rng, design, u = sample
    y = u + rng.standard_t(3, len(u))

    def loss(theta):
        r = np.abs(y - design @ theta)
        return np.where(r < k, r * r / 2, k * r - k * k / 2).mean()

    found = plain_fit("huber", design, y, k, sharp=True)
    exact = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12, "maxiter": 4000})
    assert (np.abs(found.estimate - exact.x) < 0.1 * found.error).all()


def test_without_a_minimum_there_is_no_fit():
    x = np.linspace(-1, 1, 200)
    line = np.column_stack([np.ones(200), x])
    assert plain_fit("logistic", line, (x > 0) * 1.0).outcome == "flat"
    assert plain_fit("squared", np.column_stack([line, 2 * x]), x).outcome == "singular"


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", KNOWN)
def test_formulas_for_the_truth_are_right(name):
    """The fit of raw records is within five standard errors, and a truth that is eight of them away is not."""
    regime = REGIMES[name]
    records = regime.people.draw(np.random.default_rng(8), 20_000)
    sharp, rough = (regime.fit_raw(records, sharp=sharp) for sharp in (True, False))
    if sharp.outcome == "flat":  # far out in a heavy tail the narrowest window may hold nobody
        sharp = rough
    assert (np.abs(sharp.estimate - regime.truth()) < 5 * rough.error).all()
    assert not (np.abs(sharp.estimate - regime.truth() - 8 * rough.error) < 5 * rough.error).all()


def test_a_resampled_table_is_its_own_truth():
    prices = table("gems")["price"]
    assert REGIMES["price, quantile 0.1"].truth() == pytest.approx(np.quantile(prices, 0.1), abs=1.0)
    fair = table("fair")
    theirs = sm.Logit(fair["affair"], sm.add_constant(fair["rate_marriage"])).fit(disp=0)
    assert REGIMES["Fair, (4, 1e-5)"].truth() == pytest.approx(theirs.params, abs=1e-6)


@pytest.mark.parametrize("name", list(REGIMES))
def test_samples_stay_in_their_bounds_and_regimes_can_be_sent_to_other_processes(name):
    regime = REGIMES[name]
    columns = regime.people.draw(np.random.default_rng(2), 400)
    schema = regime.people.schema
    assert tuple(columns) == tuple(schema.columns)
    for column in schema.numeric:
        bounds = schema.columns[column]
        assert bounds.lower <= columns[column].min() <= columns[column].max() <= bounds.upper
    assert repr(pickle.loads(pickle.dumps(regime))) == repr(regime)
    assert "0x" not in repr(regime)  # what a kept run is known by must be the same tomorrow


def test_coefficients_have_the_names_that_fits_give_them():
    for name in ("age and its log", "product", "mean, n=300", "private response"):
        regime = REGIMES[name]
        people = regime.people.draw(np.random.default_rng(3), 500)
        import pyarrow as pa

        found = vdp.fit(regime.mechanism().release(pa.table(people)), regime.formula, loss=regime.loss)
        assert found.names == regime.names


def test_the_table_is_as_wide_as_it_should_be():
    rows = list(REGIMES.values())
    mechanisms = [row.mechanism() for row in rows if not row.slow]
    assert len(rows) >= 40
    assert len({slug(row.name) for row in rows}) == len(rows)
    assert {row.people.data for row in rows if isinstance(row.people, Resampled)} - {"gems"} >= {"fair", "rand", "anes"}
    sizes = {row.n for row in rows}
    assert {min(sizes), max(sizes)} == {300, 100_000}
    dims = {len(mechanism.schema.numeric) for mechanism in mechanisms}
    assert {min(dims), max(dims)} == {1, 30}
    rates = {mechanism.exact_rate for mechanism in mechanisms}
    assert {min(rates), max(rates)} == {0.0, 0.2}
    scales = {scale for mechanism in mechanisms for scale in mechanism.scale.values()}
    assert min(scales) <= 0.1
    assert max(scales) >= 5
    assert set(QUICK) <= set(REGIMES)
    assert set(BOUNDS) == {row.people.data for row in rows if isinstance(row.people, Resampled)}


@pytest.mark.parametrize("way", ["selected", "doubled", "weighted", "misdeclared"])
def test_misuses_change_what_is_fitted(way):
    import pyarrow as pa

    regime = REGIMES["rows doubled"]
    release = regime.mechanism().release(pa.table(regime.people.draw(np.random.default_rng(1), 1000)))
    changed, options = Misuse(way, 0.5).change(release)
    rows = {"selected": len(changed) < 700, "doubled": len(changed) == 2000}
    assert rows.get(way, len(changed) == 1000)
    assert (set(options) == {"weights"}) == (way == "weighted")
    assert (changed.mechanism.scale["x0"] > 1.1 * release.mechanism.scale["x0"]) == (way == "misdeclared")
