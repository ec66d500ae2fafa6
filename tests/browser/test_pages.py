"""Pages in a browser: light, dark and on a phone, by keyboard and to a screen reader; `make test-browser`.

Chromium is that of the system; where there is none the tests are skipped, and say so.
"""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

import versadp as vdp
from versadp.cli import demo

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [  # marks and no skip of the module: tests that are there and skipped are seen, and are no failure
    pytest.mark.browser,
    pytest.mark.skipif(find_spec("playwright") is None, reason="playwright is not installed"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium, or set CHROMIUM"),
]
NAME = "<script>alert(0)</script>"
LOOKS = {"light": ("light", 1100), "dark": ("dark", 1100), "phone": ("light", 390), "dark phone": ("dark", 390)}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return the report of the demo's release, with a model."""
    mechanism = vdp.calibrate(demo.SCHEMA, epsilon=1, delta=1e-6, shuffled=20_000)
    release = mechanism.release(demo.people(20_000))
    place = tmp_path_factory.mktemp("pages") / "report.html"
    vdp.report(release, place, fit="visits ~ age + C(region)")
    return place


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Return the report of a release whose column is named by an enemy."""
    levels = ["</svg><script>alert(1)</script>", "<img src=x onerror=alert(2)>"]
    schema = vdp.Schema({NAME: vdp.Categorical(levels)})
    place = tmp_path_factory.mktemp("pages") / "hostile.html"
    vdp.report(vdp.calibrate(schema, epsilon=2).release(pd.DataFrame({NAME: levels * 500})), place)
    return place


PAPERS = ("label", "notice", "annex")


def papers_of(schema, table, texts, place):
    """Return the folder with the dossier of a release, at the place given."""
    release = vdp.calibrate(schema, epsilon=1, delta=1e-6, shuffled=len(table)).release(table)
    release.save(place / "released", metadata=vdp.Metadata(**texts))
    vdp.dossier(place / "released", place / "papers")
    return place / "papers"


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """Return the dossier of the demo's release, with long texts."""
    texts = dict.fromkeys(("purpose", "covers", "rationale"), "Words that explain something at length. " * 45)
    texts |= dict.fromkeys(("title", "curator", "contact"), "A rather long line of text " * 6)
    return papers_of(demo.SCHEMA, demo.people(20_000), texts, tmp_path_factory.mktemp("papers"))


@pytest.fixture(scope="module")
def hostile_papers(tmp_path_factory):
    """Return the dossier of a release whose publisher and columns are an enemy's."""
    names = [NAME, "</title><img src=x onerror=alert(2)>"]
    texts = dict.fromkeys(("title", "curator", "contact", "purpose", "covers", "rationale"), f"</style>{NAME}<svg>")
    schema = vdp.Schema({name: vdp.Categorical(["a", "b"]) for name in names})
    table = pd.DataFrame({name: ["a", "b"] * 1000 for name in names})
    return papers_of(schema, table, texts, tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    place = tmp_path_factory.mktemp("pages") / "plan.html"
    schema = vdp.Schema({"age": vdp.Bounded(18, 90), "region": vdp.Categorical(["n", "s"])})
    vdp.planner(schema, place, records=(1000, 100_000))
    return place


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the first page of the site, built without the reference."""
    pytest.importorskip("sphinx", reason="sphinx is not installed")
    docs, place = Path(__file__).parents[2] / "docs", tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-d", str(place / "trees"), "-b", "html", str(docs), str(place)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"VERSADP_DOCS": "thin"})
    return place / "index.html"


@pytest.fixture(params=list(LOOKS))
def browser(request, tmp_path):
    from playwright.sync_api import sync_playwright

    scheme, width = LOOKS[request.param]
    with sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            str(tmp_path / "empty"),
            executable_path=CHROMIUM,
            args=FLAGS,
            color_scheme=scheme,
            viewport={"width": width, "height": 900},
        )
        yield context
        context.close()


def opened(browser, place):
    """Open a page, and return it with what its console and the network were told."""
    page, told = browser.new_page(), []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: told.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(place.as_uri())
    return page, told


def faults(page):
    """Return what axe-core finds that is serious or worse."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [
        (each["id"], [node["target"] for node in each["nodes"]][:3])
        for each in found
        if each["impact"] in {"serious", "critical"}
    ]


def test_report(browser, report):
    page, told = opened(browser, report)
    assert told == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert faults(page) == []
    ink, paper = page.evaluate(
        "[getComputedStyle(document.querySelector('svg text')).fill, getComputedStyle(document.body).backgroundColor]"
    )
    assert contrast(ink, paper) > 7


def test_report_on_paper(browser, report):
    page, _ = opened(browser, report)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 1000})  # A4 with its margins
    look = "[getComputedStyle(document.querySelector('nav')).display, getComputedStyle(document.body).backgroundColor]"
    assert page.evaluate(look) == ["none", "rgb(255, 255, 255)"]
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_wide_tables_show_that_they_scroll(browser, report):
    page, _ = opened(browser, report)
    look = "[...document.querySelectorAll('.scroll')].filter(each => each.scrollWidth > each.clientWidth)"
    wide = page.evaluate(f"{look}.map(each => getComputedStyle(each).backgroundImage)")
    assert bool(wide) >= (page.viewport_size["width"] < 1000)  # there are some on a phone
    assert all("gradient" in each for each in wide)
    assert page.evaluate(f"{look}.every(each => each.tabIndex == 0 && getComputedStyle(each).scrollbarWidth == 'thin')")


@pytest.mark.parametrize("name", PAPERS)
def test_papers(browser, papers, name):
    page, told = opened(browser, papers / f"{name}.html")
    assert told == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert faults(page) == []
    assert page.evaluate("document.scripts.length") == 0


@pytest.mark.parametrize("name", PAPERS)
def test_papers_on_paper(browser, papers, name):
    page, _ = opened(browser, papers / f"{name}.html")
    pages = page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "12mm")).count(
        b"/Type /Page\n"
    )
    assert pages == 1 if name == "label" else 1 <= pages <= 4
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": 700, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("name", PAPERS)
def test_hostile_papers_do_nothing(browser, hostile_papers, name):
    page, told = opened(browser, hostile_papers / f"{name}.html")
    page.on("dialog", lambda dialog: told.append(dialog.message))
    page.wait_for_timeout(200)
    assert told == []
    assert (
        page.evaluate("document.scripts.length + document.images.length + document.querySelectorAll('svg').length") == 0
    )
    assert NAME in page.inner_text("body")


def test_first_page_of_the_site(browser, site):
    page, told = opened(browser, site)
    assert not [each for each in told if each.startswith("http")]  # nothing comes from elsewhere
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert faults(page) == []
    assert page.evaluate("[...document.images].every(each => each.naturalWidth > 0)")


def test_a_hostile_report_does_nothing(browser, hostile):
    page, told = opened(browser, hostile)
    page.on("dialog", lambda dialog: told.append(dialog.message))
    page.wait_for_timeout(200)
    assert told == []
    assert page.evaluate("document.scripts.length + document.images.length") == 0
    assert page.inner_text("#name1") == NAME


def contrast(one, other):
    """Return the contrast of two colours, as WCAG has it."""
    lights = []
    for colour in (one, other):
        channels = [int(x) / 255 for x in colour.removeprefix("rgb(").rstrip(")").split(",")]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def all_that_moves(page):
    """Return guarantee, noise, widths of means and of coefficients, and the curve, as the page shows them."""
    texts = [page.inner_text(name) for name in ("#guarantee", "#found", "#noise", "#widths", "#coefficients")]
    return [*texts, page.get_attribute("#curve", "points")]


def test_sliders_move_the_figures(browser, plan):
    page, told = opened(browser, plan)
    assert told == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    cut = "[...document.querySelectorAll('.scroll')].some(each => each.scrollWidth > each.clientWidth)"
    assert page.viewport_size["width"] < 1000 or not page.evaluate(cut)
    assert faults(page) == []
    data = json.loads(page.inner_text("#data") or page.evaluate("document.getElementById('data').textContent"))
    before = all_that_moves(page)
    page.focus("#epsilon")
    page.keyboard.press("End")
    after = all_that_moves(page)
    assert all(one != two for one, two in zip(before, after, strict=True))
    point = data["points"]["windows record 12 0 -"]
    assert page.inner_text("#found") == point["found"]
    assert page.get_attribute("#epsilon", "aria-valuetext") == "12"
    records = data["records"][int(page.input_value("#records"))]
    shown = float(page.inner_text("#widths tr:first-child td:nth-child(2)").replace(",", ""))
    assert shown == pytest.approx(point["widths"]["age"]["width"] / records**0.5, rel=0.005)
    shown = float(page.inner_text("#coefficients tr:first-child td:nth-child(2)").replace(",", ""))
    assert shown == pytest.approx(point["coefficients"]["Intercept"]["width"] / records**0.5, rel=0.005)
    page.select_option("#way", "shuffled")
    page.focus("#records")
    page.keyboard.press("End")
    assert "100,000" in page.inner_text("#records-shown")
    assert page.inner_text("#found") == data["points"]["shuffled record 1 1e-06 100000"]["found"]
    assert told == []


def test_the_checks_can_fail(browser, tmp_path):
    """Negative control: a page with a console error, a wide table and a picture without a name."""
    bad = tmp_path / "bad.html"
    bad.write_text("<p style='width:3000px;color:#ccc'>a</p><img src='data:,'><script>console.error('x')</script>")
    page, told = opened(browser, bad)
    assert told
    assert not page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert faults(page)
