"""A figure as part of a page: SVG text that takes its colours from the page, and that a screen reader can tell.

    ink, and greys near it    currentColor, --middle, --soft     what a page sets for light and dark
    paper                     --paper
    the three colours         --one, --two, --three

Every id is prefixed by the picture's name, so that several pictures live in one page. Texts stay texts, in the page's
font, and are escaped by the XML writer; what XML cannot hold is replaced (`pictures.short`).
"""

from __future__ import annotations

import io
import re
import warnings
from typing import Any
from xml.etree import ElementTree as ET

from versadp.display.pictures import BLUE, GREEN, RED, short

SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
NAMED = {BLUE: "--one", RED: "--two", GREEN: "--three"}
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
_FONT = re.compile(r"font[\w-]*: [^;]*;? *")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_USED = re.compile(r"#([A-Za-z]\w*)")
_PLACE = re.compile(r"-?\d+\.\d+")
_PLACES = ("d", "x", "y", "width", "height", "transform")


def inline(figure: Any, name: str, title: str, description: str = "") -> str:
    """Return a matplotlib figure as SVG for a page.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    name : str
        What its ids begin with; unlike those of other pictures of the page.
    title, description : str
        What a screen reader says in place of the picture.

    Returns
    -------
    str
        The same figure and name give the same text.

    Examples
    --------
    >>> from versadp.display.pictures import curves  # doctest: +SKIP
    >>> inline(curves({"a": ([0, 1], [0, 1])}, x="x", y="y"), "p1", "A line")[:4]  # doctest: +SKIP
    '<svg'
    """
    import matplotlib as mpl

    out = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # letters that matplotlib's font lacks: a page's may have them
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", LINK)
    root = ET.fromstring(out.getvalue())  # noqa: S314 - just written by matplotlib
    _prune(root)
    used = set(_USED.findall(ET.tostring(root, encoding="unicode")))
    for element in root.iter():
        _adapt(element, name, used)
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    root.attrib |= {"role": "img", "aria-labelledby": f"{name}-title {name}-desc", "class": "picture"}
    for tag, text in (("desc", description), ("title", title)):
        told = ET.Element(f"{{{SVG}}}{tag}", {"id": f"{name}-{tag}"})
        told.text = short(text, 200)
        root.insert(0, told)
    return ET.tostring(root, encoding="unicode")


def _prune(element: ET.Element) -> None:
    """Take out what shows nothing, or would speak for the whole page."""
    for child in list(element):
        _prune(child)
        kind = child.tag.removeprefix(f"{{{SVG}}}")
        empty = kind in {"defs", "g"} and not len(child)
        unseen = (
            kind == "path"
            and child.get("style", "").startswith("fill: none")
            and "stroke" not in child.get("style", "")
        )
        if kind in {"metadata", "style"} or empty or unseen:
            element.remove(child)
    if element.text and not element.text.strip():
        element.text = None
    if element.tail and not element.tail.strip():
        element.tail = None


def _adapt(element: ET.Element, name: str, used: set[str]) -> None:
    """Prefix ids and what refers to them, leave out the others, and give colours and fonts over to the page."""
    given = element.attrib
    link = f"{{{LINK}}}href"
    for key in _PLACES:
        if key in given:
            given[key] = _PLACE.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), given[key]).strip()
    if "id" in given:
        if given["id"] in used:
            given["id"] = f"{name}-{given['id']}"
        else:
            del given["id"]
    if link in given:
        given[link] = "#" + f"{name}-{given[link].removeprefix('#')}"
    if "clip-path" in given:
        given["clip-path"] = _REFERENCE.sub(rf"url(#{name}-\1)", given["clip-path"])
    style = given.get("style", "")
    if element.tag == f"{{{SVG}}}text":
        size = re.search(r"([\d.]+)px", style)
        parts = [f"font-size: {size[1] if size else 10}px", _FONT.sub("", style).strip("; ")]
        style = "; ".join([*filter(None, parts), *([] if "fill:" in style else ["fill: currentColor"])])
    if style:
        given["style"] = _COLOUR.sub(lambda found: colour(found[0]), style)


def colour(given: str) -> str:
    """Return what a page calls a colour.

    Examples
    --------
    >>> colour("#000000"), colour("#bfbfbf"), colour("#0072b2")
    ('currentColor', 'var(--soft, #bfbfbf)', 'var(--one, #0072b2)')
    """
    low = given.lower()
    if low in NAMED:
        return f"var({NAMED[low]}, {low})"
    level = sum(int(low[k : k + 2], 16) for k in (1, 3, 5)) / 3
    if level < 0x40:
        return "currentColor"
    kind = "--middle" if level < 0xA0 else "--soft" if level < 0xF8 else "--paper"
    return f"var({kind}, {low})"
