"""The site: every example of its pages runs, and its pages are found by the table of contents."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import versadp as vdp

DOCS = Path(__file__).parent.parent / "docs"
OURS = [DOCS / "index.md", DOCS / "extending.md"]
OURS += [page for folder in ("start", "ideas", "guides", "tutorials") for page in sorted((DOCS / folder).glob("*.md"))]
PAGES = [str(p.relative_to(DOCS).with_suffix("")) for p in OURS if "```python" in p.read_text(encoding="utf-8")]
SLOW = {"start/analyst", "guides/report"}  # a dozen seconds; a report, which tests/reporting has


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
    """What stands in no section is added when the site is built (`conf.py`); most names are sorted by hand."""
    listed = set((DOCS / "reference.md").read_text(encoding="utf-8").split())
    assert len(set(vdp.__all__) & listed) > 35


@pytest.mark.slow
def test_a_new_user_follows_the_commands(tmp_path, monkeypatch):
    """From a CSV file to a report and a quantile regression, by the commands of the provider page alone."""
    from versadp.cli import main
    from versadp.models.example import SCHEMA, people

    monkeypatch.chdir(tmp_path)
    names = ["age", "income", "region"]
    people(4000).select(names).to_pandas().to_csv("people.csv", index=False)
    page = (DOCS / "start" / "provider.md").read_text(encoding="utf-8")
    commands = [line.split("   #")[0] for line in re.findall(r"^versadp (.*)$", page, flags=re.MULTILINE)]
    assert [line.split()[0] for line in commands] == ["schema", "release", "report"]
    for line in [*commands, 'fit released "income ~ age" --loss check']:
        done = CliRunner().invoke(main, shlex.split(line))
        assert done.exit_code == 0, (line, done.output)
        if line.startswith("schema"):  # bounds are filled in by hand
            assert set(names) <= set(re.findall(r"\w+", Path("schema.toml").read_text()))
            filled = vdp.Schema({name: SCHEMA.columns[name] for name in names})
            Path("schema.toml").write_text(filled.to_toml())
    assert "What is promised" in Path("report.html").read_text()


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


def test_pages_are_built_without_a_warning(tmp_path):
    site = build(tmp_path, VERSADP_DOCS="thin")
    assert "Privatise once" in (site / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    site = build(tmp_path)
    assert (site / "_reference" / "versadp.fit.html").is_file()
