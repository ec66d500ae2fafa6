"""The survey page's arithmetic, by Node: unbiased by the law of the noise, intervals that cover; and its build."""

import json

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp_tests import typescript

MECHANISM = vdp.Mechanism.from_json((typescript.SURVEY / "mechanism.json").read_text())


@pytest.fixture(scope="module", autouse=True)
def built():
    typescript.need_build()


def check(*arguments):
    done = typescript.run("node", str(typescript.SURVEY / "check.mjs"), *map(str, arguments))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.full
def test_sources_have_the_types_that_they_say():
    checked = typescript.run("node", "node_modules/typescript/bin/tsc", "-p", str(typescript.SURVEY))
    assert checked.returncode == 0, checked.stdout


@pytest.mark.full
def test_page_is_what_its_sources_make(tmp_path):
    built = typescript.run("node", str(typescript.SURVEY / "build.mjs"), str(tmp_path / "index.html"))
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "index.html").read_bytes() == (typescript.SURVEY / "index.html").read_bytes()


def test_page_loads_nothing():
    page = (typescript.SURVEY / "index.html").read_text()
    assert "default-src 'none'" in page
    assert "src=" not in page.partition("<script")[0]
    assert "@import" not in page
    assert "url(" not in page


def test_mechanism_is_pure_and_served():
    assert MECHANISM.privacy("record").pure_epsilon == pytest.approx(5.0, abs=1e-9)


def test_undone_noise_has_the_truth_as_its_mean():
    """Summed over the law of every output, under each truth."""
    found = check("means")
    for block in MECHANISM.blocks:
        (name,) = block.columns
        truth = block.bounds[0][0] + np.arange(block.last[0] + 1) * block.step[0]
        means = np.array(found[name])
        assert np.abs(means[:, 0] - truth).max() < 1e-10
        assert np.abs(means[:, 1] - truth**2).max() < 1e-9


def test_regression_agrees_with_the_library():
    """Another combination of scores, so not the same digits: well within a standard error."""
    made = check("fits", 5000, 3)
    columns = {}
    for block in MECHANISM.blocks:
        (name,) = block.columns
        values = np.array(made["outputs"][name], dtype=float)[None]
        block.to_values(values)
        levels = getattr(MECHANISM.schema.columns[name], "levels", None)
        columns[name] = [levels[int(value)] for value in values[0]] if levels else values[0]
    release = vdp.Release.from_frame(pd.DataFrame(columns), MECHANISM, on_grid=True)
    fit = vdp.fit(release, "content ~ hours + secret")
    errors = np.asarray(fit.bse)
    assert np.abs(np.asarray(fit.params) - made["reports"]["coefficients"]).max() < 0.3 * errors.max()
    assert made["reports"]["errors"] == pytest.approx(errors, rel=0.03)


def test_regression_of_the_truth_is_least_squares():
    made = check("fits", 500, 4)
    people = {name: np.array(values) for name, values in made["people"].items()}
    design = np.column_stack([np.ones(500), people["hours"], people["secret"]])
    expected = np.linalg.lstsq(design, people["content"], rcond=None)[0]
    assert made["truth"]["coefficients"] == pytest.approx(expected, abs=1e-9)


def test_intervals_cover():
    """60 crowds of 1,000: 57 hold the truth, with a standard deviation of 1.7."""
    held = np.array(check("coverage", 1000, 60))
    assert (held >= 57 - 4.3 * 1.7).all()
