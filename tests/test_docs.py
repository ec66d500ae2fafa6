"""The site: every example of its pages runs, and its pages are found by the table of contents."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

import versadp as vdp

DOCS = Path(__file__).parent.parent / "docs"
OURS = [DOCS / "index.md", DOCS / "extending.md"]
OURS += [page for folder in ("start", "ideas", "guides", "tutorials") for page in sorted((DOCS / folder).glob("*.md"))]
PAGES = [str(p.relative_to(DOCS).with_suffix("")) for p in OURS if "```python" in p.read_text(encoding="utf-8")]
ELSEWHERE = {  # who runs them
    "start/first": "test_a_new_user_follows_the_walk",
    "guides/sources": "tests/release/test_queries.py, test_object_store.py: needs a database and a store",
    "guides/updating": "tests/fitting/test_update.py: needs releases that arrive",
    "tutorials/analyst": "tests/test_analyst.py",
}
PAGES = [page for page in PAGES if page not in ELSEWHERE]
# a dozen seconds; a report, which tests/reporting has
SLOW = {"start/analyst", "guides/report"}


@pytest.mark.thinned(3)
@pytest.mark.filterwarnings("ignore::versadp.errors.DeltaWarning")  # of the paper's deltas, as the pages say
@pytest.mark.parametrize("page", [pytest.param(p, marks=pytest.mark.slow if p in SLOW else ()) for p in PAGES])
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    names = {"__name__": page}
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)):
        exec(compile(block, f"{page} block {number}", "exec"), names)


def test_links_between_pages_lead_somewhere():
    for page in DOCS.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+\.md)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).is_file(), (page.name, link)


def test_commands_of_the_pages_exist():
    from versadp.cli import main

    known = main.list_commands(None)
    for page in DOCS.rglob("*.md"):
        for command in re.findall(r"(?:^|`)versadp ([a-z]\w*) ", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
            assert command in known, (page.name, command)


def test_the_reference_has_every_public_name():
    listed = set((DOCS / "reference.md").read_text(encoding="utf-8").split())
    assert set(vdp.__all__) <= listed


def without_examples(names):
    """Return the callable names, those of rooms too, whose docstrings have no example."""
    found = []
    for name, thing in names.items():
        if isinstance(thing, ModuleType):
            found += without_examples(
                {f"{name}.{each}": getattr(thing, each) for each in getattr(thing, "__all__", [])}
            )
        elif callable(thing) and not (isinstance(thing, type) and issubclass(thing, BaseException)):
            found += [] if ">>>" in (thing.__doc__ or "") else [name]
    return found


def test_every_public_name_has_an_example():
    """Doctests run them."""
    assert without_examples({name: getattr(vdp, name) for name in vdp.__all__}) == []
    assert without_examples({"bare": lambda: None}) == ["bare"]  # the check can fail


def test_a_new_user_follows_the_walk(tmp_path, monkeypatch):
    """In an empty folder, from a CSV to a report and a quantile regression: what the page says and no more."""
    from versadp.cli import main

    monkeypatch.chdir(tmp_path)
    page = (DOCS / "start" / "first.md").read_text(encoding="utf-8")
    names, ran = {"__name__": "walk"}, []
    for kind, text in re.findall(r"```(\w+)\n(.*?)```", page, flags=re.DOTALL):
        if kind == "toml":  # filled in by hand, in the place of what `schema init` drafted
            drafted = re.findall(r"^\[columns\.\"(\w+)\"\]$", Path("schema.toml").read_text(), flags=re.MULTILINE)
            assert drafted == list(tomllib.loads(text)["columns"])
            Path("schema.toml").write_text(text)
        elif kind == "python":
            exec(compile(text, "walk", "exec"), names)
        for line in text.splitlines() if kind == "sh" else []:
            program, *words = shlex.split(line)
            if program == "pip":
                assert words == ["install", ".[report]"]
                continue
            done = CliRunner().invoke(main, words)
            assert done.exit_code == 0, (line, done.output)
            ran.append(words[0])
    assert ran == ["demo", "schema", "plan", "release", "report", "describe", "fit"]
    assert "What is promised" in Path("report.html").read_text()
    result = names["result"]
    assert result.converged
    assert abs(result.params["age"] - 0.0586) < 5 * result.bse["age"]  # of the raw file, by statsmodels' QuantReg


def build(place, **environment):
    """Build the site with warnings as errors, in a process of its own."""
    pytest.importorskip("sphinx", reason="sphinx is not installed")
    options = ["-W", "-q", "--keep-going", "-d", str(place / "trees"), "-b", "html", str(DOCS), str(place / "site")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place / "site"


@pytest.mark.full
def test_pages_are_built_without_a_warning(tmp_path):
    site = build(tmp_path, VERSADP_DOCS="thin")
    assert "Privatise once" in (site / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    site = build(tmp_path)
    assert (site / "_reference" / "versadp.fit.html").is_file()
    made = {page.stem for page in (DOCS / "examples").glob("plot_*.py")}
    assert made == {page.stem for page in (site / "_gallery").glob("plot_*.html")}
    assert len(list((site / "_images").glob("sphx_glr_plot_*_001.png"))) == len(made)


def test_every_test_that_the_threat_model_names_is_there():
    text = (DOCS / "security.md").read_text(encoding="utf-8")
    sources = "\n".join(each.read_text(encoding="utf-8") for each in Path(__file__).parent.rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) > 60
    assert not {name for name in named if f"def {name}(" not in sources}
    assert all((DOCS.parent / path).exists() for path in re.findall(r"`(tests/[\w/.]+)`", text))
