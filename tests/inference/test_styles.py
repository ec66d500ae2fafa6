"""Summaries in every style, fits side by side, and tests of combinations, against statsmodels and by hand."""

import html.parser

import numpy as np
import pytest
import statsmodels.api as sm

import versadp as vdp
from versadp.errors import ParameterError
from versadp.inference import Results
from versadp_tests.inference_cases import make

HOSTILE = r"a|b_c & <script> {x} \\ 50% ~ ^ #1 $"


class Cells(html.parser.HTMLParser):
    """What a browser would show in the cells of tables."""

    def __init__(self):
        super().__init__()
        self.cells, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


def test_every_style_shows_the_same_numbers():
    found = make()
    shown = [f"{number:.4g}" for number in found.params]
    for style in ("text", "html", "latex", "markdown"):
        page = found.summary(style=style)
        assert all(number in page for number in shown)
        assert "epsilon" in page
    assert found.summary(style="text") == str(found.summary())
    with pytest.raises(ParameterError, match="no style"):
        found.summary(style="word")


def test_hostile_names_stay_text_in_every_style():
    found = make(names=(HOSTILE, "b", "c"), design=None, formula=HOSTILE)
    reader = Cells()
    reader.feed(found.summary(style="html"))
    assert HOSTILE in reader.cells
    assert "script" not in reader.tags
    latex = found.summary(style="latex")
    assert r"a|b\_c \& \textless{}script\textgreater{} \{x\}" in latex
    lines = [line for line in found.summary(style="markdown").splitlines() if line.startswith("|")]
    assert len({line.replace(r"\|", "").count("|") for line in lines}) == 1


def test_latex_tables_are_balanced():
    page = make().summary(style="latex")
    for name in ("table", "tabular"):
        assert page.count(rf"\begin{{{name}}}") == page.count(rf"\end{{{name}}}") == 1
    rows = [line for line in page.splitlines() if line.endswith(r"\\")]
    assert len({line.count("&") for line in rows}) == 1
    assert len(rows) == 1 + 3


def test_alpha_is_one_less_level():
    found = make()
    assert (found.conf_int(alpha=0.1) == found.conf_int(0.9)).all()
    for wrong in (0, 1, -0.1, "x"):
        with pytest.raises(ParameterError):
            found.conf_int(alpha=wrong)


def test_combinations_are_those_of_statsmodels():
    rng = np.random.default_rng(2)
    x = sm.add_constant(rng.normal(size=(200, 2)))
    plain = sm.OLS(x @ [1.0, 2.0, -1.0] + rng.normal(size=200), x).fit(cov_type="HC0")
    names = ("Intercept", "a", "b")
    found = Results(plain.params, plain.cov_params(), names, "converged", 200, loss="squared", method="efficient")
    table = found.t_test("a = 2, 2 * a + b = 1")
    theirs = plain.t_test((np.array([[0, 1, 0], [0, 2, 1]]), np.array([2.0, 1.0])), use_t=False)
    assert [row["coefficient"] for row in table] == ["a = 2", "2 * a + b = 1"]
    assert [row["std_error"] for row in table] == pytest.approx(theirs.sd.ravel())
    assert [row["z"] for row in table] == pytest.approx(theirs.tvalue.ravel())
    assert [row["p_value"] for row in table] == pytest.approx(theirs.pvalue.ravel())
    assert found.t_test([[0, 1, -1]])[0]["coefficient"] == "constraint 1"


def test_fits_side_by_side():
    one, two = make(), make(params=[0.2, -0.4, 2.0], header={"epsilon": "1", "privacy unit": "attribute"})
    lost = make(outcome="diverged", advice="more records")
    table = vdp.summary_col([one, two, lost], names=["logit", "strict", "lost"])
    rows = {row[""]: row for row in table.rows}
    assert rows["age"]["logit"] == f"{-1 / 3:.4g} ({one.bse['age']:.2g})"
    assert rows["epsilon"] == {"": "epsilon", "logit": "4", "strict": "1", "lost": "4"}
    assert rows["privacy unit"]["strict"] == "attribute"
    assert rows["age"]["lost"] == ""
    assert rows["outcome"]["lost"] == "diverged"
    for style in ("text", "html", "latex", "markdown"):
        assert rows["age"]["logit"] in vdp.summary_col([one], style=style)
    for wrong in ([], [1], "ab"):
        with pytest.raises(ParameterError, match="list of results"):
            vdp.summary_col(wrong)
    with pytest.raises(ParameterError, match="as many names"):
        vdp.summary_col([one, two], names=["same", "same"])
