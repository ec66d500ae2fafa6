"""How results look and what they are called: labelled arrays, pictures, tables of others."""

import sys

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import MissingExtraError, NoSuchName, ParameterError
from versadp.inference.arrays import NamedArray
from versadp_tests.inference_cases import make


@pytest.fixture(scope="module")
def release():
    return vdp.example(4000, epsilon=8, delta=0)


@pytest.fixture(scope="module")
def result(release):
    return vdp.fit(release, "visits ~ age + income")


def test_a_labelled_array_is_an_array_and_a_mapping():
    params = NamedArray([0.5, -1.0], ("Intercept", "age"))
    assert isinstance(params, np.ndarray)
    assert params["age"] == params[1] == params.get("age") == -1.0
    assert params.get("income", 3.0) == 3.0
    assert "age" in params
    assert "income" not in params
    assert -1.0 in params
    assert np.allclose(params @ params, 1.25)
    assert (params > 0).tolist() == [True, False]
    assert dict(params.items()) == {"Intercept": 0.5, "age": -1.0}
    pd.testing.assert_series_equal(params.to_pandas(), pd.Series([0.5, -1.0], index=["Intercept", "age"]))
    with pytest.raises(KeyError, match="did you mean 'age'"):
        params["agee"]
    with pytest.raises(NoSuchName):
        params["agee"]


def test_a_labelled_table_has_names_along_both_sides():
    table = NamedArray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "abc", ("lower", "upper"))
    assert table["b", "upper"] == 4.0
    assert table["b"].tolist() == [3.0, 4.0]
    assert list(table.to_pandas().columns) == ["lower", "upper"]
    assert str(table).splitlines()[0].split() == ["lower", "upper"]
    assert "<td>4</td>" in table._repr_html_()
    with pytest.raises(ParameterError, match="one name per column"):
        NamedArray([[1.0, 2.0]], "a", ("lower",))


@pytest.mark.full
def test_names_are_the_same_whatever_is_installed(monkeypatch, result):
    """There is one type, and pandas is asked only for what pandas is."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    for each in (result.params, result.bse, result.pvalues, result.tvalues, result.conf_int(), result.cov_params()):
        assert type(each) is NamedArray
        assert each.names == ("Intercept", "age", "income")
    assert result.conf_int()["age", "lower"] < result.params["age"] < result.conf_int()["age", "upper"]


def test_html_is_escaped():
    result = make(formula="<script>")
    assert "<script>" not in result._repr_html_()
    assert "<b>" not in NamedArray([1.0], ["<b>"])._repr_html_()


def test_a_picture_shows_naive_beside_corrected(result):
    axes = result.plot()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["corrected", "naive"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["age", "income"]
    corrected, naive = (line for line in axes.get_lines() if line.get_marker() != "None")
    assert corrected.get_xdata()[0] == result.params["age"]
    assert naive.get_xdata()[0] < corrected.get_xdata()[0]
    assert corrected.get_marker() != naive.get_marker()  # told apart in grey, and by whoever sees no colour
    colours = {str(line.get_color()) for line in (corrected, naive)}
    assert colours == {"black", "0.45"}


def test_a_picture_goes_where_it_is_told_and_needs_matplotlib(result, monkeypatch):
    from matplotlib.figure import Figure

    given = Figure().subplots()
    assert result.plot(axes=given, naive=False, intercept=True) is given
    assert len(given.get_yticklabels()) == 3
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="report"):
        result.plot(naive=False)


def test_results_from_a_file_are_drawn_without_the_naive_ones():
    axes = make().plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["corrected"]


def test_maketables_reads_the_attributes_of_results(result):
    assert not hasattr(result.to_maketables(), "params")  # by which maketables takes it for statsmodels'
    table = result.to_maketables().__maketables_coef_table__
    pd.testing.assert_frame_equal(table, result.__maketables_coef_table__)
    assert list(table.columns) == ["b", "se", "t", "p", "ci95l", "ci95u", "ci90l", "ci90u"]
    assert table.index.name == "Coefficient"
    assert table.loc["age", "b"] == result.params["age"]
    assert (table["ci95l"] < table["ci90l"]).all()
    keys = result.__maketables_default_stat_keys__
    assert {"N", "privacy_unit", "epsilon", "delta"} <= set(keys)
    assert {key: result.__maketables_stat__(key) for key in ("N", "privacy_unit", "epsilon", "delta", "r2")} == {
        "N": 4000,
        "privacy_unit": "record",
        "epsilon": "8",
        "delta": "0",
        "r2": None,
    }
    assert set(keys) <= set(result.__maketables_stat_labels__)
    assert result.__maketables_depvar__ == "visits"


def test_maketables_prints_epsilon_delta_and_unit(result):
    maketables = pytest.importorskip("maketables")
    text = str(maketables.ETable([result.to_maketables()]).df)
    for word in ("epsilon", "delta", "privacy unit", "age"):
        assert word in text


def test_a_release_is_looked_at_like_a_table(release, tmp_path):
    assert release.columns == ("age", "income", "region", "visits", "vaccinated", "year")
    assert list(release) == list(release.columns)
    assert len(release) == 4000
    assert len(release.head()) == 5
    assert release.head(3)["age"].to_pylist() == release["age"].slice(0, 3).to_pylist()
    assert "4,000 records" in release._repr_html_()
    release.save(tmp_path / "released")
    folder = vdp.load(tmp_path / "released")
    assert folder.columns == release.columns
    assert folder.head(2).equals(folder.frame.slice(0, 2))
    assert folder[["age", "year"]].column_names == ["age", "year"]
    frame = vdp.Release.from_frame(release.to_pandas(), release.mechanism)
    assert list(frame[["age", "year"]].columns) == ["age", "year"]
    assert len(frame.head(0)) == 0
    with pytest.raises(NoSuchName, match="did you mean 'age'"):
        release["agee"]


def test_html_of_a_release_is_escaped():
    schema = vdp.Schema({"<b>": vdp.Public(), "x": vdp.Bounded(0, 1)})
    frame = pd.DataFrame({"<b>": ["<i>"] * 3, "x": 0.5})
    html = vdp.Mechanism(schema, scale=0.1, exact_rate=0.1).release(frame)._repr_html_()
    assert "<b>" not in html
    assert "<i>" not in html


@pytest.mark.filterwarnings("ignore::versadp.errors.DeltaWarning")
def test_the_summary_has_the_unit_that_was_calibrated_for():
    schema = vdp.Schema({"x": vdp.Bounded(0, 1), "y": vdp.Public()})
    frame = pd.DataFrame({"x": np.linspace(0, 1, 500), "y": np.linspace(0, 2, 500)})
    for unit in ("record", "attribute"):
        mech = vdp.calibrate(schema, epsilon=4, delta=0.05, unit=unit, exact_rate=0.02)
        result = vdp.fit(mech.release(frame), "y ~ x")
        assert result.header["privacy unit"] == unit
        shown = str(vdp.summary_col([result, result])).splitlines()
        assert next(line for line in shown if line.startswith("privacy unit")).split()[2:] == [unit, unit]
