"""The site: every example of its pages runs, and its pages are found by the table of contents."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
        for command in re.findall(r"(?:^|`)versadp (\w+) ", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
            assert command in known, (page.name, command)


def test_the_reference_has_every_public_name():
    """What stands in no section is added when the site is built (`conf.py`); most names are sorted by hand."""
    listed = set((DOCS / "reference.md").read_text(encoding="utf-8").split())
    assert len(set(vdp.__all__) & listed) > 35


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
