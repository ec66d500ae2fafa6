"""The documentation site: Markdown pages as they are, the reference from docstrings, pictures made by code."""

import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import versadp  # noqa: E402

project, author = "versadp", "the versadp authors"
version = release = versadp.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_rest.rst"]
if os.environ.get("VERSADP_DOCS") == "thin":  # pages alone, without what is made from docstrings
    extensions = ["myst_parser"]
    exclude_patterns += ["reference.md", "_reference"]
myst_heading_anchors = 3
html_theme = "pydata_sphinx_theme"
html_title = "versadp"
html_theme_options = {"header_links_before_dropdown": 5, "show_toc_level": 2, "navigation_with_keys": False}
html_static_path: list[str] = []
html_show_sourcelink = False
highlight_language = "none"
default_role = "code"
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False


def _rest() -> str:
    """Return the public names that the reference does not sort into a section."""
    known = set((HERE / "reference.md").read_text(encoding="utf-8").split())
    rest = [name for name in versadp.__all__ if name not in known]
    listed = "".join(f"   {name}\n" for name in rest)
    return f".. autosummary::\n   :toctree: _reference\n\n{listed}" if rest else ""


(HERE / "_rest.rst").write_text(_rest(), encoding="utf-8")


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
