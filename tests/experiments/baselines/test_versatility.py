"""Budgets that are shared out, what is counted, and where it is kept."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from versadp import privacy
from versadp.cli import main
from versadp_experiments.baselines import Budget, accounting, arrivals, drawing, versatility


@pytest.mark.parametrize("total", [Budget(1.0, 1e-6), Budget(8.0, 0.1)])
@pytest.mark.parametrize("m", [3, 100])
def test_shares_compose_to_the_total_and_a_little_more_does_not(total, m):
    each = accounting.pure_share(total, m)
    assert each.epsilon >= total.epsilon / m - 1e-9  # never worse than adding up
    assert total.met_by(privacy.approx_dp(each.epsilon, 0.0).compose(m))
    assert not total.met_by(privacy.approx_dp(1.01 * each.epsilon, 0.0).compose(m))
    mu = accounting.gaussian_share(total, m).mu
    assert total.met_by(privacy.gaussian(mu).compose(m))
    assert not total.met_by(privacy.gaussian(1.01 * mu).compose(m))


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("total", "m"), [(Budget(1.0, 1e-6), 10), (Budget(8.0, 0.1), 30)])
def test_histograms_compose_by_their_own_noise_as_the_library_composes_laplace_curves(total, m):
    def noise(epsilon):  # two counts, each with Laplace noise whose shift is half of epsilon in units of its scale
        return privacy.symmetric_laplace(1, epsilon / 2 / math.sqrt(2)).compose(2 * m)

    each = accounting.laplace_share(total, m).epsilon
    assert total.met_by(noise(each))
    assert not total.met_by(noise(1.01 * each))
    assert each > 1.1 * accounting.pure_share(total, m).epsilon  # what the worst mechanism would be allowed


def test_every_release_meets_the_total_that_it_is_compared_at():
    for setting in versatility.SETTINGS:
        for kind in setting.releases:
            mechanism = versatility.mechanism(kind, setting.total, 20_000)
            how = {"shuffled": 20_000} if kind.endswith("shuffled") else {}
            profile = mechanism.privacy("record", **how)
            assert setting.total.met_by(profile), (setting, kind)
            # negative control: half the epsilon is not met
            assert not Budget(setting.total.epsilon / 2, setting.total.delta / 2).met_by(profile)


@pytest.mark.full
def test_a_run_is_kept_and_goes_on(tmp_path, monkeypatch):
    for module in (versatility, drawing):
        monkeypatch.setattr(module, "SETTINGS", versatility.SETTINGS[:1])
    store = versatility.run(1, 5, str(tmp_path), records=2500)
    path = next(tmp_path.iterdir())
    before = path.read_bytes()
    again = versatility.run(1, 5, str(tmp_path), records=2500)
    assert path.read_bytes() == before
    assert again.lines == store.lines
    fresh = versatility.replicate(0, 0, 5, 2500)
    assert json.loads(json.dumps(fresh["paper"])) == store.lines[2500, 0, 0]["paper"]
    assert versatility.replicate(0, 0, 6, 2500)["paper"] != fresh["paper"]
    table = versatility.rows(store, 1, 2500)
    assert {row["total"] for row in table} == {s.name for s in versatility.SETTINGS}
    raw = [row["rmse"] for row in table if row["method"] == "no privacy"]
    # a slope has a standard error of 0.173 sqrt(3)/50 = 0.006 here; of two, five times that is a rare event
    assert max(raw) < 0.03
    picture = tmp_path / "v.png"
    drawing.versatility(table, str(picture))
    assert 5_000 < picture.stat().st_size < 60_000


def test_crossings_are_read_off_the_table():
    table = []
    for setting in versatility.SETTINGS:
        rmse = dict.fromkeys(setting.releases, 0.02) | dict.fromkeys(versatility.ONCE, 0.01)
        table += [{"total": setting.name, "method": k, "analyses": None, "rmse": v} for k, v in rmse.items()]
        table += [
            {"total": setting.name, "method": name, "analyses": m, "rmse": 0.005 * math.sqrt(m)}
            for name in versatility.SHARED
            for m in versatility.ANALYSES
        ]
    found = versatility.crossings(table)
    for row in found:
        if row["against"] in versatility.ONCE:
            assert row["ours is better"] == "never"
        else:
            assert row["ours is better"] == "from 30 on"
            assert row["ours / theirs at 1"] == pytest.approx(4)
            assert row["ours / theirs at 100"] == pytest.approx(0.4)


def test_batches_cost_a_server_that_asks_again_and_a_shuffle_that_is_small():
    rows = arrivals.rows(1, 1, records=4000)
    assert {(row["batches"], row["method"]) for row in rows} == {
        (k, name)
        for k in arrivals.BATCHES
        for name in (
            "windows, shuffled",
            "noisy gradient descent, each batch once",
            "noisy gradient descent, all so far",
        )
    }
    assert all(np.isfinite(row["rmse"]) for row in rows if row["method"] != "windows, shuffled")
    assert {row["replications"] for row in rows} == {1}


def test_batches_without_an_answer_are_counted_and_not_averaged_over():
    found = arrivals._summary(np.array([0.04, np.nan, 0.16, np.nan]))
    assert found["rmse"] == pytest.approx(math.sqrt(0.1))
    assert found["+-"] == pytest.approx(0.06 / (2 * math.sqrt(0.1) * math.sqrt(2)))
    assert (found["answered"], found["replications"]) == (0.5, 4)
    assert arrivals._summary(np.array([np.nan]))["answered"] == 0.0


def test_all_batches_are_fitted_together(monkeypatch):
    """The last fit of four batches sees all people, by noise for a quarter of them."""
    seen = []
    monkeypatch.setattr(arrivals, "slopes", lambda release: seen.append(release) or [0.4, -0.3])
    rows = arrivals.rows(1, 1, records=4000)
    assert [len(release) for release in seen] == [4000, 4000, 4000]
    for release, k in zip(seen, arrivals.BATCHES, strict=True):
        assert release.mechanism is versatility.mechanism("windows, shuffled", arrivals.TOTAL, 4000 // k)
    assert all(row["rmse"] == pytest.approx(math.sqrt(0.005)) for row in rows if row["method"] == "windows, shuffled")


@pytest.mark.slow
def test_the_command_prints_all_three_tables_and_draws(tmp_path):
    picture = tmp_path / "v.svg"
    result = CliRunner().invoke(
        main, ["reproduce", "versatility", "--reps", "4", "--format", "json", "--plot", str(picture)]
    )
    assert result.exit_code == 0, result.output
    parts = json.loads(result.stdout)
    assert list(parts) == ["errors", "crossings", "batches"]
    assert picture.exists()
