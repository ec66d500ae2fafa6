"""Pictures for pages: ids apart, texts as texts, colours that a page chooses, the same bytes again."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from versadp.display.pictures import bars, curves
from versadp.display.svg import inline


def drawn(name="one", level="north"):
    heights, ends = np.array([0.4, 0.6]), np.array([[0.3, 0.5], [0.5, 0.7]])
    return inline(bars({"region": ([level, "south"], heights, ends, 0.8)}, y="share"), name, "Regions", "Shares")


def test_ids_of_two_pictures_are_apart():
    one, two = (set(re.findall(r'\bid="([^"]*)"', drawn(name))) for name in ("one", "two"))
    assert one
    assert not one & two
    for text in (drawn("one"),):
        assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', text)) <= one


def test_it_is_the_same_again():
    assert drawn() == drawn()


@pytest.mark.parametrize(
    "level", ["<script>&amp;</script>", "$x$", "$\\frac$", 'id="one"', "😀", "a\x00\x1bb", "\ud800"]
)
def test_any_text_stays_text(level):
    root = ET.fromstring(drawn(level=level))
    texts = {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert re.sub("[\x00-\x1f\ud800]", "\N{REPLACEMENT CHARACTER}", level) in texts
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))


def test_a_page_chooses_the_colours():
    text = inline(curves({"a": ([0, 1], [0, 1]), "b": ([0, 1], [1, 0])}, x="x", y="y"), "p", "Lines")
    assert "currentColor" in text
    assert "var(--one, #0072b2)" in text
    assert "var(--two, #d55e00)" in text
    bare = re.sub(r"var\([^)]*\)", "", text)
    assert not re.findall(r"#[0-9a-fA-F]{6}\b", bare)
    assert "stroke-dasharray" in text  # told apart without colours
    assert "<style" not in text
