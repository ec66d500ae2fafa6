"""The documentation site: Markdown pages as they are, the reference from docstrings, pictures made by code."""

import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import versadp  # noqa: E402 - after its folder is known

project, author = "versadp", "the versadp authors"
version = release = versadp.__version__
PAGES = ["myst_parser", "sphinxcontrib.bibtex", "sphinx_gallery.gen_gallery"]
extensions = [*PAGES, "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
templates_path = ["_templates"]
exclude_patterns = ["_build", "examples", "_gallery/*.py", "_gallery/*.ipynb"]
THIN = os.environ.get("VERSADP_DOCS") == "thin"  # pages, and one picture of the gallery; nothing from docstrings
if THIN:
    extensions = PAGES
    exclude_patterns += ["reference.md", "_reference"]
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "_gallery",
    "filename_pattern": "/plot_attacker" if THIN else "/plot_",
    "image_scrapers": ("pictures.scrape",),
    "abort_on_example_error": True,
    "capture_repr": (),
    "show_signature": False,
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 3600,
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
}
suppress_warnings = ["toc.not_readable"] if THIN else []  # the reference is not there
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
html_theme = "pydata_sphinx_theme"
html_title = "versadp"
html_theme_options = {
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": [],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": []}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
highlight_language = "none"
default_role = "code"
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False


def _formulas(_app: object, _what: str, _name: str, _thing: object, _options: object, lines: list[str]) -> None:
    """Show what is indented before the first section of a docstring as it stands: it is a formula."""
    rules = [k for k, line in enumerate(lines) if line and set(line) == {"-"}]
    end = rules[0] - 1 if rules else len(lines)
    out: list[str] = []
    for line in lines[:end]:
        begins = line.startswith("    ") and out and not out[-1]
        if begins and not (len(out) > 1 and out[-2].startswith(" ")):
            out += ["::", ""]
        out.append(line)
    lines[:end] = out


def _not_ours(_app: object, _what: str, name: str, thing: Any, _skip: object, _options: object) -> bool | None:
    """Leave out what estimators inherit from scikit-learn: its pages have it."""
    theirs = str(getattr(thing, "__module__", "")).startswith("sklearn")
    return True if theirs or name in {"get_metadata_routing", "set_output"} or name.endswith("_request") else None


def setup(app: Any) -> None:
    """Draw the pictures before pages are read."""
    from pictures import draw_all

    draw_all(HERE / "_pictures")
    if "numpydoc" in extensions:
        app.connect("autodoc-process-docstring", _formulas, priority=100)
        app.connect("autodoc-skip-member", _not_ours)
