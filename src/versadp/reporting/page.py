"""From a template and what it shows to a page: everything is escaped unless it is our own."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from versadp import inputs
from versadp.errors import MissingExtraError, ParameterError

_HERE = Path(__file__).parent / "templates"


@cache
def environment() -> Any:
    """Return the templates of this room, which escape what they are given."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2 is not installed", hint="pip install 'versadp[report]'") from None
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def checked(path: str | Path) -> Path:
    """Return a path that can be written to, as far as that can be told before the work."""
    place: Path = inputs.path(path, "a file to write")
    if not place.parent.is_dir() or place.is_dir():
        raise ParameterError(f"there is no place for {place.name!r}", hint="give a file in a folder that is there")
    return place


def asset(name: str) -> str:
    """Return a file that goes into pages as it is: our own style or script."""
    return (_HERE / name).read_text(encoding="utf-8")


class Page:
    """A page of HTML, whole in itself: `save` writes it, a notebook shows it in a frame.

    Attributes
    ----------
    html : str

    Examples
    --------
    >>> Page("<!doctype html>").html
    '<!doctype html>'
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def __str__(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"<Page: {len(self.html) / 1000:,.0f} kB of HTML; save(path) writes it>"

    def _repr_html_(self) -> str:
        from html import escape

        return f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:40rem;border:0" title="report"></iframe>'

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        place = checked(path)
        try:
            place.write_text(self.html, encoding="utf-8", errors="replace")
        except OSError as problem:
            raise ParameterError(
                f"cannot write {place.name!r} ({type(problem).__name__})", hint="choose a folder that is there"
            ) from None


def render(template: str, **given: Any) -> Page:
    """Return a page from a template."""
    from versadp import __version__

    made = environment().get_template(template).render(style=asset("style.css"), version=__version__, **given)
    return Page(made.lstrip())
